// Package jobs is the API group of jobs: submit, estimate, list, read, tasks, logs, outputs, provenance, receipts, cancel, retry
// and the event stream. It checks what the schema cannot state, lets package lookup find what a submission names, and shows what
// the scheduler has stored. It changes no job: the scheduler does, and is asked for it.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/jobs/lookup"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/stream"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/alignments"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/scheduler"
)

// outputURLLifetime is how long the address of an output is good: long enough to fetch the largest file, short enough that a
// leaked one is soon worthless.
const outputURLLifetime = time.Hour

// Deps is what a Service needs; all are required but Knowledge, Databases, Weights,
// Alignment, Receipts and Version.
type Deps struct {
	DB        *sqlx.DB
	Scheduler *scheduler.Scheduler
	Engines   *engines.Registry
	Objects   *object.Store
	Uploads   lookup.Uploads
	// Knowledge finds what names of public data stand for; without it, they are refused.
	Knowledge lookup.Knowledge
	// Databases finds the databases of sequence searches; without it, every search is refused.
	Databases lookup.Databases
	// Weights finds the weights of models; without it, every prediction is refused.
	Weights lookup.Weights
	// Alignment is the database that proteins are aligned to; nil for none.
	Alignment *alignments.Database
	Currency  string // of the price book, ISO 4217
	// Pipeline says whether pipeline jobs are accepted.
	Pipeline bool
	// Receipts signs the receipts of jobs; without it, there are none.
	Receipts *receipt.Signer
	// Version is this program's, for the provenance of results.
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	deps    Deps
	store   store
	streams *stream.Streams
	lookup  *lookup.Finder
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	store := store{db: deps.DB}
	return &Service{deps: deps, store: store, streams: stream.New(deps.Log), lookup: lookup.New(lookup.Deps{
		DB: deps.DB, Objects: deps.Objects, Uploads: deps.Uploads, Knowledge: deps.Knowledge,
		Databases: deps.Databases, Weights: deps.Weights, Alignment: deps.Alignment,
		Log: deps.Log,
	})}
}

// List reads a page of the caller's jobs, newest first. Errors: fault.InvalidCursor, fault.Validation.
func (s *Service) List(ctx context.Context, accountID string, query ListQuery) (contract.JobList, error) {
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.JobList{}, err
	}
	simulator := query.Simulator
	if engine, ok := s.deps.Engines.Lookup(simulator); ok {
		simulator = engine.Spec().ID
	}
	records, err := s.store.jobs(ctx, accountID, filter{
		Statuses: query.Status, JobType: query.JobType, Simulator: simulator, Text: query.Q,
		CreatedAfter: query.CreatedAfter, CreatedBefore: query.CreatedBefore, From: from,
	}, query.Limit+1)
	if err != nil {
		return contract.JobList{}, err
	}
	records, next := list.Cut(records, query.Limit, func(r record) list.Position {
		return list.Position{At: r.CreatedAt, ID: r.ID}
	})
	answer := contract.JobList{Jobs: make([]contract.Job, len(records)), NextCursor: next}
	for i, r := range records {
		if answer.Jobs[i], err = s.show(ctx, r); err != nil {
			return contract.JobList{}, err
		}
	}
	return answer, nil
}

// Job reads one of the caller's jobs. Errors: fault.NotFound.
func (s *Service) Job(ctx context.Context, accountID, jobID string) (contract.Job, error) {
	if err := checkForm(jobID); err != nil {
		return contract.Job{}, err
	}
	r, err := s.store.job(ctx, accountID, jobID)
	if err != nil {
		return contract.Job{}, err
	}
	return s.show(ctx, r)
}

