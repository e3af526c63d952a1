package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
)

// QueuesWaiting asks each of the partial indexes for one entry.
func (db postgresStore) QueuesWaiting(ctx context.Context, queueNames []string) ([]string, error) {
	var waiting []string
	err := db.SelectContext(ctx, &waiting, `SELECT q.name FROM unnest($1::text[]) WITH ORDINALITY AS q (name, place)
		WHERE EXISTS (SELECT FROM tasks t WHERE t.queue = q.name AND status = 'PENDING' AND ready AND license_key IS NULL)
			OR EXISTS (SELECT FROM tasks t WHERE t.queue = q.name AND status = 'PENDING' AND ready AND license_key IS NOT NULL)
		ORDER BY q.place`, pq.Array(queueNames))
	if err != nil {
		return nil, fmt.Errorf("look which queues something waits for: %w", err)
	}
	return waiting, nil
}

func (db postgresStore) CountInFlight(ctx context.Context, queueName string) (int, error) {
	var n int
	err := db.GetContext(ctx, &n, `SELECT count(*) FROM tasks WHERE queue = $1 AND status IN ('QUEUED', 'RUNNING')`, queueName)
	if err != nil {
		return 0, fmt.Errorf("count tasks in flight: %w", err)
	}
	return n, nil
}

// nextReadyQuery takes a queue, a moment, a limit, the jobs that are left out, SmallBacklog and SmallTurns. Tasks that need a seat
// of a licence wait apart from all others, and of each licence no more of them are looked at than there are free seats: those that
// wait for one cost nothing and stand in nobody's way.
const nextReadyQuery = `
WITH RECURSIVE waiting AS (
	(SELECT account_id FROM tasks WHERE queue = $1 AND status = 'PENDING' AND ready AND license_key IS NULL ORDER BY account_id
	LIMIT 1)
	UNION ALL
	SELECT (SELECT t.account_id FROM tasks t WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready AND t.license_key IS NULL
		AND t.account_id > w.account_id ORDER BY t.account_id LIMIT 1)
	FROM waiting w WHERE w.account_id IS NOT NULL
), licensed AS (
	(SELECT account_id, license_key FROM tasks WHERE queue = $1 AND status = 'PENDING' AND ready AND license_key IS NOT NULL
		ORDER BY account_id, license_key LIMIT 1)
	UNION ALL
	SELECT n.account_id, n.license_key FROM licensed l CROSS JOIN LATERAL (
		SELECT t.account_id, t.license_key FROM tasks t
		WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready AND t.license_key IS NOT NULL
			AND (t.account_id, t.license_key) > (l.account_id, l.license_key)
		ORDER BY t.account_id, t.license_key LIMIT 1
	) n
), small AS (
	SELECT w.account_id FROM waiting w CROSS JOIN LATERAL (
		SELECT count(*) AS n FROM (SELECT FROM tasks t WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready
		AND t.license_key IS NULL
			AND t.account_id = w.account_id LIMIT $5 + 1) few
	) c
	WHERE w.account_id IS NOT NULL AND c.n <= $5
), in_flight AS (
	SELECT account_id, count(*) AS n FROM tasks WHERE queue = $1 AND status IN ('QUEUED', 'RUNNING') GROUP BY account_id
), startable AS (
	SELECT c.* FROM waiting w CROSS JOIN LATERAL (
		SELECT t.id, t.job_id, t.account_id, t.license_key, t.priority, t.given_back FROM tasks t
		WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready AND t.license_key IS NULL AND t.account_id = w.account_id
			AND (t.not_before IS NULL OR t.not_before <= $2) AND t.job_id <> ALL($4)
		ORDER BY t.priority DESC, t.id LIMIT $3
	) c
	WHERE w.account_id IS NOT NULL
	UNION ALL
	SELECT c.* FROM licensed l CROSS JOIN LATERAL license_use(l.account_id, l.license_key) u CROSS JOIN LATERAL (
		SELECT t.id, t.job_id, t.account_id, t.license_key, t.priority, t.given_back FROM tasks t
		WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready AND t.license_key = l.license_key AND t.account_id = l.account_id
			AND (t.not_before IS NULL OR t.not_before <= $2) AND t.job_id <> ALL($4)
		ORDER BY t.priority DESC, t.id LIMIT least($3, u.free)
	) c
), offered AS (
	SELECT s.*, (coalesce(f.n, 0) + row_number() OVER (PARTITION BY s.account_id ORDER BY s.priority DESC, s.id))
		* CASE WHEN EXISTS (SELECT FROM small WHERE small.account_id = s.account_id) THEN 1 ELSE $6 END AS turn
	FROM startable s LEFT JOIN in_flight f ON f.account_id = s.account_id
)
SELECT id, job_id, account_id, license_key, given_back FROM offered ORDER BY priority DESC, turn, id LIMIT $3`

