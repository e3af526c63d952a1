package api_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
)

func TestUnknownAddressesAndMethods(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, one := range []struct {
		method, path string
		status       int
		code         fault.Code
		allow        string
	}{
		{"GET", "/api/v1/nothing", 404, fault.NotFound, ""},
		{"GET", "/api/v1/credits/balance/", 404, fault.NotFound, ""},
		{"GET", "/api/V1/credits/balance", 404, fault.NotFound, ""},
		{"GET", "/api", 404, fault.NotFound, ""},
		{"GET", "/api/v1/probe//", 404, fault.NotFound, ""},
		{"GET", "/api/v1/probe/%00", 400, fault.Validation, ""},
		{"GET", "/api/v1/probe/echo", 405, fault.MethodNotAllowed, "POST"},
		{"DELETE", "/api/v1/probe/some-id", 405, fault.MethodNotAllowed, "GET, HEAD"},
		{"PATCH", "/api/v1/keys", 405, fault.MethodNotAllowed, "POST, GET, HEAD"},
		{"OPTIONS", "/api/v1/keys", 405, fault.MethodNotAllowed, "POST, GET, HEAD"},
	} {
		got := d.Anonymous().Send(one.method, one.path, "")
		wantFailure(t, got, one.status, one.code, "")
		if allow := got.Header.Get("Allow"); allow != one.allow {
			t.Errorf("%s %s: Allow is %q, want %q", one.method, one.path, allow, one.allow)
		}
	}
	for _, path := range []string{"/nothing", "/docs/nothing.js"} {
		if got := d.Anonymous().Send("GET", path, ""); got.StatusCode != 404 || !strings.HasPrefix(got.Text, `{"error":"`) {
			t.Errorf("GET %s: %d %s", path, got.StatusCode, got.Text)
		}
	}
	if got := d.Anonymous().Send("PROPFIND", "/api/v1/keys", ""); got.StatusCode != 405 ||
		!strings.Contains(got.Text, `"METHOD_NOT_ALLOWED"`) {
		t.Errorf("PROPFIND: %d %s", got.StatusCode, got.Text)
	}
}

// TestUnreadableRequests sends what no client library would.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	d := open(t)
	for request, want := range map[string]string{
		"GET /api/v1/probe/x HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 20<<10): "431 Request Header Fields Too Large",
		"POST /api/v1/probe/echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n":        "400 Bad Request",
		"nonsense\r\n": "400 Bad Request",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(apitest.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", strings.TrimSuffix(request, "\r\n")); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		if !strings.Contains(string(text), want) || !strings.Contains(string(text), `{"error":"`) {
			t.Errorf("%.60q: got %q, %v, want %s in the envelope", request, text, err, want)
		}
		_ = conn.Close()
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	d := open(t)
	got := d.Anonymous().Send("HEAD", "/api/v1/openapi.json", "")
	if got.StatusCode != 200 || got.Text != "" || got.ContentLength < 1000 {
		t.Errorf("got %d, %d bytes, length %d", got.StatusCode, len(got.Text), got.ContentLength)
	}
	wantHeaders(t, got)
}

func TestUnexpectedFailuresTellNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, how := range []string{"panic", "plain", "internal"} {
		got := d.Anonymous().Send("GET", "/api/v1/probe/fail?how="+how, "", "X-Request-Id", "my-request-"+how)
		wantFailure(t, got, 500, "", "internal error, request id my-request-"+how)
		if strings.Contains(got.Text, "secret") {
			t.Errorf("%s: the answer shows the cause: %s", how, got.Text)
		}
		if !strings.Contains(d.Log.String(), `"request_id":"my-request-`+how) {
			t.Errorf("%s: the log does not name the request", how)
		}
	}
	if log := d.Log.String(); strings.Count(log, `"level":"ERROR"`) != 3 || !strings.Contains(log, "secret-in-a-panic") {
		t.Errorf("want three failures, each logged once with its cause: %s", log)
	}
}

