package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
)

// taskColumns is a plan laid out for one bulk insert.
type taskColumns struct {
	ID, Stage, Name     []string
	Queue               []string
	Ordinal, StageIndex []int64
	Items               []int64
	Essential, Ready    []bool
	Weight, GPUWeight   []float64
	JobID, AccountID    string
	LicenseKey          string // "" for none
	Status              job.TaskStatus
	Priority            int
}

func insertJob(ctx context.Context, tx *sqlx.Tx, sub Submission, plan []engines.Shard, rows taskColumns, named software, receipt Receipt) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request, recovery_mode, priority,
			status, stage_count, task_count, estimated_pence, held_pence, request_id, created_at, updated_at,
			software, software_micropence_per_core_hour, license_key)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$16,nullif($17, ''),$18,nullif($19, ''))`,
		receipt.JobID, sub.AccountID, sub.JobType, sub.Engine.Spec().ID, sub.JobName, sub.SceneFile.StorageKey, []byte(sub.Request),
		sub.RecoveryMode, rows.Priority, job.Submitted, plan[len(plan)-1].StageIndex+1, len(plan),
		receipt.Quote.EstimatedPence, receipt.Quote.HeldPence, sub.RequestID, receipt.CreatedAt,
		named.Name, int64(named.pencePerCoreHour()), named.LicenseKey)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	body, err := json.Marshal(map[string]any{"status": job.Submitted, "reason": "", "terminal": false})
	if err != nil {
		return fmt.Errorf("encode status event: %w", err)
	}
	if err := recordStatus(ctx, tx, receipt.JobID, job.Submitted, "", body, receipt.CreatedAt); err != nil {
		return err
	}
	if err := insertTasks(ctx, tx, rows); err != nil {
		return err
	}
	return insertShards(ctx, tx, rows.ID, plan)
}

func insertTasks(ctx context.Context, tx *sqlx.Tx, r taskColumns) error {
	columns := []string{
		"id", "ordinal", "stage", "stage_index", "name", "essential", "items", "weight", "gpu_weight", "ready", "job_id", "account_id", "queue", "status", "priority", "license_key",
	}
	var licenseKey any
	if r.LicenseKey != "" {
		licenseKey = r.LicenseKey
	}
	err := postgres.Copy(ctx, tx, "tasks", columns, func(yield func([]any) bool) {
		for i, taskID := range r.ID {
			if !yield([]any{
				taskID, r.Ordinal[i], r.Stage[i], r.StageIndex[i], r.Name[i], r.Essential[i], r.Items[i], r.Weight[i], r.GPUWeight[i], r.Ready[i],
				r.JobID, r.AccountID, r.Queue[i], string(r.Status), int64(r.Priority), licenseKey,
			}) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("insert %d tasks: %w", len(r.ID), err)
	}
	return nil
}

// insertShards keeps what the tasks of these ids are to do. Each shard is written as JSON while the database takes the ones before
// it: a library's are larger than its request.
func insertShards(ctx context.Context, tx *sqlx.Tx, taskIDs []string, plan []engines.Shard) error {
	var broken error
	err := postgres.Copy(ctx, tx, "task_details", []string{"task_id", "shard"}, func(yield func([]any) bool) {
		for i, shard := range plan {
			body, err := json.Marshal(shard)
			if err != nil {
				broken = fmt.Errorf("encode shard %s: %w", shard.Name, err)
				return
			}
			if !yield([]any{taskIDs[i], string(body)}) {
				return
			}
		}
	})
	return errors.Join(broken, err)
}
