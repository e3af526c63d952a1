package chaos

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/audit"
	"github.com/molfabric/molfabric/internal/job"
)

// tableCheck is one promise that the database must keep: its query returns what breaks it, as subject and detail.
type tableCheck struct{ name, query string }

// tableChecks are run after every test, beside what an audit looks at. The database is at rest then: every job that was accepted
// should have ended, and no event has been let go. A job whose files were deleted has told its state once more.
var tableChecks = []tableCheck{
	{"every accepted job is terminal", `SELECT id AS subject, status AS detail FROM jobs
		WHERE finished_at IS NULL OR status NOT IN ('COMPLETED', 'COMPLETED_WITH_FAILURES', 'FAILED', 'CANCELLED')`},
	{"a job tells its end once a run", `SELECT j.id AS subject, format('%s ends told, the last is %s; the job is %s after %s runs',
		e.n, e.last, j.status, j.attempts) AS detail FROM jobs j
		CROSS JOIN LATERAL (SELECT count(*) AS n, (array_agg(body ->> 'status' ORDER BY id DESC))[1] AS last
			FROM job_events WHERE job_id = j.id AND kind = 'status' AND (body ->> 'terminal')::boolean) e
		WHERE j.finished_at IS NOT NULL
			AND (e.n <> j.attempts + (j.files_deleted_at IS NOT NULL)::int OR e.last IS DISTINCT FROM j.status)`},
}

// judgeTables runs every check of the database.
func judgeTables(ctx context.Context, db sqlx.QueryerContext) ([]Finding, error) {
	findings, err := audit.Tables(ctx, db)
	if err != nil {
		return nil, err
	}
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
	Reason string     `db:"reason"`
}

func readHistory(ctx context.Context, db sqlx.QueryerContext) ([]historyRow, error) {
	var rows []historyRow
	if err := sqlx.SelectContext(ctx, db, &rows,
		`SELECT job_id, seq, status, coalesce(reason, '') AS reason FROM job_status_history ORDER BY job_id, seq`); err != nil {
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
		Input   bool               `db:"input"`
	}
	if err := sqlx.SelectContext(ctx, db, &rows, `SELECT id, simulator, accrued_micropence, held_pence, charged_pence,
			status = 'FAILED' AND coalesce(failure_class, '') = $1 AS system,
			status = 'FAILED' AND coalesce(failure_class, '') = $2 AND preparation_stages > 0 AND NOT EXISTS (SELECT FROM tasks t
			JOIN task_attempts a ON a.task_id = t.id
				WHERE t.job_id = jobs.id AND t.stage_index >= jobs.preparation_stages AND a.charged_micropence > 0) AS input
		FROM jobs WHERE finished_at IS NOT NULL AND attempts = 1 AND charged_pence IS NOT NULL AND simulator IS NOT NULL`, engines.System, engines.UserInput); err != nil {
		return nil, fmt.Errorf("read the charges: %w", err)
	}
	var findings []Finding
	for _, r := range rows {
		want, err := book.Capture(billing.Accrual{Engine: r.Engine, Used: r.Used, HoldPence: r.Held, SystemFailure: r.System,
			InputFailure: r.Input})
		if err != nil || want != r.Charged {
			findings = append(findings, Finding{Check: "a job is charged its metered use", Subject: r.ID,
				Detail: fmt.Sprintf("charged %d pence for %d micropence of use, want %d (%v)", r.Charged, r.Used, want, err)})
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
	if err := sqlx.SelectContext(ctx, db, &handles, `SELECT store_handle FROM multipart_uploads
		WHERE state IN ('open', 'completing')`); err != nil {
		return nil, fmt.Errorf("read the uploads in parts: %w", err)
	}
	return handles, nil
}
