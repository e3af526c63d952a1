package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
)

// repeatStore keeps repetitions. A transaction locks the job before the repetition, as the deletion of its files does.
type repeatStore struct{ *sqlx.DB }

// repeatTx is a transaction that changes a repetition.
type repeatTx struct{ postgresTx }

// The states of a repetition that has not ended.
const (
	repeatWaiting = "WAITING"
	repeatQueued  = "QUEUED"
	repeatRunning = "RUNNING"
)

// repeatRow is a repetition.
type repeatRow struct {
	ID             string         `db:"id"`
	AccountID      string         `db:"account_id"`
	JobID          string         `db:"job_id"`
	TaskID         string         `db:"task_id"`
	TaskAttempt    int            `db:"task_attempt"` // that is made again
	Ordinal        int            `db:"ordinal"`      // of the task
	Engine         string         `db:"engine"`
	Queue          string         `db:"queue"`
	Toolchain      string         `db:"toolchain"`
	FirstWorker    string         `db:"first_worker"`
	FirstCPUMicros int64          `db:"first_cpu_us"`
	Status         string         `db:"status"`
	Attempt        int            `db:"attempt"`
	Losses         int            `db:"losses"`
	GivenBack      int            `db:"given_back"`
	WorkerID       sql.NullString `db:"worker_id"`
	Witness        []byte         `db:"claim_witness"`
	ChosenAt       time.Time      `db:"chosen_at"`
	Void           string         `db:"void"` // why it cannot be compared; "" while it can
}

func (r repeatRow) inFlight() bool { return r.Status == repeatQueued || r.Status == repeatRunning }

// task is the repetition as what is in flight is watched. It has the place of the task whose shard it runs.
func (r repeatRow) task() TaskRow {
	return TaskRow{ID: r.ID, JobID: r.JobID, AccountID: r.AccountID, Ordinal: r.Ordinal, Queue: r.Queue,
		Status: job.TaskStatus(r.Status), Attempt: r.Attempt, WorkerID: r.WorkerID, Witness: r.Witness}
}

const (
	repeatVoid = `CASE WHEN j.files_deleted_at IS NOT NULL THEN '` + repeatFilesDeleted + `'
		WHEN t.id IS NULL OR t.attempt <> r.task_attempt OR t.status <> 'SUCCEEDED' THEN '` + repeatSuperseded + `'
		WHEN EXISTS (SELECT FROM job_inputs i WHERE i.job_id = r.job_id AND i.lost_at IS NOT NULL)
		THEN '` + repeatInputsDeleted + `' ELSE '' END`
	repeatRows = `SELECT r.id, r.account_id, r.job_id, r.task_id, r.task_attempt, coalesce(t.ordinal, 0) AS ordinal,
		r.engine, r.queue, r.toolchain, r.first_worker, r.first_cpu_us, r.status, r.attempt, r.losses, r.given_back,
		r.worker_id, r.claim_witness, r.chosen_at, ` + repeatVoid + ` AS void
		FROM repeats r LEFT JOIN jobs j ON j.id = r.job_id LEFT JOIN tasks t ON t.id = r.task_id`
)

// draw is what decides about a draw.
type draw struct {
	seed            []byte // of the first draw ever
	chance          float64
	from, until, at time.Time
	newID           func() string
	compares        func(queueName string, file engines.Artifact) bool
}

// drawPlace is up to which job tasks have been drawn.
type drawPlace struct {
	Seed       []byte    `db:"seed"`
	FinishedAt time.Time `db:"finished_at"`
	JobID      string    `db:"job_id"`
}

