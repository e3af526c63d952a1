package erasure

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"
)

func countOpenJobs(ctx context.Context, tx *sqlx.Tx, accountID string) (open int, err error) {
	err = tx.GetContext(ctx, &open, `SELECT count(*) FROM jobs WHERE account_id = $1 AND finished_at IS NULL`, accountID)
	return open, wrap(err, "count the jobs of %s", accountID)
}

// closeAccount takes from an account what tells of a person. It is locked too, so that whatever knows of locks lets
// nobody in.
func closeAccount(ctx context.Context, tx *sqlx.Tx, accountID string, at time.Time) (bool, error) {
	done, err := tx.ExecContext(ctx, `UPDATE accounts SET email = id || '@address.invalid', name = '', password_hash = NULL,
		email_verified_at = NULL,
			closed_at = $2, locked_at = $2, locked_because = 'closed'
		WHERE id = $1 AND closed_at IS NULL`, accountID, at)
	if err != nil {
		return false, wrap(err, "close %s", accountID)
	}
	n, err := done.RowsAffected()
	return n == 1, wrap(err, "close %s", accountID)
}

// deleteCredentials removes what lets somebody in, or others see what is the account's.
func deleteCredentials(ctx context.Context, tx *sqlx.Tx, accountID string, at time.Time) error {
	for _, statement := range []string{
		`DELETE FROM sessions WHERE account_id = $1`,
		`DELETE FROM api_keys WHERE account_id = $1`, // and with them the networks that they were used from
		`DELETE FROM email_proofs WHERE account_id = $1`,
		`DELETE FROM account_identities WHERE account_id = $1`,
		`DELETE FROM license_servers WHERE account_id = $1`,
		`DELETE FROM webhooks WHERE account_id = $1`,
		`DELETE FROM notice_settings WHERE account_id = $1`, // and with them the notices
		`DELETE FROM idempotency_keys WHERE account_id = $1`,
	} {
		if _, err := tx.ExecContext(ctx, statement, accountID); err != nil {
			return wrap(err, "end the doors of %s", accountID)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE project_shares s SET revoked_at = $2 FROM projects p
		WHERE p.account_id = $1 AND s.project_id = p.id AND s.revoked_at IS NULL`, accountID, at)
	return wrap(err, "end the shares of %s", accountID)
}

// jobPlace is a job's place among those of its account, as an index has them.
type jobPlace struct {
	CreatedAt time.Time `db:"created_at"`
	ID        string    `db:"id"`
}

// jobsToStrip are jobs of an account behind the last one that still have what stripJob takes.
func jobsToStrip(ctx context.Context, db *sqlx.DB, accountID string, last jobPlace, limit int) ([]jobPlace, error) {
	var found []jobPlace
	err := db.SelectContext(ctx, &found, `
SELECT created_at, id FROM jobs WHERE account_id = $1 AND (created_at, id) > ($2, $3) AND request_text IS DISTINCT FROM '{}'
ORDER BY created_at, id LIMIT $4`, accountID, last.CreatedAt, last.ID, limit)
	return found, wrap(err, "look for the jobs of %s", accountID)
}

// stripJob removes all of a job of a closed account but what the books need: that it was run, for how long, and what it
// cost.
func stripJob(ctx context.Context, tx *sqlx.Tx, jobID string, at time.Time) error {
	if err := deleteResults(ctx, tx, jobID, at); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM deleted_results WHERE job_id = $1`,
		`DELETE FROM job_inputs WHERE job_id = $1`,
		`DELETE FROM job_events WHERE job_id = $1`,
		`DELETE FROM plan_blocks WHERE job_id = $1`,
		`DELETE FROM worker_faults WHERE job_id = $1`,
		`UPDATE job_status_history SET reason = '' WHERE job_id = $1 AND reason <> ''`,
		`UPDATE task_details SET shard = NULL, error_message = NULL WHERE task_id IN (SELECT id FROM tasks WHERE job_id = $1)`,
		`UPDATE tasks SET license_key = NULL WHERE job_id = $1 AND license_key IS NOT NULL`,
	} {
		if _, err := tx.ExecContext(ctx, statement, jobID); err != nil {
			return wrap(err, "strip %s", jobID)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET job_name = '', scene_file = '', request_text = '{}', request = NULL,
		status_reason = NULL,
			error_message = NULL, cancel_reason = NULL, request_id = '', license_key = NULL,
			files_deleted_at = coalesce(files_deleted_at, $2)
		WHERE id = $1`, jobID, at)
	return wrap(err, "strip %s", jobID)
}

// unfinished is an upload in parts whose parts the object store still has.
type unfinished struct {
	StorageKey  string `db:"storage_key"`
	StoreHandle string `db:"store_handle"`
}

func unfinishedUploads(ctx context.Context, db *sqlx.DB, accountID string) ([]unfinished, error) {
	var found []unfinished
	err := db.SelectContext(ctx, &found, `SELECT storage_key, store_handle FROM multipart_uploads
		WHERE account_id = $1 AND state IN ('open', 'completing')`, accountID)
	return found, wrap(err, "look for the unfinished uploads of %s", accountID)
}

// deleteRest removes what is left of a closed account beside its jobs. A project's revisions go only after it has been
// marked.
func deleteRest(ctx context.Context, tx *sqlx.Tx, accountID string, at time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE projects SET deleted_at = coalesce(deleted_at, $2) WHERE account_id = $1`, accountID,
		at); err != nil {
		return wrap(err, "delete the projects of %s", accountID)
	}
	for _, statement := range []string{
		`DELETE FROM projects WHERE account_id = $1`,        // and with them contents, revisions and shares
		`DELETE FROM studio_sessions WHERE account_id = $1`, // and with them the messages
		`DELETE FROM multipart_uploads WHERE account_id = $1`,
		`DELETE FROM uploads WHERE account_id = $1`,
		`DELETE FROM docking_preparations WHERE account_id = $1`,
		`DELETE FROM docking_experiments WHERE account_id = $1`,
		`DELETE FROM render_costs WHERE account_id = $1`,
		`DELETE FROM job_inputs WHERE account_id = $1`,
		`SELECT audit_log_forget($1)`,
	} {
		if _, err := tx.ExecContext(ctx, statement, accountID); err != nil {
			return wrap(err, "delete the rest of %s", accountID)
		}
	}
	return nil
}
