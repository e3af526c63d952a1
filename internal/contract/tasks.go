package contract

import (
	"time"

	"github.com/molfabric/molfabric/internal/job"
)

// Task is what its owner sees of a task (doc/contract.md §2.11).
type Task struct {
	TaskID           string            `json:"taskId" doc:"Id of the task."`
	Index            int               `json:"index" minimum:"0" doc:"Position of the task in the job's plan."`
	Name             string            `json:"name" example:"dock-00012" doc:"Name of the task, unique in its job."`
	Stage            string            `json:"stage" example:"dock" doc:"Stage of the plan; a stage starts when the one before has ended."`
	Status           job.TaskStatus    `json:"status" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED" doc:"State of the task."`
	Attempt          int               `json:"attempt" minimum:"0" doc:"How often the task was dispatched."`
	Reused           bool              `json:"reused" doc:"Whether its outputs are copies of those of an earlier task, at no charge; the last attempt says of which."`
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
	ReusedFrom *Reused    `json:"reusedFrom,omitempty" doc:"The attempt whose outputs were copied, where nothing was run."`
	StartedAt  *time.Time `json:"startedAt" doc:"Null when it never ran."`
	FinishedAt time.Time  `json:"finishedAt" doc:"When the attempt ended."`
}

// Reused names the attempt of an earlier task whose outputs another has taken over. Its job's files may have been deleted since.
type Reused struct {
	JobID   string `json:"jobId" doc:"Id of its job."`
	TaskID  string `json:"taskId" doc:"Id of its task."`
	Attempt int    `json:"attempt" minimum:"1" doc:"Which start of that task it was."`
}

// TaskList is a page of tasks in the order of the plan.
type TaskList struct {
	Tasks      []Task  `json:"tasks" doc:"Tasks in the order of the plan."`
	NextCursor *string `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// TaskLog is what the program of one task printed.
type TaskLog struct {
	TaskID       string         `json:"taskId" doc:"Id of the task."`
	Index        int            `json:"index" minimum:"0" doc:"Position of the task in the job's plan."`
	Name         string         `json:"name" doc:"Name of the task."`
	Stage        string         `json:"stage" doc:"Stage of the task."`
	Status       job.TaskStatus `json:"status" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED" doc:"State of the task."`
	Attempt      int            `json:"attempt" minimum:"0" doc:"The attempt that printed it."`
	Message      string         `json:"message" doc:"What the task said last about its progress."`
	ArtifactID   *string        `json:"artifactId" doc:"Id of the log file; null while the task runs: the log is stored when it ends."`
	ByteSize     int64          `json:"byteSize" minimum:"0" doc:"Size of the whole log."`
	URL          *string        `json:"url" doc:"Short-lived address of the whole log; never store it."`
	URLExpiresAt *time.Time     `json:"urlExpiresAt" doc:"When the address ends."`
	Text         *string        `json:"text" doc:"The last 16 KiB of the log, in UTF-8; null while there is no log file to read."`
	Truncated    bool           `json:"truncated" doc:"Whether text is not the whole log."`
}

// LogList is a page of logs in the order of the plan.
type LogList struct {
	Logs       []TaskLog `json:"logs" doc:"Logs of tasks that have ended, and an entry for each task that runs now. A page may be shorter than limit: it carries 512 KiB of text at most."`
	NextCursor *string   `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}
