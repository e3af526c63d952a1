// Package docking is the API group of docking resources: experiments, batches, runs, results, poses, interactions and the files
// of them, for their owner to find again in a year. It shows what the scheduler has stored and changes none of it but one
// thing: whether a stored file still is what its digest says, as last looked. A docking is submitted as a job; only its
// repetition is asked for here, of the group that submits.
package docking

import (
	"context"
	"log/slog"
	"regexp"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/scheduler"
)

// Submitter submits a stored request again.
type Submitter interface {
	// Resubmit submits the request of one of the caller's jobs anew, with its seed pinned to what it was, and notes that the new
	// job reproduces a run. With an idempotency key it may be called again and answers with the first receipt. The caller's own
	// name of the run stays with the first one. Errors: fault.NotFound for a job that the caller does not have, and those of a
	// submission.
	Resubmit(ctx context.Context, caller access.Principal, jobID string, seed int64, reproducesRunID,
		idempotencyKey string) (scheduler.Receipt, error)
}

// Deps is what a Service needs; all are required.
type Deps struct {
	DB         *sqlx.DB
	Objects    *object.Store
	Engines    *engines.Registry
	Submitter  Submitter
	Provenance Provenancer
	Currency   string // of the price book, ISO 4217
	Log        *slog.Logger
	Now        func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	deps    Deps
	store   store
	exports *list.Exports
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	return &Service{deps: deps, store: store{db: deps.DB}, exports: list.NewExports(deps.Log)}
}

// Experiments reads a page of the account's experiments, newest first. Errors: fault.InvalidCursor.
func (s *Service) Experiments(
	ctx context.Context, accountID string, query ExperimentQuery,
) (contract.DockingExperimentList, error) {
	bound := list.Bind("experiments", query.Q)
	from, err := newest.read(query.Cursor, bound)
	if err != nil {
		return contract.DockingExperimentList{}, err
	}
	rows, err := s.store.experiments(ctx, accountID, query.Q, from, query.Limit+1)
	if err != nil {
		return contract.DockingExperimentList{}, err
	}
	rows, next := cut(rows, query.Limit, bound, experimentRow.place)
	answer := contract.DockingExperimentList{NextCursor: next}
	answer.Experiments, err = viewAll(rows, experimentRow.view)
	return answer, err
}

// Experiment reads one of the account's experiments. Errors: fault.NotFound.
func (s *Service) Experiment(ctx context.Context, accountID, id string) (contract.DockingExperiment, error) {
	if err := checkID("exp_", "experiment", id); err != nil {
		return contract.DockingExperiment{}, err
	}
	row, err := s.store.experiment(ctx, accountID, id)
	if err != nil {
		return contract.DockingExperiment{}, err
	}
	return row.view()
}

// Batches reads a page of the account's batches, newest first. Errors: fault.InvalidCursor.
func (s *Service) Batches(ctx context.Context, accountID string, query BatchQuery) (contract.DockingBatchList, error) {
	filter := runFilter{ExperimentID: query.ExperimentID, Statuses: query.Status}
	bound := list.Bind("batches", filter)
	from, err := newest.read(query.Cursor, bound)
	if err != nil {
		return contract.DockingBatchList{}, err
	}
	rows, err := s.store.batches(ctx, accountID, filter, from, query.Limit+1)
	if err != nil {
		return contract.DockingBatchList{}, err
	}
	rows, next := cut(rows, query.Limit, bound, batchRow.place)
	answer := contract.DockingBatchList{NextCursor: next}
	answer.Batches, err = s.showBatches(ctx, accountID, rows)
	return answer, err
}

// Batch reads one of the account's batches. Errors: fault.NotFound.
func (s *Service) Batch(ctx context.Context, accountID, id string) (contract.DockingBatch, error) {
	row, err := s.findBatch(ctx, accountID, id)
	if err != nil {
		return contract.DockingBatch{}, err
	}
	views, err := s.showBatches(ctx, accountID, []batchRow{row})
	if err != nil {
		return contract.DockingBatch{}, err
	}
	return views[0], nil
}

