package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// TestTheStoreProgramEndsWithUp: the object store is the program beside molfabric, is told its secret where others cannot read it,
// and lives no longer than `up`, whose end its own end is.
func TestTheStoreProgramEndsWithUp(t *testing.T) {
	t.Parallel()
	s := start(t, "MOLFABRIC_SIMULATORS=fpocket", "AWS_SECRET_ACCESS_KEY=of somebody")
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	store := s.store()
	if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", store)); err != nil || path != servers.StoreOf(program) {
		t.Errorf("the store runs %s, %v; want %s", path, err, servers.StoreOf(program))
	}
	s.checkSecret(store)

	children := childrenOf(s.cmd.Process.Pid)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // killed
	s.eventually("all children end with a killed parent", func() bool { return !slices.ContainsFunc(children, alive) })

	s.up()
	if err := syscall.Kill(s.store(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err == nil || !strings.Contains(s.log.String(), "object store ended by itself") {
		t.Errorf("after the store's end `up` ended with %v:\n%s", err, s.log)
	}
}

// TestMissingStoreProgramIsNamed: `up` without its object store says what makes one.
func TestMissingStoreProgramIsNamed(t *testing.T) {
	t.Parallel()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "molfabric")
	if err := os.Link(program, alone); err != nil {
		t.Fatal(err)
	}
	up := exec.CommandContext(t.Context(), alone, "up", "--home", serverstest.Dir(t), "--listen", "127.0.0.1:0")
	up.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	text, err := up.CombinedOutput()
	for _, want := range []string{servers.StoreName + " is not installed", "make build", filepath.Dir(alone)} {
		if err == nil || !strings.Contains(string(text), want) {
			t.Errorf("got %v, want %q in:\n%s", err, want, text)
		}
	}
}

// store is the process id of the system's object store.
func (s *system) store() (pid int) {
	s.t.Helper()
	for _, child := range childrenOf(s.cmd.Process.Pid) {
		if command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); strings.TrimSpace(string(command)) == servers.StoreName {
			pid = child
		}
	}
	if pid == 0 {
		s.t.Fatal("the object store is no child of `up`")
	}
	return pid
}

// checkSecret looks for what the store's process shows, and to whom.
func (s *system) checkSecret(store int) {
	s.t.Helper()
	secret, err := os.ReadFile(filepath.Join(s.home, "objects", "password"))
	if err != nil || len(secret) == 0 {
		s.t.Fatalf("the store's secret is %d bytes, %v", len(secret), err)
	}
	argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", store))
	if err != nil || len(argv) == 0 || strings.Contains(string(argv), string(secret)) {
		s.t.Errorf("its command line is %q, %v; want it without the secret", argv, err)
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", store))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(environment), "\x00"), "\x00") {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"HOME", "LC_ALL", "MOLFABRIC_S3_ORDER", "PATH", "TZ"}; !slices.Equal(names, want) {
		s.t.Errorf("its environment has %q, want %q", names, want)
	}
}

// alive tells whether a process has not ended.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
