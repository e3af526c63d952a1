package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// Bug is a flaw that is planted around the product, at the seams of its store and its queue, to show that the simulation finds it.
// The product has no switch for it: what stands between it and its stores breaks one promise.
type Bug struct {
	Name, What string
	around     func(h *history) (scheduler.Store, scheduler.Queue)
}

// Bugs are the flaws that can be planted.
func Bugs() []Bug {
	return []Bug{
		{"missing fence", "a report counts for whichever attempt is the current one",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return wrapped(h, func(tx *transaction) scheduler.Tx { return trusting{tx} }), unfenced{h.transport}
			}},
		{"trusted reports", "a report counts whoever has sent it", func(h *history) (scheduler.Store, scheduler.Queue) {
			return wrapped(h, func(tx *transaction) scheduler.Tx { return trusting{tx} }), h.transport
		}},
		{"double capture", "a charge is committed beside its job's transaction, and nothing remembers it",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return wrapped(h, func(tx *transaction) scheduler.Tx { return hastyCapture{tx} }), h.transport
			}},
		{"lost outbox row", "nobody misses a task whose hand-over to the queue was lost",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return unwatched{h.memory}, h.transport
			}},
		{"early acknowledgement", "a report is acknowledged when it is read, not when it is committed",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return h.memory, hastyAcknowledgement{h.transport}
			}},
		{"stage started twice", "a dispatch does not look again at its tasks when it has their locks",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return wrapped(h, func(tx *transaction) scheduler.Tx { return blindDispatch{tx} }), h.transport
			}},
		{"cancel that loses a race", "a cancel reads its job without locking it",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return wrapped(h, func(tx *transaction) scheduler.Tx { return looseCancel{tx} }), h.transport
			}},
		{"checkpoints in any order", "a report of saved files replaces those of a later one",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return wrapped(h, func(tx *transaction) scheduler.Tx { return newestArrival{tx} }), h.transport
			}},
		{"brake that believes", "a job is stopped for what is said that its tasks use, possible or not",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return gullible{h.memory}, h.transport
			}},
		{"bill that believes", "a job is charged for what is said that its tasks have used, possible or not",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return wrapped(h, func(tx *transaction) scheduler.Tx { return generous{tx} }), h.transport
			}},
		{"brake that waits", "what running tasks use counts when they have ended, and not before",
			func(h *history) (scheduler.Store, scheduler.Queue) {
				return spendthrift{h.memory}, h.transport
			}},
	}
}

// wrappedStore hands out transactions that break a promise.
type wrappedStore struct {
	scheduler.Store
	wrap func(*transaction) scheduler.Tx
}

func wrapped(h *history, wrap func(*transaction) scheduler.Tx) scheduler.Store {
	return wrappedStore{h.memory, wrap}
}

// InTx implements scheduler.Store.
func (s wrappedStore) InTx(ctx context.Context, do func(scheduler.Tx) error) error {
	return s.Store.InTx(ctx, func(tx scheduler.Tx) error { return do(s.wrap(tx.(*transaction))) })
}

// trusting asks for no proof of a claim. A missing fence needs it: an earlier attempt cannot prove the claim of a later one.
type trusting struct{ *transaction }

// ReadTask implements scheduler.TaskTx.
func (tx trusting) ReadTask(ctx context.Context, jobID, taskID string) (*scheduler.TaskRow, error) {
	row, err := tx.transaction.ReadTask(ctx, jobID, taskID)
	if row != nil {
		row.Witness = nil
	}
	return row, err
}

// unfenced loses the attempt's number.
type unfenced struct{ *transport }

// Receive implements scheduler.Queue.
func (q unfenced) Receive(ctx context.Context, limit int64, block time.Duration) ([]queue.Delivery, error) {
	deliveries, err := q.transport.Receive(ctx, limit, block)
	for i := range deliveries {
		deliveries[i].Ref.Attempt = q.h.memory.tasks[deliveries[i].Ref.TaskID].Attempt
	}
	return deliveries, err
}

// hastyCapture commits the rows of a charge at once, without the guard of their unique key; the end of the hold follows with the
// job.
type hastyCapture struct{ *transaction }

// Append implements billing.Books.
func (tx hastyCapture) Append(ctx context.Context, accountID string, entries []billing.EntryRow, at time.Time) error {
	if entries[0].Type != billing.EntryCharge {
		return tx.transaction.Append(ctx, accountID, entries, at)
	}
	row := tx.m.accounts[accountID]
	row.Entries = appended(row.Entries, entries...)
	tx.m.accounts[accountID] = row
	return nil
}

