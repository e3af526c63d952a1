package chaos

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
)

// tableCheck is one promise that the database must keep: its query returns what breaks it, as subject and detail.
type tableCheck struct{ name, query string }

// tableChecks are run after every test. The database is at rest then: every job that was accepted should have ended.
var tableChecks = []tableCheck{
	{"every accepted job is terminal", `SELECT id AS subject, status AS detail FROM jobs
		WHERE finished_at IS NULL OR status NOT IN ('COMPLETED', 'COMPLETED_WITH_FAILURES', 'FAILED', 'CANCELLED')`},
	{"every task of an ended job has ended", `SELECT t.id AS subject, t.status || ' in a job that is ' || j.status AS detail FROM tasks t JOIN jobs j ON j.id = t.job_id
		WHERE j.finished_at IS NOT NULL AND (t.finished_at IS NULL OR t.status NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED'))`},
	{"a job has the tasks of its plan", `SELECT j.id AS subject, format('%s tasks, planned %s', count(t.id), j.task_count) AS detail
		FROM jobs j LEFT JOIN tasks t ON t.job_id = j.id GROUP BY j.id HAVING count(t.id) <> j.task_count`},
	{"one settled result a task", `SELECT t.id AS subject, format('%s in run %s with %s successes', t.status, t.run, s.n) AS detail FROM tasks t
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM task_attempts a WHERE a.task_id = t.id AND a.run = t.run AND a.outcome = 'SUCCEEDED') s
		WHERE s.n <> CASE WHEN t.status = 'SUCCEEDED' THEN 1 ELSE 0 END`},
	{"a success has its result", `SELECT t.id AS subject, 'it names no program' AS detail FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id
		WHERE t.status = 'SUCCEEDED' AND d.programs IS NULL`},
	{"no attempt is beyond its task's fence", `SELECT t.id AS subject, format('attempt %s of %s', a.attempt, t.attempt) AS detail
		FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE a.attempt > t.attempt OR a.attempt < 1`},
	{"the ledger agrees with itself", `SELECT rule || ' ' || subject AS subject, detail FROM ledger_violations`},
	{"a job's charge is in the ledger", `SELECT j.id AS subject, format('charged %s, the ledger says %s', j.charged_pence, e.pence) AS detail FROM jobs j
		CROSS JOIN LATERAL (SELECT coalesce(-sum(amount_pence), 0) AS pence FROM ledger_entries WHERE job_id = j.id AND type = 'charge') e
		WHERE j.finished_at IS NOT NULL AND j.charged_pence IS DISTINCT FROM e.pence`},
	{"a job's charge is in the ledger", `SELECT e.id AS subject, format('a charge for %s, which is no job', e.job_id) AS detail FROM ledger_entries e
		WHERE e.type = 'charge' AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = e.job_id)`},
	{"a job's use is that of its attempts", `SELECT j.id AS subject, format('used %s micropence, its attempts %s', j.accrued_micropence, a.sum) AS detail FROM jobs j
		CROSS JOIN LATERAL (SELECT coalesce(sum(charged_micropence), 0) AS sum FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE t.job_id = j.id AND a.run = j.attempts) a
		WHERE j.accrued_micropence - 1000000 * j.settled_pence <> a.sum`}, // a further run begins with what the ones before were charged
	{"nothing is held for an ended job", `SELECT h.job_id AS subject, format('run %s holds %s pence, the job is %s', h.run, h.wallet_pence + h.monthly_pence, coalesce(j.status, 'unknown')) AS detail
		FROM holds h LEFT JOIN jobs j ON j.id = h.job_id WHERE h.status = 'open' AND (j.id IS NULL OR j.finished_at IS NOT NULL)`},
	{"nothing is held for an ended job", `SELECT c.account_id AS subject, format('%s pence are held and no hold is open', c.wallet_held_pence + c.monthly_held_pence) AS detail
		FROM credit_accounts c WHERE c.wallet_held_pence + c.monthly_held_pence <> 0
			AND NOT EXISTS (SELECT FROM holds h WHERE h.account_id = c.account_id AND h.status = 'open')`},
	{"a job tells its end once a run", `SELECT j.id AS subject, format('%s ends told, the last is %s; the job is %s after %s runs', e.n, e.last, j.status, j.attempts) AS detail FROM jobs j
		CROSS JOIN LATERAL (SELECT count(*) AS n, (array_agg(body ->> 'status' ORDER BY id DESC))[1] AS last
			FROM job_events WHERE job_id = j.id AND kind = 'status' AND (body ->> 'terminal')::boolean) e
		WHERE j.finished_at IS NOT NULL AND (e.n <> j.attempts OR e.last IS DISTINCT FROM j.status)`},
	{"only settled results are published", `SELECT a.storage_key AS subject, format('%s of attempt %s, which is %s', a.role, split_part(a.storage_key, '/', 6), coalesce(s.outcome, 'unknown')) AS detail
		FROM artifacts a LEFT JOIN task_attempts s ON s.task_id = a.task_id AND s.attempt::text = split_part(a.storage_key, '/', 6)
		WHERE s.outcome IS NULL OR s.outcome <> 'SUCCEEDED' AND a.role <> 'log'`},
	{"no checkpoint outlives its task's success", `SELECT c.task_id AS subject, c.name AS detail FROM task_checkpoints c JOIN tasks t ON t.id = c.task_id WHERE t.status = 'SUCCEEDED'`},
	{"acknowledged means stored", `SELECT k.key AS subject, format('was answered with %s, which is no job', k.response ->> 'jobId') AS detail FROM idempotency_keys k
		WHERE k.operation = 'jobs.submit' AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = k.response ->> 'jobId')`},
}

