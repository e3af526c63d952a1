package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/internal/job"
)

const (
	// roomBytes is the small disk of a worker, and ballastBytes more than all of it.
	roomBytes    = 24 << 20
	ballastBytes = 32 << 20
	// beyondMemory is more than a task of the probe may hold, and beyondDisk more than the small disk does.
	beyondMemory = 640 << 20
	beyondDisk   = 64 << 20
)

// roomGone is R12: tasks that take more memory than they may and more disk than there is, and a disk that is full before they
// start. The worker is the only one, so that it must go on.
func roomGone(ctx context.Context, w *World, _ *rand.Rand) error {
	if err := w.Start(ctx, 1, 1, 0); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	home := filepath.Join(w.home, "small")
	unmount, err := mountSmall(home)
	if err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	small := err == nil
	defer unmount()
	worker, err := w.StartWorker(ctx, WorkerOptions{Home: home})
	if err != nil {
		return err
	}
	first := worker.WorkerID()
	if err := w.expectFailure(ctx, account, Probe{MemoryBytes: beyondMemory}, "OUT_OF_MEMORY"); err != nil {
		return fmt.Errorf("beyond its memory: %w", err)
	}
	if small {
		if err := w.expectFailure(ctx, account, Probe{OutputBytes: beyondDisk}, "ENGINE_FAILED"); err != nil {
			return fmt.Errorf("beyond the disk: %w", err)
		}
		if err := w.fullDisk(ctx, account, home); err != nil {
			return fmt.Errorf("on a full disk: %w", err)
		}
	} else {
		w.Notef("without the right to mount a small disk, the full one was left out")
	}
	jobID, err := account.Submit(ctx, Probe{Tasks: 4, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	if err := w.AwaitCompleted(ctx, jobID); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	if !worker.Running() || worker.WorkerID() != first {
		return errors.New("the worker did not live through it")
	}
	if err := worker.Stop(ctx); err != nil { // before its disk goes
		return err
	}
	return verdict(w.leftDirectories())
}

// mountSmall makes a directory that lies on a small disk of its own. Errors: unix.EPERM without the right to.
func mountSmall(dir string) (unmount func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return func() {}, err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", roomBytes)); err != nil {
		return func() {}, fmt.Errorf("mount a small disk: %w", err)
	}
	return func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }, nil // the directory is removed with the World's
}

// expectFailure runs a job that must fail with a code, after as many attempts as it is given, and publish nothing but logs.
func (w *World) expectFailure(ctx context.Context, a *Account, p Probe, code string) error {
	jobID, err := a.Submit(ctx, p, "")
	if err != nil {
		return err
	}
	status, err := w.Await(ctx, jobID)
	if err != nil {
		return err
	}
	failed, err := a.Client.Job(ctx, jobID)
	if err != nil {
		return err
	}
	if status != job.Failed || failed.Body.Error == nil || failed.Body.Error.Code != code {
		return fmt.Errorf("the job ended as %s with %+v, want %s with %s", status, failed.Body.Error, job.Failed, code)
	}
	outputs, err := a.Client.AllOutputs(ctx, jobID)
	if err != nil {
		return err
	}
	for _, output := range outputs.Body.Outputs {
		if output.Role != "log" {
			return fmt.Errorf("the job failed and has published %s", output.Name)
		}
	}
	attempts, err := w.attempts(ctx, jobID)
	if err == nil && len(attempts) != job.MaxRetries+1 {
		err = fmt.Errorf("it had %d attempts, want %d", len(attempts), job.MaxRetries+1)
	}
	return err
}

// fullDisk fills the worker's disk before a job comes, and makes room again when an attempt has been given back.
func (w *World) fullDisk(ctx context.Context, a *Account, home string) error {
	ballast := filepath.Join(home, "ballast")
	if err := os.WriteFile(ballast, make([]byte, ballastBytes), 0o600); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the disk did not fill: %w", err)
	}
	jobID, err := a.Submit(ctx, Probe{OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	err = w.Eventually(ctx, "an attempt without room is given back", w.Bound(patience), func(ctx context.Context) (bool, error) {
		attempts, err := w.attempts(ctx, jobID)
		return slices.ContainsFunc(attempts, func(a attemptRow) bool { return a.Outcome == "FAILED" }), err
	})
	if err != nil {
		return err
	}
	full := time.Now()
	if err := os.Remove(ballast); err != nil {
		return err
	}
	err = w.AwaitCompleted(ctx, jobID)
	w.Figure("recovered_seconds", time.Since(full).Seconds())
	return err
}