// draw draws from the next jobs that have ended, and returns how many of their tasks are to be run again.
func (db repeatStore) draw(ctx context.Context, d draw) (drawn int, err error) {
	err = postgres.InTx(ctx, db.DB, func(tx *sqlx.Tx) error {
		place, err := drawnTo(ctx, tx, d)
		if err != nil {
			return err
		}
		jobIDs, next, err := endedSince(ctx, tx, place, d)
		if err != nil || len(jobIDs) == 0 {
			return err
		}
		found, err := chooseFrom(ctx, tx, jobIDs, place.Seed, d)
		if err != nil {
			return err
		}
		if drawn, err = insertRepeats(ctx, tx, found, d); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE repeat_draws SET finished_at = $1, job_id = $2`, next.FinishedAt, next.JobID)
		if err != nil {
			return fmt.Errorf("note what was drawn from: %w", err)
		}
		return nil
	})
	return drawn, err
}

// drawnTo locks and returns the place of the last draw, or the first place there is.
func drawnTo(ctx context.Context, tx *sqlx.Tx, d draw) (place drawPlace, err error) {
	const read = `SELECT seed, finished_at, job_id FROM repeat_draws FOR UPDATE`
	err = tx.GetContext(ctx, &place, read)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = tx.ExecContext(ctx, `INSERT INTO repeat_draws (only_one, seed, finished_at, job_id) VALUES (true, $1, $2, '')
			ON CONFLICT DO NOTHING`, postgres.Bytes(d.seed), d.from)
		if err == nil {
			err = tx.GetContext(ctx, &place, read)
		}
	}
	if err != nil {
		return place, fmt.Errorf("look what was drawn from last: %w", err)
	}
	if place.FinishedAt.Before(d.from) {
		place.FinishedAt, place.JobID = d.from, ""
	}
	return place, nil
}

// endedSince returns the next jobs behind a place, and that of the last of them.
func endedSince(ctx context.Context, tx *sqlx.Tx, place drawPlace, d draw) (jobIDs []string, next drawPlace, err error) {
	var rows []struct {
		ID         string    `db:"id"`
		FinishedAt time.Time `db:"finished_at"`
		Tasks      int       `db:"task_count"`
	}
	err = tx.SelectContext(ctx, &rows, `SELECT id, finished_at, task_count FROM jobs
		WHERE finished_at IS NOT NULL AND (finished_at, id) > ($1, $2) AND finished_at <= $3
		ORDER BY finished_at, id LIMIT $4`, place.FinishedAt, place.JobID, d.until, drawJobs)
	if err != nil {
		return nil, place, fmt.Errorf("look for jobs to draw from: %w", err)
	}
	tasks := 0
	for _, row := range rows {
		if tasks += row.Tasks; tasks > drawTasks && len(jobIDs) > 0 {
			break
		}
		jobIDs, next = append(jobIDs, row.ID), drawPlace{FinishedAt: row.FinishedAt, JobID: row.ID}
	}
	return jobIDs, next, nil
}

// repeatCandidate is a task that may be run again.
type repeatCandidate struct {
	TaskID      string `db:"id"`
	JobID       string `db:"job_id"`
	AccountID   string `db:"account_id"`
	Attempt     int    `db:"attempt"`
	Queue       string `db:"queue"`
	Toolchain   string `db:"toolchain"`
	FirstWorker string `db:"worker_id"`
	CPUMicros   int64  `db:"cpu_us"`
}

// chooseFrom chooses among the tasks of some jobs that have ended well, were really run, make the same each time, and need nobody's
// licence; of these, those that have left a file to compare.
func chooseFrom(ctx context.Context, tx *sqlx.Tx, jobIDs []string, seed []byte, d draw) ([]repeatCandidate, error) {
	var all, found []repeatCandidate
	err := tx.SelectContext(ctx, &all, `SELECT t.id, t.job_id, t.account_id, t.attempt, t.queue,
			coalesce(d.toolchain, '') AS toolchain, coalesce(a.worker_id, '') AS worker_id, a.cpu_us
		FROM tasks t JOIN jobs j ON j.id = t.job_id AND j.files_deleted_at IS NULL
		JOIN task_attempts a ON a.task_id = t.id AND a.attempt = t.attempt AND a.outcome = 'SUCCEEDED' AND a.reused_task IS NULL
		LEFT JOIN task_details d ON d.task_id = t.id
		WHERE t.job_id = ANY($1) AND t.status = 'SUCCEEDED' AND octet_length(t.identity) > 0
			AND t.license_key IS NULL ORDER BY t.id`,
		pq.Array(jobIDs))
	if err != nil {
		return nil, fmt.Errorf("read the tasks of %d jobs: %w", len(jobIDs), err)
	}
	for _, c := range all {
		if !isDrawn(seed, d.chance, c.TaskID, c.Attempt) {
			continue
		}
		files, err := filesOf(ctx, tx, c.TaskID)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if d.compares(c.Queue, file.Artifact) {
				found = append(found, c)
				break
			}
		}
	}
	return found, nil
}

// filesOf are the results that a task has left.
func filesOf(ctx context.Context, tx *sqlx.Tx, taskID string) ([]queue.StoredArtifact, error) {
	var rows []struct {
		Name   string         `db:"name"`
		SHA256 sql.NullString `db:"sha256"`
	}
	err := tx.SelectContext(ctx, &rows, `SELECT name, sha256 FROM artifacts WHERE task_id = $1 AND role = $2`, taskID,
		engines.RoleResult)
	if err != nil {
		return nil, fmt.Errorf("read what task %s has left: %w", taskID, err)
	}
	files := make([]queue.StoredArtifact, len(rows))
	for i, row := range rows {
		files[i].Name, files[i].Role, files[i].SHA256 = row.Name, engines.RoleResult, row.SHA256.String
	}
	return files, nil
}

func insertRepeats(ctx context.Context, tx *sqlx.Tx, found []repeatCandidate, d draw) (inserted int, err error) {
	for _, c := range found {
		done, err := tx.ExecContext(ctx, `INSERT INTO repeats (id, account_id, job_id, task_id, task_attempt, engine, queue,
				toolchain, first_worker, first_cpu_us, status, chosen_at, not_before)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) ON CONFLICT (task_id, task_attempt) DO NOTHING`,
			d.newID(), c.AccountID, c.JobID, c.TaskID, c.Attempt, queue.Class(c.Queue).Engine, c.Queue, c.Toolchain, c.FirstWorker,
			c.CPUMicros, repeatWaiting, d.at)
		if err != nil {
			return 0, fmt.Errorf("note that task %s is run again: %w", c.TaskID, err)
		}
		n, err := done.RowsAffected()
		if err != nil {
			return 0, fmt.Errorf("note that task %s is run again: %w", c.TaskID, err)
		}
		inserted += int(n)
	}
	return inserted, nil
}

// void are the open repetitions that have nothing to be compared with any more.
func (db repeatStore) void(ctx context.Context) ([]repeatRow, error) {
	return db.read(ctx, `WHERE r.ended_at IS NULL AND `+repeatVoid+` <> '' ORDER BY r.id LIMIT 100`)
}

// waiting are repetitions of these queues that may be handed out, the first that were drawn first.
func (db repeatStore) waiting(ctx context.Context, queueNames []string, now time.Time, limit int) ([]repeatRow, error) {
	return db.read(ctx, `WHERE r.ended_at IS NULL AND r.status = 'WAITING' AND r.queue = ANY($1) AND r.not_before <= $2
		ORDER BY r.chosen_at, r.id LIMIT $3`, pq.Array(queueNames), now, limit)
}

func (db repeatStore) inFlight(ctx context.Context) ([]repeatRow, error) {
	return db.read(ctx, `WHERE r.ended_at IS NULL AND r.status IN ('QUEUED', 'RUNNING') ORDER BY r.id`)
}

func (db repeatStore) read(ctx context.Context, where string, args ...any) ([]repeatRow, error) {
	var rows []repeatRow
	if err := db.SelectContext(ctx, &rows, repeatRows+" "+where, args...); err != nil {
		return nil, fmt.Errorf("read repetitions: %w", err)
	}
	return rows, nil
}

// stale are those of the attempts of repetitions that are not the current ones.
func (db repeatStore) stale(ctx context.Context, refs []queue.Ref) ([]queue.Ref, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	inFlight, err := db.inFlight(ctx)
	if err != nil {
		return nil, err
	}
	current := map[queue.Ref]bool{}
	for _, r := range inFlight {
		current[queue.Ref{TaskID: r.ID, Attempt: r.Attempt}] = true
	}
	var stale []queue.Ref
	for _, ref := range refs {
		if !current[ref] {
			stale = append(stale, ref)
		}
	}
	return stale, nil
}

// change runs do on a repetition whose row, and its job's, nobody else changes meanwhile; not at all for one that is unknown.
func (db repeatStore) change(ctx context.Context, id string, do func(repeatTx, repeatRow) error) error {
	return postgres.InTx(ctx, db.DB, func(tx *sqlx.Tx) error {
		var locked []string
		err := tx.SelectContext(ctx, &locked, `SELECT id FROM jobs WHERE id = (SELECT job_id FROM repeats WHERE id = $1)
			FOR SHARE`, id)
		if err != nil {
			return fmt.Errorf("lock the job of %s: %w", id, err)
		}
		var rows []repeatRow
		if err := tx.SelectContext(ctx, &rows, repeatRows+` WHERE r.id = $1 FOR UPDATE OF r`, id); err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		if len(rows) == 0 {
			return nil
		}
		return do(repeatTx{postgresTx{Tx: tx, Books: billing.InPostgres(tx), late: newLate()}}, rows[0])
	})
}

// shardOf is what a repetition runs, with its inputs; known is false when that cannot be found out any more.
func (tx repeatTx) shardOf(
	ctx context.Context, r repeatRow,
) (shard engines.Shard, inputs []queue.ResolvedInput, known bool, err error) {
	tasks := []TaskRow{r.task()}
	if err := tx.ReadShards(ctx, tasks); err != nil {
		return shard, nil, false, err
	}
	if known = json.Unmarshal(tasks[0].Shard, &shard) == nil; !known {
		return shard, nil, false, nil
	}
	inputs, failure, err := outputCache{}.resolve(ctx, tx, r.JobID, shard)
	return shard, inputs, failure == nil, err
}

func (tx repeatTx) madeBy(ctx context.Context, r repeatRow) ([]queue.StoredArtifact, error) {
	return filesOf(ctx, tx.Tx, r.TaskID)
}

// queueRepeat begins the next attempt.
func (tx repeatTx) queueRepeat(ctx context.Context, r repeatRow, witness []byte) (repeatRow, error) {
	r.Attempt, r.Status, r.Witness, r.WorkerID = r.Attempt+1, repeatQueued, witness, sql.NullString{}
	return r, tx.update(ctx, r, `status = 'QUEUED', attempt = $2, claim_witness = $3, worker_id = NULL`, r.Attempt,
		postgres.Bytes(witness))
}

func (tx repeatTx) startRepeat(ctx context.Context, r repeatRow, workerID string) error {
	return tx.update(ctx, r, `status = 'RUNNING', worker_id = $2`, workerID)
}

// returnRepeat lets a repetition wait for its next attempt.
func (tx repeatTx) returnRepeat(ctx context.Context, r repeatRow, losses, givenBack int, notBefore time.Time) error {
	return tx.update(ctx, r, `status = 'WAITING', worker_id = NULL, claim_witness = NULL, losses = losses + $2,
		given_back = given_back + $3, not_before = $4`, losses, givenBack, notBefore)
}

func (tx repeatTx) addRepeatUse(ctx context.Context, r repeatRow, cpuMicros int64) error {
	return tx.update(ctx, r, `cpu_us = cpu_us + $2`, cpuMicros)
}

// endRepeat keeps a verdict, and has all that was stored for the repetition removed.
func (tx repeatTx) endRepeat(ctx context.Context, r repeatRow, end repeatEnd, at time.Time) error {
	err := tx.update(ctx, r, `status = $2, reason = $3, file = $4, sha256 = $5, sha256_again = $6, ended_at = $7,
		claim_witness = NULL`, string(end.verdict), end.reason, end.file, end.sha256, end.sha256Then, at)
	if err != nil || r.Attempt == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO removals (prefix, account_id, asked_at, due_at)
		VALUES ('accounts/' || $1::text || '/jobs/' || $2::text || '/' || $3::text || '/', $1, $4, $4)
		ON CONFLICT (prefix) DO UPDATE SET asked_at = excluded.asked_at, due_at = excluded.due_at, looked = 0`,
		r.AccountID, r.JobID, r.ID, at)
	if err != nil {
		return fmt.Errorf("have the files of %s removed: %w", r.ID, err)
	}
	return nil
}

