package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// Every transaction here locks the jobs that it touches first, in the order of their ids, then their tasks; so no two of them
// can wait for each other.

// jobRow is the part of a job's row that the scheduler decides on.
type jobRow struct {
	ID                string         `db:"id"`
	AccountID         string         `db:"account_id"`
	Simulator         sql.NullString `db:"simulator"`
	Status            job.Status     `db:"status"`
	StatusReason      sql.NullString `db:"status_reason"`
	StageIndex        int            `db:"stage_index"`
	StageCount        int            `db:"stage_count"`
	TaskCount         int            `db:"task_count"`
	HeldPence         int64          `db:"held_pence"`
	AccruedMicropence int64          `db:"accrued_micropence"`
	ChargedPence      sql.NullInt64  `db:"charged_pence"`
	ErrorCode         sql.NullString `db:"error_code"`
	ErrorMessage      sql.NullString `db:"error_message"`
	FailureClass      sql.NullString `db:"failure_class"`
	ErrorRetryable    bool           `db:"error_retryable"`
	CancelRequestedAt sql.NullTime   `db:"cancel_requested_at"`
	CancelReason      sql.NullString `db:"cancel_reason"`
	RequestID         string         `db:"request_id"`
	StartedAt         sql.NullTime   `db:"started_at"`
	FinishedAt        sql.NullTime   `db:"finished_at"`
}

const jobFields = `id, account_id, simulator, status, status_reason, stage_index, stage_count, task_count, held_pence, accrued_micropence,
	charged_pence, error_code, error_message, failure_class, error_retryable, cancel_requested_at, cancel_reason, request_id, started_at, finished_at`

// taskRow is a task as the scheduler handles it. Shard is filled by queueTasks alone.
type taskRow struct {
	ID            string         `db:"id"`
	JobID         string         `db:"job_id"`
	AccountID     string         `db:"account_id"`
	Ordinal       int            `db:"ordinal"`
	Stage         string         `db:"stage"`
	Name          string         `db:"name"`
	Queue         string         `db:"queue"`
	Status        job.TaskStatus `db:"status"`
	Attempt       int            `db:"attempt"`
	Retries       int            `db:"retries"`
	Interruptions int            `db:"interruptions"`
	WorkerID      sql.NullString `db:"worker_id"`
	Shard         []byte         `db:"shard"`
}

const taskFields = `id, job_id, account_id, ordinal, stage, name, queue, status, attempt, retries, interruptions, worker_id`

// taskColumns is a plan laid out for one bulk insert.
type taskColumns struct {
	ID, Stage, Name, Shard  []string
	Ordinal, StageIndex     []int64
	Essential, Ready        []bool
	Weight                  []float64
	JobID, AccountID, Queue string
	Status                  job.TaskStatus
	Priority                int
}

