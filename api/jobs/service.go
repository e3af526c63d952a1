// Package jobs is the API group of jobs: submit, estimate, list, read, outputs, cancel and the event stream. It checks what
// the schema cannot state, finds the files that a submission names and shows what the scheduler has stored. It changes no
// job: the scheduler does, and is asked for it.
package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/scheduler"
)

// outputURLLifetime is how long the address of an output is good: long enough to fetch the largest file, short enough that a
// leaked one is soon worthless.
const outputURLLifetime = time.Hour

// Deps is what a Service needs; all are required.
type Deps struct {
	DB        *sqlx.DB
	Scheduler *scheduler.Scheduler
	Engines   *engines.Registry
	Objects   *object.Store
	Uploads   Uploads
	Currency  string // of the price book, ISO 4217
	Log       *slog.Logger
	Now       func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	deps    Deps
	store   store
	streams *streams
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	store := store{db: deps.DB}
	return &Service{deps: deps, store: store, streams: newStreams(store, deps.Log)}
}

// Submit stores a job that will run. With an idempotency key it may be called again and answers with the first receipt.
//
// Errors: fault.PipelineDisabled, fault.UnsupportedSimulator, fault.Validation, fault.IdempotencyKeyMismatch,
// fault.SceneNotFound, fault.ArtifactNotFound, and those of scheduler.Submit.
func (s *Service) Submit(ctx context.Context, caller access.Principal, headerKey string, request SubmitRequest) (scheduler.Receipt, error) {
	key, err := idempotencyKey(headerKey, request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	engine, err := s.engineOf(request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	request.Simulator = engine.Spec().ID
	params, err := completed(request.SimulationParams)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	kept, err := canonical(request, params)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	scene, err := s.resolve(ctx, caller.AccountID, request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	receipt, err := s.deps.Scheduler.Submit(ctx, scheduler.Submission{
		AccountID: caller.AccountID, Plan: caller.Plan, JobType: typeSimulation, Engine: engine, JobName: request.JobName,
		RecoveryMode: recoveryMode(request.Recovery), SceneFile: scene, Params: params, TaskCount: valueOr(request.TaskCount, 0),
		Request: kept, IdempotencyKey: key, RequestID: access.RequestID(ctx),
	})
	return receipt, asValidation(err)
}

// Estimate prices a job without an input file. Errors: fault.UnsupportedSimulator, fault.Validation.
func (s *Service) Estimate(request EstimateRequest) (scheduler.Estimation, error) {
	engine, err := s.engineFor(valueOr(request.JobType, typeRender), request.Simulator)
	if err != nil {
		return scheduler.Estimation{}, err
	}
	params, err := completed(request.SimulationParams)
	if err != nil {
		return scheduler.Estimation{}, err
	}
	estimation, err := s.deps.Scheduler.Estimate(engine, engines.Request{
		SceneFile: engines.Object{StorageKey: unknownScene}, Params: params, TaskCount: valueOr(request.TaskCount, 0),
	})
	return estimation, asValidation(err)
}

// unknownScene stands for the input file of an estimate, which has none: no engine's price depends on its name.
const unknownScene = "estimate"

// engineOf finds the engine of a submission and applies the rules on job types in the order of decisions.md: a disabled type
// first, then the missing scene, then what this deployment can run.
func (s *Service) engineOf(request SubmitRequest) (engines.Engine, error) {
	jobType := valueOr(request.JobType, typeRender)
	if jobType == typePipeline {
		return nil, fault.New(fault.PipelineDisabled, "jobType: pipeline is not enabled in this deployment; submit the simulation and the render as two jobs")
	}
	if request.SceneFile == "" {
		return nil, fault.New(fault.Validation, "sceneFile: is required; give the s3Key that POST /v1/jobs/upload-url returned")
	}
	return s.engineFor(jobType, request.Simulator)
}

// engineFor finds the engine that serves a job type and a simulator name.
func (s *Service) engineFor(jobType, simulator string) (engines.Engine, error) {
	available := strings.Join(s.deps.Engines.IDs(), ", ")
	if jobType != typeSimulation {
		return nil, fault.New(fault.UnsupportedSimulator, "jobType: no engine of this deployment serves %s jobs; it runs simulation jobs with: %s", jobType, available)
	}
	if simulator == "" {
		return nil, fault.New(fault.Validation, "simulator: is required for simulation jobs; one of: %s", available)
	}
	engine, ok := s.deps.Engines.Lookup(simulator)
	if !ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: this deployment has no such simulator; one of: %s", available)
	}
	return engine, nil
}

// completed fills in the defaults of simulationParams, so that a request with a default left out and one that states it are
// the same, and writes them as sorted JSON.
func completed(given *SimulationParams) (json.RawMessage, error) {
	params := valueOr(given, SimulationParams{})
	if params.LigandIdentity != nil {
		params.LigandIdentity = ref(params.LigandIdentity.Completed())
	}
	library := params.LigandLibrary
	params.LigandLibrary = make([]mol.LigandEntry, len(library))
	for i, ligand := range library {
		params.LigandLibrary[i] = ligand.Completed()
	}
	params.ReceptorPreparation = ref(params.ReceptorPreparation.Completed())
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("writing simulationParams: %w", err)
	}
	tree, err := decode(text)
	if err != nil {
		return nil, err
	}
	return encode(tree)
}

// asValidation gives an engine's refusal its place in the request.
func asValidation(err error) error {
	var refused *engines.InvalidError
	if !errors.As(err, &refused) {
		return err
	}
	place := refused.Field
	if place != "sceneFile" {
		place = "simulationParams." + place
	}
	return fault.Wrap(err, fault.Validation, "%s: %s", place, refused.Message)
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
		if list.Jobs[i], err = r.view(s.deps.Currency); err != nil {
			return JobList{}, err
		}
	}
	return list, nil
}

