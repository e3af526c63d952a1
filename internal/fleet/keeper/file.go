package keeper

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/molfabric/molfabric/internal/fleet"
)

// File is a pools file: what may be started, and how much of it.
type File struct {
	// Fleet names what this keeper starts; another keeper of the same user must have another name.
	Fleet string `yaml:"fleet"`
	// Demand is the address of the demand endpoint, such as http://10.0.0.5:9090/fleet/demand.
	Demand string `yaml:"demand"`
	// Listen is where the keeper shows its metrics and its state.
	Listen string `yaml:"listen"`
	// Every is how long it waits between two looks.
	Every time.Duration `yaml:"every"`
	// MaxCores bounds the cores of all allocations together, waiting ones included.
	MaxCores int `yaml:"maxCores"`
	// MaxCoreHoursPerDay bounds what they use in any 24 hours; 0 for no bound. Or MaxPencePerDay does, at PencePerCoreHour.
	MaxCoreHoursPerDay float64 `yaml:"maxCoreHoursPerDay"`
	MaxPencePerDay     float64 `yaml:"maxPencePerDay"`
	PencePerCoreHour   float64 `yaml:"pencePerCoreHour"`
	// Usage is the file in which what was used is remembered, where it is bounded; default beside the pools file.
	Usage  string `yaml:"usage"`
	Worker Worker `yaml:"worker"`
	Pools  []Pool `yaml:"pools"`
}

// Worker is how a worker is started.
type Worker struct {
	// Program is the path of molfabric where the workers run.
	Program string `yaml:"program"`
	// Environment is a file of shell assignments for workers: REDIS_URL or a token, MOLFABRIC_HOME and what else a worker needs. It
	// is read where they run.
	Environment string `yaml:"environment"`
	// Setup are shell lines before the worker starts, such as module load.
	Setup string `yaml:"setup"`
	// Logs is the directory of the workers' logs; default logs beside the pools file.
	Logs string `yaml:"logs"`
}

// Pool is one kind of worker.
type Pool struct {
	Name    string   `yaml:"name"`
	Classes []string `yaml:"classes"` // that its workers serve, or patterns such as cpu.*; none for all
	Cores   int      `yaml:"cores"`
	// MemoryMiB is what an allocation gets; tasks that run at once need no more together.
	MemoryMiB int           `yaml:"memoryMiB"`
	GPUs      int           `yaml:"gpus"`
	Walltime  time.Duration `yaml:"walltime"`
	IdleExit  time.Duration `yaml:"idleExit"`
	// DrainGrace is what running attempts get when a worker leaves.
	DrainGrace time.Duration `yaml:"drainGrace"`
	Min        int           `yaml:"min"`
	Max        int           `yaml:"max"`
	// MaxQueued is how many allocations may wait for their start at once.
	MaxQueued int           `yaml:"maxQueued"`
	Target    time.Duration `yaml:"target"` // in which a backlog is to be done

	// Of Slurm alone.
	Partition string   `yaml:"partition"`
	Account   string   `yaml:"account"`
	QOS       string   `yaml:"qos"`
	Options   []string `yaml:"options"` // further options of sbatch, such as --constraint=avx2
}

const (
	defaultListen     = "127.0.0.1:9191"
	defaultEvery      = 30 * time.Second
	minEvery          = time.Second
	maxEvery          = 2 * time.Minute // Slurm forgets a job five minutes after its end
	defaultIdleExit   = 5 * time.Minute
	defaultDrainGrace = 20 * time.Second
	defaultMaxQueued  = 2
	minWalltime       = 5 * time.Minute
	maxWalltime       = 30 * 24 * time.Hour
	maxPools          = 32
	maxCores          = 1_000_000
	maxMemoryMiB      = 64 << 20 // 64 TiB
	maxPoolCores      = 4096
	maxPoolGPUs       = 64
	maxFileBytes      = 1 << 20

	// EarlySignal is how much earlier than asked for Slurm may tell a job that its time ends.
	EarlySignal = time.Minute
	// farewell is what a worker needs to leave beside the grace of its tasks: package worker says why.
	farewell = 40 * time.Second
	// startAllowance is what a worker needs from the start of its allocation to its first task.
	startAllowance = 30 * time.Second
)

// Leaving is how long a worker of the pool takes to leave at most.
func (p Pool) Leaving() time.Duration { return p.DrainGrace + farewell }

// Longest is how long a task may take that an allocation of the pool can run.
func (p Pool) Longest() time.Duration { return p.Walltime - p.Leaving() - EarlySignal - startAllowance }

// coreSeconds are what one allocation uses at most.
func (p Pool) coreSeconds() float64 { return float64(p.Cores) * p.Walltime.Seconds() }

// asked is the pool as the formula of package fleet takes it.
func (p Pool) asked() fleet.Pool {
	return fleet.Pool{Slots: p.Cores, Devices: p.GPUs, Max: fleet.MaxWorkers, Target: p.Target, Classes: p.Classes}
}

