package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
)

// EndedTasks keeps no more of the shards than what they take from other shards and what was expected of them: 20,000 of them
// with a megabyte of parameters each are too much.
func (tx postgresTx) EndedTasks(ctx context.Context, jobID string) ([]EndedTask, error) {
	var tasks []EndedTask // by their ordinals, which have no gaps
	err := tx.SelectContext(ctx, &tasks, `SELECT t.id, t.stage, t.stage_index, t.name, t.queue, t.essential, t.status,
			coalesce(d.failure_class, '') AS failure_class, coalesce(d.error_message, '') AS error_message
		FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id WHERE t.job_id = $1 ORDER BY t.ordinal`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the tasks of %s: %w", jobID, err)
	}
	err = plans.Each(ctx, tx.Tx, jobID, func(ordinal int, shard engines.Shard) error {
		if ordinal >= len(tasks) {
			return fmt.Errorf("the plan of %s has more shards than its %d tasks", jobID, len(tasks))
		}
		task := &tasks[ordinal]
		task.ExpectedCPUSeconds, task.MostCPUSeconds = shard.ExpectedCPUSeconds, shard.MostCPUSeconds
		task.ExpectedGPUSeconds = shard.ExpectedGPUSeconds
		for _, input := range shard.Inputs {
			if input.From != nil {
				task.Sources = append(task.Sources, *input.From)
			}
		}
		return nil
	})
	return tasks, err
}

func (tx postgresTx) RestartJob(ctx context.Context, r *JobRow, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET attempts = $2, estimated_pence = $3, held_pence = $4, settled_pence = $5,
		request_id = $6, stage_at = $7
		WHERE id = $1`, r.ID, r.Run, r.EstimatedPence, r.HeldPence, r.SettledPence, r.RequestID, at)
	if err != nil {
		return fmt.Errorf("begin run %d of %s: %w", r.Run, r.ID, err)
	}
	return nil
}

func (tx postgresTx) RestartTasks(ctx context.Context, owner *JobRow, ids []string) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', run = $2, ready = stage_index = $3, retries = 0,
		interruptions = 0, given_back = 0,
			not_before = NULL, worker_id = NULL, progress = 0, queued_at = NULL, started_at = NULL, finished_at = NULL
		WHERE id = ANY($1)`, pq.Array(ids), owner.Run, owner.StageIndex)
	if err != nil {
		return fmt.Errorf("restart %d tasks: %w", len(ids), err)
	}
	if err := tx.forgetKeptWork(ctx, ids...); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE task_details SET summary = NULL, item_failures = NULL, programs = NULL, toolchain = NULL,
			failure_class = NULL, error_code = NULL, error_message = NULL, message = ''
		WHERE task_id = ANY($1)`, pq.Array(ids))
	if err != nil {
		return fmt.Errorf("forget the results of %d tasks: %w", len(ids), err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM artifacts WHERE task_id = ANY($1)`, pq.Array(ids)); err != nil {
		return fmt.Errorf("forget the files of %d tasks: %w", len(ids), err)
	}
	return nil
}