// judgeTables runs every check of the database.
func judgeTables(ctx context.Context, db sqlx.QueryerContext) ([]Finding, error) {
	var findings []Finding
	for _, check := range tableChecks {
		var found []Finding
		if err := sqlx.SelectContext(ctx, db, &found, check.query); err != nil {
			return nil, fmt.Errorf("check that %s: %w", check.name, err)
		}
		for _, f := range found {
			f.Check = check.name
			findings = append(findings, f)
		}
	}
	history, err := readHistory(ctx, db)
	if err != nil {
		return nil, err
	}
	charges, err := judgeCharges(ctx, db)
	return append(append(findings, illegalMoves(history)...), charges...), err
}

// historyRow is a step of a job.
type historyRow struct {
	JobID  string     `db:"job_id"`
	Seq    int        `db:"seq"`
	Status job.Status `db:"status"`
}

func readHistory(ctx context.Context, db sqlx.QueryerContext) ([]historyRow, error) {
	var rows []historyRow
	if err := sqlx.SelectContext(ctx, db, &rows, `SELECT job_id, seq, status FROM job_status_history ORDER BY job_id, seq`); err != nil {
		return nil, fmt.Errorf("read the histories: %w", err)
	}
	return rows, nil
}

// judgeCharges computes what the price book asks for each job that had one run, and finds those that were charged otherwise.
func judgeCharges(ctx context.Context, db sqlx.QueryerContext) ([]Finding, error) {
	book, err := billing.LoadBook("")
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ID      string             `db:"id"`
		Engine  string             `db:"simulator"`
		Used    billing.Micropence `db:"accrued_micropence"`
		Held    int64              `db:"held_pence"`
		Charged int64              `db:"charged_pence"`
		System  bool               `db:"system"`
	}
	if err := sqlx.SelectContext(ctx, db, &rows, `SELECT id, simulator, accrued_micropence, held_pence, charged_pence,
			status = 'FAILED' AND coalesce(failure_class, '') = $1 AS system
		FROM jobs WHERE finished_at IS NOT NULL AND attempts = 1 AND charged_pence IS NOT NULL AND simulator IS NOT NULL`, engines.System); err != nil {
		return nil, fmt.Errorf("read the charges: %w", err)
	}
	var findings []Finding
	for _, r := range rows {
		want, err := book.Capture(billing.Accrual{Engine: r.Engine, Used: r.Used, HoldPence: r.Held, SystemFailure: r.System})
		if err != nil || want != r.Charged {
			findings = append(findings, Finding{"a job is charged its metered use", r.ID,
				fmt.Sprintf("charged %d pence for %d micropence of use, want %d (%v)", r.Charged, r.Used, want, err)})
		}
	}
	return findings, nil
}

func openJobs(ctx context.Context, db *sqlx.DB) (int, error) {
	var open int
	err := db.GetContext(ctx, &open, `SELECT count(*) FROM jobs WHERE finished_at IS NULL`)
	return open, err
}

// storedFile is what the database says of a file in the object store.
type storedFile struct {
	Key    string `db:"storage_key"`
	SHA256 string `db:"sha256"`
	Size   int64  `db:"byte_size"`
}

// storedFiles are those that a job's owner or a next attempt may read.
func storedFiles(ctx context.Context, db sqlx.QueryerContext) ([]storedFile, error) {
	var rows []storedFile
	err := sqlx.SelectContext(ctx, db, &rows, `SELECT storage_key, sha256, byte_size FROM artifacts
		UNION ALL SELECT storage_key, sha256, byte_size FROM task_checkpoints ORDER BY storage_key`)
	if err != nil {
		return nil, fmt.Errorf("read the stored files: %w", err)
	}
	return rows, nil
}

// openUndertakings are the store's names of the uploads in parts that may go on.
func openUndertakings(ctx context.Context, db sqlx.QueryerContext) ([]string, error) {
	var handles []string
	if err := sqlx.SelectContext(ctx, db, &handles, `SELECT store_handle FROM multipart_uploads WHERE state IN ('open', 'completing')`); err != nil {
		return nil, fmt.Errorf("read the uploads in parts: %w", err)
	}
	return handles, nil
}
