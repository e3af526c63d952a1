package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// zombie is R6: a worker is stopped with SIGSTOP while it runs tasks, its programs go on, and it comes back, once while others do
// its work and once when they have done it.
func zombie(ctx context.Context, w *World, rng *rand.Rand) error {
	if err := w.Start(ctx, 1, 1, 2); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	napSeconds := 4.0
	if w.Short {
		napSeconds = 2.5
	}
	for round, late := range []bool{false, true} {
		sleeper := w.Workers()[rng.IntN(2)]
		if err := w.wakeZombie(ctx, account, sleeper, napSeconds, late); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return nil
}

// wakeZombie lets a worker sleep past its lease with tasks of so many seconds. late says that it comes back after they have ended
// elsewhere.
func (w *World) wakeZombie(ctx context.Context, a *Account, sleeper *Process, seconds float64, late bool) error {
	jobID, err := a.Submit(ctx, Probe{Tasks: 4, Seconds: seconds, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	lost, err := w.awaitRunning(ctx, sleeper, 2)
	if err != nil {
		return err
	}
	if err := sleeper.Pause(); err != nil {
		return err
	}
	for _, attempt := range lost {
		err := w.Eventually(ctx, "the sleeper's task starts elsewhere", w.Bound(patience), func(ctx context.Context) (bool, error) {
			_, started, err := w.nextStart(ctx, attempt)
			return started, err
		})
		if err != nil {
			return err
		}
	}
	if late {
		err = w.AwaitCompleted(ctx, jobID)
	} else { // its own programs have ended then, and those elsewhere have not
		err = w.Eventually(ctx, "the sleeper's programs have ended", w.Bound(patience), func(context.Context) (bool, error) {
			return len(w.livingChildren(sleeper)) == 0, nil
		})
	}
	if err != nil {
		return err
	}
	if err := sleeper.Continue(); err != nil {
		return err
	}
	if err := w.AwaitCompleted(ctx, jobID); err != nil {
		return err
	}
	for _, attempt := range lost {
		if err := w.awaitFenced(ctx, attempt); err != nil {
			return err
		}
	}
	return w.expectOneCharge(ctx, jobID, lost)
}

// livingChildren are a process' children that are not zombies: a stopped process reaps none.
func (w *World) livingChildren(p *Process) []int {
	var living []int
	for _, pid := range p.Children() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if err == nil && !strings.HasPrefix(rest, "Z") {
			living = append(living, pid)
		}
	}
	return living
}

// awaitFenced waits until the scheduler has said that it dropped a late report of an attempt.
func (w *World) awaitFenced(ctx context.Context, attempt attemptRow) error {
	want := fmt.Sprintf("task=%s attempt=%d", attempt.TaskID, attempt.Attempt)
	return w.Eventually(ctx, "a late report of "+want+" is dropped", w.Bound(patience), func(context.Context) (bool, error) {
		for _, p := range w.Schedulers() {
			log, err := os.ReadFile(p.Log())
			if err != nil {
				return false, err
			}
			for line := range strings.Lines(string(log)) {
				if strings.Contains(line, "dropped a late report") && strings.Contains(line, want) {
					return true, nil
				}
			}
		}
		return false, nil
	})
}

// expectOneCharge expects that the lost attempts cost nothing, and that each task has one success.
func (w *World) expectOneCharge(ctx context.Context, jobID string, lost []attemptRow) error {
	attempts, err := w.attempts(ctx, jobID)
	if err != nil {
		return err
	}
	charged, gone := map[string]int{}, map[string]bool{}
	for _, a := range attempts {
		if a.ChargedMicropence > 0 {
			charged[a.TaskID]++
		}
		if a.Outcome == "LOST" && a.ChargedMicropence == 0 {
			gone[fmt.Sprint(a.TaskID, a.Attempt)] = true
		}
	}
	for _, attempt := range lost {
		if !gone[fmt.Sprint(attempt.TaskID, attempt.Attempt)] {
			return fmt.Errorf("attempt %d of %s is not recorded as lost and free", attempt.Attempt, attempt.TaskID)
		}
	}
	for task, n := range charged {
		if n != 1 {
			return fmt.Errorf("%d attempts of %s are charged, want one", n, task)
		}
	}
	return nil
}
