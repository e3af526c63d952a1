package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// breaker is a server that speaks the contract badly on purpose: each request gets the next answer of the list, the last one
// again and again.
type breaker struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []http.HandlerFunc
	requests []received
}

type received struct {
	method, path string
	header       http.Header
	body         string
}

func newBreaker(t *testing.T, answers ...http.HandlerFunc) *breaker {
	t.Helper()
	b := &breaker{answers: answers}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *breaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	b.mu.Lock()
	answer := b.answers[min(len(b.requests), len(b.answers)-1)]
	b.requests = append(b.requests, received{r.Method, r.URL.RequestURI(), r.Header.Clone(), string(body)})
	b.mu.Unlock()
	answer(w, r)
}

func (b *breaker) received() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// newClient does not wait between its tries but records how long it would have.
func newClient(t *testing.T, server string, options Options) (*Client, *[]time.Duration) {
	t.Helper()
	options.Server = server
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var waits []time.Duration
	c.wait = func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		return ctx.Err()
	}
	c.jitter = func() float64 { return 0 }
	return c, &waits
}

func TestSubmitRepeatsItselfUnderOneKey(t *testing.T) {
	t.Parallel()
	b := newBreaker(t,
		hangUp,
		answer(503, `{"error":"away","code":"PROVIDER_UNAVAILABLE"}`, "Retry-After", "2"),
		answer(409, `{"error":"still running","code":"IDEMPOTENCY_IN_PROGRESS"}`),
		answer(200, `{"jobId":"job_1","estimatedCost":5.00,"currency":"GBP","status":"SUBMITTED","new":1}`),
	)
	c, waits := newClient(t, b.URL, Options{APIKey: "svc_live_x"})
	receipt, err := c.Submit(t.Context(), map[string]string{"jobType": "simulation"}, "")
	if err != nil || receipt.Body.JobID != "job_1" || receipt.Body.EstimatedCost != "5.00" {
		t.Fatalf("got %+v, %v; want job_1 at 5.00", receipt, err)
	}
	if got, want := string(receipt.JSON()),
		`{"jobId":"job_1","estimatedCost":5.00,"currency":"GBP","status":"SUBMITTED","new":1}`; got != want {
		t.Errorf("JSON: got %s, want %s", got, want)
	}
	requests := b.received()
	key := requests[0].header.Get("Idempotency-Key")
	for i, r := range requests {
		if r.header.Get("Idempotency-Key") != key || len(key) < 8 || r.body != `{"jobType":"simulation"}` ||
			r.header.Get("Authorization") != "Bearer svc_live_x" {
			t.Errorf("request %d: got key %q, body %s; want the first's %q and the whole body", i, r.header.Get("Idempotency-Key"),
				r.body, key)
		}
	}
	if want := []time.Duration{firstWait / 2, 2*time.Second + firstWait, 2 * firstWait}; !slices.Equal(*waits, want) {
		t.Errorf("waits: got %v, want %v", *waits, want)
	}
}

func TestCallsEnd(t *testing.T) {
	t.Parallel()
	limited := answer(429, `{"error":"too many","code":"RATE_LIMITED"}`, "Retry-After", "1", "X-Request-Id", "req_1")
	tests := []struct {
		name   string
		answer http.HandlerFunc
		call   func(ctx context.Context, c *Client) error
		tries  int
		check  func(err error) bool
	}{
		{"limited for ever", limited, balance, maxAttempts, func(err error) bool {
			var e *Error
			return errors.As(err, &e) && e.Code == fault.RateLimited && e.RetryAfter == time.Second && e.RequestID == "req_1" &&
				e.Status == 429
		}},
		{"asked to wait too long", answer(503, `{"error":"away"}`, "Retry-After", "3600"), balance, 1,
			func(err error) bool { return StatusOf(err) == 503 }},
		{"refused", answer(401, `{"error":"no","code":"UNAUTHORIZED"}`), balance,
			1, func(err error) bool { return CodeOf(err) == fault.Unauthorized }},
		{"no envelope", answer(500, `<html>`), balance, 1, func(err error) bool {
			return StatusOf(err) == 500 && CodeOf(err) == ""
		}},
		{"not our server", answer(200, `<html>`), balance, 1, func(err error) bool { return err != nil }},
		{"hangs up on a read", hangUp, balance, maxAttempts, isNetwork},
		{"hangs up on a sign-up", hangUp, func(ctx context.Context, c *Client) error {
			_, err := c.SignUp(ctx, "a@b.c", "secret-secret", "")
			return err
		}, 1, isNetwork},
		{"sends elsewhere", answer(308, "", "Location", "https://example.org/"), balance,
			1, func(err error) bool { return StatusOf(err) == 308 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBreaker(t, test.answer)
			c, _ := newClient(t, b.URL, Options{APIKey: "svc_live_x"})
			err := test.call(t.Context(), c)
			if !test.check(err) {
				t.Errorf("got %v", err)
			}
			// The transport itself may repeat a GET once, when a kept connection breaks before the answer.
			if got := len(b.received()); got < test.tries || got > test.tries && !isNetwork(err) {
				t.Errorf("got %d tries, want %d", got, test.tries)
			}
		})
	}
}

