package api_test

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// document is what the tests read of an OpenAPI document.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Servers    []struct{ URL string }          `json:"servers"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas         map[string]json.RawMessage `json:"schemas"`
		Headers         map[string]json.RawMessage `json:"headers"`
		SecuritySchemes map[string]json.RawMessage `json:"securitySchemes"`
	} `json:"components"`
}

type operation struct {
	OperationID string                     `json:"operationId"`
	Summary     string                     `json:"summary"`
	Security    []map[string][]string      `json:"security"`
	RequestBody json.RawMessage            `json:"requestBody"`
	Responses   map[string]json.RawMessage `json:"responses"`
}

func read(t *testing.T, text string) document {
	t.Helper()
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocumentIsServedTwice(t *testing.T) {
	t.Parallel()
	d := open(t)
	canonical := d.Anonymous().Send("GET", "/api/v1/openapi.json", "")
	alias := d.Anonymous().Send("GET", "/.well-known/openapi.json", "")
	if canonical.StatusCode != 200 || canonical.Text != alias.Text ||
		canonical.Header.Get("Content-Type") != alias.Header.Get("Content-Type") {
		t.Errorf("the two documents differ: %d %d", canonical.StatusCode, alias.StatusCode)
	}
	wantHeaders(t, canonical)
	wantHeaders(t, alias)
	if doc := read(t, canonical.Text); doc.OpenAPI != "3.1.0" || len(doc.Servers) != 1 || doc.Servers[0].URL != "/api" {
		t.Errorf("openapi %q, servers %v", doc.OpenAPI, doc.Servers)
	}
}

// TestDocumentIsSound checks what OpenAPI 3.1 asks for and generators trip over.
func TestDocumentIsSound(t *testing.T) {
	t.Parallel()
	text := open(t).Anonymous().Send("GET", "/api/v1/openapi.json", "").Text
	doc := read(t, text)
	ids := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			name := method + " " + path
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s: operationId %q is missing or taken", name, op.OperationID)
			}
			ids[op.OperationID] = true
			if !strings.HasPrefix(path, "/v1/") {
				t.Errorf("%s lies outside /v1", name)
			}
			for _, scheme := range op.Security {
				for kind := range scheme {
					if doc.Components.SecuritySchemes[kind] == nil {
						t.Errorf("%s: no security scheme %s", name, kind)
					}
				}
			}
			if _, answers422 := op.Responses["422"]; answers422 && !strings.Contains(name, "/v1/jobs") &&
				!strings.Contains(name, "/v1/uploads") {
				t.Errorf("%s documents a 422 that it never gives", name)
			}
			if _, limited := op.Responses["429"]; !limited {
				t.Errorf("%s does not document 429", name)
			}
		}
	}
	for _, ref := range refs(t, text) {
		schema, isSchema := strings.CutPrefix(ref, "#/components/schemas/")
		header, isHeader := strings.CutPrefix(ref, "#/components/headers/")
		if !(isSchema && doc.Components.Schemas[schema] != nil || isHeader && doc.Components.Headers[header] != nil) {
			t.Errorf("reference %s leads nowhere", ref)
		}
	}
	if envelope := string(doc.Components.Schemas["Error"]); !strings.Contains(envelope, `"additionalProperties":false`) {
		t.Errorf("the envelope is not closed: %s", envelope)
	}
	if body := string(doc.Components.Schemas["ProbeNested"]); strings.Contains(body, "null") ||
		!strings.Contains(body, `"additionalProperties":false`) {
		t.Errorf("a request's schema allows null or unknown members: %s", body)
	}
	if balance := string(doc.Components.Schemas["Balance"]); strings.Contains(balance, "additionalProperties") ||
		!strings.Contains(balance, `"null"`) {
		t.Errorf("an answer's schema is closed, or monthly_reset_at is not nullable: %s", balance)
	}
}

func refs(t *testing.T, text string) []string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				found = append(found, ref)
			}
			for _, child := range node {
				walk(child)
			}
		case []any:
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(root)
	return found
}