// coreSecondsPerDay is the bound of the use in 24 hours; 0 for none.
func (f File) coreSecondsPerDay() float64 {
	if f.MaxPencePerDay > 0 {
		return f.MaxPencePerDay / f.PencePerCoreHour * time.Hour.Seconds()
	}
	return f.MaxCoreHoursPerDay * time.Hour.Seconds()
}

// Read reads and checks a pools file. Errors name the field, what is wrong with it, and what is allowed.
func Read(name string) (File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return File{}, fmt.Errorf("pools file: %w", err)
	}
	if info.Size() > maxFileBytes {
		return File{}, fmt.Errorf("pools file: %s has %d bytes; at most %d are read", name, info.Size(), maxFileBytes)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return File{}, fmt.Errorf("pools file: %w", err)
	}
	f, err := parse(text)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	if name, err = filepath.Abs(name); err != nil {
		return File{}, err
	}
	if f.Usage == "" {
		f.Usage = name + ".usage.json"
	}
	if f.Worker.Logs == "" {
		f.Worker.Logs = filepath.Join(filepath.Dir(name), "logs")
	}
	return f, nil
}

func parse(text []byte) (File, error) {
	var f File
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return File{}, err
	}
	f = f.withDefaults()
	return f, f.check()
}

func (f File) withDefaults() File {
	if f.Listen == "" {
		f.Listen = defaultListen
	}
	if f.Every == 0 {
		f.Every = defaultEvery
	}
	for i := range f.Pools {
		p := &f.Pools[i]
		if p.IdleExit == 0 {
			p.IdleExit = defaultIdleExit
		}
		if p.DrainGrace == 0 {
			p.DrainGrace = defaultDrainGrace
		}
		if p.MaxQueued == 0 {
			p.MaxQueued = defaultMaxQueued
		}
		if p.Target == 0 {
			p.Target = fleet.MinTarget
		}
	}
	return f
}

// nameForm keeps names readable in a list of jobs, and apart from the dots between them.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

const nameAllowed = "give 1 to 32 small letters, digits and hyphens"

func (f File) check() error {
	address, err := url.Parse(f.Demand)
	_, _, notAddress := net.SplitHostPort(f.Listen)
	switch {
	case !nameForm.MatchString(f.Fleet):
		return fmt.Errorf("fleet: %.40q; %s", f.Fleet, nameAllowed)
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.RawQuery != "" ||
		address.User != nil:
		return errors.New("demand: give the address of the endpoint, such as http://10.0.0.5:9090/fleet/demand, without a user " +
			"and a query")
	case notAddress != nil:
		return fmt.Errorf("listen: %.40q; give an address and a port, such as %s", f.Listen, defaultListen)
	case f.Every < minEvery || f.Every > maxEvery:
		return fmt.Errorf("every: %s; give %s to %s", f.Every, minEvery, maxEvery)
	case f.MaxCores < 1 || f.MaxCores > maxCores:
		return fmt.Errorf("maxCores: %d; give how many cores the fleet may have at once, 1 to %d", f.MaxCores, maxCores)
	case !filepath.IsAbs(f.Worker.Program):
		return fmt.Errorf("worker.program: %.80q; give the whole path of molfabric where workers run", f.Worker.Program)
	case f.Worker.Environment != "" && !filepath.IsAbs(f.Worker.Environment):
		return fmt.Errorf("worker.environment: %.80q; give the whole path of a file", f.Worker.Environment)
	case f.Worker.Logs != "" && !filepath.IsAbs(f.Worker.Logs):
		return fmt.Errorf("worker.logs: %.80q; give the whole path of a directory", f.Worker.Logs)
	case len(f.Pools) == 0 || len(f.Pools) > maxPools:
		return fmt.Errorf("pools: %d of them; give 1 to %d", len(f.Pools), maxPools)
	}
	if err := f.checkBudget(); err != nil {
		return err
	}
	known := map[string]bool{}
	for i, p := range f.Pools {
		if err := p.check(f.MaxCores); err != nil {
			return fmt.Errorf("pools[%d].%w", i, err)
		}
		if known[p.Name] {
			return fmt.Errorf("pools[%d].name: %q is the name of another pool too; give each its own", i, p.Name)
		}
		known[p.Name] = true
	}
	return nil
}

