package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// storeTries and storePause bound how long a worker waits for an object store that is away before it gives the task back.
	storeTries = 6
	storePause = 500 * time.Millisecond
	// storeTimeout bounds storing one attempt's outputs, also after a stop order: metered use keeps its log.
	storeTimeout = 10 * time.Minute
)

// stage fetches an order's inputs to in/ and holds them against their digests. It returns the bytes fetched.
func (w *Worker) stage(a *attempt, dir engines.Dir) (int64, *engines.Failure) {
	var bytes int64
	for _, input := range a.order.Inputs {
		n, failure := w.stageOne(a, dir, input)
		if failure != nil {
			return bytes, failure
		}
		bytes += n
	}
	return bytes, nil
}

func (w *Worker) stageOne(a *attempt, dir engines.Dir, input queue.ResolvedInput) (int64, *engines.Failure) {
	if !filepath.IsLocal(input.Name) {
		return 0, systemFailure("INPUT_NAME_INVALID", "an input has an unusable name")
	}
	path := dir.In(input.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.log.Error("input not staged", "error", err)
		return 0, systemFailure("SCRATCH_UNAVAILABLE", "the worker has no room to work in")
	}
	err := retryStore(a.ctx, func() error {
		_, err := w.Objects.GetFile(a.ctx, input.Object.StorageKey, path, input.Object.SHA256, input.Object.ByteSize)
		return err
	})
	var mismatch *object.MismatchError
	switch {
	case err == nil:
		return input.Object.ByteSize, nil
	case errors.As(err, &mismatch):
		return 0, &engines.Failure{Class: engines.UserInput, Code: "INPUT_MISMATCH",
			Message: fmt.Sprintf("the file %s is not what the request says: %v", filepath.Base(input.Object.StorageKey), mismatch)}
	case errors.Is(err, object.ErrNotFound):
		return 0, &engines.Failure{Class: engines.UserInput, Code: "INPUT_NOT_FOUND",
			Message: fmt.Sprintf("the file %s does not exist any more", filepath.Base(input.Object.StorageKey))}
	}
	a.log.Error("input not staged", "input", input.Name, "error", err)
	return 0, systemFailure("STORE_UNAVAILABLE", "the object store did not deliver an input")
}

// store puts the log and, after a success, the outputs of an attempt into the object store and completes its ending. An
// attempt whose outputs cannot be stored is no success.
func (w *Worker) store(a *attempt, dir engines.Dir, outcome sandbox.Outcome, end *ending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), storeTimeout)
	defer cancel()
	if outcome.LogPath != "" {
		name := "logs/" + a.order.Shard.Name + ".log"
		log, err := w.storeFile(ctx, a, engines.Artifact{Name: name, Role: engines.RoleLog, MediaType: "text/plain; charset=utf-8", Format: "log"},
			func() (*os.File, error) { return os.Open(outcome.LogPath) })
		if err != nil {
			a.log.Warn("log not stored", "error", err)
		} else {
			end.logs = append(end.logs, log)
			end.usage.BytesOut += log.ByteSize
		}
	}
	if end.result == nil {
		return
	}
	if failure := w.storeOutputs(ctx, a, dir, end); failure != nil {
		end.result, end.failure = nil, failure
	}
}

func (w *Worker) storeOutputs(ctx context.Context, a *attempt, dir engines.Dir, end *ending) *engines.Failure {
	total := int64(0)
	for i, artifact := range end.result.Artifacts {
		stored, err := w.storeFile(ctx, a, artifact.Artifact, func() (*os.File, error) { return sandbox.OpenOutput(dir, artifact.Name) })
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, sandbox.ErrUnsafeOutput):
			return &engines.Failure{Class: engines.Executor, Code: "OUTPUT_MISSING", Message: "an announced output is missing: " + artifact.Name}
		case err != nil:
			a.log.Error("output not stored", "output", artifact.Name, "error", err)
			return systemFailure("STORE_UNAVAILABLE", "the object store did not take an output")
		}
		if total += stored.ByteSize; total > a.order.Shard.Needs.ScratchBytes {
			return &engines.Failure{Class: engines.Executor, Code: "OUTPUT_TOO_LARGE",
				Message: fmt.Sprintf("the outputs are larger than the %d MiB allowed", a.order.Shard.Needs.ScratchBytes>>20)}
		}
		end.result.Artifacts[i] = stored
	}
	end.usage.BytesOut += total
	return nil
}

// storeFile stores one file under the attempt's prefix with its digest.
func (w *Worker) storeFile(ctx context.Context, a *attempt, artifact engines.Artifact, open func() (*os.File, error)) (queue.StoredArtifact, error) {
	file, err := open()
	if err != nil {
		return queue.StoredArtifact{}, err
	}
	defer file.Close()
	key := a.order.OutputPrefix + artifact.Name
	var info object.Info
	err = retryStore(ctx, func() error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		info, err = w.Objects.Put(ctx, key, file, artifact.MediaType, "")
		return err
	})
	return queue.StoredArtifact{Artifact: artifact, Object: engines.Object{StorageKey: key, SHA256: info.SHA256, ByteSize: info.ByteSize}}, err
}

// retryStore repeats do while the object store is away.
func retryStore(ctx context.Context, do func() error) error {
	var err error
	for try := range storeTries {
		if try > 0 {
			wait(ctx, storePause<<(try-1))
		}
		if err = do(); !errors.Is(err, object.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
	}
	return err
}