// TestScopeMatrix walks the document: what it says of an operation's callers is what the guard does, before it looks at any
// body or object.
func TestScopeMatrix(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Groups = append(deps.Groups, productGroups(deps)...) })
	doc := read(t, d.Anonymous().Send("GET", "/api/v1/openapi.json", "").Text)
	browser := d.SignUp()
	bearers := map[string]*apitest.Caller{}
	for _, scope := range contract.Scopes {
		_, key := browser.Key("live", scope)
		bearers[scope] = d.WithKey(key)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range doc.Paths[path] {
			method, address := strings.ToUpper(method), "/api"+strings.NewReplacer("{", "", "}", "").Replace(path)
			if strings.HasSuffix(path, "/sign-out") {
				continue // would end the browser's session; TestSignInAndOut calls it
			}
			anonymous := d.Anonymous().Send(method, address, "{")
			if len(op.Security) == 0 {
				if anonymous.StatusCode == 401 && !strings.HasSuffix(path, "/sign-in") {
					t.Errorf("%s %s is public and asks for a credential", method, path)
				}
				continue
			}
			wantFailure(t, anonymous, 401, fault.Unauthorized, "")
			scopes, takesKeys := op.Security[0]["apiKey"]
			noPlace := []string{"Last-Event-ID", "{"} // a stream without an end refuses to go on from there
			for scope, bearer := range bearers {
				got := bearer.Send(method, address, "{", noPlace...)
				switch {
				case !takesKeys:
					wantFailure(t, got, 403, fault.SessionRequired, "")
				case len(scopes) > 0 && !slices.Contains(scopes, scope):
					wantFailure(t, got, 403, fault.InsufficientScope, scopes[0])
				case got.StatusCode == 401 || got.StatusCode == 403:
					t.Errorf("%s %s with %s: %d %s", method, path, scope, got.StatusCode, got.Text)
				}
			}
			if got := browser.Send(method, address, "{", noPlace...); got.StatusCode == 401 || got.StatusCode == 403 {
				t.Errorf("%s %s with a session: %d %s", method, path, got.StatusCode, got.Text)
			}
		}
	}
}

func TestMalformedCredentials(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	_, key := browser.Key("live", "credits:read")
	flipped := []byte(key)
	flipped[20] ^= 1
	for name, header := range map[string]string{
		"no scheme": key, "basic": "Basic " + key, "empty": "Bearer ", "short": "Bearer svc_live_x",
		"flipped": "Bearer " + string(flipped), "other environment": "Bearer " + strings.Replace(key, "live", "test", 1),
		"unknown": "Bearer " + strings.Repeat("x", 4000),
	} {
		got := d.Anonymous().Send("GET", "/api/v1/credits/balance", "", "Authorization", header)
		if wantFailure(t, got, 401, fault.Unauthorized, ""); t.Failed() {
			t.Fatalf("%s", name)
		}
	}
	wantFailure(t, browser.Send("GET", "/api/v1/keys", "", "Authorization", "Bearer nonsense"), 401, fault.Unauthorized, "")
	wantFailure(t, d.Anonymous().Send("GET", "/api/v1/keys", "", "Cookie", "molfabric_session=made-up"), 401, fault.Unauthorized,
		"")
	if got := d.Anonymous().Send("GET", "/api/v1/credits/balance", "", "Authorization", "bearer  "+key); got.StatusCode != 200 {
		t.Errorf("the scheme's case matters: %d %s", got.StatusCode, got.Text)
	}
}

func TestTestKeysAndForgottenRules(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	_, test := browser.Key("test", "jobs:write", "credits:read")
	_, narrow := browser.Key("test", "credits:read")
	wantFailure(t, d.WithKey(test).Send("POST", "/api/v1/probe/live", "{"), 403, fault.TestKeyLiveBilling, "")
	wantFailure(t, d.WithKey(narrow).Send("POST", "/api/v1/probe/live", "{"), 403, fault.InsufficientScope, "jobs:write")
	if got := d.WithKey(test).Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 {
		t.Errorf("balance with a test key: %d %s", got.StatusCode, got.Text)
	}
	if got := browser.Send("POST", "/api/v1/probe/live", `{"text":"a"}`); got.StatusCode != 200 {
		t.Errorf("a session is live: %d %s", got.StatusCode, got.Text)
	}
	wantFailure(t, d.WithKey(test).Send("GET", "/api/v1/probe/forgotten", ""), 403, fault.SessionRequired, "")
	wantFailure(t, d.Anonymous().Send("GET", "/api/v1/probe/forgotten", ""), 401, fault.Unauthorized, "")
}

// productDocument is the document of the product, without the probes.
func productDocument(t *testing.T) []byte {
	t.Helper()
	return open(t, func(deps *api.Deps) { deps.Groups = productGroups(deps) }).Server.Document()
}