func (tx repeatTx) update(ctx context.Context, r repeatRow, set string, args ...any) error {
	if _, err := tx.ExecContext(ctx, `UPDATE repeats SET `+set+` WHERE id = $1`, append([]any{r.ID}, args...)...); err != nil {
		return fmt.Errorf("change %s: %w", r.ID, err)
	}
	return nil
}

// RepeatCount is how many repetitions of an engine have come to something. Open ones have no verdict yet.
type RepeatCount struct {
	Engine  string `db:"engine"`
	Verdict string `db:"verdict"` // a RepeatVerdict, or "" while it is open
	All     int    `db:"n"`
	Recent  int    `db:"recent"` // those that have ended since a moment
}

// CountRepeats counts the repetitions of all accounts, and tells nothing else of them.
func CountRepeats(ctx context.Context, db *sqlx.DB, since time.Time) ([]RepeatCount, error) {
	var counts []RepeatCount
	err := db.SelectContext(tenant.Everyone(ctx, "anybody may know how often running tasks again made the same"), &counts,
		`SELECT engine, CASE WHEN ended_at IS NULL THEN '' ELSE status END AS verdict, count(*) AS n,
			count(*) FILTER (WHERE ended_at >= $1) AS recent
		FROM repeats GROUP BY 1, 2 ORDER BY 1, 2`, since)
	if err != nil {
		return nil, fmt.Errorf("count repetitions: %w", err)
	}
	return counts, nil
}

