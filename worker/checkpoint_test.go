package worker_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

var _ engines.Checkpointer = shell{}

// Checkpoint reads lines like "saved checkpoint/a checkpoint/b".
func (shell) Checkpoint(line string) ([]string, bool) {
	if line == "saved panic" {
		panic("no names")
	}
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "saved" {
		return nil, false
	}
	return words[1:], true
}

// save is a script's function that saves a checkpoint as programs should: save NAME CONTENT.
const save = `save() { printf %s "$2" >out/partial; mkdir -p out/checkpoint; mv out/partial "out/checkpoint/$1"; echo "saved checkpoint/$1"; }
`

// onceTold continues a script once signal has been called with the word.
func onceTold(word string) string { return "while [ ! -e in/" + word + " ]; do sleep 0.02; done\n" }

// signal ends the wait of a running order's script for a word.
func (b *bench) signal(o queue.WorkOrder, word string) {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.scratch, "*", o.Ref().String(), "in"))
	if err != nil || len(found) != 1 {
		b.t.Fatalf("directories of %s: %v, %v; want one", o.Ref(), found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], word), nil, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// saved returns the newest reported version of each checkpoint of an order.
func (b *bench) saved(o queue.WorkOrder) map[string]queue.StoredArtifact {
	b.t.Helper()
	newest := map[string]queue.StoredArtifact{}
	last := int64(0)
	for _, event := range b.of(o, queue.Checkpointed) {
		if event.Seq <= 0 || event.Seq < last {
			b.t.Errorf("report %d of checkpoints comes after report %d", event.Seq, last)
		}
		last = event.Seq
		for _, file := range event.Checkpoints {
			newest[file.Name] = file
		}
	}
	return newest
}

// awaitSaved waits until a checkpoint with this content has been reported, and returns it.
func (b *bench) awaitSaved(o queue.WorkOrder, name, content string) queue.StoredArtifact {
	b.t.Helper()
	b.eventually("checkpoint "+name+" is "+content, func() bool { return b.saved(o)[name].SHA256 == digest(content) })
	return b.saved(o)[name]
}

// commit acknowledges everything, as the scheduler does all the time, and notes the checkpoints among it by name.
func (b *bench) commit(saved map[string]queue.StoredArtifact) {
	b.t.Helper()
	deliveries := b.events()
	for _, d := range deliveries {
		for _, file := range d.Checkpoints {
			saved[file.Name] = file
		}
	}
	if err := b.queue.Acknowledge(b.ctx, deliveries); err != nil {
		b.t.Fatal(err)
	}
}

// resumeFrom is the order of a task's next attempt, as the scheduler would give it.
func resumeFrom(o queue.WorkOrder, saved map[string]queue.StoredArtifact, p shellParams) queue.WorkOrder {
	next := attemptOf(o, order(p), o.Attempt+1)
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		next.Inputs = append(next.Inputs, queue.ResolvedInput{Name: queue.ResumeName(name), Object: saved[name].Object,
			Resume: true})
	}
	return next
}

// keysBelow lists what is stored below a prefix, but for logs.
func (b *bench) keysBelow(prefix string) []string {
	b.t.Helper()
	var keys []string
	for info, err := range b.objects.List(b.ctx, prefix) {
		if err != nil {
			b.t.Fatal(err)
		}
		if !strings.Contains(info.Key, "/logs/") {
			keys = append(keys, strings.TrimPrefix(info.Key, prefix))
		}
	}
	return keys
}

func TestCheckpointsAreStoredWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	o := order(shellParams{Outputs: []string{"pose"}, Script: save + "save state one\n" + onceTold("more") +
		"save state two; save frames 1\n" + untilTold + "; echo pose >out/pose"})
	b.enqueue(o)
	first := b.awaitSaved(o, "checkpoint/state", "one")
	expectStored(t, b.objects, first, first.StorageKey, "one")
	if !strings.HasPrefix(first.StorageKey, o.OutputPrefix) || first.Role != engines.RoleCheckpoint {
		t.Errorf("stored as %+v, want it below %s", first, o.OutputPrefix)
	}
	b.signal(o, "more")
	b.acknowledge() // also of the first: only then is the next round reported
	second := b.awaitSaved(o, "checkpoint/state", "two")
	expectStored(t, b.objects, second, second.StorageKey, "two")
	b.awaitSaved(o, "checkpoint/frames", "1")
	if second.StorageKey == first.StorageKey {
		t.Error("the second version was written over the first before it was reported")
	}
	b.acknowledge()
	b.tell(o)
	event := b.ending(o)
	expectSuccess(t, event)
	if want := int64(5) + event.Logs[0].ByteSize; event.Usage.BytesOut != want {
		t.Errorf("%d bytes are charged as output, want the %d of the pose and the log", event.Usage.BytesOut, want)
	}
	if event.Stray != "" {
		t.Errorf("it says that %s was not reported", event.Stray)
	}
}

// What was told last is stored also of an attempt that fails at once or is stopped, and reported before its end.
func TestLastCheckpointsAreStoredBeforeTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	failing := order(shellParams{Script: save + "for i in 1 2 3; do save ligand-$i $i; done; exit 1"})
	b.enqueue(failing)
	expectFailure(t, b.ending(failing), engines.Executor, "ENGINE_FAILED")
	if saved := b.saved(failing); len(saved) != 3 {
		t.Errorf("stored %v, want three ligands", saved)
	}
	stopped := order(shellParams{Script: save + "save state first\n" + onceTold("more") +
		"save state last; echo progress 0.5 saved; sleep 600"})
	b.enqueue(stopped)
	b.awaitSaved(stopped, "checkpoint/state", "first")
	b.signal(stopped, "more") // the report of the first is not committed yet, and the last one waits for that
	b.eventually("the last is saved", func() bool { h := b.held(w, stopped); return h != nil && h.Message == "saved" })
	b.stop(stopped)
	expectCancelled(t, b.ending(stopped))
	b.awaitSaved(stopped, "checkpoint/state", "last")
	kinds := map[queue.Ref][]queue.EventKind{}
	for _, d := range b.events() {
		kinds[d.Ref] = append(kinds[d.Ref], d.Kind)
	}
	for ref, got := range kinds {
		if last := got[len(got)-1]; last == queue.Checkpointed {
			t.Errorf("%s was reported as %v: the checkpoint would be fenced", ref, got)
		}
	}
}

// A program must not make the worker store a file that it cannot see itself, or more than it may.
func TestHostileCheckpoints(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	o := order(shellParams{Script: save + `
		echo secret >out/plain; ln -s /etc/passwd out/link; mkdir -p out/checkpoint/deep
		ln -s /etc/passwd out/checkpoint/link; ln -s / out/checkpoint/root; ln -s ../plain out/checkpoint/inner; mkfifo out/checkpoint/pipe
		head -c 3000000 /dev/zero >out/checkpoint/large
		for name in plain link ../in/ligand /etc/passwd checkpoint checkpoint/ checkpoint/../plain checkpoint/../../in/x checkpoint/link \
			checkpoint/root/etc/passwd checkpoint/inner checkpoint/pipe checkpoint/deep checkpoint/missing checkpoint/large 'checkpoint/*' \
			checkpoint/.hidden checkpoint//plain "checkpoint/$(head -c 300 /dev/zero | tr '\0' a)"; do echo "saved $name"; done
		printf 'saved checkpoint/\377\n'; printf 'saved checkpoint/a\0b\n'; echo saved; echo "saved checkpoint/missing and others"
		save good work; save deep/too 2; exit 1`})
	o.Shard.Needs.ScratchBytes = 2 << 20
	b.enqueue(o)
	expectFailure(t, b.ending(o), engines.Executor, "OUTPUT_UNSAFE")
	if got := slices.Sorted(maps.Keys(b.saved(o))); !slices.Equal(got, []string{"checkpoint/deep/too", "checkpoint/good"}) {
		t.Errorf("reported %v", got)
	}
	if got := b.keysBelow(o.OutputPrefix); len(got) != 2 {
		t.Errorf("stored %v, want the two good ones", got)
	}
	broken := order(shellParams{Script: save + "echo saved panic; save late x; echo progress 0.5 on; true"})
	b.enqueue(broken)
	expectSuccess(t, b.ending(broken))
	if saved := b.saved(broken); len(saved) != 0 {
		t.Errorf("an adapter that panicked was asked again: %v", saved)
	}
}

