package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
	"github.com/molfabric/molfabric/internal/fleet/slurmtest"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// cluster is a World whose workers are jobs of a Slurm, kept by `molfabric fleet slurm`.
type cluster struct {
	*World
	t     *testing.T
	slurm *slurmtest.Cluster
	pools string
	file  keeper.File
}

// TestSlurm runs a deployment on a real Slurm of two nodes: a backlog becomes jobs, these become results, and none is left; a
// node that is drained, a job that somebody cancels and a controller that is started again cost no result and no penny.
func TestSlurm(t *testing.T) {
	t.Parallel()
	c := openCluster(t)
	account, err := c.Account(t.Context(), plentyPence)
	c.check(err)
	stopKeeper := c.startKeeper()

	first, err := account.Submit(t.Context(), Probe{Tasks: 30, Seconds: 0.2, OutputBytes: 1000}, "")
	c.check(err)
	c.check(c.AwaitCompleted(t.Context(), first))
	c.slurm.Eventually("the workers have left", func() bool { return c.jobs("R,PD,CG") == "" })
	if ended := c.jobs("all"); !strings.Contains(ended, "CD") || strings.Contains(ended, "F ") {
		t.Errorf("the jobs of workers ended as %q, want them completed", ended)
	}

	second, err := account.Submit(t.Context(), Probe{Tasks: 8, Seconds: 3, OutputBytes: 1000}, "")
	c.check(err)
	node, jobID := c.busy()
	c.slurm.Run("scontrol", "update", "NodeName="+node, "State=DRAIN", "Reason=a disk to be replaced")
	c.check(c.AwaitEnded(t.Context(), second, 1)) // what runs on it goes on
	c.slurm.Run("scancel", jobID)
	c.slurm.Eventually("another job runs on the other node", func() bool {
		other := c.jobs("R")
		return other != "" && !strings.Contains(other, node+" ")
	})
	c.slurm.StopController()
	c.slurm.Eventually("the keeper says that it does not know", func() bool { return c.status().Error != "" })
	c.slurm.StartController()
	c.check(c.AwaitCompleted(t.Context(), second))
	c.slurm.Eventually("the workers have left again", func() bool { return c.jobs("R,PD,CG") == "" })
	c.slurm.Eventually("the keeper knows again", func() bool { s := c.status(); return s.Error == "" && s.Cores == 0 })
	log, err := os.ReadFile(c.Schedulers()[0].Log())
	c.check(err)
	if strings.Contains(string(log), "ENGINE_FAILED") {
		t.Errorf("an engine that Slurm has ended with its worker counts as failed:\n%s", log)
	}

	// Another release: the worker that is at work ends what it has, and later ones run the other program.
	third, err := account.Submit(t.Context(), Probe{Tasks: 6, Seconds: 2, OutputBytes: 1000}, "")
	c.check(err)
	_, jobID = c.busy()
	if got := c.programOf(jobID); got != c.program {
		t.Errorf("before the upgrade a worker runs %s, want %s", got, c.program)
	}
	stopKeeper()
	earlier, other := c.program, filepath.Join(c.Home(), "molfabric-other")
	c.check(os.Symlink(earlier, other))
	c.runProgram(earlier, other)
	stopKeeper = c.startKeeper()
	c.check(c.AwaitCompleted(t.Context(), third))
	c.slurm.Eventually("the workers have left once more", func() bool { return c.jobs("R,PD,CG") == "" })
	if ended := c.jobs("all"); !strings.Contains(ended, jobID+" ") || strings.Contains(ended, "F ") {
		t.Errorf("the upgrade has ended a worker: %q", ended)
	}
	fourth, err := account.Submit(t.Context(), Probe{Tasks: 4, Seconds: 1}, "")
	c.check(err)
	_, jobID = c.busy()
	if got := c.programOf(jobID); got != other {
		t.Errorf("after the upgrade a worker runs %s, want %s", got, other)
	}
	c.check(c.AwaitCompleted(t.Context(), fourth))
	c.slurm.Eventually("the workers of the other program have left", func() bool { return c.jobs("R,PD,CG") == "" })

	// And back.
	stopKeeper()
	c.runProgram(other, earlier)
	stopKeeper = c.startKeeper()
	fifth, err := account.Submit(t.Context(), Probe{Tasks: 4, Seconds: 1}, "")
	c.check(err)
	_, jobID = c.busy()
	if got := c.programOf(jobID); got != earlier {
		t.Errorf("after the way back a worker runs %s, want %s", got, earlier)
	}
	c.check(c.AwaitCompleted(t.Context(), fifth))
	stopKeeper()
	c.check(c.Judge(t.Context()))
}

// runProgram has the pools file name another program for workers.
func (c *cluster) runProgram(earlier, later string) {
	c.t.Helper()
	text, err := os.ReadFile(c.pools)
	c.check(err)
	c.write("pools.yaml", strings.Replace(string(text), "program: "+earlier+"\n", "program: "+later+"\n", 1))
	c.file, err = keeper.Read(c.pools)
	c.check(err)
}

