package contract

import (
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/job"
)

// SubmitResponse is the receipt of a job (doc/contract.md §2.4).
type SubmitResponse struct {
	JobID            string     `json:"jobId" doc:"Id of the job."`
	JobType          string     `json:"jobType" doc:"Kind of job, as submitted."`
	EstimatedCost    Pounds     `json:"estimatedCost" doc:"Expected cost, in pounds."`
	Currency         string     `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217 code."`
	Status           job.Status `json:"status" enum:"SUBMITTED" doc:"Always SUBMITTED."`
	Provider         string     `json:"provider" doc:"Who runs the job."`
	Message          string     `json:"message" doc:"What happened, for people."`
	IdempotentReplay bool       `json:"idempotentReplay,omitempty" doc:"True when an earlier submission with the same idempotency key made the job."`
	// Tasks, KnownTasks and Receptor are beside the contract's members; the last is of dockings alone.
	Tasks      int       `json:"tasks,omitempty" doc:"How many tasks the job has."`
	KnownTasks int       `json:"knownTasks,omitempty" doc:"How many of them the account has run before: their outputs are copied, at no charge."`
	Receptor   *Forecast `json:"receptor,omitempty" doc:"What a docking will be done into."`
}

// EstimateResponse is a price (doc/contract.md §2.5). All amounts are in pounds; only estimatedCost and range are rounded.
type EstimateResponse struct {
	EstimatedCost Pounds        `json:"estimatedCost" doc:"Expected cost, in pounds."`
	Currency      string        `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217 code."`
	HasLicenseFee bool          `json:"hasLicenseFee" doc:"Whether the price holds a fee for licensed software."`
	LicenseNames  []string      `json:"licenseNames" doc:"The licences that the fee is for."`
	Breakdown     Breakdown     `json:"breakdown" doc:"What the price consists of."`
	VariableRates VariableRates `json:"variableRates" doc:"Prices that vary with use."`
	Range         CostRange     `json:"range" doc:"Likely range, from what earlier tasks of the engine used. It never passes the amount that is held at submission, and a job is never charged more than that."`
	// Tasks and KnownTasks are beside the contract's members.
	Tasks      int `json:"tasks,omitempty" doc:"How many tasks the job would have."`
	KnownTasks int `json:"knownTasks,omitempty" doc:"How many of them the account has run before, as far as the files are known: they cost nothing."`
	// Assumed is beside the contract's members.
	Assumed string `json:"assumed,omitempty" doc:"Of a request that says nothing of its work: the typical case whose price this is."`
	// Receptor is beside the contract's members, of dockings alone.
	Receptor *Forecast `json:"receptor,omitempty" doc:"What a docking would be done into, where the receptor is one of the account's files or an entry that is kept here."`
}

// Breakdown is what a price consists of, in pounds.
type Breakdown struct {
	Compute  Pounds `json:"compute"`
	Software Pounds `json:"software"`
	Storage  Pounds `json:"storage"`
	Egress   Pounds `json:"egress"`
	StartFee Pounds `json:"startFee"`
}

// VariableRates are the prices that vary with use, in pounds.
type VariableRates struct {
	HardwareRate Pounds  `json:"hardwareRate" doc:"Per core-hour."`
	GPURate      *Pounds `json:"gpuRate,omitempty" doc:"Per GPU and hour, beside the processor time; only of a job with tasks on GPUs."`
	EgressRate   Pounds  `json:"egressRate" doc:"Per GB."`
}

// CostRange is the likely range of a price, in pounds.
type CostRange struct {
	Low    Pounds `json:"low"`
	Likely Pounds `json:"likely"`
	High   Pounds `json:"high"`
}

