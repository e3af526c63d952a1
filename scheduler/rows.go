package scheduler

import (
	"database/sql"
	"slices"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// The rows of a Store, as the scheduler decides on them.

// JobRow is the part of a job's row that the scheduler decides on.
type JobRow struct {
	ID                string         `db:"id"`
	AccountID         string         `db:"account_id"`
	Simulator         sql.NullString `db:"simulator"`
	Status            job.Status     `db:"status"`
	StatusReason      sql.NullString `db:"status_reason"`
	StageIndex        int            `db:"stage_index"`
	StageCount        int            `db:"stage_count"`
	PreparationStages int            `db:"preparation_stages"` // the first ones, of shards that only prepare
	TaskCount         int            `db:"task_count"`
	Run               int            `db:"attempts"`
	EstimatedPence    int64          `db:"estimated_pence"`
	HeldPence         int64          `db:"held_pence"`
	SettledPence      int64          `db:"settled_pence"` // see runMoney
	AccruedMicropence int64          `db:"accrued_micropence"`
	ChargedPence      sql.NullInt64  `db:"charged_pence"`
	ErrorCode         sql.NullString `db:"error_code"`
	ErrorMessage      sql.NullString `db:"error_message"`
	FailureClass      sql.NullString `db:"failure_class"`
	ErrorRetryable    bool           `db:"error_retryable"`
	Stopping          bool           `db:"stopping"`
	Overspent         bool           `db:"overspent"` // see brake.go
	CancelRequestedAt sql.NullTime   `db:"cancel_requested_at"`
	CancelReason      sql.NullString `db:"cancel_reason"`
	RequestID         string         `db:"request_id"`
	SoftwareFee       int64          `db:"software_micropence_per_core_hour"`
	StartedAt         sql.NullTime   `db:"started_at"`
	FinishedAt        sql.NullTime   `db:"finished_at"`
	FilesDeletedAt    sql.NullTime   `db:"files_deleted_at"` // by its owner (package erasure)
	NoReuse           bool           `db:"no_reuse"`         // everything is to be run
}

// TaskRow is a task as the scheduler handles it. Shard is filled by QueueTasks and ReadShards alone.
type TaskRow struct {
	ID            string         `db:"id"`
	JobID         string         `db:"job_id"`
	AccountID     string         `db:"account_id"`
	Ordinal       int            `db:"ordinal"`
	Stage         string         `db:"stage"`
	Name          string         `db:"name"`
	Queue         string         `db:"queue"`
	Status        job.TaskStatus `db:"status"`
	Attempt       int            `db:"attempt"`
	Retries       int            `db:"retries"`
	Interruptions int            `db:"interruptions"`
	GivenBack     int            `db:"given_back"`
	WorkerID      sql.NullString `db:"worker_id"`
	Shard         []byte         `db:"shard"`
	QueuedAt      sql.NullTime   `db:"queued_at"` // when its current attempt was handed out
	Identity      []byte         `db:"identity"`  // engines.Identity; nil for a task that may make something else each time
	// Reused names the attempt whose outputs the current one has taken over. It is set where that is told, and is not read.
	Reused *queue.Source `db:"-"`
	// Witness is what reports of the current attempt are held against; nil for one that a release without claims has handed out.
	Witness []byte `db:"claim_witness"`
}

// TaskState is a combination of stage, status and weight in the decision that some task of a job is in.
type TaskState struct {
	StageIndex int            `db:"stage_index"`
	Status     job.TaskStatus `db:"status"`
	Essential  bool           `db:"essential"`
}

// NewJob is a job that is being accepted, with its tasks.
type NewJob struct {
	Submission  Submission
	Receipt     Receipt
	Plan        []engines.Shard
	Tasks       TaskColumns
	Software    string // licensed software that it names; "" for none
	SoftwareFee int64  // micropence a core-hour
}

// TaskColumns is a plan laid out for one bulk insert.
type TaskColumns struct {
	ID, Stage, Name     []string
	Queue               []string
	Ordinal, StageIndex []int64
	Items               []int64
	Essential, Ready    []bool
	Weight, GPUWeight   []float64
	Wall                []float64 // engines.Shard.ExpectedWallSeconds
	Identity            []engines.Identity
	JobID, AccountID    string
	LicenseKey          string // "" for none
	Status              job.TaskStatus
	Priority            int
}

// Candidate is a task that may be dispatched next.
type Candidate struct {
	TaskID    string         `db:"id"`
	JobID     string         `db:"job_id"`
	AccountID string         `db:"account_id"`
	Key       sql.NullString `db:"license_key"` // of the account's own licence that the task needs a seat of
	GivenBack int            `db:"given_back"`
}

// Candidates are in the order in which they are to start.
type Candidates []Candidate

func (c Candidate) license() LicenseRef { return LicenseRef{AccountID: c.AccountID, Key: c.Key.String} }

func (c Candidates) taskIDs() []string {
	out := make([]string, len(c))
	for i := range c {
		out[i] = c[i].TaskID
	}
	return out
}

func (c Candidates) jobIDs() []string {
	var out []string
	for i := range c {
		out = append(out, c[i].JobID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AttemptRow is an attempt that has ended.
type AttemptRow struct {
	TaskID   string
	Attempt  int
	Run      int // of the job
	WorkerID string
	Outcome  string // SUCCEEDED, FAILED, CANCELLED or LOST
	Usage    queue.Usage
	Price    billing.Micropence
	Reused   *queue.Source // whose outputs it took over; nil for one that ran
}

// CheckpointRow is a saved file as the next attempt gets it.
type CheckpointRow struct {
	TaskID     string `db:"task_id"`
	Name       string `db:"name"`
	StorageKey string `db:"storage_key"`
	SHA256     string `db:"sha256"`
	ByteSize   int64  `db:"byte_size"`
}

// KeptRow is what an attempt had used for the finished work that it had saved.
type KeptRow struct {
	Attempt         int   `db:"attempt"`
	CPUMicroseconds int64 `db:"cpu_us"`
	GPUMicroseconds int64 `db:"gpu_us"`
	WallMs          int64 `db:"wall_ms"`
}

// StageOutput is one shard's output, or why there is none.
type StageOutput struct {
	Object  *engines.Object
	Failure *engines.Failure
}

// FailedTask is why a task failed for good. Count is the number of failed tasks of the job; Retryable says that some of them may
// succeed in a retry, and that none without which it cannot succeed is the user's to correct.
type FailedTask struct {
	Class     engines.FailureClass `db:"failure_class"`
	Code      string               `db:"error_code"`
	Message   string               `db:"error_message"`
	Count     int                  `db:"count"`
	Retryable bool                 `db:"retryable"`
	Essential bool                 `db:"essential"` // the first of them, which Class and the rest speak of, decides its job
}

// EndedTask is a task of a job that has ended, as a retry looks at it.
type EndedTask struct {
	ID                 string               `db:"id"`
	Stage              string               `db:"stage"`
	StageIndex         int                  `db:"stage_index"`
	Name               string               `db:"name"`
	Queue              string               `db:"queue"`
	Essential          bool                 `db:"essential"`
	Status             job.TaskStatus       `db:"status"`
	Class              engines.FailureClass `db:"failure_class"` // "" unless it failed
	Message            string               `db:"error_message"`
	ExpectedCPUSeconds float64              `db:"-"`
	MostCPUSeconds     float64              `db:"-"` // of a task that decides by itself how much it does
	ExpectedGPUSeconds float64              `db:"-"`
	Sources            []engines.From       `db:"-"` // the outputs of earlier stages that it reads
}

// Outcome is what a finished task had been expected to use, and the ratio of what it used to that: of devices where it was to use
// any, of processors elsewhere.
type Outcome struct {
	Weight float64 `db:"weight"` // expected seconds, above 0
	Ratio  float64 `db:"ratio"`
}

// LicenseRef names a licence of an account.
type LicenseRef struct {
	AccountID string `db:"account_id"`
	Key       string `db:"license_key"`
}

// LicenseUse is how the seats of a licence stand.
type LicenseUse struct {
	LicenseRef
	Seats int64         `db:"seats"`  // of all enabled servers; 0 without any
	InUse int64         `db:"in_use"` // tasks of the account that are queued or run
	Free  sql.NullInt64 `db:"free"`   // tasks that may start; null when the servers merely advise
}

// OpenTasks is how many tasks of a queue are in a state.
type OpenTasks struct {
	Queue  string         `db:"queue"`
	Status job.TaskStatus `db:"status"`
	N      int            `db:"n"`
}

// Backlog sums up the tasks of a queue that are open, by what was expected of them, uncorrected.
type Backlog struct {
	Queue      string       `db:"queue"`
	Waiting    int          `db:"waiting"` // those that may be dispatched, and those that wait in Redis
	Running    int          `db:"running"`
	Places     float64      `db:"places"` // cores that all of them ask for, or devices
	CPUSeconds float64      `db:"cpu_seconds"`
	GPUSeconds float64      `db:"gpu_seconds"`
	Left       float64      `db:"running_seconds"` // of what runs: on devices where it asks for them
	OldestAt   sql.NullTime `db:"oldest_at"`       // when the first stage was opened of which a task waits
}
