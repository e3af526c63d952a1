package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/tenant"
)

// myself reads the accounts that a context's statements see.
func myself(ctx context.Context, db sqlx.QueryerContext) (string, error) {
	var ids []string
	err := sqlx.SelectContext(ctx, db, &ids, `SELECT id FROM accounts ORDER BY id`)
	return strings.Join(ids, " "), err
}

// openAccounts stores accounts with these ids.
func openAccounts(t testing.TB, ids ...string) {
	t.Helper()
	owner := pgtest.Owner(t)
	for _, accountID := range ids {
		if _, err := owner.ExecContext(t.Context(), `INSERT INTO accounts (id, email, name, created_at)
			VALUES ($1, $1, '', now())`, accountID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStatementWithoutATenantIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.Served(t)
	_, errExec := db.ExecContext(t.Context(), `UPDATE accounts SET name = $1`, "x")
	_, errQuery := myself(t.Context(), db)
	_, errBegin := db.BeginTxx(t.Context(), nil)
	_, errPrepare := db.PreparexContext(t.Context(), `SELECT 1`) //nolint:sqlclosecheck // refused: there is none to close
	conn, err := db.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, errConn := conn.ExecContext(t.Context(), `SELECT 1`)
	for what, err := range map[string]error{"exec": errExec, "query": errQuery, "begin": errBegin, "prepare": errPrepare,
		"connection": errConn} {
		if !errors.Is(err, postgres.ErrNoTenant) {
			t.Errorf("%s: %v, want %v", what, err, postgres.ErrNoTenant)
		}
	}
}

// TestASessionIsToldOnlyWhatIsNew counts the trips to the server.
func TestASessionIsToldOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	openAccounts(t, "a", "o'b")
	var told []string
	db, err := postgres.OpenHeard(t.Context(), pgtest.URL(t), func(statement string) { told = append(told, statement) })
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	a, b, all := tenant.With(t.Context(), "a"), tenant.With(t.Context(), "o'b"), tenant.Everyone(t.Context(), "a test")
	see := func(ctx context.Context, want string) {
		t.Helper()
		if got, err := myself(ctx, db); got != want || err != nil {
			t.Errorf("saw %q, %v; want %q", got, err, want)
		}
	}
	see(a, "a")
	see(a, "a")
	if err := postgres.InTx(a, db, func(tx *sqlx.Tx) error { _, err := myself(a, tx); return err }); err != nil {
		t.Error(err)
	}
	see(b, "o'b")
	see(all, "a o'b")
	see(all, "a o'b")
	see(b, "o'b")
	see(tenant.Nobody(t.Context()), "")
	want := []string{
		`SET ROLE molfabric_app; SET molfabric.account = 'a'`, `SET molfabric.account = 'o''b'`, `SET ROLE molfabric_everyone`,
		`SET ROLE molfabric_app; SET molfabric.account = 'o''b'`, `SET molfabric.account = ''`,
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestATransactionKeepsItsTenant(t *testing.T) {
	t.Parallel()
	openAccounts(t, "a", "b")
	db := pgtest.Served(t)
	a, b := tenant.With(t.Context(), "a"), tenant.With(t.Context(), "b")
	err := postgres.InTx(a, db, func(tx *sqlx.Tx) error {
		for _, ctx := range []context.Context{a, t.Context()} { // who says nothing means the transaction's
			if got, err := myself(ctx, tx); got != "a" || err != nil {
				t.Errorf("saw %q, %v; want a", got, err)
			}
		}
		for _, other := range []context.Context{b, tenant.Everyone(t.Context(), "a test"), tenant.Nobody(t.Context())} {
			if got, err := myself(other, tx); err == nil || !strings.Contains(err.Error(),
				"in a transaction about those of account a") {
				t.Errorf("in the transaction of a: saw %q, %v; want a refusal", got, err)
			}
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Error(err)
	}
	if got, err := myself(b, db); got != "b" || err != nil {
		t.Errorf("after the transaction: saw %q, %v; want b", got, err)
	}
}

func TestAPreparedStatementSeesTheRowsOfWhoRunsIt(t *testing.T) {
	t.Parallel()
	openAccounts(t, "a", "b")
	db := pgtest.Served(t)
	db.SetMaxOpenConns(1)
	statement, err := db.PreparexContext(tenant.With(t.Context(), "a"), `SELECT string_agg(id, ' ' ORDER BY id) FROM accounts
		WHERE id <> $1`)
	if err != nil {
		t.Fatal(err)
	}
	defer statement.Close()
	for range 10 { // more often than the server plans a statement anew by itself
		for who, ctx := range map[string]context.Context{"a": tenant.With(t.Context(), "a"), "b": tenant.With(t.Context(), "b"),
			"a b": tenant.Everyone(t.Context(), "a test")} {
			var got string
			if err := statement.GetContext(ctx, &got, ""); got != who || err != nil {
				t.Fatalf("saw %q, %v; want %q", got, err, who)
			}
		}
	}
	if _, err := statement.ExecContext(t.Context(), ""); !errors.Is(err, postgres.ErrNoTenant) {
		t.Errorf("without a tenant: %v", err)
	}
}

// TestTenantsShareAPool lets many work at once on few connections, some of them cut off in the middle.
func TestTenantsShareAPool(t *testing.T) {
	t.Parallel()
	var ids []string
	for n := range 10 {
		ids = append(ids, fmt.Sprintf("acct_%d", n))
	}
	openAccounts(t, ids...)
	db := pgtest.Served(t)
	db.SetMaxOpenConns(3)
	var group sync.WaitGroup
	for n, accountID := range ids {
		group.Go(func() {
			for turn := range 50 {
				ctx, cancel := context.WithCancel(tenant.With(t.Context(), accountID))
				if turn%7 == n%7 {
					go cancel() // before, while or after the session is told
					_, _ = myself(ctx, db)
					continue
				}
				if got, err := myself(ctx, db); got != accountID || err != nil {
					t.Errorf("%s saw %q, %v", accountID, got, err)
				}
				cancel()
			}
		})
	}
	group.Wait()
}

// TestParameters sends what Go has as slices of bytes to columns that want different things of them.
func TestParameters(t *testing.T) {
	t.Parallel()
	db := pgtest.Served(t)
	ctx := tenant.Nobody(t.Context())
	type named []byte
	for _, c := range []struct {
		as    string // SQL of the parameter
		value any
		want  string // as text
	}{
		{"$1::jsonb", []byte(`{"a": 1}`), `{"a": 1}`},
		{"$1::jsonb", json.RawMessage(`[1]`), `[1]`},
		{"$1::jsonb", `"text"`, `"text"`},
		{"$1::jsonb", []byte(nil), ""},
		{"$1::jsonb", json.RawMessage(nil), ""},
		{"$1::text::jsonb", postgres.Bytes(`{"large": true}`), `{"large": true}`},
		{"$1::text", []byte("α"), "α"},
		{"$1::bytea", postgres.Bytes{0, 255, '\\'}, `\x00ff5c`},
		{"$1::bytea", postgres.Bytes(nil), ""},
		{"$1::text", postgres.Bytes{}, ""},
		{"$1::bytea", named{0, 255}, `\x00ff`},
	} {
		var got sql.NullString
		if err := db.GetContext(ctx, &got, "SELECT ("+c.as+")::text", c.value); err != nil || got.String != c.want {
			t.Errorf("%s of %T %v: got %+v, %v; want %q", c.as, c.value, c.value, got, err, c.want)
		}
	}
	if _, err := db.ExecContext(ctx, `SELECT $1::bytea`, []byte{0, 255}); err == nil {
		t.Error("bytes that are no text went to a column of bytes as if they were")
	}
}

// TestStatementsAreKept looks at a session's own list of them.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	const ofAny, ofOthers = `SELECT count(*) FROM accounts WHERE id = ANY($1)`, `SELECT id FROM accounts WHERE id <> $1`
	db, err := postgres.OpenHeard(t.Context(), pgtest.URL(t), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := tenant.With(t.Context(), "a")
	openAccounts(t, "a", "b")
	for range 3 {
		for _, c := range []struct{ account, want string }{{"a", "a"}, {"b", "b"}} {
			var got []string
			err := db.SelectContext(tenant.With(t.Context(), c.account), &got, ofOthers, "x")
			if err != nil || fmt.Sprint(got) != "["+c.want+"]" {
				t.Fatalf("account %s sees %v, %v", c.account, got, err)
			}
			var all int
			if err := db.GetContext(tenant.Everyone(t.Context(), "a test"), &all, ofAny, []string{"a", "b"}); err != nil ||
				all != 2 {
				t.Fatalf("everyone sees %d, %v", all, err)
			}
		}
	}
	var once int
	if err := db.GetContext(ctx, &once, `SELECT $1::int`, 1); err != nil {
		t.Fatal(err)
	}
	var kept []string
	if err := db.SelectContext(ctx, &kept, `SELECT statement FROM pg_prepared_statements ORDER BY statement`); err != nil {
		t.Fatal(err)
	}
	if want := []string{ofAny, ofOthers}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
}

// TestASchemaChangesUnderKeptStatements: another process migrates while this one serves.
func TestASchemaChangesUnderKeptStatements(t *testing.T) {
	t.Parallel()
	db := pgtest.Served(t)
	ctx := tenant.Everyone(t.Context(), "a test")
	read := func(db sqlx.QueryerContext) error {
		rows, err := db.QueryxContext(ctx, `SELECT * FROM components WHERE component_id <> $1`, "x")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}
	for _, column := range []string{"first", "second"} {
		for range 3 {
			if err := read(db); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := pgtest.Owner(t).ExecContext(t.Context(), `ALTER TABLE components ADD COLUMN `+column+` text`); err != nil {
			t.Fatal(err)
		}
		if err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error { return read(tx) }); err != nil {
			t.Errorf("in a transaction, after a column %s more: %v", column, err)
		}
	}
	if _, err := pgtest.Owner(t).ExecContext(t.Context(), `ALTER TABLE components DROP COLUMN first`); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := read(db); err != nil {
			t.Errorf("after a column less: %v", err)
		}
	}
}

// TestCopy shows where COPY goes: not into a table with row-level security.
func TestCopy(t *testing.T) {
	t.Parallel()
	db := pgtest.Served(t)
	ctx := tenant.With(t.Context(), "a")
	rows := slices.Values([][]any{{"ATP", "{}", "test", "2026-11-22", "2026-11-22"}})
	columns := []string{"component_id", "definition", "source", "fetched_at", "check_after"}
	if err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		return postgres.Copy(ctx, tx, "components", columns, rows)
	}); err != nil {
		t.Errorf("into a shared table: %v", err)
	}
	err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		return postgres.Copy(ctx, tx, "accounts", []string{"id"}, slices.Values([][]any{{"a"}}))
	})
	if err == nil || !strings.Contains(err.Error(), "row-level security") {
		t.Errorf("into accounts: %v, want a refusal", err)
	}
	if _, err := myself(ctx, db); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func BenchmarkServed(b *testing.B) {
	var accounts []context.Context
	for n := range 1000 {
		accounts = append(accounts, tenant.With(b.Context(), fmt.Sprintf("acct_%d", n)))
	}
	owner, served := pgtest.Owner(b), pgtest.Served(b)
	if _, err := owner.ExecContext(b.Context(), `INSERT INTO accounts (id, email, name, created_at) SELECT 'acct_' || n, n::text,
		'', now() FROM generate_series(0, 999) n`); err != nil {
		b.Fatal(err)
	}
	if _, err := owner.ExecContext(b.Context(), `ANALYZE accounts`); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		db   *sqlx.DB
		of   func(n int) context.Context
	}{
		{"owner", owner, func(n int) context.Context { return accounts[n%1000] }},
		{"one account", served, func(int) context.Context { return accounts[0] }},
		{"another account each time", served, func(n int) context.Context { return accounts[n%1000] }},
		{"everyone", served, func(int) context.Context { return tenant.Everyone(b.Context(), "a benchmark") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				ctx := c.of(n)
				scope, _ := tenant.From(ctx)
				var name string
				accountID := scope.Account()
				if accountID == "" {
					accountID = "acct_0"
				}
				if err := c.db.GetContext(ctx, &name, `SELECT name FROM accounts WHERE id = $1`, accountID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
