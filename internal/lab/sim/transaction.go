package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// transaction is a scheduler.Tx in memory. Its methods do what the statements of the Postgres store do.
type transaction struct {
	m       *memory
	process *process // nil in a history of one thread
	locked  []string

	jobs     view[jobState]
	tasks    view[taskState]
	accounts view[accountState]
	holds    view[[]billing.HoldRow]
	answers  view[answer]
	dropped  []string // keys of checkpoints
}

var _ scheduler.Tx = (*transaction)(nil)

// Recorder implements scheduler.Tx: what engines find is not simulated.
func (tx *transaction) Recorder(string) scheduler.Recording { return scheduler.NoRecording }

// LockJobs implements scheduler.JobTx.
func (tx *transaction) LockJobs(ctx context.Context, ids []string) (map[string]*scheduler.JobRow, error) {
	if err := tx.m.h.call(ctx, "lock jobs"); err != nil {
		return nil, err
	}
	rows := map[string]*scheduler.JobRow{}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if !tx.jobs.has(id) {
			continue
		}
		if err := tx.lock("job", id); err != nil {
			return nil, err
		}
		row := tx.jobs.get(id).JobRow
		rows[id] = &row
	}
	return rows, nil
}

// Claim implements scheduler.JobTx. Of two at the same moment the later one waits.
func (tx *transaction) Claim(ctx context.Context, claim idempotency.Claim, response []byte, now time.Time) ([]byte, error) {
	if err := tx.m.h.call(ctx, "claim a key"); err != nil {
		return nil, err
	}
	key := answerKey(claim)
	if err := tx.lock("answer", key); err != nil {
		return nil, err
	}
	stored := tx.answers.get(key)
	switch {
	case !tx.answers.has(key), !stored.expires.After(now):
		tx.answers.put(key, answer{request: string(claim.Request), response: string(response),
			expires: now.Add(idempotency.Lifetime)})
		return nil, nil
	case stored.request != string(claim.Request):
		return nil, errReused()
	}
	return []byte(stored.response), nil
}

// LostInput implements scheduler.JobTx: nobody deletes files of simulated jobs.
func (tx *transaction) LostInput(context.Context, string) (string, error) { return "", nil }

// InsertJob implements scheduler.JobTx.
func (tx *transaction) InsertJob(ctx context.Context, n scheduler.NewJob) error {
	if err := tx.m.h.call(ctx, "insert job"); err != nil {
		return err
	}
	rows, id := n.Tasks, n.Receipt.JobID
	if tx.jobs.has(id) {
		return fmt.Errorf("insert job %s: %w", id, errConstraint)
	}
	owner := jobState{TaskIDs: rows.ID, Software: n.Software, JobRow: scheduler.JobRow{ID: id, AccountID: n.Submission.AccountID,
		Status: job.Submitted, StageCount: n.Plan[len(n.Plan)-1].StageIndex + 1,
		PreparationStages: engines.PreparationStages(n.Plan), TaskCount: len(n.Plan), Run: 1,
		EstimatedPence: n.Receipt.Quote.EstimatedPence, HeldPence: n.Receipt.Quote.HeldPence, RequestID: n.Submission.RequestID,
		SoftwareFee: n.SoftwareFee}}
	owner.Simulator.String, owner.Simulator.Valid = n.Submission.Engine.Spec().ID, true
	tx.jobs.put(id, owner)
	for i, shard := range n.Plan {
		body, err := json.Marshal(shard)
		if err != nil {
			return fmt.Errorf("encode shard %s: %w", shard.Name, err)
		}
		tx.tasks.put(rows.ID[i], taskState{TaskRow: scheduler.TaskRow{ID: rows.ID[i], JobID: id, AccountID: rows.AccountID,
			Ordinal: int(rows.Ordinal[i]), Stage: rows.Stage[i], Name: rows.Name[i], Queue: rows.Queue[i], Status: rows.Status,
			Shard: body}, shard: shard,
			StageIndex: int(rows.StageIndex[i]), Essential: rows.Essential[i], Weight: float32(rows.Weight[i]),
			GPUWeight: float32(rows.GPUWeight[i]), Ready: rows.Ready[i], Priority: rows.Priority, LicenseKey: rows.LicenseKey,
			Run: 1})
	}
	return nil
}

// changeJob changes a job's row, which it locks.
func (tx *transaction) changeJob(ctx context.Context, what, id string, change func(*jobState) error) error {
	if err := tx.m.h.call(ctx, what); err != nil {
		return err
	}
	if !tx.jobs.has(id) {
		return nil
	}
	if _, mine := tx.jobs.written[id]; !mine {
		if err := tx.lock("job", id); err != nil {
			return err
		}
	}
	row := tx.jobs.get(id)
	if err := change(&row); err != nil {
		return fmt.Errorf("%s of %s: %w", what, id, err)
	}
	tx.jobs.put(id, row)
	return nil
}

