package erasure

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

type jobRow struct {
	ID             string       `db:"id"`
	Status         job.Status   `db:"status"`
	FinishedAt     sql.NullTime `db:"finished_at"`
	FilesDeletedAt sql.NullTime `db:"files_deleted_at"`
}

func lockJobs(ctx context.Context, tx *sqlx.Tx, accountID string, ids []string) (map[string]jobRow, error) {
	var rows []jobRow
	err := tx.SelectContext(ctx, &rows, `SELECT id, status, finished_at, files_deleted_at FROM jobs
		WHERE account_id = $1 AND id = ANY($2) ORDER BY id FOR NO KEY UPDATE`, accountID, pq.Array(ids))
	found := make(map[string]jobRow, len(rows))
	for _, row := range rows {
		found[row.ID] = row
	}
	return found, wrap(err, "lock %d jobs", len(ids))
}

// lockFiles keeps new jobs of the account, which share this lock, from coming to read its files until the transaction ends.
func lockFiles(ctx context.Context, tx *sqlx.Tx, accountID string) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(`+scheduler.FilesLock+`)`, accountID)
	return wrap(err, "lock the files of %s", accountID)
}

// belowKey selects, from a prefix that ends with a slash in a parameter, the keys below it: the character after the slash
// is 0.
func belowKey(column, parameter string) string {
	return column + ` >= ` + parameter + ` AND ` + column + ` < rtrim(` + parameter + `, '/') || '0'`
}

// deletedBefore is when the files of the job went, if they have gone.
func deletedBefore(ctx context.Context, tx *sqlx.Tx, o Order) (at sql.NullTime, err error) {
	err = tx.GetContext(ctx, &at, `SELECT files_deleted_at FROM jobs WHERE account_id = $1 AND id = $2`, o.AccountID, o.JobID)
	if errors.Is(err, sql.ErrNoRows) {
		return at, nil
	}
	return at, wrap(err, "look whether the files of %s have gone", o.JobID)
}

// selectReaders finds the other jobs that read what the job has made, in the order of their ids.
func selectReaders(ctx context.Context, tx *sqlx.Tx, o Order) ([]string, error) {
	var ids []string
	err := tx.SelectContext(ctx, &ids, `
SELECT DISTINCT job_id FROM job_inputs WHERE account_id = $1 AND job_id <> $2 AND `+belowKey("storage_key", "$3::text")+`
ORDER BY 1`, o.AccountID, o.JobID, jobPrefix(o.AccountID, o.JobID))
	return ids, wrap(err, "look for jobs that read the files of %s", o.JobID)
}

func countOutputs(ctx context.Context, tx *sqlx.Tx, jobID string) (files, bytes int64, err error) {
	err = tx.QueryRowxContext(ctx, `SELECT count(*), coalesce(sum(byte_size), 0)::bigint FROM artifacts WHERE job_id = $1`,
		jobID).Scan(&files, &bytes)
	return files, bytes, wrap(err, "count the files of %s", jobID)
}

// upload is one that was deleted.
type upload struct {
	StorageKey string `db:"storage_key"`
	ByteSize   int64  `db:"byte_size"`
	InProject  bool   `db:"in_project"`
}

// prefix is what is removed with it: the folder that it has for itself, or in a project package the one object.
func (u upload) prefix() string {
	if u.InProject {
		return u.StorageKey
	}
	return u.StorageKey[:strings.LastIndexByte(u.StorageKey, '/')+1]
}

// unit matches, in a key and in any text, the folder of an upload: its own, or that of its project package. What one job
// reads of a package may lead to the rest of it, so a package stays or goes as a whole.
const unit = `'(accounts/[^/"\\]+/uploads/(?:projects/)?[^/"\\]+/)'`

// deleteUploads forgets the uploads that the job refers to, and no other job and no project. past is the bound of belowKey:
// computed beside the comparison it would keep that from the index, since row-level security lets nothing else be looked at first.
func deleteUploads(ctx context.Context, tx *sqlx.Tx, o Order) ([]upload, error) {
	var gone []upload
	err := tx.SelectContext(ctx, &gone, `
WITH mine AS (
    SELECT DISTINCT unit, rtrim(unit, '/') || '0' AS past FROM (
        SELECT substring(storage_key from `+unit+`) AS unit FROM job_inputs WHERE job_id = $2) AS of_job
), others AS (
    SELECT mine.unit FROM mine WHERE EXISTS (SELECT FROM job_inputs i
        WHERE i.job_id <> $2 AND i.storage_key >= mine.unit AND i.storage_key < mine.past)
    UNION
    SELECT m[1] FROM projects p JOIN project_contents c ON c.project_id = p.id, regexp_matches(c.content, `+unit+`, 'g') m
    WHERE p.account_id = $1 AND p.deleted_at IS NULL
), gone AS (
    SELECT unit FROM mine WHERE unit IS NOT NULL EXCEPT SELECT unit FROM others
)
DELETE FROM uploads WHERE account_id = $1 AND used_at IS NOT NULL AND substring(storage_key from `+unit+`) IN (SELECT unit FROM gone)
RETURNING storage_key, byte_size, project_id IS NOT NULL AS in_project`, o.AccountID, o.JobID)
	if err != nil {
		return nil, wrap(err, "delete the uploads of %s", o.JobID)
	}
	keys := make([]string, len(gone))
	for i, u := range gone {
		keys[i] = u.StorageKey
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM multipart_uploads WHERE account_id = $1 AND storage_key = ANY($2)
		AND state NOT IN ('open', 'completing')`,
		o.AccountID, pq.Array(keys))
	return gone, wrap(err, "forget how the uploads of %s came", o.JobID)
}

