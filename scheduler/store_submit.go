package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
)

// taskColumns is a plan laid out for one bulk insert.
type taskColumns struct {
	ID, Stage, Name, Shard  []string
	Ordinal, StageIndex     []int64
	Essential, Ready        []bool
	Weight                  []float64
	JobID, AccountID, Queue string
	LicenseKey              string // "" for none
	Status                  job.TaskStatus
	Priority                int
}

func insertJob(ctx context.Context, tx *sqlx.Tx, sub Submission, plan []engines.Shard, named software, receipt Receipt, priority int) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request, recovery_mode, priority,
			status, stage_count, task_count, estimated_pence, held_pence, request_id, created_at, updated_at,
			software, software_micropence_per_core_hour, license_key)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$16,nullif($17, ''),$18,nullif($19, ''))`,
		receipt.JobID, sub.AccountID, sub.JobType, sub.Engine.Spec().ID, sub.JobName, sub.SceneFile.StorageKey, []byte(sub.Request),
		sub.RecoveryMode, priority, job.Submitted, plan[len(plan)-1].StageIndex+1, len(plan),
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
	rows, err := taskRows(sub, plan, named, receipt.JobID, priority)
	if err != nil {
		return err
	}
	return insertTasks(ctx, tx, rows)
}

func insertTasks(ctx context.Context, tx *sqlx.Tx, r taskColumns) error {
	columns := []string{
		"id", "ordinal", "stage", "stage_index", "name", "essential", "weight", "ready", "job_id", "account_id", "queue", "status", "priority", "license_key",
	}
	var licenseKey any
	if r.LicenseKey != "" {
		licenseKey = r.LicenseKey
	}
	err := postgres.Copy(ctx, tx, "tasks", columns, func(yield func([]any) bool) {
		for i, taskID := range r.ID {
			if !yield([]any{
				taskID, r.Ordinal[i], r.Stage[i], r.StageIndex[i], r.Name[i], r.Essential[i], r.Weight[i], r.Ready[i],
				r.JobID, r.AccountID, r.Queue, string(r.Status), int64(r.Priority), licenseKey,
			}) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("insert %d tasks: %w", len(r.ID), err)
	}
	return postgres.Copy(ctx, tx, "task_details", []string{"task_id", "shard"}, func(yield func([]any) bool) {
		for i, taskID := range r.ID {
			if !yield([]any{taskID, r.Shard[i]}) {
				return
			}
		}
	})
}
