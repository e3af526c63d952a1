package sim

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/scheduler"
)

// Histories that happen one operation after the other are the same over memory and over Postgres, down to the last row.
const (
	comparedGroups   = 3
	comparedInAGroup = 12
)

func TestMemoryIsLikePostgres(t *testing.T) {
	t.Parallel()
	for group := range uint64(comparedGroups) {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			shared, db, owner := setUp(t), pgtest.New(t), pgtest.Owner(t)
			attempts := 0
			for n := range uint64(comparedInAGroup) {
				seed := group*comparedInAGroup + n
				inMemory := played(shared, script{seed: seed, serial: true})
				// Everything that a history writes hangs on its accounts; the schema itself is dear.
				owner.MustExecContext(t.Context(), `TRUNCATE accounts, holds, ledger_entries CASCADE`)
				inPostgres := played(shared, script{seed: seed, serial: true,
					ground: postgresGround{scheduler.InPostgres(db, nil), db}})
				if problems := append(inMemory.violations, inPostgres.violations...); len(problems) > 0 {
					t.Errorf("seed %d: %v", seed, problems)
				}
				truth := dumpPostgres(t, db)
				compare(t, seed, dumpMemory(t, inMemory.memory), truth)
				attempts += len(truth["attempts"])
				if inMemory.digest != inPostgres.digest {
					t.Errorf("seed %d: digests %016x in memory and %016x in Postgres", seed, inMemory.digest, inPostgres.digest)
				}
			}
			if attempts < comparedInAGroup {
				t.Errorf("%d attempts in %d histories: nothing is compared", attempts, comparedInAGroup)
			}
		})
	}
}

// dump is everything that is stored, a line a row, by table.
type dump map[string][]string

func compare(t *testing.T, seed uint64, memory, truth dump) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(truth)) {
		got, want := memory[table], truth[table]
		for i := range max(len(got), len(want)) {
			g, w := "nothing", "nothing"
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			if g != w {
				t.Errorf("seed %d, %s, row %d:\n got %s\nwant %s", seed, table, i, g, w)
				break
			}
		}
	}
}

// postgresGround is the ground of histories over Postgres.
type postgresGround struct {
	scheduler.Store
	db *sqlx.DB
}

var _ ground = postgresGround{}

