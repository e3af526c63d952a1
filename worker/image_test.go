package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	ownImage   = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	otherImage = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// contained makes a worker's tasks run in an image, of which only what starts a program is there.
func (b *bench) contained() func(*worker.Config) {
	b.t.Helper()
	b.sandboxed() // or skip
	dir := b.t.TempDir()
	place := filepath.Join(dir, strings.TrimPrefix(ownImage, "sha256:"))
	for name, content := range map[string]string{"image.json": `{"digest":"` + ownImage + `","path":["/usr/bin"]}`,
		"root/bin/sh": "", "root/usr/bin/env": "", "root/usr/bin/prlimit": "", "root/usr/bin/setpriv": ""} {
		path := filepath.Join(place, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
	box, err := sandbox.New(b.ctx, sandbox.Config{Isolation: sandbox.Container, Image: ownImage, ImageDir: dir, Grace: killGrace})
	if err != nil {
		b.t.Fatal(err)
	}
	return func(cfg *worker.Config) { cfg.Runner = box }
}

// TestATaskForAnotherImageFails: it is the caller's to choose another one, so it is not tried again.
func TestATaskForAnotherImageFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(1, b.contained())
	o := order(shellParams{Script: "true", Image: otherImage})
	b.enqueue(o)
	end := b.ending(o)
	if end.Kind != queue.Failed || end.Failure.Class != engines.UserInput || end.Failure.Code != "WORKER_IMAGE_MISMATCH" ||
		!strings.Contains(end.Failure.Message, ownImage) || !strings.Contains(end.Failure.Message, otherImage) {
		t.Errorf("got %s %+v, want a mismatch that names both images", end.Kind, end.Failure)
	}
	b.awaitHello(w)
	if said := b.heartbeat(w).Sandbox; !strings.Contains(said, ownImage) {
		t.Errorf("the heartbeat tells %q, not the image", said)
	}
}

// TestATaskForTheImageRuns as far as the image lets it, and on a worker without images whatever it asks for.
func TestATaskForTheImageRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, b.contained())
	for _, image := range []string{ownImage, ""} {
		o := order(shellParams{Script: "true", Image: image})
		b.enqueue(o)
		// the image has no program to run
		if end := b.ending(o); end.Kind != queue.Failed || end.Failure.Code == "WORKER_IMAGE_MISMATCH" {
			t.Errorf("%q: got %s %+v", image, end.Kind, end.Failure)
		}
	}
	plain := newBench(t)
	plain.hire(1, nil)
	o := order(shellParams{Script: "true", Image: otherImage})
	plain.enqueue(o)
	if end := plain.ending(o); end.Kind != queue.Succeeded {
		t.Errorf("without images: got %s %+v", end.Kind, end.Failure)
	}
}

// TestAWorkerKnowsTheImageThatItIsIn, because it is told: a task that asks for another one fails, and one for this image is told of
// it as well.
func TestAWorkerKnowsTheImageThatItIsIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	box, err := sandbox.New(b.ctx, sandbox.Config{Isolation: sandbox.Direct, OwnImage: "molfabric/dynamics@" + ownImage,
		Grace: killGrace})
	if err != nil {
		t.Fatal(err)
	}
	b.hire(1, func(cfg *worker.Config) { cfg.Runner = box })
	o := order(shellParams{Script: "true", Image: otherImage})
	b.enqueue(o)
	if end := b.ending(o); end.Kind != queue.Failed || end.Failure.Code != "WORKER_IMAGE_MISMATCH" {
		t.Errorf("another image: got %s %+v", end.Kind, end.Failure)
	}
	o = order(shellParams{Script: `test "$MOLFABRIC_WORKER_IMAGE" = ` + ownImage, Image: ownImage})
	b.enqueue(o)
	if end := b.ending(o); end.Kind != queue.Succeeded {
		t.Errorf("its own image: got %s %+v", end.Kind, end.Failure)
	}
}

// TestAFloodOfOutputFails has a reason that the owner of the job can read.
func TestAFloodOfOutputFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	o := order(shellParams{Script: "i=0; while :; do i=$((i + 1)); head -c 1000000 /dev/zero >out/$i; done"})
	o.Shard.Needs.FileBytes, o.Shard.Needs.ScratchBytes = 1<<20, 1<<20
	b.enqueue(o)
	if end := b.ending(o); end.Kind != queue.Failed || end.Failure.Class != engines.Executor ||
		end.Failure.Code != "OUTPUT_TOO_LARGE" {
		t.Errorf("got %s %+v", end.Kind, end.Failure)
	}
}
