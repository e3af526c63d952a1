package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// fleet is molfabric as an operator runs it: stores that stay, and processes that come and go.
type fleet struct {
	*system
	postgres *servers.Postgres
	redis    redis.UniversalClient
	prefix   string // of its keys there
}

// startFleet starts the stores. env is added to the environment of every process.
func startFleet(t *testing.T, env ...string) *fleet {
	t.Helper()
	postgres, err := servers.StartPostgres(t.Context(), servers.PostgresOptions{Dir: serverstest.Dir(t),
		Log: slog.New(slog.DiscardHandler)})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := postgres.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{system: &system{t: t, log: &syncBuffer{}}, postgres: postgres}
	var redisURL string
	f.redis, redisURL, f.prefix = redistest.New(t)
	_, store := objecttest.New(t)
	f.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "MOLFABRIC_HOME=" + serverstest.Dir(t), "MOLFABRIC_STRUCTURES=off",
		"MOLFABRIC_PYTHON=" + enginestest.Python(t), "DATABASE_URL=" + postgres.URL(), "REDIS_URL=" + redisURL,
		"MOLFABRIC_REDIS_PREFIX=" + f.prefix, "MOLFABRIC_SLOTS=2", "MOLFABRIC_PREVIEWS=0", "S3_ENDPOINT=" + store.Endpoint,
		"S3_REGION=" + store.Region,
		"S3_BUCKET=" + store.Bucket, "S3_ACCESS_KEY=" + store.AccessKey, "S3_SECRET_KEY=" + store.SecretKey,
	}, env...)
	return f
}

// process is one running role of one program.
type process struct {
	*exec.Cmd
	log *syncBuffer
}

// role starts a role; the test's end kills it if it still runs.
func (f *fleet) role(program, name string, env ...string) *process {
	f.t.Helper()
	p := &process{Cmd: exec.Command(program, name), log: &syncBuffer{}}
	p.Env, p.Stdout, p.Stderr = append(slices.Clone(f.env), env...), p.log, p.log
	if err := p.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
		if f.t.Failed() {
			f.t.Logf("log of %s %s:\n%s", filepath.Base(program), name, p.log)
		}
	})
	return p
}

// api starts an API and waits until it is ready. The fleet's clients go there from now on.
func (f *fleet) api(program string) *process { return f.apiWhen(program, "/readyz") }

// apiWhen starts an API and waits until it answers 200 at a path.
func (f *fleet) apiWhen(program, path string) *process {
	f.t.Helper()
	address := freeAddress(f.t)
	p := f.role(program, "api", "MOLFABRIC_LISTEN="+address, "MOLFABRIC_SIGNUP_NETWORKS=127.0.0.0/8")
	f.url = "http://" + address
	f.eventually("the API is ready", func() bool {
		response, err := http.Get(f.url + path)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return p
}

// command runs a program to its end and returns what it prints.
func (f *fleet) command(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(f.t.Context(), program, args...)
	cmd.Env = f.env
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}

// must is command, and wants it to succeed.
func (f *fleet) must(program string, args ...string) string {
	f.t.Helper()
	output, err := f.command(program, args...)
	if err != nil {
		f.t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, output)
	}
	return output
}

// stops sends SIGTERM and expects a clean end.
func (f *fleet) stops(p *process) {
	f.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		f.t.Errorf("%s did not stop cleanly: %v\n%s", p.Args[1], err, p.log)
	}
}

// audited wants the books and files to agree.
func (f *fleet) audited(program string) {
	f.t.Helper()
	var report struct {
		Findings []json.RawMessage
		Counts   map[string]int
		Files    int
	}
	output := f.must(program, "audit", "--json", "--log-level", "error")
	if err := json.Unmarshal([]byte(output), &report); err != nil || len(report.Counts) == 0 || len(report.Findings) > 0 {
		f.t.Errorf("audit: %v\n%s", err, output)
	}
}

// probing is a job of the probe.
func probing(sceneKey string, parameters map[string]string) map[string]any {
	return map[string]any{"jobType": "simulation", "simulator": "probe", "sceneFile": sceneKey, "parameters": parameters}
}

// scene uploads a file that no task of a probe reads.
func scene(t *testing.T, c *client.Client) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scene.txt")
	if err := os.WriteFile(path, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := c.UploadFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return file.StorageKey
}

