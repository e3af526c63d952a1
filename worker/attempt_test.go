package worker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

func TestSuccess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	o := order(shellParams{Outputs: []string{"pose.txt", "deep/log.txt"}, Script: `
		i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done
		cat in/ligand in/receptors/prep-1/receptor >out/pose.txt
		mkdir out/deep; printf deep >out/deep/log.txt; printf unannounced >out/extra
		echo to the log; echo and the errors >&2`})
	o.Inputs = []queue.ResolvedInput{{Name: "ligand", Object: b.put("ligand", "CCO\n")},
		{Name: "receptors/prep-1/receptor", Object: b.put("receptor", "ATOM\n")}}
	b.enqueue(o)
	event := b.ending(o)
	expectSuccess(t, event)
	if event.WorkerID != w.ID() || event.JobID != o.JobID || event.Engine != "shell" {
		t.Errorf("reported by %s for %s of %s", event.WorkerID, event.JobID, event.Engine)
	}
	if got := string(event.Result.Summary); got != `{"score":-9.1}` || event.Result.Programs["sh"] != "1" {
		t.Errorf("result %s by %v", got, event.Result.Programs)
	}
	started := b.of(o, queue.Started)
	if len(started) != 1 || started[0].Pickup <= 0 || started[0].Pickup > deadline {
		t.Errorf("started %+v, want one with a pickup time", started)
	}

	want := map[string]string{"pose.txt": "CCO\nATOM\n", "deep/log.txt": "deep"}
	if len(event.Result.Artifacts) != len(want) {
		t.Errorf("%d artifacts, want %d", len(event.Result.Artifacts), len(want))
	}
	stored := int64(0)
	for _, artifact := range event.Result.Artifacts {
		content := want[artifact.Name]
		expectStored(t, b.objects, artifact, o.OutputPrefix+artifact.Name, content)
		if artifact.Role != engines.RoleResult || artifact.MediaType != "text/plain" {
			t.Errorf("%s is a %s of type %s", artifact.Name, artifact.Role, artifact.MediaType)
		}
		stored += artifact.ByteSize
	}
	if len(event.Logs) != 1 {
		t.Fatalf("%d logs, want 1", len(event.Logs))
	}
	log := event.Logs[0]
	if got := read(t, b.objects, log.StorageKey); log.Name != "logs/run-00001.log" || !strings.Contains(got, "to the log\n") ||
		!strings.Contains(got, "and the errors\n") {
		t.Errorf("log %s: %q", log.Name, got)
	}
	u := event.Usage
	if u.CPUMicroseconds < 20_000 || u.WallMs < 20 || u.PeakMemoryBytes <= 0 || u.BytesIn != 9 ||
		u.BytesOut != stored+log.ByteSize ||
		!u.FinishedAt.After(u.StartedAt) {
		t.Errorf("used %+v", u)
	}
	if left, err := filepath.Glob(filepath.Join(b.scratch, "*", o.Ref().String())); err != nil || len(left) != 0 {
		t.Errorf("the attempt's directory is still there: %v, %v", left, err)
	}
}

func expectStored(t *testing.T, objects *object.Store, artifact queue.StoredArtifact, key, content string) {
	t.Helper()
	if artifact.StorageKey != key || artifact.SHA256 != digest(content) || artifact.ByteSize != int64(len(content)) {
		t.Errorf("%s is %+v, want %d bytes with digest %s at %s", artifact.Name, artifact.Object, len(content), digest(content),
			key)
	}
	if got := read(t, objects, artifact.StorageKey); got != content {
		t.Errorf("%s holds %q, want %q", artifact.StorageKey, got, content)
	}
}

