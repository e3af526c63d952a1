package searches

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/scheduler"
)

// searchRow is a search as it is accepted.
type searchRow struct {
	JobID, AccountID, Program string
	Database                  engines.SequenceDatabase
	Parameters                parameters
	At                        time.Time
}

func insertSearch(ctx context.Context, tx *sqlx.Tx, row searchRow) error {
	params, err := json.Marshal(row.Parameters)
	if err != nil {
		return fmt.Errorf("encode parameters: %w", err)
	}
	d := row.Database
	_, err = tx.ExecContext(ctx, `INSERT INTO searches (job_id, account_id, program, database_name, database_version, database_type,
		database_released_on,
			database_checksum, database_sequences, database_residues, parameters, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		row.JobID, row.AccountID, row.Program, d.Name, d.Version, d.Type, d.ReleasedOn, d.Checksum, d.Sequences, d.Residues, params,
		row.At)
	if err != nil {
		return fmt.Errorf("keep search: %w", err)
	}
	return nil
}

func setQueryCount(ctx context.Context, tx *sqlx.Tx, jobID string, queries int) error {
	if _, err := tx.ExecContext(ctx, `UPDATE searches SET query_count = $2 WHERE job_id = $1`, jobID, queries); err != nil {
		return fmt.Errorf("keep the number of queries: %w", err)
	}
	return nil
}

func setVersion(ctx context.Context, tx *sqlx.Tx, jobID, version string) error {
	_, err := tx.ExecContext(ctx, `UPDATE searches SET program_version = $2 WHERE job_id = $1 AND program_version IS DISTINCT
		FROM $2`, jobID, version)
	if err != nil {
		return fmt.Errorf("keep the program's version: %w", err)
	}
	return nil
}

// recount counts a search's queries anew. It runs once a task, and reads an index.
func recount(ctx context.Context, tx *sqlx.Tx, jobID string) error {
	_, err := tx.ExecContext(ctx, `UPDATE searches SET (completed_count, failed_count, hit_count) = (
			SELECT count(*) FILTER (WHERE status = 'COMPLETED'), count(*) FILTER (WHERE status = 'FAILED'), coalesce(sum(hit_count),
			0)
			FROM search_queries WHERE job_id = $1)
		WHERE job_id = $1`, jobID)
	if err != nil {
		return fmt.Errorf("count queries: %w", err)
	}
	return nil
}

// insertPending gives queries rows that wait for their tasks.
func insertPending(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, w waiting) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO search_queries (job_id, account_id, query_index, task, status, updated_at)
		SELECT $1, $2, u.query_index, u.task, 'PENDING', $5 FROM unnest($3::int[], $4::text[]) AS u (query_index, task)
		ON CONFLICT (job_id, query_index) DO NOTHING`, move.JobID, move.AccountID, pq.Array(w.indices), pq.Array(w.tasks), move.At)
	if err != nil {
		return fmt.Errorf("keep %d queries: %w", len(w.indices), err)
	}
	return nil
}

// upsertFound completes the queries of a task. hitsKey is where the hits of all of them lie.
func upsertFound(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, hitsKey string, queries []blast.QueryFound) error {
	found, err := json.Marshal(queries)
	if err != nil {
		return fmt.Errorf("encode queries: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO search_queries (job_id, account_id, task, status, updated_at, query_index, query_id,
		title, length, hit_count,
			best_evalue, best_bit_score, best_subject_id, best_subject_title, hits_key, hits_offset, hits_bytes)
		SELECT $1, $2, $3, 'COMPLETED', $4, f.index, f.id, f.title, f.length, f.hits, f."bestEvalue", f."bestBitScore",
		f."bestSubjectId", f."bestSubjectTitle",
			CASE WHEN f.hits > 0 THEN $5 END, CASE WHEN f.hits > 0 THEN f."offset" END, CASE WHEN f.hits > 0 THEN f.bytes END
		FROM jsonb_to_recordset($6::jsonb) AS f (index int, id text, title text, length bigint, hits int, "offset" bigint,
		bytes bigint,
			"bestEvalue" float8, "bestBitScore" float8, "bestSubjectId" text, "bestSubjectTitle" text)
		ON CONFLICT (job_id, query_index) DO UPDATE SET task = excluded.task, status = 'COMPLETED', failure_step = NULL,
		error = NULL, updated_at = excluded.updated_at,
			query_id = excluded.query_id, title = excluded.title, length = excluded.length, hit_count = excluded.hit_count,
			best_evalue = excluded.best_evalue,
			best_bit_score = excluded.best_bit_score, best_subject_id = excluded.best_subject_id,
			best_subject_title = excluded.best_subject_title,
			hits_key = excluded.hits_key, hits_offset = excluded.hits_offset, hits_bytes = excluded.hits_bytes`,
		move.JobID, move.AccountID, move.Name, move.At, hitsKey, found)
	if err != nil {
		return fmt.Errorf("keep %d queries: %w", len(queries), err)
	}
	return nil
}

// upsertFailed fails the queries that a task names, where none has completed them. A reason that is known already stays, and so
// does a name: who fails first knows best, who names it later only adds.
func upsertFailed(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, indices []int64, items []engines.ItemFailure) error {
	labels, steps, messages := make([]string, len(items)), make([]string, len(items)), make([]string, len(items))
	for i, item := range items {
		labels[i], steps[i], messages[i] = item.Label, item.Step, item.Message
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO search_queries AS q (job_id, account_id, status, updated_at, query_index, query_id,
		failure_step, error)
		SELECT DISTINCT ON (f.query_index) $1, $2, 'FAILED', $3, f.query_index, nullif(f.label, ''), nullif(f.step, ''), f.message
		FROM unnest($4::int[], $5::text[], $6::text[], $7::text[]) AS f (query_index, label, step, message)
		ORDER BY f.query_index
		ON CONFLICT (job_id, query_index) DO UPDATE SET status = 'FAILED', updated_at = excluded.updated_at,
		query_id = coalesce(q.query_id, excluded.query_id),
			failure_step = coalesce(q.failure_step, excluded.failure_step), error = coalesce(q.error, excluded.error)
		WHERE q.status <> 'COMPLETED'`,
		move.JobID, move.AccountID, move.At, pq.Array(indices), pq.Array(labels), pq.Array(steps), pq.Array(messages))
	if err != nil {
		return fmt.Errorf("keep %d failed queries: %w", len(items), err)
	}
	return nil
}

