package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// beyondOneAccount are the calls after which statements see more than the rows of one account, by file. The reason stands in each
// call. Everything else that a request does is scoped by access.With, and by the server.
var beyondOneAccount = map[string]map[string]int{
	"tenant.Everyone": {
		"api/apitest/store_databases.go": 1,
		"api/apitest/store_weights.go":   1,
		"api/auth/links.go":              1,
		"api/auth/oidc.go":               1,
		"api/auth/proof.go":              1,
		"api/auth/service.go":            2,
		"api/auth/sign_up.go":            1,
		"api/credits/webhook.go":         1,
		"api/keys/service.go":            1,
		"api/notices/teller.go":          1,
		"api/operator/service.go":        1,
		"api/projects/service.go":        1,
		"api/uploads/sweep.go":           1,
		"api/webhooks/teller.go":         1,
		"api/workers/service.go":         1,
		"internal/postgres/served.go":    1,
		"internal/roles/audit.go":        1,
		"internal/roles/blastdb.go":      1,
		"internal/roles/secret_state.go": 2,
		"internal/roles/watching.go":     1,
		"internal/roles/weights.go":      1,
		"scheduler/archive/archive.go":   1,
		"scheduler/erasure/eraser.go":    1,
		"scheduler/demand.go":            1,
		"scheduler/metrics.go":           1,
		"scheduler/scheduler.go":         1,
		"scheduler/store_history.go":     1,
		"scheduler/store_repeats.go":     1,
	},
	"postgres.OpenEveryone": {"internal/postgres/pgtest/pgtest.go": 1},
	// The schema's owner, whom no policy binds.
	"postgres.Open": {
		"internal/postgres/pgtest/pgtest.go": 4,
		"internal/roles/stores.go":           1,
	},
}

// ownersTools work as the schema's owner by design, on deployments of their own.
var ownersTools = []string{"internal/lab"}

// drivers make connections that nobody tells whose rows they see.
var drivers = map[string]bool{"sql.Open": true, "sql.OpenDB": true, "sqlx.Open": true, "sqlx.Connect": true,
	"sqlx.MustConnect": true, "pq.Open": true, "pq.NewConnector": true, "pq.NewConnectorConfig": true, "pq.NewListener": true}

// TestStatementsAreScoped counts the ways to more than one account's rows.
func TestStatementsAreScoped(t *testing.T) {
	t.Parallel()
	found := map[string]map[string]int{}
	for _, s := range sources(t) {
		for _, call := range qualifiedCalls(t, s.path) {
			if drivers[call] && !belowAny(s.path, []string{"internal/postgres", "internal/servers"}) {
				t.Errorf("%s calls %s: connections are opened by internal/postgres, which tells them whose rows a statement sees",
					s.path, call)
			}
			if beyondOneAccount[call] == nil || belowAny(s.path, ownersTools) {
				continue
			}
			if found[call] == nil {
				found[call] = map[string]int{}
			}
			found[call][s.path]++
		}
	}
	for call, allowed := range beyondOneAccount {
		for file, n := range found[call] {
			if allowed[file] != n {
				t.Errorf("%s calls %s %d times, and %d are listed: can it be done for one account, with tenant.With? Else list it",
					file, call, n, allowed[file])
			}
		}
		for file, n := range allowed {
			if found[call][file] == 0 {
				t.Errorf("%s is listed with %d calls of %s and has none", file, n, call)
			}
		}
	}
}

// qualifiedCalls are the calls of a file that name a package or a value before the dot: "tenant.Everyone".
func qualifiedCalls(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if selected, ok := call.Fun.(*ast.SelectorExpr); ok {
				if before, ok := selected.X.(*ast.Ident); ok {
					found = append(found, before.Name+"."+selected.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}