// lockJobs locks the jobs in the order of their ids. Unknown ids are left out.
func lockJobs(ctx context.Context, tx *sqlx.Tx, ids []string) (map[string]*jobRow, error) {
	var rows []jobRow
	err := tx.SelectContext(ctx, &rows, `SELECT `+jobFields+` FROM jobs WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, pq.Array(ids))
	if err != nil {
		return nil, fmt.Errorf("lock %d jobs: %w", len(ids), err)
	}
	out := make(map[string]*jobRow, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

func insertJob(ctx context.Context, tx *sqlx.Tx, sub Submission, plan []engines.Shard, receipt Receipt, priority int) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request, recovery_mode, priority,
			status, stage_count, task_count, estimated_pence, held_pence, request_id, created_at, updated_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$16)`,
		receipt.JobID, sub.AccountID, sub.JobType, sub.Engine.Spec().ID, sub.JobName, sub.SceneFile.StorageKey, []byte(sub.Request),
		sub.RecoveryMode, priority, job.Submitted, plan[len(plan)-1].StageIndex+1, len(plan),
		receipt.Quote.EstimatedPence, receipt.Quote.HeldPence, sub.RequestID, receipt.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	body, err := json.Marshal(map[string]any{"status": job.Submitted, "reason": "", "terminal": false})
	if err != nil {
		return fmt.Errorf("encode status event: %w", err)
	}
	if err := recordStatus(ctx, tx, receipt.JobID, job.Submitted, "", body, receipt.CreatedAt); err != nil {
		return err
	}
	rows, err := taskRows(sub, plan, receipt.JobID, priority)
	if err != nil {
		return err
	}
	return insertTasks(ctx, tx, rows)
}

func insertTasks(ctx context.Context, tx *sqlx.Tx, r taskColumns) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO tasks (id, ordinal, stage, stage_index, name, essential, weight, ready, job_id, account_id, queue, status, priority)
		SELECT *, $9, $10, $11, $12, $13::int
		FROM unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::text[], $6::bool[], $7::real[], $8::bool[])`,
		pq.Array(r.ID), pq.Array(r.Ordinal), pq.Array(r.Stage), pq.Array(r.StageIndex), pq.Array(r.Name), pq.Array(r.Essential),
		pq.Array(r.Weight), pq.Array(r.Ready), r.JobID, r.AccountID, r.Queue, r.Status, r.Priority)
	if err != nil {
		return fmt.Errorf("insert %d tasks: %w", len(r.ID), err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO task_details (task_id, shard) SELECT * FROM unnest($1::text[], $2::jsonb[])`, pq.Array(r.ID), pq.Array(r.Shard))
	if err != nil {
		return fmt.Errorf("insert %d shards: %w", len(r.ID), err)
	}
	return nil
}

