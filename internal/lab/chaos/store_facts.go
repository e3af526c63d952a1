package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lib/pq"
)

// attemptRow is an attempt of a task, with what came of it.
type attemptRow struct {
	JobID             string        `db:"job_id"`
	TaskID            string        `db:"task_id"`
	Ordinal           int           `db:"ordinal"`
	Attempt           int           `db:"attempt"`
	WorkerID          string        `db:"worker_id"`
	Outcome           string        `db:"outcome"`
	ChargedMicropence int64         `db:"charged_micropence"`
	CPUMicroseconds   sql.NullInt64 `db:"cpu_us"`
}

// Ended is how many tasks of a job have ended.
func (w *World) Ended(ctx context.Context, jobID string) (int, error) {
	var n int
	err := w.db.GetContext(ctx, &n, `SELECT count(*) FROM tasks WHERE job_id = $1 AND status IN ('SUCCEEDED', 'FAILED',
		'CANCELLED')`, jobID)
	if err != nil && !away(err) {
		return 0, fmt.Errorf("count what has ended of %s: %w", jobID, err)
	}
	return n, nil
}

// AwaitEnded waits until so many tasks of a job have ended.
func (w *World) AwaitEnded(ctx context.Context, jobID string, tasks int) error {
	return w.Eventually(ctx, fmt.Sprintf("%d tasks of %s have ended", tasks, jobID), w.Bound(patience),
		func(ctx context.Context) (bool, error) {
			n, err := w.Ended(ctx, jobID)
			return n >= tasks, err
		})
}

// running are the attempts that are recorded as running on a worker.
func (w *World) running(ctx context.Context, workerID string) ([]attemptRow, error) {
	var rows []attemptRow
	err := w.db.SelectContext(ctx, &rows, `SELECT job_id, id AS task_id, ordinal, attempt, worker_id FROM tasks
		WHERE status = 'RUNNING' AND worker_id = $1 ORDER BY id`, workerID)
	if err != nil {
		return nil, fmt.Errorf("read what runs on %s: %w", workerID, err)
	}
	return rows, nil
}

// awaitRunning waits until a worker runs at least so many attempts, and returns them.
func (w *World) awaitRunning(ctx context.Context, p *Process, n int) (rows []attemptRow, err error) {
	err = w.Eventually(ctx, fmt.Sprintf("%s runs %d tasks", p.Name, n), w.Bound(patience), func(ctx context.Context) (bool, error) {
		rows, err = w.running(ctx, p.WorkerID())
		return len(rows) >= n, err
	})
	return rows, err
}

// queued are a job's attempts that wait for a worker.
func (w *World) queued(ctx context.Context, jobID string) ([]attemptRow, error) {
	var rows []attemptRow
	err := w.db.SelectContext(ctx, &rows, `SELECT job_id, id AS task_id, ordinal, attempt FROM tasks
		WHERE job_id = $1 AND status = 'QUEUED' ORDER BY ordinal`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the queued tasks of %s: %w", jobID, err)
	}
	return rows, nil
}

// attempts are the settled attempts of a job's tasks.
func (w *World) attempts(ctx context.Context, jobID string) ([]attemptRow, error) {
	var rows []attemptRow
	err := w.db.SelectContext(ctx, &rows, `SELECT t.job_id, a.task_id, t.ordinal, a.attempt, a.worker_id, a.outcome,
		a.charged_micropence, a.cpu_us
		FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE t.job_id = $1 ORDER BY t.ordinal, a.attempt`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the attempts of %s: %w", jobID, err)
	}
	return rows, nil
}

// nextStart is when a later attempt of a task was first recorded as running; false when none has been. An attempt that ended before
// its start was recorded counts with its end.
func (w *World) nextStart(ctx context.Context, lost attemptRow) (at time.Time, started bool, err error) {
	var first sql.NullTime
	err = w.db.GetContext(ctx, &first, `SELECT min(at) FROM job_events WHERE job_id = $1 AND kind = 'task'
		AND (body ->> 'taskIndex')::int = $2
		AND (body ->> 'attempt')::int > $3`, lost.JobID, lost.Ordinal, lost.Attempt)
	if err != nil {
		return at, false, fmt.Errorf("read when %s started again: %w", lost.TaskID, err)
	}
	return first.Time, first.Valid, nil
}

// outcomeOf is what became of an attempt; "" while it is not settled.
func (w *World) outcomeOf(ctx context.Context, a attemptRow) (outcome string, err error) {
	err = w.db.GetContext(ctx, &outcome, `SELECT coalesce((SELECT outcome FROM task_attempts WHERE task_id = $1 AND attempt = $2),
		'')`, a.TaskID, a.Attempt)
	if err != nil {
		return "", fmt.Errorf("read what became of %s: %w", a.TaskID, err)
	}
	return outcome, nil
}

