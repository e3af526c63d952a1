package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/worker"
)

// doomedSetup is the environment variable that makes the test program a worker which ends when it is killed.
const doomedSetup = "MOLFABRIC_TEST_DOOMED_WORKER"

// doomed is what such a worker is told.
type doomed struct {
	RedisURL, Prefix, Scratch string
	CacheDir                  string // none without
	CacheBytes                int64
}

func workUntilKilled(setup string) {
	var d doomed
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	must(json.Unmarshal([]byte(setup), &d))
	options, err := redis.ParseURL(d.RedisURL)
	must(err)
	sandboxed, err := runner()
	must(err)
	w, err := worker.New(worker.Config{Queue: queue.New(redis.NewClient(options), d.Prefix),
		Engines: engines.NewRegistry(shell{"shell"}),
		Runner:  sandboxed, Offered: []worker.Offer{{Engine: "shell", Hardware: "cpu"}}, Slots: 1, ScratchDir: d.Scratch,
		CacheDir: d.CacheDir, CacheBytes: d.CacheBytes, Log: slog.New(slog.DiscardHandler)})
	must(err)
	must(w.Run(context.Background()))
}

func TestSecondWorkerGoesOnFromTheCheckpointsOfAKilledOne(t *testing.T) {
	t.Parallel()
	rdb, url, prefix := redistest.New(t)
	b := newBenchOn(t, rdb, prefix)
	b.sandboxed()
	setup, err := json.Marshal(doomed{RedisURL: url, Prefix: prefix, Scratch: b.scratch})
	if err != nil {
		t.Fatal(err)
	}
	first := exec.Command(os.Args[0])
	first.Env, first.Stderr = append(os.Environ(), doomedSetup+"="+string(setup)), os.Stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		if err := first.Wait(); err == nil {
			t.Error("the first worker ended by itself")
		}
	}()
	t.Cleanup(func() { _ = first.Process.Kill() }) // if it still lives

	const dock = save + `for i in 1 2 3 4; do
		if [ -e in/resume/ligand-$i ]; then cat in/resume/ligand-$i >>out/poses; echo "kept $i"; continue; fi
		[ $i = 3 ] && while [ ! -e in/told ]; do sleep 0.02; done
		save ligand-$i "pose-$i "; cat out/checkpoint/ligand-$i >>out/poses; done`
	o := order(shellParams{Script: dock, Outputs: []string{"poses"}})
	b.enqueue(o)
	saved := map[string]queue.StoredArtifact{}
	b.eventually("two ligands are docked", func() bool { b.commit(saved); return len(saved) == 2 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reaped:
	case <-time.After(deadline):
		t.Fatal("the first worker does not die")
	}
	if len(b.of(o, "")) != 0 {
		t.Fatal("the first attempt has ended before its worker was killed")
	}

	b.hire(1, nil)
	next := resumeFrom(o, saved, shellParams{Script: strings.ReplaceAll(dock, "in/told", "in"), Outputs: []string{"poses"}})
	b.enqueue(next)
	event := b.ending(next)
	expectSuccess(t, event)
	if got := read(t, b.objects, event.Result.Artifacts[0].StorageKey); got != "pose-1 pose-2 pose-3 pose-4 " {
		t.Errorf("poses %q", got)
	}
	if got := read(t, b.objects, event.Logs[0].StorageKey); !strings.Contains(got, "kept 1\nkept 2\n") ||
		strings.Contains(got, "saved checkpoint/ligand-1") {
		t.Errorf("the second attempt printed %q, want it to keep the first two ligands", got)
	}
}
