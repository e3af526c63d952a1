package api_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

func cookie(t *testing.T, d *apitest.Door, c *apitest.Caller) *http.Cookie {
	t.Helper()
	address, err := url.Parse(d.Base)
	if err != nil {
		t.Fatal(err)
	}
	all := c.Client.Jar.Cookies(address)
	if len(all) != 1 {
		t.Fatalf("want one cookie, got %v", all)
	}
	return all[0]
}

// TestFromSignUpToBalance walks the path of a new user.
func TestFromSignUpToBalance(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	keyID, key := browser.Key("live", "credits:read")
	if !strings.HasPrefix(key, "svc_live_") {
		t.Errorf("key %q", key)
	}
	got := d.WithKey(key).Send("GET", "/api/v1/credits/balance", "")
	var balance map[string]any
	got.Decode(t, &balance)
	if got.StatusCode != 200 || len(balance) != 11 || balance["available_cents"].(float64) <= 0 ||
		balance["available_display"] == "" {
		t.Errorf("balance: %d %s", got.StatusCode, got.Text)
	}
	got = d.WithKey(key).Send("GET", "/api/v1/credits/transactions?limit=1", "")
	var list struct {
		Transactions []map[string]any `json:"transactions"`
		NextCursor   *string          `json:"nextCursor"`
	}
	got.Decode(t, &list)
	if got.StatusCode != 200 || len(list.Transactions) != 1 || list.Transactions[0]["type"] != "monthly_grant" ||
		len(list.Transactions[0]) != 10 {
		t.Errorf("transactions: %d %s", got.StatusCode, got.Text)
	}
	if got := browser.Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 {
		t.Errorf("balance by session: %d %s", got.StatusCode, got.Text)
	}

	var listed struct{ Keys []map[string]any }
	browser.Send("GET", "/api/v1/keys", "").Decode(t, &listed)
	if len(listed.Keys) != 1 || listed.Keys[0]["key"] != nil || listed.Keys[0]["lastUsedAt"] == nil ||
		listed.Keys[0]["revokedAt"] != nil {
		t.Errorf("keys: %v", listed.Keys)
	}
	first := browser.Send("DELETE", "/api/v1/keys/"+keyID, "")
	wantFailure(t, d.WithKey(key).Send("GET", "/api/v1/credits/balance", ""), 401, fault.Unauthorized, "revoked")
	second := browser.Send("DELETE", "/api/v1/keys/"+keyID, "")
	if first.StatusCode != 200 || second.StatusCode != 200 || first.Text != second.Text {
		t.Errorf("revocation: %d %s, again %d %s", first.StatusCode, first.Text, second.StatusCode, second.Text)
	}
	wantFailure(t, browser.Send("DELETE", "/api/v1/keys/key_unknown", ""), 404, fault.NotFound, "")
	wantFailure(t, d.SignUp().Send("DELETE", "/api/v1/keys/"+keyID, ""), 404, fault.NotFound, "")
}

