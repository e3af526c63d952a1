package worker_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// burn is a script's function that goes on until the shell itself has used so much processor time in all: burn MILLISECONDS.
const burn = `burn() { end=$(($1 / 10)); while used=$(cut -d' ' -f14,15 /proc/$$/stat) && [ $((${used% *} + ${used#* })) -lt $end ]; do
	i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); done; done; }
`

// TestCheckpointsTellWhatTheirWorkHasUsed: a report of finished work says what the attempt had used when the program told of it,
// and one of a preview alone says no more than the one before.
func TestCheckpointsTellWhatTheirWorkHasUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	o := order(shellParams{Script: burn + save + "save preview.jpg 0\n" + onceTold("first") + "burn 200\nsave frame-1 1\n" +
		onceTold("preview") +
		"burn 400\nsave preview.jpg 1\n" + onceTold("second") + "burn 500\nsave frame-2 2; burn 600\n" + untilTold})
	b.enqueue(o)
	// used is what the report of a checkpoint says, which is then committed.
	used := func(name, content string) queue.Usage {
		t.Helper()
		b.awaitSaved(o, "checkpoint/"+name, content)
		for _, event := range b.of(o, queue.Checkpointed) {
			if strings.Contains(event.Checkpoints[0].Name, name) && event.Checkpoints[0].SHA256 == digest(content) {
				b.acknowledge()
				return event.Usage
			}
		}
		t.Fatalf("no report begins with %s", name)
		return queue.Usage{}
	}
	if got := used("preview.jpg", "0"); got != (queue.Usage{}) {
		t.Errorf("a preview before the first frame used %+v", got)
	}
	b.signal(o, "first")
	first := used("frame-1", "1")
	if first.CPUMicroseconds < 180_000 || first.CPUMicroseconds > 5_000_000 || first.WallMs < 100 {
		t.Errorf("the first frame used %+v, want its 200 ms", first)
	}
	b.signal(o, "preview")
	if got := used("preview.jpg", "1"); got != first {
		t.Errorf("a preview after the first frame used %+v, want %+v", got, first)
	}
	b.signal(o, "second")
	second := used("frame-2", "2")
	if second.CPUMicroseconds < first.CPUMicroseconds+250_000 || second.WallMs <= first.WallMs {
		t.Errorf("both frames used %+v, the first %+v", second, first)
	}
	b.tell(o)
	if end := b.ending(o); end.Usage.CPUMicroseconds < second.CPUMicroseconds+50_000 || end.Usage.WallMs < second.WallMs {
		t.Errorf("the attempt used %+v, its frames %+v", end.Usage, second)
	}
}

// TestLostWorkIsTold: an attempt that cannot have all the finished work of those before says so in all that it reports; a preview
// that is gone is no loss.
func TestLostWorkIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	for _, test := range []struct {
		missing string
		want    bool
	}{{"", false}, {"preview.jpg", false}, {"frame-1", true}} {
		saved := map[string]queue.StoredArtifact{}
		for _, name := range []string{"frame-1", "frame-2", "preview.jpg"} {
			object := b.put("old/without-"+test.missing+"/"+name, name)
			if name == test.missing {
				object.StorageKey = "old/none"
			}
			saved["checkpoint/"+name] = queue.StoredArtifact{Object: object}
		}
		o := resumeFrom(order(shellParams{}), saved, shellParams{Script: save + "save frame-3 3"})
		b.enqueue(o)
		expectSuccess(t, b.ending(o))
		for _, kind := range []queue.EventKind{queue.Started, queue.Succeeded} {
			if got := b.of(o, kind)[0].Redone; got != test.want {
				t.Errorf("without %q: %s says that work is done again: %v, want %v", test.missing, kind, got, test.want)
			}
		}
	}
}

// TestAWorkerKeptOffAJobGivesItsTasksBack: it starts nothing of an order that names it, and reports so; another one runs it.
func TestAWorkerKeptOffAJobGivesItsTasksBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.hire(1, nil)
	b.awaitHello(kept)
	o := order(shellParams{Script: "true"})
	o.Avoid = []string{"wrk_other", kept.ID()}
	b.enqueue(o)
	end := b.ending(o)
	expectFailure(t, end, engines.System, "WORKER_KEPT_OFF")
	if !end.GivenBack || end.Usage != (queue.Usage{}) || len(b.of(o, queue.Started)) != 0 {
		t.Errorf("given back: %v, used %+v, started %d times", end.GivenBack, end.Usage, len(b.of(o, queue.Started)))
	}
	kept.leave()
	b.awaitLeft(kept)
	b.hire(1, nil)
	next := attemptOf(o, order(shellParams{Script: "true"}), 2)
	next.Avoid = o.Avoid
	b.enqueue(next)
	expectSuccess(t, b.ending(next))
}