// insertIdempotencyKey claims a key and reports false when it is taken by a submission that has been committed. An expired
// claim is replaced.
func insertIdempotencyKey(ctx context.Context, tx *sqlx.Tx, sub Submission, fingerprint string, answer []byte, now time.Time) (bool, error) {
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil {
		return false, fmt.Errorf("set lock timeout: %w", err)
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO idempotency_keys (account_id, operation, key, request_sha256, response, created_at, expires_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7)
		ON CONFLICT (account_id, operation, key) DO UPDATE SET request_sha256 = excluded.request_sha256, response = excluded.response,
			created_at = excluded.created_at, expires_at = excluded.expires_at
		WHERE idempotency_keys.expires_at <= excluded.created_at`,
		sub.AccountID, submitOperation, sub.IdempotencyKey, fingerprint, answer, now, now.Add(idempotencyLifetime))
	if err != nil {
		return false, asInProgress(fmt.Errorf("claim idempotency key: %w", err))
	}
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = DEFAULT`); err != nil {
		return false, fmt.Errorf("reset lock timeout: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func readIdempotencyKey(ctx context.Context, tx *sqlx.Tx, sub Submission) (fingerprint string, answer []byte, err error) {
	err = tx.QueryRowContext(ctx, `SELECT request_sha256, response FROM idempotency_keys WHERE account_id = $1 AND operation = $2 AND key = $3`,
		sub.AccountID, submitOperation, sub.IdempotencyKey).Scan(&fingerprint, &answer)
	if err != nil {
		return "", nil, fmt.Errorf("read idempotency key: %w", err)
	}
	return fingerprint, answer, nil
}

func deleteExpiredKeys(ctx context.Context, db *sqlx.DB, now time.Time) error {
	if _, err := db.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE expires_at < $1`, now); err != nil {
		return fmt.Errorf("delete expired idempotency keys: %w", err)
	}
	return nil
}

func countInFlight(ctx context.Context, db *sqlx.DB, queueName string) (int, error) {
	var n int
	err := db.GetContext(ctx, &n, `SELECT count(*) FROM tasks WHERE queue = $1 AND status IN ('QUEUED', 'RUNNING')`, queueName)
	if err != nil {
		return 0, fmt.Errorf("count tasks in flight: %w", err)
	}
	return n, nil
}

// openTasks is how many tasks of a queue are in a state.
type openTasks struct {
	Queue  string         `db:"queue"`
	Status job.TaskStatus `db:"status"`
	N      int            `db:"n"`
}

func countOpenTasks(ctx context.Context, db *sqlx.DB) ([]openTasks, error) {
	var rows []openTasks
	err := db.SelectContext(ctx, &rows, `SELECT queue, status, count(*) AS n FROM tasks WHERE status IN ('PENDING', 'QUEUED', 'RUNNING') GROUP BY queue, status`)
	if err != nil {
		return nil, fmt.Errorf("count open tasks: %w", err)
	}
	return rows, nil
}

// candidate is a task that may be dispatched next.
type candidate struct {
	TaskID string `db:"id"`
	JobID  string `db:"job_id"`
}

type candidates []candidate

func (c candidates) taskIDs() []string {
	out := make([]string, len(c))
	for i := range c {
		out[i] = c[i].TaskID
	}
	return out
}

func (c candidates) jobIDs() []string {
	var out []string
	for i := range c {
		out = append(out, c[i].JobID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// nextReady picks the tasks to dispatch next: the higher plan priority first, then accounts in turn, where what an account
// already has in flight counts as turns it has had. It reads at most limit tasks of each account that waits, whatever the
// backlog.
func nextReady(ctx context.Context, tx *sqlx.Tx, queueName string, limit int, now time.Time) (candidates, error) {
	var out candidates
	err := tx.SelectContext(ctx, &out, `
		WITH RECURSIVE waiting AS (
			(SELECT account_id FROM tasks WHERE queue = $1 AND status = 'PENDING' AND ready ORDER BY account_id LIMIT 1)
			UNION ALL
			SELECT (SELECT t.account_id FROM tasks t WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready AND t.account_id > w.account_id
				ORDER BY t.account_id LIMIT 1)
			FROM waiting w WHERE w.account_id IS NOT NULL
		), in_flight AS (
			SELECT account_id, count(*) AS n FROM tasks WHERE queue = $1 AND status IN ('QUEUED', 'RUNNING') GROUP BY account_id
		), offered AS (
			SELECT c.id, c.job_id, c.priority,
				coalesce(f.n, 0) + row_number() OVER (PARTITION BY w.account_id ORDER BY c.priority DESC, c.id) AS turn
			FROM waiting w
			CROSS JOIN LATERAL (
				SELECT t.id, t.job_id, t.priority FROM tasks t
				WHERE t.queue = $1 AND t.status = 'PENDING' AND t.ready AND t.account_id = w.account_id
					AND (t.not_before IS NULL OR t.not_before <= $2)
				ORDER BY t.priority DESC, t.id LIMIT $3
			) c
			LEFT JOIN in_flight f ON f.account_id = w.account_id
			WHERE w.account_id IS NOT NULL
		)
		SELECT id, job_id FROM offered ORDER BY priority DESC, turn, id LIMIT $3`, queueName, now, limit)
	if err != nil {
		return nil, fmt.Errorf("pick tasks for %s: %w", queueName, err)
	}
	return out, nil
}

// queueTasks starts the next attempt of the tasks that are still waiting and returns them with their shards, in the order of
// their ids.
func queueTasks(ctx context.Context, tx *sqlx.Tx, ids []string, now time.Time) ([]taskRow, error) {
	var rows []taskRow
	err := tx.SelectContext(ctx, &rows, `
		UPDATE tasks t SET status = 'QUEUED', attempt = attempt + 1, queued_at = $2, worker_id = NULL, started_at = NULL, progress = 0, not_before = NULL
		FROM task_details d
		WHERE t.id = ANY($1) AND t.status = 'PENDING' AND t.ready AND d.task_id = t.id
		RETURNING t.id, t.job_id, t.account_id, t.ordinal, t.stage, t.name, t.queue, t.status, t.attempt, t.retries, t.interruptions, t.worker_id, d.shard`,
		pq.Array(ids), now)
	if err != nil {
		return nil, fmt.Errorf("queue %d tasks: %w", len(ids), err)
	}
	slices.SortFunc(rows, func(a, b taskRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, nil
}

// readStageOutputs returns, for every shard of a stage, its output of that name or why it has none.
func readStageOutputs(ctx context.Context, tx *sqlx.Tx, jobID, stage, output string) (map[string]stageOutput, error) {
	var rows []struct {
		Name       string         `db:"name"`
		StorageKey sql.NullString `db:"storage_key"`
		SHA256     sql.NullString `db:"sha256"`
		ByteSize   sql.NullInt64  `db:"byte_size"`
		Class      sql.NullString `db:"failure_class"`
		Code       sql.NullString `db:"error_code"`
		Message    sql.NullString `db:"error_message"`
	}
	err := tx.SelectContext(ctx, &rows, `SELECT t.name, a.storage_key, a.sha256, a.byte_size, d.failure_class, d.error_code, d.error_message
		FROM tasks t JOIN task_details d ON d.task_id = t.id
		LEFT JOIN artifacts a ON a.task_id = t.id AND a.name = $3 AND t.status = 'SUCCEEDED'
		WHERE t.job_id = $1 AND t.stage = $2`, jobID, stage, output)
	if err != nil {
		return nil, fmt.Errorf("read outputs of stage %s: %w", stage, err)
	}
	out := make(map[string]stageOutput, len(rows))
	for _, r := range rows {
		var o stageOutput
		if r.StorageKey.Valid {
			o.object = &engines.Object{StorageKey: r.StorageKey.String, SHA256: r.SHA256.String, ByteSize: r.ByteSize.Int64}
		} else if r.Class.Valid {
			o.failure = &engines.Failure{Class: engines.FailureClass(r.Class.String), Code: r.Code.String, Message: r.Message.String}
		}
		out[r.Name] = o
	}
	return out, nil
}

// readTask returns a task of a job whose lock the caller holds, or nil.
func readTask(ctx context.Context, tx *sqlx.Tx, jobID, taskID string) (*taskRow, error) {
	var row taskRow
	err := tx.GetContext(ctx, &row, `SELECT `+taskFields+` FROM tasks WHERE id = $1 AND job_id = $2 FOR NO KEY UPDATE`, taskID, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", taskID, err)
	}
	return &row, nil
}

func startTask(ctx context.Context, tx *sqlx.Tx, task taskRow, event queue.Event, now time.Time) error {
	if task.Status != job.TaskQueued { // told twice
		return nil
	}
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'RUNNING', worker_id = $2, started_at = $3 WHERE id = $1`, task.ID, event.WorkerID, now)
	if err != nil {
		return fmt.Errorf("start task %s: %w", task.ID, err)
	}
	return addTaskEvent(ctx, tx, task, job.TaskRunning, nil, now)
}

// endTask ends a task for good.
func endTask(ctx context.Context, tx *sqlx.Tx, taskID string, to job.TaskStatus, failure *engines.Failure, now time.Time) error {
	var task taskRow
	err := tx.GetContext(ctx, &task, `UPDATE tasks SET status = $2, finished_at = $3, progress = CASE WHEN $2 = 'SUCCEEDED' THEN 1 ELSE progress END
		WHERE id = $1 AND status IN ('PENDING', 'QUEUED', 'RUNNING') RETURNING `+taskFields, taskID, to, now)
	if err != nil {
		return fmt.Errorf("end task %s as %s: %w", taskID, to, err)
	}
	if failure != nil {
		items, err := json.Marshal(failure.Items)
		if err != nil {
			return fmt.Errorf("encode failure of %s: %w", taskID, err)
		}
		_, err = tx.ExecContext(ctx, `UPDATE task_details SET failure_class = $2, error_code = $3, error_message = $4, item_failures = $5 WHERE task_id = $1`,
			taskID, failure.Class, failure.Code, failure.Message, items)
		if err != nil {
			return fmt.Errorf("store failure of %s: %w", taskID, err)
		}
	}
	return addTaskEvent(ctx, tx, task, to, failure, now)
}

// returnTask gives a task back for its next attempt, counted against its retries or not.
func returnTask(ctx context.Context, tx *sqlx.Tx, taskID string, counts bool, notBefore time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2,
		retries = retries + CASE WHEN $3 THEN 1 ELSE 0 END, interruptions = interruptions + CASE WHEN $3 THEN 0 ELSE 1 END
		WHERE id = $1 AND status IN ('QUEUED', 'RUNNING')`, taskID, notBefore, counts)
	if err != nil {
		return fmt.Errorf("give task %s back: %w", taskID, err)
	}
	return nil
}

func storeResult(ctx context.Context, tx *sqlx.Tx, taskID string, result queue.Result) error {
	failures, err := json.Marshal(result.Failures)
	if err != nil {
		return fmt.Errorf("encode item failures: %w", err)
	}
	programs, err := json.Marshal(result.Programs)
	if err != nil {
		return fmt.Errorf("encode programs: %w", err)
	}
	if len(result.Failures) == 0 {
		failures = nil
	}
	summary := result.Summary
	if len(summary) == 0 {
		summary = nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE task_details SET summary = $2, item_failures = $3, programs = $4 WHERE task_id = $1`,
		taskID, summary, failures, programs)
	if err != nil {
		return fmt.Errorf("store result of %s: %w", taskID, err)
	}
	return nil
}