// Job reads one of the caller's jobs. Errors: fault.NotFound.
func (s *Service) Job(ctx context.Context, accountID, jobID string) (Job, error) {
	if err := checkID(jobID); err != nil {
		return Job{}, err
	}
	r, err := s.store.job(ctx, accountID, jobID)
	if err != nil {
		return Job{}, err
	}
	return r.view(s.deps.Currency)
}

// Outputs reads a page of a job's files with fresh addresses. Errors: fault.NotFound, fault.InvalidCursor.
func (s *Service) Outputs(ctx context.Context, accountID, jobID string, query page.Query) (Outputs, error) {
	if err := checkID(jobID); err != nil {
		return Outputs{}, err
	}
	from, err := page.Decode(query.Cursor)
	if err != nil {
		return Outputs{}, err
	}
	status, err := s.store.status(ctx, accountID, jobID) // before the files, so that complete never promises too much
	if err != nil {
		return Outputs{}, err
	}
	files, err := s.store.outputs(ctx, accountID, jobID, from, query.Limit+1)
	if err != nil {
		return Outputs{}, err
	}
	files, next := page.Cut(files, query.Limit, func(f artifact) page.Position { return page.Position{At: f.CreatedAt, ID: f.ID} })
	answer := Outputs{JobID: jobID, Status: status, Complete: job.Status(status).Terminal(), Outputs: make([]Output, len(files)), NextCursor: next}
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
	if err := checkID(jobID); err != nil {
		return scheduler.Cancellation{}, err
	}
	return s.deps.Scheduler.Cancel(ctx, accountID, jobID, reason)
}

// Watch reserves an event stream of a job for a client that has every event up to lastEventID. ended is true when there will
// never be another event for it; then nothing is reserved. Errors: fault.NotFound, fault.Validation, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) Watch(ctx context.Context, accountID, jobID, lastEvent string) (w Watcher, ended bool, err error) {
	if err := checkID(jobID); err != nil {
		return Watcher{}, false, err
	}
	after, err := lastEventID(lastEvent)
	if err != nil {
		return Watcher{}, false, err
	}
	w = Watcher{accountID: accountID, jobID: jobID, after: after}
	if _, err := s.store.status(ctx, accountID, jobID); err != nil {
		return Watcher{}, false, err
	}
	if ended, err = s.streams.ended(ctx, w); err != nil || ended {
		return Watcher{}, ended, err
	}
	w.release, err = s.streams.take(accountID)
	return w, false, err
}

var jobID = regexp.MustCompile(`^job_[0-9a-f]{32}$`)

// checkID tells an id that cannot be a job's from the names of sibling operations, which take POST alone. Errors:
// fault.NotFound, fault.MethodNotAllowed.
func checkID(id string) error {
	switch {
	case id == "submit", id == "estimate", id == "upload-url":
		return fault.New(fault.MethodNotAllowed, "the operation /v1/jobs/%s takes POST", id)
	case !jobID.MatchString(id):
		return noSuchJob()
	}
	return nil
}
