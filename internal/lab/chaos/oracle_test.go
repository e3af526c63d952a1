package chaos

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/audit"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// damages are ways in which a database at rest can be wrong, each with the check that must say so. They are done in a transaction
// that is rolled back, with the triggers off that would refuse them.
var damages = []struct{ check, statement string }{
	{"every accepted job is terminal", `UPDATE jobs SET status = 'RUNNING', finished_at = NULL WHERE status = 'COMPLETED'`},
	{"every accepted job is terminal", `UPDATE jobs SET status = 'CANCELLING' WHERE status = 'CANCELLED'`},
	{"every task of an ended job has ended", `UPDATE tasks SET status = 'QUEUED' WHERE status = 'SUCCEEDED'`},
	{"a job has the tasks of its plan", `DELETE FROM tasks WHERE ordinal = 1`},
	{"one settled result a task", `INSERT INTO task_attempts (task_id, attempt, outcome, finished_at) SELECT task_id, attempt + 1,
		outcome, now() FROM task_attempts WHERE outcome = 'SUCCEEDED'`},
	{"one settled result a task", `DELETE FROM task_attempts WHERE outcome = 'SUCCEEDED'`},
	{"one settled result a task", `UPDATE task_attempts SET outcome = 'SUCCEEDED' WHERE outcome = 'FAILED'`},
	{"a success has its result", `UPDATE task_details SET programs = NULL`},
	{"no attempt is beyond its task's fence", `UPDATE task_attempts SET attempt = attempt + 10`},
	{"the ledger agrees with itself", `DELETE FROM ledger_postings WHERE account = 'revenue'`},
	{"the ledger agrees with itself", `UPDATE credit_accounts SET wallet_pence = wallet_pence + 1`},
	{"the ledger agrees with itself", `DELETE FROM ledger_entries WHERE type = 'hold_release'`},
	{"a job's charge is in the ledger", `UPDATE jobs SET charged_pence = charged_pence + 1`},
	{"a job's charge is in the ledger", `UPDATE jobs SET charged_pence = NULL WHERE status = 'COMPLETED'`},
	{"a job's charge is in the ledger", `DELETE FROM jobs WHERE charged_pence > 0`},
	{"a job's use is that of its attempts", `UPDATE task_attempts SET charged_micropence = charged_micropence + 1`},
	{"nothing is held for an ended job", `UPDATE holds SET status = 'open', captured_pence = 0, settled_at = NULL`},
	{"nothing is held for an ended job", `UPDATE credit_accounts SET wallet_held_pence = 1`},
	{"an open job has its hold", `UPDATE jobs SET status = 'RUNNING', finished_at = NULL WHERE held_pence > 0`},
	{"a job tells its end once a run", `DELETE FROM job_events WHERE kind = 'status' AND body ->> 'terminal' = 'true'`},
	{"a job tells its end once a run", `INSERT INTO job_events (job_id, kind, body, at) SELECT job_id, kind, body, at
		FROM job_events WHERE kind = 'status'`},
	{"only settled results are published", `UPDATE task_attempts SET outcome = 'LOST' WHERE outcome = 'SUCCEEDED'`},
	{"only settled results are published", `DELETE FROM task_attempts`},
	{"no checkpoint outlives its task's success", `INSERT INTO task_checkpoints (task_id, name, storage_key, sha256, byte_size,
		attempt, at)
		SELECT id, 'checkpoint/x', 'accounts/x', '', 0, 1, now() FROM tasks WHERE status = 'SUCCEEDED'`},
	{"acknowledged means stored", `UPDATE idempotency_keys SET response = '{"jobId": "job_lost"}'`},
	{"deleted files are not recorded", `UPDATE jobs SET files_deleted_at = now() WHERE status = 'COMPLETED'`},
	{"deleted files are not recorded", `UPDATE accounts SET closed_at = now() - interval '2 days'`},
	{"what is to be deleted is deleted in time", `INSERT INTO removals (prefix, account_id, asked_at, due_at)
		SELECT 'accounts/' || id || '/', id, now() - interval '2 days', now() FROM accounts`},
	{"every step of a job is legal", `DELETE FROM job_status_history WHERE seq = 1`},
	{"every step of a job is legal", `UPDATE job_status_history SET status = 'RUNNING' WHERE status = 'SUBMITTED'`},
	{"a job is charged its metered use", `UPDATE jobs SET accrued_micropence = 5000000, held_pence = 1000`},
	{"a job is charged its metered use", `UPDATE jobs SET charged_pence = charged_pence + 2`},
	{"every stored file is whole", `UPDATE artifacts SET byte_size = byte_size + 1`},
	{"every stored file is whole", `UPDATE artifacts SET storage_key = storage_key || '.gone'`},
	{"every stored file is whole", `UPDATE artifacts SET sha256 = repeat('0', 64)`},
}

