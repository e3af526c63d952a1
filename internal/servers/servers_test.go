package servers_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// store is what both servers offer; the tests of their common promises run over it.
type store interface {
	URL() string
	PID() int
	Done() <-chan struct{}
	Version(context.Context) (string, error)
	Stop(context.Context) error
}

var (
	_ store = (*servers.Postgres)(nil)
	_ store = (*servers.Redis)(nil)
)

// kind is one of the two servers with the way to write a value to it and to read it back.
type kind struct {
	name  string
	start func(ctx context.Context, dir string) (store, error)
	write func(t *testing.T, url, value string)
	read  func(t *testing.T, url string) string
}

var kinds = []kind{
	{name: "postgres", start: startPostgres, write: writePostgres, read: readPostgres},
	{name: "redis", start: startRedis, write: writeRedis, read: readRedis},
}

func startPostgres(ctx context.Context, dir string) (store, error) {
	return servers.StartPostgres(ctx, servers.PostgresOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
}

func startRedis(ctx context.Context, dir string) (store, error) {
	return servers.StartRedis(ctx, servers.RedisOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
}

func openPostgres(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func writePostgres(t *testing.T, url, value string) {
	t.Helper()
	db := openPostgres(t, url)
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS kept (value text)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO kept VALUES ($1)", value); err != nil {
		t.Fatal(err)
	}
}

func readPostgres(t *testing.T, url string) string {
	t.Helper()
	var value string
	if err := openPostgres(t, url).QueryRow("SELECT string_agg(value, ' ') FROM kept").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func openRedis(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func writeRedis(t *testing.T, url, value string) {
	t.Helper()
	client := openRedis(t, url)
	if err := client.RPush(t.Context(), "kept", value).Err(); err != nil {
		t.Fatal(err)
	}
	// A kill may cost what was written within the last second; a rewritten file has reached the disk.
	if err := client.BgRewriteAOF(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the append-only file to be rewritten", func() bool {
		info := client.Info(t.Context(), "persistence").Val()
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
}

func readRedis(t *testing.T, url string) string {
	t.Helper()
	values, err := openRedis(t, url).LRange(t.Context(), "kept", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(values, " ")
}

// mustStart starts a server that the test's end stops.
func mustStart(t *testing.T, k kind, dir string) store {
	t.Helper()
	s, err := k.start(t.Context(), dir)
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func each(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { t.Parallel(); test(t, k) })
	}
}

func TestRunningServer(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		dir := filepath.Join(serverstest.Dir(t), "not", "there", "yet")
		s := mustStart(t, k, dir)
		checkAddress(t, s)
		checkSecondStart(t, k, dir)
		checkPassword(t, k, s, dir)
		checkUser(t, s)
		checkStop(t, s)
	})
}

func checkAddress(t *testing.T, s store) {
	t.Helper()
	version, err := s.Version(t.Context())
	if err != nil || version == "" || version[0] < '1' || version[0] > '9' {
		t.Errorf("Version() = %q, %v; want a number", version, err)
	}
	u, err := url.Parse(s.URL())
	if err != nil || u.Hostname() != "127.0.0.1" {
		t.Errorf("URL() = %q, %v; want it on 127.0.0.1", s.URL(), err)
	}
	if password, _ := u.User.Password(); len(password) < 32 {
		t.Errorf("URL() has a password of %d characters, want at least 32", len(password))
	}
}

// checkSecondStart starts another server in the directory, which must fail and name the holder.
func checkSecondStart(t *testing.T, k kind, dir string) {
	t.Helper()
	_, err := k.start(t.Context(), dir)
	locked := (*servers.LockedError)(nil)
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("second start = %v, want a LockedError that names process %d", err, os.Getpid())
	}
}

// checkPassword tells whether others on this machine can learn the password, or do without.
func checkPassword(t *testing.T, k kind, s store, dir string) {
	t.Helper()
	path := filepath.Join(dir, "password")
	password, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("password file has mode %v, %v; want 0600", info.Mode().Perm(), err)
	}
	argv, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/cmdline")
	if err != nil || strings.Contains(string(argv), string(password)) {
		t.Errorf("command line %q, %v; want it without the password", argv, err)
	}
	wrong := strings.Replace(s.URL(), string(password), "wrong", 1)
	if k.name == "redis" {
		err = openRedis(t, wrong).Ping(t.Context()).Err()
	} else {
		err = openPostgres(t, wrong).PingContext(t.Context())
	}
	if err == nil {
		t.Error("a wrong password was let in")
	}
}

func checkUser(t *testing.T, s store) {
	t.Helper()
	info, err := os.Stat("/proc/" + strconv.Itoa(s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the server runs as root")
	}
}

func checkStop(t *testing.T, s store) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("Done() is open after Stop")
	}
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp4", u.Host); err == nil {
		_ = conn.Close()
		t.Errorf("%s still answers after Stop", u.Host)
	}
}

func TestDataSurvivesStopAndKill(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		dir := serverstest.Dir(t)
		first := mustStart(t, k, dir)
		k.write(t, first.URL(), "stopped")
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}

		second := mustStart(t, k, dir)
		if got, want := k.read(t, second.URL()), "stopped"; got != want {
			t.Errorf("after a stop: read %q, want %q", got, want)
		}
		k.write(t, second.URL(), "killed")
		if err := syscall.Kill(second.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-second.Done()

		third := mustStart(t, k, dir)
		if got, want := k.read(t, third.URL()), "stopped killed"; got != want {
			t.Errorf("after a kill: read %q, want %q", got, want)
		}
	})
}

