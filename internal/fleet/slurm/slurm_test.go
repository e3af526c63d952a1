package slurm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
	"github.com/molfabric/molfabric/internal/fleet/slurmtest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	out := "7|PD|4|N/A|N/A|Resources|mf.lab.cpu.aaa\n" +
		"8|R|6|1795823012|1795826612|None|mf.lab.cpu.bbb\n" +
		"9|F|4|2026-11-27T23:43:32|2026-11-27T23:43:33|NonZeroExitCode|mf.lab.cpu.ccc\n" +
		"10|CA|4|1795823012|1795823013|None|mf.lab.cpu.ddd\n" +
		"11|R|4|1795823012|1795826612|None|mf.other.cpu.eee\n" +
		"12_[1-3]|PD|4|N/A|N/A|ReqNodeNotAvail, UnavailableNodes:n1|some|one's job\n"
	found, err := parse(out, "lab")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1795823012, 0).UTC()
	want := []keeper.Allocation{
		{ID: "7", Pool: "cpu", Token: "aaa", Worker: "slurm/lab/7", State: keeper.Pending, Reason: "Resources", Cores: 4},
		{ID: "8", Pool: "cpu", Token: "bbb", Worker: "slurm/lab/8", State: keeper.Running, Reason: "None", Cores: 6, Since: at,
			Until: at.Add(time.Hour)},
		{ID: "9", Pool: "cpu", Token: "ccc", Worker: "slurm/lab/9", State: keeper.Failed, Reason: "F NonZeroExitCode", Cores: 4,
			Since: at, Until: at.Add(time.Second)},
		{ID: "10", Pool: "cpu", Token: "ddd", Worker: "slurm/lab/10", State: keeper.Ended, Reason: "None", Cores: 4, Since: at,
			Until: at.Add(time.Second)}}
	if !slices.Equal(found, want) {
		t.Errorf("read\n%+v\nwant\n%+v", found, want)
	}
	for _, line := range []string{"7|R|4|yesterday|N/A|None|mf.lab.cpu.aaa", "7|R|x|N/A|N/A|None|mf.lab.cpu.aaa", "7|R|4",
		"JOBID STATE"} {
		if _, err := parse(line, "lab"); err == nil {
			t.Errorf("%q was understood", line)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env   map[string]string
		want  Allocated
		end   int64
		wrong string
	}{
		"no job": {nil, Allocated{}, 0, "SLURM_JOB_ID"},
		"memory of the node": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "2000"},
			Allocated{Job: "7", Cores: 4, MemoryBytes: 2000 << 20, GPUs: "off"}, 0, ""},
		"memory of a core, devices, the end": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "4",
			"SLURM_MEM_PER_CPU": "500", "SLURM_JOB_GPUS": "2,3", "CUDA_VISIBLE_DEVICES": "0,1", "SLURM_JOB_END_TIME": "1795823012"},
			Allocated{Job: "7", Cores: 4, MemoryBytes: 2000 << 20, GPUs: "0,1"}, 1795823012, ""},
		"devices that are not confined": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "1", "SLURM_JOB_GPUS": "2"},
			Allocated{Job: "7", Cores: 1, GPUs: "2"}, 0, ""},
		"no cores": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "four"}, Allocated{}, 0,
			"SLURM_CPUS_ON_NODE"},
		"no number of MiB": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "2G"},
			Allocated{}, 0, "SLURM_MEM_PER_NODE"},
	} {
		got, end, err := fromEnvironment(func(name string) string { return c.env[name] })
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want an error with %s", name, err, c.wrong)
			}
		case err != nil || got != c.want || !end.IsZero() != (c.end != 0) || c.end != 0 && end.Unix() != c.end:
			t.Errorf("%s: %+v until %s, %v; want %+v until %d", name, got, end, err, c.want, c.end)
		}
	}
}

