package sim

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// ReadAhead implements scheduler.TaskTx. It locks what is there, in the order of the ids.
func (tx *transaction) ReadAhead(ctx context.Context, jobIDs, taskIDs []string) error {
	if err := tx.m.h.call(ctx, "read tasks ahead"); err != nil {
		return err
	}
	for _, taskID := range slices.Compact(slices.Sorted(slices.Values(taskIDs))) {
		if tx.tasks.has(taskID) && slices.Contains(jobIDs, tx.tasks.get(taskID).JobID) {
			if err := tx.lock("task", taskID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Send implements scheduler.TaskTx: nothing is put off here.
func (tx *transaction) Send(ctx context.Context) error { return tx.m.h.call(ctx, "send") }

// ReadTask implements scheduler.TaskTx.
func (tx *transaction) ReadTask(ctx context.Context, jobID, taskID string) (*scheduler.TaskRow, error) {
	if err := tx.m.h.call(ctx, "read task"); err != nil {
		return nil, err
	}
	if !tx.tasks.has(taskID) || tx.tasks.get(taskID).JobID != jobID {
		return nil, nil
	}
	if err := tx.lock("task", taskID); err != nil {
		return nil, err
	}
	row := tx.tasks.get(taskID).TaskRow
	row.Shard = nil
	return &row, nil
}

// changeTask changes a task, which it locks.
func (tx *transaction) changeTask(ctx context.Context, what, id string, change func(*taskState) error) error {
	if err := tx.m.h.call(ctx, what); err != nil {
		return err
	}
	return tx.updateTask(what, id, change)
}

func (tx *transaction) updateTask(what, id string, change func(*taskState) error) error {
	if !tx.tasks.has(id) {
		return nil
	}
	if err := tx.lock("task", id); err != nil {
		return err
	}
	row := tx.tasks.get(id)
	if err := change(&row); err != nil {
		return fmt.Errorf("%s of %s: %w", what, id, err)
	}
	tx.tasks.put(id, row)
	return nil
}

// QueueTasks implements scheduler.TaskTx.
func (tx *transaction) QueueTasks(
	ctx context.Context, ids []string, witnesses [][]byte, at time.Time,
) ([]scheduler.TaskRow, error) {
	if err := tx.m.h.call(ctx, "queue tasks"); err != nil {
		return nil, err
	}
	var rows []scheduler.TaskRow
	for _, id := range slices.Sorted(slices.Values(ids)) {
		err := tx.updateTask("queue", id, func(t *taskState) error {
			if t.Status != job.TaskPending || !t.Ready {
				return nil
			}
			t.Status, t.Attempt, t.StartedAt, t.Progress, t.NotBefore = job.TaskQueued, t.Attempt+1, time.Time{}, 0, time.Time{}
			t.QueuedAt = sql.NullTime{Time: at, Valid: true}
			t.WorkerID.String, t.WorkerID.Valid = "", false
			t.Witness = witnesses[slices.Index(ids, id)]
			rows = append(rows, t.TaskRow)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// ReadShards implements scheduler.TaskTx.
func (tx *transaction) ReadShards(ctx context.Context, tasks []scheduler.TaskRow) error {
	for i := range tasks {
		tasks[i].Shard = tx.tasks.get(tasks[i].ID).Shard
	}
	return tx.m.h.call(ctx, "read shards")
}

// StartTask implements scheduler.TaskTx.
func (tx *transaction) StartTask(ctx context.Context, taskID, workerID string, at time.Time) error {
	return tx.changeTask(ctx, "start task", taskID, func(t *taskState) error {
		t.Status, t.StartedAt, t.GivenBack = job.TaskRunning, at, 0
		t.WorkerID.String, t.WorkerID.Valid = workerID, true
		return nil
	})
}

// EndTask implements scheduler.TaskTx.
func (tx *transaction) EndTask(ctx context.Context, taskID string, to job.TaskStatus, at time.Time) error {
	return tx.changeTask(ctx, "end task", taskID, func(t *taskState) error {
		t.Status, t.FinishedAt = to, at
		if to == job.TaskSucceeded {
			t.Progress = 1
		}
		return nil
	})
}

// ReturnTask implements scheduler.TaskTx.
func (tx *transaction) ReturnTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error {
	return tx.changeTask(ctx, "return task", taskID, func(t *taskState) error {
		t.wait(notBefore)
		if counts {
			t.Retries++
		} else {
			t.Interruptions++
		}
		return nil
	})
}

// GiveBackTask implements scheduler.TaskTx.
func (tx *transaction) GiveBackTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error {
	return tx.changeTask(ctx, "give back task", taskID, func(t *taskState) error {
		t.wait(notBefore)
		if counts {
			t.GivenBack++
		}
		return nil
	})
}

func (t *taskState) wait(notBefore time.Time) {
	t.Status, t.Progress, t.NotBefore = job.TaskPending, 0, notBefore
	t.WorkerID.String, t.WorkerID.Valid = "", false
}

// RestartTasks implements scheduler.TaskTx.
func (tx *transaction) RestartTasks(ctx context.Context, owner *scheduler.JobRow, ids []string) error {
	if err := tx.m.h.call(ctx, "restart tasks"); err != nil {
		return err
	}
	for _, id := range ids {
		err := tx.updateTask("restart", id, func(t *taskState) error {
			t.wait(time.Time{})
			t.Run, t.Ready, t.Retries, t.Interruptions, t.GivenBack = owner.Run, t.StageIndex == owner.StageIndex, 0, 0, 0
			t.QueuedAt, t.StartedAt, t.FinishedAt = sql.NullTime{}, time.Time{}, time.Time{}
			t.Failure, t.Items, t.Summary, t.Programs, t.Message = nil, "", "", "", ""
			t.Files, t.Kept = nil, nil
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ofJob calls do for the tasks of a job, in the order of its plan.
func (tx *transaction) ofJob(jobID string, do func(taskState)) {
	for _, id := range tx.jobs.get(jobID).TaskIDs {
		do(tx.tasks.get(id))
	}
}

// ReadyStage implements scheduler.TaskTx.
func (tx *transaction) ReadyStage(ctx context.Context, jobID string, stageIndex int, _ time.Time) error {
	return tx.updateWhere(ctx, "ready stage", jobID, func(t taskState) bool {
		return t.StageIndex == stageIndex && t.Status == job.TaskPending
	},
		func(t *taskState) { t.Ready = true })
}

// CancelPending implements scheduler.TaskTx.
func (tx *transaction) CancelPending(ctx context.Context, jobID string, at time.Time) error {
	return tx.updateWhere(ctx, "cancel pending", jobID, func(t taskState) bool { return t.Status == job.TaskPending },
		func(t *taskState) { t.Status, t.FinishedAt = job.TaskCancelled, at })
}

// updateWhere changes those tasks of a job of which something holds, also when it has waited for their locks.
func (tx *transaction) updateWhere(
	ctx context.Context, what, jobID string, holds func(taskState) bool, change func(*taskState),
) error {
	if err := tx.m.h.call(ctx, what); err != nil {
		return err
	}
	for _, id := range tx.jobs.get(jobID).TaskIDs {
		if !holds(tx.tasks.get(id)) {
			continue
		}
		err := tx.updateTask(what, id, func(t *taskState) error {
			if holds(*t) {
				change(t)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TaskStates implements scheduler.TaskTx.
func (tx *transaction) TaskStates(ctx context.Context, jobID string) ([]scheduler.TaskState, error) {
	if err := tx.m.h.call(ctx, "task states"); err != nil {
		return nil, err
	}
	var states []scheduler.TaskState
	tx.ofJob(jobID, func(t taskState) {
		state := scheduler.TaskState{StageIndex: t.StageIndex, Status: t.Status, Essential: t.Essential}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	})
	return states, nil
}

// RefsInFlight implements scheduler.TaskTx.
func (tx *transaction) RefsInFlight(ctx context.Context, jobID string) ([]queue.Ref, error) {
	if err := tx.m.h.call(ctx, "refs in flight"); err != nil {
		return nil, err
	}
	var refs []queue.Ref
	tx.ofJob(jobID, func(t taskState) {
		if t.inFlight() {
			refs = append(refs, t.ref())
		}
	})
	return refs, nil
}

// EndedTasks implements scheduler.TaskTx.
func (tx *transaction) EndedTasks(ctx context.Context, jobID string) ([]scheduler.EndedTask, error) {
	if err := tx.m.h.call(ctx, "ended tasks"); err != nil {
		return nil, err
	}
	var tasks []scheduler.EndedTask
	tx.ofJob(jobID, func(t taskState) {
		e := scheduler.EndedTask{ID: t.ID, Stage: t.Stage, StageIndex: t.StageIndex, Name: t.Name, Queue: t.Queue,
			Essential: t.Essential, Status: t.Status,
			ExpectedCPUSeconds: t.shard.ExpectedCPUSeconds, ExpectedGPUSeconds: t.shard.ExpectedGPUSeconds}
		if t.Failure != nil {
			e.Class, e.Message = t.Failure.Class, t.Failure.Message
		}
		for _, input := range t.shard.Inputs {
			if input.From != nil {
				e.Sources = append(e.Sources, *input.From)
			}
		}
		tasks = append(tasks, e)
	})
	return tasks, nil
}

// Failures implements scheduler.TaskTx.
func (tx *transaction) Failures(ctx context.Context, jobID string) ([]scheduler.FailedTask, error) {
	if err := tx.m.h.call(ctx, "failures"); err != nil {
		return nil, err
	}
	var failed []taskState
	mayHeal, refused := false, false
	tx.ofJob(jobID, func(t taskState) {
		if t.Status != job.TaskFailed {
			return
		}
		failed = append(failed, t)
		users := t.Failure != nil && t.Failure.Class == engines.UserInput
		mayHeal, refused = mayHeal || !users, refused || users && t.Essential
	})
	if len(failed) == 0 {
		return nil, nil
	}
	slices.SortFunc(failed, func(a, b taskState) int {
		return cmp.Or(-cmp.Compare(weightOf(a), weightOf(b)), -cmp.Compare(a.Run, b.Run), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	first := scheduler.FailedTask{Class: engines.System, Count: len(failed), Retryable: mayHeal && !refused,
		Essential: failed[0].Essential}
	if f := failed[0].Failure; f != nil {
		first.Class, first.Code, first.Message = f.Class, f.Code, f.Message
	}
	return []scheduler.FailedTask{first}, nil
}

func weightOf(t taskState) int {
	if t.Essential {
		return 1
	}
	return 0
}

// InsertAttempt implements scheduler.AttemptTx.
func (tx *transaction) InsertAttempt(ctx context.Context, a scheduler.AttemptRow, at time.Time) error {
	return tx.changeTask(ctx, "insert attempt", a.TaskID, func(t *taskState) error {
		if slices.ContainsFunc(t.Attempts, func(s settled) bool { return s.Attempt == a.Attempt }) {
			return refused("attempt %d has been settled", a.Attempt)
		}
		t.Attempts = appended(t.Attempts, settled{a, at, t.QueuedAt.Time})
		return nil
	})
}

// ChargeAttempt implements scheduler.AttemptTx.
func (tx *transaction) ChargeAttempt(ctx context.Context, taskID string, attempt int, price billing.Micropence) error {
	return tx.changeTask(ctx, "charge attempt", taskID, func(t *taskState) error {
		t.Attempts = slices.Clone(t.Attempts)
		for i := range t.Attempts {
			if a := &t.Attempts[i]; a.Attempt == attempt && a.Price == 0 {
				a.Price = price
				return nil
			}
		}
		return fmt.Errorf("attempt %d is not settled without a price", attempt)
	})
}

// InsertArtifacts implements scheduler.AttemptTx.
func (tx *transaction) InsertArtifacts(
	ctx context.Context, task scheduler.TaskRow, files []queue.StoredArtifact, _ time.Time,
) error {
	return tx.changeTask(ctx, "insert artifacts", task.ID, func(t *taskState) error {
		for _, file := range files { // the key begins with the task, so no other task has it
			if slices.ContainsFunc(t.Files, func(f queue.StoredArtifact) bool { return f.StorageKey == file.StorageKey }) {
				return refused("the key %s is taken", file.StorageKey)
			}
		}
		t.Files = appended(t.Files, files...)
		return nil
	})
}

// StoreResult implements scheduler.AttemptTx. A NUL in JSON is what Postgres does not take.
func (tx *transaction) StoreResult(ctx context.Context, taskID string, result queue.Result) error {
	return tx.changeTask(ctx, "store result", taskID, func(t *taskState) error {
		if len(result.Summary) > 0 && !json.Valid(result.Summary) || bytes.Contains(result.Summary, []byte(`\u0000`)) {
			return refused("the summary is no document")
		}
		t.Summary, t.Items, t.Programs = string(result.Summary), "", asJSON(result.Programs)
		if len(result.Failures) > 0 {
			t.Items = asJSON(result.Failures)
		}
		return nil
	})
}

// StoreFailure implements scheduler.AttemptTx.
func (tx *transaction) StoreFailure(ctx context.Context, taskID string, failure engines.Failure) error {
	return tx.changeTask(ctx, "store failure", taskID, func(t *taskState) error {
		t.Failure, t.Items = &failure, ""
		if len(failure.Items) > 0 {
			t.Items = asJSON(failure.Items)
		}
		return nil
	})
}

// asJSON encodes what always can be.
func asJSON(v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(body)
}

// HasItemFailures implements scheduler.AttemptTx.
func (tx *transaction) HasItemFailures(ctx context.Context, jobID string) (has bool, err error) {
	if err := tx.m.h.call(ctx, "item failures"); err != nil {
		return false, err
	}
	tx.ofJob(jobID, func(t taskState) { has = has || t.Status == job.TaskSucceeded && t.Items != "" })
	return has, nil
}

// HasUsed implements scheduler.AttemptTx.
func (tx *transaction) HasUsed(ctx context.Context, jobID string, run, fromStage int) (has bool, err error) {
	if err := tx.m.h.call(ctx, "use of a run"); err != nil {
		return false, err
	}
	tx.ofJob(jobID, func(t taskState) {
		for _, a := range t.Attempts {
			has = has || t.StageIndex >= fromStage && a.Run == run && a.Price > 0
		}
	})
	return has, nil
}

// StageOutputs implements scheduler.AttemptTx.
func (tx *transaction) StageOutputs(ctx context.Context, jobID, stage, output string) (map[string]scheduler.StageOutput, error) {
	if err := tx.m.h.call(ctx, "stage outputs"); err != nil {
		return nil, err
	}
	outputs := map[string]scheduler.StageOutput{}
	tx.ofJob(jobID, func(t taskState) {
		if t.Stage != stage {
			return
		}
		out := scheduler.StageOutput{Failure: t.Failure}
		for _, file := range t.Files {
			if file.Name == output && t.Status == job.TaskSucceeded {
				out = scheduler.StageOutput{Object: &file.Object}
			}
		}
		outputs[t.Name] = out
	})
	return outputs, nil
}
