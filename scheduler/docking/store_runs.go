package docking

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/scheduler"
)

// mergePrograms adds the versions that a task's programs have told.
func mergePrograms(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	if len(move.Result.Programs) == 0 {
		return nil
	}
	programs, err := json.Marshal(move.Result.Programs)
	if err != nil {
		return fmt.Errorf("encode programs: %w", err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE docking_runs SET programs = programs || $2::jsonb
		WHERE job_id = $1 AND NOT programs @> $2::jsonb`, move.JobID, programs)
	if err != nil {
		return fmt.Errorf("keep programs: %w", err)
	}
	return nil
}

func setReceptor(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.ReceptorFound) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_runs SET receptor = $2::jsonb - 'box', box = nullif($3::jsonb, 'null')
		WHERE job_id = $1`,
		move.JobID, move.Result.Summary, orNull(found.Box))
	if err != nil {
		return fmt.Errorf("keep receptor: %w", err)
	}
	return nil
}

// upsertPreparation makes the newest job with a preparation the one whose files are used again.
func upsertPreparation(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.ReceptorFound) error {
	h := found.Hashes
	_, err := tx.ExecContext(ctx, `INSERT INTO docking_preparations (account_id, cache_key, receptor_identity_sha256,
		preparation_sha256, toolchain_sha256,
			identity, preparation, task_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account_id, cache_key) DO UPDATE SET task_id = excluded.task_id, created_at = excluded.created_at`,
		move.AccountID, h.CacheKey, h.ReceptorIdentitySHA256, h.PreparationSHA256, h.ToolchainSHA256,
		orNull(found.Identity), orNull(found.Preparation), move.TaskID, move.At)
	if err != nil {
		return fmt.Errorf("keep preparation: %w", err)
	}
	return nil
}

func setValidation(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_runs SET validation = $2::jsonb WHERE job_id = $1`, move.JobID,
		move.Result.Summary)
	if err != nil {
		return fmt.Errorf("keep validation: %w", err)
	}
	return nil
}

// setComplexes gives the best poses their models of the whole complex.
func setComplexes(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_poses p SET complex_artifact = a.id
		FROM docking_results r, artifacts a
		WHERE r.`+ofJob+` AND p.result_id = r.id AND p.rank = 1 AND a.task_id = $2
			AND a.name = 'complexes/' || lpad((r.ligand_index + 1)::text, 5, '0') || '.pdb'`, move.JobID, move.TaskID)
	if err != nil {
		return fmt.Errorf("keep complexes: %w", err)
	}
	return nil
}

// resetRun takes back what the named tasks have found of a job as a whole. A job has one task for each of these, by these names.
func resetRun(ctx context.Context, tx *sqlx.Tx, jobID string, names []string) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_runs SET validation = CASE WHEN 'redock' = ANY($2) THEN NULL ELSE validation END,
			receptor = CASE WHEN 'receptor' = ANY($2) THEN NULL ELSE receptor END, box = CASE WHEN 'receptor' = ANY($2) THEN NULL
			ELSE box END
		WHERE job_id = $1 AND ARRAY['receptor', 'redock'] && $2::text[]`, jobID, pq.Array(names))
	if err != nil {
		return fmt.Errorf("forget the run: %w", err)
	}
	return nil
}

// resetResults takes back what the named tasks have found of a job's ligands. What a ligand's preparation has said stays when only
// its docking is repeated: nobody will say it again.
func resetResults(ctx context.Context, tx *sqlx.Tx, jobID string, names []string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_results SET canonical_smiles = NULL, docked_smiles = NULL, inchi_key = NULL,
		formal_charge = NULL,
			heavy_atoms = NULL, rotatable_bonds = NULL WHERE `+ofJob+` AND prepare_task = ANY($2)`, jobID, pq.Array(names))
	if err != nil {
		return fmt.Errorf("forget identities: %w", err)
	}
	_, err = tx.ExecContext(ctx, `WITH reset AS (
			UPDATE docking_results SET status = 'PENDING', failure_stage = NULL, error = NULL, best_score_kcal_mol = NULL,
			ligand_efficiency = NULL,
				pose_count = 0, passed_checks = NULL, interactions = NULL, notes = '[]', dock_cpu_seconds = NULL,
				pdbqt_sha256 = NULL, convergence = NULL, cnn_score = NULL, cnn_affinity_pk = NULL, updated_at = $3
			WHERE `+ofJob+` AND (dock_task = ANY($2) OR prepare_task = ANY($2)) RETURNING id
		) DELETE FROM docking_poses WHERE result_id IN (SELECT id FROM reset)`, jobID, pq.Array(names), at)
	if err != nil {
		return fmt.Errorf("forget results: %w", err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE docking_results r SET notes = coalesce(nullif(l->'notes', 'null'), '[]'),
			status = CASE l->>'status' WHEN 'FAILED' THEN 'FAILED' ELSE r.status END, failure_stage = nullif(l->>'failureStage',
			''), error = nullif(l->>'error', '')
		FROM tasks t JOIN task_details d ON d.task_id = t.id CROSS JOIN LATERAL jsonb_path_query(d.summary, '$.ligands[*]') AS l
		WHERE r.`+ofJob+` AND t.job_id = $1 AND t.name = r.prepare_task AND r.ligand_index = (l->>'index')::int
			AND r.dock_task = ANY($2) AND NOT r.prepare_task = ANY($2)`, jobID, pq.Array(names))
	if err != nil {
		return fmt.Errorf("keep what the preparations said: %w", err)
	}
	return nil
}

func orNull(text json.RawMessage) []byte {
	if len(text) == 0 {
		return []byte("null")
	}
	return text
}