func insertAttempt(ctx context.Context, tx *sqlx.Tx, task taskRow, event queue.Event, outcome string, price billing.Micropence, now time.Time) error {
	u := event.Usage
	_, err := tx.ExecContext(ctx, `INSERT INTO task_attempts (task_id, attempt, worker_id, outcome, cpu_us, wall_ms, peak_memory_bytes, bytes_in, bytes_out,
			charged_micropence, started_at, finished_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)`,
		task.ID, task.Attempt, event.WorkerID, outcome, u.CPUMicroseconds, u.WallMs, u.PeakMemoryBytes, u.BytesIn, u.BytesOut, int64(price),
		sql.NullTime{Time: u.StartedAt, Valid: !u.StartedAt.IsZero()}, now)
	if err != nil {
		return fmt.Errorf("record attempt %d of %s: %w", task.Attempt, task.ID, err)
	}
	return nil
}

func insertArtifacts(ctx context.Context, tx *sqlx.Tx, task taskRow, artifacts []queue.StoredArtifact, now time.Time) error {
	for _, a := range artifacts {
		_, err := tx.ExecContext(ctx, `INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format, created_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)`,
			id.New("art_"), task.JobID, task.ID, task.AccountID, a.Name, a.Role, a.StorageKey, a.SHA256, a.ByteSize, a.MediaType, a.Format, now)
		if err != nil {
			return fmt.Errorf("record artifact %s of %s: %w", a.Name, task.ID, err)
		}
	}
	return nil
}

