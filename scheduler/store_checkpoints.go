package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/queue"
)

func (tx postgresTx) SaveCheckpoints(ctx context.Context, task TaskRow, files map[string]queue.StoredArtifact, seq int64,
	at time.Time,
) (int, error) {
	if len(files) == 0 {
		return 0, nil
	}
	var names, keys, digests []string
	var sizes []int64
	for _, name := range sortedKeys(files) {
		file := files[name]
		names, keys, digests, sizes = append(names, name), append(keys, file.StorageKey), append(digests, file.SHA256),
			append(sizes, file.ByteSize)
	}
	// The job's lock, which the caller holds, keeps the count true.
	var replaced []sql.NullString
	err := tx.SelectContext(ctx, &replaced, `WITH said AS (
			SELECT f.*, k.name IS NULL AS new, k.storage_key AS before, row_number() OVER (PARTITION BY k.name IS NULL
			ORDER BY f.name) AS nth
			FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS f (name, storage_key, sha256, byte_size)
			LEFT JOIN task_checkpoints k ON k.task_id = $1 AND k.name = f.name
		), saved AS (
		INSERT INTO task_checkpoints AS kept (task_id, name, storage_key, sha256, byte_size, attempt, at, seq)
		SELECT $1, name, storage_key, sha256, byte_size, $6, $7, $9 FROM said
		WHERE NOT new OR nth <= $8 - (SELECT count(*) FROM task_checkpoints WHERE task_id = $1)
		ON CONFLICT (task_id, name) DO UPDATE SET storage_key = excluded.storage_key, sha256 = excluded.sha256,
			byte_size = excluded.byte_size, attempt = excluded.attempt, at = excluded.at, seq = excluded.seq
		WHERE (kept.attempt, kept.seq) <= (excluded.attempt, excluded.seq)
		RETURNING name, storage_key)
		SELECT CASE WHEN said.before <> saved.storage_key THEN said.before END FROM saved JOIN said USING (name)`,
		task.ID, pq.Array(names), pq.Array(keys), pq.Array(digests), pq.Array(sizes), task.Attempt, at, queue.MaxCheckpoints, seq)
	if err != nil {
		return 0, fmt.Errorf("keep %d checkpoints of %s: %w", len(names), task.ID, err)
	}
	for _, key := range replaced {
		if key.Valid {
			tx.late.dropped = append(tx.late.dropped, key.String)
		}
	}
	return len(replaced), nil
}

func (tx postgresTx) Checkpoints(ctx context.Context, taskIDs []string) ([]CheckpointRow, error) {
	if len(taskIDs) == 0 {
		return nil, nil
	}
	var rows []CheckpointRow
	err := tx.SelectContext(ctx, &rows, `SELECT task_id, name, storage_key, sha256, byte_size FROM task_checkpoints
		WHERE task_id = ANY($1) ORDER BY task_id, name`, pq.Array(taskIDs))
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints of %d tasks: %w", len(taskIDs), err)
	}
	return rows, nil
}

func (tx postgresTx) ForgetCheckpoints(_ context.Context, taskIDs ...string) error {
	tx.late.forgotten = append(tx.late.forgotten, taskIDs...)
	return nil
}

func (tx postgresTx) Dropped() []string { return tx.late.dropped }
