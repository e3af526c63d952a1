// Package job holds what a job and a task are: their states, the one table of legal transitions, and the roll-up of tasks
// into a job. It does no I/O; the scheduler is the only room that stores what is decided here.
package job

import "fmt"

// Status is the state of a job (decisions.md, "Jobs and tasks").
type Status string

// The states of a job. Every submitted job ends in one of the last four.
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

// jobMoves is the whole state machine of a job. A job may skip QUEUED and RUNNING: a cancelled or failed one never started,
// and a batch of events may bring a task's start and end at once.
var jobMoves = map[Status][]Status{
	Submitted:  {Queued, Running, Cancelling, Cancelled, Completed, CompletedWithFailures, Failed},
	Queued:     {Running, Cancelling, Cancelled, Completed, CompletedWithFailures, Failed},
	Running:    {Cancelling, Cancelled, Completed, CompletedWithFailures, Failed},
	Cancelling: {Cancelled},
}

// Terminal reports whether a job in this state will never change again.
func (s Status) Terminal() bool {
	return s == Completed || s == CompletedWithFailures || s == Failed || s == Cancelled
}

// CanMove reports whether a job may go from one state to the other.
func (s Status) CanMove(to Status) bool { return contains(jobMoves[s], to) }

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

// taskMoves is the whole state machine of a task. PENDING → FAILED is a task whose input will never exist; QUEUED →
// SUCCEEDED is a task whose start was told to a Redis that has since been lost.
var taskMoves = map[TaskStatus][]TaskStatus{
	TaskPending: {TaskQueued, TaskFailed, TaskCancelled},
	TaskQueued:  {TaskRunning, TaskPending, TaskSucceeded, TaskFailed, TaskCancelled},
	TaskRunning: {TaskSucceeded, TaskFailed, TaskCancelled, TaskPending},
}

// Terminal reports whether a task in this state will never change again.
func (s TaskStatus) Terminal() bool {
	return s == TaskSucceeded || s == TaskFailed || s == TaskCancelled
}

// CanMove reports whether a task may go from one state to the other.
func (s TaskStatus) CanMove(to TaskStatus) bool { return contains(taskMoves[s], to) }

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