// Outputs reads a page of a job's files with fresh addresses. Errors: fault.NotFound, fault.FilesDeleted, fault.InvalidCursor.
func (s *Service) Outputs(ctx context.Context, accountID, jobID string, query OutputQuery) (contract.Outputs, error) {
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.Outputs{}, err
	}
	status, err := s.withFiles(ctx, accountID, jobID) // before the files, so that complete never promises too much
	if err != nil {
		return contract.Outputs{}, err
	}
	filter := outputFilter{Roles: query.Role, TaskIndex: -1, From: from}
	if query.TaskIndex.IsSet {
		filter.TaskIndex = query.TaskIndex.Value
	}
	files, err := s.store.outputs(ctx, accountID, jobID, filter, query.Limit+1)
	if err != nil {
		return contract.Outputs{}, err
	}
	files, next := list.Cut(files, query.Limit, func(f artifact) list.Position { return list.Position{At: f.CreatedAt, ID: f.ID} })
	answer := contract.Outputs{JobID: jobID, Status: status, Complete: status.Terminal(),
		Outputs:    make([]contract.Output, len(files)),
		NextCursor: next}
	expiresAt := s.deps.Now().UTC().Add(outputURLLifetime).Truncate(time.Second)
	for i, f := range files {
		url, err := s.deps.Objects.PresignGet(ctx, f.StorageKey, path.Base(f.Name), outputURLLifetime)
		if err != nil {
			return contract.Outputs{}, fmt.Errorf("signing output %s of job %s: %w", f.ID, jobID, err)
		}
		answer.Outputs[i] = f.view(url, expiresAt)
	}
	return answer, nil
}

// Cancel asks a job to end. Errors: those of scheduler.Cancel.
func (s *Service) Cancel(ctx context.Context, accountID, jobID, reason string) (scheduler.Cancellation, error) {
	if err := checkForm(jobID); err != nil {
		return scheduler.Cancellation{}, err
	}
	cancellation, err := s.deps.Scheduler.Cancel(ctx, accountID, jobID, reason)
	return cancellation, asNoSuchJob(err)
}

// checkJob refuses a job that is not the caller's, after a look at its id. Errors: fault.NotFound.
func (s *Service) checkJob(ctx context.Context, accountID, jobID string) error {
	if err := checkForm(jobID); err != nil {
		return err
	}
	_, err := s.store.status(ctx, accountID, jobID)
	return err
}

// withFiles reads the state of a job for what is read from a job's files. Errors: fault.NotFound, fault.FilesDeleted.
func (s *Service) withFiles(ctx context.Context, accountID, jobID string) (job.Status, error) {
	if err := checkForm(jobID); err != nil {
		return "", err
	}
	status, err := s.store.withFiles(ctx, accountID, jobID)
	return job.Status(status), err
}

// Watch reserves an event stream of a job for a client that has every event up to lastEventID. ended is true when there will
// never be another event for it; then nothing is reserved. Errors: fault.NotFound, fault.Validation, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) Watch(ctx context.Context, accountID, jobID, lastEvent string) (w *Watcher, ended bool, err error) {
	after, err := stream.LastEventID(lastEvent)
	if err != nil {
		return nil, false, err
	}
	w = &Watcher{store: s.store, accountID: accountID, jobID: jobID, after: after}
	if err := s.checkJob(ctx, accountID, jobID); err != nil {
		return nil, false, err
	}
	if ended, err = w.Ended(ctx); err != nil || ended {
		return nil, ended, err
	}
	w.release, err = s.streams.Slots.TakeFrom(accountID, access.Address(ctx))
	return w, false, err
}

var jobID = regexp.MustCompile(`^job_[0-9a-f]{32}$`)

// checkID spares the store an id that cannot be a job's. Errors: fault.NotFound, and fault.MethodNotAllowed for the names of
// operations that stand beside /v1/jobs/{id} and take POST alone.
func checkID(id string) error {
	switch id {
	case "submit", "estimate", "upload-url":
		return fault.New(fault.MethodNotAllowed, "the operation /v1/jobs/%s takes POST", id)
	}
	return checkForm(id)
}

// checkForm is checkID below /v1/jobs/{id}, where no operation has a name beside the ids. Errors: fault.NotFound.
func checkForm(id string) error {
	if !jobID.MatchString(id) {
		return noSuchJob()
	}
	return nil
}

// asNoSuchJob gives a job that the scheduler does not find the same answer that the store gives: nothing tells another
// tenant's job, an unknown one and a malformed id apart.
func asNoSuchJob(err error) error {
	if fault.Is(err, fault.NotFound) {
		return noSuchJob()
	}
	return err
}