// startedSince is how many tasks of a job were dispatched and started after a moment.
func (w *World) startedSince(ctx context.Context, jobID string, moment time.Time) (int, error) {
	var n int
	err := w.db.GetContext(ctx, &n, `SELECT count(*) FROM tasks WHERE job_id = $1 AND queued_at > $2 AND started_at > $2`, jobID,
		moment)
	if err != nil && !away(err) {
		return 0, fmt.Errorf("count what has started of %s: %w", jobID, err)
	}
	return n, nil
}

// jobsNamed are the jobs of an account with a name. A submission whose name is its idempotency key has two when it was stored
// twice.
func (w *World) jobsNamed(ctx context.Context, accountID, name string) ([]string, error) {
	var jobs []string
	err := w.db.SelectContext(ctx, &jobs, `SELECT id FROM jobs WHERE account_id = $1 AND job_name = $2 ORDER BY id`, accountID,
		name)
	if err != nil {
		return nil, fmt.Errorf("read the jobs named %s: %w", name, err)
	}
	return jobs, nil
}

// blocked is how many of the database's sessions wait for a lock, or for a standby to confirm their commit.
func (w *World) blocked(ctx context.Context) (n int, err error) {
	err = w.db.GetContext(ctx, &n, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND wait_event_type = 'Lock' OR wait_event = 'SyncRep'`)
	if err != nil {
		return 0, fmt.Errorf("look for waiting sessions: %w", err)
	}
	return n, nil
}

// holdCommits makes every commit wait for a standby that there is not, until it is called with false: what was committed meanwhile
// is on the disk, and nobody has been told.
func (w *World) holdCommits(ctx context.Context, hold bool) error {
	setting := `ALTER SYSTEM RESET synchronous_standby_names`
	if hold {
		setting = `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`
	}
	if _, err := w.db.ExecContext(ctx, setting); err != nil {
		return fmt.Errorf("hold commits (%t): %w", hold, err)
	}
	if _, err := w.db.ExecContext(ctx, `SELECT pg_reload_conf()`); err != nil {
		return fmt.Errorf("hold commits (%t): %w", hold, err)
	}
	return nil
}

// lockTable holds a table against everybody until release is called. The server ends it by itself after its limit for sessions that
// are idle in a transaction.
func (w *World) lockTable(ctx context.Context, table string) (release func() error, err error) {
	tx, err := w.db.BeginTxx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", table, err)
	}
	if _, err := tx.ExecContext(ctx, `LOCK TABLE `+table+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		_ = tx.Rollback() // the first error tells more
		return nil, fmt.Errorf("lock %s: %w", table, err)
	}
	return tx.Rollback, nil
}

// lockCredit holds an account's money, as a movement of it does, until release is called.
func (w *World) lockCredit(ctx context.Context, accountID string) (release func() error, err error) {
	tx, err := w.db.BeginTxx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("lock the money of %s: %w", accountID, err)
	}
	if _, err := tx.ExecContext(ctx, `SELECT FROM credit_accounts WHERE account_id = $1 FOR UPDATE`, accountID); err != nil {
		_ = tx.Rollback() // the first error tells more
		return nil, fmt.Errorf("lock the money of %s: %w", accountID, err)
	}
	return tx.Rollback, nil
}

// missingJobs are those of the ids that name no job.
func (w *World) missingJobs(ctx context.Context, jobs []string) ([]string, error) {
	var missing []string
	err := w.db.SelectContext(ctx, &missing, `SELECT id FROM unnest($1::text[]) AS asked (id) WHERE NOT EXISTS (SELECT FROM jobs j
		WHERE j.id = asked.id)`, pq.Array(jobs))
	if err != nil {
		return nil, fmt.Errorf("look for the acknowledged jobs: %w", err)
	}
	return missing, nil
}

// noteCloseRaces keeps how many of the cancelled jobs had a task that succeeded all the same: the cancel came between the program's
// end and its report.
func (w *World) noteCloseRaces(ctx context.Context) error {
	var n int
	err := w.db.GetContext(ctx, &n, `SELECT count(DISTINCT j.id) FROM jobs j JOIN tasks t ON t.job_id = j.id
		WHERE j.status = 'CANCELLED' AND t.status = 'SUCCEEDED'`)
	if err != nil {
		return fmt.Errorf("count the close races: %w", err)
	}
	w.Figure("cancelled_after_success_jobs", float64(n))
	return nil
}