// A store that takes no checkpoints, or hangs, costs checkpoints alone. When it is back they are stored.
func TestStoreThatTakesNoCheckpoints(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var away, hung atomic.Bool
	release, asked := make(chan struct{}), make(chan struct{}, 100)
	b.interposed(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(written(r), "/checkpoint/") {
			return false
		}
		if hung.Load() {
			asked <- struct{}{}
			<-release
			return true
		}
		if away.Load() {
			asked <- struct{}{}
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return away.Load()
	})
	t.Cleanup(func() { close(release) }) // before the server is closed, which waits for its handlers
	w := b.hire(1, nil)

	away.Store(true)
	o := order(shellParams{Script: save + "save state one; save other two\n" + untilTold})
	b.enqueue(o)
	<-asked
	away.Store(false)
	saved := map[string]queue.StoredArtifact{}
	b.eventually("both are stored", func() bool { b.commit(saved); return len(saved) == 2 })
	expectStored(t, b.objects, saved["checkpoint/other"], saved["checkpoint/other"].StorageKey, "two")
	b.tell(o)
	expectSuccess(t, b.ending(o))
	b.acknowledge()

	hung.Store(true)
	o = order(shellParams{Outputs: []string{"pose"}, Script: save + `save state 1; i=0; while [ $i -lt 20000 ]; do echo saved checkpoint/state; i=$((i+1)); done
		echo progress 0.75 through; ` + untilTold + `; echo pose >out/pose`})
	b.enqueue(o)
	<-asked
	b.eventually("the output is read on", func() bool { h := b.held(w, o); return h != nil && h.Message == "through" })
	b.tell(o)
	event := b.ending(o)
	expectSuccess(t, event)
	if saved := b.saved(o); len(saved) != 0 || !strings.HasPrefix(event.Stray, o.OutputPrefix+"checkpoint/") {
		t.Errorf("reported %v, and %q as perhaps stored, of a store that took nothing and may have", saved, event.Stray)
	}
}

// Resume files that have been lost or damaged are left out; the attempt goes on from the others.
func TestResumeFilesMayBeMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	saved := map[string]queue.StoredArtifact{}
	for i, name := range []string{"a", "a/below", "damaged", "deep/b", "gone", "short"} {
		saved["checkpoint/"+name] = queue.StoredArtifact{Object: b.put(fmt.Sprintf("old/%d", i), "work of "+name)}
	}
	damage := func(name string, do func(*engines.Object)) {
		file := saved["checkpoint/"+name]
		do(&file.Object)
		saved["checkpoint/"+name] = file
	}
	damage("damaged", func(o *engines.Object) { o.SHA256 = digest("other") })
	damage("short", func(o *engines.Object) { o.ByteSize++ })
	damage("gone", func(o *engines.Object) { o.StorageKey = "old/none" })
	o := resumeFrom(order(shellParams{}), saved,
		shellParams{Script: `cd in/resume && find . -type f | sort >../../out/found && cat a deep/b >>../../out/found`,
			Outputs: []string{"found"}})
	b.enqueue(o)
	event := b.ending(o)
	expectSuccess(t, event)
	if got, want := read(t, b.objects, event.Result.Artifacts[0].StorageKey),
		"./a\n./deep/b\nwork of awork of deep/b"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if event.Usage.BytesIn != int64(len("work of a")+len("work of deep/b")) {
		t.Errorf("%d bytes staged", event.Usage.BytesIn)
	}
}
