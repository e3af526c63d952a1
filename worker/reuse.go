package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// An attempt whose order names what another task with the same identity has made starts no engine. The worker copies those outputs
// to the attempt's own place, each held against its digest, so that they stay when the other job's are deleted. It does so only
// where it would have used the very programs that made them; whatever else goes wrong, it runs the shard as if there were nothing.

// copiesAtOnce are made beside what computes. They wait for the store and not for a core: one that kept a place of a task that
// computes would leave its core idle.
const copiesAtOnce = 4

// errOtherPrograms says that this worker's programs might make something else.
var errOtherPrograms = errors.New("other programs made it")

// reuse ends an attempt with copies of the outputs that its order names; nil where the shard is to be run. idle is called when the
// attempt leaves its place to the next one, which it does unless there are many copies already.
func (w *Worker) reuse(a *attempt, engine engines.Engine, idle func()) *ending {
	if a.order.Reuse == nil {
		return nil
	}
	if w.copies.TryAcquire(1) {
		defer w.copies.Release(1)
		idle()
	}
	end, err := w.copied(a, engine)
	if a.ctx.Err() != nil {
		interrupted := a.interrupted()
		return &interrupted
	}
	if err != nil {
		a.log.Warn("the shard is run: what another task has made of it is not used", "source", a.order.Reuse.TaskID, "error", err)
		return nil
	}
	a.log.Info("outputs of another task taken over", "source_job", a.order.Reuse.JobID, "source", a.order.Reuse.TaskID)
	return end
}

// copied brings the outputs here, lets the engine give them the names of this shard, and stores them.
func (w *Worker) copied(a *attempt, engine engines.Engine) (*ending, error) {
	from := a.order.Reuse
	if from.Toolchain == "" || from.Toolchain != w.toolchain(engine) {
		return nil, errOtherPrograms
	}
	dir, err := w.scratch.open(a.order.Ref())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := w.scratch.remove(dir); err != nil {
			a.log.Warn("scratch directory left behind", "error", err)
		}
	}()
	result := engines.Result{Summary: from.Result.Summary, Failures: from.Result.Failures, Programs: from.Result.Programs}
	for _, made := range from.Result.Artifacts {
		if !filepath.IsLocal(made.Name) {
			return nil, fmt.Errorf("the output %s: %w", made.Name, sandbox.ErrUnsafeOutput)
		}
		if err := a.bring(made.Object, dir.Out(made.Name)); err != nil {
			return nil, fmt.Errorf("the output %s: %w", made.Name, err)
		}
		result.Artifacts = append(result.Artifacts, made.Artifact)
	}
	if adopter, ok := engine.(engines.Adopter); ok {
		if _, failure := w.stage(a, dir); failure != nil {
			return nil, failure
		}
		if result, err = adopter.Adopt(a.order.Shard, dir, result); err != nil {
			return nil, err
		}
	}
	end := &ending{toolchain: from.Toolchain, reused: &from.Source,
		result: &queue.Result{Summary: result.Summary, Failures: result.Failures, Programs: result.Programs}}
	for _, artifact := range result.Artifacts {
		end.result.Artifacts = append(end.result.Artifacts, queue.StoredArtifact{Artifact: artifact})
	}
	w.store(a, dir, sandbox.Outcome{}, end)
	if end.failure != nil {
		return nil, end.failure
	}
	end.usage = queue.Usage{} // copying is free
	return end, nil
}

// bring puts an output of another task to a path below out/.
func (a *attempt) bring(made engines.Object, path string) error {
	if made.SHA256 == "" {
		return errors.New("its digest is not known")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err := object.GetFile(a.ctx, a.files, made.StorageKey, path, made.SHA256, made.ByteSize)
	return err
}

// toolchain is that of an engine on this worker.
func (w *Worker) toolchain(engine engines.Engine) string {
	for _, offer := range w.Offered {
		if offer.Engine == engine.Spec().ID {
			return queue.Toolchain(engine, offer.Programs)
		}
	}
	return ""
}
