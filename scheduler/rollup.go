package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
)

// maxRollUpSteps bounds the chain advance → advance → end that one change may set off; a plan has a handful of stages.
const maxRollUpSteps = 64

// rollUpAll brings every job of a change up to date with its tasks, account by account in the order of their ids: settling a
// bill locks the account.
func (s *Scheduler) rollUpAll(ctx context.Context, c *change) error {
	byAccount := func(a, b *JobRow) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.ID, b.ID))
	}
	for _, owner := range slices.SortedFunc(maps.Values(c.jobs), byAccount) {
		if err := s.rollUp(ctx, c, owner); err != nil {
			return fmt.Errorf("roll up %s: %w", owner.ID, err)
		}
	}
	return nil
}

// rollUp brings a job up to date with its tasks: its status, the next stage, and at the end its bill. The same transaction has
// put into owner what it has accrued.
func (s *Scheduler) rollUp(ctx context.Context, c *change, owner *JobRow) error {
	if owner.Status.Terminal() {
		return nil
	}
	for range maxRollUpSteps {
		snapshot, err := c.snapshot(ctx, owner)
		if err != nil {
			return err
		}
		decision := job.Rollup(snapshot)
		if decision.AdvanceStage {
			owner.StageIndex++
			if err := c.tx.ReadyStage(ctx, owner.ID, owner.StageIndex, c.now); err != nil {
				return err
			}
		}
		if decision.CancelRest {
			if err := c.tx.CancelPending(ctx, owner.ID, c.now); err != nil {
				return err
			}
		}
		if decision.StopRest && !owner.Stopping {
			// A failure that dooms the job comes first: what the others have used when they are stopped for it is not why.
			owner.Stopping, owner.Overspent = true, owner.Overspent || !snapshot.EssentialFailed && owner.overspent()
			if err := s.stopInFlight(ctx, c, owner.ID); err != nil {
				return err
			}
		}
		if decision.Status != owner.Status {
			if err := s.move(ctx, c, owner, decision.Status); err != nil {
				return err
			}
		}
		if !decision.AdvanceStage && !decision.CancelRest {
			return c.tx.SaveJob(ctx, owner, c.now)
		}
	}
	return fmt.Errorf("the roll-up did not come to rest")
}

// snapshot is what a job's roll-up looks at.
func (c *change) snapshot(ctx context.Context, owner *JobRow) (job.Snapshot, error) {
	s := job.Snapshot{
		Status: owner.Status, StageIndex: owner.StageIndex, StageCount: owner.StageCount, Started: owner.StartedAt.Valid,
		Overspent: owner.overspent(),
	}
	states, err := c.tx.TaskStates(ctx, owner.ID)
	if err != nil {
		return s, err
	}
	for _, state := range states {
		s.All.Add(state.Status, 1)
		if state.StageIndex == owner.StageIndex {
			s.Stage.Add(state.Status, 1)
		}
		if state.Status == job.TaskFailed && state.Essential {
			s.EssentialFailed = true
		}
	}
	if s.All.Open() == 0 {
		s.ItemFailures, err = c.tx.HasItemFailures(ctx, owner.ID)
	}
	return s, err
}

// move changes a job's status along the table of legal transitions, with its history and its watchers' event. A terminal
// status settles the bill in the same transaction.
func (s *Scheduler) move(ctx context.Context, c *change, owner *JobRow, to job.Status) error {
	if !owner.Status.CanMove(to) {
		return &job.IllegalMoveError{From: string(owner.Status), To: string(to)}
	}
	owner.Status = to
	reason := ""
	if to == job.Cancelling || to == job.Cancelled {
		reason = owner.CancelReason.String
	}
	if to.Terminal() {
		if err := s.finish(ctx, c, owner); err != nil {
			return err
		}
		reason = owner.StatusReason.String
	}
	return c.tellStatus(ctx, owner, reason)
}

// tellStatus writes a job's new status into its history and its watchers' events.
func (c *change) tellStatus(ctx context.Context, owner *JobRow, reason string) error {
	body, err := json.Marshal(map[string]any{"status": owner.Status, "reason": reason, "terminal": owner.Status.Terminal()})
	if err != nil {
		return fmt.Errorf("encode status event: %w", err)
	}
	if err := c.tx.RecordStatus(ctx, owner.ID, owner.Status, reason, c.now); err != nil {
		return err
	}
	return c.tx.AddEvent(ctx, owner.ID, "status", body, c.now)
}

// begin notes the moment at which the first task of the job's run is heard of.
func (r *JobRow) begin(now time.Time) {
	if !r.StartedAt.Valid {
		r.StartedAt = sql.NullTime{Time: now, Valid: true}
	}
}