// readSnapshot counts a job's tasks for the roll-up.
func readSnapshot(ctx context.Context, tx *sqlx.Tx, owner *jobRow) (job.Snapshot, error) {
	var rows []struct {
		StageIndex int            `db:"stage_index"`
		Status     job.TaskStatus `db:"status"`
		N          int            `db:"n"`
		Essential  int            `db:"essential"`
	}
	err := tx.SelectContext(ctx, &rows, `SELECT stage_index, status, count(*) AS n, count(*) FILTER (WHERE essential) AS essential
		FROM tasks WHERE job_id = $1 GROUP BY stage_index, status`, owner.ID)
	if err != nil {
		return job.Snapshot{}, fmt.Errorf("count tasks: %w", err)
	}
	s := job.Snapshot{Status: owner.Status, StageIndex: owner.StageIndex, StageCount: owner.StageCount}
	for _, r := range rows {
		s.All.Add(r.Status, r.N)
		if r.StageIndex == owner.StageIndex {
			s.Stage.Add(r.Status, r.N)
		}
		if r.Status == job.TaskFailed && r.Essential > 0 {
			s.EssentialFailed = true
		}
	}
	if s.All.Open() == 0 {
		err = tx.GetContext(ctx, &s.ItemFailures, `SELECT EXISTS (SELECT 1 FROM tasks t JOIN task_details d ON d.task_id = t.id
			WHERE t.job_id = $1 AND t.status = 'SUCCEEDED' AND d.item_failures IS NOT NULL)`, owner.ID)
		if err != nil {
			return s, fmt.Errorf("look for item failures: %w", err)
		}
	}
	return s, nil
}

func readyStage(ctx context.Context, tx *sqlx.Tx, jobID string, stageIndex int) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET ready = true WHERE job_id = $1 AND stage_index = $2 AND status = 'PENDING'`, jobID, stageIndex)
	if err != nil {
		return fmt.Errorf("open stage %d: %w", stageIndex, err)
	}
	return nil
}

func cancelPending(ctx context.Context, tx *sqlx.Tx, jobID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'CANCELLED', finished_at = $2 WHERE job_id = $1 AND status = 'PENDING'`, jobID, now)
	if err != nil {
		return fmt.Errorf("cancel pending tasks: %w", err)
	}
	return nil
}

