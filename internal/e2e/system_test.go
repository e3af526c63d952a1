// Package e2e tests the whole system as its users meet it: the real binary, its real stores and engines, the real client. It
// holds tests alone.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// patience bounds every wait; a docking of small molecules needs seconds.
const patience = 6 * time.Minute

// binary builds the programs once a test process.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "molfabric-e2e-")
	if err != nil {
		return "", err
	}
	return serverstest.Build(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// system is a running `molfabric up`.
type system struct {
	t    *testing.T
	home string
	env  []string
	cmd  *exec.Cmd
	log  *syncBuffer
	url  string
	addr string // of the API; any free port at first, the same after a restart
}

// start starts `molfabric up` in a home of its own, where it asks nobody for public data. env is added to its environment.
func start(t *testing.T, env ...string) *system {
	t.Helper()
	python := enginestest.Python(t)
	s := &system{t: t, home: serverstest.Dir(t), log: &syncBuffer{}, addr: "127.0.0.1:0",
		env: append(os.Environ(), append([]string{"MOLFABRIC_PYTHON=" + python, "MOLFABRIC_STRUCTURES=off",
			"MOLFABRIC_PREVIEWS=0"}, env...)...)}
	s.up()
	t.Cleanup(s.down)
	return s
}

// up starts the system and waits until a worker is ready.
func (s *system) up() {
	s.t.Helper()
	program, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(program, "up", "--home", s.home, "--listen", s.addr)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the system is up", func() bool {
		var running struct{ URL string }
		body, err := os.ReadFile(filepath.Join(s.home, "running.json"))
		if err != nil || json.Unmarshal(body, &running) != nil {
			return false
		}
		s.url, s.addr = running.URL, strings.TrimPrefix(running.URL, "http://")
		response, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// down stops the system as Ctrl-C does and expects a clean end.
func (s *system) down() {
	if s.cmd.ProcessState != nil {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the system did not stop cleanly: %v", err)
	}
	if strings.Contains(s.log.String(), "NOPERM") {
		s.t.Error("a role asked Redis for something that its user may not do")
	}
	if s.t.Failed() {
		s.t.Logf("log of the system:\n%s", s.log)
	}
}

// worker is the process id of the system's worker.
func (s *system) worker() int {
	s.t.Helper()
	pid := 0
	s.eventually("a worker runs", func() bool {
		for _, child := range childrenOf(s.cmd.Process.Pid) {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			if bytes.Contains(command, []byte("\x00worker\x00")) {
				pid = child
			}
		}
		return pid != 0
	})
	return pid
}

// childrenOf are the child processes of a process.
func childrenOf(pid int) (children []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks { // a child belongs to the thread that started it
		words, _ := os.ReadFile(path)
		for word := range strings.FieldsSeq(string(words)) {
			if child, err := strconv.Atoi(word); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// key is a live API key of a new account, with every scope.
func (s *system) key() string {
	s.t.Helper()
	visitor := s.client(client.Options{Server: s.url})
	if _, err := visitor.SignUp(s.t.Context(), id.New("u")+"@example.org", "correct horse battery staple", "Test"); err != nil {
		s.t.Fatal(err)
	}
	key, err := visitor.CreateKey(s.t.Context(), contract.CreateRequest{Name: "test", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		s.t.Fatal(err)
	}
	return key.Body.Secret
}

// user is a client with a key of its own.
func (s *system) user() *client.Client {
	s.t.Helper()
	return s.client(client.Options{Server: s.url, APIKey: s.key(), NoReuse: true})
}

func (s *system) client(options client.Options) *client.Client {
	s.t.Helper()
	c, err := client.New(options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// await waits until a job has ended.
func (s *system) await(c *client.Client, jobID string) contract.Job {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := c.Events(ctx, jobID, "", func(client.Event) error { return nil }); err != nil {
		s.t.Fatalf("watch %s: %v", jobID, err)
	}
	job, err := c.Job(ctx, jobID)
	if err != nil {
		s.t.Fatal(err)
	}
	return job.Body
}

func (s *system) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if holds() {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	s.t.Fatalf("not within %s: %s; log of the system:\n%s", patience, what, s.log)
}

// output reads one file of a job, checked against its digest.
func output(t *testing.T, c *client.Client, jobID, name string) []byte {
	t.Helper()
	outputs, err := c.AllOutputs(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs.Body.Outputs {
		if o.Name == name {
			body, err := c.FetchOutput(t.Context(), jobID, o, 64<<20)
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
	}
	t.Fatalf("job %s has no output %s", jobID, name)
	return nil
}

// receptor is a PDBQT file of c-Abl, prepared.
func receptor(t *testing.T) string {
	t.Helper()
	path, err := abl1.WritePrepared(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// syncBuffer is a bytes.Buffer for several writers.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// exitCode is the exit code of a command that may fail.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
