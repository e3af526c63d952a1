package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// ending is how an attempt ended: exactly one of result, failure and cancelled is set.
type ending struct {
	result    *queue.Result
	failure   *engines.Failure
	cancelled bool
	givenBack bool // a failure: the engine was never started, and another worker is to have the attempt
	usage     queue.Usage
	logs      []queue.StoredArtifact
	reused    *queue.Source // of a success: whose outputs these are copies of
	toolchain string        // of a success
	stray     string        // of a success: the key of a checkpoint that may have been stored and was not reported
}

// judge turns the end of a process into the end of its attempt. Only a clean exit with complete outputs is a success. What
// only the operator may see goes to log.
func judge(
	log *slog.Logger, engine engines.Engine, shard engines.Shard, dir engines.Dir, outcome sandbox.Outcome, used queue.Usage,
) ending {
	name := engine.Spec().Title
	switch outcome.Reason {
	case sandbox.UsedEnough:
		return ending{failure: unpaid(engine, used)}
	case sandbox.TimedOut:
		return ending{failure: &engines.Failure{Class: engines.Timeout, Code: "TIME_LIMIT",
			Message: fmt.Sprintf("%s did not end within %s", name, shard.Needs.TimeLimit)}}
	case sandbox.OutOfMemory:
		return ending{failure: executorFailure("OUT_OF_MEMORY", "%s needed more than %d MiB of memory", name,
			shard.Needs.MemoryBytes>>20)}
	}
	if outcome.Reason == sandbox.OutputTooLarge {
		return ending{failure: executorFailure("OUTPUT_TOO_LARGE", "%s wrote more, or more files, than its task may", name)}
	}
	if outcome.Signal == syscall.SIGSYS {
		return ending{failure: executorFailure("CALL_FORBIDDEN", "%s made a system call that programs may not make here", name)}
	}
	switch _, refused, err := sandbox.Outputs(dir); {
	case err != nil:
		return ending{failure: executorFailure("OUTPUT_UNREADABLE", "%s left outputs that cannot be listed", name)}.logged(log, err)
	case len(refused) > 0:
		return ending{failure: executorFailure("OUTPUT_UNSAFE", "%s wrote something other than plain files", name)}
	case outcome.Reason == sandbox.Killed || outcome.ExitCode != 0:
		return ending{failure: explain(engine, shard, dir, outcome)}
	}
	result, err := engine.Collect(shard, dir)
	var failure *engines.Failure
	switch {
	case errors.As(err, &failure):
		return ending{failure: failure}
	case err != nil:
		return ending{failure: executorFailure("OUTPUT_INVALID", "%s ended well but its output is not usable", name)}.logged(log,
			err)
	case len(result.Summary) > engines.MaxSummaryBytes:
		return ending{failure: executorFailure("OUTPUT_INVALID", "%s summed its result up in %d bytes, at most %d are kept", name,
			len(result.Summary), engines.MaxSummaryBytes)}
	}
	out := &queue.Result{Summary: result.Summary, Failures: result.Failures, Programs: result.Programs}
	for _, artifact := range result.Artifacts {
		out.Artifacts = append(out.Artifacts, queue.StoredArtifact{Artifact: artifact})
	}
	return ending{result: out}
}

// unpaid is the failure of a shard that has used more than the money set aside for its job can pay for.
func unpaid(engine engines.Engine, used queue.Usage) *engines.Failure {
	micros, of := used.CPUMicroseconds, "processor time"
	if used.GPUMicroseconds > 0 {
		micros, of = used.GPUMicroseconds, "its GPUs' time"
	}
	return &engines.Failure{Class: engines.CostLimit, Code: string(fault.CostLimitExceeded), Message: fmt.Sprintf(
		"%s was stopped after %s of %s, far more than what was set aside for its job pays for; "+
			"what it has finished is kept, and a retry sets money aside for the rest",
		engine.Spec().Title, (time.Duration(micros) * time.Microsecond).Round(time.Second), of)}
}

// wrongImage is the failure of a shard that asks for another container image than the worker runs. A worker that runs none takes
// every shard: engines whose requests name an image then hold the digest of their installation against it.
func wrongImage(engine engines.Engine, shard engines.Shard, image string) *engines.Failure {
	pinner, pins := engine.(engines.ImagePinner)
	if !pins || image == "" {
		return nil
	}
	if asked := pinner.Image(shard); asked != "" && asked != image {
		return &engines.Failure{Class: engines.UserInput, Code: string(fault.WorkerImageMismatch),
			Message: fmt.Sprintf("workerImageDigest asks for %s; the workers of this deployment run %s", asked, image)}
	}
	return nil
}

// explain asks the engine why its process failed, and falls back on the exit code.
func explain(engine engines.Engine, shard engines.Shard, dir engines.Dir, outcome sandbox.Outcome) *engines.Failure {
	if e, ok := engine.(engines.Explainer); ok {
		if failure := e.Explain(shard, dir, outcome.ExitCode, outcome.LogTail); failure != nil {
			return failure
		}
	}
	return executorFailure("ENGINE_FAILED", "%s ended with exit code %d; its log tells more", engine.Spec().Title, outcome.ExitCode)
}

func executorFailure(code, format string, args ...any) *engines.Failure {
	return &engines.Failure{Class: engines.Executor, Code: code, Message: fmt.Sprintf(format, args...)}
}

func systemFailure(code, format string, args ...any) *engines.Failure {
	return &engines.Failure{Class: engines.System, Code: code, Message: fmt.Sprintf(format, args...)}
}

// logged logs the cause of a failure whose message to the job's owner must not hold it.
func (e ending) logged(log *slog.Logger, cause error) ending {
	log.Error("attempt failed", "code", e.failure.Code, "error", cause)
	return e
}
