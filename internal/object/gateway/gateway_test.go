package gateway_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/gateway"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/servers"
)

func TestMain(m *testing.M) {
	before, err := os.Getwd()
	code := m.Run()
	// The server works in its own directory; this process must stay where it was.
	if after, errAfter := os.Getwd(); err != nil || errAfter != nil || after != before {
		println("working directory changed from", before, "to", after)
		code = 1
	}
	os.Exit(code)
}

func start(t *testing.T, dir string, log *slog.Logger) *gateway.Gateway {
	t.Helper()
	started, err := gateway.Start(t.Context(), gateway.Options{Dir: dir, Log: log, Program: objecttest.Program})
	if err != nil {
		t.Fatal(err)
	}
	return started
}

func open(t *testing.T, started *gateway.Gateway) *object.Store {
	t.Helper()
	store, err := object.New(started.Config())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestObjectsSurviveStopAndKill(t *testing.T) {
	t.Parallel()
	started, dir := objecttest.Private(t)
	quiet := slog.New(slog.DiscardHandler)
	put := func(started *gateway.Gateway, key string) {
		if _, err := open(t, started).Put(t.Context(), key, strings.NewReader(key), "text/plain", ""); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(started *gateway.Gateway) (found string) {
		for info, err := range open(t, started).List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if head, err := open(t, started).Head(t.Context(), info.Key); err != nil || head.SHA256 == "" {
				t.Errorf("Head(%s) = %+v, %v; want its SHA-256", info.Key, head, err)
			}
			found += info.Key + " "
		}
		return found
	}
	put(started, "1-stopped")
	if err := started.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, quiet)
	put(second, "2-killed")
	if err := syscall.Kill(second.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-second.Done()
	third := start(t, dir, quiet)
	if got, want := keys(third), "1-stopped 2-killed "; got != want {
		t.Errorf("objects %q, want %q", got, want)
	}
	if third.Config().SecretKey != started.Config().SecretKey {
		t.Error("the secret key changed with a restart")
	}
	if err := third.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSecondStartNamesTheHolder(t *testing.T) {
	t.Parallel()
	_, dir := objecttest.Private(t)
	_, err := gateway.Start(t.Context(), gateway.Options{Dir: dir, Log: slog.New(slog.DiscardHandler),
		Program: objecttest.Program})
	if locked := (*servers.LockedError)(nil); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("second start = %v, want a LockedError with process %d", err, os.Getpid())
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	started, dir := objecttest.Private(t)
	if _, err := open(t, started).Put(t.Context(), "acct_1/deep/secret", strings.NewReader("x"), "text/plain", ""); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, "server"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		files++
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want none for others", path, info.Mode())
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("saw %d files, %v", files, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "password")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("secret file: %v, %v; want mode 0600", info, err)
	}
}

// lockedBuffer is a buffer that a logger may write to while the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func TestRequestsAreNotLogged(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	_, dir := objecttest.Private(t)
	started := start(t, filepath.Join(dir, "another"),
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	store := open(t, started)
	if _, err := store.Put(t.Context(), "acct_1/secret", strings.NewReader("x"), "text/plain", ""); err != nil {
		t.Fatal(err)
	}
	_, _ = store.Head(t.Context(), "acct_1/absent")
	if err := started.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Contains(text, "acct_1") || strings.Contains(text, started.Config().SecretKey) {
		t.Errorf("the log tells of requests or secrets:\n%s", text)
	}
}