func (g postgresGround) OpenAccount(ctx context.Context, ledger *billing.Ledger, accountID, plan string, now time.Time) error {
	return postgres.InTx(ctx, g.db, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $2, '', '', $3, $4)`,
			accountID, accountID+"@example.test", plan, now)
		if err != nil {
			return err
		}
		return ledger.OpenAccount(ctx, tx, accountID, plan, now)
	})
}

func (g postgresGround) Seat(ctx context.Context, accountID string, s seating) error {
	_, err := g.db.ExecContext(ctx, `INSERT INTO license_servers
			(id, account_id, name, vendor, product, license_key, protocol, host, port, seats, enforcement, enabled, status,
			created_at)
		VALUES ('lic_' || $1, $1, 'mine', 'Side FX', 'houdini engine', $2, 'sesi', 'licences.example.org', 1715, $3, $4, $5,
		'UNVERIFIED', now())
		ON CONFLICT (id) DO UPDATE SET seats = $3, enforcement = $4, enabled = $5`, accountID, s.Key, s.Seats, s.Enforcement, s.Enabled)
	return err
}

func (g postgresGround) Statuses(ctx context.Context) (map[string]job.Status, error) {
	var rows []struct {
		ID     string     `db:"id"`
		Status job.Status `db:"status"`
	}
	err := g.db.SelectContext(ctx, &rows, `SELECT id, status FROM jobs`)
	statuses := map[string]job.Status{}
	for _, row := range rows {
		statuses[row.ID] = row.Status
	}
	return statuses, err
}

// taskLine is a task as both stores have it.
type taskLine struct {
	ID            string       `db:"id"`
	JobID         string       `db:"job_id"`
	Ordinal       int          `db:"ordinal"`
	Stage         string       `db:"stage"`
	StageIndex    int          `db:"stage_index"`
	Name          string       `db:"name"`
	Queue         string       `db:"queue"`
	Ready         bool         `db:"ready"`
	Status        string       `db:"status"`
	Attempt       int          `db:"attempt"`
	Run           int          `db:"run"`
	Retries       int          `db:"retries"`
	Interruptions int          `db:"interruptions"`
	GivenBack     int          `db:"given_back"`
	WorkerID      string       `db:"worker_id"`
	LicenseKey    string       `db:"license_key"`
	Progress      float32      `db:"progress"`
	Class         string       `db:"failure_class"`
	Code          string       `db:"error_code"`
	Error         string       `db:"error_message"`
	Message       string       `db:"message"`
	Items         string       `db:"item_failures"`
	Summary       string       `db:"summary"`
	Programs      string       `db:"programs"`
	NotBefore     sql.NullTime `db:"not_before"`
	QueuedAt      sql.NullTime `db:"queued_at"`
	StartedAt     sql.NullTime `db:"started_at"`
	FinishedAt    sql.NullTime `db:"finished_at"`
}

type attemptLine struct {
	TaskID   string    `db:"task_id"`
	Attempt  int       `db:"attempt"`
	Run      int       `db:"run"`
	WorkerID string    `db:"worker_id"`
	Outcome  string    `db:"outcome"`
	CPU      int64     `db:"cpu_us"`
	GPU      int64     `db:"gpu_us"`
	WallMs   int64     `db:"wall_ms"`
	BytesOut int64     `db:"bytes_out"`
	Price    int64     `db:"charged_micropence"`
	At       time.Time `db:"finished_at"`
}

type fileLine struct {
	TaskID     string `db:"task_id"`
	Name       string `db:"name"`
	StorageKey string `db:"storage_key"`
	ByteSize   int64  `db:"byte_size"`
}

type keptLine struct {
	TaskID string `db:"task_id"`
	scheduler.KeptRow
}

type entryLine struct {
	ID        string `db:"id"`
	AccountID string `db:"account_id"`
	Type      string `db:"type"`
	Bucket    string `db:"bucket"`
	Amount    int64  `db:"amount_pence"`
	Before    int64  `db:"balance_before_pence"`
	After     int64  `db:"balance_after_pence"`
	JobID     string `db:"job_id"`
	Run       int    `db:"run"`
	Text      string `db:"description"`
}

// line writes a row so that equal ones are equal texts.
func line(t *testing.T, row any) string {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// canonical writes JSON as Go does; "" stays "".
func canonical(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return line(t, value)
}

func selected[Row any](t *testing.T, db *sqlx.DB, query string, adjust func(*Row)) []string {
	t.Helper()
	var rows []Row
	if err := db.SelectContext(t.Context(), &rows, query); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range rows {
		if adjust != nil {
			adjust(&rows[i])
		}
		lines = append(lines, line(t, rows[i]))
	}
	return lines
}

func dumpPostgres(t *testing.T, db *sqlx.DB) dump {
	t.Helper()
	return dump{
		"jobs": selected[scheduler.JobRow](t, db, `SELECT id, account_id, simulator, status, status_reason, stage_index,
			stage_count, preparation_stages, task_count, attempts,
			estimated_pence, held_pence, settled_pence, accrued_micropence, charged_pence, error_code, error_message, failure_class,
			error_retryable, stopping, overspent,
			cancel_requested_at, cancel_reason, request_id, started_at, finished_at, software_micropence_per_core_hour FROM jobs
			ORDER BY id`, nil),
		"tasks": selected(t, db, `SELECT t.id, t.job_id, t.ordinal, t.stage, t.stage_index, t.name, t.queue, t.ready, t.status,
			t.attempt, t.run, t.retries,
			t.interruptions, t.given_back, coalesce(t.worker_id, '') AS worker_id, coalesce(t.license_key, '') AS license_key,
			t.progress, t.not_before, t.queued_at,
			t.started_at, t.finished_at, coalesce(d.failure_class, '') AS failure_class, coalesce(d.error_code, '') AS error_code,
			coalesce(d.error_message, '') AS error_message, coalesce(d.message, '') AS message, coalesce(d.item_failures::text,
			'') AS item_failures,
			coalesce(d.summary::text, '') AS summary, coalesce(d.programs::text, '') AS programs
			FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id ORDER BY t.id`, func(row *taskLine) {
			row.Items, row.Summary, row.Programs = canonical(t, row.Items), canonical(t, row.Summary), canonical(t, row.Programs)
		}),
		"attempts": selected[attemptLine](t, db, `SELECT task_id, attempt, run, worker_id, outcome, cpu_us, gpu_us, wall_ms,
			bytes_out, charged_micropence, finished_at
			FROM task_attempts ORDER BY task_id, attempt`, nil),
		"files": selected[fileLine](t, db, `SELECT task_id, name, storage_key, byte_size FROM artifacts
			ORDER BY task_id, id`, nil),
		"checkpoints": selected[checkpointLine](t, db, `SELECT task_id, name, storage_key, sha256, byte_size, attempt, seq
			FROM task_checkpoints ORDER BY task_id, name COLLATE "C"`, nil),
		"kept work": selected[keptLine](t, db, `SELECT task_id, attempt, cpu_us, gpu_us, wall_ms FROM kept_work
			ORDER BY task_id, attempt`, nil),
		"faults": selected[faultLine](t, db, `SELECT job_id, worker_id, attempts, code FROM worker_faults
			ORDER BY job_id, worker_id`, nil),
		"history": selected[historyLine](t, db, `SELECT job_id, seq, status, reason, at FROM job_status_history
			ORDER BY job_id, seq`, nil),
		"events": selected(t, db, `SELECT job_id, kind, body, at FROM job_events ORDER BY job_id, id`, func(row *eventLine) {
			row.Body = canonical(t, row.Body)
		}),
		"holds": selected[billing.HoldRow](t, db, `SELECT job_id, run, account_id, wallet_pence, monthly_pence, monthly_expires_at,
			status, captured_pence
			FROM holds ORDER BY job_id, run`, nil),
		"accounts": selected[billing.AccountRow](t, db, `SELECT c.account_id, a.plan, c.wallet_pence, c.wallet_held_pence,
			c.monthly_pence, c.monthly_held_pence,
			c.total_credited_pence, c.monthly_reset_at, c.allowance_withheld FROM credit_accounts c
			JOIN accounts a ON a.id = c.account_id ORDER BY c.account_id`, nil),
		"entries": selected[entryLine](t, db, `SELECT id, account_id, type, bucket, amount_pence, balance_before_pence,
			balance_after_pence,
			coalesce(job_id, '') AS job_id, run, description FROM ledger_entries ORDER BY account_id, seq`, nil),
	}
}

func dumpMemory(t *testing.T, m *memory) dump {
	t.Helper()
	d := dump{}
	add := func(table string, row any) { d[table] = append(d[table], line(t, row)) }
	when := func(at time.Time) sql.NullTime { return sql.NullTime{Time: at, Valid: !at.IsZero()} }
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		owner := m.jobs[id]
		add("jobs", owner.JobRow)
		for _, h := range owner.History {
			add("history", h)
		}
		for _, e := range owner.Events {
			e.Body = canonical(t, e.Body)
			add("events", e)
		}
		for _, f := range slices.SortedFunc(slices.Values(owner.Faults),
			func(a, b faultLine) int { return cmp.Compare(a.WorkerID, b.WorkerID) }) {
			add("faults", f)
		}
		for _, h := range m.holds[id] {
			add("holds", h)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.tasks)) {
		row := m.tasks[id]
		l := taskLine{ID: row.ID, JobID: row.JobID, Ordinal: row.Ordinal, Stage: row.Stage, StageIndex: row.StageIndex,
			Name: row.Name, Queue: row.Queue, Ready: row.Ready, Status: string(row.Status), Attempt: row.Attempt, Run: row.Run,
			Retries: row.Retries, Interruptions: row.Interruptions, GivenBack: row.GivenBack, WorkerID: row.WorkerID.String,
			LicenseKey: row.LicenseKey, Progress: row.Progress, Message: row.Message, Items: canonical(t, row.Items),
			Summary: canonical(t, row.Summary), Programs: canonical(t, row.Programs), NotBefore: when(row.NotBefore),
			QueuedAt: row.QueuedAt, StartedAt: when(row.StartedAt), FinishedAt: when(row.FinishedAt)}
		if f := row.Failure; f != nil {
			l.Class, l.Code, l.Error = string(f.Class), f.Code, f.Message
		}
		add("tasks", l)
		for _, a := range slices.SortedFunc(slices.Values(row.Attempts),
			func(a, b settled) int { return cmp.Compare(a.Attempt, b.Attempt) }) {
			add("attempts", attemptLine{a.TaskID, a.Attempt, a.Run, a.WorkerID, a.Outcome, a.Usage.CPUMicroseconds,
				a.Usage.GPUMicroseconds, a.Usage.WallMs, a.Usage.BytesOut, int64(a.Price), a.At})
		}
		for _, f := range row.Files {
			add("files", fileLine{row.ID, f.Name, f.StorageKey, f.ByteSize})
		}
		for _, c := range row.Checkpoints {
			add("checkpoints", c)
		}
		for _, k := range slices.SortedFunc(slices.Values(row.Kept), func(a, b scheduler.KeptRow) int {
			return cmp.Compare(a.Attempt, b.Attempt)
		}) {
			add("kept work", keptLine{row.ID, k})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.accounts)) {
		a := m.accounts[id]
		add("accounts", a.AccountRow)
		for _, e := range a.Entries {
			add("entries", entryLine{e.ID, id, string(e.Type), string(e.Bucket), e.AmountPence, e.BeforePence, e.AfterPence,
				e.JobID, max(e.Run, 1), e.Text})
		}
	}
	return d
}