func read(t *testing.T, objects *object.Store, key string) string {
	t.Helper()
	body, _, err := objects.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// uploads is where the files of an account lie; what lies elsewhere is nobody's fault but the fabric's when it is lost.
const uploads = "accounts/acct_1/uploads/upl_1/"

// TestFailures runs everything that can go wrong with one attempt on one worker, which outlives all of it.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(4, nil)
	good := b.put(uploads+"good", "CCO\n")
	wrong, short, gone := good, good, good
	wrong.SHA256, short.ByteSize, gone.StorageKey = digest("other"), 3, uploads+"gone"
	kept := b.put("databases/blast/ab/proteome.phr", "headers")
	damaged, lost, pose := kept, kept, kept
	damaged.SHA256, lost.StorageKey, pose.StorageKey = digest("other"), "databases/blast/ab/proteome.psq",
		"accounts/acct_1/jobs/job_1/task_1/1/pose"

	for _, c := range []struct {
		name    string
		params  shellParams
		change  func(*queue.WorkOrder)
		class   engines.FailureClass
		code    string
		message string // part of it
	}{
		{name: "exit code", params: shellParams{Script: "echo bad ligand; exit 3"}, class: engines.Executor, code: "ENGINE_FAILED",
			message: "exit code 3"},
		{name: "explained", params: shellParams{Script: "echo bad ligand; exit 3", Explain: "LIGAND_BAD"}, class: engines.UserInput,
			code: "LIGAND_BAD", message: "3: bad ligand"},
		{name: "signal", params: shellParams{Script: "kill -SEGV $$"}, class: engines.Executor, code: "ENGINE_FAILED",
			message: "exit code 139"},
		{name: "file above its cap", params: shellParams{Script: "head -c 2000000 /dev/zero >out/x"}, class: engines.Executor,
			code:   "ENGINE_FAILED",
			change: func(o *queue.WorkOrder) { o.Shard.Needs.FileBytes = 1 << 20 }},
		{name: "time limit", params: shellParams{Script: "sleep 600"}, class: engines.Timeout, code: "TIME_LIMIT", message: "200ms",
			change: func(o *queue.WorkOrder) { o.Shard.Needs.TimeLimit = 200 * time.Millisecond }},
		{name: "use that is paid for", params: shellParams{Script: "while :; do :; done"}, class: engines.CostLimit,
			code: "COST_LIMIT_EXCEEDED", message: "of processor time",
			change: func(o *queue.WorkOrder) { o.Paid.CPUMicroseconds = 200_000 }},
		{name: "memory", params: shellParams{Script: `x=$(head -c 200000000 /dev/zero | tr '\0' a); echo ${#x}`},
			class: engines.Executor, code: "OUT_OF_MEMORY", message: "64 MiB",
			change: func(o *queue.WorkOrder) { o.Shard.Needs.MemoryBytes = 64 << 20 }},
		{name: "link", params: shellParams{Script: "ln -s /etc/passwd out/pose", Outputs: []string{"pose"}},
			class: engines.Executor, code: "OUTPUT_UNSAFE"},
		{name: "named pipe", params: shellParams{Script: "mkfifo out/pipe"}, class: engines.Executor, code: "OUTPUT_UNSAFE"},
		{name: "missing output", params: shellParams{Script: "echo a >out/a", Outputs: []string{"a", "b"}}, class: engines.Executor,
			code: "OUTPUT_MISSING", message: "b"},
		{name: "output outside", params: shellParams{Script: "true", Outputs: []string{"../in/ligand"}}, class: engines.Executor,
			code: "OUTPUT_MISSING"},
		{name: "outputs too large", params: shellParams{Script: "head -c 1500000 /dev/zero >out/a; cp out/a out/b",
			Outputs: []string{"a", "b"}},
			class: engines.Executor, code: "OUTPUT_TOO_LARGE", message: "2 MiB",
			change: func(o *queue.WorkOrder) { o.Shard.Needs.ScratchBytes = 2 << 20 }},
		{name: "typed failure", params: shellParams{Collect: "fail"}, class: engines.UserInput, code: "LIGAND_UNREADABLE",
			message: "no atoms"},
		{name: "unusable output", params: shellParams{Collect: "error"}, class: engines.Executor, code: "OUTPUT_INVALID"},
		{name: "large summary", params: shellParams{Collect: "swell"}, class: engines.Executor, code: "OUTPUT_INVALID"},
		{name: "panic", params: shellParams{Collect: "panic"}, class: engines.Executor, code: "ENGINE_BROKEN"},
		{name: "missing program", params: shellParams{Program: "no-such-program"}, class: engines.System, code: "SANDBOX_FAILED"},
		{name: "unknown engine", class: engines.System, code: "ENGINE_UNKNOWN",
			change: func(o *queue.WorkOrder) { o.Engine = "blender" }},
		{name: "wrong digest", class: engines.UserInput, code: "INPUT_MISMATCH", message: "good", change: input("ligand", wrong)},
		{name: "wrong size", class: engines.UserInput, code: "INPUT_MISMATCH", message: "3", change: input("ligand", short)},
		{name: "missing input", class: engines.UserInput, code: "INPUT_NOT_FOUND", message: "gone", change: input("ligand", gone)},
		{name: "damaged database", class: engines.System, code: "INPUT_LOST", message: "db/proteome.phr",
			change: input("db/proteome.phr", damaged)},
		{name: "missing database", class: engines.System, code: "INPUT_LOST", message: "db/proteome.psq",
			change: input("db/proteome.psq", lost)},
		{name: "missing intermediate", class: engines.System, code: "INPUT_LOST", message: "poses/dock-1/pose",
			change: input("poses/dock-1/pose", pose)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.code == "OUT_OF_MEMORY" && !capsMemory(t) && !serverstest.Required() {
				t.Skip("SKIPPED: no control groups")
			}
			b := *b
			b.t = t
			o := order(c.params)
			if c.change != nil {
				c.change(&o)
			}
			b.enqueue(o)
			event := b.ending(o)
			expectFailure(t, event, c.class, c.code)
			if !strings.Contains(event.Failure.Message, c.message) || strings.Contains(event.Failure.Message, "scratch") {
				t.Errorf("the message is %q, want it to tell %q and no path", event.Failure.Message, c.message)
			}
			started := len(b.of(o, queue.Started)) == 1
			if ran := event.Usage.WallMs > 0; ran && (!started || len(event.Logs) != 1) {
				t.Errorf("it ran; started %v, %d logs", started, len(event.Logs))
			}
			for info, err := range b.objects.List(t.Context(), o.OutputPrefix) {
				if err != nil || info.Key != o.OutputPrefix+"logs/run-00001.log" {
					t.Errorf("stored %s of a failed attempt, %v", info.Key, err)
				}
			}
		})
	}
}

