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
	// storeTimeout bounds storing one file of an attempt, also after a stop order: metered use keeps its log.
	storeTimeout = 10 * time.Minute
)

// stage puts an order's inputs to in/ and holds them against their digests. It returns their bytes, whether they came from the
// store or from the cache: the same work is metered the same.
func (w *Worker) stage(a *attempt, dir engines.Dir) (int64, *engines.Failure) {
	var bytes int64
	for _, input := range a.order.Inputs {
		fetch := w.stageOne
		if input.Resume {
			fetch = w.stageResumed
		}
		n, failure := fetch(a, dir, input)
		if failure != nil {
			return bytes, failure
		}
		bytes += n
	}
	return bytes, nil
}

func (w *Worker) stageOne(a *attempt, dir engines.Dir, input queue.ResolvedInput) (int64, *engines.Failure) {
	path := dir.In(input.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.log.Error("input not staged", "error", err)
		return 0, systemFailure("SCRATCH_UNAVAILABLE", "the worker has no room to work in")
	}
	err := w.deliver(a, input.Object, path)
	if err == nil {
		return input.Object.ByteSize, nil
	}
	var mismatch *object.MismatchError
	mismatched, missing := errors.As(err, &mismatch), errors.Is(err, object.ErrNotFound)
	name := filepath.Base(input.Object.StorageKey)
	if uploaded := object.IsUpload(input.Object.StorageKey); uploaded && mismatched {
		return 0, &engines.Failure{Class: engines.UserInput, Code: "INPUT_MISMATCH",
			Message: fmt.Sprintf("the file %s is not what the request says: %v", name, mismatch)}
	} else if uploaded && missing {
		return 0, &engines.Failure{Class: engines.UserInput, Code: "INPUT_NOT_FOUND",
			Message: fmt.Sprintf("the file %s does not exist any more", name)}
	}
	if input.Optional && (mismatched || missing) {
		a.log.Warn("input left out", "input", input.Name, "error", err)
		return 0, nil
	}
	a.log.Error("input not staged", "input", input.Name, "error", err)
	if mismatched || missing {
		return 0, systemFailure(queue.InputLost, "the file %s, which an earlier stage or the deployment keeps, has been lost or "+
			"damaged", input.Name)
	}
	if errors.Is(err, object.ErrRefused) {
		return 0, refusedFailure()
	}
	return 0, systemFailure("STORE_UNAVAILABLE", "the object store did not deliver an input")
}

// permitRefused is the code of an attempt without a permit.
const permitRefused = "PERMIT_REFUSED"

// refusedFailure is that of an attempt whose permits the store refuses, or that gets none.
func refusedFailure() *engines.Failure {
	return systemFailure(permitRefused, "the worker had no permit for its files that the object store takes")
}

// deliver puts an object's content at path, through the cache where that takes it. Errors: as object.GetFile.
func (w *Worker) deliver(a *attempt, wanted engines.Object, path string) error {
	if w.cache != nil {
		if err := w.cache.stage(a.ctx, a.files, wanted, path); !errors.Is(err, errUncached) {
			return err
		}
	}
	return a.fetch(wanted, path)
}

// fetch brings an object to path.
func (a *attempt) fetch(wanted engines.Object, path string) error {
	return retryStore(a.ctx, func() error {
		_, err := object.GetFile(a.ctx, a.files, wanted.StorageKey, path, wanted.SHA256, wanted.ByteSize)
		return err
	})
}

// store puts the log and, after a success, the outputs of an attempt into the object store and completes its ending. An
// attempt whose outputs cannot be stored is no success.
func (w *Worker) store(a *attempt, dir engines.Dir, outcome sandbox.Outcome, end *ending) {
	if outcome.LogPath != "" {
		name := "logs/" + a.order.Shard.Name + ".log"
		log, err := w.storeInTime(a, engines.Artifact{Name: name, Role: engines.RoleLog, MediaType: "text/plain; charset=utf-8",
			Format: "log"},
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
	if failure := w.storeOutputs(a, dir, end); failure != nil {
		end.result, end.failure = nil, failure
	}
}

// storeInTime is storeFile within storeTimeout, which begins when there is a permit that should be good: each file of many may have
// to wait for one.
func (w *Worker) storeInTime(a *attempt, artifact engines.Artifact, open func() (*os.File, error)) (queue.StoredArtifact, error) {
	a.permit.fresh(a.life)
	ctx, cancel := context.WithTimeout(a.life, storeTimeout)
	defer cancel()
	return w.storeFile(ctx, a, artifact, open)
}

func (w *Worker) storeOutputs(a *attempt, dir engines.Dir, end *ending) *engines.Failure {
	if failure := checkOutputs(dir, end.result.Artifacts, a.order.Shard.Needs.ScratchBytes); failure != nil {
		return failure
	}
	for i, artifact := range end.result.Artifacts {
		stored, err := w.storeInTime(a, artifact.Artifact, func() (*os.File, error) {
			return sandbox.OpenOutput(dir, artifact.Name)
		})
		if err != nil {
			a.log.Error("output not stored", "output", artifact.Name, "error", err)
			if errors.Is(err, object.ErrRefused) {
				return refusedFailure()
			}
			return systemFailure("STORE_UNAVAILABLE", "the object store did not take an output")
		}
		end.result.Artifacts[i] = stored
		end.usage.BytesOut += stored.ByteSize
	}
	return nil
}

// checkOutputs looks for every announced output before the first is stored, so that nothing is stored of a shard that left too
// little or too much.
func checkOutputs(dir engines.Dir, artifacts []queue.StoredArtifact, maxBytes int64) *engines.Failure {
	total := int64(0)
	for _, artifact := range artifacts {
		byteSize, err := outputByteSize(dir, artifact.Name)
		if err != nil {
			return executorFailure("OUTPUT_MISSING", "an announced output is missing: %s", artifact.Name)
		}
		if total += byteSize; byteSize > object.MaxObjectBytes {
			return executorFailure("OUTPUT_TOO_LARGE", "the output %s has %d MiB; one file may have %d MiB at most: let the job "+
				"make smaller ones",
				artifact.Name, byteSize>>20, int64(object.MaxObjectBytes)>>20)
		}
	}
	if total > maxBytes {
		return executorFailure("OUTPUT_TOO_LARGE", "the outputs are larger than the %d MiB allowed", maxBytes>>20)
	}
	return nil
}

func outputByteSize(dir engines.Dir, name string) (int64, error) {
	file, err := sandbox.OpenOutput(dir, name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// storeFile stores one file under the attempt's prefix with its digest.
func (w *Worker) storeFile(
	ctx context.Context, a *attempt, artifact engines.Artifact, open func() (*os.File, error),
) (queue.StoredArtifact, error) {
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
		info, err = a.files.Put(ctx, key, file, artifact.MediaType, "")
		return err
	})
	return queue.StoredArtifact{Artifact: artifact, Object: engines.Object{StorageKey: key, SHA256: info.SHA256,
		ByteSize: info.ByteSize}}, err
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
