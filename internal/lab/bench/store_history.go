package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/internal/postgres"
)

// The past that a history is made of: jobs of equal size that ended one after the other within a year, of a thousand accounts.
const (
	pastAccounts = 1000
	pastJobTasks = 100
	// pastBatch is how many jobs are made in one transaction.
	pastBatch = 2000
)

// pastStatements make the jobs from number $1 to $2 of $3, with everything that ended jobs leave. Numbers lie in the ids behind a
// moment, as in those that the fabric makes, so that the indexes grow as they do in life.
var pastStatements = []string{
	`CREATE TEMPORARY TABLE past ON COMMIT DROP AS
		SELECT n, lpad(to_hex((extract(epoch FROM ended) * 1000)::bigint), 12, '0') AS moment, 'job_' || lpad(to_hex((extract(epoch
		FROM ended) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 20, '0') AS id,
			'acct_past' || lpad(((n * 7919) % $4)::text, 28, '0') AS account_id, ended
		FROM (SELECT n, now() - interval '1 day' - interval '364 days' * ($3 - n) / $3 AS ended
		FROM generate_series($1::bigint, $2::bigint) n) numbers`,
	`INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence,
			accrued_micropence, charged_pence, created_at, updated_at, started_at, finished_at)
		SELECT id, account_id, 'simulation', 'probe', 'past ' || n, 'accounts/past/uploads/scene.pdb',
			'{"jobType": "simulation", "simulator": "probe", "sceneFile": "accounts/past/uploads/scene.pdb",
				"parameters": {"Tasks": "100"}}',
			'COMPLETED', 1, $1, 10, 10, 5000000, 5, ended - interval '1 hour', ended, ended - interval '59 minutes', ended
			FROM past`,
	`INSERT INTO job_status_history (job_id, seq, status, at)
		SELECT id, s, (ARRAY['SUBMITTED', 'QUEUED', 'RUNNING', 'COMPLETED'])[s], ended - interval '20 minutes' * (4 - s)
		FROM past, generate_series(1, 4) s`,
	`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready, status, attempt,
		worker_id, progress,
			queued_at, started_at, finished_at, items)
		SELECT 'task_' || moment || lpad(to_hex(n * $1 + i), 20, '0'), id, account_id, i, 'probe', 0, 'probe-' || lpad(i::text, 5,
		'0'), i = 0, 0.02, 'cpu.probe', true, 'SUCCEEDED', 1,
			'wrk_' || lpad(to_hex(i), 32, '0'), 1, ended - interval '30 minutes', ended - interval '29 minutes',
			ended - i * interval '1 second', 1
		FROM past, generate_series(0, $1 - 1) i`,
	`INSERT INTO plan_blocks (job_id, first_ordinal, shards)
		SELECT past.id, b.first_ordinal, b.shards FROM past, plan_blocks b WHERE b.job_id = (SELECT min(id)
		FROM past) AND past.id <> b.job_id`,
	`INSERT INTO task_details (task_id, summary, programs)
		SELECT 'task_' || moment || lpad(to_hex(n * $1 + i), 20, '0'), '{}', '{"sh": "POSIX"}'
		FROM past, generate_series(0, $1 - 1) i`,
	`INSERT INTO task_attempts (task_id, attempt, worker_id, outcome, cpu_us, wall_ms, charged_micropence, started_at, finished_at)
		SELECT 'task_' || moment || lpad(to_hex(n * $1 + i), 20, '0'), 1, 'wrk_' || lpad(to_hex(i), 32, '0'), 'SUCCEEDED', 1000, 1,
		50000, ended - interval '29 minutes', ended - i * interval '1 second'
		FROM past, generate_series(0, $1 - 1) i`,
	`INSERT INTO job_events (job_id, kind, body, at)
		SELECT id, 'task', jsonb_build_object('taskIndex', i, 'stage', 'probe', 'name', 'probe-' || lpad(i::text, 5, '0'), 'status',
		s, 'attempt', 1), ended - interval '29 minutes' + i * interval '1 second'
		FROM past, generate_series(0, $1 - 1) i, unnest(ARRAY['RUNNING', 'SUCCEEDED']) s`,
	`INSERT INTO job_events (job_id, kind, body, at) SELECT id, 'status', '{"status": "COMPLETED", "reason": "", "terminal": true}',
		ended FROM past`,
}

// makePast makes a year in which so many jobs have ended, and gathers statistics of it. The database is one that nobody else keeps:
// foreign keys are not checked. told is called now and then with the jobs that are made.
func makePast(ctx context.Context, db *sqlx.DB, jobs int, told func(jobs int)) error {
	_, err := db.ExecContext(ctx, `INSERT INTO accounts (id, email, name, plan, created_at)
		SELECT 'acct_past' || lpad(n::text, 28, '0'), 'past' || n || '@example.test', '', 'free', now() - interval '400 days'
		FROM generate_series(0, $1 - 1) n`, pastAccounts)
	if err != nil {
		return fmt.Errorf("make the accounts of the past: %w", err)
	}
	for first := 1; first <= jobs; first += pastBatch {
		last := min(first+pastBatch-1, jobs)
		if err := makePastJobs(ctx, db, first, last, jobs); err != nil {
			return fmt.Errorf("make the jobs %d to %d of the past: %w", first, last, err)
		}
		told(last)
	}
	if _, err := db.ExecContext(ctx, `VACUUM ANALYZE`); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	return nil
}

// pastPlan is what the tasks of each job did.
func pastPlan() []engines.Shard {
	plan := make([]engines.Shard, pastJobTasks)
	for i := range plan {
		plan[i] = engines.Shard{Stage: "probe", Name: fmt.Sprintf("probe-%05d", i), Params: json.RawMessage(`{}`), Items: 1}
	}
	return plan
}

func makePastJobs(ctx context.Context, db *sqlx.DB, first, last, of int) error {
	return postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `SET LOCAL session_replication_role = replica`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, pastStatements[0], first, last, of, pastAccounts); err != nil {
			return err
		}
		var one string
		if err := tx.GetContext(ctx, &one, `SELECT min(id) FROM past`); err != nil {
			return err
		}
		written := plans.Write(pastPlan())
		defer written.Stop()
		if err := written.Insert(ctx, tx, one); err != nil { // the other jobs copy it
			return err
		}
		for _, statement := range pastStatements[1:] {
			var args []any
			if strings.Contains(statement, "$1") {
				args = append(args, pastJobTasks)
			}
			if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
}
