package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// maxQueuePosition bounds the waiting tasks that are looked at for a job's place in the queue: a person wants to know whether
// it is ten or thousands, and a page of a hundred waiting jobs looks a hundred times.
const maxQueuePosition = 2000

// store reads the tables that the scheduler writes, and keeps receipts. It changes nothing else. Every query names the account,
// so that another tenant's job is as if absent.
type store struct{ db *sqlx.DB }

// record is a job with what its tasks and its history say, read in one statement and therefore at one moment.
type record struct {
	ID                string         `db:"id"`
	JobType           string         `db:"job_type"`
	Simulator         sql.NullString `db:"simulator"`
	JobName           string         `db:"job_name"`
	RecoveryMode      string         `db:"recovery_mode"`
	Status            job.Status     `db:"status"`
	StatusReason      sql.NullString `db:"status_reason"`
	EstimatedPence    int64          `db:"estimated_pence"`
	HeldPence         int64          `db:"held_pence"`
	AccruedMicropence int64          `db:"accrued_micropence"`
	ChargedPence      sql.NullInt64  `db:"charged_pence"`
	ErrorCode         sql.NullString `db:"error_code"`
	ErrorMessage      sql.NullString `db:"error_message"`
	FailureClass      sql.NullString `db:"failure_class"`
	ErrorRetryable    bool           `db:"error_retryable"`
	Attempts          int            `db:"attempts"`
	CreatedAt         time.Time      `db:"created_at"`
	UpdatedAt         time.Time      `db:"updated_at"`
	StartedAt         sql.NullTime   `db:"started_at"`
	FinishedAt        sql.NullTime   `db:"finished_at"`
	FilesDeletedAt    sql.NullTime   `db:"files_deleted_at"`

	Pending    int     `db:"pending"`
	Queued     int     `db:"queued"`
	Running    int     `db:"running"`
	Succeeded  int     `db:"succeeded"`
	Failed     int     `db:"failed"`
	Cancelled  int     `db:"cancelled"`
	WeightAll  float64 `db:"weight_all"`  // expected CPU seconds of all tasks
	WeightDone float64 `db:"weight_done"` // of ended tasks, and of the finished parts of running and cancelled ones

	StageRunning   sql.NullString  `db:"stage_running"`
	MessageRunning sql.NullString  `db:"message_running"`
	StageNext      sql.NullString  `db:"stage_next"` // of a running job, none of whose tasks runs just now
	TasksAhead     int             `db:"tasks_ahead"`
	AccountID      string          `db:"account_id"`
	Software       sql.NullString  `db:"software"`
	LicenseKey     sql.NullString  `db:"license_key"` // of the account's own licence that the software runs under
	LicenseSeats   sql.NullInt64   `db:"license_seats"`
	LicensesInUse  sql.NullInt64   `db:"licenses_in_use"`
	LicenseIsFree  bool            `db:"license_is_free"` // the account's servers only advise
	History        json.RawMessage `db:"history"`

	PreviewName sql.NullString `db:"preview_name"`
	PreviewKey  sql.NullString `db:"preview_key"`
	FramesAll   sql.NullInt64  `db:"frames_all"` // of a job that renders
	FramesDone  sql.NullInt64  `db:"frames_done"`
}

// jobColumns are the job's own columns of a record. The request is left out: it may be a hundred megabytes.
const jobColumns = `id, job_type, simulator, job_name, recovery_mode, status, status_reason, estimated_pence, held_pence,
    accrued_micropence, charged_pence, error_code, error_message, failure_class, error_retryable, attempts, created_at,
    updated_at, started_at, finished_at, account_id, software, license_key, files_deleted_at`

