package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
)

// A worker has no key of the object store: each attempt comes with a permit for its own inputs and outputs. The permits of attempts
// that wait or run for long are renewed when their workers' heartbeats say that they are getting old.

const (
	// renewWithin is how much of its life a permit has left when a new one is made: enough for a scheduler that is away meanwhile.
	renewWithin = object.PermitLife / 2
	// renewPause is how long a new permit is on its way at most before it is made again.
	renewPause = 5 * time.Second
	// maxRenewals bounds what one round of the watch makes; the others have half a permit's life to wait.
	maxRenewals = 50
	// signAtOnce bounds how many orders are signed for at the same moment.
	signAtOnce = 4
	// signingGrace is how long signing may hold up a hand-over or the watch: where credentials are renewed it asks others.
	signingGrace = time.Second
	// logSlackBytes is what a log may have beyond its cap: the note that closes it.
	logSlackBytes = 64 << 10
)

// Permits signs what attempts may do in the object store: an *object.Store.
type Permits interface {
	Permit(ctx context.Context, grant object.Grant, now time.Time) (object.Permit, error)
}

var _ Permits = (*object.Store)(nil)

// grantOf is what an attempt may do: read its inputs, and write what its caps allow below its own prefix.
func grantOf(needs engines.Resources, inputs []queue.ResolvedInput, reuse *queue.Reuse, prefix string) object.Grant {
	grant := object.Grant{Prefix: prefix, MaxBytes: max(needs.ScratchBytes, needs.MaxLogBytes+logSlackBytes)}
	for _, input := range inputs {
		grant.Reads = append(grant.Reads, input.Object.StorageKey)
	}
	if reuse != nil {
		for _, made := range reuse.Result.Artifacts {
			grant.Reads = append(grant.Reads, made.StorageKey)
		}
	}
	return grant
}

// sign makes the text of a permit.
func (s *Scheduler) sign(ctx context.Context, grant object.Grant) ([]byte, error) {
	permit, err := s.Permits.Permit(ctx, grant, s.Now())
	if err != nil {
		return nil, err
	}
	return permit.Encode()
}

// permit gives orders their permits. It comes after the commit, since it takes a third of a millisecond an order. One that gets
// none within signingGrace is handed out without: its worker asks.
func (s *Scheduler) permit(ctx context.Context, orders []queue.WorkOrder) {
	if s.Permits == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signingGrace)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(signAtOnce)
	for i := range orders {
		group.Go(func() error {
			select {
			case <-ctx.Done():
				return nil
			default:
			}
			order := &orders[i]
			var err error
			grant := grantOf(order.Shard.Needs, order.Inputs, order.Reuse, order.OutputPrefix)
			if order.Permit, err = s.sign(ctx, grant); err != nil {
				s.Log.Error("attempt handed out without a permit", "job", order.JobID, "attempt", order.Ref(), "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// renewPermits makes new permits for the attempts whose holders ask for one.
func (s *Scheduler) renewPermits(ctx context.Context, w *watch, inFlight []TaskRow) error {
	if s.Permits == nil {
		return nil
	}
	due := s.permitsDue(w, inFlight)
	if len(due) == 0 {
		return nil
	}
	grants, err := s.grantsOf(ctx, due)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, signingGrace) // the watch has other things to look at
	defer cancel()
	var errs []error
	for _, task := range due {
		if grant, ok := grants[task.ID]; ok {
			ref := queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
			errs = append(errs, s.renewPermit(ctx, w.held[ref], task.Witness, grant))
		}
	}
	return errors.Join(errs...)
}

// permitsDue are the tasks in flight whose permits are to be renewed, at most maxRenewals. They are not due again for a while.
func (s *Scheduler) permitsDue(w *watch, inFlight []TaskRow) []TaskRow {
	now := s.Now()
	var due []TaskRow
	for _, task := range inFlight {
		ref := queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
		held := w.held[ref]
		if held == nil || held.Ask == nil || now.Sub(w.renewed[ref]) < renewPause || !held.Ask.Refused &&
			held.Ask.Until.Sub(now) > renewWithin {
			continue
		}
		w.renewed[ref] = now
		if !held.Ask.ProvenBy(ref, task.Witness) {
			s.Metrics.forged.WithLabelValues(forgedHold).Inc()
			s.Log.Warn("passed over who asks for a permit and proves no claim", "task", task.ID, "attempt", task.Attempt, "worker",
				held.workerID)
			continue
		}
		if due = append(due, task); len(due) == maxRenewals {
			break
		}
	}
	return due
}

// renewPermit leaves a permit for who asks, sealed.
func (s *Scheduler) renewPermit(ctx context.Context, held *heldBy, witness []byte, grant object.Grant) error {
	permit, err := s.sign(ctx, grant)
	if err != nil {
		return fmt.Errorf("renew the permit of %s: %w", held.Ref, err)
	}
	sealed, err := held.Ask.Seal(held.Ref, witness, permit)
	if err != nil {
		s.Log.Warn("permit not renewed", "attempt", held.Ref, "worker", held.workerID, "error", err)
		return nil // the worker's fault, and its own loss
	}
	if err := s.Queue.LeavePermit(ctx, held.workerID, held.Ref, sealed); err != nil {
		return err
	}
	s.Metrics.renewed.Inc()
	s.Log.Debug("permit renewed", "job", held.JobID, "attempt", held.Ref, "worker", held.workerID)
	return nil
}

// grantsOf finds out again, by task, what attempts in flight may do: the same as when they were handed out.
func (s *Scheduler) grantsOf(ctx context.Context, tasks []TaskRow) (map[string]object.Grant, error) {
	tasks = slices.Clone(tasks)
	grants := map[string]object.Grant{}
	err := s.store.InTx(ctx, func(tx Tx) error {
		clear(grants)
		if err := tx.ReadShards(ctx, tasks); err != nil {
			return err
		}
		ids := make([]string, len(tasks))
		for i, task := range tasks {
			ids[i] = task.ID
		}
		saved, err := tx.Checkpoints(ctx, ids)
		if err != nil {
			return err
		}
		resumed, outputs := resumable(saved), outputCache{}
		for _, task := range tasks {
			var shard engines.Shard
			if task.Status == job.TaskPending || json.Unmarshal(task.Shard, &shard) != nil {
				continue
			}
			inputs, failure, err := outputs.resolve(ctx, tx, task.JobID, shard)
			if err != nil {
				return err
			}
			if failure == nil {
				grants[task.ID] = grantOf(shard.Needs, slices.Concat(inputs, resumed[task.ID]), nil, outputPrefix(task))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find what %d attempts may do: %w", len(tasks), err)
	}
	return grants, nil
}