func (f File) checkBudget() error {
	switch {
	case f.MaxCoreHoursPerDay < 0:
		return fmt.Errorf("maxCoreHoursPerDay: %g; give core-hours, or 0 for no bound", f.MaxCoreHoursPerDay)
	case f.MaxPencePerDay < 0 || f.PencePerCoreHour < 0:
		return errors.New("maxPencePerDay, pencePerCoreHour: give pence, or leave both away for no bound")
	case (f.MaxPencePerDay > 0) != (f.PencePerCoreHour > 0):
		return errors.New("maxPencePerDay: goes with pencePerCoreHour, what a core-hour costs; give both or neither")
	case f.MaxPencePerDay > 0 && f.MaxCoreHoursPerDay > 0:
		return errors.New("maxPencePerDay: bounds the same as maxCoreHoursPerDay; give one of them")
	}
	day := f.coreSecondsPerDay()
	for i, p := range f.Pools {
		if day > 0 && p.coreSeconds() > day {
			return fmt.Errorf("pools[%d].walltime: one allocation may use %.1f core-hours, and a day has %.1f; give a shorter "+
				"walltime, fewer cores or a larger bound", i, p.coreSeconds()/time.Hour.Seconds(), day/time.Hour.Seconds())
		}
	}
	return nil
}

func (p Pool) check(fleetCores int) error {
	switch {
	case !nameForm.MatchString(p.Name):
		return fmt.Errorf("name: %.40q; %s", p.Name, nameAllowed)
	case p.Cores < 1 || p.Cores > maxPoolCores:
		return fmt.Errorf("cores: %d; give the cores of an allocation, 1 to %d", p.Cores, maxPoolCores)
	case p.Cores > fleetCores:
		return fmt.Errorf("cores: %d, but maxCores is %d; no allocation could ever start", p.Cores, fleetCores)
	case p.MemoryMiB < 256 || p.MemoryMiB > maxMemoryMiB:
		return fmt.Errorf("memoryMiB: %d; give the memory of an allocation in MiB, 256 to %d", p.MemoryMiB, maxMemoryMiB)
	case p.GPUs < 0 || p.GPUs > maxPoolGPUs:
		return fmt.Errorf("gpus: %d; give 0 to %d", p.GPUs, maxPoolGPUs)
	case p.Walltime < minWalltime || p.Walltime > maxWalltime || p.Walltime%time.Second != 0:
		return fmt.Errorf("walltime: %s; give whole seconds from %s to %s, such as 4h", p.Walltime, minWalltime, maxWalltime)
	case p.DrainGrace < time.Second || p.Longest() < p.Walltime/4:
		return fmt.Errorf("drainGrace: %s; give at least 1s, and so little that a quarter of the walltime is left for a task: "+
			"leaving takes the grace and %s", p.DrainGrace, farewell+EarlySignal+startAllowance)
	case p.IdleExit < time.Second || p.IdleExit > p.Walltime:
		return fmt.Errorf("idleExit: %s; give 1s up to the walltime", p.IdleExit)
	case p.Min < 0 || p.Max < 1 || p.Min > p.Max || p.Max > fleet.MaxWorkers:
		return fmt.Errorf("max: %d, min: %d; give max from 1 to %d, and min from 0 to max", p.Max, p.Min, fleet.MaxWorkers)
	case p.MaxQueued < 1 || p.MaxQueued > 100:
		return fmt.Errorf("maxQueued: %d; give how many may wait for their start at once, 1 to 100", p.MaxQueued)
	case p.Target < fleet.MinTarget:
		return fmt.Errorf("target: %s; give in how long a backlog is to be done, at least %s", p.Target, fleet.MinTarget)
	}
	for i, pattern := range p.Classes {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("classes[%d]: %.40q; give a class such as cpu.blastp, or a pattern such as cpu.*", i, pattern)
		}
	}
	return p.checkSlurm()
}

// word are values of Slurm's options.
var word = regexp.MustCompile(`^[A-Za-z0-9_.,@:+-]{0,100}$`)

// ours are options of sbatch that the keeper gives itself: a second value would take from it what it relies on.
var ours = []string{"--job-name", "--parsable", "--requeue", "--no-requeue", "--export", "--signal", "--time", "--nodes",
	"--ntasks", "--cpus-per-task", "--mem", "--gres", "--output", "--array", "--wrap", "--comment", "--dependency", "--hold",
	"--wait"}

func (p Pool) checkSlurm() error {
	for name, value := range map[string]string{"partition": p.Partition, "account": p.Account, "qos": p.QOS} {
		if !word.MatchString(value) {
			return fmt.Errorf("%s: %.40q; give letters, digits and _.,@:+-", name, value)
		}
	}
	for i, option := range p.Options {
		name, _, _ := strings.Cut(option, "=")
		if !strings.HasPrefix(option, "--") || strings.ContainsAny(option, "\n\x00") {
			return fmt.Errorf("options[%d]: %.40q; give options of sbatch in their long form, such as --constraint=avx2", i, option)
		}
		for _, taken := range ours {
			if name == taken {
				return fmt.Errorf("options[%d]: %s is the keeper's own; the pool's other fields say what it is", i, name)
			}
		}
	}
	return nil
}

// OfSlurm names a field that is set and has a meaning in Slurm alone; "" for none.
func (p Pool) OfSlurm() string {
	switch {
	case p.Partition != "":
		return "partition"
	case p.Account != "":
		return "account"
	case p.QOS != "":
		return "qos"
	case len(p.Options) > 0:
		return "options"
	}
	return ""
}