func TestReferencePageLoadsNothingFromOutside(t *testing.T) {
	t.Parallel()
	c := open(t).Anonymous()
	if got := c.Send("GET", "/", ""); got.StatusCode != http.StatusFound || got.Header.Get("Location") != "/docs" {
		t.Errorf("/: %d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	page := c.Send("GET", "/docs", "")
	if page.StatusCode != 200 || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") ||
		!strings.Contains(page.Text, `data-document="/api/v1/openapi.json"`) {
		t.Fatalf("/docs: %d %s", page.StatusCode, page.Text)
	}
	if strings.Contains(page.Text, "//") && strings.Contains(page.Text, "http") {
		t.Errorf("the page names another host: %s", page.Text)
	}
	counts := c.Send("GET", "/docs/repeats", "")
	if counts.StatusCode != 200 || !strings.Contains(counts.Text, `data-counts="/api/v1/public/repeats"`) ||
		counts.Header.Get("Content-Security-Policy") != page.Header.Get("Content-Security-Policy") {
		t.Errorf("/docs/repeats: %d %s", counts.StatusCode, counts.Text)
	}
	policy := page.Header.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'"} {
		if !strings.Contains(policy, rule) {
			t.Errorf("the policy %q lacks %q", policy, rule)
		}
	}
	for _, part := range strings.FieldsFunc(page.Text+counts.Text, func(r rune) bool { return r == '"' }) {
		if !strings.HasPrefix(part, "/docs/") {
			continue
		}
		plain, packed := c.Send("GET", part, "", "Accept-Encoding", "identity"), c.Send("GET", part, "")
		if plain.StatusCode != 200 || plain.Text == "" || plain.Text != packed.Text {
			t.Errorf("%s: %d, %d bytes, unpacked %d bytes", part, plain.StatusCode, len(plain.Text), len(packed.Text))
		}
	}
}

func TestProbesOfOperators(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Anonymous().Send("GET", "/api/v1/probe/one", "")
	d.Anonymous().Send("GET", "/api/v1/nowhere/at/all", "")
	ready := d.Anonymous().Send("GET", "/readyz", "")
	var answer struct {
		Ready bool
		Parts []struct {
			Name, Version string
			Ready         bool
		}
	}
	ready.Decode(t, &answer)
	if ready.StatusCode != 200 || !answer.Ready || len(answer.Parts) != 3 {
		t.Errorf("readyz: %d %s", ready.StatusCode, ready.Text)
	}
	for _, part := range answer.Parts {
		if !part.Ready || part.Version == "" {
			t.Errorf("part %+v", part)
		}
	}
	metrics := d.Anonymous().Send("GET", "/metrics", "").Text
	for _, line := range []string{
		`http_requests_total{method="GET",route="/api/v1/probe/{id}",status="200"} 1`,
		`http_requests_total{method="GET",route="unmatched",status="404"} 1`,
		`http_request_duration_seconds_count{method="GET",route="/api/v1/probe/{id}"} 1`,
		`molfabric_part_ready{part="redis"} 1`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}

// outsideTheDocument are the addresses that are no operations of the API: pages, and what machines and operators ask for.
var outsideTheDocument = []string{
	"/", "/docs", "/docs/", "/dashboard", "/verify-email", "/healthz", "/readyz", "/metrics", "/llms.txt",
	"/.well-known/llms.txt", "/.well-known/openapi.json", "/mcp",
}

// TestRoutesAreTheDocument compares what the router answers with what the document says, both ways.
func TestRoutesAreTheDocument(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Groups = productGroups(deps) })
	documented := map[string]bool{}
	for path, operations := range read(t, string(d.Server.Document())).Paths {
		for method := range operations {
			documented[strings.ToUpper(method)+" /api"+strings.NewReplacer("{", ":", "}", "").Replace(path)] = true
		}
	}
	routed := map[string]bool{}
	for _, route := range d.Server.Routes() {
		method, address, _ := strings.Cut(route, " ")
		if slices.ContainsFunc(outsideTheDocument, func(one string) bool {
			return address == one || strings.HasSuffix(one, "/") && len(one) > 1 && strings.HasPrefix(address, one)
		}) || method == http.MethodHead && documented["GET "+address] {
			continue
		}
		routed[route] = true
		if !documented[route] {
			t.Errorf("%s is routed and not documented", route)
		}
	}
	for operation := range documented {
		if !routed[operation] {
			t.Errorf("%s is documented and not routed", operation)
		}
	}
	if len(routed) < 50 {
		t.Errorf("%d operations, want those of the whole contract", len(routed))
	}
}