// recordSelect reads records for the jobs that a sub-select named "chosen" picks. A job without weights counts its tasks
// alike. The place in the queue looks across accounts, through a function that tells a number and nothing else. Pictures and frames
// are looked for where they are made: a simulation has tens of thousands of files, and none of them is one. The picture of a job is
// the newest of those that its tasks have finished and those that they show while they run.
const recordSelect = `
SELECT j.*, t.pending, t.queued, t.running, t.succeeded, t.failed, t.cancelled, t.weight_all, t.weight_done,
       r.stage AS stage_running, r.message AS message_running, n.stage AS stage_next, a.tasks_ahead, h.history,
       p.name AS preview_name, p.storage_key AS preview_key, f.frames_all, f.frames_done,
       l.seats AS license_seats, l.in_use AS licenses_in_use, coalesce(l.free IS NULL, false) AS license_is_free
FROM chosen j
LEFT JOIN LATERAL license_use(j.account_id, j.license_key) l ON j.license_key IS NOT NULL AND j.finished_at IS NULL
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE status = 'PENDING')   AS pending,
           count(*) FILTER (WHERE status = 'QUEUED')    AS queued,
           count(*) FILTER (WHERE status = 'RUNNING')   AS running,
           count(*) FILTER (WHERE status = 'SUCCEEDED') AS succeeded,
           count(*) FILTER (WHERE status = 'FAILED')    AS failed,
           count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled,
           coalesce(sum(greatest(weight, 1e-6)::float8), 0) AS weight_all,
           coalesce(sum(greatest(weight, 1e-6)::float8 * CASE status
               WHEN 'SUCCEEDED' THEN 1 WHEN 'FAILED' THEN 1 WHEN 'PENDING' THEN 0 WHEN 'QUEUED' THEN 0 ELSE progress END),
               0) AS weight_done
    FROM tasks WHERE job_id = j.id
) t
CROSS JOIN LATERAL (
    SELECT coalesce(json_agg(json_build_object('status', status, 'at', at, 'reason', reason) ORDER BY seq), '[]') AS history
    FROM job_status_history WHERE job_id = j.id
) h
LEFT JOIN LATERAL (
    SELECT tasks.stage, coalesce(d.message, '') AS message FROM tasks LEFT JOIN task_details d ON d.task_id = tasks.id
    WHERE tasks.job_id = j.id AND tasks.status = 'RUNNING' AND j.status IN ('RUNNING', 'CANCELLING')
    ORDER BY tasks.started_at DESC NULLS LAST, tasks.ordinal LIMIT 1
) r ON true
LEFT JOIN LATERAL (
    SELECT tasks.stage FROM tasks WHERE tasks.job_id = j.id AND tasks.status IN ('QUEUED', 'PENDING') AND j.status = 'RUNNING'
    AND r.stage IS NULL
    ORDER BY tasks.stage_index, tasks.ordinal LIMIT 1
) n ON true
CROSS JOIN LATERAL (
    SELECT coalesce(max(tasks_ahead(mine.queue, j.id, mine.id, mine.priority, $2)), 0) AS tasks_ahead FROM (
        SELECT id, queue, priority FROM tasks
        WHERE job_id = j.id AND status = 'PENDING' AND ready AND j.status IN ('SUBMITTED', 'QUEUED')
        ORDER BY ordinal LIMIT 1
    ) mine
) a
LEFT JOIN LATERAL (
    (SELECT name, storage_key, created_at AS at FROM artifacts WHERE job_id = j.id AND role = 'preview'
    ORDER BY created_at DESC, id DESC LIMIT 1)
    UNION ALL
    (SELECT c.name, c.storage_key, c.at FROM tasks JOIN task_checkpoints c ON c.task_id = tasks.id
     WHERE tasks.job_id = j.id AND tasks.status = 'RUNNING' AND c.name = 'checkpoint/preview.jpg' ORDER BY c.at DESC LIMIT 1)
    ORDER BY at DESC LIMIT 1
) p ON j.job_type IN ('render', 'molecular', 'pipeline')
LEFT JOIN LATERAL (
    SELECT sum(t.items) AS frames_all, sum(CASE t.status
        WHEN 'SUCCEEDED' THEN t.items - coalesce(jsonb_array_length(d.item_failures), 0)
        WHEN 'RUNNING' THEN floor(t.progress * t.items + 0.001)::int ELSE 0 END) AS frames_done
    FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id
    WHERE t.job_id = j.id AND t.stage = 'render'
) f ON j.job_type IN ('render', 'molecular', 'pipeline')
ORDER BY j.created_at DESC, j.id DESC`

