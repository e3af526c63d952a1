package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

const (
	// calm is how long nothing is broken between two faults, at most.
	calm = 4 * time.Second
	// longestAbsence is how long a store is away, or silent, at most.
	longestAbsence = 2 * time.Second
)

// mischief are the faults of R20, by name. Each breaks something and mends it.
var mischief = map[string]func(ctx context.Context, w *World, rng *rand.Rand) error{
	"a worker is killed":    killOne((*World).Workers),
	"an API is killed":      killOne((*World).APIs),
	"a scheduler is killed": killOne((*World).Schedulers),
	"a worker sleeps":       workerSleeps,
	"Redis is flushed":      func(ctx context.Context, w *World, _ *rand.Rand) error { return w.rdb.FlushAll(ctx).Err() },
	"Redis is killed": func(ctx context.Context, w *World, rng *rand.Rand) error {
		return absent(ctx, rng, w.KillRedis, w.StartRedis)
	},
	"Postgres is stopped hard": func(ctx context.Context, w *World, rng *rand.Rand) error {
		return absent(ctx, rng, w.StopPostgres, w.StartPostgres)
	},
	"the object store is killed": func(ctx context.Context, w *World, rng *rand.Rand) error {
		return absent(ctx, rng, w.KillS3, w.StartS3)
	},
	"a line is cut":       func(ctx context.Context, w *World, rng *rand.Rand) error { return troubled(ctx, w, rng, (*Line).Cut) },
	"a line falls silent": func(ctx context.Context, w *World, rng *rand.Rand) error { return troubled(ctx, w, rng, (*Line).Hold) },
}

// killOne kills one of some processes and starts it again.
func killOne(of func(*World) []*Process) func(context.Context, *World, *rand.Rand) error {
	return func(ctx context.Context, w *World, rng *rand.Rand) error {
		all := of(w)
		return all[rng.IntN(len(all))].Restart(ctx)
	}
}

// workerSleeps stops a worker past its lease.
func workerSleeps(ctx context.Context, w *World, rng *rand.Rand) error {
	all := w.Workers()
	sleeper := all[rng.IntN(len(all))]
	if err := sleeper.Pause(); err != nil {
		return err
	}
	pause(ctx, 2*longestAbsence)
	return sleeper.Continue()
}

// absent takes a store away for a while.
func absent(ctx context.Context, rng *rand.Rand, stop func() error, start func(context.Context) error) error {
	if err := stop(); err != nil {
		return err
	}
	pause(ctx, time.Duration(rng.Int64N(int64(longestAbsence))))
	return start(context.WithoutCancel(ctx))
}

// troubled breaks one of the lines for a while.
func troubled(ctx context.Context, w *World, rng *rand.Rand, trouble func(*Line)) error {
	line := []*Line{w.PostgresLine, w.RedisLine, w.S3Line}[rng.IntN(3)]
	trouble(line)
	pause(ctx, time.Duration(rng.Int64N(int64(longestAbsence))))
	line.Mend()
	return nil
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// wreck breaks one thing after the other until the context ends; everything is whole again when it returns. The faults are told to
// the entrance, which knows what may be answered meanwhile.
func (w *World) wreck(ctx context.Context, rng *rand.Rand, door *entrance) error {
	names := slices.Sorted(maps.Keys(mischief))
	counts := map[string]int{}
	longest := 0.0
	for {
		pause(ctx, time.Duration(rng.Int64N(int64(calm))))
		if ctx.Err() != nil {
			break
		}
		name := names[rng.IntN(len(names))]
		began := time.Now()
		w.Logf("%s", name)
		door.begins()
		whole := context.WithoutCancel(ctx)
		if err := mischief[name](whole, w, rng); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := w.awaitReady(whole); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		door.ends()
		counts[name]++
		longest = max(longest, time.Since(began).Seconds())
	}
	total := 0
	for _, name := range names {
		total += counts[name]
	}
	w.Figure("faults_count", float64(total))
	w.Figure("longest_fault_seconds", longest)
	w.Notef("faults: %v", counts)
	return nil
}

// awaitReady waits until every API says that it is ready.
func (w *World) awaitReady(ctx context.Context) error {
	return w.Eventually(ctx, "every API is ready again", patience, func(ctx context.Context) (bool, error) {
		for _, api := range w.APIs() {
			answer, err := caller{}.send(ctx, api, http.MethodGet, "/readyz", nil)
			if err != nil || answer.Status != http.StatusOK {
				return false, nil //nolint:nilerr // it is on its way back
			}
		}
		return true, nil
	})
}
