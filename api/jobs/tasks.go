package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// maxItemFailures bounds the failed items of one task in a list; a page of a hundred tasks stays near a megabyte.
	maxItemFailures = 20
	// maxItemFailuresAlone bounds them where the task is read alone: the largest library that there is.
	maxItemFailuresAlone = 10_000
	// maxAttemptsShown bounds the attempts of one task: more than the scheduler makes before it gives up, retries included.
	maxAttemptsShown = 50
)

// TaskQuery filters the tasks of a job.
type TaskQuery struct {
	list.Query
	Status []string `query:"status,explode" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED" maxItems:"6" doc:"Tasks in any of these states; may be repeated."`
	Stage  string   `query:"stage" maxLength:"64" doc:"Tasks of this stage."`
}

// Tasks reads a page of a job's tasks in the order of the plan. Errors: fault.NotFound, fault.InvalidCursor.
func (s *Service) Tasks(ctx context.Context, accountID, jobID string, query TaskQuery) (contract.TaskList, error) {
	from, err := list.Read[place](query.Cursor)
	if err != nil {
		return contract.TaskList{}, err
	}
	if err := s.checkJob(ctx, accountID, jobID); err != nil {
		return contract.TaskList{}, err
	}
	rows, err := s.store.tasks(ctx, accountID, jobID, taskFilter{
		Statuses: query.Status, Stage: query.Stage, After: from, Limit: query.Limit + 1, ItemFailures: maxItemFailures,
	})
	if err != nil {
		return contract.TaskList{}, err
	}
	rows, next := list.Cut(rows, query.Limit, func(r taskRecord) place { return place{Ordinal: &r.Ordinal} })
	tasks, err := taskViews(rows)
	return contract.TaskList{Tasks: tasks, NextCursor: next}, err
}

var taskID = regexp.MustCompile(`^task_[0-9a-f]{32}$`)

// Task reads one task of a job. Errors: fault.NotFound.
func (s *Service) Task(ctx context.Context, accountID, jobID, id string) (contract.Task, error) {
	if err := s.checkJob(ctx, accountID, jobID); err != nil {
		return contract.Task{}, err
	}
	if !taskID.MatchString(id) {
		return contract.Task{}, noSuchTask()
	}
	rows, err := s.store.tasks(ctx, accountID, jobID, taskFilter{
		TaskID: id, Limit: 1, ItemFailures: maxItemFailuresAlone,
	})
	if err != nil {
		return contract.Task{}, err
	}
	if len(rows) == 0 {
		return contract.Task{}, noSuchTask()
	}
	return rows[0].view()
}

func noSuchTask() error { return fault.New(fault.NotFound, "taskId: the job has no such task") }

func taskViews(rows []taskRecord) ([]contract.Task, error) {
	tasks := make([]contract.Task, len(rows))
	for i, r := range rows {
		var err error
		if tasks[i], err = r.view(); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// view turns a record into what its owner sees.
func (r taskRecord) view() (contract.Task, error) {
	failures := []contract.TaskItemFailure{}
	if err := json.Unmarshal(r.ItemFailures, &failures); err != nil {
		return contract.Task{}, fmt.Errorf("reading the failed items of task %s: %w", r.ID, err)
	}
	attempts, err := attemptViews(r.Attempts)
	if err != nil {
		return contract.Task{}, fmt.Errorf("reading the attempts of task %s: %w", r.ID, err)
	}
	return contract.Task{
		TaskID: r.ID, Index: r.Ordinal, Name: r.Name, Stage: r.Stage, Status: r.Status, Attempt: r.Attempt,
		Reused:   r.Status == job.TaskSucceeded && len(attempts) > 0 && attempts[len(attempts)-1].ReusedFrom != nil,
		Progress: percentOf(r.Progress), Message: r.Message, Items: r.Items, WorkerID: textOrNil(r.WorkerID),
		Error: r.failure(), ItemFailures: failures, ItemFailureCount: r.ItemFailureCount,
		Usage: r.usage.view(), Attempts: attempts,
		QueuedAt: wire.TimeOrNil(r.QueuedAt), StartedAt: wire.TimeOrNil(r.StartedAt), FinishedAt: wire.TimeOrNil(r.FinishedAt),
	}, nil
}

// percentOf is a fraction in percent with one decimal, rounded down.
func percentOf(fraction float64) float64 {
	return math.Floor(min(max(fraction, 0), 1)*1000+1e-6) / 10 // the summand: 0.29 as a real is a little less
}

// failure is why the task failed; a task that is being tried again has none.
func (r taskRecord) failure() *contract.JobError {
	if r.Status != job.TaskFailed || !r.ErrorCode.Valid {
		return nil
	}
	return &contract.JobError{
		Code: r.ErrorCode.String, Message: r.ErrorMessage.String, FailureClass: r.FailureClass.String,
		Retryable: r.FailureClass.String != string(engines.UserInput),
	}
}

func (u usage) view() contract.TaskUsage {
	return contract.TaskUsage{
		CPUSeconds: float64(u.CPUMicroseconds) / 1e6, GPUSeconds: float64(u.GPUMicroseconds) / 1e6,
		WallSeconds: float64(u.WallMs) / 1e3, PeakMemoryBytes: u.PeakMemoryBytes, BytesIn: u.BytesIn, BytesOut: u.BytesOut,
	}
}

func attemptViews(text json.RawMessage) ([]contract.TaskAttempt, error) {
	var rows []attempt
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	views := make([]contract.TaskAttempt, len(rows))
	for i, a := range rows {
		views[i] = a.view()
	}
	return views, nil
}

func (a attempt) view() contract.TaskAttempt {
	view := contract.TaskAttempt{
		Attempt: a.Attempt, Run: a.Run, WorkerID: a.WorkerID, Outcome: a.Outcome, Usage: a.usage.view(),
		Cost: wire.ExactPounds(billing.Micropence(a.ChargedMicropence)), FinishedAt: a.FinishedAt.UTC(),
		ReusedFrom: a.reused.view(),
	}
	if a.StartedAt != nil {
		view.StartedAt = ref(a.StartedAt.UTC())
	}
	return view
}