// revokeShares ends the shares whose revision names the job, its files or its results.
func revokeShares(ctx context.Context, tx *sqlx.Tx, o Order) error {
	_, err := tx.ExecContext(ctx, `
WITH names AS (
    SELECT $2::text AS id UNION SELECT id FROM docking_batches WHERE job_id = $2 UNION SELECT id FROM artifacts WHERE job_id = $2
    UNION SELECT id FROM docking_runs WHERE job_id = $2
    UNION SELECT r.id FROM docking_results r JOIN docking_runs d ON d.id = r.run_id WHERE d.job_id = $2
    UNION SELECT p.id FROM docking_poses p JOIN docking_results r ON r.id = p.result_id JOIN docking_runs d ON d.id = r.run_id
    WHERE d.job_id = $2
)
UPDATE project_shares s SET revoked_at = $3
FROM projects p, project_revisions r, project_contents c
WHERE p.account_id = $1 AND p.deleted_at IS NULL AND s.project_id = p.id AND s.revoked_at IS NULL AND r.project_id = p.id
AND r.version = s.version
    AND c.project_id = p.id AND c.sha256 = r.content_sha256
    AND EXISTS (SELECT FROM regexp_matches(c.content, '\m((?:job|batch|run|result|pose|art)_[0-9a-f]{32})\M', 'g') m
    WHERE m[1] IN (SELECT id FROM names))`,
		o.AccountID, o.JobID, o.At)
	return wrap(err, "revoke what shares %s", o.JobID)
}

// deleteResults removes the rows of what a job has made and found. The names of its docking run and batch stay, and what
// the books and the audit read of its tasks.
func deleteResults(ctx context.Context, tx *sqlx.Tx, jobID string, at time.Time) error {
	const runs, tasks = `(SELECT id FROM docking_runs WHERE job_id = $1)`, `(SELECT id FROM tasks WHERE job_id = $1)`
	_, err := tx.ExecContext(ctx, `INSERT INTO deleted_results (id, account_id, job_id, deleted_at)
		SELECT id, account_id, job_id, $2::timestamptz FROM docking_runs WHERE job_id = $1 UNION SELECT id, account_id, job_id, $2
		FROM docking_batches WHERE job_id = $1
		ON CONFLICT DO NOTHING`, jobID, at)
	if err != nil {
		return wrap(err, "keep the names of what %s found", jobID)
	}
	for _, statement := range []string{
		`DELETE FROM docking_preparations WHERE task_id IN ` + tasks,
		`UPDATE docking_runs SET reproduces_run_id = NULL WHERE reproduces_run_id IN ` + runs,
		`DELETE FROM docking_results WHERE run_id IN ` + runs, // and with them the poses
		`WITH gone AS (DELETE FROM docking_runs WHERE job_id = $1 RETURNING id, experiment_id),
			batches AS (DELETE FROM docking_batches WHERE job_id = $1 RETURNING id)
			DELETE FROM docking_experiments e WHERE id IN (SELECT experiment_id FROM gone)
				AND NOT EXISTS (SELECT FROM docking_runs r WHERE r.experiment_id = e.id AND r.job_id <> $1)
				AND NOT EXISTS (SELECT FROM docking_batches b WHERE b.experiment_id = e.id AND b.job_id <> $1)`,
		`DELETE FROM searches WHERE job_id = $1`, // and with them the queries
		`WITH gone AS (DELETE FROM renders WHERE job_id = $1 RETURNING account_id, scene, engine)
			DELETE FROM render_costs c USING gone g WHERE c.account_id = g.account_id AND c.scene = g.scene AND c.engine = g.engine
				AND NOT EXISTS (SELECT FROM renders r WHERE r.account_id = g.account_id AND r.scene = g.scene
				AND r.engine = g.engine AND r.job_id <> $1)`,
		`DELETE FROM task_checkpoints WHERE task_id IN ` + tasks,
		`DELETE FROM kept_work WHERE task_id IN ` + tasks,
		`DELETE FROM known_work WHERE task_id IN ` + tasks,
		`UPDATE task_details SET summary = NULL, item_failures = NULL, message = '' WHERE task_id IN ` + tasks,
		`DELETE FROM artifacts WHERE job_id = $1`,
		`DELETE FROM receipts WHERE job_id = $1`,
		`UPDATE repeats SET file = '' WHERE job_id = $1 AND file <> ''`, // open ones the scheduler ends
	} {
		if _, err := tx.ExecContext(ctx, statement, jobID); err != nil {
			return wrap(err, "delete what %s made and found", jobID)
		}
	}
	return nil
}