// programOf is what the script of a job runs.
func (c *cluster) programOf(jobID string) string {
	c.t.Helper()
	script := c.slurm.Run("scontrol", "write", "batch_script", jobID, "-")
	_, line, _ := strings.Cut(script, "exec ")
	program, _, _ := strings.Cut(line, " ")
	return strings.Trim(program, "'")
}

func openCluster(t *testing.T) *cluster {
	t.Helper()
	slurm := slurmtest.Start(t, slurmtest.Node{Name: "n1", CPUs: 4, MemoryMB: 3000},
		slurmtest.Node{Name: "n2", CPUs: 4, MemoryMB: 3000})
	o := options(t)
	w, err := OpenWorld(t.Context(), WorldOptions{Program: o.Program, Python: o.Python, Home: o.Home, Short: true,
		Patience: o.Patience, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		serverstest.Check(t, err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{World: w, t: t, slurm: slurm, pools: filepath.Join(o.Home, "pools.yaml")}
	demand, err := freeAddress()
	c.check(err)
	_, err = w.StartAPI(t.Context())
	c.check(err)
	_, err = w.StartScheduler(t.Context(), "MOLFABRIC_METRICS_LISTEN="+demand)
	c.check(err)
	listen, err := freeAddress()
	c.check(err)
	c.write("worker.env", fmt.Sprintf("REDIS_URL='%s'\nMOLFABRIC_HOME=%s/worker\nMOLFABRIC_PYTHON=%s\nMOLFABRIC_SIMULATORS=probe\n"+
		"TMPDIR=%s\nMOLFABRIC_SANDBOX=%s\n", w.workerRedisURL, o.Home, o.Python, w.temp(), sandboxOfTest()))
	c.write("pools.yaml", fmt.Sprintf(`
fleet: lab
demand: http://%s/fleet/demand
listen: %s
every: 1s
maxCores: 4
maxCoreHoursPerDay: 100
worker:
  program: %s
  environment: %s/worker.env
pools:
  - name: cpu
    classes: ["cpu.*"]
    cores: 2
    memoryMiB: 1500
    walltime: 10m
    idleExit: 2s
    drainGrace: 1s
    max: 2
`, demand, listen, o.Program, o.Home))
	c.file, err = keeper.Read(c.pools)
	c.check(err)
	return c
}

// sandboxOfTest is the sandbox that the environment asks for, as other workers of a World have it.
func sandboxOfTest() string {
	if named := os.Getenv("MOLFABRIC_SANDBOX"); named != "" {
		return named
	}
	return "bubblewrap"
}

func (c *cluster) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.Home(), name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// check ends the test with all that may tell why.
func (c *cluster) check(err error) {
	c.t.Helper()
	if err == nil {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(c.Home(), "logs", "*"))
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		c.t.Logf("--- %s\n%s", filepath.Base(log), text[max(0, len(text)-logTailBytes):])
	}
	c.t.Fatalf("%v\n%s", err, c.slurm.Logs())
}

// startKeeper starts the keeper as an operator does. stop ends it as Ctrl-C does.
func (c *cluster) startKeeper() (stop func()) {
	c.t.Helper()
	log, err := os.Create(filepath.Join(c.Home(), "logs", "keeper.log"))
	c.check(err)
	cmd := exec.Command(c.program, "fleet", "slurm", c.pools)
	cmd.Env = append(append(os.Environ(), c.slurm.Env()...), "MOLFABRIC_CONFIG=off")
	cmd.Stdout, cmd.Stderr = log, log
	c.check(proc.Start(cmd))
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = log.Close()
		close(ended)
	}()
	stop = sync.OnceFunc(func() {
		if err := proc.Stop(context.Background(), cmd.Process.Pid, ended, syscall.SIGTERM, stopGrace); err != nil {
			c.t.Error(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			c.t.Errorf("the keeper ended with %d", code)
		}
	})
	c.t.Cleanup(stop)
	c.check(c.Eventually(c.t.Context(), "the keeper answers", patience, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.file.Listen+"/healthz", http.NoBody)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // nobody listens yet
		}
		return true, answer.Body.Close()
	}))
	return stop
}

// status is what `molfabric fleet status` says.
func (c *cluster) status() (s keeper.Status) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.program, "fleet", "status", c.pools, "--json")
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	c.check(err)
	return s
}

// jobs are the cluster's jobs in some states, a line each with number, node, state and name.
func (c *cluster) jobs(states string) string {
	c.t.Helper()
	out, err := c.slurm.Try("squeue", "-h", "--states="+states, "-o", "%i %N %t %j")
	if err != nil {
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(out)
}

// busy waits until a job's worker runs tasks, and returns the job and its node.
func (c *cluster) busy() (node, jobID string) {
	c.t.Helper()
	c.check(c.Eventually(c.t.Context(), "a worker runs tasks", c.Bound(patience), func(ctx context.Context) (bool, error) {
		workers, err := c.queue.Workers(ctx)
		if err != nil {
			return false, err
		}
		for _, w := range workers {
			fields := strings.Fields(c.jobs("R"))
			if len(w.Held) > 0 && len(fields) == 4 && w.Name == "slurm/lab/"+fields[0] {
				jobID, node = fields[0], fields[1]
			}
		}
		return jobID != "", nil
	}))
	return node, jobID
}