// DifferentRepeat is a repetition that has made something else than its task.
type DifferentRepeat struct {
	ID          string    `db:"id" json:"id"`
	AccountID   string    `db:"account_id" json:"accountId"`
	JobID       string    `db:"job_id" json:"jobId"`
	TaskID      string    `db:"task_id" json:"taskId"`
	Attempt     int       `db:"task_attempt" json:"attempt"`
	Engine      string    `db:"engine" json:"engine"`
	File        string    `db:"file" json:"file"` // the first that differs; "" once the job's files were deleted
	SHA256      string    `db:"sha256" json:"sha256"`
	SHA256Again string    `db:"sha256_again" json:"sha256Again"`
	FirstWorker string    `db:"first_worker" json:"firstWorker"`
	Worker      string    `db:"worker_id" json:"worker"`
	Toolchain   string    `db:"toolchain" json:"toolchain"`
	EndedAt     time.Time `db:"ended_at" json:"endedAt"`
}

// ListDifferentRepeats returns the newest repetitions that made something else, for the operator.
func ListDifferentRepeats(ctx context.Context, db *sqlx.DB, limit int) ([]DifferentRepeat, error) {
	found := []DifferentRepeat{}
	err := db.SelectContext(ctx, &found, `SELECT id, account_id, job_id, task_id, task_attempt, engine, file, sha256, sha256_again,
			first_worker, coalesce(worker_id, '') AS worker_id, toolchain, ended_at
		FROM repeats WHERE status = 'DIFFERENT' ORDER BY ended_at DESC, id LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list repetitions that differ: %w", err)
	}
	return found, nil
}