// TestOracleFindsDamage damages a database that the oracle has no complaint of, in every way that it looks for.
func TestOracleFindsDamage(t *testing.T) {
	t.Parallel()
	w := openTestWorld(t)
	runAFew(t, w)
	if findings := judgeAt(t, w, w.db); len(findings) != 0 {
		t.Fatalf("before any damage the oracle finds %v", findings)
	}
	for _, damage := range damages {
		tx, err := w.db.BeginTxx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		tx.MustExecContext(t.Context(), `SET LOCAL session_replication_role = replica`)
		if n, err := tx.MustExecContext(t.Context(), damage.statement).RowsAffected(); err != nil || n == 0 {
			t.Errorf("%s: changed %d rows (%v), so that there is nothing to find", damage.statement, n, err)
		}
		findings := judgeAt(t, w, tx)
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Check == damage.check }) {
			t.Errorf("after %s the oracle finds %v, want something that breaks %q", damage.statement, findings, damage.check)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	promises := audit.Promises()
	for _, check := range tableChecks {
		promises = append(promises, check.name)
	}
	for _, promise := range promises {
		if !slices.ContainsFunc(damages, func(d struct{ check, statement string }) bool { return d.check == promise }) {
			t.Errorf("nothing shows that the check %q can fail", promise)
		}
	}
}

// judgeAt runs the checks of the tables and of the files that they name.
func judgeAt(t *testing.T, w *World, db sqlx.QueryerContext) []Finding {
	t.Helper()
	findings, err := judgeTables(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := storedFiles(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := judgeRecorded(t.Context(), w.objects, recorded)
	if err != nil {
		t.Fatal(err)
	}
	return append(findings, stored...)
}

// TestOracleFindsLeftovers leaves behind what nothing should.
func TestOracleFindsLeftovers(t *testing.T) {
	t.Parallel()
	w := openTestWorld(t)
	home := filepath.Join(w.home, "worker")
	w.homes, w.groups = []string{home}, []string{"molfabric-1073741824-5-"}
	for _, left := range []string{filepath.Join(home, "scratch", "wrk_left"), filepath.Join(w.temp(), "left"),
		filepath.Join(w.home, "s3", "server", "objects", "molfabric", gatewayWork, "multipart", "object", "upload"),
		filepath.Join(w.home, "groups", "slice", "molfabric-1073741824-5-1"),
		filepath.Join(w.home, "groups", "slice", "molfabric-1073741824-4-1")} {
		if err := os.MkdirAll(left, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	orphan := exec.CommandContext(t.Context(), "sleep", "600")
	orphan.Dir = home
	if err := proc.Start(orphan); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = orphan.Process.Kill()
		_ = orphan.Wait()
	})
	w.noteDeath("worker-1", os.ErrDeadlineExceeded)
	halves, err := halfWritten(filepath.Join(w.home, "s3", "server", "objects"), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := verdict(slices.Concat(halves, w.orphans(), w.leftDirectories(), leftGroups(filepath.Join(w.home, "groups"), w.groups),
		w.judgeStops(t.Context())))
	for _, want := range []string{"scratch/wrk_left", "tmp/left", "multipart/object/upload", "molfabric-1073741824-5-1",
		"sleep 600", "worker-1"} {
		if found == nil || !strings.Contains(found.Error(), want) {
			t.Errorf("the oracle says %v, want it to name %s", found, want)
		}
	}
	if strings.Contains(found.Error(), "molfabric-1073741824-4-1") {
		t.Errorf("the oracle says %v: the group is of an earlier process with the same id", found)
	}
	if halves, err := halfWritten(filepath.Join(w.home, "s3", "server", "objects"), []string{"upload"}); err != nil ||
		len(halves) != 0 {
		t.Errorf("of an upload that goes on it says %v (%v)", halves, err)
	}
}

// TestOracleListsAFewOfEachCheck: a thousand findings of one kind do not hide the others.
func TestOracleListsAFewOfEachCheck(t *testing.T) {
	t.Parallel()
	var many []Finding
	for range maxFindings + 2 {
		many = append(many, Finding{Check: "a check", Subject: "a subject", Detail: "a detail"})
	}
	err := verdict(append(many, Finding{Check: "another", Subject: "one", Detail: "thing"}))
	if err == nil || strings.Count(err.Error(), "a subject") != maxFindings ||
		!strings.Contains(err.Error(), "a check: 7 in all") || !strings.Contains(err.Error(), "another: one: thing") {
		t.Errorf("verdict = %v", err)
	}
	if err := verdict(nil); err != nil {
		t.Errorf("without findings the verdict is %v", err)
	}
}

// openTestWorld is a World of a test's own.
func openTestWorld(t *testing.T) *World {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	w, err := OpenWorld(t.Context(), WorldOptions{Program: program, Python: enginestest.Python(t), Home: serverstest.Dir(t),
		Short: true, Patience: ciPatience, Log: slog.New(slog.DiscardHandler)})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// runAFew runs a job of each end.
func runAFew(t *testing.T, w *World) {
	t.Helper()
	ctx := t.Context()
	if err := w.Start(ctx, 1, 1, 1); err != nil {
		t.Fatal(err)
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[job.Status]Probe{job.Completed: {Tasks: 3, OutputBytes: 1000}, job.Failed: {FailEvery: 1, FailClass: "USER_INPUT"},
		job.Cancelled: {Seconds: 60}}
	for want, probe := range ends {
		jobID, err := account.Submit(ctx, probe, "")
		if err == nil && want == job.Cancelled {
			if _, err = w.awaitRunning(ctx, w.Workers()[0], 1); err == nil {
				_, err = account.Client.Cancel(ctx, jobID, "")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if status, err := w.Await(ctx, jobID); err != nil || status != want {
			t.Fatalf("the job ended as %s (%v), want %s", status, err, want)
		}
	}
}
