package erasure_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// kept are the tables that keep rows of a closed account, and why. Every other one has none left: whoever adds a table
// decides here.
var kept = map[string]string{
	"accounts":           "the account's id, which the books name",
	"credit_accounts":    "the books",
	"holds":              "the books",
	"ledger_entries":     "the books",
	"ledger_postings":    "the books",
	"payments":           "the books",
	"payment_events":     "the books",
	"jobs":               "what the books charge for",
	"job_status_history": "when it was run",
	"tasks":              "what the books charge for",
	"task_details":       "which programs ran",
	"task_attempts":      "what was used",
	"audit_log":          "what happened, without addresses",
	"removals":           "what is looked at once more",
	"repeats":            "how often running again made the same, without names of files",
}

// TestAClosedAccount has a row in every table, and keeps those of the books; another account keeps all.
func TestAClosedAccount(t *testing.T) {
	t.Parallel()
	w := open(t)
	rows, err := os.ReadFile("../../internal/postgres/testdata/account.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, letter := range []string{"a", "b"} {
		w.exec(strings.ReplaceAll(string(rows), "@", letter))
		w.put("accounts/acct_"+letter+"/scene", receptor)
		w.put("accounts/acct_"+letter+"/poses", receptor)
	}
	w.exec(`UPDATE jobs SET finished_at = now(), status = 'FAILED', job_name = 'secret', status_reason = 'secret',
		error_message = 'secret', cancel_reason = 'secret'`)
	w.exec(`UPDATE job_status_history SET reason = 'secret'`)
	w.exec(`UPDATE task_details SET message = 'secret', error_message = 'secret', summary = '"secret"', shard = '"secret"',
		item_failures = '["secret"]'`)
	w.exec(`UPDATE repeats SET file = 'secret'`)
	w.exec(`UPDATE accounts SET email = 'secret@' || id, name = 'secret', password_hash = 'secret'`)
	w.exec(`INSERT INTO audit_log (at, account_id, actor, event, detail, address) SELECT now(), id, 'owner', 'key.created',
		'secret', '192.0.2.7' FROM accounts`)
	if n := w.count(`FROM jobs`); n != 2 {
		t.Fatal(n)
	}
	before := w.rowsOf("acct_b")
	closing := func() (done bool) {
		err := postgres.InTx(tenant.With(t.Context(), "acct_a"), w.served, func(tx *sqlx.Tx) (err error) {
			done, err = erasure.Account(tenant.With(t.Context(), "acct_a"), tx, "acct_a", time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if !closing() || closing() {
		t.Error("an account is not closed once")
	}
	// The process ends here.
	for range 2 {
		w.pass()
	}
	for table, n := range w.rowsOf("acct_a") {
		if (n > 0) != (kept[table] != "") {
			t.Errorf("%s has %d rows of the closed account; they are kept because of %q", table, n, kept[table])
		}
		if kept[table] != "" && w.count(`FROM `+table+
			` t WHERE row_to_json(t)::text LIKE '%acct_a%' AND row_to_json(t)::text ~ 'secret|192.0.2.7'`) > 0 {
			t.Errorf("%s tells of the person", table)
		}
	}
	for _, table := range []string{"job_status_history", "task_details"} {
		if n := w.count(`FROM ` + table + ` t WHERE row_to_json(t)::text LIKE '%secret%'`); n != 1 {
			t.Errorf("%s tells %d secrets, want that of the other account", table, n)
		}
	}
	for table, n := range w.rowsOf("acct_b") {
		if n != before[table] {
			t.Errorf("%s has %d rows of the other account, had %d", table, n, before[table])
		}
	}
	if mine, others := w.stored("accounts/acct_a/"), w.stored("accounts/acct_b/"); len(mine) != 0 || len(others) != 2 {
		t.Errorf("the store has %v and %v", mine, others)
	}
	w.later(27 * time.Hour)
	w.pass()
	if n := w.count(`FROM removals WHERE account_id = 'acct_a'`); n != 0 {
		t.Errorf("%d deletions are left", n)
	}
}

// rowsOf counts the rows of an account in every table that has accounts' rows.
func (w *world) rowsOf(accountID string) map[string]int {
	w.t.Helper()
	var tables []string
	err := w.db.SelectContext(w.t.Context(), &tables, `SELECT relname FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relrowsecurity ORDER BY relname`)
	if err != nil || len(tables) < len(kept) {
		w.t.Fatal(tables, err)
	}
	found := map[string]int{}
	for _, table := range tables {
		var n int
		if err := w.served.GetContext(tenant.With(w.t.Context(), accountID), &n, `SELECT count(*) FROM `+table); err != nil {
			w.t.Fatal(err)
		}
		found[table] = n
	}
	return found
}
