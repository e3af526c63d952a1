package api_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// broken is no JSON, so that whoever is let through is refused for it; unknownParameter does the same where there is no body.
const (
	broken           = `{"`
	unknownParameter = "?no-such-parameter=1"
)

// guarded is one operation with what it asks of its caller.
type guarded struct {
	name, method, path string
	rule               access.Rule
	takesBody          bool
}

var parameterInBraces = regexp.MustCompile(`\{[^/}]+\}`)

// operationsOf lists the operations of a server's document, in order.
func operationsOf(document *huma.OpenAPI) []guarded {
	var found []guarded
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		item := document.Paths[path]
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch,
			http.MethodDelete: item.Delete,
		} {
			if op == nil {
				continue
			}
			found = append(found, guarded{
				name: op.OperationID, method: method, path: "/api" + parameterInBraces.ReplaceAllString(path, "x"),
				rule: access.RuleOf(op), takesBody: op.RequestBody != nil,
			})
		}
	}
	return found
}

// openAll starts a front door with every group of the product and limits that no test reaches, and returns its operations.
func openAll(t *testing.T) (*apitest.Door, []guarded) {
	t.Helper()
	var document *huma.OpenAPI
	d := open(t, func(deps *api.Deps) {
		apitest.Unhurried(deps)
		deps.Groups = append(deps.Groups, productGroups(deps)...)
		deps.Groups = append(deps.Groups, func(a huma.API) { document = a.OpenAPI() })
	})
	operations := operationsOf(document)
	if len(operations) < 20 {
		t.Fatalf("only %d operations", len(operations))
	}
	return d, operations
}

// call sends what would be refused with 400 by whoever lets it pass.
func (g guarded) call(c *apitest.Caller, header ...string) apitest.Answer {
	body := ""
	if g.takesBody {
		body = broken
	}
	return c.Send(g.method, g.path+unknownParameter, body, header...)
}

// keysWithout makes, for every scope, a key of the environment with every other one; under "", one with all.
func keysWithout(d *apitest.Door, browser *apitest.Caller, environment string) map[string]*apitest.Caller {
	made := map[string]*apitest.Caller{}
	for _, scope := range append([]string{""}, contract.Scopes...) {
		_, key := browser.Key(environment, slices.DeleteFunc(slices.Clone(contract.Scopes),
			func(one string) bool { return one == scope })...)
		made[scope] = d.WithKey(key)
	}
	return made
}

// TestWhoMayCallWhat walks every operation of the document with every kind of caller (doc/contract.md §5, rules 1 to 6). The
// requests are broken: whoever may call is told so with 400, and whoever may not learns nothing of it.
func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	d, operations := openAll(t)
	browser := d.SignUp()
	live, test := keysWithout(d, browser, access.Live), keysWithout(d, browser, access.Test)
	liveOnly := 0
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			if op.rule.Public {
				if got := op.call(d.Anonymous()); got.StatusCode == 401 || got.StatusCode == 403 {
					t.Errorf("public, but %d %s", got.StatusCode, got.Text)
				}
				return
			}
			wantFailure(t, op.call(d.Anonymous()), 401, fault.Unauthorized, "")
			if op.rule.Operator {
				wantFailure(t, op.call(browser), 404, fault.NotFound, "")
			} else if got := op.call(browser); got.StatusCode != 400 {
				t.Errorf("a session: %d %s", got.StatusCode, got.Text)
			}
			if op.method != http.MethodGet {
				wantFailure(t, op.call(browser, "Origin", "https://evil.example.org"), 403, fault.CSRFRejected, "")
			}
			if op.rule.SessionOnly {
				wantFailure(t, op.call(live[""]), 403, fault.SessionRequired, "")
				wantFailure(t, op.call(test[""]), 403, fault.SessionRequired, "")
				return
			}
			if op.rule.Scope != "" {
				wantFailure(t, op.call(live[op.rule.Scope]), 403, fault.InsufficientScope, op.rule.Scope)
				wantFailure(t, op.call(test[op.rule.Scope]), 403, fault.InsufficientScope, op.rule.Scope)
			}
			if got := op.call(live[""]); got.StatusCode != 400 {
				t.Errorf("a key with every scope: %d %s", got.StatusCode, got.Text)
			}
			if op.rule.LiveOnly {
				wantFailure(t, op.call(test[""]), 403, fault.TestKeyLiveBilling, "")
			} else if got := op.call(test[""]); got.StatusCode != 400 {
				t.Errorf("a test key with every scope: %d %s", got.StatusCode, got.Text)
			}
		})
		if op.rule.LiveOnly {
			liveOnly++
		}
	}
	if liveOnly < 2 { // submit and the probe
		t.Errorf("%d operations refuse test keys", liveOnly)
	}
}

// TestScopesOfTheContract holds the rules that the operations carry against doc/contract.md §4 and §5, rule 3: the table
// above is only as right as they are.
func TestScopesOfTheContract(t *testing.T) {
	t.Parallel()
	_, operations := openAll(t)
	want := []struct {
		paths *regexp.Regexp
		rule  string
	}{
		{regexp.MustCompile(`^POST /api/v1/jobs/submit$`), "jobs:write, live keys"},
		{regexp.MustCompile(`^POST /api/v1/jobs/estimate$`), "any credential"},
		{regexp.MustCompile(`^GET /api/v1/jobs`), "jobs:read"},
		{regexp.MustCompile(`^POST /api/v1/jobs/x/retry$`), "jobs:write, live keys"},
		{regexp.MustCompile(`^POST /api/v1/jobs`), "jobs:write"},
		{regexp.MustCompile(`^[A-Z]+ /api/v1/uploads`), "jobs:write"},
		{regexp.MustCompile(`^GET /api/v1/credits`), "credits:read"},
		{regexp.MustCompile(`^POST /api/v1/credits/topup$`), "session"},
		{regexp.MustCompile(`^[A-Z]+ /api/v1/(keys|settings)(/|$)`), "session"},
		{regexp.MustCompile(`^[A-Z]+ /api/v1/operator(/|$)`), "session, operators"},
		{regexp.MustCompile(`^GET /api/v1/events$`), "jobs:read"},
		{regexp.MustCompile(`^GET /api/v1/molecular/projects`), "projects:read"},
		{regexp.MustCompile(`^[A-Z]+ /api/v1/molecular/projects`), "projects:write"},
		{regexp.MustCompile(`^POST /api/v1/molecular/studio/export`), "convert"},
		{regexp.MustCompile(`^[A-Z]+ /api/v1/molecular/studio/sessions`), "molecular:chat"},
		{regexp.MustCompile(`^[A-Z]+ /api/v1/public/`), "public"},
		{regexp.MustCompile(`^GET /api/v1/receipts/keys$`), "public"},
		{regexp.MustCompile(`^GET /api/v1/openapi.json$`), "public"},
	}
	for _, op := range operations {
		name := op.method + " " + op.path
		for _, row := range want {
			if row.paths.MatchString(name) {
				if got := ruleInWords(op.rule); got != row.rule {
					t.Errorf("%s: got %s, want %s", name, got, row.rule)
				}
				break
			}
		}
	}
}

func ruleInWords(rule access.Rule) string {
	words := []string{}
	switch {
	case rule.Public:
		words = append(words, "public")
	case rule.SessionOnly:
		words = append(words, "session")
	case rule.Scope != "":
		words = append(words, rule.Scope)
	default:
		words = append(words, "any credential")
	}
	if rule.LiveOnly {
		words = append(words, "live keys")
	}
	if rule.Operator {
		words = append(words, "operators")
	}
	return strings.Join(words, ", ")
}