func balance(ctx context.Context, c *Client) error {
	_, err := c.Balance(ctx)
	return err
}

func isNetwork(err error) bool {
	var e *NetworkError
	return errors.As(err, &e)
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	c, waits := newClient(t, gone.URL, Options{})
	if _, err := c.Balance(t.Context()); !isNetwork(err) || len(*waits) != maxAttempts-1 {
		t.Errorf("got %v after %d waits, want a NetworkError after %d", err, len(*waits), maxAttempts-1)
	}
}

func TestCancelledCallsEndAtOnce(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, answer(503, `{"error":"away"}`))
	c, waits := newClient(t, b.URL, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Balance(ctx); !errors.Is(err, context.Canceled) || isNetwork(err) || len(*waits) != 0 {
		t.Errorf("got %v after %d waits, want context canceled after none", err, len(*waits))
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	account := answer(201, `{"accountId":"acct_1","email":"a@b.c"}`, "Set-Cookie",
		contract.SessionCookie+"=token-1; Path=/; HttpOnly; Secure")
	b := newBreaker(t, account, answer(201, `{"id":"key_1","key":"svc_live_secret"}`), answer(200, `{}`),
		answer(204, "", "Set-Cookie", contract.SessionCookie+"=; Max-Age=0"))
	c, _ := newClient(t, b.URL+"/", Options{APIKey: "svc_live_x"})
	if _, err := c.SignUp(t.Context(), "a@b.c", "secret-secret", "Ada"); err != nil || c.Session() != "token-1" {
		t.Fatalf("sign-up: %v, session %q; want token-1", err, c.Session())
	}
	if key, err := c.CreateKey(t.Context(), contract.CreateRequest{Name: "k", Environment: "live",
		Scopes: contract.Scopes}); err != nil ||
		key.Body.Secret != "svc_live_secret" {
		t.Fatalf("create: %+v, %v", key, err)
	}
	if err := balance(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := c.SignOut(t.Context()); err != nil || c.Session() != "" {
		t.Fatalf("sign-out: %v, session %q; want none", err, c.Session())
	}
	for i, want := range []struct{ path, authorization, cookie string }{
		{"/api/v1/auth/sign-up", "", ""},
		{"/api/v1/keys", "", contract.SessionCookie + "=token-1"},
		{"/api/v1/credits/balance", "Bearer svc_live_x", ""},
		{"/api/v1/auth/sign-out", "", contract.SessionCookie + "=token-1"},
	} {
		got := b.received()[i]
		if got.path != want.path || got.header.Get("Authorization") != want.authorization ||
			got.header.Get("Cookie") != want.cookie {
			t.Errorf("request %d: got %s, %q, %q; want %+v", i, got.path, got.header.Get("Authorization"), got.header.Get("Cookie"),
				want)
		}
	}
}

func TestAllOutputsJoinsPages(t *testing.T) {
	t.Parallel()
	page := func(next string, names ...string) http.HandlerFunc {
		var outputs []map[string]any
		for _, name := range names {
			outputs = append(outputs, map[string]any{"name": name, "byteSize": 1, "later": "<"})
		}
		text, _ := json.Marshal(outputs)
		return answer(200, fmt.Sprintf(`{"jobId":"job_1","complete":true,"outputs":%s,"nextCursor":%s}`, text, next))
	}
	b := newBreaker(t, page(`"c1"`, "a", "b"), page(`"c2"`, "c"), page(`null`, "d"))
	c, _ := newClient(t, b.URL, Options{})
	all, err := c.AllOutputs(t.Context(), "job_1")
	if err != nil || len(all.Body.Outputs) != 4 || all.Body.Outputs[3].Name != "d" || all.Body.NextCursor != nil {
		t.Fatalf("got %+v, %v; want four files", all, err)
	}
	var joined struct {
		Complete   bool
		Outputs    []map[string]any
		NextCursor *string
	}
	if err := json.Unmarshal(all.JSON(), &joined); err != nil || len(joined.Outputs) != 4 || joined.Outputs[3]["later"] != "<" ||
		!joined.Complete || joined.NextCursor != nil {
		t.Errorf("JSON: got %s, %v", all.JSON(), err)
	}
	if got, want := b.received()[2].path, "/api/v1/jobs/job_1/outputs?cursor=c2&limit=100"; got != want {
		t.Errorf("third page: got %s, want %s", got, want)
	}
}

func TestNewRefusesOtherAddresses(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"", "127.0.0.1:8080", "ftp://example.org", "http://", "http://user:pw@example.org",
		"http://example.org?x=1"} {
		if _, err := New(Options{Server: server}); err == nil {
			t.Errorf("server %q: got no error", server)
		}
	}
}