// job reads one job. Errors: fault.NotFound, also for another account's.
func (s store) job(ctx context.Context, accountID, jobID string) (record, error) {
	var r record
	query := `WITH chosen AS MATERIALIZED (SELECT ` + jobColumns + ` FROM jobs WHERE account_id = $1 AND id = $3)` + recordSelect
	err := s.db.GetContext(ctx, &r, query, accountID, maxQueuePosition, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return r, noSuchJob()
	}
	if err != nil {
		return r, fmt.Errorf("reading job %s: %w", jobID, err)
	}
	return r, nil
}

// filter narrows the list of jobs. Zero members filter nothing.
type filter struct {
	Statuses                    []string
	JobType, Simulator, Text    string
	CreatedAfter, CreatedBefore time.Time
	From                        *list.Position
}

// jobs reads up to limit jobs, newest first.
func (s store) jobs(ctx context.Context, accountID string, f filter, limit int) ([]record, error) {
	c := list.Owned("account_id", accountID)
	c.Arg(maxQueuePosition) // is $2 of recordSelect
	c.In("status", f.Statuses)
	c.Equal("job_type", f.JobType)
	c.Equal("simulator", f.Simulator)
	if f.Text != "" {
		c.Add("(position(lower(?) in lower(job_name)) > 0 OR id = ?)", f.Text, f.Text)
	}
	if !f.CreatedAfter.IsZero() {
		c.Add("created_at > ?", f.CreatedAfter.UTC()) // Postgres knows fewer zones than RFC 3339
	}
	if !f.CreatedBefore.IsZero() {
		c.Add("created_at < ?", f.CreatedBefore.UTC())
	}
	c.Behind(newestJobs, f.From.Values()...)
	chosen := `WITH chosen AS MATERIALIZED (SELECT ` + jobColumns + ` FROM jobs WHERE ` + c.String() + `
		ORDER BY ` + newestJobs.By() + ` LIMIT ` + c.Arg(limit) + `)`
	var records []record
	if err := s.db.SelectContext(ctx, &records, chosen+recordSelect, c.Args...); err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return records, nil
}

// withFiles reads a job's state, unless its files were deleted. Errors: fault.NotFound, also for another account's;
// fault.FilesDeleted.
func (s store) withFiles(ctx context.Context, accountID, jobID string) (string, error) {
	var row struct {
		Status         string       `db:"status"`
		FilesDeletedAt sql.NullTime `db:"files_deleted_at"`
	}
	err := s.db.GetContext(ctx, &row, `SELECT status, files_deleted_at FROM jobs WHERE account_id = $1 AND id = $2`, accountID,
		jobID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", noSuchJob()
	case err != nil:
		return "", fmt.Errorf("reading the state of job %s: %w", jobID, err)
	case row.FilesDeletedAt.Valid:
		return "", erasure.Gone(row.FilesDeletedAt.Time)
	}
	return row.Status, nil
}

// status reads a job's state alone. Errors: fault.NotFound, also for another account's.
func (s store) status(ctx context.Context, accountID, jobID string) (string, error) {
	var status string
	err := s.db.GetContext(ctx, &status, `SELECT status FROM jobs WHERE account_id = $1 AND id = $2`, accountID, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", noSuchJob()
	}
	if err != nil {
		return "", fmt.Errorf("reading the state of job %s: %w", jobID, err)
	}
	return status, nil
}

// artifact is one output file of a task.
type artifact struct {
	ID         string    `db:"id"`
	Name       string    `db:"name"`
	Role       string    `db:"role"`
	TaskIndex  int       `db:"ordinal"`
	StorageKey string    `db:"storage_key"`
	SHA256     string    `db:"sha256"`
	ByteSize   int64     `db:"byte_size"`
	MediaType  string    `db:"media_type"`
	Format     string    `db:"format"`
	CreatedAt  time.Time `db:"created_at"`
	Frame      *int64    `db:"frame"`
}

// outputFilter chooses files of a job.
type outputFilter struct {
	Roles     []string // empty for any
	TaskIndex int      // -1 for any
	From      *list.Position
}