// submitted submits a request and returns the job's id.
func submitted(t *testing.T, c *client.Client, request any) string {
	t.Helper()
	receipt, err := c.Submit(t.Context(), request, "")
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Body.JobID
}

// inFlight waits until some tasks of a job have ended and others have not.
func (f *fleet) inFlight(c *client.Client, jobID string) {
	f.t.Helper()
	f.eventually("tasks of the job run", func() bool {
		now, err := c.Job(f.t.Context(), jobID)
		if err != nil {
			f.t.Fatal(err)
		}
		if now.Body.Terminal {
			f.t.Fatalf("job %s has ended as %s before anything was done to it", jobID, now.Body.Status)
		}
		return now.Body.Progress.Tasks.Succeeded >= 2 && now.Body.Progress.Tasks.Running > 0
	})
}

// ended wants a job to complete with every task.
func (f *fleet) ended(c *client.Client, jobID string, tasks int) {
	f.t.Helper()
	done := f.await(c, jobID)
	if done.Status != job.Completed || done.Progress.Tasks.Succeeded != tasks || done.Attempts != 1 {
		f.t.Errorf("job %s ended as %s with %+v (%v)", jobID, done.Status, done.Progress.Tasks, done.Error)
	}
}

// TestUpgrade is doc/runbook/upgrade.md with work in flight: a job begins on the programs of the release before and ends on those
// of this one, with old and new ones of every role side by side in between. And it is the way back, on the schema that stays.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	before, now := previousRelease(t), program(t)
	f := startFleet(t, "MOLFABRIC_SIMULATORS=autodock-vina")
	f.must(before, "migrate")
	oldAPI, oldScheduler, oldWorker := f.api(before), f.role(before, "scheduler"), f.role(before, "worker")
	key := f.key()
	c := f.client(client.Options{Server: f.url, APIKey: key})
	file, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	// The release before knows no parameter that came after it.
	names := []string{"aspirin", "caffeine", "paracetamol", "ibuprofen", "nicotine", "benzamidine"}
	first := submitted(t, c, dockingWith("", file.StorageKey, 1, names...))
	f.inFlight(c, first)

	f.must(now, "migrate")
	if status, err := c.Job(t.Context(), first); err != nil || status.Body.JobID != first {
		t.Errorf("the old API on the new schema: %v", err)
	}
	between := submitted(t, c, dockingWith("", file.StorageKey, 1, "aspirin"))
	newScheduler := f.role(now, "scheduler")
	f.stops(oldScheduler)
	newAPI := f.api(now)
	newWorker := f.role(now, "worker")
	f.stops(oldAPI)
	f.stops(oldWorker)
	c = f.client(client.Options{Server: f.url, APIKey: key})
	last := submitted(t, c, dockingWith("", file.StorageKey, 1, "caffeine"))
	completed := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			if done := f.await(c, id); done.Status != job.Completed {
				t.Errorf("job %s ended as %s (%v)", id, done.Status, done.Error)
			}
		}
	}
	completed(first, between, last)
	f.audited(now)

	f.apiWhen(before, "/healthz") // that release is not ready on a newer schema, by mistake
	f.stops(newAPI)
	c = f.client(client.Options{Server: f.url, APIKey: key})
	completed(submitted(t, c, dockingWith("", file.StorageKey, 1, "nicotine")))
	f.role(before, "scheduler")
	f.stops(newScheduler)
	back := submitted(t, c, dockingWith("", file.StorageKey, 1, "ibuprofen"))
	f.role(before, "worker")
	f.stops(newWorker)
	completed(back)
	f.audited(now)
}

// previousRelease builds the program of the commit that testdata/previous-release names. The file moves on with each release.
func previousRelease(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/previous-release")
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(text))
	source := filepath.Join(t.TempDir(), "source")
	clone := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--shared", "--no-checkout", "../..", source)
	if output, err := clone.CombinedOutput(); err != nil {
		t.Skipf("these sources have no history to take the previous release from: %v\n%s", err, output)
	}
	checkout := exec.CommandContext(t.Context(), "git", "-C", source, "checkout", "--quiet", commit)
	if output, err := checkout.CombinedOutput(); err != nil {
		t.Skipf("the history of these sources does not reach back to %s: %v\n%s", commit, err, output)
	}
	path := filepath.Join(t.TempDir(), "molfabric-before")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Dir = source
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, output)
	}
	return path
}

