package projects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/redistest"
)

// patience bounds every wait of these tests.
const patience = 60 * time.Second

const base = "/api/v1/molecular/projects"

var secret = []byte(strings.Repeat("k", 32))

// desk is a front door with the group's operations on a real socket, with stores of its own.
type desk struct {
	t        *testing.T
	server   *api.Server
	db       *sqlx.DB
	keyring  *keys.Service
	projects *projects.Service
	url      string
}

func open(t *testing.T, quota projects.Quota) *desk {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	db := pgtest.New(t)
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d := &desk{t: t, db: db, keyring: keys.New(db, secret, log, time.Now)}
	d.projects = projects.New(projects.Deps{DB: db, Secret: secret, Quota: quota, Log: log, Now: time.Now})
	generous := throttle.Limit{Rate: 1_000_000, Period: time.Minute, Burst: 1_000_000}
	d.server, err = api.New(api.Deps{
		DB: db, Redis: rdb, Ledger: billing.NewLedger(book, id.New), Metrics: prometheus.NewRegistry(), Log: log, Now: time.Now,
		Groups: []func(huma.API){func(a huma.API) { projects.Register(a, d.projects) }},
		Config: api.Config{Version: "test", KeySecret: secret, RedisPrefix: prefix, Limits: api.Limits{Credential: generous, Address: generous, SignIn: generous}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.listen()
	return d
}

func (d *desk) listen() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	d.url = "http://" + ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(ln) }()
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(d.server.Shutdown(ctx), <-served); err != nil {
			d.t.Error(err)
		}
	})
}

// caller sends requests with one key; "" sends none.
type caller struct {
	*desk
	accountID, key string
}

// account opens an account and makes a test key of it: nothing here is billed.
func (d *desk) account(scopes ...string) caller {
	d.t.Helper()
	accountID := id.New("acct_")
	d.db.MustExecContext(d.t.Context(), `INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, $2, '', '', now())`, accountID, accountID+"@example.org")
	if len(scopes) == 0 {
		scopes = []string{access.ProjectsRead, access.ProjectsWrite}
	}
	return d.keyOf(accountID, scopes...)
}

func (d *desk) keyOf(accountID string, scopes ...string) caller {
	d.t.Helper()
	made, err := d.keyring.Create(d.t.Context(), accountID, keys.CreateRequest{Name: "test", Environment: access.Test, Scopes: scopes})
	if err != nil {
		d.t.Fatal(err)
	}
	return caller{desk: d, accountID: accountID, key: made.Secret}
}

func (d *desk) anonymous() caller { return caller{desk: d} }

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	text   string
}

// send sends a request; header is a list of names and values.
func (c caller) send(method, path, body string, header ...string) answer {
	c.t.Helper()
	got, err := c.try(method, path, body, header...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// try is send for goroutines, which must not end a test.
func (c caller) try(method, path, body string, header ...string) (answer, error) {
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, text: string(text)}, errors.Join(err, response.Body.Close())
}

// do is send with a new key of idempotency.
func (c caller) do(method, path, body string, header ...string) answer {
	c.t.Helper()
	return c.send(method, path, body, append([]string{"Idempotency-Key", id.New("key-")}, header...)...)
}

// create makes a project with the content.
func (c caller) create(content string) projects.Project {
	c.t.Helper()
	got := c.do("POST", base, `{"name":"ABL1","description":"kinase","tags":["a","b"],"content":`+content+`}`)
	want(c.t, got, 201, "")
	return decoded[projects.Project](c.t, got)
}

// save saves the content after a version.
func (c caller) save(projectID string, version int64, content string) answer {
	c.t.Helper()
	return c.do("PUT", base+"/"+projectID, fmt.Sprintf(`{"name":"ABL1","expectedVersion":%d,"content":%s}`, version, content))
}

func (c caller) read(projectID string) projects.Project {
	c.t.Helper()
	got := c.send("GET", base+"/"+projectID, "")
	want(c.t, got, 200, "")
	return decoded[projects.Project](c.t, got)
}

func decoded[T any](t *testing.T, got answer) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader([]byte(got.text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%d %s: %v", got.status, got.text, err)
	}
	return value
}

// failure is the closed envelope.
type failure struct {
	Error          string     `json:"error"`
	Code           fault.Code `json:"code"`
	CurrentVersion int64      `json:"currentVersion"`
}

// want checks an answer's status and, for a failure, its code and the closed envelope.
func want(t *testing.T, got answer, status int, code fault.Code) {
	t.Helper()
	if got.status != status {
		t.Fatalf("got %d %s, want %d %s", got.status, got.text, status, code)
	}
	if code == "" {
		return
	}
	if f := decoded[failure](t, got); f.Code != code || f.Error == "" {
		t.Fatalf("got %d %s, want %d %s", got.status, got.text, status, code)
	}
}

// wantConflict checks a VERSION_CONFLICT and the head that it tells.
func wantConflict(t *testing.T, got answer, current int64) {
	t.Helper()
	want(t, got, 409, fault.VersionConflict)
	if f := decoded[failure](t, got); f.CurrentVersion != current {
		t.Fatalf("currentVersion is %d, want %d", f.CurrentVersion, current)
	}
}

// waitForBlocked returns when a statement of this test's schema waits for a lock.
func (d *desk) waitForBlocked() {
	d.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		var blocked bool
		err := d.db.GetContext(d.t.Context(), &blocked, `SELECT EXISTS (SELECT FROM pg_locks w JOIN pg_locks t ON t.pid = w.pid
			WHERE NOT w.granted AND t.relation = 'projects'::regclass)`)
		if err != nil {
			d.t.Fatal(err)
		}
		if blocked {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatal("nobody waits for a lock")
		}
	}
}
