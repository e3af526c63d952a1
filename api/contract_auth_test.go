package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
)

// beside starts another instance over the same stores.
func beside(t *testing.T, d *apitest.Door, change ...func(*api.Deps)) *apitest.Door {
	t.Helper()
	return open(t, append([]func(*api.Deps){func(deps *api.Deps) {
		deps.DB, deps.Redis, deps.Config.RedisPrefix = d.Deps.DB, d.Deps.Redis, d.Deps.Config.RedisPrefix
	}}, change...)...)
}

// TestCredentialsOfTheContract walks doc/contract.md §5, rules 4 and 5, with every kind of bad credential: whatever is
// wrong with a key, the answer is the same to the byte, so that nobody learns which keys exist.
func TestCredentialsOfTheContract(t *testing.T) {
	t.Parallel()
	clock := newClock()
	d := open(t, func(deps *api.Deps) { deps.Now = clock.now })
	browser := d.SignUp()
	revokedID, revoked := browser.Key("live", "credits:read")
	browser.Send("DELETE", "/api/v1/keys/"+revokedID, "")
	_, valid := browser.Key("live", "credits:read")
	made := browser.Send("POST", "/api/v1/keys", `{"name":"n","scopes":["credits:read"],"expiresAt":"`+
		clock.now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	var expiring struct{ Key string }
	made.Decode(t, &expiring)
	if got := d.WithKey(expiring.Key).Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 {
		t.Fatalf("before its expiry: %d %s", got.StatusCode, got.Text)
	}
	clock.move(time.Hour)

	mistyped := valid[:len(valid)-1] + string(map[bool]byte{true: '1', false: '0'}[valid[len(valid)-1] == '0'])
	foreigner := beside(t, d, func(deps *api.Deps) { deps.Config.KeySecrets = secret.One([]byte(strings.Repeat("z", 32))) })
	_, foreign := foreigner.SignUp().Key("live", "credits:read") // well formed, and stored under a digest that is not ours
	bodies := map[string]string{}
	for name, authorization := range map[string]string{
		"revoked":             "Bearer " + revoked,
		"expired":             "Bearer " + expiring.Key,
		"unknown":             "Bearer " + foreign,
		"mistyped":            "Bearer " + mistyped,
		"cut":                 "Bearer " + valid[:20],
		"other environment":   "Bearer " + strings.Replace(valid, "_live_", "_test_", 1),
		"empty":               "Bearer ",
		"two":                 "Bearer " + valid + ", Bearer " + valid,
		"NUL":                 "Bearer " + valid + "%00",
		"SQL":                 "Bearer ' OR 1=1 --",
		"far too long":        "Bearer " + strings.Repeat("a", 4096),
		"lower-case, revoked": "bearer " + revoked,
	} {
		got := d.Anonymous().Send("GET", "/api/v1/credits/balance", "", "Authorization", authorization)
		wantFailure(t, got, 401, fault.Unauthorized, "malformed, unknown, expired or revoked")
		if got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: WWW-Authenticate is %q", name, got.Header.Get("WWW-Authenticate"))
		}
		bodies[got.Text] += name + ", "
	}
	if len(bodies) != 1 {
		t.Errorf("answers differ: %v", bodies)
	}
	for name, header := range map[string][]string{
		"nothing":              nil,
		"other scheme":         {"Authorization", "Basic " + valid},
		"key without scheme":   {"Authorization", valid},
		"made-up cookie":       {"Cookie", "molfabric_session=made-up"},
		"empty cookie":         {"Cookie", "molfabric_session="},
		"key as cookie":        {"Cookie", "molfabric_session=" + valid},
		"key in another place": {"X-Api-Key", valid},
	} {
		got := d.Anonymous().Send("GET", "/api/v1/credits/balance", "", header...)
		wantFailure(t, got, 401, fault.Unauthorized, "")
		if strings.Contains(got.Text, valid) {
			t.Errorf("%s: the answer repeats the credential: %s", name, got.Text)
		}
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		if got := d.Anonymous().Send("GET", "/api/v1/credits/balance", "", "Authorization", scheme+valid); got.StatusCode != 200 {
			t.Errorf("%q: %d %s", scheme, got.StatusCode, got.Text)
		}
	}
}

