package postgres_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/tenant"
)

// shared are the tables and views that hold no account's rows, and why. Every other one has row-level security.
var shared = map[string]string{
	"structures":         "public entries of the Protein Data Bank",
	"components":         "public chemical components",
	"sequence_databases": "databases of the deployment, offered to all accounts",
	"model_weights":      "weights of the deployment's models, offered to all accounts",
	"worker_enrolments":  "tokens of the deployment's workers, which no account may read",
	"worker_identities":  "workers of the deployment, which no account may read",
	"receipt_keys":       "public keys of the deployment's receipts",
	"closed_addresses":   "keyed hashes of addresses whose accounts are closed, which are nobody's",
	"repeat_draws":       "up to where tasks were drawn to be run again, which the leader alone reads",
	"goose_db_version":   "which migrations the schema has had",
	"ledger_violations":  "a view over all accounts for the operator, who alone may read it",
}

// theirs writes an account's row into every table that has accounts' rows.
//
//go:embed testdata/account.sql
var theirs string

// servedRoles are the roles that statements are served by.
var servedRoles = []string{"molfabric_app", "molfabric_everyone"}

// walls is a schema with the rows of two accounts, seen by its owner and by the served roles.
type walls struct {
	t             *testing.T
	owner, served *sqlx.DB
	tables        []string // those with accounts' rows
}

func newWalls(t *testing.T) *walls {
	t.Helper()
	w := &walls{t: t, owner: pgtest.Owner(t), served: pgtest.Served(t)}
	for _, letter := range []string{"a", "b"} {
		if _, err := w.owner.ExecContext(t.Context(), strings.ReplaceAll(theirs, "@", letter)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range relations(t, w.owner) {
		if shared[name] == "" {
			w.tables = append(w.tables, name)
		}
	}
	return w
}

// relations are the tables and views of the schema.
func relations(t *testing.T, db *sqlx.DB) []string {
	t.Helper()
	var names []string
	err := db.SelectContext(t.Context(), &names, `SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname`)
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}

func (w *walls) as(account string) context.Context {
	return tenant.With(w.t.Context(), "acct_"+account)
}

// rows tells the places of the rows of a table that a context's statements see.
func (w *walls) rows(ctx context.Context, db *sqlx.DB, table string) []string {
	w.t.Helper()
	var found []string
	if err := db.SelectContext(ctx, &found, `SELECT ctid::text FROM `+table+` ORDER BY 1`); err != nil {
		w.t.Errorf("%s: %v", table, err)
	}
	return found
}

// wantRefusal checks that the server has refused a statement because of who sent it.
func (w *walls) wantRefusal(what string, err error) {
	w.t.Helper()
	if refusal := (*pq.Error)(nil); !errors.As(err, &refusal) || refusal.Code != "42501" {
		w.t.Errorf("%s: %v; want insufficient privilege", what, err)
	}
}

func TestEveryTableIsWalledOrShared(t *testing.T) {
	t.Parallel()
	owner := pgtest.Owner(t)
	var walled []string
	err := owner.SelectContext(t.Context(), &walled, `SELECT relname FROM pg_class c
		WHERE relnamespace = current_schema()::regnamespace AND relrowsecurity
		AND (SELECT array_agg(r.rolname ORDER BY r.rolname) FROM pg_policy p, pg_roles r WHERE p.polrelid = c.oid
		AND p.polpermissive AND p.polcmd = '*'
			AND p.polroles = ARRAY[r.oid]) = $1::name[] ORDER BY relname`, pq.Array(servedRoles))
	if err != nil {
		t.Fatal(err)
	}
	names := relations(t, owner)
	for _, name := range names {
		if has := slices.Contains(walled, name); has == (shared[name] != "") {
			t.Errorf("%s: has row-level security with a policy for each of %v: %v; it is listed as shared because of %q", name,
				servedRoles, has, shared[name])
		}
	}
	for name := range maps.Keys(shared) {
		if !slices.Contains(names, name) {
			t.Errorf("%s is listed as shared and is not there", name)
		}
	}
}

func TestAnAccountSeesItsOwnRows(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	for _, table := range w.tables {
		all := w.rows(t.Context(), w.owner, table)
		a, b := w.rows(w.as("a"), w.served, table), w.rows(w.as("b"), w.served, table)
		if len(a) == 0 || len(a) != len(b) {
			t.Errorf("%s: %d rows of one account and %d of the other; testdata/account.sql writes each account's", table, len(a),
				len(b))
		}
		if both := slices.Sorted(slices.Values(append(a, b...))); !slices.Equal(both, all) ||
			len(slices.Compact(both)) != len(all) {
			t.Errorf("%s: the rows %v of two accounts are not all of %v, each once", table, both, all)
		}
		if everyone := w.rows(tenant.Everyone(t.Context(), "a test"), w.served, table); !slices.Equal(everyone, all) {
			t.Errorf("%s: everyone's rows are %v, want %v", table, everyone, all)
		}
		if nobody := w.rows(tenant.Nobody(t.Context()), w.served, table); len(nobody) != 0 {
			t.Errorf("%s: nobody sees %v", table, nobody)
		}
	}
}

// TestASessionThatWasToldNothingSeesNothing asks the server itself, without the connections that tell it.
func TestASessionThatWasToldNothingSeesNothing(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	conn, err := w.owner.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `SET ROLE molfabric_app`); err != nil {
		t.Fatal(err)
	}
	for _, table := range w.tables {
		var rows int
		if err := conn.GetContext(t.Context(), &rows, `SELECT count(*) FROM `+table); err != nil || rows != 0 {
			t.Errorf("%s: %d rows, %v; want none", table, rows, err)
		}
	}
}

func TestAnAccountChangesNoForeignRow(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	for _, table := range w.tables {
		foreign := w.rows(w.as("b"), w.served, table)[0]
		for _, statement := range []string{`DELETE FROM ` + table + ` WHERE ctid = $1::tid`,
			`UPDATE ` + table + ` SET ` + w.key(table) + ` = ` + w.key(table) + ` WHERE ctid = $1::tid`} {
			done, err := w.served.ExecContext(w.as("a"), statement, foreign)
			if isAppendOnly(err) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", statement, err)
			} else if n, err := done.RowsAffected(); n != 0 || err != nil {
				t.Errorf("%s has changed %d foreign rows, %v", statement, n, err)
			}
		}
		if left := w.rows(w.as("b"), w.served, table)[0]; left != foreign {
			t.Errorf("%s: the row at %s is now at %s", table, foreign, left)
		}
	}
}

