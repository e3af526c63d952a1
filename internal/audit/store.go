package audit

import (
	"context"
	"fmt"
	"iter"

	"github.com/jmoiron/sqlx"
)

// check is one promise that the database keeps at every moment, because each is kept within a transaction. Its query returns what
// breaks it, as subject and detail; of two queries of one name both belong to the promise.
type check struct{ name, query string }

var checks = []check{
	{"every task of an ended job has ended", `SELECT t.id AS subject, t.status || ' in a job that is ' || j.status AS detail
		FROM tasks t JOIN jobs j ON j.id = t.job_id
		WHERE j.finished_at IS NOT NULL AND (t.finished_at IS NULL OR t.status NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED'))`},
	{"a job has the tasks of its plan", `SELECT j.id AS subject, format('%s tasks, planned %s', count(t.id), j.task_count) AS detail
		FROM jobs j LEFT JOIN tasks t ON t.job_id = j.id GROUP BY j.id HAVING count(t.id) <> j.task_count`},
	{"one settled result a task", `SELECT t.id AS subject, format('%s in run %s with %s successes', t.status, t.run, s.n) AS detail
		FROM tasks t
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM task_attempts a WHERE a.task_id = t.id AND a.run = t.run
		AND a.outcome = 'SUCCEEDED') s
		WHERE s.n <> CASE WHEN t.status = 'SUCCEEDED' THEN 1 ELSE 0 END`},
	{"a success has its result", `SELECT t.id AS subject, 'it names no program' AS detail FROM tasks t LEFT
		JOIN task_details d ON d.task_id = t.id
		WHERE t.status = 'SUCCEEDED' AND d.programs IS NULL`},
	{"no attempt is beyond its task's fence", `SELECT t.id AS subject, format('attempt %s of %s', a.attempt, t.attempt) AS detail
		FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE a.attempt > t.attempt OR a.attempt < 1`},
	{"the ledger agrees with itself", `SELECT rule || ' ' || subject AS subject, detail FROM ledger_violations`},
	{"a job's charge is in the ledger", `SELECT j.id AS subject, format('charged %s, the ledger says %s', j.charged_pence,
		e.pence) AS detail FROM jobs j
		CROSS JOIN LATERAL (SELECT coalesce(-sum(amount_pence), 0) AS pence FROM ledger_entries
		WHERE job_id = j.id AND type = 'charge') e
		WHERE j.finished_at IS NOT NULL AND j.charged_pence IS DISTINCT FROM e.pence`},
	{"a job's charge is in the ledger", `SELECT e.id AS subject, format('a charge for %s, which is no job', e.job_id) AS detail
		FROM ledger_entries e
		WHERE e.type = 'charge' AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = e.job_id)`},
	{"a job's use is that of its attempts", `SELECT j.id AS subject, format('used %s micropence, its attempts %s',
		j.accrued_micropence, a.sum) AS detail FROM jobs j
		CROSS JOIN LATERAL (SELECT coalesce(sum(charged_micropence), 0) AS sum FROM task_attempts a JOIN tasks t ON t.id = a.task_id
		WHERE t.job_id = j.id AND a.run = j.attempts) a
		WHERE j.accrued_micropence - 1000000 * j.settled_pence <> a.sum`}, // a further run begins with what the ones before were charged
	{"nothing is held for an ended job", `SELECT h.job_id AS subject, format('run %s holds %s pence, the job is %s', h.run,
		h.wallet_pence + h.monthly_pence, coalesce(j.status, 'unknown')) AS detail
		FROM holds h LEFT JOIN jobs j ON j.id = h.job_id WHERE h.status = 'open' AND (j.id IS NULL OR j.finished_at IS NOT NULL)`},
	{"nothing is held for an ended job", `SELECT c.account_id AS subject, format('%s pence are held and no hold is open',
		c.wallet_held_pence + c.monthly_held_pence) AS detail
		FROM credit_accounts c WHERE c.wallet_held_pence + c.monthly_held_pence <> 0
			AND NOT EXISTS (SELECT FROM holds h WHERE h.account_id = c.account_id AND h.status = 'open')`},
	{"only settled results are published", `SELECT a.storage_key AS subject, format('%s of attempt %s, which is %s', a.role,
		split_part(a.storage_key, '/', 6), coalesce(s.outcome, 'unknown')) AS detail
		FROM artifacts a LEFT JOIN task_attempts s ON s.task_id = a.task_id AND s.attempt::text = split_part(a.storage_key, '/', 6)
		WHERE s.outcome IS NULL OR s.outcome <> 'SUCCEEDED' AND a.role <> 'log'`},
	{"no checkpoint outlives its task's success", `SELECT c.task_id AS subject, c.name AS detail FROM task_checkpoints c
		JOIN tasks t ON t.id = c.task_id WHERE t.status = 'SUCCEEDED'`},
	{"acknowledged means stored", `SELECT k.key AS subject, format('was answered with %s, which is no job',
		k.response ->> 'jobId') AS detail FROM idempotency_keys k
		WHERE k.operation = 'jobs.submit' AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = k.response ->> 'jobId')`},
	{"deleted files are not recorded", `SELECT j.id AS subject, 'its files were deleted, and ' || a.storage_key || ' is recorded' AS
		detail
		FROM jobs j JOIN artifacts a ON a.job_id = j.id WHERE j.files_deleted_at IS NOT NULL`},
	{"deleted files are not recorded", `SELECT a.id AS subject, 'it was closed a day ago, and rows of it are left' AS detail
		FROM accounts a
		WHERE a.closed_at < now() - interval '1 day' AND (EXISTS (SELECT FROM uploads u WHERE u.account_id = a.id)
			OR EXISTS (SELECT FROM projects p WHERE p.account_id = a.id) OR EXISTS (SELECT FROM api_keys k
			WHERE k.account_id = a.id)
			OR EXISTS (SELECT FROM jobs j WHERE j.account_id = a.id AND j.request_text IS DISTINCT FROM '{}'))`},
	{"what is to be deleted is deleted in time", `SELECT r.prefix AS subject, format('asked for at %s', r.asked_at) AS detail
		FROM removals r WHERE r.looked = 0 AND r.asked_at < now() - interval '1 day'`},
	{"an open job has its hold", `SELECT j.id AS subject, 'it is ' || j.status || ' and holds nothing' AS detail FROM jobs j
		WHERE j.finished_at IS NULL AND j.held_pence > 0 AND NOT EXISTS (SELECT FROM holds h WHERE h.job_id = j.id
		AND h.run = j.attempts AND h.status = 'open')`},
}