// runMoney is what the job's current run has used and holds. The amounts of a job are over all of its runs, and those of the
// runs that have ended are what these were charged, SettledPence.
func (r *JobRow) runMoney() (used billing.Micropence, holdPence int64) {
	return billing.Micropence(r.AccruedMicropence) - billing.FromPence(r.SettledPence), r.HeldPence - r.SettledPence
}

// finish fills in why the job ended and charges its run: once, at most the run's hold, the rest released.
func (s *Scheduler) finish(ctx context.Context, c *change, owner *JobRow) error {
	owner.FinishedAt = sql.NullTime{Time: c.now, Valid: true}
	failed, err := c.tx.Failures(ctx, owner.ID)
	if err != nil {
		return err
	}
	owner.explain(failed)
	unbegun, err := c.failedUnbegun(ctx, owner)
	if err != nil {
		return err
	}
	used, holdPence := owner.runMoney()
	charge, err := s.Prices.Capture(billing.Accrual{Engine: owner.Simulator.String, Used: used, HoldPence: holdPence,
		InputFailure: unbegun,
		StartFeePaid: owner.SettledPence > 0, SystemFailure: owner.failedFor(engines.System)})
	if err != nil {
		return err
	}
	captured, err := s.Ledger.SettleIn(ctx, c.tx, owner.ID, owner.Run, charge, c.now)
	if err != nil {
		return err
	}
	owner.ChargedPence = sql.NullInt64{Int64: owner.SettledPence + captured, Valid: true}
	if err := c.tx.Recorder(owner.Simulator.String).Ended(ctx, owner.ID, owner.Status, owner.StatusReason.String,
		c.now); err != nil {
		return fmt.Errorf("record the end of %s: %w", owner.ID, err)
	}
	c.then(func(context.Context) {
		s.Metrics.captured(owner.Status, captured)
		s.Log.Info("job ended", "job", owner.ID, "request", owner.RequestID, "run", owner.Run, "status", owner.Status,
			"charged_pence", captured, "held_pence", holdPence)
	})
	return nil
}

// failedFor tells whether a job has failed for a reason of this class.
func (r *JobRow) failedFor(class engines.FailureClass) bool {
	return r.Status == job.Failed && r.FailureClass.String == string(class)
}

// failedUnbegun tells whether the run failed for its user's input before any of the job's main work, and says so in its reason.
func (c *change) failedUnbegun(ctx context.Context, owner *JobRow) (bool, error) {
	if !owner.failedFor(engines.UserInput) || owner.PreparationStages == 0 {
		return false, nil
	}
	begun, err := c.tx.HasUsed(ctx, owner.ID, owner.Run, owner.PreparationStages)
	if err != nil || begun {
		return false, err
	}
	owner.StatusReason = text(owner.StatusReason.String + " Nothing is charged.")
	return true, nil
}

// explain sets a job's error and status reason from the tasks that failed, the decisive one first.
func (r *JobRow) explain(failed []FailedTask) {
	switch {
	case r.Status == job.Cancelled:
		r.StatusReason = text(orDefault(r.CancelReason.String, "cancelled by its owner"))
	case r.Status == job.Failed && r.stoppedForUse(failed):
		message := fmt.Sprintf("the job was stopped after it had used %d times what was set aside for it; what it has finished "+
			"is kept, and a retry sets money aside for the rest", maxOverrun)
		r.StatusReason = text(message)
		r.ErrorCode, r.ErrorMessage, r.FailureClass = text("COST_LIMIT_EXCEEDED"), text(message), text(string(engines.CostLimit))
		r.ErrorRetryable = true
	case r.Status == job.CompletedWithFailures && len(failed) > 0:
		r.StatusReason = text(fmt.Sprintf("%d of %d tasks failed; the first: %s", failed[0].Count, r.TaskCount, failed[0].Message))
	case r.Status == job.CompletedWithFailures:
		r.StatusReason = text("some items failed; the results name them")
	case r.Status == job.Failed && len(failed) > 0:
		first := failed[0]
		r.StatusReason = text(first.Message)
		r.ErrorCode, r.ErrorMessage, r.FailureClass = text(first.Code), text(first.Message), text(string(first.Class))
		r.ErrorRetryable = first.Retryable
	case r.Status == job.Failed:
		r.StatusReason = text("no task of the job succeeded")
	}
}

// stoppedForUse tells whether a job that has failed was stopped for what it used, and not for a failure that decided it
// before. Jobs of which nothing was in flight then end without having been stopped.
func (r *JobRow) stoppedForUse(failed []FailedTask) bool {
	decided := len(failed) > 0 && failed[0].Essential
	return r.Overspent || !r.Stopping && !decided && r.overspentWith(0)
}

func text(s string) sql.NullString { return sql.NullString{String: s, Valid: true} }

func orDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
