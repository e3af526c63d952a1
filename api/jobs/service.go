// Package jobs is the API group of jobs: submit, estimate, list, read, tasks, logs, outputs, provenance, cancel, retry and the
// event stream. It checks what the schema cannot state, finds the files that a submission names and shows what the scheduler
// has stored. It changes no job: the scheduler does, and is asked for it.
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
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/scheduler"
)

// outputURLLifetime is how long the address of an output is good: long enough to fetch the largest file, short enough that a
// leaked one is soon worthless.
const outputURLLifetime = time.Hour

// Deps is what a Service needs; all are required but Knowledge, Databases and Version.
type Deps struct {
	DB        *sqlx.DB
	Scheduler *scheduler.Scheduler
	Engines   *engines.Registry
	Objects   *object.Store
	Uploads   Uploads
	// Knowledge finds what names of public data stand for; without it, they are refused.
	Knowledge Knowledge
	// Databases finds the databases of sequence searches; without it, every search is refused.
	Databases Databases
	Currency  string // of the price book, ISO 4217
	// Pipeline says whether pipeline jobs are accepted.
	Pipeline bool
	// Version is this program's, for the provenance of results.
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	deps    Deps
	store   store
	streams *streams
	surveys *surveys
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	store := store{db: deps.DB}
	if deps.Knowledge == nil {
		deps.Knowledge = ignorance{}
	}
	if deps.Databases == nil {
		deps.Databases = ignorance{}
	}
	return &Service{deps: deps, store: store, streams: newStreams(store, deps.Log), surveys: newSurveys()}
}

// List reads a page of the caller's jobs, newest first. Errors: fault.InvalidCursor, fault.Validation.
func (s *Service) List(ctx context.Context, accountID string, query ListQuery) (JobList, error) {
	from, err := page.Decode(query.Cursor)
	if err != nil {
		return JobList{}, err
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
		return JobList{}, err
	}
	records, next := page.Cut(records, query.Limit, func(r record) page.Position { return page.Position{At: r.CreatedAt, ID: r.ID} })
	list := JobList{Jobs: make([]Job, len(records)), NextCursor: next}
	for i, r := range records {
		if list.Jobs[i], err = s.show(ctx, r); err != nil {
			return JobList{}, err
		}
	}
	return list, nil
}

// Job reads one of the caller's jobs. Errors: fault.NotFound.
func (s *Service) Job(ctx context.Context, accountID, jobID string) (Job, error) {
	if err := checkForm(jobID); err != nil {
		return Job{}, err
	}
	r, err := s.store.job(ctx, accountID, jobID)
	if err != nil {
		return Job{}, err
	}
	return s.show(ctx, r)
}

// Outputs reads a page of a job's files with fresh addresses. Errors: fault.NotFound, fault.InvalidCursor.
func (s *Service) Outputs(ctx context.Context, accountID, jobID string, query OutputQuery) (Outputs, error) {
	from, err := page.Decode(query.Cursor)
	if err != nil {
		return Outputs{}, err
	}
	status, err := s.status(ctx, accountID, jobID) // before the files, so that complete never promises too much
	if err != nil {
		return Outputs{}, err
	}
	filter := outputFilter{Roles: query.Role, TaskIndex: -1, From: from}
	if query.TaskIndex.IsSet {
		filter.TaskIndex = query.TaskIndex.Value
	}
	files, err := s.store.outputs(ctx, accountID, jobID, filter, query.Limit+1)
	if err != nil {
		return Outputs{}, err
	}
	files, next := page.Cut(files, query.Limit, func(f artifact) page.Position { return page.Position{At: f.CreatedAt, ID: f.ID} })
	answer := Outputs{JobID: jobID, Status: string(status), Complete: status.Terminal(), Outputs: make([]Output, len(files)), NextCursor: next}
	expiresAt := s.deps.Now().UTC().Add(outputURLLifetime).Truncate(time.Second)
	for i, f := range files {
		url, err := s.deps.Objects.PresignGet(ctx, f.StorageKey, path.Base(f.Name), outputURLLifetime)
		if err != nil {
			return Outputs{}, fmt.Errorf("signing output %s of job %s: %w", f.ID, jobID, err)
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

// status reads a job's state, after a look at its id. Errors: fault.NotFound.
func (s *Service) status(ctx context.Context, accountID, jobID string) (job.Status, error) {
	if err := checkForm(jobID); err != nil {
		return "", err
	}
	status, err := s.store.status(ctx, accountID, jobID)
	return job.Status(status), err
}

// Watch reserves an event stream of a job for a client that has every event up to lastEventID. ended is true when there will
// never be another event for it; then nothing is reserved. Errors: fault.NotFound, fault.Validation, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) Watch(ctx context.Context, accountID, jobID, lastEvent string) (w Watcher, ended bool, err error) {
	after, err := lastEventID(lastEvent)
	if err != nil {
		return Watcher{}, false, err
	}
	w = Watcher{accountID: accountID, jobID: jobID, after: after}
	if _, err := s.status(ctx, accountID, jobID); err != nil {
		return Watcher{}, false, err
	}
	if ended, err = s.streams.ended(ctx, w); err != nil || ended {
		return Watcher{}, ended, err
	}
	w.release, err = s.streams.slots.TakeFrom(accountID, access.Address(ctx))
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
