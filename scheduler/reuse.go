package scheduler

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// Work that an account has paid for is not done again for it: a task whose identity (engines.Identity) is that of one that has
// succeeded is handed out with the outputs of that one, which its worker copies instead of running the engine. What was made by
// other programs than a worker has is no use to it; so the toolchain is looked at when a job is priced, and by the worker.

// knowingGrace is how long a submission waits to hear which programs the workers have: longer, and it is priced as if nothing
// were known.
const knowingGrace = 250 * time.Millisecond

// maxToolchain bounds what a worker may call its programs; a digest has 64 letters.
const maxToolchain = 128

// Work is what an account has made once: by which programs, and for which task.
type Work struct {
	Identity  engines.Identity
	Toolchain string
}

// KnownWork is work with the outputs that it has left.
type KnownWork struct {
	AccountID string
	Identity  engines.Identity
	queue.Reuse
}

// knownOf tells which shards of a plan make what the account has made before, by programs that a worker has now. An account "" has
// made nothing. What cannot be found out is not known.
func (s *Scheduler) knownOf(
	ctx context.Context, accountID string, spec engines.Spec, plan []engines.Shard, identities []engines.Identity,
) []bool {
	known := make([]bool, len(plan))
	wanted := slices.DeleteFunc(slices.Clone(identities), func(i engines.Identity) bool { return !i.Known() })
	if accountID == "" || len(wanted) == 0 {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, knowingGrace)
	defer cancel()
	workers, err := s.Queue.Workers(ctx)
	if err != nil {
		return known
	}
	made, err := s.store.MadeBefore(ctx, accountID, wanted)
	if err != nil {
		s.Log.Warn("priced as if nothing had been made before", "account", accountID, "error", err)
		return known
	}
	toolchains := map[engines.Identity][]string{}
	for _, work := range made {
		toolchains[work.Identity] = append(toolchains[work.Identity], work.Toolchain)
	}
	there := map[string][]string{} // by engine
	for i, identity := range identities {
		if len(toolchains[identity]) == 0 || !identity.Known() {
			continue
		}
		engineID := s.classOf(spec, plan[i]).Engine
		if _, asked := there[engineID]; !asked {
			there[engineID] = s.toolchains(workers, engineID)
		}
		known[i] = slices.ContainsFunc(toolchains[identity], func(one string) bool { return slices.Contains(there[engineID], one) })
	}
	return known
}

// toolchains are those that workers have for an engine.
func (s *Scheduler) toolchains(workers []queue.Heartbeat, engineID string) []string {
	engine, ok := s.Engines.Lookup(engineID)
	if !ok {
		return nil
	}
	var found []string
	for _, hb := range workers {
		if programs, offers := hb.Programs[engineID]; offers {
			found = append(found, queue.Toolchain(engine, programs))
		}
	}
	return found
}

// reusable finds, by task, what tasks that were just queued need not make.
func (s *Scheduler) reusable(ctx context.Context, c *change, tasks []TaskRow) (map[string]*queue.Reuse, error) {
	var wanted []TaskRow
	for _, task := range tasks {
		if len(task.Identity) > 0 && !c.jobs[task.JobID].NoReuse {
			wanted = append(wanted, task)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	known, err := c.tx.KnownWork(ctx, wanted)
	if err != nil {
		return nil, err
	}
	found := map[string]*queue.Reuse{}
	for _, task := range wanted {
		for i := range known {
			if work := &known[i]; work.AccountID == task.AccountID && bytes.Equal(work.Identity[:], task.Identity) &&
				s.better(task, found[task.ID], work) {
				found[task.ID] = &work.Reuse
			}
		}
	}
	return found, nil
}

// better prefers, of several programs' outputs, those of programs that a living worker has.
func (s *Scheduler) better(task TaskRow, before *queue.Reuse, work *KnownWork) bool {
	return before == nil || s.fleet.has(s.Engines, queue.Class(task.Queue).Engine, work.Toolchain)
}

// has tells whether a living worker has the toolchain.
func (f *livingFleet) has(registry *engines.Registry, engineID, toolchain string) bool {
	engine, ok := registry.Lookup(engineID)
	f.mu.Lock()
	defer f.mu.Unlock()
	return ok && slices.ContainsFunc(f.workers, func(hb queue.Heartbeat) bool {
		programs, offers := hb.Programs[engineID]
		return offers && queue.Toolchain(engine, programs) == toolchain
	})
}

// reusedBy is the attempt whose outputs a success has taken over, as far as it may be believed: it must be of the account, and of a
// task with the same identity. A report that names another cannot be stored.
func (s *Scheduler) reusedBy(ctx context.Context, c *change, task TaskRow, event queue.Event) (*queue.Source, error) {
	if event.Reused == nil {
		return nil, nil
	}
	same, err := c.tx.MakesTheSame(ctx, task, event.Reused.TaskID)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, &UnusableError{errNotTheSame}
	}
	c.then(func(context.Context) {
		s.Metrics.reused.WithLabelValues(queue.Class(task.Queue).Engine).Inc()
		s.Log.Info("task not run again", "job", task.JobID, "task", task.ID, "source_job", event.Reused.JobID, "source",
			event.Reused.TaskID)
	})
	return event.Reused, nil
}

// remember keeps that a task has made what its identity names.
func (c *change) remember(ctx context.Context, task TaskRow, toolchain string) error {
	if toolchain = believable(toolchain); toolchain == "" || len(task.Identity) == 0 {
		return nil
	}
	return c.tx.Remember(ctx, task, toolchain, c.now)
}

// believable is what a worker calls its programs; "" where that cannot be a digest.
func believable(toolchain string) string {
	if len(toolchain) > maxToolchain || strings.Contains(toolchain, "\x00") || !utf8.ValidString(toolchain) {
		return ""
	}
	return toolchain
}
