package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// commonerDir, in the environment of this test binary, makes it a worker without rights that runs one sandbox there.
const commonerDir = "MOLFABRIC_TEST_SANDBOX_COMMONER_DIR"

// commoner is a user without any right; the range of ordinary accounts begins far below it.
const commoner = 64_321

// commonerScript tries what a worker's own user could do outside, and says what came of it.
const commonerScript = `attempt() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name: done"; else echo "$name: refused"; fi; }
echo "user $(id -u)"
attempt out touch out/x
attempt tmp touch /tmp/x
attempt secret cat %[1]s/secret
attempt worker kill -0 %[2]d
attempt root touch /x
attempt namespace unshare --user true
attempt mount mount -t tmpfs x /tmp
attempt keys cat /proc/keys`

const commonerWant = "user 65534\nout: done\ntmp: done\nsecret: refused\nworker: refused\nroot: refused\nnamespace: " +
	"refused\nmount: refused\nkeys: refused\n" +
	"output_too_large\noutput_too_large\n" // of files that it has removed, or hidden from its own user

// commonerMain is the worker of TestWorkerWithoutRights.
func commonerMain(dir string) int {
	r, err := New(context.Background(), Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spec := Spec{Dir: engines.Dir(filepath.Join(dir, "task")), Needs: testNeeds,
		Command: engines.Command{Argv: []string{"sh", "-c", fmt.Sprintf(commonerScript, dir, os.Getpid())}}}
	outcome, err := r.Run(context.Background(), spec, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(outcome.LogTail)
	fmt.Fprintln(os.Stderr, r.Describe())
	for _, script := range []string{ // 3 MB where 2 MiB are the cap
		"exec 3>out/hidden; rm out/hidden; head -c 3000000 /dev/zero >&3; sleep 60",
		"mkdir out/d; exec 3>out/d/hidden; chmod 0 out/d; head -c 3000000 /dev/zero >&3; sleep 60",
	} {
		spec.Command.Argv, spec.Needs.FileBytes = []string{"sh", "-c", script}, 2<<20
		hidden, err := r.Run(context.Background(), spec, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(hidden.Reason)
	}
	return outcome.ExitCode
}

// TestWorkerWithoutRights runs a worker as a user who is nobody: its commands are held as those of root are, by a user namespace.
func TestWorkerWithoutRights(t *testing.T) {
	t.Parallel()
	newRunner(t, Config{}) // or skip
	if os.Geteuid() != 0 {
		t.Skip("this process is without rights already, as are the other tests")
	}
	dir := t.TempDir()
	for _, path := range []string{filepath.Dir(dir), dir} { // the parent is for the test's own user alone
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "worker")
	if out, err := exec.Command("cp", os.Args[0], binary).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "task"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(dir, "task"), commoner, commoner); err != nil {
		t.Fatal(err)
	}
	worker := exec.CommandContext(t.Context(), binary)
	worker.Env = []string{"PATH=" + os.Getenv("PATH"), commonerDir + "=" + dir}
	worker.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: commoner, Gid: commoner}}
	var said strings.Builder
	worker.Stderr = &said
	out, err := worker.Output()
	if err != nil && strings.Contains(said.String(), "user namespace") {
		missing(t, "this kernel gives users no namespaces: %s", said.String())
	}
	if err != nil || string(out) != commonerWant {
		t.Errorf("got %q, %v, want %q; it said %s", out, err, commonerWant, said.String())
	}
	t.Log(said.String())
}
