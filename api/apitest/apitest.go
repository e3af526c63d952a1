// Package apitest gives every test a front door of its own on a real socket, over real stores, and callers that go through it
// with a key, with a browser's session, or with neither. It is for tests alone.
package apitest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/secret"
)

// Patience bounds every wait of a test. Only a failing test waits so long.
const Patience = time.Minute

// Door is a front door on a real socket, with a database schema and a Redis prefix of its own.
type Door struct {
	Server *api.Server
	Deps   api.Deps // what it was made of, after every change
	DB     *sqlx.DB // to look at everybody's rows; the front door itself has one that is told whose
	Base   string   // http://127.0.0.1:port
	Log    *Log     // everything it logs, unless a change has given it another log

	t testing.TB
}

// Open starts a front door without further groups. Each change alters its parts before. The test's end shuts it down.
func Open(t testing.TB, change ...func(*api.Deps)) *Door {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	d := &Door{t: t, Log: &Log{}, DB: pgtest.New(t)}
	d.Deps = api.Deps{
		DB: pgtest.Served(t), Redis: rdb, Ledger: billing.NewLedger(book, id.New), Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewJSONHandler(d.Log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: time.Now,
		Config: api.Config{
			Version: "test", KeySecrets: secret.One(bytes.Repeat([]byte("k"), secret.MinBytes)), RedisPrefix: prefix,
			SignUp: auth.Admission{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, // as on a system of one machine
		},
	}
	for _, one := range change {
		one(&d.Deps)
	}
	if d.Server, err = api.New(d.Deps); err != nil {
		t.Fatal(err)
	}
	d.serve()
	return d
}

// Unhurried is a change: limits of requests that no test reaches.
func Unhurried(deps *api.Deps) {
	limit := throttle.Limit{Rate: 10_000_000, Period: time.Minute, Burst: 1_000_000}
	deps.Config.Limits = api.Limits{Credential: limit, Address: limit, SignIn: limit, SignInWide: limit}
}

func (d *Door) serve() {
	d.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	d.Base = "http://" + ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- d.Server.Serve(ln) }()
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := errors.Join(d.Server.Shutdown(ctx), <-served); err != nil {
			d.t.Error(err)
		}
	})
}

// Log is a log that a test reads. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
