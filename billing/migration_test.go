package billing_test

import (
	"os"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// ledgerOfOneRun is a ledger as it was when a job could run once: one job has been charged 60 of 100 pence, another runs.
const ledgerOfOneRun = `
INSERT INTO accounts (id, email, name, password_hash, plan, created_at) VALUES ('acct_1', 'a@example.org', 'Test', 'none', 'free',
now());
INSERT INTO jobs (id, account_id, job_type, simulator, scene_file, request, status, stage_count, task_count, estimated_pence,
held_pence,
	charged_pence, created_at, updated_at, finished_at) VALUES
	('job_done', 'acct_1', 'simulation', 'autodock-vina', 's', '{}', 'FAILED', 1, 1, 50, 100, 60, now(), now(), now()),
	('job_open', 'acct_1', 'simulation', 'autodock-vina', 's', '{}', 'RUNNING', 1, 1, 50, 100, NULL, now(), now(), NULL);
INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready, status,
attempt) VALUES
	('task_1', 'job_done', 'acct_1', 0, 'only', 0, 'only', true, 1, 'cpu.autodock-vina', true, 'FAILED', 1);
INSERT INTO task_attempts (task_id, attempt, outcome, finished_at) VALUES ('task_1', 1, 'FAILED', now());
INSERT INTO credit_accounts VALUES ('acct_1', 0, 0, 440, 100, 500, now() + interval '1 day');
INSERT INTO holds (job_id, account_id, wallet_pence, monthly_pence, monthly_expires_at, status, captured_pence, created_at,
settled_at) VALUES
	('job_done', 'acct_1', 0, 100, now() + interval '1 day', 'settled', 60, now(), now()),
	('job_open', 'acct_1', 0, 100, now() + interval '1 day', 'open', 0, now(), NULL);
INSERT INTO ledger_entries (id, account_id, type, bucket, amount_pence, balance_before_pence, balance_after_pence, job_id,
description, created_at) VALUES
	('txn_1', 'acct_1', 'monthly_grant', 'monthly', 500, 0, 500, NULL, '', now()),
	('txn_2', 'acct_1', 'hold', 'monthly', -100, 500, 500, 'job_done', '', now()),
	('txn_3', 'acct_1', 'charge', 'monthly', -60, 500, 440, 'job_done', '', now()),
	('txn_4', 'acct_1', 'hold_release', 'monthly', 40, 440, 440, 'job_done', '', now()),
	('txn_5', 'acct_1', 'hold', 'monthly', -100, 440, 440, 'job_open', '', now());
INSERT INTO ledger_postings VALUES
	('txn_1', 'monthly:acct_1', 500), ('txn_1', 'promotion', -500),
	('txn_2', 'monthly:acct_1', -100), ('txn_2', 'monthly_held:acct_1', 100),
	('txn_3', 'monthly_held:acct_1', -60), ('txn_3', 'revenue', 60),
	('txn_4', 'monthly:acct_1', 40), ('txn_4', 'monthly_held:acct_1', -40),
	('txn_5', 'monthly:acct_1', -100), ('txn_5', 'monthly_held:acct_1', 100);`

// beforeRuns is the last schema in which a job had one hold and no runs; runs is the one that brought them.
const (
	beforeRuns = 3
	runs       = 7
)

// TestRunsComeToALivingLedger brings a database that has jobs and holds to the schema of today, and back as long as nothing
// was retried.
func TestRunsComeToALivingLedger(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := postgres.Open(ctx, pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	migrations, err := goose.NewProvider(goose.DialectPostgres, db.DB, os.DirFS("../internal/postgres/migrations"),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	step := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = migrations.UpTo(ctx, beforeRuns)
	step("to the schema before", err)
	_, err = db.ExecContext(ctx, ledgerOfOneRun)
	step("fill it", err)
	step("to the schema of today", postgres.Migrate(ctx, db))
	_, err = migrations.DownTo(ctx, runs-1)
	step("and back", err)
	step("to the schema of today again", postgres.Migrate(ctx, db))

	book, err := billing.LoadBook("")
	step("prices", err)
	b := &bench{db: db, ledger: billing.NewLedger(book, id.New)}
	b.wantClean(t)
	now := time.Now()
	captured, err := b.settle("job_open", 10, now)
	if step("settle an old hold", err); captured != 10 {
		t.Errorf("captured %d pence of an old hold, want 10", captured)
	}
	step("hold for a second run", b.holdRun("acct_1", "job_done", 2, 100, now))
	captured, err = b.settle("job_done", 5, now)
	if step("settle an old run again", err); captured != 60 {
		t.Errorf("the old run answers %d pence, want 60", captured)
	}
	b.wantClean(t)
	wantRuns(t, db)
	if _, err := migrations.DownTo(ctx, runs-1); err == nil {
		t.Error("the schema went back although a job has two holds")
	}
}

// wantRuns checks that what was there before belongs to first runs.
func wantRuns(t *testing.T, db *sqlx.DB) {
	t.Helper()
	var others int
	err := db.Get(&others, `SELECT (SELECT count(*) FROM tasks WHERE run <> 1) + (SELECT count(*) FROM task_attempts WHERE run <> 1)
		+ (SELECT count(*) FROM ledger_entries WHERE run <> 1 AND id LIKE 'txn__') + (SELECT count(*) FROM jobs
		WHERE settled_pence <> 0)`)
	if err != nil || others != 0 {
		t.Errorf("%d old rows are not of a first run, %v", others, err)
	}
}
