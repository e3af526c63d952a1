package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// workerFaults lists the rows in which a worker or the API dies, sleeps or runs out of something.
func workerFaults() []Test {
	return []Test{
		{ID: "R1", Fault: "kill -9 of a worker at 5 random moments of a 200-task job", Short: true, Run: workerKilled,
			Passes: "each result and charge exactly once; its tasks start again elsewhere within 5 s"},
		{ID: "R2", Fault: "kill -9 of the API at 10 crash points around submit", Short: true, Run: apiKilled,
			Passes: "acknowledged means stored; the same key again gives the same job"},
		{ID: "R6", Fault: "zombie: a worker stopped past its lease, then continued", Short: true, Run: zombie,
			Passes: "the late result is fenced off; one charge"},
		{ID: "R12", Fault: "disk full or out of memory in a worker", Short: true, Run: roomGone, //nolint:gosec // G101: what Passes says is no password
			Passes: "a typed task failure or a retry; the worker lives; nothing partial is published"},
	}
}

const (
	// elsewhereWithin is how soon the tasks of a dead worker start again.
	elsewhereWithin = 5 * time.Second
	// supervisorPause is how long a supervisor waits before it starts a worker again.
	supervisorPause = 500 * time.Millisecond
)

// workerKilled is R1: of three workers one is killed at random moments, and started again by its supervisor.
func workerKilled(ctx context.Context, w *World, rng *rand.Rand) error {
	tasks, kills := 200, 5
	if w.Short {
		tasks, kills = 60, 2
	}
	if err := w.Start(ctx, 1, 1, 3); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	jobID, err := account.Submit(ctx, Probe{Tasks: tasks, Seconds: 0.3, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	moments := make([]int, kills) // by the tasks that have ended
	for i := range moments {
		moments[i] = rng.IntN(tasks * 8 / 10)
	}
	slices.Sort(moments)
	var lost []death
	for _, moment := range moments {
		if err := w.AwaitEnded(ctx, jobID, moment); err != nil {
			return err
		}
		dead, err := w.killBusyWorker(ctx, rng)
		if err != nil {
			return err
		}
		lost = append(lost, dead)
	}
	if err := w.AwaitCompleted(ctx, jobID); err != nil {
		return err
	}
	if err := w.expectRestarts(ctx, "longest_restart_seconds", lost); err != nil {
		return err
	}
	if err := w.countLost(ctx, jobID); err != nil || w.Short || w.target == nil {
		return err
	}
	return w.killDocking(ctx, account, rng)
}

// death is the end of a worker by our hand, and what it ran then.
type death struct {
	at      time.Time
	running []attemptRow
}

// killBusyWorker kills a worker that runs tasks; its supervisor starts it again after a pause.
func (w *World) killBusyWorker(ctx context.Context, rng *rand.Rand) (dead death, err error) {
	var victim *Process
	workers := w.Workers()
	rng.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
	err = w.Eventually(ctx, "a worker runs tasks", w.Bound(patience), func(ctx context.Context) (bool, error) {
		for _, victim = range workers {
			if dead.running, err = w.running(ctx, victim.WorkerID()); err != nil || len(dead.running) > 0 {
				return err == nil, err
			}
		}
		return false, nil
	})
	if err != nil {
		return dead, err
	}
	dead.at = time.Now()
	if err := victim.Kill(); err != nil {
		return dead, err
	}
	<-time.After(supervisorPause)
	return dead, victim.Start(ctx)
}

// expectRestarts expects that what dead workers ran has started again soon enough. A task whose report had left before its worker's
// end has not.
func (w *World) expectRestarts(ctx context.Context, figure string, deaths []death) error {
	var longest time.Duration
	for _, dead := range deaths {
		for _, attempt := range dead.running {
			outcome, err := w.outcomeOf(ctx, attempt)
			if err != nil {
				return err
			}
			if outcome != "LOST" {
				continue
			}
			at, started, err := w.nextStart(ctx, attempt)
			if err != nil || !started {
				return errors.Join(err, fmt.Errorf("task %s was lost with attempt %d and never started again", attempt.TaskID,
					attempt.Attempt))
			}
			longest = max(longest, at.Sub(dead.at))
		}
	}
	w.Figure(figure, longest.Seconds())
	if longest > w.Bound(elsewhereWithin) {
		return fmt.Errorf("a task of a killed worker started again after %s, at most %s are allowed", longest,
			w.Bound(elsewhereWithin))
	}
	return nil
}

// dockedSMILES are ligands that need seconds each.
var dockedSMILES = []string{"CC(=O)Oc1ccccc1C(=O)O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "CC(=O)Nc1ccc(O)cc1",
	"CC(C)Cc1ccc(cc1)C(C)C(=O)O", "NC(=N)c1ccccc1"}

// killDocking kills a worker of a real docking when its programs run.
func (w *World) killDocking(ctx context.Context, a *Account, rng *rand.Rand) error {
	for range 2 {
		if _, err := w.StartWorker(ctx, WorkerOptions{Engines: []string{"autodock-vina"}}); err != nil {
			return err
		}
	}
	receptor, err := a.Client.UploadFile(ctx, w.target.Path)
	if err != nil {
		return err
	}
	var ligands []map[string]any
	for i, smiles := range dockedSMILES {
		ligands = append(ligands, map[string]any{"ligandId": fmt.Sprint(i), "label": fmt.Sprint(i),
			"source": map[string]any{"kind": "smiles", "smiles": smiles}})
	}
	receipt, err := a.Client.Submit(ctx, map[string]any{"jobType": "simulation", "simulator": "autodock-vina",
		"sceneFile": receptor.StorageKey, "simulationParams": map[string]any{"ligandLibrary": ligands,
			"boxCenterAngstrom": w.target.Center, "boxSizeAngstrom": 18, "exhaustiveness": 4, "seed": 7,
			"dockingReport": map[string]any{"picture": "none"}}}, "")
	if err != nil {
		return err
	}
	dead, err := w.killBusyWorker(ctx, rng)
	if err == nil {
		err = w.AwaitCompleted(ctx, receipt.Body.JobID)
	}
	if err != nil {
		return fmt.Errorf("a docking: %w", err)
	}
	return w.expectRestarts(ctx, "docking_restart_seconds", []death{dead})
}

// countLost notes how many attempts were lost, and expects that the lost ones cost nothing.
func (w *World) countLost(ctx context.Context, jobID string) error {
	attempts, err := w.attempts(ctx, jobID)
	if err != nil {
		return err
	}
	lost := 0
	for _, a := range attempts {
		if a.Outcome != "LOST" {
			continue
		}
		if lost++; a.ChargedMicropence != 0 {
			return fmt.Errorf("attempt %d of %s was lost and is charged %d micropence", a.Attempt, a.TaskID, a.ChargedMicropence)
		}
	}
	w.Figure("lost_attempts", float64(lost))
	if lost == 0 {
		return errors.New("no attempt was lost: the kills have hit nothing")
	}
	return nil
}
