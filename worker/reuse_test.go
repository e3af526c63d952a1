package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
)

// repeating is a shell whose outputs may be taken over; it calls "old" what is "new" here.
type repeating struct {
	shell
	held chan struct{} // who adopts waits until it is closed; nil for no wait
}

func (repeating) Programs() string { return "1" }

func (repeating) Repeats(plan []engines.Shard) []engines.Repeat { return engines.RepeatAll(plan) }

func (r repeating) Adopt(shard engines.Shard, dir engines.Dir, result engines.Result) (engines.Result, error) {
	if r.held != nil {
		<-r.held
	}
	if params(shard).Explain == "refuse" {
		return result, errors.New("it does not fit")
	}
	err := os.Rename(dir.Out(result.Artifacts[0].Name), dir.Out("new"))
	result.Artifacts[0].Name = "new"
	return result, err
}

var toolchain = queue.Toolchain(repeating{shell: shell{"shell"}}, map[string]string{"sh": "1"})

// made is what another task has left in the store, and the order that names it.
func made(b *bench, p shellParams, change func(*queue.Reuse)) queue.WorkOrder {
	b.t.Helper()
	key := "accounts/acct_1/jobs/job_1/task_1/1/old"
	stored := b.put(key, "made before")
	p.Script, p.Outputs = "echo run > out/new", []string{"new"}
	o := order(p)
	o.Reuse = &queue.Reuse{Source: queue.Source{JobID: "job_1", TaskID: "task_1", Attempt: 1}, Toolchain: toolchain,
		Result: queue.Result{Summary: []byte(`{"score":-12}`), Artifacts: []queue.StoredArtifact{{
			Artifact: engines.Artifact{Name: "old", Role: engines.RoleResult, MediaType: "text/plain", Format: "txt"},
			Object:   stored}}}}
	if change != nil {
		change(o.Reuse)
	}
	return o
}

func TestOutputsOfAnotherTaskAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		params shellParams
		change func(*queue.Reuse)
		reused bool
	}{
		"as they are":      {reused: true},
		"other programs":   {change: func(r *queue.Reuse) { r.Toolchain = strings.Repeat("0", 64) }},
		"damaged":          {change: func(r *queue.Reuse) { r.Result.Artifacts[0].SHA256 = strings.Repeat("0", 64) }},
		"without a digest": {change: func(r *queue.Reuse) { r.Result.Artifacts[0].SHA256 = "" }},
		"gone":             {change: func(r *queue.Reuse) { r.Result.Artifacts[0].StorageKey += "-gone" }},
		"a name that leads out": {change: func(r *queue.Reuse) {
			r.Result.Artifacts[0].Name = filepath.Join("..", "..", "old")
		}},
		"refused by the engine": {params: shellParams{Explain: "refuse"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.hire(1, func(cfg *worker.Config) {
				cfg.Engines = engines.NewRegistry(repeating{shell: shell{"shell"}})
				cfg.Offered = cfg.Offered[:1]
			})
			o := made(b, test.params, test.change)
			b.enqueue(o)
			event := b.ending(o)
			if event.Kind != queue.Succeeded || (event.Reused != nil) != test.reused || event.Toolchain != toolchain {
				t.Fatalf("got %+v (failure %v)", event, event.Failure)
			}
			want, summary := "run\n", `{"score":-9.1}`
			if test.reused {
				want, summary = "made before", `{"score":-12}`
			}
			if string(event.Result.Summary) != summary {
				t.Errorf("summary %s, want %s", event.Result.Summary, summary)
			}
			file := event.Result.Artifacts[0]
			path := filepath.Join(t.TempDir(), "file")
			if _, err := object.GetFile(b.ctx, b.objects, file.StorageKey, path, file.SHA256, file.ByteSize); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil || string(content) != want || file.StorageKey != o.OutputPrefix+"new" || file.Name != "new" {
				t.Errorf("got %q at %s as %s (%v), want %q at the attempt's own place", content, file.StorageKey, file.Name, err,
					want)
			}
			if used := event.Usage; test.reused && used != (queue.Usage{}) {
				t.Errorf("copying is said to have used %+v", used)
			}
		})
	}
}

// TestCopiesKeepNoCoreIdle lets copies wait for a store that does not answer, on a worker of one core, which computes meanwhile.
func TestCopiesKeepNoCoreIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	held := make(chan struct{})
	b.hire(1, func(cfg *worker.Config) {
		cfg.Engines = engines.NewRegistry(repeating{shell{"shell"}, held})
		cfg.Offered = cfg.Offered[:1]
	})
	one, other := made(b, shellParams{}, nil), made(b, shellParams{}, nil)
	computed := order(shellParams{Script: "echo run > out/new", Outputs: []string{"new"}})
	for _, o := range []queue.WorkOrder{one, other, computed} {
		b.enqueue(o)
	}
	if event := b.ending(computed); event.Kind != queue.Succeeded || event.Reused != nil {
		t.Errorf("what computes ended as %+v (failure %v)", event, event.Failure)
	}
	close(held)
	for _, o := range []queue.WorkOrder{one, other} {
		if event := b.ending(o); event.Kind != queue.Succeeded || event.Reused == nil {
			t.Errorf("a copy ended as %+v (failure %v)", event, event.Failure)
		}
	}
}
