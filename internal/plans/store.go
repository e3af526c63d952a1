package plans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// Querier is a database or a transaction.
type Querier interface {
	sqlx.QueryerContext
	SelectContext(ctx context.Context, into any, query string, args ...any) error
}

// ErrEnough ends Each.
var ErrEnough = errors.New("the rest of the plan is not wanted")

// insertBlocks is how many blocks one statement of Insert carries.
const insertBlocks = 32

// Insert keeps the plan of a job that the transaction has written.
func (w *Writing) Insert(ctx context.Context, tx *sqlx.Tx, jobID string) error {
	for more := true; more; {
		var firsts []int64
		var blocks [][]byte
		for more && len(blocks) < insertBlocks {
			var b block
			if b, more = <-w.blocks; more {
				firsts, blocks = append(firsts, int64(b.first)), append(blocks, b.shards)
			}
		}
		if len(blocks) == 0 {
			break
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO plan_blocks (job_id, first_ordinal, shards) SELECT $1, *
			FROM unnest($2::int[], $3::bytea[])`,
			jobID, pq.Array(firsts), pq.Array(blocks))
		if err != nil {
			return fmt.Errorf("insert %d blocks of the plan: %w", len(blocks), err)
		}
	}
	return w.err
}

// blockRow is a row of plan_blocks.
type blockRow struct {
	JobID  string `db:"job_id"`
	First  int    `db:"first_ordinal"`
	Shards []byte `db:"shards"`
}

// At reads the shards at some places as they were written, in the order of the places; nil where there is none, or none that can be
// read any more: one broken plan must not keep the tasks of others from theirs.
func At(ctx context.Context, q Querier, places []Place) ([]json.RawMessage, error) {
	jobIDs, ordinals := make([]string, len(places)), make([]int64, len(places))
	for i, p := range places {
		jobIDs[i], ordinals[i] = p.JobID, int64(p.Ordinal)
	}
	var rows []blockRow
	err := q.SelectContext(ctx, &rows, `SELECT DISTINCT ON (b.job_id, b.first_ordinal) b.job_id, b.first_ordinal, b.shards
		FROM unnest($1::text[], $2::int[]) AS p (job_id, ordinal) CROSS JOIN LATERAL (
			SELECT * FROM plan_blocks WHERE job_id = p.job_id AND first_ordinal <= p.ordinal ORDER BY first_ordinal DESC LIMIT 1
		) b`, pq.Array(jobIDs), pq.Array(ordinals))
	if err != nil {
		return nil, fmt.Errorf("read the shards of %d tasks: %w", len(places), err)
	}
	found := map[Place]json.RawMessage{}
	for _, row := range rows {
		shards, _ := expand(row.JobID, row.Shards) // none when it is broken
		for i, shard := range shards {
			found[Place{row.JobID, row.First + i}] = shard
		}
	}
	shards := make([]json.RawMessage, len(places))
	missing := false
	for i, p := range places {
		shards[i] = found[p]
		missing = missing || shards[i] == nil
	}
	if !missing {
		return shards, nil
	}
	return shards, addEarlier(ctx, q, places, shards)
}

// addEarlier fills in the shards of jobs from before there were blocks, which lie with their tasks.
func addEarlier(ctx context.Context, q Querier, places []Place, shards []json.RawMessage) error {
	jobIDs, ordinals, at := []string{}, []int64{}, map[Place]int{}
	for i, p := range places {
		if shards[i] == nil {
			jobIDs, ordinals, at[p] = append(jobIDs, p.JobID), append(ordinals, int64(p.Ordinal)), i
		}
	}
	var rows []struct {
		JobID   string          `db:"job_id"`
		Ordinal int             `db:"ordinal"`
		Shard   json.RawMessage `db:"shard"`
	}
	err := q.SelectContext(ctx, &rows, `SELECT t.job_id, t.ordinal, d.shard FROM unnest($1::text[], $2::int[]) AS p (job_id,
		ordinal)
		JOIN tasks t USING (job_id, ordinal) JOIN task_details d ON d.task_id = t.id WHERE d.shard IS NOT NULL`, pq.Array(jobIDs), pq.Array(ordinals))
	if err != nil {
		return fmt.Errorf("read the shards of %d earlier tasks: %w", len(jobIDs), err)
	}
	for _, row := range rows {
		shards[at[Place{row.JobID, row.Ordinal}]] = row.Shard
	}
	return nil
}

// eachBlock calls do with each block of a job's plan; each shard of a job from before there were blocks is one.
func eachBlock(ctx context.Context, q Querier, jobID string, do func(first int, shards []json.RawMessage) error) error {
	some, err := eachRow(ctx, q, `SELECT first_ordinal, shards FROM plan_blocks WHERE job_id = $1 ORDER BY first_ordinal`, jobID,
		func(first int, compressed []byte) error {
			shards, err := expand(jobID, compressed)
			if err != nil {
				return err
			}
			return do(first, shards)
		})
	if err != nil || some {
		return err
	}
	_, err = eachRow(ctx, q, `SELECT t.ordinal, d.shard FROM tasks t JOIN task_details d ON d.task_id = t.id
		WHERE t.job_id = $1 AND d.shard IS NOT NULL ORDER BY t.ordinal`, jobID, func(ordinal int, shard []byte) error {
		return do(ordinal, []json.RawMessage{shard})
	})
	return err
}

// eachRow calls do with each row of a place and bytes, and tells whether there was one.
func eachRow(
	ctx context.Context, q Querier, query, jobID string, do func(ordinal int, content []byte) error,
) (some bool, err error) {
	rows, err := q.QueryxContext(ctx, query, jobID) //nolint:sqlclosecheck // the linter does not know sqlx's rows; they are closed below
	if err != nil {
		return false, fmt.Errorf("read the plan of %s: %w", jobID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var ordinal int
		var content []byte
		if err := rows.Scan(&ordinal, &content); err != nil {
			return some, fmt.Errorf("read the plan of %s: %w", jobID, err)
		}
		some = true
		err := do(ordinal, content)
		if errors.Is(err, ErrEnough) {
			return some, nil
		}
		if err != nil {
			return some, err
		}
	}
	if err := rows.Err(); err != nil {
		return some, fmt.Errorf("read the plan of %s: %w", jobID, err)
	}
	return some, nil
}
