package scheduler

import (
	"encoding/json"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/frames"
	"github.com/molfabric/molfabric/internal/job"
)

// Submission is a job that the front door has validated against the contract. Its storage keys have been found to belong to
// the account.
type Submission struct {
	AccountID      string
	Plan           string // the account's plan: decides the queue priority and the price
	JobType        string
	Engine         engines.Engine
	JobName        string
	RecoveryMode   string // "standard" or "resumable"
	SceneFile      engines.Object
	Attachments    []engines.Object
	Params         json.RawMessage // canonical simulationParams with defaults
	Decoded        any             // engines.Request says of it what it is
	TaskCount      int
	Frames         []frames.Range // engines.Request says of these four what they are
	OutputFormat   string
	Parameters     map[string]string
	Metadata       json.RawMessage // as it came; may be empty
	Request        json.RawMessage // the canonical request, kept with the job
	IdempotencyKey string          // "" when the caller sent none
	RequestID      string          // X-Request-Id, for the logs of everything that follows
	Found          engines.Found   // what the request's names of public data stand for
	// Forecast is what the front door tells the caller of the job beside its price, as JSON; nil for most. It is kept with the receipt.
	Forecast json.RawMessage
	// The caller's own names of a docking (dockingRequest), and the run that it repeats; "" where there is none.
	DockingRequestID, DockingRunID, ReproducesRunID string
}

// work is what the engine plans from.
func (sub Submission) work(jobID string) engines.Request {
	return engines.Request{
		JobID: jobID, JobName: sub.JobName, JobType: sub.JobType, SceneFile: sub.SceneFile, Attachments: sub.Attachments, Params: sub.Params, Decoded: sub.Decoded, TaskCount: sub.TaskCount,
		Frames: sub.Frames, OutputFormat: sub.OutputFormat, Parameters: sub.Parameters, Metadata: sub.Metadata, Recovery: sub.RecoveryMode,
		Found: sub.Found,
	}
}

// Receipt is the answer to a submission.
type Receipt struct {
	JobID     string          `json:"jobId"`
	JobType   string          `json:"jobType"`
	Quote     QuoteSummary    `json:"quote"`
	CreatedAt time.Time       `json:"createdAt"`
	Forecast  json.RawMessage `json:"forecast,omitempty"` // as Submission has it
	Replayed  bool            `json:"-"`                  // an earlier submission with the same idempotency key
}

// QuoteSummary is the money part of a receipt.
type QuoteSummary struct {
	EstimatedPence int64  `json:"estimatedPence"`
	HeldPence      int64  `json:"heldPence"`
	Currency       string `json:"currency"`
}

// Estimation is a priced plan that has not been submitted.
type Estimation struct {
	Quote billing.Quote
	Tasks int
}

// Cancellation is the answer to a cancel.
type Cancellation struct {
	Status  job.Status
	Already bool // the job was being cancelled, or had been, before this call
}
