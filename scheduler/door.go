package scheduler

import (
	"encoding/json"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
)

// Submission is a job that the front door has validated against the contract. Its storage keys have been found to belong to
// the account.
type Submission struct {
	engines.Request // what the engine plans from, without the job's id

	AccountID      string
	Plan           string // the account's plan: decides the queue priority and the price
	Engine         engines.Engine
	Canonical      json.RawMessage // the request as it is compared and kept with the job
	IdempotencyKey string          // "" when the caller sent none
	RequestID      string          // X-Request-Id, for the logs of everything that follows
	// Forecast is what the front door tells the caller of the job beside its price, as JSON; nil for most. It is kept with
	// the receipt.
	Forecast json.RawMessage
	// NoReuse says that everything is to be run, also what the account has made before.
	NoReuse bool
	// The caller's own names of a docking (dockingRequest), and the run that it repeats; "" where there is none.
	DockingRequestID, DockingRunID, ReproducesRunID string
}

// of is the request as the job of this id.
func (sub Submission) of(jobID string) engines.Request {
	work := sub.Request
	work.JobID = jobID
	return work
}

// Receipt is the answer to a submission.
type Receipt struct {
	JobID     string          `json:"jobId"`
	JobType   string          `json:"jobType"`
	Quote     QuoteSummary    `json:"quote"`
	CreatedAt time.Time       `json:"createdAt"`
	Tasks     int             `json:"tasks,omitempty"`
	Known     int             `json:"known,omitempty"`    // tasks whose outputs the account has already
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
	Known int // tasks whose outputs the account has already
}

// Cancellation is the answer to a cancel.
type Cancellation struct {
	Status  job.Status
	Already bool // the job was being cancelled, or had been, before this call
}
