package api_test

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now().UTC().Truncate(time.Second)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

const newcomer = `{"email":"grace@example.org","password":"correct horse"}`

// TestSessionCookie: every attribute, and Secure exactly when the browser came over TLS.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	proxy := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, one := range []struct {
		name   string
		change func(*api.Config)
		header []string
		secure bool
	}{
		{"plain", func(*api.Config) {}, nil, false},
		{"configured", func(c *api.Config) { c.SecureCookies = true }, nil, true},
		{"trusted proxy with TLS", func(c *api.Config) { c.TrustedProxies = proxy }, []string{"X-Forwarded-Proto", "https"}, true},
		{"trusted proxies, the first with TLS", func(c *api.Config) { c.TrustedProxies = proxy },
			[]string{"X-Forwarded-Proto", "https, http"}, true},
		{"trusted proxy without TLS", func(c *api.Config) { c.TrustedProxies = proxy }, []string{"X-Forwarded-Proto", "http"},
			false},
		{"anybody says so", func(*api.Config) {}, []string{"X-Forwarded-Proto", "https"}, false},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, func(deps *api.Deps) { one.change(&deps.Config) })
			up := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer, one.header...)
			in := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", newcomer, one.header...)
			for _, got := range []apitest.Answer{up, in} {
				set := got.Cookies()
				if len(set) != 1 {
					t.Fatalf("%d %s sets %v", got.StatusCode, got.Text, set)
				}
				c := set[0]
				if c.Name != "molfabric_session" || len(c.Value) < 43 || c.Path != "/" || c.Domain != "" ||
					c.MaxAge != 30*24*3600 ||
					!c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != one.secure {
					t.Errorf("cookie %s", c)
				}
				if strict := got.Header.Get("Strict-Transport-Security"); (strict != "") != one.secure {
					t.Errorf("Strict-Transport-Security is %q", strict)
				}
			}
			if up.Cookies()[0].Value == in.Cookies()[0].Value {
				t.Error("two sessions share a token")
			}
		})
	}
}

// TestSessionLife: a session lasts 30 days however much it is used, a changed cookie is none, and signing out ends it.
func TestSessionLife(t *testing.T) {
	t.Parallel()
	clock := newClock()
	d := open(t, func(deps *api.Deps) { deps.Now = clock.now })
	started := clock.now()
	got := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer)
	token := got.Cookies()[0].Value
	with := func(token string) apitest.Answer {
		return d.Anonymous().Send("GET", "/api/v1/auth/session", "", "Cookie", "molfabric_session="+token)
	}
	var session struct {
		Account              struct{ AccountID, Email, Plan string }
		StartedAt, ExpiresAt time.Time
	}
	with(token).Decode(t, &session)
	if session.Account.Email != "grace@example.org" || session.Account.Plan != "free" || session.Account.AccountID == "" ||
		!session.StartedAt.Equal(started) || !session.ExpiresAt.Equal(started.Add(30*24*time.Hour)) {
		t.Errorf("session %+v", session)
	}
	changed := []byte(token)
	changed[0] ^= 1
	for _, wrong := range []string{string(changed), token[1:], token + "A", strings.ToLower(token), "", "%00"} {
		wantFailure(t, with(wrong), 401, fault.Unauthorized, "")
	}
	for range 3 {
		clock.move(10*24*time.Hour - time.Second)
		if got := with(token); got.StatusCode != 200 {
			t.Fatalf("after %s: %d %s", clock.now().Sub(started), got.StatusCode, got.Text)
		}
	}
	clock.move(3 * time.Second)
	wantFailure(t, with(token), 401, fault.Unauthorized, "the session has ended")
}

func TestSignOutEndsOneSession(t *testing.T) {
	t.Parallel()
	d := open(t)
	first := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer).Cookies()[0]
	second := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", newcomer).Cookies()[0]
	as := func(c *http.Cookie, method, path string) apitest.Answer {
		return d.Anonymous().Send(method, path, "", "Cookie", c.Name+"="+c.Value)
	}
	out := as(first, "POST", "/api/v1/auth/sign-out")
	if set := out.Cookies(); out.StatusCode != 204 || len(set) != 1 || set[0].Value != "" || set[0].MaxAge >= 0 ||
		set[0].Path != "/" {
		t.Errorf("sign-out: %d %v", out.StatusCode, set)
	}
	wantFailure(t, as(first, "GET", "/api/v1/auth/session"), 401, fault.Unauthorized, "")
	wantFailure(t, as(first, "POST", "/api/v1/auth/sign-out"), 401, fault.Unauthorized, "")
	if got := as(second, "GET", "/api/v1/auth/session"); got.StatusCode != 200 {
		t.Errorf("the other browser: %d", got.StatusCode)
	}
}

