package e2e

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// TestPartsRunAlone runs migrate, api, scheduler and worker as separate processes on given stores, the worker without a database
// and without a setting of the object store, as on a second machine.
func TestPartsRunAlone(t *testing.T) {
	t.Parallel()
	database := "DATABASE_URL=" + pgtest.EmptyURL(t)
	_, redisURL, prefix := redistest.New(t)
	_, store := objecttest.New(t)
	address := freeAddress(t)
	shared := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "MOLFABRIC_HOME=" + serverstest.Dir(t),
		"MOLFABRIC_PYTHON=" + enginestest.Python(t), "REDIS_URL=" + redisURL, "MOLFABRIC_REDIS_PREFIX=" + prefix,
		"MOLFABRIC_LISTEN=" + address,
		"MOLFABRIC_SIGNUP_NETWORKS=127.0.0.0/8", // free credit for the test
	}
	control := append(slices.Clone(shared), database, "S3_ENDPOINT="+store.Endpoint, "S3_REGION="+store.Region,
		"S3_BUCKET="+store.Bucket,
		"S3_ACCESS_KEY="+store.AccessKey, "S3_SECRET_KEY="+store.SecretKey)
	s := &system{t: t, log: &syncBuffer{}, url: "http://" + address}
	if output, err := s.part(control, "migrate").CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, output)
	}
	s.run(control, "api")
	s.run(control, "scheduler")
	s.run(shared, "worker")
	s.eventually("the API answers", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	c := s.user()
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Submit(t.Context(), docking(scene.StorageKey, 1, "aspirin"), "")
	if err != nil {
		t.Fatal(err)
	}
	if ended := s.await(c, receipt.Body.JobID); ended.Status != job.Completed {
		t.Errorf("ended as %s: %v; logs of the parts:\n%s", ended.Status, ended.Error, s.log)
	}
	output, err := s.part(control, "doctor", "--json").Output()
	var report struct{ Healthy bool }
	if err != nil || json.Unmarshal(output, &report) != nil || !report.Healthy {
		t.Errorf("doctor: %v\n%s", err, output)
	}
	for _, args := range [][]string{{"doctor", "--control"}, {"ready"}} {
		if output, err := s.part(control, args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, output)
		}
	}
}

// part is one of the program's commands with an environment of its own.
func (s *system) part(env []string, args ...string) *exec.Cmd {
	s.t.Helper()
	program, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = env
	return cmd
}

// run starts a part and stops it, cleanly, at the test's end.
func (s *system) run(env []string, name string) {
	s.t.Helper()
	cmd := s.part(env, name)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("%s did not stop cleanly: %v", name, err)
		}
	})
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestMissingAddressIsNamed starts parts without what they need.
func TestMissingAddressIsNamed(t *testing.T) {
	t.Parallel()
	s := &system{t: t, log: &syncBuffer{}}
	for command, missing := range map[string]string{"api": "DATABASE_URL", "scheduler": "DATABASE_URL", "migrate": "DATABASE_URL",
		"worker": "REDIS_URL"} {
		output, err := s.part([]string{"HOME=" + t.TempDir()}, command).CombinedOutput()
		if err == nil || !strings.Contains(string(output), missing) {
			t.Errorf("%s: got %v, %s, want a message that names %s", command, err, output, missing)
		}
	}
}