// Job is what its owner sees of a job (doc/contract.md §2.11).
type Job struct {
	JobID         string         `json:"jobId" doc:"Id of the job."`
	JobType       string         `json:"jobType" doc:"Kind of job."`
	JobName       string         `json:"jobName" doc:"Name for people; empty when none was given."`
	Simulator     *string        `json:"simulator" doc:"Canonical simulator id of a simulation."`
	Status        job.Status     `json:"status" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" doc:"State of the job."`
	Terminal      bool           `json:"terminal" doc:"Whether the state is final."`
	StatusReason  *string        `json:"statusReason" doc:"Why the job is in this state, where there is more to say."`
	Provider      string         `json:"provider" doc:"Who runs the job."`
	Recovery      RecoveryMode   `json:"recovery" doc:"What happens to a task whose worker is lost."`
	Progress      Progress       `json:"progress" doc:"How far the job is."`
	Queue         *Queue         `json:"queue" doc:"Place in the queue; null once a task has started."`
	Cost          Cost           `json:"cost" doc:"Money, in pounds."`
	Attempts      int            `json:"attempts" doc:"How often the job was started; a retry starts it again."`
	Error         *JobError      `json:"error" doc:"Why the job failed."`
	Preview       *Preview       `json:"preview" doc:"A picture of the result, where the engine makes one."`
	StatusHistory []StatusChange `json:"statusHistory" doc:"Every state the job was in, oldest first."`
	CreatedAt     time.Time      `json:"createdAt" doc:"Time of the submission."`
	UpdatedAt     time.Time      `json:"updatedAt" doc:"Time of the last change."`
	StartedAt     *time.Time     `json:"startedAt" doc:"When the first task started."`
	FinishedAt    *time.Time     `json:"finishedAt" doc:"When the job ended."`
	// FilesDeletedAt is left out while the job has its files.
	FilesDeletedAt *time.Time `json:"filesDeletedAt,omitempty" doc:"When its owner had its files and results deleted. What reads them answers 410 FILES_DELETED from then on."`
}

// RecoveryMode is the recovery of a job that exists.
type RecoveryMode struct {
	Mode string `json:"mode" enum:"standard,resumable" doc:"What happens to a task whose worker is lost."`
}

// Progress is how far a job is.
type Progress struct {
	Percent float64    `json:"percent" minimum:"0" maximum:"100" doc:"Ended tasks and the finished parts of running ones, of all tasks; one decimal."`
	Stage   string     `json:"stage" doc:"The stage that is being worked on, \"queued\" before the first and \"finished\" after the last."`
	Message string     `json:"message" doc:"What is being done, for people."`
	Tasks   TaskCounts `json:"tasks" doc:"Tasks by state."`
	// FramesDone and FramesTotal are of a job that renders.
	FramesDone  *int64 `json:"framesDone,omitempty" minimum:"0" doc:"Frames that are finished, of a job that renders."`
	FramesTotal *int64 `json:"framesTotal,omitempty" minimum:"0" doc:"Frames that the job has, of a job that renders."`
}

// TaskCounts are the tasks of a job by state.
type TaskCounts struct {
	Total     int `json:"total" doc:"All tasks."`
	Pending   int `json:"pending" doc:"Tasks that wait to be dispatched, or for an earlier stage."`
	Queued    int `json:"queued" doc:"Tasks that wait for a worker."`
	Running   int `json:"running" doc:"Tasks that a worker runs."`
	Succeeded int `json:"succeeded" doc:"Tasks that are done."`
	Failed    int `json:"failed" doc:"Tasks that failed for good."`
	Cancelled int `json:"cancelled" doc:"Tasks that were stopped."`
}

// Queue is the place of a job that has not started.
type Queue struct {
	_                struct{}   `nullable:"true"`
	Position         int        `json:"position" minimum:"0" maximum:"2000" doc:"Tasks that wait ahead of this job's first, among at most 2,000 that are looked at. Fair sharing between accounts may serve it earlier."`
	EstimatedStartAt *time.Time `json:"estimatedStartAt" doc:"Expected start; null when unknown."`
}

// Cost is the money of a job, in pounds.
type Cost struct {
	Estimated Pounds  `json:"estimated" doc:"Expected at submission; after a retry, what the earlier runs were charged and what this one is expected to cost."`
	Held      Pounds  `json:"held" doc:"Set aside at submission, and by each retry; the job is never charged more. 0 once it has ended and what it has not used is given back."`
	Accrued   Pounds  `json:"accrued" doc:"Metered so far."`
	Final     *Pounds `json:"final" nullable:"true" doc:"Charged, once the job has ended."`
	Currency  string  `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217 code."`
}

// JobError is why a job or one of its tasks failed.
type JobError struct {
	_            struct{} `nullable:"true"`
	Code         string   `json:"code" doc:"Machine-readable reason."`
	Message      string   `json:"message" doc:"What was wrong, and the next step."`
	FailureClass string   `json:"failureClass" enum:"USER_INPUT,EXECUTOR,SYSTEM,TIMEOUT,LICENSE,COST_LIMIT" doc:"Who is at fault."`
	Retryable    bool     `json:"retryable" doc:"Whether the same submission may succeed later."`
}

// Preview is a picture of a job's result.
type Preview struct {
	_         struct{}  `nullable:"true"`
	URL       string    `json:"url" doc:"Short-lived address of the picture."`
	ExpiresAt time.Time `json:"expiresAt" doc:"Until when the address is good."`
}