const recordsQuery = `SELECT storage_key, max(byte_size) AS byte_size, bool_or(must) AS must FROM (
				SELECT storage_key COLLATE "C" AS storage_key, byte_size, true AS must FROM artifacts
				UNION ALL SELECT storage_key COLLATE "C", byte_size, true FROM task_checkpoints
				UNION ALL SELECT storage_key COLLATE "C", byte_size, used_at IS NOT NULL AND NOT removing FROM uploads
				UNION ALL SELECT storage_key COLLATE "C", byte_size, false FROM multipart_uploads
				WHERE state = 'completing') AS files
			WHERE storage_key LIKE 'accounts/%' GROUP BY storage_key ORDER BY storage_key`

// records are all files of accounts that the database names, in the order of the bytes of their keys, each once.
func records(ctx context.Context, db *sqlx.DB) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		rows, err := db.QueryxContext(ctx, recordsQuery) //nolint:sqlclosecheck // the linter does not know sqlx's rows; they are closed below
		if err != nil {
			yield(File{}, fmt.Errorf("audit: read the records of files: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var file File
			err := rows.StructScan(&file)
			if !yield(file, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(File{}, fmt.Errorf("audit: read the records of files: %w", err))
		}
	}
}

// countViolations is the part of the audit that is shown as a metric.
func countViolations(ctx context.Context, db sqlx.QueryerContext) (int, error) {
	var n int
	if err := sqlx.GetContext(ctx, db, &n, `SELECT count(*) FROM ledger_violations`); err != nil {
		return 0, fmt.Errorf("audit: count the ledger's violations: %w", err)
	}
	return n, nil
}
