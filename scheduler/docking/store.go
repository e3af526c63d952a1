package docking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/scheduler"
)

type experimentRow struct {
	ID, AccountID, ReceptorKey, Name string
	Receptor                         receptorSource
	At                               time.Time
}

// runRow is a run as it is accepted; "" stands for what it does not have.
type runRow struct {
	ID, AccountID, ExperimentID, BatchID, JobID string
	RequestID, RequestRunID, ReproducesRunID    string
	Planned                                     vina.PlannedRun
	At                                          time.Time
}

// upsertExperiment returns the id of the account's experiment with this receptor.
func upsertExperiment(ctx context.Context, tx *sqlx.Tx, row experimentRow) (string, error) {
	receptor, err := json.Marshal(row.Receptor)
	if err != nil {
		return "", fmt.Errorf("encode receptor: %w", err)
	}
	var experimentID string
	err = tx.GetContext(ctx, &experimentID, `INSERT INTO docking_experiments (id, account_id, receptor_key, name, receptor,
		created_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (account_id, receptor_key) DO UPDATE SET name = docking_experiments.name RETURNING id`,
		row.ID, row.AccountID, row.ReceptorKey, row.Name, receptor, row.At)
	if err != nil {
		return "", fmt.Errorf("keep experiment: %w", err)
	}
	return experimentID, nil
}

func insertBatch(ctx context.Context, tx *sqlx.Tx, run runRow) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO docking_batches (id, account_id, experiment_id, job_id, shard_size, seed,
		ligand_count, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		run.BatchID, run.AccountID, run.ExperimentID, run.JobID, run.Planned.ShardSize, run.Planned.Seed, len(run.Planned.Ligands),
		run.At)
	if err != nil {
		return fmt.Errorf("keep batch: %w", err)
	}
	return nil
}

func insertRun(ctx context.Context, tx *sqlx.Tx, run runRow) error {
	p := run.Planned
	_, err := tx.ExecContext(ctx, `INSERT INTO docking_runs (id, account_id, experiment_id, batch_id, job_id, request_id,
		request_run_id, reproduces_run_id,
			exhaustiveness, exhaustiveness_auto, rank_by,
			num_modes, energy_range_kcal_mol, seed, cpu_threads, ligand_count, native_component_id, gate_rmsd_angstrom, created_at)
		VALUES ($1, $2, $3, nullif($4, ''), $5, nullif($6, ''), nullif($7, ''), nullif($8, ''),
			$9, $10, $11, $12, $13, $14, $15, $16, nullif($17, ''), $18, $19)`,
		run.ID, run.AccountID, run.ExperimentID, run.BatchID, run.JobID, run.RequestID, run.RequestRunID, run.ReproducesRunID,
		p.Exhaustiveness, p.AutoExhaustiveness, p.RankBy, p.NumModes, p.EnergyRangeKcalMol, p.Seed, p.CPUThreads,
		len(p.Ligands), p.NativeComponentID, p.GateRMSDAngstrom, run.At)
	if err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	return nil
}

// resultBatch is how many results one statement of insertResults carries: its trip does not count beside them, nor their memory
// beside the library's.
const resultBatch = 2000

