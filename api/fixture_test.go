package api_test

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
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/redistest"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

// door is a front door on a real socket, with a database schema and a Redis prefix of its own.
type door struct {
	t      *testing.T
	server *api.Server
	deps   api.Deps
	db     *sqlx.DB
	base   string // http://127.0.0.1:port
	log    *logText
}

// open starts a front door. change may alter its parts before.
func open(t *testing.T, change ...func(*api.Deps)) *door {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	db := pgtest.New(t)
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	log := &logText{}
	deps := api.Deps{
		DB: db, Redis: rdb, Ledger: billing.NewLedger(book, id.New), Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: time.Now,
		Groups: []func(huma.API){registerProbes},
		Config: api.Config{Version: "test", KeySecret: []byte(strings.Repeat("k", 32)), RedisPrefix: prefix},
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
	return &door{t: t, server: server, deps: deps, db: deps.DB, base: "http://" + ln.Addr().String(), log: log}
}

func withRedis(rdb redis.UniversalClient) func(*api.Deps) { return func(d *api.Deps) { d.Redis = rdb } }

// logText is a log that a test reads.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	text string
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), into); err != nil {
		t.Fatalf("answer %d %q is not JSON: %v", a.StatusCode, a.text, err)
	}
}

// caller sends requests with one credential: a bearer key, the cookies of a browser, or neither.
type caller struct {
	door   *door
	client *http.Client
	header http.Header
}

func (d *door) anonymous() *caller {
	return &caller{door: d, client: &http.Client{Timeout: patience, CheckRedirect: stay}, header: http.Header{}}
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (d *door) withKey(key string) *caller {
	c := d.anonymous()
	c.header.Set("Authorization", "Bearer "+key)
	return c
}

// signUp opens an account and returns the browser that is signed in.
func (d *door) signUp() *caller {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	c := d.anonymous()
	c.client.Jar = jar
	got := c.send("POST", "/api/v1/auth/sign-up", `{"email":"`+id.New("ada-")+`@example.org","password":"correct horse"}`)
	if got.StatusCode != http.StatusCreated {
		d.t.Fatalf("sign-up: %d %s", got.StatusCode, got.text)
	}
	return c
}

// key makes a key for the browser's account.
func (c *caller) key(environment string, scopes ...string) (keyID, key string) {
	c.door.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "test", "environment": environment, "scopes": scopes})
	if err != nil {
		c.door.t.Fatal(err)
	}
	got := c.send("POST", "/api/v1/keys", string(body))
	if got.StatusCode != http.StatusCreated {
		c.door.t.Fatalf("create key: %d %s", got.StatusCode, got.text)
	}
	var made struct{ ID, Key string }
	got.decode(c.door.t, &made)
	return made.ID, made.Key
}

// send sends a request; header is a list of names and values.
func (c *caller) send(method, path, body string, header ...string) answer {
	c.door.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	return c.sendFrom(method, path, reader, header...)
}

func (c *caller) sendFrom(method, path string, body io.Reader, header ...string) answer {
	c.door.t.Helper()
	request, err := http.NewRequestWithContext(c.door.t.Context(), method, c.door.base+path, body)
	if err != nil {
		c.door.t.Fatal(err)
	}
	for name, values := range c.header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.client.Do(request)
	if err != nil {
		c.door.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.door.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{Response: response, text: string(text)}
}

// wantFailure checks status, code, the closed envelope and the headers that every answer carries.
func wantFailure(t *testing.T, got answer, status int, code fault.Code, inMessage string) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(got.text), &members); err != nil {
		t.Fatalf("answer %d %q is not JSON", got.StatusCode, got.text)
	}
	message, _ := members["error"].(string)
	gotCode, _ := members["code"].(string)
	if got.StatusCode != status || gotCode != string(code) || !strings.Contains(message, inMessage) {
		t.Errorf("got %d %s, want %d %s with %q", got.StatusCode, got.text, status, code, inMessage)
	}
	delete(members, "error")
	delete(members, "code")
	if len(members) > 0 || message == "" {
		t.Errorf("the envelope is not closed: %s", got.text)
	}
	if kind := got.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("Content-Type is %q", kind)
	}
	wantHeaders(t, got)
}

func wantHeaders(t *testing.T, got answer) {
	t.Helper()
	for _, name := range []string{"X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if got.Header.Get(name) == "" {
			t.Errorf("%d %s has no header %s", got.StatusCode, got.Request.URL.Path, name)
		}
	}
}

// The probes are operations with every kind of member, limit and failure.

type probeNested struct {
	Label string `json:"label" minLength:"2" maxLength:"8" pattern:"^[a-z]+$"`
	Count *int   `json:"count,omitempty" minimum:"1" maximum:"9" default:"3"`
}

type probeBody struct {
	Text     string            `json:"text" maxLength:"20"`
	Flag     *bool             `json:"flag,omitempty" default:"true"`
	Mail     string            `json:"mail,omitempty" format:"email"`
	List     []probeNested     `json:"list,omitempty" maxItems:"4"`
	Tags     map[string]string `json:"tags,omitempty"`
	Metadata json.RawMessage   `json:"metadata,omitempty"`
}

type probeInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"5"`
	Body  probeBody
}

type probeOutput struct{ Body probeBody }

type largeInput struct {
	Body struct {
		Blob string `json:"blob"`
	}
}

type failInput struct {
	How string `query:"how" enum:"panic,plain,internal,none"`
}

// probeMaxBody is the limit of the probe for large bodies: beyond the size at which a body takes a slot.
const probeMaxBody = 12 << 20

func registerProbes(a huma.API) {
	post := func(name, path string, rule access.Rule) huma.Operation {
		return access.Guarded(huma.Operation{OperationID: name, Method: http.MethodPost, Path: path}, rule)
	}
	huma.Register(a, post("probe", "/v1/probe/echo", access.Rule{Public: true}),
		func(_ context.Context, in *probeInput) (*probeOutput, error) { return &probeOutput{Body: in.Body}, nil })
	huma.Register(a, post("probe-large", "/v1/probe/large", access.Rule{Public: true, MaxBody: probeMaxBody}),
		func(_ context.Context, in *largeInput) (*struct{ Body int }, error) {
			return &struct{ Body int }{len(in.Body.Blob)}, nil
		})
	huma.Register(a, post("probe-live", "/v1/probe/live", access.Rule{Scope: access.JobsWrite, LiveOnly: true}),
		func(_ context.Context, in *probeInput) (*probeOutput, error) { return &probeOutput{Body: in.Body}, nil })
	huma.Register(a, huma.Operation{OperationID: "probe-forgotten", Method: http.MethodGet, Path: "/v1/probe/forgotten"},
		func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	huma.Register(a, access.Guarded(huma.Operation{OperationID: "probe-fail", Method: http.MethodGet, Path: "/v1/probe/fail"}, access.Rule{Public: true}),
		func(_ context.Context, in *failInput) (*struct{}, error) {
			switch in.How {
			case "panic":
				panic("secret-in-a-panic")
			case "plain":
				return nil, errors.New("secret-in-an-error")
			case "internal":
				return nil, fault.New(fault.Internal, "secret-in-a-fault")
			}
			return nil, nil
		})
	huma.Register(a, access.Guarded(huma.Operation{OperationID: "probe-item", Method: http.MethodGet, Path: "/v1/probe/{id}"}, access.Rule{Public: true}),
		func(_ context.Context, in *struct {
			ID string `path:"id"`
		}) (*struct{ Body string }, error) {
			return &struct{ Body string }{in.ID}, nil
		})
}
