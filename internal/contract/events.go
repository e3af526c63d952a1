package contract

import "github.com/molfabric/molfabric/internal/job"

// Events of a job's stream. Each message's id is its place in the log; a client that comes back with Last-Event-ID gets
// what it missed.

// StatusEvent is a change of the job's state. The stream ends after a terminal one, which is the last of the log until the
// job is retried.
type StatusEvent struct {
	Status   job.Status `json:"status" doc:"The state that the job has now."`
	Reason   string     `json:"reason" doc:"Why; empty where there is nothing to say."`
	Terminal bool       `json:"terminal" doc:"Whether the job ended in this state. False for the end of a run that has been followed by a retry."`
}

// ProgressEvent tells how far the job is.
type ProgressEvent struct {
	Percent float64 `json:"percent" minimum:"0" maximum:"100"`
	Message string  `json:"message" doc:"What is being done, for people."`
}

// TaskEvent is a change of one task's state.
type TaskEvent struct {
	TaskIndex int            `json:"taskIndex" doc:"Position of the task in the job."`
	Stage     string         `json:"stage" doc:"Stage of the task."`
	Name      string         `json:"name" doc:"Name of the task."`
	Status    job.TaskStatus `json:"status" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED"`
	Attempt   int            `json:"attempt" doc:"Number of the attempt, from 1."`
	Error     *TaskError     `json:"error,omitempty" doc:"Why the task failed."`
}

// The events of the account's stream are those of its jobs' streams, and say of which job they are.
type (
	// AccountStatusEvent is a change of a job's state. The stream does not end with a terminal one.
	AccountStatusEvent struct {
		JobID string `json:"jobId" doc:"Id of the job."`
		StatusEvent
	}
	// AccountProgressEvent tells how far a job is.
	AccountProgressEvent struct {
		JobID string `json:"jobId" doc:"Id of the job."`
		ProgressEvent
	}
	// AccountTaskEvent is a change of one task's state.
	AccountTaskEvent struct {
		JobID string `json:"jobId" doc:"Id of the job."`
		TaskEvent
	}
)

// TaskError is why a task failed.
type TaskError struct {
	Class   string            `json:"class" enum:"USER_INPUT,EXECUTOR,SYSTEM,TIMEOUT,LICENSE,COST_LIMIT" doc:"Who is at fault."`
	Code    string            `json:"code" doc:"Machine-readable reason."`
	Message string            `json:"message" doc:"What was wrong, and the next step."`
	Items   []TaskItemFailure `json:"items,omitempty" doc:"The items of the task that were at fault, where the engine names them."`
}