// insertResults writes a pending result a ligand. The next batch is laid out while the database takes the one before it.
func insertResults(ctx context.Context, tx *sqlx.Tx, run runRow) error {
	batches, done := make(chan resultColumns), make(chan struct{})
	defer close(done)
	go func() {
		defer close(batches)
		for ligands := range slices.Chunk(run.Planned.Ligands, resultBatch) {
			select {
			case batches <- layOut(ligands):
			case <-done:
				return
			}
		}
	}()
	for batch := range batches {
		if batch.err != nil {
			return fmt.Errorf("lay %d results out: %w", batch.n, batch.err)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO docking_results (account_id, run_id, status, created_at, updated_at,
				id, ligand_index, ligand_id, label, source, input_smiles, prepare_task, dock_task)
			SELECT $1, $2, $3, $4, $4, id, index, ligand, label, source, nullif(smiles, ''), prepare, dock
			FROM unnest($5::text[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
				AS l (id, index, ligand, label, source, smiles, prepare, dock)`,
			append([]any{run.AccountID, run.ID, statusPending, run.At}, batch.columns...)...)
		if err != nil {
			return fmt.Errorf("keep %d results: %w", batch.n, err)
		}
	}
	return nil
}

// resultColumns are results as insertResults sends them.
type resultColumns struct {
	n       int
	columns []any
	err     error
}

func layOut(some []vina.PlannedLigand) resultColumns {
	n := len(some)
	ids, ligands, labels, sources, smiles := make([]string, n), make([]string, n), make([]string, n), make([]string, n),
		make([]string, n)
	prepares, docks, indices := make([]string, n), make([]string, n), make([]int64, n)
	for i, l := range some {
		ids[i], indices[i], ligands[i], labels[i], sources[i], smiles[i] = id.New("result_"), int64(l.Index), l.LigandID, l.Label,
			l.Source, l.SMILES
		prepares[i], docks[i] = l.PrepareShard, l.DockShard
	}
	out := resultColumns{n: n}
	for _, column := range []any{ids, indices, ligands, labels, sources, smiles, prepares, docks} {
		text, err := pq.Array(column).Value()
		out.columns, out.err = append(out.columns, text), errors.Join(out.err, err)
	}
	return out
}

// ofJob selects the results of a job's run; every statement that uses it takes the job as $1.
const ofJob = `run_id = (SELECT id FROM docking_runs WHERE job_id = $1)`

// withNotes adds the notes of a jsonb array parameter that a result does not have yet.
func withNotes(parameter string) string {
	return `notes || coalesce((SELECT jsonb_agg(n) FROM jsonb_array_elements(` + parameter +
		`::jsonb) n WHERE NOT notes @> jsonb_build_array(n)), '[]')`
}

// setOpenStatus moves the ligands of a task that have not ended. column is a constant of this package.
func setOpenStatus(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, column, status string) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_results SET status = $3, updated_at = $4
		WHERE `+ofJob+` AND `+column+` = $2 AND status NOT IN ('COMPLETED', 'FAILED')`, move.JobID, move.Name, status, move.At)
	if err != nil {
		return fmt.Errorf("move results of %s: %w", move.Name, err)
	}
	return nil
}

// failOpen fails the ligands of a task that failed as a whole, each with its own reason where the failure names it.
func failOpen(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, column, stage string) error {
	message, ligands, stages, messages := "the task failed", []string{}, []string{}, []string{}
	if failure := move.Failure; failure != nil {
		message = failure.Message
		for _, item := range failure.Items {
			ligands, stages, messages = append(ligands, item.Item), append(stages, item.Step), append(messages, item.Message)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE docking_results r SET status = 'FAILED', updated_at = $5,
			failure_stage = coalesce((SELECT i.stage FROM unnest($6::text[], $7::text[]) AS i (ligand, stage)
			WHERE i.ligand = r.ligand_id LIMIT 1), $3),
			error = coalesce((SELECT i.message FROM unnest($6::text[], $8::text[]) AS i (ligand, message)
			WHERE i.ligand = r.ligand_id LIMIT 1), $4)
		WHERE `+ofJob+` AND `+column+` = $2 AND status NOT IN ('COMPLETED', 'FAILED')`,
		move.JobID, move.Name, stage, message, move.At, pq.Array(ligands), pq.Array(stages), pq.Array(messages))
	if err != nil {
		return fmt.Errorf("fail results of %s: %w", move.Name, err)
	}
	return nil
}

// failRest fails every ligand of a job that has not ended.
func failRest(ctx context.Context, tx *sqlx.Tx, jobID, why string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE docking_results SET status = 'FAILED', error = $2, updated_at = $3
		WHERE `+ofJob+` AND status NOT IN ('COMPLETED', 'FAILED')`, jobID, why, at)
	if err != nil {
		return fmt.Errorf("end results: %w", err)
	}
	return nil
}

// failLigand fails one ligand, and drops the poses that it may have had.
func failLigand(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound) error {
	notes, err := notesOf(found)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `WITH failed AS (
			UPDATE docking_results SET status = 'FAILED', failure_stage = nullif($3, ''), error = $4, notes = `+withNotes("$5")+`, best_score_kcal_mol = NULL,
				ligand_efficiency = NULL, pose_count = 0, passed_checks = NULL, interactions = NULL, updated_at = $6
			WHERE `+ofJob+` AND ligand_index = $2 RETURNING id
		) DELETE FROM docking_poses WHERE result_id IN (SELECT id FROM failed)`,
		move.JobID, found.Index, found.FailureStage, found.Error, notes, move.At)
	if err != nil {
		return fmt.Errorf("fail result: %w", err)
	}
	return nil
}

func setIdentity(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, status string, found vina.LigandFound) error {
	notes, err := notesOf(found)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE docking_results SET status = $3, failure_stage = nullif($4, ''), error = nullif($5, ''),
		canonical_smiles = $6,
			docked_smiles = $7, inchi_key = $8, formal_charge = $9, heavy_atoms = $10, rotatable_bonds = $11, notes = `+withNotes("$12")+`, updated_at = $13
		WHERE `+ofJob+` AND ligand_index = $2 AND status <> 'COMPLETED'`,
		move.JobID, found.Index, status, found.FailureStage, found.Error, found.CanonicalSMILES, found.DockedSMILES, found.InChIKey,
		found.FormalCharge, found.HeavyAtoms, found.RotatableBonds, notes, move.At)
	if err != nil {
		return fmt.Errorf("keep identity: %w", err)
	}
	return nil
}

// setScores completes a result and returns its id, "" when the job has no such ligand.
func setScores(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound, sha256 string) (string, error) {
	notes, err := notesOf(found)
	if err != nil {
		return "", err
	}
	var ids []string
	err = tx.SelectContext(ctx, &ids, `UPDATE docking_results SET status = 'COMPLETED', failure_stage = NULL, error = NULL,
		best_score_kcal_mol = $3,
			ligand_efficiency = round((-$3::float8 / nullif(heavy_atoms, 0))::numeric, 4), pose_count = $4, notes = `+withNotes("$5")+`,
			dock_cpu_seconds = $6, pdbqt_sha256 = nullif($7, ''), convergence = nullif($8::jsonb, 'null'),
			passed_checks = NULL, interactions = NULL, cnn_score = NULL, cnn_affinity_pk = NULL, updated_at = $9
		WHERE `+ofJob+` AND ligand_index = $2 RETURNING id`,
		move.JobID, found.Index, found.Poses[0].ScoreKcalMol, len(found.Poses), notes, found.CPUSeconds, sha256,
		orNull(found.Convergence), move.At)
	if err != nil {
		return "", fmt.Errorf("keep scores: %w", err)
	}
	return firstOf(ids), nil
}

func replacePoses(
	ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, resultID, pdbqtKey string, poses []vina.PoseFound,
) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM docking_poses WHERE result_id = $1`, resultID); err != nil {
		return fmt.Errorf("forget poses: %w", err)
	}
	n := len(poses)
	ids, ranks := make([]string, n), make([]int64, n)
	var figures [7][]float64
	for i, p := range poses {
		ids[i], ranks[i] = id.New("pose_"), int64(p.Rank)
		for column, value := range []float64{p.ScoreKcalMol, p.RMSDLowerBound, p.RMSDUpperBound, p.Terms.Inter, p.Terms.Intra,
			p.Terms.Torsional, p.Terms.Unbound} {
			figures[column] = append(figures[column], value)
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO docking_poses (id, rank, score_kcal_mol, rmsd_lower_bound, rmsd_upper_bound, inter,
		intra, torsional, unbound,
			result_id, account_id, pdbqt_artifact, created_at)
		SELECT u.*, $10, $11, (SELECT id FROM artifacts WHERE storage_key = $12), $13
		FROM unnest($1::text[], $2::int[], $3::float8[], $4::float8[], $5::float8[], $6::float8[], $7::float8[], $8::float8[],
		$9::float8[]) AS u`,
		pq.Array(ids), pq.Array(ranks), pq.Array(figures[0]), pq.Array(figures[1]), pq.Array(figures[2]), pq.Array(figures[3]),
		pq.Array(figures[4]), pq.Array(figures[5]), pq.Array(figures[6]), resultID, move.AccountID, pdbqtKey, move.At)
	if err != nil {
		return fmt.Errorf("keep %d poses: %w", n, err)
	}
	return nil
}

// setAnalysis keeps what was found of a ligand's best pose and returns the result's id, "" when there is none.
func setAnalysis(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound) (string, error) {
	notes, err := notesOf(found)
	if err != nil {
		return "", err
	}
	var best vina.PoseFound
	if len(found.Poses) > 0 {
		best = found.Poses[0]
	}
	var ids []string
	err = tx.SelectContext(ctx, &ids, `UPDATE docking_results SET passed_checks = $3, interactions = $4, notes = `+withNotes("$5")+`,
			updated_at = $6, cnn_score = $7, cnn_affinity_pk = $8, best_score_kcal_mol = $9,
			ligand_efficiency = round((-$9::float8 / nullif(heavy_atoms, 0))::numeric, 4)
		WHERE `+ofJob+` AND ligand_index = $2 AND status = 'COMPLETED' RETURNING id`,
		move.JobID, found.Index, best.PassedChecks(), pq.Array(best.InteractionKeys()), notes, move.At,
		best.CNNScore, best.CNNAffinityPk, best.ScoreKcalMol)
	if err != nil {
		return "", fmt.Errorf("keep analysis: %w", err)
	}
	return firstOf(ids), nil
}

// setPoseAnalysis keeps what was found of a result's poses, which may have been ranked again since they were docked. While they
// change places their ranks are negative: no two may have one.
func setPoseAnalysis(ctx context.Context, tx *sqlx.Tx, resultID, sdfKey string, poses []vina.PoseFound) error {
	encoded, err := json.Marshal(poses)
	if err != nil {
		return fmt.Errorf("encode poses: %w", err)
	}
	if slices.ContainsFunc(poses, vina.PoseFound.RankedAgain) {
		_, err := tx.ExecContext(ctx, `UPDATE docking_poses SET vina_rank = coalesce(vina_rank, rank), rank = -rank
			WHERE result_id = $1`, resultID)
		if err != nil {
			return fmt.Errorf("rank %d poses again: %w", len(poses), err)
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE docking_poses p SET sdf_artifact = (SELECT id FROM artifacts WHERE storage_key = $3),
			rank = (f.pose->>'rank')::int, cnn_score = (f.pose->>'cnnScore')::float8,
			cnn_affinity_pk = (f.pose->>'cnnAffinityPk')::float8,
			reference_rmsd_angstrom = (f.pose->>'referenceRmsdAngstrom')::float8,
			checks = nullif(f.pose->'checks', 'null'), interactions = nullif(f.pose->'interactions', 'null')
		FROM jsonb_array_elements($2::jsonb) AS f (pose)
		WHERE p.result_id = $1 AND coalesce(p.vina_rank, p.rank) = coalesce(nullif((f.pose->>'vinaRank')::int, 0),
		(f.pose->>'rank')::int)`,
		resultID, encoded, sdfKey)
	if err != nil {
		return fmt.Errorf("keep the analysis of %d poses: %w", len(poses), err)
	}
	return nil
}

func notesOf(found vina.LigandFound) ([]byte, error) {
	if found.Notes == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(found.Notes)
}

func firstOf(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}