// outputs reads up to limit files of a job, newest first, from a position on. Inputs of later stages are not among them.
func (s store) outputs(ctx context.Context, accountID, jobID string, f outputFilter, limit int) ([]artifact, error) {
	c := list.Owned("a.account_id", accountID)
	c.Add("a.job_id = ? AND a.role <> ?", jobID, string(engines.RoleIntermediate))
	c.In("a.role", f.Roles)
	if f.TaskIndex >= 0 {
		c.Add("t.ordinal = ?", f.TaskIndex)
	}
	c.Behind(newestFiles, f.From.Values()...)
	var files []artifact
	err := s.db.SelectContext(ctx, &files, `
SELECT a.id, a.name, a.role, t.ordinal, a.storage_key, a.sha256, a.byte_size, a.media_type, a.format, a.created_at, a.frame
FROM artifacts a JOIN tasks t ON t.id = a.task_id
WHERE `+c.String()+` ORDER BY `+newestFiles.By()+` LIMIT `+c.Arg(limit), c.Args...)
	if err != nil {
		return nil, fmt.Errorf("reading outputs of job %s: %w", jobID, err)
	}
	return files, nil
}

// event is one entry of a job's event log.
type event struct {
	ID   int64           `db:"id"`
	Kind string          `db:"kind"`
	Body json.RawMessage `db:"body"`
	At   time.Time       `db:"at"`
}

// events reads up to limit events after an id, oldest first.
func (s store) events(ctx context.Context, accountID, jobID string, after int64, limit int) ([]event, error) {
	var events []event
	err := s.db.SelectContext(ctx, &events, `
SELECT e.id, e.kind, e.body, e.at FROM job_events e JOIN jobs j ON j.id = e.job_id
WHERE j.account_id = $1 AND e.job_id = $2 AND e.id > $3 ORDER BY e.id LIMIT $4`, accountID, jobID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading events of job %s: %w", jobID, err)
	}
	return events, nil
}

// newestEvents reads the ids of up to limit events of an account, newest first.
func (s store) newestEvents(ctx context.Context, accountID string, limit int) ([]int64, error) {
	var ids []int64
	err := s.db.SelectContext(ctx, &ids, `SELECT id FROM job_events WHERE account_id = $1 ORDER BY id DESC LIMIT $2`, accountID,
		limit)
	if err != nil {
		return nil, fmt.Errorf("reading the newest events of account %s: %w", accountID, err)
	}
	return ids, nil
}

// accountEvents reads up to limit events of an account's jobs after an id, but for those told, oldest first; each says whose it is,
// and the end of a run that a retry has followed is no end of its job. oldest is the first transaction that was at work meanwhile.
func (s store) accountEvents(
	ctx context.Context, accountID string, after int64, told []int64, limit int,
) (events []event, oldest int64, err error) {
	var rows []struct {
		Oldest int64          `db:"oldest"`
		ID     sql.NullInt64  `db:"id"`
		Kind   sql.NullString `db:"kind"`
		Body   []byte         `db:"body"`
	}
	err = s.db.SelectContext(ctx, &rows, `
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest, e.id, e.kind, e.body
FROM (SELECT) AS this LEFT JOIN LATERAL (
	SELECT e.id, e.kind, e.body || jsonb_build_object('jobId', e.job_id) || CASE
		WHEN e.kind = 'status' AND j.finished_at IS NULL THEN '{"terminal": false}'::jsonb ELSE '{}' END AS body
	FROM job_events e JOIN jobs j ON j.id = e.job_id
	WHERE e.account_id = $1 AND e.id > $2 AND e.id <> ALL (coalesce($3, '{}'::bigint[])) ORDER BY e.id LIMIT $4
) e ON true ORDER BY e.id`, accountID, after, pq.Array(told), limit)
	if err != nil {
		return nil, 0, fmt.Errorf("reading events of account %s: %w", accountID, err)
	}
	for _, row := range rows {
		oldest = row.Oldest
		if row.ID.Valid {
			events = append(events, event{ID: row.ID.Int64, Kind: row.Kind.String, Body: row.Body})
		}
	}
	return events, oldest, nil
}

// transaction takes a number of a transaction, which is larger than that of every other that has one.
func (s store) transaction(ctx context.Context) (number int64, err error) {
	if err := s.db.GetContext(ctx, &number, `SELECT pg_current_xact_id()::text::bigint`); err != nil {
		return 0, fmt.Errorf("taking the number of a transaction: %w", err)
	}
	return number, nil
}

func noSuchJob() error { return fault.New(fault.NotFound, "jobId: there is no such job") }