// TestBusyAccountsAreToldWhenToComeBack: what is refused because too much is open at once has no limit of its own to tell from.
func TestBusyAccountsAreToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	got := open(t).Anonymous().Send("GET", "/api/v1/probe/fail?how=busy", "")
	wantFailure(t, got, 429, fault.RateLimited, "too many streams")
	if after := got.Header.Get("Retry-After"); after != "5" {
		t.Errorf("Retry-After is %q, want 5", after)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	c := open(t).Anonymous()
	if got := c.Send("GET", "/healthz", "", "X-Request-Id", "trace-12345678").Header.Get("X-Request-Id"); got != "trace-12345678" {
		t.Errorf("a sane id became %q", got)
	}
	for _, insane := range []string{"", "x", "with space in it", strings.Repeat("x", 200), `quote"quote"quote`} {
		if got := c.Send("GET", "/healthz", "", "X-Request-Id", insane).Header.Get("X-Request-Id"); !strings.HasPrefix(got,
			"req_") {
			t.Errorf("%q became %q, want an id of our own", insane, got)
		}
	}
}

func TestLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	_, key := browser.Key("live", "credits:read")
	d.WithKey(key).Send("GET", "/api/v1/credits/balance", "")
	d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"someone@example.org","password":"correct horse"}`)
	log := d.Log.String()
	for _, secret := range []string{key, "correct horse", "someone@example.org", cookie(t, d, browser).Value} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if !strings.Contains(log, `"route":"/api/v1/credits/balance"`) {
		t.Errorf("no access log: %s", log)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Config.Origins = []string{"https://app.example.org"} })
	got := d.Anonymous().Send("OPTIONS", "/api/v1/credits/balance", "", "Origin", "https://app.example.org",
		"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization")
	if got.StatusCode != 204 || got.Header.Get("Access-Control-Allow-Origin") != "https://app.example.org" ||
		!strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", got.StatusCode, got.Header)
	}
	got = d.Anonymous().Send("GET", "/api/v1/credits/balance", "", "Origin", "https://app.example.org")
	exposed := got.Header.Get("Access-Control-Expose-Headers")
	for _, name := range []string{"X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		if !strings.Contains(strings.ToLower(exposed), strings.ToLower(name)) {
			t.Errorf("%s is not exposed: %s", name, exposed)
		}
	}
	got = d.Anonymous().Send("GET", "/api/v1/credits/balance", "", "Origin", "https://evil.example.org")
	if allowed := got.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
		t.Errorf("a foreign origin is allowed: %s", allowed)
	}
}

func TestCrossSiteRequestsAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Config.Origins = []string{"https://app.example.org"} })
	browser := d.SignUp()
	_, key := browser.Key("live", "jobs:write")
	body := `{"name":"n","scopes":["jobs:read"]}`
	for _, one := range []struct {
		name   string
		header []string
		status int
	}{
		{"no origin: not a browser", nil, 201},
		{"own page", []string{"Sec-Fetch-Site", "same-origin", "Origin", d.Base}, 201},
		{"own page, old browser", []string{"Origin", d.Base}, 201},
		{"configured origin", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://app.example.org"}, 201},
		{"other site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example.org"}, 403},
		{"other site, old browser", []string{"Origin", "https://evil.example.org"}, 403},
		{"sandboxed frame", []string{"Origin", "null"}, 403},
		{"sibling site", []string{"Sec-Fetch-Site", "same-site", "Origin", "https://x.example.org"}, 403},
	} {
		got := browser.Send("POST", "/api/v1/keys", body, one.header...)
		if got.StatusCode != one.status {
			t.Errorf("%s: %d %s, want %d", one.name, got.StatusCode, got.Text, one.status)
		}
		if one.status == 403 {
			wantFailure(t, got, 403, fault.CSRFRejected, "")
		}
	}
	signIn := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"a@example.org","password":"x"}`, "Origin",
		"https://evil.example.org")
	wantFailure(t, signIn, 403, fault.CSRFRejected, "")
	if got := browser.Send("GET", "/api/v1/keys", "", "Sec-Fetch-Site", "cross-site"); got.StatusCode != 200 {
		t.Errorf("reading changes nothing and is not refused: %d", got.StatusCode)
	}
	withKey := d.WithKey(key).Send("POST", "/api/v1/probe/live", `{"text":"a"}`, "Origin", "https://evil.example.org")
	if withKey.StatusCode != 200 {
		t.Errorf("a key is not sent by itself and needs no origin: %d %s", withKey.StatusCode, withKey.Text)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	few := throttle.Limit{Rate: 1, Period: time.Hour, Burst: 3}
	many := throttle.Limit{Rate: 1000, Period: time.Second, Burst: 1000}
	t.Run("key", func(t *testing.T) {
		t.Parallel()
		d := open(t, func(deps *api.Deps) { deps.Config.Limits = api.Limits{Credential: few, Address: many, SignIn: many} })
		_, key := d.SignUp().Key("live", "credits:read")
		for i, want := range []string{"2", "1", "0"} {
			got := d.WithKey(key).Send("GET", "/api/v1/credits/balance", "")
			if got.StatusCode != 200 || got.Header.Get("RateLimit-Remaining") != want || got.Header.Get("RateLimit-Limit") != "3" {
				t.Errorf("call %d: %d %v", i, got.StatusCode, got.Header)
			}
		}
		got := d.WithKey(key).Send("GET", "/api/v1/credits/balance", "")
		wantFailure(t, got, 429, fault.RateLimited, "Retry-After")
		if got.Header.Get("Retry-After") == "" || got.Header.Get("RateLimit-Remaining") != "0" {
			t.Errorf("headers: %v", got.Header)
		}
	})
	t.Run("address", func(t *testing.T) {
		t.Parallel()
		d := open(t, func(deps *api.Deps) { deps.Config.Limits = api.Limits{Credential: many, Address: few, SignIn: many} })
		for _, path := range []string{"/api/v1/nothing", "/api/v1/credits/balance", "/api/v1/openapi.json"} {
			wantHeaders(t, d.Anonymous().Send("GET", path, ""))
		}
		for _, path := range []string{"/api/v1/nothing", "/api/v1/credits/balance", "/api/v1/openapi.json",
			"/.well-known/openapi.json"} {
			wantFailure(t, d.Anonymous().Send("GET", path, ""), 429, fault.RateLimited, "")
		}
		if got := d.Anonymous().Send("GET", "/healthz", ""); got.StatusCode != 200 {
			t.Errorf("probes are limited: %d", got.StatusCode)
		}
	})
	t.Run("sign-in", func(t *testing.T) {
		t.Parallel()
		d := open(t, func(deps *api.Deps) { deps.Config.Limits = api.Limits{Credential: many, Address: many, SignIn: few} })
		for range 3 {
			wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"A@example.org","password":"x"}`), 401,
				fault.Unauthorized, "")
		}
		got := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"a@example.org","password":"x"}`)
		wantFailure(t, got, 429, fault.RateLimited, "too many attempts")
		if got.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
	t.Run("behind a proxy", func(t *testing.T) {
		t.Parallel()
		d := open(t, func(deps *api.Deps) {
			deps.Config.Limits = api.Limits{Credential: many, Address: few, SignIn: many}
			deps.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
		})
		for range 3 {
			d.Anonymous().Send("GET", "/api/v1/nothing", "", "X-Forwarded-For", "6.6.6.6, 203.0.113.7, 10.1.2.3")
		}
		if got := d.Anonymous().Send("GET", "/api/v1/nothing", "", "X-Forwarded-For",
			"7.7.7.7, 203.0.113.7"); got.StatusCode != 429 {
			t.Errorf("the client's own part of X-Forwarded-For is believed: %d", got.StatusCode)
		}
		for _, same := range []string{"203.0.113.7:4711", "::ffff:203.0.113.7"} {
			if got := d.Anonymous().Send("GET", "/api/v1/nothing", "", "X-Forwarded-For", same); got.StatusCode != 429 {
				t.Errorf("%s is another client: %d", same, got.StatusCode)
			}
		}
		own := d.Anonymous() // some proxies add a line instead of appending to the one they find
		own.Header["X-Forwarded-For"] = []string{"7.7.7.7", "203.0.113.7"}
		if got := own.Send("GET", "/api/v1/nothing", ""); got.StatusCode != 429 {
			t.Errorf("the client's own line of X-Forwarded-For is believed: %d", got.StatusCode)
		}
		if got := d.Anonymous().Send("GET", "/api/v1/nothing", "", "X-Forwarded-For", "203.0.113.8"); got.StatusCode != 404 {
			t.Errorf("another client is limited too: %d", got.StatusCode)
		}
	})
	t.Run("every password from one address", func(t *testing.T) {
		t.Parallel()
		d := open(t, func(deps *api.Deps) {
			deps.Config.Limits = api.Limits{Credential: many, Address: many, SignIn: many, SignInWide: few}
		})
		for _, who := range []string{"a", "b", "c"} {
			wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"`+who+`@example.org","password":"x"}`),
				401, fault.Unauthorized, "")
		}
		got := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"d@example.org","password":"x"}`)
		wantFailure(t, got, 429, fault.RateLimited, "too many attempts to sign in")
		for i := range 4 {
			got = d.Anonymous().Send("POST", "/api/v1/auth/sign-up",
				fmt.Sprintf(`{"email":"new-%d@example.org","password":"12345678"}`, i))
		}
		wantFailure(t, got, 429, fault.RateLimited, "too many new accounts")
	})
	t.Run("one IPv6 subscriber", func(t *testing.T) {
		t.Parallel()
		d := open(t, func(deps *api.Deps) {
			deps.Config.Limits = api.Limits{Credential: many, Address: many, SignIn: few, SignInWide: many}
			deps.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		})
		var got apitest.Answer
		for i := range 4 {
			got = d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"a@example.org","password":"x"}`, "X-Forwarded-For",
				fmt.Sprintf("2001:db8::%d", i))
		}
		wantFailure(t, got, 429, fault.RateLimited, "too many attempts at this password")
	})
}

// bareDeps are enough to wire a front door that nobody asks anything.
func bareDeps() api.Deps {
	return api.Deps{
		DB: &sqlx.DB{}, Redis: redis.NewClient(&redis.Options{}), Ledger: &billing.Ledger{}, Metrics: prometheus.NewRegistry(),
		Log: discard(), Now: time.Now, Config: api.Config{KeySecrets: secret.One(make([]byte, secret.MinBytes))},
	}
}

func TestLiteralSegmentsComeFirst(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Groups = productGroups(deps) })
	browser := d.SignUp()
	wantFailure(t, browser.Send("GET", "/api/v1/jobs/submit", ""), 405, fault.MethodNotAllowed, "this address takes POST")
	wantFailure(t, browser.Send("GET", "/api/v1/jobs/job_unknown", ""), 404, fault.NotFound, "")
}

func TestParseTrustedProxies(t *testing.T) {
	t.Parallel()
	got, err := api.ParseTrustedProxies([]string{"10.1.2.3/8", "192.0.2.7", "2001:db8::1"})
	if want := "[10.0.0.0/8 192.0.2.7/32 2001:db8::1/128]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	for _, text := range []string{"", "proxy.example.org", "10.0.0.0/33", "10.0.0.0/8 "} {
		if got, err := api.ParseTrustedProxies([]string{text}); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Deps){
		"no secret":       func(d *api.Deps) { d.Config.KeySecrets = secret.Ring{} },
		"wildcard origin": func(d *api.Deps) { d.Config.Origins = []string{"*"} },
		"origin as URL":   func(d *api.Deps) { d.Config.Origins = []string{"https://app.example.org/"} },
		"no database":     func(d *api.Deps) { d.DB = nil },
		"no public URL":   func(d *api.Deps) { d.Config.OIDC = auth.OIDC{Issuer: "https://id.example.org", ClientID: "molfabric"} },
	} {
		deps := bareDeps()
		change(&deps)
		if _, err := api.New(deps); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