func TestUnreachableDirectoryMovesTheData(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the servers as somebody else")
	}
	each(t, func(t *testing.T, k kind) {
		closed := serverstest.Dir(t)
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(closed, "data")
		first := mustStart(t, k, dir)
		note, err := os.ReadFile(filepath.Join(dir, "MOVED.txt"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(note)), "\n")
		moved := lines[len(lines)-1]
		if !strings.HasPrefix(moved, "/var/lib/molfabric/") {
			t.Fatalf("the note ends with %q, want a path below /var/lib/molfabric", moved)
		}
		// Registered after the server's stop, so it must stop the server itself.
		t.Cleanup(func() { _ = first.Stop(context.Background()); _ = os.RemoveAll(filepath.Dir(moved)) })
		k.write(t, first.URL(), "far")
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The place was chosen for good: a directory that opens later must not show an empty database.
		if err := os.Chmod(closed, 0o711); err != nil {
			t.Fatal(err)
		}
		second := mustStart(t, k, dir)
		if got := k.read(t, second.URL()); got != "far" {
			t.Errorf("after the directory was opened: read %q, want %q", got, "far")
		}
		if err := second.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		dir := serverstest.Dir(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := k.start(ctx, dir); !errors.Is(err, context.Canceled) {
			t.Errorf("start = %v, want %v", err, context.Canceled)
		}
		mustStart(t, k, dir) // the lock is free again
	})
}

func TestStopWithoutTimeKillsAndRecovers(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		dir := serverstest.Dir(t)
		s := mustStart(t, k, dir)
		k.write(t, s.URL(), "kept")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Stop(ctx) // nil when the server is quicker than the kill
		<-s.Done()
		if got := k.read(t, mustStart(t, k, dir).URL()); got != "kept" {
			t.Errorf("read %q, want %q", got, "kept")
		}
	})
}

// A pid file that a crash left may carry a number that another process of the same user has by now.
func TestPostgresIgnoresTheCrashedPidFile(t *testing.T) {
	t.Parallel()
	dir := serverstest.Dir(t)
	first := mustStart(t, kinds[0], dir)
	pidFile := filepath.Join(dir, "server", "data", "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	other := exec.Command("sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: ownerOf(t, pidFile)}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	mustStart(t, kinds[0], dir)
}

func ownerOf(t *testing.T, path string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}

func TestBrokenStartSaysWhy(t *testing.T) {
	t.Parallel()
	opts := servers.PostgresOptions{Dir: serverstest.Dir(t), Log: slog.New(slog.DiscardHandler),
		Settings: []string{"no_such_setting=1"}}
	if err := mustStart(t, kinds[0], opts.Dir).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := servers.StartPostgres(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("start = %v, want an error with the server's words on no_such_setting", err)
	}
	if err := os.WriteFile(filepath.Join(opts.Dir, "password"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kinds[0].start(t.Context(), opts.Dir); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("start with another password = %v, want an error about it", err)
	}
}

func TestUnwantedEndIsLogged(t *testing.T) {
	t.Parallel()
	dir := serverstest.Dir(t)
	for _, c := range []struct {
		name string
		end  func(*servers.Redis) error
		want bool
	}{
		{"stop", func(r *servers.Redis) error { return r.Stop(t.Context()) }, false},
		{"kill", func(r *servers.Redis) error { return syscall.Kill(r.PID(), syscall.SIGKILL) }, true},
	} {
		var log bytes.Buffer // written before Done is closed, read after
		r, err := servers.StartRedis(t.Context(), servers.RedisOptions{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
		serverstest.Check(t, err)
		if err := c.end(r); err != nil {
			t.Fatal(err)
		}
		<-r.Done()
		if got := strings.Contains(log.String(), "ended by itself"); got != c.want {
			t.Errorf("%s: the log is %q; want it to tell of the end: %v", c.name, log.String(), c.want)
		}
	}
}

// patience bounds the wait for what a healthy server does at once.
const patience = 20 * time.Second

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// TestPostgresServesAUserWhoOwnsNothing signs in as the user for what serves accounts, also after a second start.
func TestPostgresServesAUserWhoOwnsNothing(t *testing.T) {
	t.Parallel()
	dir := serverstest.Dir(t)
	for range 2 {
		p, err := servers.StartPostgres(t.Context(), servers.PostgresOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		serverstest.Check(t, err)
		var who string
		var rights, owns bool
		err = openPostgres(t, p.ServedURL()).QueryRow(`SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls
			OR rolinherit,
			EXISTS (SELECT FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o') FROM pg_roles r
			WHERE rolname = current_user`).Scan(&who, &rights, &owns)
		if err != nil || who != "molfabric_server" || rights || owns {
			t.Errorf("signed in as %q with rights of its own %v, owning something %v, %v", who, rights, owns, err)
		}
		for _, role := range []string{"molfabric_app", "molfabric_everyone"} {
			if _, err := openPostgres(t, p.ServedURL()).Exec("SET ROLE " + role); err != nil {
				t.Error(err)
			}
		}
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
