package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/uploads"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// patience bounds every wait of a test.
const patience = 30 * time.Second

// house is a whole front door on a real socket. Its scheduler submits and cancels but does not lead, so that jobs stay as they
// were submitted.
type house struct {
	t    *testing.T
	db   *sqlx.DB
	base string
}

func open(t *testing.T, change ...func(*api.Deps)) *house {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	rdb, _, prefix := redistest.New(t)
	objects, _ := objecttest.New(t)
	db, registry, log := pgtest.New(t), engines.NewRegistry(vina.New()), slog.New(slog.DiscardHandler)
	ledger := billing.NewLedger(book, id.New)
	files := uploads.New(db, objects, time.Now)
	work := jobs.New(jobs.Deps{
		DB: db, Engines: registry, Objects: objects, Uploads: files.OwnedAll, Currency: book.Currency, Log: log, Now: time.Now,
		Scheduler: scheduler.New(scheduler.Deps{DB: db, Queue: queue.New(rdb, prefix), Engines: registry, Prices: book, Ledger: ledger, Log: log, Now: time.Now}),
	})
	deps := api.Deps{
		DB: db, Redis: rdb, Ledger: ledger, Metrics: prometheus.NewRegistry(), Log: log, Now: time.Now,
		Groups: []func(huma.API){func(a huma.API) { jobs.Register(a, work) }, func(a huma.API) { uploads.Register(a, files) }},
		Config: api.Config{Version: "test", KeySecret: []byte(strings.Repeat("k", 32)), RedisPrefix: prefix, Origins: []string{"https://lab.example.org"}},
	}
	for _, one := range change {
		one(&deps)
	}
	server, err := api.New(deps)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return &house{t: t, db: db, base: "http://" + ln.Addr().String()}
}

// signUp is the browser of a new account.
func (h *house) signUp() *http.Client {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: patience}
	h.send(browser, "POST", "/api/v1/auth/sign-up", `{"email":"`+id.New("u-")+`@example.org","password":"correct horse"}`, http.StatusCreated, nil)
	return browser
}

// key makes a key of the browser's account.
func (h *house) key(browser *http.Client, environment string, scopes ...string) (keyID, key string) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "agent", "environment": environment, "scopes": scopes})
	if err != nil {
		h.t.Fatal(err)
	}
	var made struct{ ID, Key string }
	h.send(browser, "POST", "/api/v1/keys", string(body), http.StatusCreated, &made)
	return made.ID, made.Key
}

// send expects a status and decodes the answer.
func (h *house) send(client *http.Client, method, path, body string, status int, into any, header ...string) http.Header {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		h.t.Fatalf("%s %s %v: got %d %s %v, want %d", method, path, header, response.StatusCode, text, err, status)
	}
	if into == nil {
		return response.Header
	}
	if kept, ok := into.(*[]byte); ok {
		*kept = text
		return response.Header
	}
	if err := json.Unmarshal(text, into); err != nil {
		h.t.Fatalf("%s %s: %s: %v", method, path, text, err)
	}
	return response.Header
}

// bearer sends a key with every request.
type bearer string

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := request.Clone(request.Context())
	sent.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(sent)
}

// agent is the protocol's own client with a key.
type agent struct {
	t       *testing.T
	session *sdk.ClientSession
}

func (h *house) connect(key string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(h.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.base + "/mcp", HTTPClient: &http.Client{Transport: bearer(key), Timeout: patience}, MaxRetries: -1,
	}, nil)
}

func (h *house) agent(key string) *agent {
	h.t.Helper()
	session, err := h.connect(key)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return &agent{t: h.t, session: session}
}

func (a *agent) call(name, arguments string) *sdk.CallToolResult {
	a.t.Helper()
	got, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		a.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return got
}

// good expects a result and decodes it.
func (a *agent) good(name, arguments string, into any) *sdk.CallToolResult {
	a.t.Helper()
	got := a.call(name, arguments)
	if got.IsError {
		a.t.Fatalf("%s %s: %s", name, arguments, said(got))
	}
	decode(a.t, got, into)
	return got
}

// refused expects an error with a code that says something.
func (a *agent) refused(name, arguments, code, says string) {
	a.t.Helper()
	got := a.call(name, arguments)
	var envelope map[string]any
	decode(a.t, got, &envelope)
	message, _ := envelope["error"].(string)
	if !got.IsError || envelope["code"] != code || !strings.Contains(message, says) || len(envelope) != 2 {
		a.t.Errorf("%s %s: got error %v, %v; want %s with %q", name, arguments, got.IsError, envelope, code, says)
	}
	if text := said(got); !strings.Contains(text, code) || !strings.Contains(text, says) {
		a.t.Errorf("%s %s: a model reads %q, want %s with %q", name, arguments, text, code, says)
	}
}

// said is all text of a result.
func said(got *sdk.CallToolResult) string {
	var all bytes.Buffer
	for _, content := range got.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			all.WriteString(text.Text + "\n")
		}
	}
	return all.String()
}

func decode(t *testing.T, got *sdk.CallToolResult, into any) {
	t.Helper()
	text, err := json.Marshal(got.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("structured content %s: %v", text, err)
	}
}