func saveJob(ctx context.Context, tx *sqlx.Tx, r *jobRow, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET status = $2, status_reason = $3, stage_index = $4, accrued_micropence = $5, charged_pence = $6,
			error_code = $7, error_message = $8, failure_class = $9, error_retryable = $10, cancel_requested_at = $11, cancel_reason = $12,
			started_at = $13, finished_at = $14, updated_at = $15
		WHERE id = $1`, r.ID, r.Status, r.StatusReason, r.StageIndex, r.AccruedMicropence, r.ChargedPence, r.ErrorCode, r.ErrorMessage,
		r.FailureClass, r.ErrorRetryable, r.CancelRequestedAt, r.CancelReason, r.StartedAt, r.FinishedAt, now)
	if err != nil {
		return fmt.Errorf("save job %s: %w", r.ID, err)
	}
	return nil
}

// recordStatus appends to a job's history and tells its watchers.
func recordStatus(ctx context.Context, tx *sqlx.Tx, jobID string, status job.Status, reason string, body []byte, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO job_status_history (job_id, seq, status, reason, at)
		SELECT $1, coalesce(max(seq), 0) + 1, $2, $3, $4 FROM job_status_history WHERE job_id = $1`, jobID, status, reason, now)
	if err != nil {
		return fmt.Errorf("record status %s: %w", status, err)
	}
	return addEvent(ctx, tx, jobID, "status", body, now)
}

func addTaskEvent(ctx context.Context, tx *sqlx.Tx, task taskRow, status job.TaskStatus, failure *engines.Failure, now time.Time) error {
	body, err := taskEvent(task, status, failure)
	if err != nil {
		return fmt.Errorf("encode task event: %w", err)
	}
	return addEvent(ctx, tx, task.JobID, "task", body, now)
}

func addEvent(ctx context.Context, tx *sqlx.Tx, jobID, kind string, body []byte, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO job_events (job_id, kind, body, at) VALUES ($1,$2,$3,$4)`, jobID, kind, body, now); err != nil {
		return fmt.Errorf("add %s event: %w", kind, err)
	}
	return nil
}

// failedTask is why a task failed for good. Count is the number of failed tasks of the job.
type failedTask struct {
	Class   engines.FailureClass `db:"failure_class"`
	Code    string               `db:"error_code"`
	Message string               `db:"error_message"`
	Count   int                  `db:"count"`
}

// readFailures returns the failures of a job that tell most, at most one: the essential task first, then the earliest.
func readFailures(ctx context.Context, tx *sqlx.Tx, jobID string) ([]failedTask, error) {
	var rows []failedTask
	err := tx.SelectContext(ctx, &rows, `SELECT coalesce(d.failure_class, 'SYSTEM') AS failure_class, coalesce(d.error_code, '') AS error_code,
			coalesce(d.error_message, '') AS error_message, count(*) OVER () AS count
		FROM tasks t JOIN task_details d ON d.task_id = t.id
		WHERE t.job_id = $1 AND t.status = 'FAILED' ORDER BY t.essential DESC, t.ordinal LIMIT 1`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	return rows, nil
}

// tasksInFlight returns every task that is in a queue or with a worker; the dispatch window bounds their number.
func tasksInFlight(ctx context.Context, db *sqlx.DB) ([]taskRow, error) {
	var rows []taskRow
	err := db.SelectContext(ctx, &rows, `SELECT `+taskFields+` FROM tasks WHERE status IN ('QUEUED', 'RUNNING') ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read tasks in flight: %w", err)
	}
	return rows, nil
}