func TestAnAccountWritesNoForeignRow(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	for _, table := range w.tables {
		var row string
		if err := w.served.GetContext(w.as("b"), &row, `SELECT row_to_json(t) FROM `+table+` t LIMIT 1`); err != nil {
			t.Fatal(err)
		}
		again := `INSERT INTO ` + table + ` OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_record(NULL::` + table + `, $1)`
		for name, ctx := range map[string]context.Context{"another account": w.as("a"), "nobody": tenant.Nobody(t.Context())} {
			_, err := w.served.ExecContext(ctx, again, row)
			w.wantRefusal(fmt.Sprintf("%s writes into %s", name, table), err)
		}
		var foreign string
		if err := w.served.GetContext(w.as("b"), &foreign, `SELECT `+w.key(table)+` FROM `+table+` LIMIT 1`); err != nil {
			t.Fatal(err)
		}
		if _, err := w.served.ExecContext(w.as("a"), `UPDATE `+table+` SET `+w.key(table)+` = $1`, foreign); !isAppendOnly(err) {
			w.wantRefusal("an account gives its row of "+table+" away", err)
		}
	}
}

// TestServedRolesAreBound shows that the roles have no way around the policies.
func TestServedRolesAreBound(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	var free []string
	err := w.owner.SelectContext(t.Context(), &free, `SELECT rolname FROM pg_roles r WHERE rolname = ANY($1) AND (rolsuper
		OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolcanlogin
		OR EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid) OR EXISTS (SELECT FROM pg_shdepend d
		WHERE d.refobjid = r.oid AND d.deptype = 'o'))`, pq.Array(servedRoles))
	if err != nil || len(free) != 0 {
		t.Errorf("roles %v may do more than they are granted, or own something; %v", free, err)
	}
	for name, ctx := range map[string]context.Context{"account": w.as("a"), "everyone": tenant.Everyone(t.Context(), "a test")} {
		for _, statement := range []string{
			`ALTER TABLE jobs DISABLE ROW LEVEL SECURITY`, `DROP POLICY own ON jobs`, `CREATE POLICY more ON jobs USING (true)`,
			`ALTER TABLE jobs ADD COLUMN more int`, `TRUNCATE jobs`, `DROP TABLE jobs`, `CREATE TABLE more (id int)`, `CREATE VIEW
				more AS SELECT 1`, `CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
			`CREATE ROLE more_` + name, `ALTER ROLE molfabric_app BYPASSRLS`, `UPDATE goose_db_version SET is_applied = true`,
			`COPY jobs TO PROGRAM 'cat'`,
		} {
			_, err := w.served.ExecContext(ctx, statement)
			w.wantRefusal(name+": "+statement, err)
		}
	}
	for _, statement := range []string{`SELECT rule FROM ledger_violations`, `INSERT INTO sequence_databases DEFAULT VALUES`,
		`DELETE FROM structures`, `SET LOCAL row_security = off; SELECT id FROM jobs`} {
		_, err := w.served.ExecContext(w.as("a"), statement)
		w.wantRefusal("account: "+statement, err)
	}
}

// TestAUserOfItsOwnIsServed opens the database as a deployment should: as a user who owns nothing and may become the roles.
func TestAUserOfItsOwnIsServed(t *testing.T) {
	t.Parallel()
	w := newWalls(t)
	address, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	user, password := id.New("test_user_"), id.New("")
	create := fmt.Sprintf(`CREATE ROLE %s LOGIN NOINHERIT PASSWORD %s`, user, pq.QuoteLiteral(password))
	if _, err := w.owner.ExecContext(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := w.owner.ExecContext(context.Background(), `DROP ROLE `+user); err != nil {
			t.Error(err)
		}
	})
	address.User = url.UserPassword(user, password)
	if db, err := postgres.OpenServed(t.Context(), address.String()); err == nil ||
		!strings.Contains(err.Error(), "GRANT molfabric_app") {
		t.Errorf("a user without the roles: %v, %v; want a word about what to grant", db, err)
	}
	if _, err := w.owner.ExecContext(t.Context(), `GRANT molfabric_app, molfabric_everyone TO `+user); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.OpenServed(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := w.rows(w.as("a"), db, "jobs"); len(got) != 1 {
		t.Errorf("the account sees jobs %v, want one", got)
	}
	if _, err := db.ExecContext(w.as("a"), `RESET ROLE; SELECT id FROM jobs`); err == nil {
		t.Error("the user itself reads jobs")
	}
}

func TestOpenServedRefusesWhoIsNotBound(t *testing.T) {
	t.Parallel()
	owner := pgtest.Owner(t)
	if _, err := owner.ExecContext(t.Context(), `ALTER TABLE accounts DISABLE ROW LEVEL SECURITY`); err != nil {
		t.Fatal(err)
	}
	if db, err := postgres.OpenServed(t.Context(), pgtest.URL(t)); err == nil ||
		!strings.Contains(err.Error(), "does not bind the role molfabric_app") {
		t.Errorf("OpenServed = %v, %v; want a refusal", db, err)
	}
}

// isAppendOnly tells what everybody gets who changes a table that rows are only added to: a trigger's refusal, or that of a
// permission which nobody was given.
func isAppendOnly(err error) bool {
	refusal := (*pq.Error)(nil)
	return errors.As(err, &refusal) && (refusal.Code == "23001" || refusal.Code == "42501" &&
		strings.HasPrefix(refusal.Message, "permission denied for table"))
}

// key is the column of a table by which a row's account is known.
func (w *walls) key(table string) string {
	w.t.Helper()
	var name string
	err := w.owner.GetContext(w.t.Context(), &name, `SELECT a.attname FROM pg_policy p
		JOIN pg_depend d ON d.classid = 'pg_policy'::regclass AND d.objid = p.oid
		JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid WHERE p.polname = 'own'
		AND p.polrelid = $1::regclass AND d.refobjid = p.polrelid`, table)
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}
