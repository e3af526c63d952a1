package api_test

import (
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// TestRedisAway: this instance counts for itself, everything else works, and the log says so once.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: closedAddress(t), MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	d := open(t, withRedis(rdb), func(deps *api.Deps) {
		deps.Config.Limits.Credential = throttle.Limit{Rate: 1, Period: time.Hour, Burst: 3}
	})
	_, key := d.SignUp().Key("live", "credits:read")
	for call := range 3 {
		got := d.WithKey(key).Send("GET", "/api/v1/credits/balance", "")
		if got.StatusCode != 200 || got.Header.Get("RateLimit-Remaining") != strconv.Itoa(2-call) {
			t.Fatalf("got %d %s %v", got.StatusCode, got.Text, got.Header)
		}
		wantHeaders(t, got)
	}
	wantFailure(t, d.WithKey(key).Send("GET", "/api/v1/credits/balance", ""), 429, fault.RateLimited, "")
	if said := strings.Count(d.Log.String(), "each instance counts rate limits for itself"); said != 1 {
		t.Errorf("logged %d times", said)
	}
	if got := d.Anonymous().Send("GET", "/readyz", ""); got.StatusCode != 503 ||
		!strings.Contains(got.Text, `{"name":"redis","ready":false`) {
		t.Errorf("readyz: %d %s", got.StatusCode, got.Text)
	}
}

// TestReadyOnAnotherSchema: an API serves on when a newer release has migrated the database, and not where it lacks a migration.
func TestReadyOnAnotherSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Owner(t)
	d := open(t, func(deps *api.Deps) { deps.DB = db })
	for _, change := range []struct {
		sql  string
		want int
	}{
		{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`, 200},
		{`DELETE FROM goose_db_version WHERE version_id >= (SELECT max(version_id) FROM goose_db_version WHERE version_id < 99999)`,
			503},
	} {
		db.MustExec(change.sql)
		if got := d.Anonymous().Send("GET", "/readyz", ""); got.StatusCode != change.want {
			t.Errorf("after %s: got %d %s, want %d", change.sql, got.StatusCode, got.Text, change.want)
		}
	}
}

// TestDatabaseAway cuts the line to Postgres: 503 in the envelope with Retry-After, never a bare 500, and back again.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	line := newLine(t, pgtest.URL(t))
	db, err := postgres.OpenServed(t.Context(), line.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := open(t, func(deps *api.Deps) { deps.DB = db })
	browser := d.SignUp()
	line.cut()
	got := browser.Send("GET", "/api/v1/keys", "")
	wantFailure(t, got, 503, fault.ProviderUnavailable, "try again")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if said := strings.Count(d.Log.String(), `"msg":"request failed"`); said != 1 {
		t.Errorf("logged %d times: %s", said, d.Log)
	}
	if got := d.Anonymous().Send("GET", "/readyz", ""); got.StatusCode != 503 ||
		!strings.Contains(got.Text, `{"name":"postgres","ready":false`) {
		t.Errorf("readyz: %d %s", got.StatusCode, got.Text)
	}
	if got := d.Anonymous().Send("GET", "/healthz", ""); got.StatusCode != 200 {
		t.Errorf("healthz: %d %s", got.StatusCode, got.Text)
	}
	line.mend()
	if got := browser.Send("GET", "/api/v1/keys", ""); got.StatusCode != 200 {
		t.Errorf("after the line is mended: %d %s", got.StatusCode, got.Text)
	}
}

// line is a connection to a real server that a test can cut.
type line struct {
	url string

	mu     sync.Mutex
	broken bool
	open   []net.Conn
}

func newLine(t *testing.T, server string) *line {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	target := address.Host
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{}
	address.Host = ln.Addr().String()
	l.url = address.String()
	var carried sync.WaitGroup
	carried.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil || !l.add(near, far) {
				_ = near.Close()
				continue
			}
			carried.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			carried.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		l.cut()
		carried.Wait()
	})
	return l
}

func (l *line) add(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, ends...)
	return !l.broken
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
	for _, one := range l.open {
		_ = one.Close()
	}
	l.open = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = false
}

func closedAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}
