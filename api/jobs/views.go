package jobs

import (
	"time"

	"github.com/molfabric/molfabric/api/page"
)

// Job is what its owner sees of a job (decisions.md, "Jobs and tasks").
type Job struct {
	JobID         string         `json:"jobId" doc:"Id of the job."`
	JobType       string         `json:"jobType" doc:"Kind of job."`
	JobName       string         `json:"jobName" doc:"Name for people; empty when none was given."`
	Simulator     *string        `json:"simulator" doc:"Canonical simulator id of a simulation."`
	Status        string         `json:"status" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" doc:"State of the job."`
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

// StatusChange is one entry of a job's history.
type StatusChange struct {
	Status string    `json:"status" doc:"State of the job."`
	At     time.Time `json:"at" doc:"When it came to this state."`
	Reason string    `json:"reason" doc:"Empty where there is nothing to say."`
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

// OutputQuery filters the files of a job.
type OutputQuery struct {
	page.Query
	Role      []string      `query:"role,explode" enum:"result,frame,log,preview,provenance,checkpoint" maxItems:"6" doc:"Files of any of these roles; may be repeated."`
	TaskIndex optional[int] `query:"taskIndex" minimum:"0" maximum:"19999" doc:"Files of the task at this position alone."`
}

// Outputs is a page of a job's files, newest first.
type Outputs struct {
	JobID      string   `json:"jobId" doc:"Id of the job."`
	Status     string   `json:"status" doc:"State of the job."`
	Complete   bool     `json:"complete" doc:"False while the job may still make files."`
	Outputs    []Output `json:"outputs" doc:"Files, newest first."`
	NextCursor *string  `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// CancelRequest says why a job is cancelled.
type CancelRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"512" doc:"Why, for the job's history."`
}

// CancelResponse is the answer to a cancel.
type CancelResponse struct {
	JobID   string `json:"jobId" doc:"Id of the job."`
	Status  string `json:"status" enum:"CANCELLING,CANCELLED" doc:"State of the job."`
	Message string `json:"message" doc:"What happens now, for people."`
}

// ListQuery filters the list of jobs.
type ListQuery struct {
	page.Query
	Status        []string  `query:"status,explode" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" maxItems:"8" doc:"Jobs in any of these states; may be repeated."`
	JobType       string    `query:"jobType" enum:"render,simulation,molecular,pipeline" doc:"Jobs of this type."`
	Simulator     string    `query:"simulator" maxLength:"64" doc:"Jobs of this simulator; aliases are understood."`
	CreatedAfter  time.Time `query:"createdAfter" doc:"Jobs submitted after this time (RFC 3339)."`
	CreatedBefore time.Time `query:"createdBefore" doc:"Jobs submitted before this time (RFC 3339)."`
	Q             string    `query:"q" maxLength:"200" doc:"Jobs whose name holds this text, in either case, or whose id it is."`
}
