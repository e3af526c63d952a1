package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/queue"
)

// keptRow is what an attempt had used for the finished work that it had saved.
type keptRow struct {
	Attempt         int   `db:"attempt"`
	CPUMicroseconds int64 `db:"cpu_us"`
	GPUMicroseconds int64 `db:"gpu_us"`
	WallMs          int64 `db:"wall_ms"`
}

// upsertKeptWork keeps what a task's current attempt has used. Told again, or late, it changes nothing: use never falls.
func upsertKeptWork(ctx context.Context, c *change, task taskRow, used queue.Usage) error {
	_, err := c.tx.ExecContext(ctx, `INSERT INTO kept_work AS k (task_id, attempt, cpu_us, gpu_us, wall_ms, at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (task_id, attempt) DO UPDATE SET cpu_us = greatest(k.cpu_us, excluded.cpu_us), gpu_us = greatest(k.gpu_us, excluded.gpu_us),
			wall_ms = greatest(k.wall_ms, excluded.wall_ms), at = excluded.at`,
		task.ID, task.Attempt, used.CPUMicroseconds, used.GPUMicroseconds, used.WallMs, c.now)
	if err != nil {
		return fmt.Errorf("keep what attempt %d of %s used: %w", task.Attempt, task.ID, err)
	}
	return nil
}

// readKeptWork returns the kept work of a task's current attempt, or nil.
func readKeptWork(ctx context.Context, c *change, task taskRow) (*keptRow, error) {
	var row keptRow
	err := c.tx.GetContext(ctx, &row, `SELECT attempt, cpu_us, gpu_us, wall_ms FROM kept_work WHERE task_id = $1 AND attempt = $2`, task.ID, task.Attempt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kept work of %s: %w", task.ID, err)
	}
	return &row, nil
}

// takeKeptWork removes all kept work of a task and returns it.
func takeKeptWork(ctx context.Context, c *change, task taskRow) ([]keptRow, error) {
	var rows []keptRow
	err := c.tx.SelectContext(ctx, &rows, `DELETE FROM kept_work WHERE task_id = $1 RETURNING attempt, cpu_us, gpu_us, wall_ms`, task.ID)
	if err != nil {
		return nil, fmt.Errorf("take the kept work of %s: %w", task.ID, err)
	}
	return rows, nil
}

// forgetWorkBefore makes the work of all attempts of a task before its current one free for good: that one does it again.
func forgetWorkBefore(ctx context.Context, c *change, task taskRow) error {
	if _, err := c.tx.ExecContext(ctx, `DELETE FROM kept_work WHERE task_id = $1 AND attempt < $2`, task.ID, task.Attempt); err != nil {
		return fmt.Errorf("forget the work before attempt %d of %s: %w", task.Attempt, task.ID, err)
	}
	return nil
}

// forgetKeptWork makes the work that tasks have kept free for good: a new run of their job is priced without it.
func forgetKeptWork(ctx context.Context, c *change, taskIDs ...string) error {
	if _, err := c.tx.ExecContext(ctx, `DELETE FROM kept_work WHERE task_id = ANY($1)`, pq.Array(taskIDs)); err != nil {
		return fmt.Errorf("forget the kept work of %d tasks: %w", len(taskIDs), err)
	}
	return nil
}

// chargeAttempt gives a settled attempt its price; it had none.
func chargeAttempt(ctx context.Context, c *change, taskID string, attempt int, price billing.Micropence) error {
	done, err := c.tx.ExecContext(ctx, `UPDATE task_attempts SET charged_micropence = $3 WHERE task_id = $1 AND attempt = $2 AND charged_micropence = 0`,
		taskID, attempt, int64(price))
	if err != nil {
		return fmt.Errorf("charge attempt %d of %s: %w", attempt, taskID, err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("charge attempt %d of %s: %d settled without a price, want 1", attempt, taskID, n), err)
	}
	return nil
}