// TestCleaned: what a user's shell sets for sbatch and squeue does not reach them.
func TestCleaned(t *testing.T) {
	t.Parallel()
	got := cleaned([]string{"PATH=/bin", "SQUEUE_FORMAT=%A", "SBATCH_PARTITION=long", "SLURM_CONF=/etc/slurm.conf",
		"SLURM_JOB_ID=3"})
	if want := []string{"PATH=/bin", "SLURM_CONF=/etc/slurm.conf"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// TestDriver speaks to a real Slurm: a job is started once by its token, sees its allocation, is found while it waits, runs and has
// ended; only one that waits is taken back; and a controller that is away means that nothing is known.
func TestDriver(t *testing.T) {
	t.Parallel()
	cluster := slurmtest.Start(t, slurmtest.Node{Name: "n1", CPUs: 4, MemoryMB: 2000})
	dir := t.TempDir()
	program, environment := filepath.Join(dir, "program's.sh"), filepath.Join(dir, "worker.env")
	for name, text := range map[string]string{
		program: "#!/bin/sh\necho \"$GREETING $MOLFABRIC_WORKER_NAME $MOLFABRIC_DRAIN_GRACE $* $SECRET\"\nenv\n" +
			"trap 'kill $!; exit 0' TERM\nsleep 600 & wait\n",
		environment: "GREETING=\"good morning\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := keeper.Pool{Name: "cpu", Cores: 3, MemoryMiB: 500, Walltime: 10 * time.Minute, IdleExit: time.Minute,
		DrainGrace: 5 * time.Second, Partition: "work", Options: []string{"--nice=10"}}
	d := Driver{File: keeper.File{Fleet: "lab", Worker: keeper.Worker{Program: program, Environment: environment,
		Setup: "GREETING=\"$GREETING,\"", Logs: filepath.Join(dir, "logs")}},
		Env: append(cluster.Env(), "SECRET=of the keeper")}
	ctx := t.Context()
	if err := d.Check(ctx, p); err != nil {
		t.Errorf("a pool that fits: %v", err)
	}
	huge := p
	huge.Cores = 64
	if err := d.Check(ctx, huge); err == nil {
		t.Error("a pool that no node can have passes the check")
	}
	for range 2 { // the second time changes nothing
		if err := d.Start(ctx, p, "aaa"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Start(ctx, p, "bbb"); err != nil { // for which there is no room
		t.Fatal(err)
	}
	list := func() map[string]keeper.Allocation {
		t.Helper()
		found, err := d.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		byToken := map[string]keeper.Allocation{}
		for _, a := range found {
			byToken[a.Token] = a
		}
		if len(byToken) != len(found) {
			t.Errorf("a token was started twice: %+v", found)
		}
		return byToken
	}
	cluster.Eventually("the first runs and the second waits", func() bool {
		found := list()
		return len(found) == 2 && found["aaa"].State == keeper.Running && found["bbb"].State == keeper.Pending
	})
	first, second := list()["aaa"], list()["bbb"]
	if life := first.Until.Sub(first.Since); life != p.Walltime || first.Cores != 3 || time.Since(first.Since).Abs() > time.Minute {
		t.Errorf("the first is %+v", first)
	}
	if err := d.Cancel(ctx, []string{first.ID, second.ID}); err != nil {
		t.Fatal(err)
	}
	if found := list(); found["aaa"].State != keeper.Running || found["bbb"].State != keeper.Ended {
		t.Errorf("after taking both back: %+v", found)
	}
	log := filepath.Join(dir, "logs", keeper.JobName("lab", "cpu", "aaa")+"-"+first.ID+".log")
	cluster.Eventually("the job says what it sees", func() bool {
		said, _ := os.ReadFile(log)
		return strings.Contains(string(said), "SLURM_JOB_ID="+first.ID)
	})
	said, _ := os.ReadFile(log)
	for _, want := range []string{"good morning, slurm/lab/" + first.ID + " 5s worker --allocation slurm --idle-exit 1m0s \n",
		"SLURM_CPUS_ON_NODE=3\n", "SLURM_MEM_PER_NODE=500\n"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the job does not say %q:\n%s", want, said)
		}
	}
	cluster.StopController()
	if found, err := d.List(ctx); err == nil {
		t.Errorf("with slurmctld away there are %+v, and no error", found)
	}
	cluster.StartController()
	cluster.Run("scancel", first.ID)
	cluster.Eventually("a job that somebody has ended counts as ended", func() bool { return list()["aaa"].State == keeper.Ended })
}
