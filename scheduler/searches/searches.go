// Package searches keeps what sequence searches find as a science resource: a search a job, and a row for each of its queries that
// says where its hits lie. It writes in the scheduler's transactions and reads no file: what the engine's shards have found comes
// with their summaries, the hits themselves stay in the object store. Showing them is the API's.
//
// A query has its row as soon as the split has counted the queries and cut them into parts: failed with its reason when it cannot
// be searched, else waiting for the task of its part. Id, title and hits come with that task. A query whose task failed, or never
// ran, fails with that task's reason, and gets its id from the merge, which names what is missing.
package searches

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// The engines whose jobs are recorded.
const (
	EngineProtein    = blast.IDProtein
	EngineNucleotide = blast.IDNucleotide
)

// Statuses of a query.
const (
	statusPending   = "PENDING"
	statusSearching = "SEARCHING"
)

// stepSearch is where a query fails whose whole task failed, or never ran.
const stepSearch = "search"

// Recorder implements scheduler.Recorder. Its zero value is ready; it has no state.
type Recorder struct{}

var _ scheduler.Recorder = Recorder{}

// Submitted keeps the search; of its queries nothing is known before the split has read them.
func (Recorder) Submitted(ctx context.Context, tx *sqlx.Tx, accepted scheduler.Accepted) error {
	database := accepted.Found.Database
	if database == nil {
		return fmt.Errorf("record search %s: it names no database of the deployment", accepted.JobID)
	}
	parameters, err := parametersOf(accepted)
	if err != nil {
		return fmt.Errorf("record search %s: %w", accepted.JobID, err)
	}
	return insertSearch(ctx, tx, searchRow{
		JobID: accepted.JobID, AccountID: accepted.AccountID, Program: accepted.Engine.Spec().ID, Database: *database,
		Parameters: parameters, At: accepted.At,
	})
}

// parameters are how a search is made. TimeoutSeconds is nil where the engine chooses by the size of the work.
type parameters struct {
	Evalue         float64 `json:"evalue"`
	MaxHits        int     `json:"maxHits"`
	Threads        int     `json:"threads"`
	TimeoutSeconds *int    `json:"timeoutSeconds"`
	MaxOutputBytes int64   `json:"maxOutputBytes"`
	Tasks          int     `json:"tasks"` // that search, one part of the queries each
}

// parametersOf completes what was submitted with the engine's own choices.
func parametersOf(accepted scheduler.Accepted) (parameters, error) {
	chosen := parameters{Evalue: blast.DefaultEvalue, MaxHits: blast.DefaultMaxHits, Threads: blast.DefaultThreads,
		MaxOutputBytes: blast.DefaultMaxOutputBytes}
	for _, shard := range accepted.Shards {
		if blast.KindOf(shard.Stage) == blast.KindSearch {
			chosen.Tasks++
		}
	}
	var asked blast.Params
	if len(accepted.Params) > 0 {
		if err := json.Unmarshal(accepted.Params, &asked); err != nil {
			return chosen, fmt.Errorf("read its parameters: %w", err)
		}
	}
	choose(&chosen.Evalue, asked.Evalue)
	choose(&chosen.MaxHits, asked.MaxHits)
	choose(&chosen.Threads, asked.Threads)
	choose(&chosen.MaxOutputBytes, asked.MaxOutputBytes)
	chosen.TimeoutSeconds = asked.TimeoutSeconds
	return chosen, nil
}

func choose[T any](value *T, asked *T) {
	if asked != nil {
		*value = *asked
	}
}

// Moved keeps what a task has found, or where its queries stand now.
func (Recorder) Moved(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	kind := blast.KindOf(move.Stage)
	var err error
	switch {
	case move.To == job.TaskSucceeded:
		err = succeeded(ctx, tx, kind, move)
	case kind != blast.KindSearch:
		return nil // of the split's failure there is no query to tell, the merge's takes nothing back
	case move.To == job.TaskRunning:
		err = setOpenStatus(ctx, tx, move, statusSearching)
	case move.To == job.TaskPending:
		err = setOpenStatus(ctx, tx, move, statusPending)
	case move.To == job.TaskFailed:
		if err = failTask(ctx, tx, move, reasonOf(move)); err == nil {
			err = recount(ctx, tx, move.JobID)
		}
	default: // what is cancelled ends with its job
		return nil
	}
	if err != nil {
		return fmt.Errorf("record %s of %s: %w", move.Name, move.JobID, err)
	}
	return nil
}

func succeeded(ctx context.Context, tx *sqlx.Tx, kind blast.Kind, move scheduler.TaskMove) error {
	var err error
	switch kind {
	case blast.KindSplit:
		err = recordSplit(ctx, tx, move)
	case blast.KindSearch:
		err = recordSearch(ctx, tx, move)
	case blast.KindMerge:
		err = keepFailures(ctx, tx, move)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return recount(ctx, tx, move.JobID)
}

// Restarted takes back what the tasks have found. A repeated split makes all queries anew; what it said of a query stays when only
// its search is repeated.
func (Recorder) Restarted(ctx context.Context, tx *sqlx.Tx, jobID string, names []string, at time.Time) error {
	if err := reset(ctx, tx, jobID, names, at); err != nil {
		return err
	}
	return recount(ctx, tx, jobID)
}

// Ended gives every query that is still open its end.
func (Recorder) Ended(ctx context.Context, tx *sqlx.Tx, jobID string, status job.Status, reason string, at time.Time) error {
	why := "not searched: the job ended before"
	switch {
	case status == job.Cancelled:
		why = "not searched: the job was cancelled"
	case status == job.Failed && reason != "":
		why = "not searched: " + reason
	}
	if err := failRest(ctx, tx, jobID, why, at); err != nil {
		return err
	}
	return recount(ctx, tx, jobID)
}

func reasonOf(move scheduler.TaskMove) string {
	if move.Failure == nil {
		return "the task failed"
	}
	return move.Failure.Message
}