// NextReady reads at most limit tasks of each account that waits, whatever the backlog.
func (db postgresStore) NextReady(
	ctx context.Context, queueName string, limit int, now time.Time, except []string,
) (Candidates, error) {
	var out Candidates
	err := db.SelectContext(ctx, &out, nextReadyQuery, queueName, now, limit, pq.Array(append([]string{}, except...)), SmallBacklog,
		SmallTurns)
	if err != nil {
		return nil, fmt.Errorf("pick tasks for %s: %w", queueName, err)
	}
	return out, nil
}

func (tx postgresTx) QueueTasks(ctx context.Context, ids []string, witnesses [][]byte, at time.Time) ([]TaskRow, error) {
	var rows []TaskRow
	err := tx.SelectContext(ctx, &rows, `
		UPDATE tasks t SET status = 'QUEUED', attempt = attempt + 1, queued_at = $2, worker_id = NULL, started_at = NULL,
		progress = 0, not_before = NULL,
			claim_witness = c.witness, claim_attempt = attempt + 1
		FROM unnest($1::text[], $3::bytea[]) AS c (id, witness)
		WHERE t.id = c.id AND t.status = 'PENDING' AND t.ready
		RETURNING t.id, t.job_id, t.account_id, t.ordinal, t.stage, t.name, t.queue, t.status, t.attempt, t.retries,
		t.interruptions, t.given_back, t.worker_id,
			t.queued_at, t.identity, t.claim_witness`,
		pq.Array(ids), at, pq.Array(witnesses))
	if err != nil {
		return nil, fmt.Errorf("queue %d tasks: %w", len(ids), err)
	}
	slices.SortFunc(rows, func(a, b TaskRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, tx.ReadShards(ctx, rows)
}

func (tx postgresTx) ReadShards(ctx context.Context, tasks []TaskRow) error {
	places := make([]plans.Place, len(tasks))
	for i, task := range tasks {
		places[i] = plans.Place{JobID: task.JobID, Ordinal: task.Ordinal}
	}
	shards, err := plans.At(ctx, tx.Tx, places)
	if err != nil {
		return err
	}
	for i := range tasks {
		tasks[i].Shard = shards[i]
	}
	return nil
}

func (tx postgresTx) StageOutputs(ctx context.Context, jobID, stage, output string) (map[string]StageOutput, error) {
	var rows []struct {
		Name       string         `db:"name"`
		StorageKey sql.NullString `db:"storage_key"`
		SHA256     sql.NullString `db:"sha256"`
		ByteSize   sql.NullInt64  `db:"byte_size"`
		Class      sql.NullString `db:"failure_class"`
		Code       sql.NullString `db:"error_code"`
		Message    sql.NullString `db:"error_message"`
	}
	err := tx.SelectContext(ctx, &rows, `SELECT t.name, a.storage_key, a.sha256, a.byte_size, d.failure_class, d.error_code,
		d.error_message
		FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id
		LEFT JOIN artifacts a ON a.task_id = t.id AND a.name = $3 AND t.status = 'SUCCEEDED'
		WHERE t.job_id = $1 AND t.stage = $2`, jobID, stage, output)
	if err != nil {
		return nil, fmt.Errorf("read outputs of stage %s: %w", stage, err)
	}
	out := make(map[string]StageOutput, len(rows))
	for _, r := range rows {
		var o StageOutput
		if r.StorageKey.Valid {
			o.Object = &engines.Object{StorageKey: r.StorageKey.String, SHA256: r.SHA256.String, ByteSize: r.ByteSize.Int64}
		} else if r.Class.Valid {
			o.Failure = &engines.Failure{Class: engines.FailureClass(r.Class.String), Code: r.Code.String,
				Message: r.Message.String}
		}
		out[r.Name] = o
	}
	return out, nil
}