// TestRestore is doc/runbook/restore.md: everything stops, Postgres goes back to a backup that was taken while a job ran, and the
// system goes on from there.
func TestRestore(t *testing.T) {
	t.Parallel()
	now := program(t)
	f := startFleet(t, "MOLFABRIC_SIMULATORS=probe")
	f.must(now, "migrate")
	api, scheduler, worker := f.api(now), f.role(now, "scheduler"), f.role(now, "worker")
	key := f.key()
	c := f.client(client.Options{Server: f.url, APIKey: key})
	file := scene(t, c)
	const tasks = 24
	done := submitted(t, c, probing(file, map[string]string{"Tasks": "3", "OutputBytes": "100"}))
	f.ended(c, done, 3)
	flying := submitted(t, c, probing(file, map[string]string{"Tasks": fmt.Sprint(tasks), "Seconds": "0.4", "OutputBytes": "100"}))
	f.inFlight(c, flying)
	dump := filepath.Join(t.TempDir(), "molfabric.dump")
	f.must(postgresProgram(t, "pg_dump"), "--format=custom", "--file", dump, f.postgres.URL())
	lost := submitted(t, c, probing(file, map[string]string{"Tasks": "2", "OutputBytes": "100"}))
	f.ended(c, lost, 2)
	f.ended(c, flying, tasks)
	for _, p := range []*process{api, scheduler, worker} {
		f.stops(p)
	}

	f.must(postgresProgram(t, "pg_restore"), "--clean", "--if-exists", "--dbname", f.postgres.URL(), dump)
	f.forgetQueues()
	f.must(now, "migrate")
	f.audited(now)
	f.role(now, "scheduler")
	f.role(now, "worker")
	f.api(now)
	c = f.client(client.Options{Server: f.url, APIKey: key})
	f.ended(c, flying, tasks)
	if got := output(t, c, done, "output.bin"); len(got) != 100 {
		t.Errorf("a file from before the backup has %d bytes, want 100", len(got))
	}
	if _, err := c.Job(t.Context(), lost); err == nil {
		t.Errorf("job %s was submitted after the backup and is there", lost)
	}
	f.audited(now)
}

// TestAuditFinds damages what a job has left and wants the audit to say so.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	now := program(t)
	f := startFleet(t, "MOLFABRIC_SIMULATORS=probe")
	f.must(now, "migrate")
	f.role(now, "scheduler")
	f.role(now, "worker")
	f.api(now)
	c := f.user()
	f.ended(c, submitted(t, c, probing(scene(t, c), map[string]string{"Tasks": "2", "OutputBytes": "100"})), 2)
	f.audited(now)
	psql := postgresProgram(t, "psql")
	// One damage stays while the next is done, so the tasks come last: a promise about finished ones asks no others.
	for _, c := range []struct{ promise, damage string }{
		{"every recorded file is in the store, with its size", "UPDATE artifacts SET byte_size = byte_size + 1"},
		{"one settled result a task", "UPDATE task_attempts SET outcome = 'FAILED' WHERE outcome = 'SUCCEEDED'"},
		{"a job's use is that of its attempts", "UPDATE jobs SET accrued_micropence = accrued_micropence + 7"},
		{"a job's charge is in the ledger", "UPDATE jobs SET charged_pence = charged_pence + 1"},
		{"nothing is held for an ended job", "UPDATE holds SET status = 'open', captured_pence = 0, settled_at = NULL"},
		{"every task of an ended job has ended", "UPDATE tasks SET status = 'RUNNING', finished_at = NULL"},
	} {
		f.must(psql, "--set", "ON_ERROR_STOP=1", "--command", c.damage, f.postgres.URL())
		output, err := f.command(now, "audit", "--log-level", "error")
		if err == nil || !strings.Contains(output, c.promise+": ") {
			t.Errorf("after %q the audit gives %v\n%s", c.damage, err, output)
		}
	}
}

// forgetQueues empties Redis of the fleet's keys, as FLUSHDB does where Redis is its own.
func (f *fleet) forgetQueues() {
	f.t.Helper()
	keys, err := f.redis.Keys(f.t.Context(), f.prefix+"*").Result()
	if err == nil && len(keys) > 0 {
		err = f.redis.Del(f.t.Context(), keys...).Err()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// program is this tree's program.
func program(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// postgresProgram is a program that came with the server.
func postgresProgram(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		serverstest.Check(t, &servers.MissingError{Program: name, Install: "apt-get install postgresql-client"})
	}
	return found[len(found)-1]
}
