package servers

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installPostgres writes a directory that looks like an installation of one version.
func installPostgres(t *testing.T, root, version string) {
	t.Helper()
	bin := filepath.Join(root, version, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + ".3 (Debian)'\n"
	for _, program := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPostgresInstallations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, version := range []string{"9", "17", "15"} {
		installPostgres(t, root, version)
	}
	places := []string{filepath.Join(root, "*", "bin")}
	installed, err := postgresInstallations(t.Context(), "relative:/nonexistent", places)
	if err != nil {
		t.Fatal(err)
	}
	if len(installed) != 3 || installed[0].major != 17 || installed[2].major != 9 {
		t.Errorf("installations = %+v, want 17, 15, 9", installed)
	}
	if bin, err := matching(installed, "15"); err != nil || bin != filepath.Join(root, "15", "bin") {
		t.Errorf("matching(15) = %q, %v", bin, err)
	}
	if _, err := matching(installed, "14"); err == nil || !strings.Contains(err.Error(), "14") {
		t.Errorf("matching(14) = %v, want an error that names 14", err)
	}
}

func TestMissingPostgresNamesTheCommand(t *testing.T) {
	t.Parallel()
	_, err := postgresInstallations(t.Context(), t.TempDir(), nil)
	missing := (*MissingError)(nil)
	if !errors.As(err, &missing) || missing.Program != "postgres" || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("no installation = %v, want a MissingError with the command", err)
	}
}

func TestMissingRedisNamesTheCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartRedis(t.Context(), RedisOptions{Dir: t.TempDir()})
	missing := (*MissingError)(nil)
	if !errors.As(err, &missing) || missing.Program != "redis-server" {
		t.Errorf("StartRedis = %v, want a MissingError", err)
	}
}

func TestOnFreePortTriesAgain(t *testing.T) {
	t.Parallel()
	tries := 0
	port, err := onFreePort(func(port int) (int, error) {
		if tries++; tries < 3 {
			return 0, errPortTaken
		}
		return port, nil
	})
	if err != nil || port == 0 || tries != 3 {
		t.Errorf("onFreePort = %d, %v after %d tries; want a port after 3", port, err, tries)
	}
	tries = 0
	if _, err = onFreePort(func(int) (int, error) { tries++; return 0, errPortTaken }); err == nil || tries != portAttempts {
		t.Errorf("onFreePort = %v after %d tries; want an error after %d", err, tries, portAttempts)
	}
}

func TestTakenPortIsTold(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("SKIPPED: ", err) // the tests of the servers themselves fail in CI
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	opts := RedisOptions{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	h := &home{dir: opts.Dir, path: opts.Dir}
	if h.lock, err = lock(opts.Dir); err != nil {
		t.Fatal(err)
	}
	_, err = startRedis(t.Context(), opts, h, program, listener.Addr().(*net.TCPAddr).Port)
	if !errors.Is(err, errPortTaken) {
		t.Errorf("start on a taken port = %v, want %v", err, errPortTaken)
	}
}