// TestAnInputThatCanBeDoneWithout is lost and damaged: the program runs without it.
func TestAnInputThatCanBeDoneWithout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(2, nil)
	kept := b.put("accounts/acct_1/jobs/job_1/task_1/1/receptor.pdbqt", "ATOM\n")
	damaged, lost := kept, kept
	damaged.SHA256, lost.StorageKey = digest("other"), "accounts/acct_1/jobs/job_1/task_1/1/gone"
	for name, stored := range map[string]engines.Object{"damaged": damaged, "lost": lost} {
		o := order(shellParams{Script: "test ! -e in/prepared.pdbqt && test -e in/sound && echo fine >out/pose",
			Outputs: []string{"pose"}})
		o.Inputs = []queue.ResolvedInput{{Name: "prepared.pdbqt", Object: stored, Optional: true},
			{Name: "sound", Object: kept, Optional: true}}
		b.enqueue(o)
		if event := b.ending(o); event.Kind != queue.Succeeded || event.Usage.BytesIn != kept.ByteSize {
			t.Errorf("%s: the attempt ended as %s with %d bytes staged: %v", name, event.Kind, event.Usage.BytesIn, event.Failure)
		}
	}
}

// capsMemory reports whether this machine caps the memory of a whole process tree.
func capsMemory(t *testing.T) bool {
	t.Helper()
	sandboxed, err := runner()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(sandboxed.Describe().Caps, "cgroup")
}

func input(name string, stored engines.Object) func(*queue.WorkOrder) {
	return func(o *queue.WorkOrder) { o.Inputs = []queue.ResolvedInput{{Name: name, Object: stored}} }
}

func TestProgressTravelsInHeartbeats(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	o := order(shellParams{Script: "echo noise; echo progress 0.25 docking; " + untilTold})
	broken := order(shellParams{Script: "echo progress panic; " + untilTold})
	b.enqueue(o, broken)
	b.eventually("progress arrives", func() bool {
		h := b.held(w, o)
		return h != nil && h.Phase == queue.Running && h.Progress == 0.25 && h.Message == "docking" && h.JobID == o.JobID
	})
	hb := b.heartbeat(w)
	if hb.Slots != 2 || hb.Version != "test" || len(hb.Queues) != 2 || hb.Queues[0] != "cpu.shell" || hb.PID != os.Getpid() ||
		hb.Draining ||
		hb.Programs["shell"]["sh"] != "1" || hb.Sandbox == "" {
		t.Errorf("heartbeat %+v", hb)
	}
	b.awaitStart(broken)
	for _, o := range []queue.WorkOrder{o, broken} {
		b.tell(o)
		expectSuccess(t, b.ending(o))
		b.awaitPhase(w, o, queue.Reporting) // until it is acknowledged
	}
	b.acknowledge()
	b.eventually("the worker lets go", func() bool { return len(b.heartbeat(w).Held) == 0 })
}

// saysCores tells how many cores it may keep busy, and waits.
const saysCores = `echo progress 0.5 $OMP_NUM_THREADS; ` + untilTold