// Picture tells one preview from another: the address without its signature, which changes though the picture does not.
func (p Preview) Picture() string {
	picture, _, _ := strings.Cut(p.URL, "?")
	return picture
}

// StatusChange is one entry of a job's history.
type StatusChange struct {
	Status job.Status `json:"status" doc:"State of the job."`
	At     time.Time  `json:"at" doc:"When it came to this state."`
	Reason string     `json:"reason" doc:"Empty where there is nothing to say."`
}

// JobList is a page of jobs, newest first.
type JobList struct {
	Jobs       []Job   `json:"jobs" doc:"Jobs, newest first."`
	NextCursor *string `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// Output is one file that a job has made.
type Output struct {
	ArtifactID   string    `json:"artifactId" doc:"Id of the file."`
	Name         string    `json:"name" doc:"File name, unique within its task."`
	Role         string    `json:"role" enum:"result,frame,log,preview,provenance,checkpoint" doc:"What the file is."`
	TaskIndex    int       `json:"taskIndex" doc:"Position of the task that made it."`
	Frame        *int64    `json:"frame,omitempty" doc:"Number of the frame that the file shows; left out when it is none."`
	StorageKey   string    `json:"storageKey" doc:"May be the sceneFile or an artifact of another job."`
	SHA256       string    `json:"sha256" doc:"64 lower-case hexadecimal digits."`
	ByteSize     int64     `json:"byteSize" doc:"Size in bytes."`
	MediaType    string    `json:"mediaType" doc:"Media type."`
	Format       string    `json:"format" doc:"Format of the content, such as sdf."`
	URL          string    `json:"url" doc:"Short-lived address of the file; never store it."`
	URLExpiresAt time.Time `json:"urlExpiresAt" doc:"Until when the address is good."`
}

// Outputs is a page of a job's files, newest first.
type Outputs struct {
	JobID      string     `json:"jobId" doc:"Id of the job."`
	Status     job.Status `json:"status" doc:"State of the job."`
	Complete   bool       `json:"complete" doc:"False while the job may still make files."`
	Outputs    []Output   `json:"outputs" doc:"Files, newest first."`
	NextCursor *string    `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// CancelRequest says why a job is cancelled.
type CancelRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"512" doc:"Why, for the job's history."`
}

// CancelResponse is the answer to a cancel.
type CancelResponse struct {
	JobID   string     `json:"jobId" doc:"Id of the job."`
	Status  job.Status `json:"status" enum:"CANCELLING,CANCELLED" doc:"State of the job."`
	Message string     `json:"message" doc:"What happens now, for people."`
}

// RetryRequest says what of a job is run again.
type RetryRequest struct {
	Scope *string `json:"scope,omitempty" enum:"failed,all" default:"failed" doc:"failed: the tasks that failed or were cancelled, and what reads their files; what else has finished is kept and not charged again. all: every task."`
}

// RetryResponse is the answer to a retry.
type RetryResponse struct {
	JobID         string     `json:"jobId" doc:"Id of the job; it stays the same."`
	Status        job.Status `json:"status" enum:"SUBMITTED,QUEUED,RUNNING" doc:"State of the job, which runs again."`
	Attempt       int        `json:"attempt" minimum:"2" doc:"Which run of the job this is; the submission began the first."`
	Tasks         int        `json:"tasks" minimum:"1" doc:"How many tasks run again."`
	EstimatedCost Pounds     `json:"estimatedCost" doc:"Expected cost of this run, in pounds."`
	Currency      string     `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217 code."`
	Message       string     `json:"message" doc:"What happened, for people."`

	IdempotentReplay bool `json:"idempotentReplay,omitempty" doc:"True when an earlier request with this key began the run."`
}

// FilesDeletion is the answer to the deletion of a job's files.
type FilesDeletion struct {
	JobID              string    `json:"jobId" doc:"Id of the job."`
	FilesDeletedAt     time.Time `json:"filesDeletedAt" doc:"When its files were deleted: by the first call."`
	RemovedOutputs     int64     `json:"removedOutputs" doc:"Files that the job had made and this call has deleted; 0 when they had been deleted before. So are the three below."`
	RemovedOutputBytes int64     `json:"removedOutputBytes" doc:"Bytes of these."`
	RemovedUploads     int64     `json:"removedUploads" doc:"Uploads that only this job referred to."`
	RemovedUploadBytes int64     `json:"removedUploadBytes" doc:"Bytes of these, which count no more against the account's quota."`
	Message            string    `json:"message" doc:"What happened, for people."`
}
