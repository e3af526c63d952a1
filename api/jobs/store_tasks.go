package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// usage is what one attempt used, or several together.
type usage struct {
	CPUMicroseconds int64 `db:"cpu_us" json:"cpu_us"`
	GPUMicroseconds int64 `db:"gpu_us" json:"gpu_us"`
	WallMs          int64 `db:"wall_ms" json:"wall_ms"`
	PeakMemoryBytes int64 `db:"peak_memory_bytes" json:"peak_memory_bytes"`
	BytesIn         int64 `db:"bytes_in" json:"bytes_in"`
	BytesOut        int64 `db:"bytes_out" json:"bytes_out"`
}

// attempt is a row of task_attempts, also as the database writes it in JSON.
type attempt struct {
	usage
	Attempt           int        `db:"attempt" json:"attempt"`
	Run               int        `db:"run" json:"run"`
	WorkerID          string     `db:"worker_id" json:"worker_id"`
	Outcome           string     `db:"outcome" json:"outcome"`
	ChargedMicropence int64      `db:"charged_micropence" json:"charged_micropence"`
	StartedAt         *time.Time `db:"started_at" json:"started_at"`
	FinishedAt        time.Time  `db:"finished_at" json:"finished_at"`
	reused
}

// reused says of an attempt whose outputs it took over; null where it ran.
type reused struct {
	ReusedJob     *string `db:"reused_job" json:"reused_job"`
	ReusedTask    *string `db:"reused_task" json:"reused_task"`
	ReusedAttempt *int    `db:"reused_attempt" json:"reused_attempt"`
}

func (r reused) view() *contract.Reused {
	if r.ReusedTask == nil {
		return nil
	}
	return &contract.Reused{JobID: *r.ReusedJob, TaskID: *r.ReusedTask, Attempt: *r.ReusedAttempt}
}

// taskRecord is a task with what its attempts used.
type taskRecord struct {
	usage
	ID               string          `db:"id"`
	Ordinal          int             `db:"ordinal"`
	Name             string          `db:"name"`
	Stage            string          `db:"stage"`
	Status           job.TaskStatus  `db:"status"`
	Attempt          int             `db:"attempt"`
	Progress         float64         `db:"progress"`
	Message          string          `db:"message"`
	Items            int             `db:"items"`
	WorkerID         sql.NullString  `db:"worker_id"`
	FailureClass     sql.NullString  `db:"failure_class"`
	ErrorCode        sql.NullString  `db:"error_code"`
	ErrorMessage     sql.NullString  `db:"error_message"`
	ItemFailures     json.RawMessage `db:"item_failures"`
	ItemFailureCount int             `db:"item_failure_count"`
	Attempts         json.RawMessage `db:"attempts"`
	QueuedAt         sql.NullTime    `db:"queued_at"`
	StartedAt        sql.NullTime    `db:"started_at"`
	FinishedAt       sql.NullTime    `db:"finished_at"`
}

// taskFilter chooses tasks of a job. Zero members filter nothing, but for the last two.
type taskFilter struct {
	TaskID       string
	Statuses     []string
	Stage        string
	After        *place // nil for the beginning
	Limit        int
	ItemFailures int // how many of a task's failed items are read; at least 1
}

// tasks reads up to f.Limit tasks of a job in the order of the plan. The tasks are chosen before their wide halves are read.
func (s store) tasks(ctx context.Context, accountID, jobID string, f taskFilter) ([]taskRecord, error) {
	c := list.Owned("account_id", accountID)
	c.Add("job_id = ?", jobID)
	c.Equal("id", f.TaskID)
	c.Equal("stage", f.Stage)
	c.In("status", f.Statuses)
	if f.After != nil {
		c.Behind(planned, *f.After.Ordinal)
	}
	var rows []taskRecord
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS MATERIALIZED (
    SELECT * FROM tasks WHERE `+c.String()+` ORDER BY `+planned.By()+` LIMIT `+c.Arg(f.Limit)+`
)
SELECT t.id, t.ordinal, t.name, t.stage, t.status, t.attempt, t.progress, t.worker_id, t.queued_at, t.started_at, t.finished_at,
       coalesce(d.message, '') AS message, t.items, d.failure_class, d.error_code, d.error_message,
       coalesce(jsonb_path_query_array(d.item_failures, '$[0 to $last]', jsonb_build_object('last',
       `+c.Arg(f.ItemFailures-1)+`::int)),
       '[]') AS item_failures,
       coalesce(jsonb_array_length(d.item_failures), 0) AS item_failure_count,
       u.cpu_us, u.gpu_us, u.wall_ms, u.peak_memory_bytes, u.bytes_in, u.bytes_out, a.attempts
FROM chosen t LEFT JOIN task_details d ON d.task_id = t.id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(cpu_us), 0)::bigint AS cpu_us, coalesce(sum(gpu_us), 0)::bigint AS gpu_us, coalesce(sum(wall_ms),
    0)::bigint AS wall_ms,
           coalesce(max(peak_memory_bytes), 0) AS peak_memory_bytes,
           coalesce(sum(bytes_in), 0)::bigint AS bytes_in, coalesce(sum(bytes_out), 0)::bigint AS bytes_out
    FROM task_attempts WHERE task_id = t.id
) u
CROSS JOIN LATERAL (
    SELECT coalesce(json_agg(to_json(last) ORDER BY last.attempt), '[]') AS attempts
    FROM (SELECT * FROM task_attempts WHERE task_id = t.id ORDER BY attempt DESC LIMIT `+c.Arg(maxAttemptsShown)+`) last
) a
ORDER BY t.ordinal`, c.Args...)
	if err != nil {
		return nil, fmt.Errorf("reading tasks of job %s: %w", jobID, err)
	}
	return rows, nil
}
