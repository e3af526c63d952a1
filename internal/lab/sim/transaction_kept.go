package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// SaveCheckpoints implements scheduler.AttemptTx.
func (tx *transaction) SaveCheckpoints(ctx context.Context, task scheduler.TaskRow, files map[string]queue.StoredArtifact,
	seq int64,
	_ time.Time,
) (int, error) {
	if len(files) == 0 {
		return 0, nil
	}
	kept := 0
	err := tx.changeTask(ctx, "save checkpoints", task.ID, func(t *taskState) error {
		saved := slices.Clone(t.Checkpoints)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			file := files[name]
			line := checkpointLine{scheduler.CheckpointRow{TaskID: t.ID, Name: name, StorageKey: file.StorageKey,
				SHA256: file.SHA256, ByteSize: file.ByteSize}, task.Attempt, seq}
			i, known := slices.BinarySearchFunc(saved, name, func(c checkpointLine, name string) int {
				return strings.Compare(c.Name, name)
			})
			switch {
			case known && saved[i].Attempt == task.Attempt && saved[i].Seq > seq:
				continue
			case known:
				if saved[i].StorageKey != line.StorageKey {
					tx.dropped = append(tx.dropped, saved[i].StorageKey)
				}
				saved[i] = line
			case len(saved) < queue.MaxCheckpoints:
				saved = slices.Insert(saved, i, line)
			default:
				continue
			}
			kept++
		}
		t.Checkpoints = saved
		return nil
	})
	return kept, err
}

// Checkpoints implements scheduler.AttemptTx.
func (tx *transaction) Checkpoints(ctx context.Context, taskIDs []string) ([]scheduler.CheckpointRow, error) {
	if len(taskIDs) == 0 {
		return nil, nil
	}
	if err := tx.m.h.call(ctx, "checkpoints"); err != nil {
		return nil, err
	}
	var rows []scheduler.CheckpointRow
	for _, id := range slices.Sorted(slices.Values(taskIDs)) {
		for _, c := range tx.tasks.get(id).Checkpoints {
			rows = append(rows, c.CheckpointRow)
		}
	}
	return rows, nil
}

