package scheduler

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/internal/postgres"
)

// RequestText selects the canonical request of a job from jobs, as text. Jobs from before keep theirs as jsonb.
const RequestText = `coalesce(request_text, request::text)`

func (tx postgresTx) InsertJob(ctx context.Context, n NewJob) error {
	sub, receipt, rows, plan := n.Submission, n.Receipt, n.Tasks, n.Plan
	written := plans.Write(plan)
	defer written.Stop()
	inputs := n.ownInputs()
	if err := shareFiles(ctx, tx.Tx, sub.AccountID, inputs); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request_text,
		recovery_mode, priority,
			status, stage_count, preparation_stages, task_count, estimated_pence, held_pence, request_id, created_at, updated_at,
			software, software_micropence_per_core_hour, license_key, no_reuse, inputs_recorded)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$17,nullif($18, ''),$19,nullif($20, ''),$21,true)`,
		receipt.JobID, sub.AccountID, sub.JobType, sub.Engine.Spec().ID, sub.JobName, sub.SceneFile.StorageKey,
		postgres.Bytes(sub.Canonical), sub.Recovery, rows.Priority, job.Submitted, plan[len(plan)-1].StageIndex+1,
		engines.PreparationStages(plan), len(plan), receipt.Quote.EstimatedPence, receipt.Quote.HeldPence, sub.RequestID,
		receipt.CreatedAt, n.Software, n.SoftwareFee, rows.LicenseKey, sub.NoReuse)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	if err := insertInputs(ctx, tx.Tx, receipt.JobID, sub.AccountID, inputs); err != nil {
		return err
	}
	if err := insertTasks(ctx, tx.Tx, rows); err != nil {
		return err
	}
	return written.Insert(ctx, tx.Tx, receipt.JobID)
}

// insertTasks writes the columns with one statement. COPY would not do: the server refuses it where row-level security holds.
func insertTasks(ctx context.Context, tx *sqlx.Tx, r TaskColumns) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO tasks (job_id, account_id, status, priority, license_key,
			id, ordinal, stage, stage_index, name, essential, items, weight, gpu_weight, ready, queue, wall, identity)
		SELECT $1, $2, $3, $4, nullif($5, ''), * FROM unnest($6::text[], $7::int[], $8::text[], $9::int[], $10::text[],
		$11::boolean[], $12::int[],
			$13::real[], $14::real[], $15::boolean[], $16::text[], $17::real[], $18::bytea[])`,
		r.JobID, r.AccountID, r.Status, r.Priority, r.LicenseKey,
		pq.Array(r.ID), pq.Array(r.Ordinal), pq.Array(r.Stage), pq.Array(r.StageIndex), pq.Array(r.Name), pq.Array(r.Essential),
		pq.Array(r.Items), pq.Array(r.Weight), pq.Array(r.GPUWeight), pq.Array(r.Ready), pq.Array(r.Queue),
		pq.Array(r.Wall), identityColumn(r.Identity))
	if err != nil {
		return fmt.Errorf("insert %d tasks: %w", len(r.ID), err)
	}
	return nil
}

// identityColumn is null for tasks that may make something else each time.
func identityColumn(identities []engines.Identity) pq.ByteaArray {
	column := make(pq.ByteaArray, len(identities))
	for i := range identities {
		if identities[i].Known() {
			column[i] = identities[i][:]
		}
	}
	return column
}
