package roles

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/fleet/slurm"
)

// Stay is how long a worker stays. The zero value stays until it is asked to leave.
type Stay struct {
	IdleExit time.Duration // leaves when nothing was to do for so long; 0 for never
	Until    time.Time     // has left by then; zero for never
}

// EndOfStay is when a worker that started at a moment has to have left; zero for never.
func EndOfStay(started time.Time, until string, walltime time.Duration) (time.Time, error) {
	switch {
	case walltime < 0:
		return time.Time{}, fmt.Errorf("walltime: %s; give how long the worker may stay, such as 2h", walltime)
	case walltime > 0:
		return started.Add(walltime), nil
	case until == "":
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseInt(until, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	at, err := time.Parse(time.RFC3339, until)
	if err != nil {
		return time.Time{}, fmt.Errorf("until: %q; give a moment such as 2026-05-03T18:00:00Z, or seconds since 1970", until)
	}
	return at, nil
}

// ownMemoryBytes is what a worker leaves of an allocation's memory for itself.
const ownMemoryBytes = 256 << 20

// OfAllocation fits a worker into the allocation of a batch system that it runs in: its cores, memory and devices, and the end of
// its time where stay has none. slotsGiven keeps the configured number of cores.
func OfAllocation(ctx context.Context, system string, cfg *config.Config, stay *Stay, slotsGiven bool, log *slog.Logger) error {
	if system != "slurm" {
		return fmt.Errorf("allocation: %q; allowed is slurm", system)
	}
	given, err := slurm.Here(ctx)
	if err != nil {
		return err
	}
	if !slotsGiven {
		cfg.Slots = given.Cores
	}
	if given.MemoryBytes > 0 {
		cfg.MemoryBytes = max(given.MemoryBytes-ownMemoryBytes, given.MemoryBytes/2)
	}
	cfg.GPUs = given.GPUs
	if cfg.WorkerName == "" {
		cfg.WorkerName = "slurm/" + given.Job
	}
	if stay.Until.IsZero() {
		stay.Until = given.Until
	}
	log.Info("worker of a Slurm job", "job", given.Job, "slots", cfg.Slots, "memory_mib", cfg.MemoryBytes>>20, "gpus", cfg.GPUs,
		"until", stay.Until)
	return nil
}