// SaveJob implements scheduler.JobTx.
func (tx *transaction) SaveJob(ctx context.Context, r *scheduler.JobRow, _ time.Time) error {
	return tx.changeJob(ctx, "save job", r.ID, func(row *jobState) error {
		kept := row.JobRow
		row.JobRow = *r
		// These are the retry's.
		row.Run, row.EstimatedPence, row.HeldPence, row.SettledPence, row.RequestID = kept.Run, kept.EstimatedPence, kept.HeldPence,
			kept.SettledPence, kept.RequestID
		return nil
	})
}

// RestartJob implements scheduler.JobTx.
func (tx *transaction) RestartJob(ctx context.Context, r *scheduler.JobRow, _ time.Time) error {
	return tx.changeJob(ctx, "restart job", r.ID, func(row *jobState) error {
		row.Run, row.EstimatedPence, row.HeldPence, row.SettledPence, row.RequestID = r.Run, r.EstimatedPence, r.HeldPence,
			r.SettledPence, r.RequestID
		return nil
	})
}

// RecordStatus implements scheduler.JobTx.
func (tx *transaction) RecordStatus(ctx context.Context, jobID string, status job.Status, reason string, at time.Time) error {
	return tx.changeJob(ctx, "record status", jobID, func(row *jobState) error {
		row.History = appended(row.History, historyLine{JobID: jobID, Seq: len(row.History) + 1, Status: status, Reason: reason,
			At: at})
		return nil
	})
}

// AddEvent implements scheduler.JobTx.
func (tx *transaction) AddEvent(ctx context.Context, jobID, kind string, body []byte, at time.Time) error {
	return tx.changeJob(ctx, "add event", jobID, func(row *jobState) error {
		row.Events = appended(row.Events, eventLine{JobID: jobID, Kind: kind, Body: string(body), At: at})
		return nil
	})
}

// AddFault implements scheduler.FaultTx.
func (tx *transaction) AddFault(ctx context.Context, jobID, workerID, code string, _ time.Time) (faults int, err error) {
	err = tx.changeJob(ctx, "add fault", jobID, func(row *jobState) error {
		row.Faults = slices.Clone(row.Faults)
		for i := range row.Faults {
			if f := &row.Faults[i]; f.WorkerID == workerID {
				f.Attempts, f.Code = f.Attempts+1, code
				faults = f.Attempts
				return nil
			}
		}
		row.Faults, faults = append(row.Faults, faultLine{JobID: jobID, WorkerID: workerID, Attempts: 1, Code: code}), 1
		return nil
	})
	return faults, err
}

// Faulty implements scheduler.FaultTx.
func (tx *transaction) Faulty(ctx context.Context, jobIDs []string, atLeast int) (map[string][]string, error) {
	if err := tx.m.h.call(ctx, "faulty workers"); err != nil {
		return nil, err
	}
	faulty := map[string][]string{}
	for _, id := range jobIDs {
		for _, f := range tx.jobs.get(id).Faults {
			if f.Attempts >= atLeast {
				faulty[id] = append(faulty[id], f.WorkerID)
			}
		}
		slices.Sort(faulty[id])
		if len(faulty[id]) == 0 {
			delete(faulty, id)
		}
	}
	return faulty, nil
}

// LockLicenseServers implements scheduler.LicenseTx.
func (tx *transaction) LockLicenseServers(ctx context.Context, refs []scheduler.LicenseRef) error {
	if err := tx.m.h.call(ctx, "lock licence servers"); err != nil {
		return err
	}
	for _, ref := range refs { // by account, of which each has one server here
		if _, has := tx.m.servers[ref.AccountID]; has {
			if err := tx.lock("server", ref.AccountID); err != nil {
				return err
			}
		}
	}
	return nil
}

// LicenseUses implements scheduler.LicenseTx.
func (tx *transaction) LicenseUses(
	ctx context.Context, refs []scheduler.LicenseRef,
) (map[scheduler.LicenseRef]scheduler.LicenseUse, error) {
	if err := tx.m.h.call(ctx, "licence uses"); err != nil {
		return nil, err
	}
	tasks := table[taskState]{}
	for _, id := range tx.tasks.ids() {
		tasks[id] = tx.tasks.get(id)
	}
	uses := map[scheduler.LicenseRef]scheduler.LicenseUse{}
	for _, ref := range refs {
		uses[ref] = tx.m.licenseUse(ref, tx.m.servers, tasks)
	}
	return uses, nil
}

// appended is a list with one more at its end; the old list stays as it is.
func appended[V any](list []V, more ...V) []V { return append(list[:len(list):len(list)], more...) }

// refused is an error that says that a value can never be stored.
func refused(format string, args ...any) error {
	return &scheduler.UnusableError{Cause: fmt.Errorf(format+": %w", append(args, errConstraint)...)}
}
