package scheduler

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

var (
	sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// checkpointKey is what may follow an attempt's prefix in the key of a checkpoint.
	checkpointKey = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)
)

// What became of a checkpoint, for the metric.
const (
	checkpointStored  = "stored"
	checkpointRefused = "refused" // named wrongly, older than what is kept, or beyond the number that a task may have
	checkpointResumed = "resumed" // handed to a later attempt
)

// applyCheckpoints keeps what a task's current attempt has saved. Checkpoints are a convenience: one that cannot be kept costs
// the next attempt some work, and not this one its life.
func (s *Scheduler) applyCheckpoints(ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event) error {
	files := map[string]queue.StoredArtifact{} // by name: of two with one name the later counts
	for _, file := range event.Checkpoints {
		if err := checkCheckpoint(task, file); err != nil {
			c.then(func(context.Context) {
				s.Log.Warn("dropped a checkpoint", "job", task.JobID, "task", task.ID, "attempt", task.Attempt, "error", err)
			})
			continue
		}
		files[file.Name] = file
	}
	kept, err := c.tx.SaveCheckpoints(ctx, task, files, event.Seq, c.now)
	if err != nil {
		return err
	}
	if kept == len(event.Checkpoints) {
		if err := s.keepUsage(ctx, c, owner, task, event); err != nil {
			return err
		}
	}
	c.then(func(context.Context) {
		if left := len(files) - kept; left > 0 {
			s.Log.Info("left out checkpoints that a later report has replaced, or that are too many", "job", task.JobID, "task",
				task.ID, "attempt", task.Attempt, "report", event.Seq, "files", left)
		}
		s.Metrics.checkpoints.WithLabelValues(event.Engine, checkpointStored).Add(float64(kept))
		s.Metrics.checkpoints.WithLabelValues(event.Engine, checkpointRefused).Add(float64(len(event.Checkpoints) - kept))
	})
	return nil
}

// checkCheckpoint holds a worker to what it may say of a checkpoint: the name becomes an input's, and the key is read for the
// task's owner.
func checkCheckpoint(task TaskRow, file queue.StoredArtifact) error {
	below, isBelow := strings.CutPrefix(file.StorageKey, outputPrefix(task))
	switch {
	case !queue.ValidCheckpointName(file.Name):
		return fmt.Errorf("%q is no name of a checkpoint", file.Name)
	case !isBelow || !checkpointKey.MatchString(below) || len(file.StorageKey) > queue.MaxKeyBytes:
		return fmt.Errorf("the file %q is not below %s", file.StorageKey, outputPrefix(task))
	case !sha256Hex.MatchString(file.SHA256):
		return errors.New("its digest is no SHA-256")
	case file.ByteSize < 0:
		return fmt.Errorf("%d bytes", file.ByteSize)
	}
	return nil
}

// resumeInputs returns, by task, the checkpoints that attempts which are about to start go on from. A task's first has none.
func (s *Scheduler) resumeInputs(ctx context.Context, c *change, tasks []TaskRow) (map[string][]queue.ResolvedInput, error) {
	var ids []string
	for _, task := range tasks {
		if task.Attempt > 1 {
			ids = append(ids, task.ID)
		}
	}
	saved, err := c.tx.Checkpoints(ctx, ids)
	if err != nil {
		return nil, err
	}
	inputs := resumable(saved)
	for _, task := range tasks {
		if n := len(inputs[task.ID]); n > 0 {
			engine := queue.Class(task.Queue).Engine
			c.then(func(context.Context) {
				s.Metrics.checkpoints.WithLabelValues(engine, checkpointResumed).Add(float64(n))
			})
		}
	}
	return inputs, nil
}

// resumable are checkpoints as inputs, by task.
func resumable(saved []CheckpointRow) map[string][]queue.ResolvedInput {
	inputs := map[string][]queue.ResolvedInput{}
	for _, row := range saved {
		inputs[row.TaskID] = append(inputs[row.TaskID], queue.ResolvedInput{Name: queue.ResumeName(row.Name), Resume: true,
			Object: engines.Object{StorageKey: row.StorageKey, SHA256: row.SHA256, ByteSize: row.ByteSize}})
	}
	return inputs
}

// isStray tells whether a key can be that of a checkpoint of a task's current attempt, of which no report told.
func isStray(task TaskRow, key string) bool {
	below, isBelow := strings.CutPrefix(key, outputPrefix(task)+"checkpoint/")
	return isBelow && checkpointKey.MatchString(below)
}

// startOver returns the ids of those tasks of a retry that must not go on from their checkpoints: all of them when everything
// runs again, otherwise those that read what another one makes anew.
func startOver(tasks []EndedTask, scope RetryScope) []string {
	type shard struct{ stage, name string } // the name "" stands for any shard of the stage
	renewed := map[shard]bool{}
	for _, task := range tasks {
		renewed[shard{task.Stage, task.Name}], renewed[shard{task.Stage, ""}] = true, true
	}
	var ids []string
	for _, task := range tasks {
		readsNew := slices.ContainsFunc(task.Sources, func(f engines.From) bool { return renewed[shard{f.Stage, f.Shard}] })
		if scope == RetryAll || readsNew {
			ids = append(ids, task.ID)
		}
	}
	return ids
}
