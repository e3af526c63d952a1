package queue

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// Whoever may write to Redis may write any message. What does not have these forms is nobody's: names of messages become parts of
// paths, of storage keys and of Redis keys.
var (
	idForm     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_-]{1,80}$`)
	queueForm  = regexp.MustCompile(`^[a-z0-9]{1,16}\.[a-z0-9][a-z0-9-]{0,63}$`)
	engineForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	shardForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{0,64}$`)
)

const (
	// maxAttempt is more than a task is ever tried.
	maxAttempt = 1_000_000
	// MaxKeyBytes is what S3 allows a key.
	MaxKeyBytes = 1024
	// MaxHeld is more than a worker ever holds: it takes as many attempts as it has slots, and of those that it has ended and
	// that are not acknowledged yet there are at most as many as the scheduler hands out, twice the slots of all workers.
	MaxHeld = 20_000
	// maxWordBytes bounds what is only shown, such as the id of a request.
	maxWordBytes = 256
)

// Check says what is wrong with an order; nil for those that a scheduler may have sent. A worker touches no file for an order
// that it has not checked.
func (o WorkOrder) Check() error {
	if err := o.Ref().Check(); err != nil {
		return err
	}
	switch {
	case !idForm.MatchString(o.JobID):
		return fmt.Errorf("jobId %.100q is no id", o.JobID)
	case o.AccountID != "" && !idForm.MatchString(o.AccountID):
		return fmt.Errorf("accountId %.100q is no id", o.AccountID)
	case !plain(o.RequestID, maxWordBytes):
		return fmt.Errorf("requestId is longer than %d bytes or has control characters", maxWordBytes)
	case !queueForm.MatchString(o.Queue):
		return fmt.Errorf("queue %.100q is no queue's name", o.Queue)
	case !engineForm.MatchString(o.Engine):
		return fmt.Errorf("engine %.100q is no engine's id", o.Engine)
	case !shardForm.MatchString(o.Shard.Name):
		return fmt.Errorf("shard.name %.100q is no file-name-safe word", o.Shard.Name)
	case !strings.HasSuffix(o.OutputPrefix, fmt.Sprintf("/%s/%s/%d/", o.JobID, o.TaskID, o.Attempt)) ||
		!localKey(strings.TrimSuffix(o.OutputPrefix, "/")):
		return fmt.Errorf("outputPrefix %.200q is not the attempt's own", o.OutputPrefix)
	}
	needs := o.Shard.Needs
	if min(needs.CPUs, needs.MoreCPUs, needs.GPUs, needs.Processes) < 0 ||
		min(needs.MemoryBytes, needs.FileBytes, needs.ScratchBytes, needs.MaxLogBytes) < 0 ||
		needs.TimeLimit <= 0 {
		return errors.New("shard.needs has a negative cap or no time limit")
	}
	if min(o.Paid.CPUMicroseconds, o.Paid.GPUMicroseconds) < 0 {
		return errors.New("paid is less than nothing")
	}
	if !(o.ExpectedSeconds >= 0) || math.IsInf(o.ExpectedSeconds, 1) { // NaN is not, either
		return errors.New("expectedSeconds is no time")
	}
	for _, input := range o.Inputs {
		if err := input.check(); err != nil {
			return err
		}
	}
	return nil
}

func (i ResolvedInput) check() error {
	switch {
	case !filepath.IsLocal(i.Name) || filepath.Clean(i.Name) != i.Name || i.Name == "." || !plain(i.Name, MaxKeyBytes):
		return fmt.Errorf("an input's name %.100q leads out of its directory or is not plain", i.Name)
	case !localKey(i.Object.StorageKey):
		return fmt.Errorf("the input %.100q has a storage key that is none: %.100q", i.Name, i.Object.StorageKey)
	case !digestForm.MatchString(i.Object.SHA256) || i.Object.ByteSize < 0:
		return fmt.Errorf("the input %.100q has a digest or a size that is none", i.Name)
	}
	return nil
}

// Check says what is wrong with the name of an attempt.
func (r Ref) Check() error {
	if !idForm.MatchString(r.TaskID) {
		return fmt.Errorf("taskId %.100q is no id", r.TaskID)
	}
	if r.Attempt < 1 || r.Attempt > maxAttempt {
		return fmt.Errorf("attempt %d is not between 1 and %d", r.Attempt, maxAttempt)
	}
	return nil
}

// check says what is wrong with an event, which the scheduler then drops. Whether it speaks of its attempt's own files is for the
// scheduler to say, who knows them.
func (e Event) check() error {
	if err := e.Ref.Check(); err != nil {
		return err
	}
	switch {
	case e.ID == "" || !plain(e.ID, maxWordBytes): // only ever handed back
		return fmt.Errorf("id %.100q is no id", e.ID)
	case !idForm.MatchString(e.JobID):
		return fmt.Errorf("jobId %.100q is no id", e.JobID)
	case !idForm.MatchString(e.WorkerID):
		return fmt.Errorf("workerId %.100q is no id", e.WorkerID)
	case e.Seq < 0:
		return errors.New("seq is negative")
	case len(e.Checkpoints) > MaxCheckpoints:
		return fmt.Errorf("%d checkpoints, at most %d are taken", len(e.Checkpoints), MaxCheckpoints)
	case e.Stray != "" && !localKey(e.Stray):
		return fmt.Errorf("stray %.100q is no storage key", e.Stray)
	}
	used := e.Usage
	if min(used.CPUMicroseconds, used.GPUMicroseconds, used.WallMs, used.PeakMemoryBytes, used.BytesIn, used.BytesOut) < 0 {
		return errors.New("usage has a negative figure")
	}
	return nil
}

// check says what is wrong with a heartbeat that lies under a worker's id.
func (hb Heartbeat) check(workerID string) error {
	if hb.WorkerID != workerID || !idForm.MatchString(workerID) {
		return fmt.Errorf("workerId %.100q is not %.100q, or is no id", hb.WorkerID, workerID)
	}
	if !plain(hb.Name, maxWordBytes) {
		return fmt.Errorf("name is longer than %d bytes or has control characters", maxWordBytes)
	}
	if len(hb.Held) > MaxHeld {
		return fmt.Errorf("%d attempts are held, at most %d are looked at", len(hb.Held), MaxHeld)
	}
	for _, held := range hb.Held {
		if err := held.Ref.Check(); err != nil {
			return err
		}
		if min(held.Used.CPUMicroseconds, held.Used.GPUMicroseconds) < 0 {
			return errors.New("used has a negative figure")
		}
	}
	return nil
}

// localKey reports whether a storage key is a path that leads nowhere but down.
func localKey(key string) bool {
	return key != "" && path.Clean(key) == key && filepath.IsLocal(key) && plain(key, MaxKeyBytes)
}

// cleanText is a text as it is after its way through JSON, which replaces what is no UTF-8.
func cleanText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// plain reports whether a text is short and has no control characters.
func plain(text string, maxBytes int) bool {
	return len(text) <= maxBytes && !strings.ContainsFunc(text, unicode.IsControl)
}
