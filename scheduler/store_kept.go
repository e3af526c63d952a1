package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/queue"
)

func (tx postgresTx) KeepWork(ctx context.Context, task TaskRow, used queue.Usage, at time.Time) error {
	tx.late.worked[task.ID] = true
	_, err := tx.ExecContext(ctx, `INSERT INTO kept_work AS k (task_id, attempt, cpu_us, gpu_us, wall_ms, at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (task_id, attempt) DO UPDATE SET cpu_us = greatest(k.cpu_us, excluded.cpu_us), gpu_us = greatest(k.gpu_us,
		excluded.gpu_us),
			wall_ms = greatest(k.wall_ms, excluded.wall_ms), at = excluded.at`,
		task.ID, task.Attempt, used.CPUMicroseconds, used.GPUMicroseconds, used.WallMs, at)
	if err != nil {
		return fmt.Errorf("keep what attempt %d of %s used: %w", task.Attempt, task.ID, err)
	}
	return nil
}

func (tx postgresTx) KeptWork(ctx context.Context, task TaskRow) (*KeptRow, error) {
	var row KeptRow
	err := tx.GetContext(ctx, &row, `SELECT attempt, cpu_us, gpu_us, wall_ms FROM kept_work WHERE task_id = $1 AND attempt = $2`,
		task.ID, task.Attempt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kept work of %s: %w", task.ID, err)
	}
	return &row, nil
}

func (tx postgresTx) TakeKeptWork(ctx context.Context, task TaskRow) ([]KeptRow, error) {
	if tx.worksAlone(task.ID) {
		return nil, nil
	}
	var rows []KeptRow
	err := tx.SelectContext(ctx, &rows, `DELETE FROM kept_work WHERE task_id = $1 RETURNING attempt, cpu_us, gpu_us, wall_ms`,
		task.ID)
	if err != nil {
		return nil, fmt.Errorf("take the kept work of %s: %w", task.ID, err)
	}
	return rows, nil
}

func (tx postgresTx) ForgetWorkBefore(ctx context.Context, task TaskRow) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM kept_work WHERE task_id = $1 AND attempt < $2`, task.ID,
		task.Attempt); err != nil {
		return fmt.Errorf("forget the work before attempt %d of %s: %w", task.Attempt, task.ID, err)
	}
	return nil
}

// forgetKeptWork makes the work that tasks have kept free for good: a new run of their job is priced without it.
func (tx postgresTx) forgetKeptWork(ctx context.Context, taskIDs ...string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM kept_work WHERE task_id = ANY($1)`, pq.Array(taskIDs)); err != nil {
		return fmt.Errorf("forget the kept work of %d tasks: %w", len(taskIDs), err)
	}
	return nil
}

func (tx postgresTx) ChargeAttempt(ctx context.Context, taskID string, attempt int, price billing.Micropence) error {
	done, err := tx.ExecContext(ctx, `UPDATE task_attempts SET charged_micropence = $3 WHERE task_id = $1 AND attempt = $2
		AND charged_micropence = 0`,
		taskID, attempt, int64(price))
	if err != nil {
		return fmt.Errorf("charge attempt %d of %s: %w", attempt, taskID, err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("charge attempt %d of %s: %d settled without a price, want 1", attempt, taskID, n), err)
	}
	return nil
}