// TestTestKeysOfTheContract is doc/contract.md §5, rules 1 and 2.
func TestTestKeysOfTheContract(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) { deps.Groups = productGroups(deps) })
	browser := d.SignUp()
	for _, environment := range []string{"live", "test"} {
		_, key := browser.Key(environment, "jobs:write", "credits:read")
		if !strings.HasPrefix(key, "svc_"+environment+"_") {
			t.Errorf("a %s key is %.12s…", environment, key)
		}
		c := d.WithKey(key)
		submitted := c.Send("POST", "/api/v1/jobs/submit", `{}`)
		if environment == "test" {
			wantFailure(t, submitted, 403, fault.TestKeyLiveBilling, "")
		} else {
			wantFailure(t, submitted, 400, fault.Validation, "")
		}
		if got := c.Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 {
			t.Errorf("%s key reads the balance: %d", environment, got.StatusCode)
		}
		for _, path := range []string{"/api/v1/jobs/estimate", "/api/v1/jobs/upload-url"} { // refused for the body alone
			wantFailure(t, c.Send("POST", path, `{"no":1}`), 400, fault.Validation, "no: is not a member")
		}
	}
}

// TestKeyIsShownOnce is doc/contract.md §5, rule 7, and the shapes of §2.7.
func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	browser := d.SignUp()
	body :=
		`{"name":"n","environment":"test","scopes":["jobs:read","credits:read","jobs:read"],"discoverySource":"glama","expiresAt":"` +
			time.Now().Add(time.Hour).In(time.FixedZone("", 7200)).Format(time.RFC3339) + `"}`
	created := browser.Send("POST", "/api/v1/keys", body)
	var key map[string]any
	created.Decode(t, &key)
	members := []string{"createdAt", "environment", "expiresAt", "id", "key", "last4", "lastUsedAt", "name", "prefix", "revokedAt",
		"scopes"}
	if got := names(key); created.StatusCode != 201 || !slices.Equal(got, members) {
		t.Fatalf("created: %d %v, want %v", created.StatusCode, got, members)
	}
	if fmt.Sprint(key["scopes"]) != "[jobs:read credits:read]" || !strings.HasSuffix(key["expiresAt"].(string), "Z") {
		t.Errorf("created: %s", created.Text)
	}
	secret := key["key"].(string)
	list := browser.Send("GET", "/api/v1/keys", "")
	var listed map[string][]map[string]any
	list.Decode(t, &listed)
	delete(key, "key")
	if len(listed) != 1 || len(listed["keys"]) != 1 || fmt.Sprint(listed["keys"][0]) != fmt.Sprint(key) {
		t.Errorf("listed %v, want the key as it was created: %v", listed, key)
	}
	if strings.Contains(list.Text, secret) || strings.Contains(d.Log.String(), secret) {
		t.Error("the key is shown again")
	}
	var source string
	if err := d.DB.GetContext(t.Context(), &source, `SELECT discovery_source FROM api_keys WHERE id = $1`, key["id"]); err != nil ||
		source != "glama" {
		t.Errorf("discovery source %q, %v", source, err)
	}
}

