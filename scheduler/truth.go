package scheduler

import (
	"context"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// What the scheduler decides, it decides over these interfaces. Postgres and Redis stand behind them; so does the memory of a
// simulation, which is held to the same behaviour by a test of both.

// Store is the truth about jobs, tasks and money. It may be used concurrently.
type Store interface {
	// InTx runs do in a transaction that is committed when do returns nil, and undone by an error or a panic. do may run more than
	// once. Each statement of a transaction sees what had been committed when it began, and the transaction's own changes.
	InTx(ctx context.Context, do func(Tx) error) error

	// QueuesWaiting returns those of the queues for which a task waits that is ready, be it that it waits for a seat or a moment.
	QueuesWaiting(ctx context.Context, queueNames []string) ([]string, error)
	// CountInFlight counts the tasks of a queue that are queued or run.
	CountInFlight(ctx context.Context, queueName string) (int, error)
	// NextReady picks the tasks to dispatch next: the higher plan priority first, then accounts in turn, where what an account
	// already has in flight counts as turns it has had. The tasks of the jobs except are left out, and of each licence those beyond
	// its free seats.
	NextReady(ctx context.Context, queueName string, limit int, now time.Time, except []string) (Candidates, error)
	// TasksInFlight returns every task that is in a queue or with a worker, by id; the dispatch window bounds their number.
	TasksInFlight(ctx context.Context) ([]TaskRow, error)
	// TasksToStop returns those of them whose jobs are being stopped.
	TasksToStop(ctx context.Context) ([]TaskRow, error)
	// Spenders returns those of the jobs that have neither ended nor are being stopped, by id.
	Spenders(ctx context.Context, jobIDs []string) ([]JobRow, error)
	// Running returns, by attempt, since when those of the tasks' attempts run that do, and on what; those whose plan cannot
	// be read are left out.
	Running(ctx context.Context, tasks []TaskRow) (map[queue.Ref]Running, error)
	// StaleRefs returns those of the attempts that are not their task's current one any more.
	StaleRefs(ctx context.Context, refs []queue.Ref) ([]queue.Ref, error)
	// CountOpenTasks counts the tasks that may be dispatched, are queued or run.
	CountOpenTasks(ctx context.Context) ([]OpenTasks, error)
	// Backlogs sums up, by queue, the tasks that may be dispatched, are queued or run. Of those that wait, the ones that are
	// expected to take longer than their queue's part of longest are left out; it has as many entries as queueNames.
	Backlogs(ctx context.Context, queueNames []string, longest []float64) ([]Backlog, error)

	// SaveProgress stores the progress of running attempts. It decides nothing, so it takes no job's lock and leaves out the tasks
	// that a transaction holds just now: waiting for them, in an order of its own, could block both for ever. It returns those that
	// it has stored.
	SaveProgress(ctx context.Context, news []queue.Held) ([]queue.Ref, error)
	// Percent is how far a job is, by the time that its tasks were expected to take.
	Percent(ctx context.Context, jobID string) (float64, error)
	// TellProgress puts a progress event in the place of the one before, while the job has not ended.
	TellProgress(ctx context.Context, jobID string, body []byte, at time.Time) error

	// Outcomes reads how a queue's newest successful tasks met their expectations.
	Outcomes(ctx context.Context, queueName string, newest int) ([]Outcome, error)
	// HasLicenseServer reports whether a server of the account provides a licence.
	HasLicenseServer(ctx context.Context, accountID, licenseKey string) (bool, error)
	// MadeBefore returns which of these identities an account's tasks have made, and with which programs.
	MadeBefore(ctx context.Context, accountID string, identities []engines.Identity) ([]Work, error)
	// FindAnswer and ForgetAnswers are idempotency.Find and idempotency.DeleteExpired.
	FindAnswer(ctx context.Context, claim idempotency.Claim, now time.Time) ([]byte, error)
	ForgetAnswers(ctx context.Context, now time.Time) error
}

// Tx is one transaction of a Store. It first locks the jobs that it touches, in the order of their ids, then licence servers, then
// tasks, then accounts; so no two of them can wait for each other. A value that can never be stored is an *UnusableError, or an
// error that isRefused knows.
type Tx interface {
	JobTx
	TaskTx
	AttemptTx
	FaultTx
	LicenseTx
	KnownTx
	billing.Books
	// Recorder keeps what the jobs of an engine find in this transaction.
	Recorder(engineID string) Recording
}

// JobTx is the part of a transaction that concerns jobs as a whole.
type JobTx interface {
	// LockJobs reads jobs and keeps every other change of them away until the transaction ends. Unknown ids are left out.
	LockJobs(ctx context.Context, ids []string) (map[string]*JobRow, error)
	// Claim is idempotency.Take.
	Claim(ctx context.Context, claim idempotency.Claim, answer []byte, now time.Time) (first []byte, err error)
	// InsertJob stores a job with its tasks, its plan and which files of its account it reads.
	// Errors: fault.ArtifactNotFound when one of the account's files that it reads has just been deleted.
	InsertJob(ctx context.Context, job NewJob) error
	// LostInput returns a file that a job reads and that was deleted with the job which had made it; "" for none.
	LostInput(ctx context.Context, jobID string) (string, error)
	// SaveJob stores what every change may change of a job, RestartJob what a retry changes beyond that.
	SaveJob(ctx context.Context, r *JobRow, at time.Time) error
	RestartJob(ctx context.Context, r *JobRow, at time.Time) error
	// RecordStatus appends to a job's history.
	RecordStatus(ctx context.Context, jobID string, status job.Status, reason string, at time.Time) error
	// AddEvent tells a job's watchers something.
	AddEvent(ctx context.Context, jobID, kind string, body []byte, at time.Time) error
}

// TaskTx is the part that concerns the tasks of jobs whose locks the transaction has. Moves are checked by the caller.
type TaskTx interface {
	// ReadAhead locks tasks of these jobs that ReadTask will be asked for, as far as there are any. It may be left out.
	ReadAhead(ctx context.Context, jobIDs, taskIDs []string) error
	// Send stores now what the transaction may have put off until its commit, so that an error is that of what was done so far.
	Send(ctx context.Context) error
	// ReadTask locks and returns a task of a job, or nil.
	ReadTask(ctx context.Context, jobID, taskID string) (*TaskRow, error)
	// QueueTasks starts the next attempt of those tasks that still wait and are ready, whose reports the witnesses, in the order of
	// the ids, will tell from forgeries. It returns them with their shards, by id.
	QueueTasks(ctx context.Context, ids []string, witnesses [][]byte, at time.Time) ([]TaskRow, error)
	// ReadShards fills in the shards of tasks.
	ReadShards(ctx context.Context, tasks []TaskRow) error
	StartTask(ctx context.Context, taskID, workerID string, at time.Time) error
	EndTask(ctx context.Context, taskID string, to job.TaskStatus, at time.Time) error
	// ReturnTask makes a task wait for its next attempt, as a retry that counts or as an interruption.
	ReturnTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error
	// GiveBackTask makes a task wait for its next attempt, which counts as none; TaskRow.GivenBack rises where counts says so.
	GiveBackTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error
	// RestartTasks makes tasks wait for their next attempt as if they had never run: with all their retries, and without results,
	// files and kept work. Their attempts stay, because they have been billed, and the numbers go on, which fences what the old
	// ones may still say. The files stay in the object store until its retention ends.
	RestartTasks(ctx context.Context, owner *JobRow, ids []string) error
	// ReadyStage lets the waiting tasks of a stage be dispatched, from a moment on.
	ReadyStage(ctx context.Context, jobID string, stageIndex int, at time.Time) error
	// CancelPending ends the tasks that have not been dispatched. Watchers learn it from the job's own event: there may be
	// thousands.
	CancelPending(ctx context.Context, jobID string, at time.Time) error
	// TaskStates returns, each once, the states that tasks of a job are in.
	TaskStates(ctx context.Context, jobID string) ([]TaskState, error)
	// RefsInFlight returns the attempts of a job that are in a queue or with a worker.
	RefsInFlight(ctx context.Context, jobID string) ([]queue.Ref, error)
	// EndedTasks returns the tasks of a job that has ended, in the order of its plan.
	EndedTasks(ctx context.Context, jobID string) ([]EndedTask, error)
	// Failures returns the failure of a job that tells most, at most one: an essential task's first, then the latest run's, then
	// the earliest of the plan.
	Failures(ctx context.Context, jobID string) ([]FailedTask, error)
}

// AttemptTx is the part that concerns what attempts have left behind.
type AttemptTx interface {
	// InsertAttempt records an attempt that has ended: once.
	InsertAttempt(ctx context.Context, attempt AttemptRow, at time.Time) error
	// ChargeAttempt gives a settled attempt its price; it had none.
	ChargeAttempt(ctx context.Context, taskID string, attempt int, price billing.Micropence) error
	// InsertArtifacts records the stored files of a task's current attempt, in their order.
	InsertArtifacts(ctx context.Context, task TaskRow, files []queue.StoredArtifact, at time.Time) error
	StoreResult(ctx context.Context, taskID string, result queue.Result) error
	StoreFailure(ctx context.Context, taskID string, failure engines.Failure) error
	HasItemFailures(ctx context.Context, jobID string) (bool, error)
	// HasUsed reports whether attempts of a run of a job have a price, of the tasks from a stage on.
	HasUsed(ctx context.Context, jobID string, run, fromStage int) (bool, error)
	// StageOutputs returns, for every shard of a stage, its output of that name or why it has none.
	StageOutputs(ctx context.Context, jobID, stage, output string) (map[string]StageOutput, error)

	// SaveCheckpoints keeps the files of a report, by name, in the place of those of the same names. It returns how many it
	// kept: beyond queue.MaxCheckpoints of a task new ones are left out, and those that a later report of the attempt, one of
	// a higher seq, has replaced.
	SaveCheckpoints(ctx context.Context, task TaskRow, files map[string]queue.StoredArtifact, seq int64, at time.Time) (int, error)
	// Checkpoints returns what earlier attempts of the tasks have saved, by task and name.
	Checkpoints(ctx context.Context, taskIDs []string) ([]CheckpointRow, error)
	// ForgetCheckpoints makes the tasks' next attempts start from the beginning.
	ForgetCheckpoints(ctx context.Context, taskIDs ...string) error
	// Dropped are the keys of the objects that SaveCheckpoints has replaced and ForgetCheckpoints forgotten, as far as was sent.
	Dropped() []string

	// KeepWork keeps what a task's current attempt has used. Told again, or late, it changes nothing: use never falls.
	KeepWork(ctx context.Context, task TaskRow, used queue.Usage, at time.Time) error
	// KeptWork returns the kept work of a task's current attempt, or nil.
	KeptWork(ctx context.Context, task TaskRow) (*KeptRow, error)
	// TakeKeptWork removes all kept work of a task and returns it.
	TakeKeptWork(ctx context.Context, task TaskRow) ([]KeptRow, error)
	// ForgetWorkBefore makes the work of all attempts of a task before its current one free for good: that one does it again.
	ForgetWorkBefore(ctx context.Context, task TaskRow) error
}

// FaultTx is the part that concerns the workers that fail a job.
type FaultTx interface {
	// AddFault counts an attempt against a worker in a job and returns how many there are now. A worker's name is a text of its
	// own; code says why the attempt ended.
	AddFault(ctx context.Context, jobID, workerID, code string, at time.Time) (faults int, err error)
	// Faulty returns, by job, the workers that have failed it so often.
	Faulty(ctx context.Context, jobIDs []string, atLeast int) (map[string][]string, error)
}

// KnownTx is the part that concerns work that need not be done again.
type KnownTx interface {
	// KnownWork returns what tasks of the same accounts and identities have made, the newest last.
	KnownWork(ctx context.Context, tasks []TaskRow) ([]KnownWork, error)
	// MakesTheSame reports whether another task is of the same account and identity.
	MakesTheSame(ctx context.Context, task TaskRow, otherID string) (bool, error)
	// Remember keeps that a task's current attempt has made what its identity names, with these programs; not where a task of an
	// earlier stage has failed, for what that would have left may be missing in what this one has made.
	Remember(ctx context.Context, task TaskRow, toolchain string, at time.Time) error
}

// LicenseTx is the part that concerns the seats of licences.
type LicenseTx interface {
	// LockLicenseServers keeps seats from being given twice, and the servers from being changed, until the transaction ends.
	LockLicenseServers(ctx context.Context, refs []LicenseRef) error
	LicenseUses(ctx context.Context, refs []LicenseRef) (map[LicenseRef]LicenseUse, error)
}

// Queue is the transport between the scheduler and the workers: queue.Queue says what its methods promise. All of it may be lost
// at any moment.
type Queue interface {
	Enqueue(ctx context.Context, orders ...queue.WorkOrder) error
	Remove(queueName string, ref queue.Ref) (bool, error)
	Waiting(queueName string, ref queue.Ref) (bool, error)
	Depth(queueName string) (queue.Depth, error)
	Sweep(queueName string) error
	IsMarked(ctx context.Context, mark string) (bool, error)
	Mark(ctx context.Context, mark string) error
	Wake(ctx context.Context) error
	Wakes(ctx context.Context, f func())
	Receive(ctx context.Context, limit int64, block time.Duration) ([]queue.Delivery, error)
	Acknowledge(ctx context.Context, done []queue.Delivery) error
	Workers(ctx context.Context) ([]queue.Heartbeat, error)
	Forget(ctx context.Context, workerID string) error
	StopAttempts(ctx context.Context, refs ...queue.Ref) error
	LeavePermit(ctx context.Context, workerID string, ref queue.Ref, sealed []byte) error
}

var _ Queue = (*queue.Queue)(nil)