// TestFreeCoresAreUsed has four slots. A task that can use more than it needs gets all that are free when it starts, one that
// comes later what is left, and one that others wait before nothing; all of it comes back.
func TestFreeCoresAreUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(4, nil)
	elastic := func(more int) queue.WorkOrder {
		o := order(shellParams{Script: saysCores})
		o.Shard.Needs.MoreCPUs = more
		return o
	}
	cores := func(o queue.WorkOrder, want string) {
		t.Helper()
		b.eventually("it has "+want+" cores", func() bool { h := b.held(w, o); return h != nil && h.Message == want })
	}
	some, rest, last := elastic(1), elastic(7), elastic(7)
	b.enqueue(some)
	cores(some, "2")
	b.enqueue(rest)
	cores(rest, "2")
	wide := order(shellParams{Script: saysCores})
	wide.Shard.Needs.CPUs = 4
	b.enqueue(wide)
	b.awaitPhase(w, wide, queue.Waiting)
	b.enqueue(last)
	b.awaitPhase(w, last, queue.Waiting)
	b.tell(some)
	b.tell(rest)
	expectSuccess(t, b.ending(some))
	expectSuccess(t, b.ending(rest))
	cores(wide, "4") // the task that waited goes first, and nothing is lost
	b.tell(wide)
	expectSuccess(t, b.ending(wide))
	cores(last, "4")
	b.tell(last)
	expectSuccess(t, b.ending(last))
}

// TestSlots holds two slots against three orders: the second needs both and waits for the first to end, though the first
// ignores its stop order; the third waits for the second.
func TestSlots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	stubborn := order(shellParams{Script: `trap '' TERM; echo progress 0.5 deaf; ` + untilTold})
	wide, third := order(shellParams{Script: untilTold}), order(shellParams{Script: "true"})
	wide.Shard.Needs.CPUs = 2
	b.enqueue(stubborn)
	b.eventually("the first does not hear", func() bool { h := b.held(w, stubborn); return h != nil && h.Message == "deaf" })
	b.enqueue(wide)
	b.awaitPhase(w, wide, queue.Waiting)
	if err := b.queue.StopAttempts(t.Context(), stubborn.Ref()); err != nil {
		t.Fatal(err)
	}
	first := b.ending(stubborn)
	if first.Kind != queue.Cancelled {
		t.Fatalf("ended as %s, want %s", first.Kind, queue.Cancelled)
	}
	b.awaitStart(wide)
	b.enqueue(third)
	b.awaitPhase(w, third, queue.Waiting)
	if n := len(b.of(third, queue.Started)); n != 0 {
		t.Error("three slots are in use of two")
	}
	b.tell(wide)
	second, last := b.ending(wide), b.ending(third)
	expectSuccess(t, second)
	expectSuccess(t, last)
	for _, c := range []struct {
		what          string
		before, after queue.Event
	}{{"second before the first had ended", first, second}, {"third before the second had ended", second, last}} {
		if c.after.Usage.StartedAt.Before(c.before.Usage.FinishedAt) {
			t.Errorf("%s: %s < %s", c.what, c.after.Usage.StartedAt, c.before.Usage.FinishedAt)
		}
	}
	if wall := time.Duration(first.Usage.WallMs) * time.Millisecond; wall < killGrace {
		t.Errorf("a program that ignores SIGTERM was given %s, want %s", wall, killGrace)
	}
}

func TestNeverMoreThanSlots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(2, nil)
	orders := make([]queue.WorkOrder, 8)
	for i := range orders {
		orders[i] = order(shellParams{Script: "true"})
		orders[i].Shard.Name = fmt.Sprintf("run-%05d", i)
	}
	b.enqueue(orders...)
	var ends []queue.Event
	for _, o := range orders {
		end := b.ending(o)
		expectSuccess(t, end)
		ends = append(ends, end)
	}
	for _, a := range ends {
		together := 0
		for _, other := range ends {
			if !other.Usage.StartedAt.After(a.Usage.StartedAt) && other.Usage.FinishedAt.After(a.Usage.StartedAt) {
				together++
			}
		}
		if together > 2 {
			t.Errorf("%d ran at once on 2 slots", together)
		}
	}
}

func expectSuccess(t *testing.T, event queue.Event) {
	t.Helper()
	if event.Kind != queue.Succeeded || event.Result == nil || event.Failure != nil {
		t.Fatalf("ended as %s with %v, want a success", event.Kind, event.Failure)
	}
}

func expectFailure(t *testing.T, event queue.Event, class engines.FailureClass, code string) {
	t.Helper()
	if event.Kind != queue.Failed || event.Failure == nil || event.Result != nil || event.Failure.Class != class ||
		event.Failure.Code != code {
		t.Fatalf("ended as %s with %v, want a failure %s %s", event.Kind, event.Failure, class, code)
	}
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
