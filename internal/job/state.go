// Package job holds what a job and a task are: their states, the one table of legal transitions, and the roll-up of tasks
// into a job. It does no I/O; the scheduler is the only room that stores what is decided here.
package job

import "fmt"

// Status is the state of a job (doc/contract.md §3).
type Status string

// The states of a job. Every submitted job ends in one of the last four, and so does every retry.
const (
	Submitted             Status = "SUBMITTED"
	Queued                Status = "QUEUED"
	Running               Status = "RUNNING"
	Cancelling            Status = "CANCELLING"
	Completed             Status = "COMPLETED"
	CompletedWithFailures Status = "COMPLETED_WITH_FAILURES"
	Failed                Status = "FAILED"
	Cancelled             Status = "CANCELLED"
)

// Statuses lists every job status, in the order of a job's life.
var Statuses = []Status{Submitted, Queued, Running, Cancelling, Completed, CompletedWithFailures, Failed, Cancelled}

// jobMoves is the state machine of a job within one of its runs. A job may skip QUEUED and RUNNING: a cancelled or failed one never
// started, and a batch of events may bring a task's start and end at once.
var jobMoves = map[Status][]Status{
	Submitted:  {Queued, Running, Cancelling, Cancelled, Completed, CompletedWithFailures, Failed},
	Queued:     {Running, Cancelling, Cancelled, Completed, CompletedWithFailures, Failed},
	Running:    {Cancelling, Cancelled, Completed, CompletedWithFailures, Failed},
	Cancelling: {Cancelled},
}

// Terminal reports whether a job in this state has ended: by itself it never changes again, and only a retry runs it again.
func (s Status) Terminal() bool {
	return s == Completed || s == CompletedWithFailures || s == Failed || s == Cancelled
}

// CanMove reports whether a job may go from one state to the other within a run.
func (s Status) CanMove(to Status) bool { return contains(jobMoves[s], to) }

// CanRetry reports whether a retry may take a job from one state to the other: from any end to the beginning of another run.
// There is no other way out of a terminal state.
func (s Status) CanRetry(to Status) bool { return s.Terminal() && to == Submitted }

// TaskStatus is the state of a task.
type TaskStatus string

// The states of a task. A task whose attempt was lost or is retried goes back to PENDING.
const (
	TaskPending   TaskStatus = "PENDING"
	TaskQueued    TaskStatus = "QUEUED"
	TaskRunning   TaskStatus = "RUNNING"
	TaskSucceeded TaskStatus = "SUCCEEDED"
	TaskFailed    TaskStatus = "FAILED"
	TaskCancelled TaskStatus = "CANCELLED"
)

// TaskStatuses lists every task status, in the order of a task's life.
var TaskStatuses = []TaskStatus{TaskPending, TaskQueued, TaskRunning, TaskSucceeded, TaskFailed, TaskCancelled}

// taskMoves is the state machine of a task within one run of its job. PENDING → FAILED is a task whose input will never exist;
// QUEUED → SUCCEEDED is a task whose start was told to a Redis that has since been lost.
var taskMoves = map[TaskStatus][]TaskStatus{
	TaskPending: {TaskQueued, TaskFailed, TaskCancelled},
	TaskQueued:  {TaskRunning, TaskPending, TaskSucceeded, TaskFailed, TaskCancelled},
	TaskRunning: {TaskSucceeded, TaskFailed, TaskCancelled, TaskPending},
}

// Terminal reports whether a task in this state has ended, as Status.Terminal does for a job.
func (s TaskStatus) Terminal() bool {
	return s == TaskSucceeded || s == TaskFailed || s == TaskCancelled
}

// CanMove reports whether a task may go from one state to the other within a run of its job.
func (s TaskStatus) CanMove(to TaskStatus) bool { return contains(taskMoves[s], to) }

// CanRetry reports whether a retry of its job may take a task from one state to the other.
func (s TaskStatus) CanRetry(to TaskStatus) bool { return s.Terminal() && to == TaskPending }

// IllegalMoveError is a transition that the table does not hold. It is a programming error, never shown to a user.
type IllegalMoveError struct{ From, To string }

func (e *IllegalMoveError) Error() string {
	return fmt.Sprintf("illegal transition %s → %s", e.From, e.To)
}

func contains[T comparable](list []T, want T) bool {
	for _, v := range list {
		if v == want {
			return true
		}
	}
	return false
}
