package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
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

// Task is what its owner sees of a task (decisions.md, "Jobs and tasks").
type Task struct {
	TaskID           string            `json:"taskId" doc:"Id of the task."`
	Index            int               `json:"index" minimum:"0" doc:"Position of the task in the job's plan."`
	Name             string            `json:"name" example:"dock-00012" doc:"Name of the task, unique in its job."`
	Stage            string            `json:"stage" example:"dock" doc:"Stage of the plan; a stage starts when the one before has ended."`
	Status           string            `json:"status" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED" doc:"State of the task."`
	Attempt          int               `json:"attempt" minimum:"0" doc:"How often the task was dispatched."`
	Progress         float64           `json:"progress" minimum:"0" maximum:"100" doc:"Finished share in percent; one decimal."`
	Message          string            `json:"message" doc:"What the task said last about its progress, for people."`
	Items            int               `json:"items" minimum:"0" doc:"How many ligands, queries or frames the task works on."`
	WorkerID         *string           `json:"workerId" doc:"Who runs or ran the task; null before a worker has taken it."`
	Error            *JobError         `json:"error" doc:"Why the task failed."`
	ItemFailures     []TaskItemFailure `json:"itemFailures" doc:"Items that failed: the first 20 in a list, the first 10,000 where the task is read alone."`
	ItemFailureCount int               `json:"itemFailureCount" minimum:"0" doc:"How many items failed in all."`
	Usage            TaskUsage         `json:"usage" doc:"What all ended attempts used together."`
	Attempts         []TaskAttempt     `json:"attempts" doc:"Attempts that have ended, oldest first; the last 50."`
	QueuedAt         *time.Time        `json:"queuedAt" doc:"When the task was last dispatched to a queue."`
	StartedAt        *time.Time        `json:"startedAt" doc:"When a worker last started it."`
	FinishedAt       *time.Time        `json:"finishedAt" doc:"When the task ended."`
}

// TaskItemFailure names one item of a task that failed, and at which step.
type TaskItemFailure struct {
	Item    string `json:"item" doc:"Id of the item, such as a ligandId."`
	Label   string `json:"label,omitempty" doc:"Name of the item for people."`
	Step    string `json:"step" example:"embed" doc:"Where it failed; for docking parse, protonate, embed, dock or parse_output."`
	Message string `json:"message" doc:"What was wrong."`
}

// TaskUsage is what a task or an attempt used.
type TaskUsage struct {
	CPUSeconds      float64 `json:"cpuSeconds" minimum:"0" doc:"User and system time of all its processes."`
	GPUSeconds      float64 `json:"gpuSeconds,omitempty" minimum:"0" doc:"Time for which it kept GPUs, times their number and its share of them; left out when there were none."`
	WallSeconds     float64 `json:"wallSeconds" minimum:"0" doc:"Time that passed while it ran."`
	PeakMemoryBytes int64   `json:"peakMemoryBytes" minimum:"0" doc:"Largest resident memory."`
	BytesIn         int64   `json:"bytesIn" minimum:"0" doc:"Size of the inputs that were staged."`
	BytesOut        int64   `json:"bytesOut" minimum:"0" doc:"Size of the files that were stored."`
}

// TaskAttempt is one start of a task, once it has ended.
type TaskAttempt struct {
	Attempt    int        `json:"attempt" minimum:"1" doc:"Which start of the task it was."`
	Run        int        `json:"run" minimum:"1" doc:"Run of the job that it belongs to; a retry begins the next."`
	WorkerID   string     `json:"workerId" doc:"Who ran it; empty when no worker took it."`
	Outcome    string     `json:"outcome" enum:"SUCCEEDED,FAILED,CANCELLED,LOST" doc:"LOST: its worker fell silent."`
	Usage      TaskUsage  `json:"usage" doc:"What the attempt used."`
	Cost       Pounds     `json:"cost" doc:"Metered price in pounds; 0.00 where the attempt is not billed."`
	StartedAt  *time.Time `json:"startedAt" doc:"Null when it never ran."`
	FinishedAt time.Time  `json:"finishedAt" doc:"When the attempt ended."`
}

// TaskList is a page of tasks in the order of the plan.
type TaskList struct {
	Tasks      []Task  `json:"tasks" doc:"Tasks in the order of the plan."`
	NextCursor *string `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// TaskQuery filters the tasks of a job.
type TaskQuery struct {
	page.Query
	Status []string `query:"status,explode" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED" maxItems:"6" doc:"Tasks in any of these states; may be repeated."`
	Stage  string   `query:"stage" maxLength:"64" doc:"Tasks of this stage."`
}