// setOpenStatus moves the queries of a task that have not ended.
func setOpenStatus(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, status string) error {
	_, err := tx.ExecContext(ctx, `UPDATE search_queries SET status = $3, updated_at = $4
		WHERE job_id = $1 AND task = $2 AND status NOT IN ('COMPLETED', 'FAILED')`, move.JobID, move.Name, status, move.At)
	if err != nil {
		return fmt.Errorf("move queries of %s: %w", move.Name, err)
	}
	return nil
}

// failTask fails the queries of a task that have not ended, each with its own reason where the task's failure names it.
func failTask(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, reason string) error {
	indices, messages := []int64{}, []string{}
	if move.Failure != nil {
		var items []engines.ItemFailure
		indices, items = failedQueries(move.Failure.Items)
		for _, item := range items {
			messages = append(messages, item.Message)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE search_queries q SET status = 'FAILED', failure_step = $3, updated_at = $5,
			error = coalesce((SELECT f.message FROM unnest($6::int[], $7::text[]) AS f (query_index, message)
			WHERE f.query_index = q.query_index LIMIT 1), $4)
		WHERE job_id = $1 AND task = $2 AND status NOT IN ('COMPLETED', 'FAILED')`,
		move.JobID, move.Name, stepSearch, reason, move.At, pq.Array(indices), pq.Array(messages))
	if err != nil {
		return fmt.Errorf("fail queries of %s: %w", move.Name, err)
	}
	return nil
}

// failRest fails every query of a job that has not ended.
func failRest(ctx context.Context, tx *sqlx.Tx, jobID, why string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE search_queries SET status = 'FAILED', failure_step = $4, error = $2, updated_at = $3
		WHERE job_id = $1 AND status NOT IN ('COMPLETED', 'FAILED')`, jobID, why, at, stepSearch)
	if err != nil {
		return fmt.Errorf("end queries: %w", err)
	}
	return nil
}

// reset takes back what the named tasks have found of a job. The split's task is known by its stage. Queries that it has refused
// stay failed when only searches are repeated; what the merge alone could name is forgotten, since it will be searched and named
// again.
func reset(ctx context.Context, tx *sqlx.Tx, jobID string, names []string, at time.Time) error {
	var again bool
	err := tx.GetContext(ctx, &again, `SELECT EXISTS (SELECT 1 FROM tasks WHERE job_id = $1 AND stage_index = 0
		AND name = ANY($2))`, jobID, pq.Array(names))
	if err != nil {
		return fmt.Errorf("look for the split: %w", err)
	}
	if again {
		_, err := tx.ExecContext(ctx, `WITH forgotten AS (DELETE FROM search_queries WHERE job_id = $1) UPDATE searches
			SET query_count = NULL WHERE job_id = $1`, jobID)
		if err != nil {
			return fmt.Errorf("forget the queries: %w", err)
		}
		return nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE search_queries SET status = 'PENDING', failure_step = NULL, error = NULL, hit_count = 0,
		best_evalue = NULL, best_bit_score = NULL,
			best_subject_id = NULL, best_subject_title = NULL, hits_key = NULL, hits_offset = NULL, hits_bytes = NULL,
			updated_at = $3
		WHERE job_id = $1 AND task = ANY($2)`, jobID, pq.Array(names), at)
	if err != nil {
		return fmt.Errorf("forget hits: %w", err)
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM search_queries WHERE job_id = $1 AND task IS NULL AND failure_step = $2`, jobID,
		stepSearch)
	if err != nil {
		return fmt.Errorf("forget what nobody searched: %w", err)
	}
	return nil
}