// TestOldestSessionsEnd: an account has a bounded number of browsers.
func TestOldestSessionsEnd(t *testing.T) {
	t.Parallel()
	clock := newClock()
	d := open(t, func(deps *api.Deps) { deps.Now = clock.now })
	first := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer).Cookies()[0]
	_, err := d.DB.ExecContext(t.Context(), `INSERT INTO sessions (token_sha256, account_id, created_at, expires_at, last_seen_at)
		SELECT sha256(n::text::bytea), account_id, created_at + n * interval '1 s', expires_at, last_seen_at
		FROM sessions, generate_series(1, 99) n`)
	if err != nil {
		t.Fatal(err)
	}
	clock.move(time.Hour)
	newest := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", newcomer).Cookies()[0]
	for token, status := range map[string]int{first.Value: 401, newest.Value: 200} {
		if got := d.Anonymous().Send("GET", "/api/v1/auth/session", "", "Cookie",
			"molfabric_session="+token); got.StatusCode != status {
			t.Errorf("got %d, want %d", got.StatusCode, status)
		}
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	d := open(t)
	here := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer).Cookies()[0]
	elsewhere := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", newcomer).Cookies()[0]
	change := func(body string) apitest.Answer {
		return d.Anonymous().Send("POST", "/api/v1/auth/password", body, "Cookie", here.Name+"="+here.Value)
	}
	wantFailure(t, change(`{"currentPassword":"wrong","newPassword":"battery staple"}`), 400, fault.Validation,
		"currentPassword: is not")
	wantFailure(t, change(`{"currentPassword":"correct horse","newPassword":"short"}`), 400, fault.Validation,
		"newPassword: expected length >= 8")
	if got := change(`{"currentPassword":"correct horse","newPassword":"battery staple"}`); got.StatusCode != 204 ||
		got.Text != "" {
		t.Fatalf("change: %d %s", got.StatusCode, got.Text)
	}
	for token, status := range map[string]int{here.Value: 200, elsewhere.Value: 401} {
		if got := d.Anonymous().Send("GET", "/api/v1/auth/session", "", "Cookie",
			"molfabric_session="+token); got.StatusCode != status {
			t.Errorf("a session: %d, want %d", got.StatusCode, status)
		}
	}
	wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-in", newcomer), 401, fault.Unauthorized, "")
	if got := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", strings.Replace(newcomer, "correct horse", "battery staple",
		1)); got.StatusCode != 200 {
		t.Errorf("the new password: %d %s", got.StatusCode, got.Text)
	}
}

// TestPasswordGuessesAreLimited: whoever has stolen a session cannot guess the password with it either.
func TestPasswordGuessesAreLimited(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Config.Limits.SignIn = throttle.Limit{Rate: 1, Period: time.Hour, Burst: 2} })
	browser := d.SignUp()
	for _, status := range []int{400, 400, 429} {
		got := browser.Send("POST", "/api/v1/auth/password", `{"currentPassword":"wrong","newPassword":"battery staple"}`)
		if got.StatusCode != status {
			t.Errorf("got %d %s, want %d", got.StatusCode, got.Text, status)
		}
	}
}

// TestOriginOverTLS: a page that came without TLS is not ours when the service is reached over TLS.
func TestOriginOverTLS(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Config.SecureCookies = true })
	made := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer)
	session := "molfabric_session=" + made.Cookies()[0].Value
	host := strings.TrimPrefix(d.Base, "http://")
	body := `{"name":"n","scopes":["jobs:read"]}`
	for origin, status := range map[string]int{"https://" + host: 201, "http://" + host: 403} {
		if got := d.Anonymous().Send("POST", "/api/v1/keys", body, "Cookie", session, "Origin", origin); got.StatusCode != status {
			t.Errorf("%s: %d %s, want %d", origin, got.StatusCode, got.Text, status)
		}
	}
}
