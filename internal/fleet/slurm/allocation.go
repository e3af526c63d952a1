package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
)

// Allocated is what the job gives to the worker that runs in it.
type Allocated struct {
	Job         string
	Cores       int
	MemoryBytes int64  // 0 where Slurm does not say
	GPUs        string // indices, separated by commas, or "off"
	// Until is when the worker is to have left: Slurm may ask a job to end a minute before the moment that was asked for.
	Until time.Time
}

// askPatience bounds the question for the job's end.
const askPatience = 30 * time.Second

// askTries and askPause bear a slurmctld that is started again just now.
const (
	askTries = 5
	askPause = 5 * time.Second
)

// Here reads the allocation that this process runs in, from its environment, and the end of its time, which older versions do not
// put there, from Slurm.
func Here(ctx context.Context) (Allocated, error) {
	a, end, err := fromEnvironment(os.Getenv)
	if err != nil {
		return a, err
	}
	for try := 1; end.IsZero(); try++ {
		if end, err = endOf(ctx, a.Job); err == nil && !end.IsZero() {
			break
		}
		if err != nil && try == askTries {
			return a, fmt.Errorf("when does this job end? %w", err)
		}
		if err == nil {
			return a, nil // no limit
		}
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(askPause):
		}
	}
	a.Until = end.Add(-keeper.EarlySignal)
	return a, nil
}

func endOf(ctx context.Context, job string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	out, err := run(ctx, cleaned(os.Environ()), "", "squeue", "--noheader", "--jobs="+job, "--format=%e")
	if err != nil {
		return time.Time{}, err
	}
	return moment(strings.TrimSpace(out))
}

// fromEnvironment reads what Slurm tells a job by variables. end is zero where it does not tell.
func fromEnvironment(getenv func(string) string) (a Allocated, end time.Time, err error) {
	a.Job = getenv("SLURM_JOB_ID")
	if a.Job == "" {
		return a, end, errors.New("allocation: SLURM_JOB_ID is not set, so this is no job of Slurm")
	}
	// On a node that jobs share the first is the job's cores there; a step of several tasks would have the second.
	if a.Cores, err = number(getenv, "SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK"); err != nil || a.Cores < 1 {
		return a, end, fmt.Errorf("allocation: SLURM_CPUS_ON_NODE: %q; the worker needs to know its cores",
			getenv("SLURM_CPUS_ON_NODE"))
	}
	memory, err := number(getenv, "SLURM_MEM_PER_NODE")
	if err == nil && memory == 0 {
		memory, err = number(getenv, "SLURM_MEM_PER_CPU")
		memory *= a.Cores
	}
	if err != nil {
		return a, end, fmt.Errorf("allocation: %w", err)
	}
	a.MemoryBytes = int64(memory) << 20
	// Where devices are confined the visible ones count from 0 again.
	a.GPUs = cmp.Or(getenv("CUDA_VISIBLE_DEVICES"), getenv("SLURM_JOB_GPUS"), getenv("SLURM_STEP_GPUS"), "off")
	if a.GPUs == "NoDevFiles" {
		a.GPUs = "off"
	}
	if seconds, err := number(getenv, "SLURM_JOB_END_TIME"); err == nil && seconds > 0 {
		end = time.Unix(int64(seconds), 0)
	}
	return a, end, nil
}

// number is the first of some variables that is set; 0 when none is.
func number(getenv func(string) string, names ...string) (int, error) {
	for _, name := range names {
		if text := getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("%s: %q is no number", name, text)
			}
			return n, nil
		}
	}
	return 0, nil
}