// findBatch finds one of the account's batches. Errors: fault.NotFound.
func (s *Service) findBatch(ctx context.Context, accountID, id string) (batchRow, error) {
	if err := checkID("batch_", "batch", id); err != nil {
		return batchRow{}, err
	}
	return s.store.batch(ctx, accountID, id)
}

// showBatches adds the running top ten to batches.
func (s *Service) showBatches(ctx context.Context, accountID string, rows []batchRow) ([]contract.DockingBatch, error) {
	runs := make([]string, len(rows))
	for i, row := range rows {
		runs[i] = row.RunID.String
	}
	top, err := s.store.topResults(ctx, accountID, runs, topResults)
	if err != nil {
		return nil, err
	}
	views := make([]contract.DockingBatch, len(rows))
	for i, row := range rows {
		views[i] = row.view(top[row.RunID.String])
	}
	return views, nil
}

// Runs reads a page of the account's runs, newest first. Errors: fault.InvalidCursor.
func (s *Service) Runs(ctx context.Context, accountID string, query RunQuery) (contract.DockingRunList, error) {
	filter := runFilter{
		ExperimentID: query.ExperimentID, BatchID: query.BatchID, JobID: query.JobID, Statuses: query.Status,
		RequestID: query.RequestID, RequestRunID: query.RequestRunID,
	}
	bound := list.Bind("runs", filter)
	from, err := newest.read(query.Cursor, bound)
	if err != nil {
		return contract.DockingRunList{}, err
	}
	rows, err := s.store.runs(ctx, accountID, filter, from, query.Limit+1)
	if err != nil {
		return contract.DockingRunList{}, err
	}
	rows, next := cut(rows, query.Limit, bound, runRow.place)
	answer := contract.DockingRunList{NextCursor: next}
	answer.Runs, err = viewAll(rows, func(r runRow) (contract.DockingRun, error) { return r.view(s.deps.Currency) })
	return answer, err
}

// Run reads one of the account's runs, by its id or by the name that the caller has given it. Of a reproduction it tells what
// came of it. Errors: fault.NotFound.
func (s *Service) Run(ctx context.Context, accountID, id string) (contract.DockingRun, error) {
	row, err := s.findRun(ctx, accountID, id)
	if err != nil {
		return contract.DockingRun{}, err
	}
	view, err := row.view(s.deps.Currency)
	if err != nil || !row.ReproducesRunID.Valid {
		return view, err
	}
	view.Reproduction, err = s.reproduction(ctx, accountID, row)
	return view, err
}

// maxRunNameChars bounds the caller's own name of a run (dockingRequest.runId).
const maxRunNameChars = 255

// findRun finds a run by its id, else the newest that the caller has given the name. Errors: fault.NotFound.
func (s *Service) findRun(ctx context.Context, accountID, id string) (runRow, error) {
	if hasForm("run_", id) {
		row, err := s.store.run(ctx, accountID, id)
		if !fault.Is(err, fault.NotFound) {
			return row, err
		}
	}
	if id == "" || len([]rune(id)) > maxRunNameChars {
		return runRow{}, noSuch("run")
	}
	return s.store.runNamed(ctx, accountID, id)
}

var idDigits = regexp.MustCompile(`^[0-9a-f]{32}$`)

// hasForm tells whether an id can be one of those with the prefix.
func hasForm(prefix, id string) bool {
	return len(id) > len(prefix) && id[:len(prefix)] == prefix && idDigits.MatchString(id[len(prefix):])
}

// checkID spares the store an id that cannot be one. Errors: fault.NotFound, as for an unknown one.
func checkID(prefix, kind, id string) error {
	if !hasForm(prefix, id) {
		return noSuch(kind)
	}
	return nil
}

// noSuch is the answer for what another account has, for what is unknown and for what cannot be an id.
func noSuch(kind string) error {
	return fault.New(fault.NotFound, "%sId: there is no such %s", kind, kind)
}

func viewAll[R, V any](rows []R, view func(R) (V, error)) ([]V, error) {
	views := make([]V, len(rows))
	for i, row := range rows {
		var err error
		if views[i], err = view(row); err != nil {
			return nil, err
		}
	}
	return views, nil
}