// cancellingTasks returns the tasks in flight of jobs that are being cancelled.
func cancellingTasks(ctx context.Context, db *sqlx.DB) ([]taskRow, error) {
	var rows []taskRow
	err := db.SelectContext(ctx, &rows, `SELECT `+taskFields+` FROM tasks WHERE status IN ('QUEUED', 'RUNNING')
		AND job_id IN (SELECT id FROM jobs WHERE finished_at IS NULL AND status = 'CANCELLING') ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read cancelling tasks: %w", err)
	}
	return rows, nil
}

// staleRefs returns those of the attempts that are not their task's current one any more.
func staleRefs(ctx context.Context, db *sqlx.DB, refs []queue.Ref) ([]queue.Ref, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	ids, attempts := make([]string, len(refs)), make([]int64, len(refs))
	for i, r := range refs {
		ids[i], attempts[i] = r.TaskID, int64(r.Attempt)
	}
	rows, err := db.QueryContext(ctx, `SELECT r.id, r.attempt FROM unnest($1::text[], $2::int[]) AS r (id, attempt)
		LEFT JOIN tasks t ON t.id = r.id
		WHERE t.id IS NULL OR t.attempt <> r.attempt OR t.status NOT IN ('QUEUED', 'RUNNING')`, pq.Array(ids), pq.Array(attempts))
	if err != nil {
		return nil, fmt.Errorf("look for stale attempts: %w", err)
	}
	defer rows.Close()
	var stale []queue.Ref
	for rows.Next() {
		var r queue.Ref
		if err := rows.Scan(&r.TaskID, &r.Attempt); err != nil {
			return nil, fmt.Errorf("look for stale attempts: %w", err)
		}
		stale = append(stale, r)
	}
	return stale, rows.Err()
}

// storeProgress stores the progress of running attempts and adds one progress event to each of their jobs. Without a job's
// lock: progress decides nothing.
func storeProgress(ctx context.Context, db *sqlx.DB, news []queue.Held, jobs map[string]string, now time.Time) error {
	ids, attempts := make([]string, len(news)), make([]int64, len(news))
	progress, messages := make([]float64, len(news)), make([]string, len(news))
	for i, h := range news {
		ids[i], attempts[i], progress[i], messages[i] = h.TaskID, int64(h.Attempt), h.Progress, h.Message
	}
	_, err := db.ExecContext(ctx, `WITH news AS (
			SELECT * FROM unnest($1::text[], $2::int[], $3::real[], $4::text[]) AS n (id, attempt, progress, message)
		), moved AS (
			UPDATE tasks t SET progress = n.progress FROM news n WHERE t.id = n.id AND t.attempt = n.attempt AND t.status = 'RUNNING' RETURNING t.id, n.message
		)
		UPDATE task_details d SET message = m.message FROM moved m WHERE d.task_id = m.id`,
		pq.Array(ids), pq.Array(attempts), pq.Array(progress), pq.Array(messages))
	if err != nil {
		return fmt.Errorf("store progress: %w", err)
	}
	return addProgressEvents(ctx, db, jobs, now)
}

// addProgressEvents tells the watchers of jobs how far they are. Each job's row is locked while its event gets its id, so that
// ids of one job are committed in their order and a watcher that reads on from the last id misses nothing.
func addProgressEvents(ctx context.Context, db *sqlx.DB, jobs map[string]string, now time.Time) error {
	for _, jobID := range sortedKeys(jobs) {
		var percent float64
		err := db.GetContext(ctx, &percent, `SELECT 100 * sum(weight * CASE WHEN status IN ('SUCCEEDED', 'FAILED', 'CANCELLED') THEN 1 ELSE progress END)
			/ greatest(sum(weight), 1e-9) FROM tasks WHERE job_id = $1`, jobID)
		if err != nil {
			return fmt.Errorf("sum progress of %s: %w", jobID, err)
		}
		body, err := progressEvent(percent, jobs[jobID])
		if err != nil {
			return fmt.Errorf("encode progress event: %w", err)
		}
		if _, err := db.ExecContext(ctx, `WITH open AS (SELECT id FROM jobs WHERE id = $1 AND finished_at IS NULL FOR NO KEY UPDATE)
			INSERT INTO job_events (job_id, kind, body, at) SELECT id, 'progress', $2, $3 FROM open`, jobID, body, now); err != nil {
			return fmt.Errorf("add progress event of %s: %w", jobID, err)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