// ForgetCheckpoints implements scheduler.AttemptTx.
func (tx *transaction) ForgetCheckpoints(ctx context.Context, taskIDs ...string) error {
	for _, id := range taskIDs {
		err := tx.changeTask(ctx, "forget checkpoints", id, func(t *taskState) error {
			for _, c := range t.Checkpoints {
				tx.dropped = append(tx.dropped, c.StorageKey)
			}
			t.Checkpoints = nil
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Dropped implements scheduler.AttemptTx.
func (tx *transaction) Dropped() []string { return tx.dropped }

// KeepWork implements scheduler.AttemptTx.
func (tx *transaction) KeepWork(ctx context.Context, task scheduler.TaskRow, used queue.Usage, at time.Time) error {
	return tx.changeTask(ctx, "keep work", task.ID, func(t *taskState) error {
		tx.m.h.observeKept(*t, used, at)
		t.Kept = slices.Clone(t.Kept)
		for i := range t.Kept {
			if k := &t.Kept[i]; k.Attempt == task.Attempt {
				k.CPUMicroseconds, k.GPUMicroseconds = max(k.CPUMicroseconds, used.CPUMicroseconds),
					max(k.GPUMicroseconds, used.GPUMicroseconds)
				k.WallMs = max(k.WallMs, used.WallMs)
				return nil
			}
		}
		t.Kept = append(t.Kept, scheduler.KeptRow{Attempt: task.Attempt, CPUMicroseconds: used.CPUMicroseconds,
			GPUMicroseconds: used.GPUMicroseconds, WallMs: used.WallMs})
		return nil
	})
}

// KeptWork implements scheduler.AttemptTx.
func (tx *transaction) KeptWork(ctx context.Context, task scheduler.TaskRow) (*scheduler.KeptRow, error) {
	if err := tx.m.h.call(ctx, "kept work"); err != nil {
		return nil, err
	}
	for _, k := range tx.tasks.get(task.ID).Kept {
		if k.Attempt == task.Attempt {
			return &k, nil
		}
	}
	return nil, nil
}

// TakeKeptWork implements scheduler.AttemptTx.
func (tx *transaction) TakeKeptWork(ctx context.Context, task scheduler.TaskRow) (kept []scheduler.KeptRow, err error) {
	err = tx.changeTask(ctx, "take kept work", task.ID, func(t *taskState) error {
		kept, t.Kept = t.Kept, nil
		return nil
	})
	return kept, err
}

// ForgetWorkBefore implements scheduler.AttemptTx.
func (tx *transaction) ForgetWorkBefore(ctx context.Context, task scheduler.TaskRow) error {
	return tx.changeTask(ctx, "forget kept work", task.ID, func(t *taskState) error {
		t.Kept = slices.DeleteFunc(slices.Clone(t.Kept), func(k scheduler.KeptRow) bool { return k.Attempt < task.Attempt })
		return nil
	})
}

// LockAccount implements billing.Books, as the methods that follow.
func (tx *transaction) LockAccount(ctx context.Context, accountID string) (billing.AccountRow, error) {
	if err := tx.m.h.call(ctx, "lock account"); err != nil {
		return billing.AccountRow{}, err
	}
	if !tx.accounts.has(accountID) {
		return billing.AccountRow{}, fmt.Errorf("account %s: %w", accountID, billing.ErrNoAccount)
	}
	if err := tx.lock("account", accountID); err != nil {
		return billing.AccountRow{}, err
	}
	return tx.accounts.get(accountID).AccountRow, nil
}

// InsertAccount implements billing.Books.
func (tx *transaction) InsertAccount(_ context.Context, a billing.AccountRow) (bool, error) {
	if tx.accounts.has(a.ID) {
		return false, nil
	}
	tx.accounts.put(a.ID, accountState{AccountRow: a})
	return true, nil
}

// SaveAccount implements billing.Books.
func (tx *transaction) SaveAccount(ctx context.Context, a billing.AccountRow) error {
	if err := tx.m.h.call(ctx, "save account"); err != nil {
		return err
	}
	if a.WalletHeldPence < 0 || a.WalletHeldPence > a.WalletPence || a.MonthlyHeldPence < 0 || a.MonthlyHeldPence > a.MonthlyPence {
		return fmt.Errorf("account %+v: %w", a, errConstraint)
	}
	row := tx.accounts.get(a.ID)
	row.AccountRow = a
	tx.accounts.put(a.ID, row)
	return nil
}

// InsertHold implements billing.Books.
func (tx *transaction) InsertHold(ctx context.Context, hold billing.HoldRow, _ time.Time) (inserted bool, err error) {
	if err := tx.m.h.call(ctx, "insert hold"); err != nil {
		return false, err
	}
	row := tx.holds.get(hold.JobID)
	for _, other := range row {
		if other.Run == hold.Run || other.Status == billing.HoldOpen {
			return false, nil
		}
	}
	tx.holds.put(hold.JobID, appended(row, hold))
	return true, nil
}

// HoldOf implements billing.Books.
func (tx *transaction) HoldOf(ctx context.Context, jobID string, run int) (billing.HoldRow, error) {
	if err := tx.m.h.call(ctx, "read hold"); err != nil {
		return billing.HoldRow{}, err
	}
	for _, hold := range tx.holds.get(jobID) {
		if hold.Run == run {
			return hold, nil
		}
	}
	return billing.HoldRow{}, fmt.Errorf("run %d of %s: %w", run, jobID, billing.ErrNoHold)
}

// EndHold implements billing.Books.
func (tx *transaction) EndHold(ctx context.Context, hold billing.HoldRow, _ time.Time) error {
	if err := tx.m.h.call(ctx, "end hold"); err != nil {
		return err
	}
	row := slices.Clone(tx.holds.get(hold.JobID))
	for i := range row {
		if row[i].Run == hold.Run {
			row[i] = hold
		}
	}
	tx.holds.put(hold.JobID, row)
	return nil
}

// Append implements billing.Books. A run is held, charged and given back once a bucket.
func (tx *transaction) Append(ctx context.Context, accountID string, entries []billing.EntryRow, _ time.Time) error {
	if err := tx.m.h.call(ctx, "append entries"); err != nil {
		return err
	}
	row := tx.accounts.get(accountID)
	for _, entry := range entries {
		once := entry.Type == billing.EntryHold || entry.Type == billing.EntryHoldRelease || entry.Type == billing.EntryCharge
		if once && slices.ContainsFunc(row.Entries, func(e billing.EntryRow) bool {
			return e.JobID == entry.JobID && e.Run == entry.Run && e.Type == entry.Type && e.Bucket == entry.Bucket
		}) {
			return fmt.Errorf("a second %s of run %d of %s: %w", entry.Type, entry.Run, entry.JobID, errConstraint)
		}
		row.Entries = appended(row.Entries, entry)
	}
	tx.accounts.put(accountID, row)
	return nil
}

// KnownWork implements scheduler.KnownTx, as the two methods that follow. The engine of histories never repeats itself.
func (tx *transaction) KnownWork(context.Context, []scheduler.TaskRow) ([]scheduler.KnownWork, error) {
	return nil, nil
}

// MakesTheSame implements scheduler.KnownTx.
func (tx *transaction) MakesTheSame(context.Context, scheduler.TaskRow, string) (bool, error) {
	return false, nil
}

// Remember implements scheduler.KnownTx.
func (tx *transaction) Remember(context.Context, scheduler.TaskRow, string, time.Time) error {
	return nil
}
