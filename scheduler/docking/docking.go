// Package docking keeps what docking jobs find as a science resource: experiments, batches, runs, results and poses that their
// owner finds again in a year. It writes in the scheduler's transactions and reads no file: what the engine's shards have found
// comes with their summaries. Showing it is the API's.
package docking

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// EngineID is the engine whose jobs are recorded.
const EngineID = vina.ID

// Statuses of a result (doc/contract.md §2.10).
const (
	statusPending   = "PENDING"
	statusPreparing = "PREPARING"
	statusDocking   = "DOCKING"
	statusCompleted = "COMPLETED"
	statusFailed    = "FAILED"
)

// Stages at which a ligand fails whose whole task failed.
const (
	stageParse = "parse"
	stageDock  = "dock"
)

// Recorder implements scheduler.Recorder. Its zero value is ready; it has no state.
type Recorder struct{}

var _ scheduler.Recorder = Recorder{}

// Submitted keeps the run with its experiment, its batch when it docks a library, and a pending result a ligand.
func (Recorder) Submitted(ctx context.Context, tx *sqlx.Tx, accepted scheduler.Accepted) error {
	planned, err := vina.ReadPlan(accepted.Shards)
	if err != nil {
		return err
	}
	experimentID, err := upsertExperiment(ctx, tx, experimentOf(accepted, planned))
	if err != nil {
		return err
	}
	run := runRow{
		ID: id.New("run_"), AccountID: accepted.AccountID, ExperimentID: experimentID, JobID: accepted.JobID,
		RequestID: accepted.DockingRequestID, RequestRunID: accepted.DockingRunID, ReproducesRunID: accepted.ReproducesRunID,
		Planned: planned, At: accepted.At,
	}
	if planned.Library {
		run.BatchID = id.New("batch_")
		if err := insertBatch(ctx, tx, run); err != nil {
			return err
		}
	}
	if err := insertRun(ctx, tx, run); err != nil {
		return err
	}
	return insertResults(ctx, tx, run)
}

// experimentOf is the campaign that a docking belongs to: all of an account's dockings into one receptor.
func experimentOf(accepted scheduler.Accepted, planned vina.PlannedRun) experimentRow {
	row := experimentRow{ID: id.New("exp_"), AccountID: accepted.AccountID, At: accepted.At, Receptor: receptorSource{
		PDBID: textOrNil(planned.PDBID), StorageKey: planned.Receptor.StorageKey, SHA256: textOrNil(planned.Receptor.SHA256),
		Format: textOrNil(planned.ReceptorFormat),
	}}
	switch {
	case planned.PDBID != "":
		row.ReceptorKey, row.Name = "pdb:"+planned.PDBID, planned.PDBID
	case planned.Receptor.SHA256 != "":
		row.ReceptorKey, row.Name = "sha256:"+planned.Receptor.SHA256, path.Base(planned.Receptor.StorageKey)
	default:
		row.ReceptorKey, row.Name = "file:"+planned.Receptor.StorageKey, path.Base(planned.Receptor.StorageKey)
	}
	return row
}

// Moved keeps what a task has found, or where its ligands stand now.
func (Recorder) Moved(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	kind := vina.KindOf(move.Stage, move.Name)
	if move.To == job.TaskSucceeded {
		return succeeded(ctx, tx, kind, move)
	}
	var column, status, stage string
	switch kind {
	case vina.KindLigands:
		column, status, stage = "prepare_task", statusPreparing, stageParse
	case vina.KindDock:
		column, status, stage = "dock_task", statusDocking, stageDock
	default:
		return nil
	}
	switch move.To {
	case job.TaskRunning:
		return setOpenStatus(ctx, tx, move, column, status)
	case job.TaskPending:
		return setOpenStatus(ctx, tx, move, column, statusPending)
	case job.TaskFailed:
		return failOpen(ctx, tx, move, column, stage)
	}
	return nil // what is cancelled ends with its job
}

func succeeded(ctx context.Context, tx *sqlx.Tx, kind vina.Kind, move scheduler.TaskMove) error {
	if err := mergePrograms(ctx, tx, move); err != nil {
		return err
	}
	var err error
	switch kind {
	case vina.KindReceptor:
		err = receptorPrepared(ctx, tx, move)
	case vina.KindRedock:
		err = setValidation(ctx, tx, move)
	case vina.KindLigands:
		err = eachLigand(ctx, tx, move, ligandPrepared)
	case vina.KindDock:
		err = eachLigand(ctx, tx, move, ligandDocked)
	case vina.KindAnalyse:
		err = eachLigand(ctx, tx, move, ligandAnalysed)
	case vina.KindRank:
		err = setComplexes(ctx, tx, move)
	}
	if err != nil {
		return fmt.Errorf("record %s of %s: %w", move.Name, move.JobID, err)
	}
	return nil
}

// Restarted takes back what the tasks have found, so that no result of two runs of one task is ever shown.
func (Recorder) Restarted(ctx context.Context, tx *sqlx.Tx, jobID string, names []string, at time.Time) error {
	if err := resetRun(ctx, tx, jobID, names); err != nil {
		return err
	}
	return resetResults(ctx, tx, jobID, names, at)
}

// Ended gives every ligand that is still open its end.
func (Recorder) Ended(ctx context.Context, tx *sqlx.Tx, jobID string, status job.Status, reason string, at time.Time) error {
	why := "not docked: the job ended before"
	switch {
	case status == job.Cancelled:
		why = "not docked: the job was cancelled"
	case status == job.Failed && reason != "":
		why = "not docked: " + reason
	}
	return failRest(ctx, tx, jobID, why, at)
}

// storageKey finds the key of an output by its name; "" when the task has none of that name.
func storageKey(move scheduler.TaskMove, name string) (key, sha256 string) {
	if name == "" || move.Result == nil {
		return "", ""
	}
	for _, artifact := range move.Result.Artifacts {
		if artifact.Name == name {
			return artifact.StorageKey, artifact.SHA256
		}
	}
	return "", ""
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// receptorSource is a receptor as it was named, in an experiment.
type receptorSource struct {
	PDBID      *string `json:"pdbId"`
	StorageKey string  `json:"storageKey"`
	SHA256     *string `json:"sha256"`
	Format     *string `json:"format"`
}