// loseInputs tells the jobs that read the job's files that these are gone, and lets go of what the job itself read.
func loseInputs(ctx context.Context, tx *sqlx.Tx, o Order) error {
	_, err := tx.ExecContext(ctx, `UPDATE job_inputs SET lost_at = $3 WHERE account_id = $1 AND `+
		belowKey("storage_key", "$2::text"),
		o.AccountID, jobPrefix(o.AccountID, o.JobID), o.At)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM job_inputs WHERE job_id = $1`, o.JobID)
	}
	return wrap(err, "note who has lost the files of %s", o.JobID)
}

// Reason is what the history of a job says of the deletion of its files.
const Reason = "its files were deleted by its owner"

// markDeleted writes the deletion into the job, its history and its watchers' events: as its state, which stays as it was.
func markDeleted(ctx context.Context, tx *sqlx.Tx, owner jobRow, at time.Time) error {
	event, err := json.Marshal(map[string]any{"status": owner.Status, "reason": Reason, "terminal": true})
	if err != nil {
		return wrap(err, "encode the event of %s", owner.ID)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE jobs SET files_deleted_at = $2, updated_at = $2 WHERE id = $1`, owner.ID,
		at); err != nil {
		return wrap(err, "mark %s", owner.ID)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO job_status_history (job_id, seq, status, reason, at)
		SELECT $1, coalesce(max(seq), 0) + 1, $2, $3, $4 FROM job_status_history WHERE job_id = $1`, owner.ID, owner.Status, Reason, at)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO job_events (account_id, job_id, kind, body, at)
			SELECT account_id, id, 'status', $2, $3 FROM jobs WHERE id = $1`, owner.ID, string(event), at)
	}
	return wrap(err, "write the deletion into the history of %s", owner.ID)
}

// removal is a deletion from the object store that is due.
type removal struct {
	Prefix    string    `db:"prefix"`
	AccountID string    `db:"account_id"`
	AskedAt   time.Time `db:"asked_at"`
	Looked    int       `db:"looked"`
}

// below tells whether everything below the prefix is meant, and not one object.
func (r removal) below() bool { return strings.HasSuffix(r.Prefix, "/") }

func (r removal) isAccount() bool { return r.Prefix == accountPrefix(r.AccountID) }

func (r removal) firstLook() bool { return r.Looked == 0 }

func insertRemovals(ctx context.Context, tx *sqlx.Tx, accountID string, prefixes []string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO removals (prefix, account_id, asked_at, due_at) SELECT unnest($2::text[]), $1, $3, $3
		ON CONFLICT (prefix) DO UPDATE SET asked_at = excluded.asked_at, due_at = excluded.due_at, looked = 0`, accountID, pq.Array(prefixes), at)
	return wrap(err, "write down what is to be deleted")
}

// claimRemoval takes what has been due longest, which is due again when the lease ends; nil when nothing is due.
func claimRemoval(ctx context.Context, db *sqlx.DB, now, until time.Time) (*removal, error) {
	var found removal
	err := db.GetContext(ctx, &found, `UPDATE removals SET due_at = $2 WHERE prefix = (
			SELECT prefix FROM removals WHERE due_at <= $1 ORDER BY due_at, prefix LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING prefix, account_id, asked_at, looked`, now, until)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &found, wrap(err, "look for what is to be deleted")
}

func postpone(ctx context.Context, db *sqlx.DB, r removal, until time.Time) error {
	_, err := db.ExecContext(ctx, `UPDATE removals SET due_at = $3 WHERE prefix = $1 AND asked_at = $2`, r.Prefix, r.AskedAt, until)
	return wrap(err, "put the deletion of %s off", r.Prefix)
}

// holdRemoval keeps a removal from being ended by others until the transaction ends; false when it has been ended or
// asked for anew.
func holdRemoval(ctx context.Context, tx *sqlx.Tx, r removal) (bool, error) {
	var held []string
	err := tx.SelectContext(ctx, &held, `SELECT prefix FROM removals WHERE prefix = $1 AND asked_at = $2 FOR UPDATE`, r.Prefix,
		r.AskedAt)
	return len(held) == 1, wrap(err, "hold the deletion of %s", r.Prefix)
}

// finish ends a removal after its second look; after the first one it waits for that.
func finish(ctx context.Context, db sqlx.ExecerContext, r removal) error {
	var err error
	if r.firstLook() {
		_, err = db.ExecContext(ctx, `UPDATE removals SET looked = 1, due_at = $3 WHERE prefix = $1 AND asked_at = $2`, r.Prefix,
			r.AskedAt, r.AskedAt.Add(secondLook))
	} else {
		_, err = db.ExecContext(ctx, `DELETE FROM removals WHERE prefix = $1 AND asked_at = $2`, r.Prefix, r.AskedAt)
	}
	return wrap(err, "end the deletion of %s", r.Prefix)
}

func countWaiting(ctx context.Context, db *sqlx.DB) (waiting int, err error) {
	err = db.GetContext(ctx, &waiting, `SELECT count(*) FROM removals WHERE looked = 0`)
	return waiting, wrap(err, "count what is to be deleted")
}