func names(members map[string]any) []string {
	var all []string
	for name := range members {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// TestRotationOfTheContract is doc/contract.md §5, rule 9, with rule 8 on a second instance.
func TestRotationOfTheContract(t *testing.T) {
	t.Parallel()
	here := open(t)
	there := beside(t, here)
	browser := here.SignUp()
	oldID, old := browser.Key("live", "credits:read", "jobs:read")
	balance := func(d *apitest.Door, key string) apitest.Answer {
		return d.WithKey(key).Send("GET", "/api/v1/credits/balance", "")
	}
	for _, d := range []*apitest.Door{here, there} {
		if got := balance(d, old); got.StatusCode != 200 {
			t.Fatalf("the old key: %d %s", got.StatusCode, got.Text)
		}
	}
	_, fresh := browser.Key("live", "credits:read", "jobs:read") // the same scopes
	for _, d := range []*apitest.Door{here, there} {
		if got := balance(d, fresh); got.StatusCode != 200 {
			t.Fatalf("the new key: %d %s", got.StatusCode, got.Text)
		}
	}
	revocation := browser.Send("DELETE", "/api/v1/keys/"+oldID, "")
	revoked := time.Now()
	var answered struct{ ID, RevokedAt string }
	revocation.Decode(t, &answered)
	if revocation.StatusCode != 200 || answered.ID != oldID || answered.RevokedAt == "" {
		t.Fatalf("revocation: %d %s", revocation.StatusCode, revocation.Text)
	}
	wantFailure(t, balance(here, old), 401, fault.Unauthorized, "")
	var lastAccepted time.Duration // when the last request that was still accepted was sent
	eventually(t, "the other instance refuses the old key", func() bool {
		sent := time.Since(revoked)
		got := balance(there, old)
		if got.StatusCode == 200 {
			lastAccepted = sent
		}
		return got.StatusCode == 401
	})
	if lastAccepted > 2*time.Second {
		t.Errorf("the other instance believed the key for %s", lastAccepted)
	}
	for _, d := range []*apitest.Door{here, there} {
		if got := balance(d, fresh); got.StatusCode != 200 {
			t.Errorf("the new key afterwards: %d %s", got.StatusCode, got.Text)
		}
	}
}

// TestExpiryIsExact: no cache outlives a key.
func TestExpiryIsExact(t *testing.T) {
	t.Parallel()
	clock := newClock()
	d := open(t, func(deps *api.Deps) { deps.Now = clock.now })
	browser := d.SignUp()
	body := `{"name":"n","scopes":["credits:read"],"expiresAt":"` + clock.now().Add(300*time.Millisecond).Format(time.RFC3339Nano) +
		`"}`
	var made struct{ Key string }
	browser.Send("POST", "/api/v1/keys", body).Decode(t, &made)
	for _, step := range []struct {
		after  time.Duration
		status int
	}{{0, 200}, {299 * time.Millisecond, 200}, {time.Millisecond, 401}} {
		clock.move(step.after)
		if got := d.WithKey(made.Key).Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != step.status {
			t.Errorf("%s later: %d, want %d", step.after, got.StatusCode, step.status)
		}
	}
}

// TestLimitsAreShared is the rate limit of doc/contract.md §8 over two instances, with the headers on good and bad answers alike.
func TestLimitsAreShared(t *testing.T) {
	t.Parallel()
	few := func(deps *api.Deps) {
		deps.Config.Limits.Credential = throttle.Limit{Rate: 1, Period: time.Hour, Burst: 6}
	}
	here := open(t, few)
	there := beside(t, here, few)
	_, key := here.SignUp().Key("test", "credits:read")
	requests := []struct {
		door         *apitest.Door
		method, path string
		status       int
	}{
		{here, "GET", "/api/v1/credits/balance", 200},
		{there, "GET", "/api/v1/credits/balance", 200},
		{here, "GET", "/api/v1/credits/transactions?limit=0", 400},
		{there, "POST", "/api/v1/probe/live", 403},
		{here, "GET", "/api/v1/keys", 403},
		{there, "GET", "/api/v1/credits/balance", 200},
		{here, "GET", "/api/v1/credits/balance", 429},
		{there, "POST", "/api/v1/probe/live", 429},
	}
	for i, one := range requests {
		got := one.door.WithKey(key).Send(one.method, one.path, "")
		wantHeaders(t, got)
		remaining := strconv.Itoa(max(5-i, 0))
		if got.StatusCode != one.status || got.Header.Get("RateLimit-Limit") != "6" ||
			got.Header.Get("RateLimit-Remaining") != remaining {
			t.Errorf("request %d: %d %s %v, want %d with %s remaining", i, got.StatusCode, got.Text, got.Header, one.status,
				remaining)
		}
		if one.status == 429 {
			wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
			if wantFailure(t, got, 429, fault.RateLimited, ""); err != nil || wait < 1 || wait > 3600 {
				t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
			}
		}
	}
	if got := here.SignUp().Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 {
		t.Errorf("another caller is limited too: %d", got.StatusCode)
	}
}

// TestErrorsOfTheContract is doc/contract.md §7: each code with its status, in the closed
// envelope, with the headers of every answer. An operation fails with each in turn; the codes that the front door itself
// gives are made by real requests in the tests beside.
func TestErrorsOfTheContract(t *testing.T) {
	t.Parallel()
	table := map[int][]fault.Code{
		400: {fault.Validation, fault.InvalidExpectedVersion, fault.IdempotencyKeyRequired, fault.IdempotencyKeyMismatch,
			fault.UnknownTier, fault.InvalidCursor},
		401: {fault.Unauthorized},
		402: {fault.InsufficientCredits, fault.NoPaymentMethod},
		403: {fault.InsufficientScope, fault.TestKeyLiveBilling, fault.SessionRequired, fault.CostLimitExceeded,
			fault.CSRFRejected},
		404: {fault.NotFound},
		405: {fault.MethodNotAllowed},
		409: {fault.IdempotencyInProgress, fault.JobNotCancellable, fault.JobNotRetryable, fault.UploadIncomplete},
		410: {fault.ShareRevoked, fault.UploadExpired},
		413: {fault.PayloadTooLarge},
		415: {fault.UnsupportedMediaType},
		422: {
			fault.PipelineDisabled, fault.UnsupportedSimulator, fault.IdempotencyKeyReused, fault.ChecksumMismatch,
			fault.ArtifactNotFound, fault.SceneNotFound, fault.WorkerImageMismatch,
		},
		429: {fault.RateLimited},
		503: {fault.ProviderUnavailable},
	}
	d := open(t, func(deps *api.Deps) { deps.Groups = append(deps.Groups, registerFaults) })
	for status, codes := range table {
		for _, code := range codes {
			got := d.Anonymous().Send("GET", "/api/v1/probe-faults/"+string(code), "")
			wantFailure(t, got, status, code, "because of it")
			if needs := status == 429 || status == 503; needs != (got.Header.Get("Retry-After") != "") {
				t.Errorf("%s: Retry-After is %q", code, got.Header.Get("Retry-After"))
			}
		}
	}
	conflict := d.Anonymous().Send("GET", "/api/v1/probe-faults/"+string(fault.VersionConflict), "")
	if want := `{"error":"because of it","code":"VERSION_CONFLICT","currentVersion":7}`; conflict.StatusCode != 409 ||
		strings.TrimSpace(conflict.Text) != want {
		t.Errorf("got %d %s, want 409 %s", conflict.StatusCode, conflict.Text, want)
	}
	wantHeaders(t, conflict)
}

func registerFaults(a huma.API) {
	huma.Register(a, access.Guarded(huma.Operation{OperationID: "probe-faults", Method: http.MethodGet,
		Path: "/v1/probe-faults/{code}"}, access.Rule{Public: true}),
		func(_ context.Context, in *struct {
			Code fault.Code `path:"code"`
		}) (*struct{}, error) {
			switch in.Code {
			case fault.VersionConflict:
				return nil, fault.Conflict(7, "because of it")
			case fault.RateLimited:
				return nil, &throttle.Exceeded{What: "because of it", RetryAfter: time.Second}
			}
			return nil, fault.New(in.Code, "because of it")
		})
}