// Tasks reads a page of a job's tasks in the order of the plan. Errors: fault.NotFound, fault.InvalidCursor.
func (s *Service) Tasks(ctx context.Context, accountID, jobID string, query TaskQuery) (TaskList, error) {
	from, err := placeOf(query.Cursor)
	if err != nil {
		return TaskList{}, err
	}
	if _, err := s.status(ctx, accountID, jobID); err != nil {
		return TaskList{}, err
	}
	rows, err := s.store.tasks(ctx, accountID, jobID, taskFilter{
		Statuses: query.Status, Stage: query.Stage, After: from.Ordinal, Limit: query.Limit + 1, ItemFailures: maxItemFailures,
	})
	if err != nil {
		return TaskList{}, err
	}
	list := TaskList{}
	if len(rows) > query.Limit {
		rows = rows[:query.Limit]
		list.NextCursor = place{Ordinal: rows[query.Limit-1].Ordinal}.cursor()
	}
	list.Tasks, err = taskViews(rows)
	return list, err
}

var taskID = regexp.MustCompile(`^task_[0-9a-f]{32}$`)

// Task reads one task of a job. Errors: fault.NotFound.
func (s *Service) Task(ctx context.Context, accountID, jobID, id string) (Task, error) {
	if _, err := s.status(ctx, accountID, jobID); err != nil {
		return Task{}, err
	}
	if !taskID.MatchString(id) {
		return Task{}, noSuchTask()
	}
	rows, err := s.store.tasks(ctx, accountID, jobID, taskFilter{
		TaskID: id, After: beforeAll.Ordinal, Limit: 1, ItemFailures: maxItemFailuresAlone,
	})
	if err != nil {
		return Task{}, err
	}
	if len(rows) == 0 {
		return Task{}, noSuchTask()
	}
	return rows[0].view()
}

func noSuchTask() error { return fault.New(fault.NotFound, "taskId: the job has no such task") }

func taskViews(rows []taskRecord) ([]Task, error) {
	tasks := make([]Task, len(rows))
	for i, r := range rows {
		var err error
		if tasks[i], err = r.view(); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// view turns a record into what its owner sees.
func (r taskRecord) view() (Task, error) {
	failures := []TaskItemFailure{}
	if err := json.Unmarshal(r.ItemFailures, &failures); err != nil {
		return Task{}, fmt.Errorf("reading the failed items of task %s: %w", r.ID, err)
	}
	attempts, err := attemptViews(r.Attempts)
	if err != nil {
		return Task{}, fmt.Errorf("reading the attempts of task %s: %w", r.ID, err)
	}
	return Task{
		TaskID: r.ID, Index: r.Ordinal, Name: r.Name, Stage: r.Stage, Status: r.Status, Attempt: r.Attempt,
		Progress: percentOf(r.Progress), Message: r.Message, Items: r.Items, WorkerID: textOrNil(r.WorkerID),
		Error: r.failure(), ItemFailures: failures, ItemFailureCount: r.ItemFailureCount,
		Usage: r.usage.view(), Attempts: attempts,
		QueuedAt: timeOrNil(r.QueuedAt), StartedAt: timeOrNil(r.StartedAt), FinishedAt: timeOrNil(r.FinishedAt),
	}, nil
}

// percentOf is a fraction in percent with one decimal, rounded down.
func percentOf(fraction float64) float64 {
	return math.Floor(min(max(fraction, 0), 1)*1000+1e-6) / 10 // the summand: 0.29 as a real is a little less
}

// failure is why the task failed; a task that is being tried again has none.
func (r taskRecord) failure() *JobError {
	if job.TaskStatus(r.Status) != job.TaskFailed || !r.ErrorCode.Valid {
		return nil
	}
	return &JobError{
		Code: r.ErrorCode.String, Message: r.ErrorMessage.String, FailureClass: r.FailureClass.String,
		Retryable: r.FailureClass.String != string(engines.UserInput),
	}
}

func (u usage) view() TaskUsage {
	return TaskUsage{
		CPUSeconds: float64(u.CPUMicroseconds) / 1e6, GPUSeconds: float64(u.GPUMicroseconds) / 1e6, WallSeconds: float64(u.WallMs) / 1e3,
		PeakMemoryBytes: u.PeakMemoryBytes, BytesIn: u.BytesIn, BytesOut: u.BytesOut,
	}
}

func attemptViews(text json.RawMessage) ([]TaskAttempt, error) {
	var rows []attempt
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	views := make([]TaskAttempt, len(rows))
	for i, a := range rows {
		views[i] = a.view()
	}
	return views, nil
}

func (a attempt) view() TaskAttempt {
	view := TaskAttempt{
		Attempt: a.Attempt, Run: a.Run, WorkerID: a.WorkerID, Outcome: a.Outcome, Usage: a.usage.view(),
		Cost: exactPounds(billing.Micropence(a.ChargedMicropence)), FinishedAt: a.FinishedAt.UTC(),
	}
	if a.StartedAt != nil {
		view.StartedAt = ref(a.StartedAt.UTC())
	}
	return view
}
