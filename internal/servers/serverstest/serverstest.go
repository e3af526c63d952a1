// Package serverstest helps tests to run real servers: it finds them a directory and ports, starts and ends those that make a
// cluster, and says what a missing program means. It holds no server; packages pgtest and redistest share theirs between the
// tests of a process with it.
package serverstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/internal/servers"
)

// module is the Go module of the product, whose main package is in its root.
const module = "github.com/molfabric/molfabric"

// maxPlaces bounds the search for a free place: so many test processes never run at once.
const maxPlaces = 64

// Required tells whether a missing program is a failure, as in CI, and not a reason to skip.
func Required() bool {
	return os.Getenv("CI") == "true" || os.Getenv("MOLFABRIC_TEST_REQUIRE") == "1"
}

// Check ends the test when err is not nil. A missing program skips it, loudly, unless programs are Required.
func Check(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if missing := (*servers.MissingError)(nil); errors.As(err, &missing) && !Required() {
		t.Skip("SKIPPED: ", err)
	}
	t.Fatal(err)
}

// Long skips a test that takes minutes and tells of a fault that shorter ones would show too, unless MOLFABRIC_TEST_LONG is 1.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("MOLFABRIC_TEST_LONG") != "1" {
		t.Skip("SKIPPED: it takes minutes; make test-long runs it")
	}
}

// Dir returns a temporary directory that the servers' users may enter, which t.TempDir is not. The test's end removes it.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "molfabric-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Build makes molfabric and molfabric-store, as `make build` does, but for the version, and returns where molfabric lies in dir.
func Build(dir string) (program string, err error) {
	build := exec.CommandContext(context.Background(), "go", "build", "-o", dir+string(filepath.Separator), module,
		module+"/internal/object/"+servers.StoreName)
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build molfabric: %w\n%s", err, said)
	}
	return filepath.Join(dir, "molfabric"), nil
}

// StartShared starts a server for the rest of this process in a place that later processes use again: a server that dies with its
// process cannot remove its directory, and an initialised one starts ten times faster. The caller must expect what earlier
// processes left in it.
func StartShared[S any](name string, start func(dir string) (S, error)) (S, error) {
	var none S
	base := filepath.Join(os.TempDir(), "molfabric-test-"+strconv.Itoa(os.Geteuid()))
	if err := os.MkdirAll(base, 0o711); err != nil {
		return none, err
	}
	// The temporary directory is everybody's: another user must not have prepared the place.
	info, err := os.Lstat(base)
	if err != nil {
		return none, err
	}
	if !info.IsDir() || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return none, fmt.Errorf("%s is not a directory of this user", base)
	}
	for place := range maxPlaces {
		s, err := start(filepath.Join(base, name+"-"+strconv.Itoa(place)))
		if locked := (*servers.LockedError)(nil); !errors.As(err, &locked) {
			return s, err
		}
	}
	return none, fmt.Errorf("%d test processes already run a %s below %s", maxPlaces, name, base)
}