// SaveAccount implements billing.Books.
func (tx hastyCapture) SaveAccount(ctx context.Context, a billing.AccountRow) error {
	before := tx.m.accounts[a.ID]
	if a.MonthlyPence+a.WalletPence >= before.MonthlyPence+before.WalletPence {
		return tx.transaction.SaveAccount(ctx, a)
	}
	before.AccountRow = a
	tx.m.accounts[a.ID] = before
	return nil
}

// unwatched sees only the tasks that run.
type unwatched struct{ *memory }

// TasksInFlight implements scheduler.Store.
func (s unwatched) TasksInFlight(ctx context.Context) ([]scheduler.TaskRow, error) {
	rows, err := s.memory.TasksInFlight(ctx)
	var running []scheduler.TaskRow
	for _, row := range rows {
		if row.Status == job.TaskRunning {
			running = append(running, row)
		}
	}
	return running, err
}

// newestArrival keeps what has arrived last.
type newestArrival struct{ *transaction }

// SaveCheckpoints implements scheduler.AttemptTx.
func (tx newestArrival) SaveCheckpoints(ctx context.Context, task scheduler.TaskRow, files map[string]queue.StoredArtifact,
	seq int64,
	at time.Time,
) (int, error) {
	err := tx.changeTask(ctx, "forget the order", task.ID, func(t *taskState) error {
		t.Checkpoints = slices.Clone(t.Checkpoints)
		for i, c := range t.Checkpoints {
			if _, again := files[c.Name]; again {
				t.Checkpoints[i].Seq = 0
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return tx.transaction.SaveCheckpoints(ctx, task, files, seq, at)
}

// spendthrift knows of no job that might spend too much.
type spendthrift struct{ *memory }

// Spenders implements scheduler.Store.
func (spendthrift) Spenders(context.Context, []string) ([]scheduler.JobRow, error) { return nil, nil }

// generous takes every attempt for one that was handed out years ago.
type generous struct{ *transaction }

// ReadTask implements scheduler.TaskTx.
func (tx generous) ReadTask(ctx context.Context, jobID, taskID string) (*scheduler.TaskRow, error) {
	row, err := tx.transaction.ReadTask(ctx, jobID, taskID)
	if row != nil {
		row.QueuedAt.Time = row.QueuedAt.Time.AddDate(-100, 0, 0)
	}
	return row, err
}

// gullible takes every attempt for one that has run for years.
type gullible struct{ *memory }

// Running implements scheduler.Store.
func (s gullible) Running(ctx context.Context, tasks []scheduler.TaskRow) (map[queue.Ref]scheduler.Running, error) {
	running, err := s.memory.Running(ctx, tasks)
	for ref, r := range running {
		r.Since = r.Since.AddDate(-100, 0, 0)
		running[ref] = r
	}
	return running, err
}

// hastyAcknowledgement tells workers that their reports are safe before they are.
type hastyAcknowledgement struct{ *transport }

// Receive implements scheduler.Queue.
func (q hastyAcknowledgement) Receive(ctx context.Context, limit int64, block time.Duration) ([]queue.Delivery, error) {
	deliveries, err := q.transport.Receive(ctx, limit, block)
	if err != nil {
		return nil, err
	}
	return deliveries, q.transport.Acknowledge(ctx, deliveries)
}

// blindDispatch queues what was seen before the locks.
type blindDispatch struct{ *transaction }

// QueueTasks implements scheduler.TaskTx.
func (tx blindDispatch) QueueTasks(
	ctx context.Context, ids []string, witnesses [][]byte, at time.Time,
) ([]scheduler.TaskRow, error) {
	for _, id := range ids {
		err := tx.updateTask("queue", id, func(t *taskState) error {
			t.Status, t.Ready = job.TaskPending, true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return tx.transaction.QueueTasks(ctx, ids, witnesses, at)
}

// looseCancel forgets a lock.
type looseCancel struct{ *transaction }

// LockJobs implements scheduler.JobTx.
func (tx looseCancel) LockJobs(ctx context.Context, ids []string) (map[string]*scheduler.JobRow, error) {
	if tx.process == nil || !strings.HasPrefix(tx.process.name, "cancel") {
		return tx.transaction.LockJobs(ctx, ids)
	}
	if err := tx.m.h.call(ctx, "read jobs"); err != nil {
		return nil, err
	}
	rows := map[string]*scheduler.JobRow{}
	for _, id := range ids {
		if tx.jobs.has(id) {
			row := tx.jobs.get(id).JobRow
			rows[id] = &row
		}
	}
	return rows, nil
}