// TestRevocationArrivesElsewhere: another instance believes a key for at most the second of its cache.
func TestRevocationArrivesElsewhere(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	keyID, key := browser.Key("live", "credits:read")
	clock := time.Now()
	elsewhere := keys.New(d.DB, d.Deps.Config.KeySecrets, discard(), func() time.Time { return clock })
	if _, err := elsewhere.Verify(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	browser.Send("DELETE", "/api/v1/keys/"+keyID, "")
	clock = clock.Add(time.Second)
	if _, err := elsewhere.Verify(t.Context(), key); !fault.Is(err, fault.Unauthorized) {
		t.Errorf("a second later: %v", err)
	}
}

func TestCreateKeyIsChecked(t *testing.T) {
	t.Parallel()
	browser := open(t).SignUp()
	for body, want := range map[string]string{
		`{"scopes":["jobs:read"]}`:                                   "name: is required",
		`{"name":"","scopes":["jobs:read"]}`:                         "name: expected length >= 1",
		`{"name":"n"}`:                                               "scopes: is required",
		`{"name":"n","scopes":[]}`:                                   "scopes: expected array length >= 1",
		`{"name":"n","scopes":["jobs:admin"]}`:                       "scopes[0]: expected one of",
		`{"name":"n","scopes":["jobs:read"],"environment":"prod"}`:   "environment: expected one of",
		`{"name":"n","scopes":["jobs:read"],"environment":""}`:       "environment: expected one of",
		`{"name":"n","scopes":["jobs:read"],"discoverySource":"tv"}`: "discoverySource: expected one of",
		`{"name":"n","scopes":["jobs:read"],"expiresAt":"tomorrow"}`: "expiresAt: expected string to be RFC 3339 " +
			"date-time",
		`{"name":"n","scopes":["jobs:read"],"expiresAt":null}`:                   "expiresAt: null is not allowed",
		`{"name":"n","scopes":["jobs:read"],"expiresAt":"2020-01-01T00:00:00Z"}`: "expiresAt: must lie in the future",
		`{"name":"n","scopes":["jobs:read"],"expiresAt":"9999-01-01T00:00:00Z"}`: "expiresAt: must lie in the future and not " +
			"after 2",
		`{"name":"` + strings.Repeat("n", 101) + `","scopes":["jobs:read"]}`: "name: expected length <= 100",
	} {
		wantFailure(t, browser.Send("POST", "/api/v1/keys", body), 400, fault.Validation, want)
	}
	got := browser.Send("POST", "/api/v1/keys", `{"name":"n","scopes":["jobs:read"],"discoverySource":"llms_txt"}`)
	var made map[string]any
	got.Decode(t, &made)
	key, _ := made["key"].(string)
	if got.StatusCode != 201 || made["environment"] != "live" || len(made) != 11 || made["last4"] != key[len(key)-4:] ||
		!strings.HasPrefix(key, made["prefix"].(string)) {
		t.Errorf("created: %d %s", got.StatusCode, got.Text)
	}
}

func TestSignUpIsChecked(t *testing.T) {
	t.Parallel()
	d := open(t)
	for body, want := range map[string]string{
		`{"email":"nobody","password":"12345678"}`:                                  "email: must be an address",
		`{"email":"Ada <ada@example.org>","password":"12345678"}`:                   "email: must be an address",
		`{"email":"acct_1@Address.invalid","password":"12345678"}`:                  "email: must be an address",
		`{"email":"ada@example.org","password":"1234567"}`:                          "password: expected length >= 8",
		`{"email":"ada@example.org","password":"` + strings.Repeat("x", 129) + `"}`: "password: expected length <= 128",
		`{"email":"ada@example.org","password":"12345678","admin":true}`:            "admin: is not a member",
	} {
		wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-up", body), 400, fault.Validation, want)
	}
}

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	d := open(t)
	email := id.New("Grace-") + "@Example.org"
	credentials := `{"email":"` + email + `","password":"correct horse"}`
	got := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", credentials)
	var account map[string]any
	got.Decode(t, &account)
	if got.StatusCode != 201 || account["email"] != email || account["plan"] != "free" ||
		!strings.HasPrefix(account["accountId"].(string), "acct_") || len(account) != 5 {
		t.Fatalf("sign-up: %d %s", got.StatusCode, got.Text)
	}
	again := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", strings.ToLower(credentials))
	wantFailure(t, again, 400, fault.Validation, "email: an account with this address exists already")

	wrong := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"`+email+`","password":"wrong"}`)
	unknown := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"nobody@example.org","password":"wrong"}`)
	wantFailure(t, wrong, 401, fault.Unauthorized, "no account has this email with this password")
	if wrong.Text != unknown.Text {
		t.Errorf("an unknown email answers differently: %s, %s", wrong.Text, unknown.Text)
	}

	browser := d.SignUp() // any browser: its cookie is replaced
	got = browser.Send("POST", "/api/v1/auth/sign-in", strings.ToLower(credentials))
	set := got.Header.Get("Set-Cookie")
	if got.StatusCode != 200 || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Lax") ||
		!strings.Contains(set, "Path=/") {
		t.Fatalf("sign-in: %d %s, cookie %s", got.StatusCode, got.Text, set)
	}
	stolen := cookie(t, d, browser)
	if got := browser.Send("GET", "/api/v1/keys", ""); got.StatusCode != 200 {
		t.Errorf("with a session: %d %s", got.StatusCode, got.Text)
	}
	if got := browser.Send("POST", "/api/v1/auth/sign-out", ""); got.StatusCode != 204 {
		t.Errorf("sign-out: %d %s", got.StatusCode, got.Text)
	}
	ended := d.Anonymous().Send("GET", "/api/v1/keys", "", "Cookie", stolen.Name+"="+stolen.Value)
	wantFailure(t, ended, 401, fault.Unauthorized, "session has ended")
}

func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	_, key := browser.Key("test", "credits:read")
	var stored string
	err := d.DB.GetContext(t.Context(), &stored, `SELECT (SELECT json_agg(a)::text FROM accounts a) || (SELECT json_agg(k)::text
		FROM api_keys k) || (SELECT json_agg(s)::text FROM sessions s)`)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{key, key[13:], "correct horse", cookie(t, d, browser).Value} {
		if strings.Contains(stored, secret) {
			t.Errorf("the database holds %q", secret)
		}
	}
	if !strings.Contains(stored, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Error("the password is not in argon2id's form")
	}
}

func TestTransactionsQueryIsChecked(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, key := d.SignUp().Key("live", "credits:read")
	for query, code := range map[string]fault.Code{
		"cursor=nonsense": fault.InvalidCursor, "cursor=%21": fault.InvalidCursor, "limit=0": fault.Validation,
		"limit=101": fault.Validation, "type=gift": fault.Validation, "from=yesterday": fault.Validation,
		"page=2": fault.Validation,
	} {
		wantFailure(t, d.WithKey(key).Send("GET", "/api/v1/credits/transactions?"+query, ""), 400, code, "")
	}
	for _, query := range []string{"type=hold", "job_id=job_x", "from=2020-01-01T00:00:00Z&to=2030-01-01T00:00:00%2B01:00",
		"limit=100"} {
		if got := d.WithKey(key).Send("GET", "/api/v1/credits/transactions?"+query, ""); got.StatusCode != 200 {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.Text)
		}
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
