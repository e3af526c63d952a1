package docking

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/list"
)

// resultFilter narrows lists of results. Zero members filter nothing.
type resultFilter struct {
	RunID, BatchID, FailureStage, LigandID, Text, InChIKey string
	Statuses                                               []string
	MaxScore, MinLigandEfficiency                          *float64
	Interactions                                           []interactionPattern
	PassedChecks                                           *bool
	WithPoses                                              bool
}

func (f resultFilter) narrow(c *list.Conditions) {
	c.Equal("x.run_id", f.RunID)
	c.Equal("d.batch_id", f.BatchID)
	c.Equal("x.failure_stage", f.FailureStage)
	c.Equal("x.ligand_id", f.LigandID)
	c.In("x.status", f.Statuses)
	c.AtMost("x.best_score_kcal_mol", f.MaxScore)
	if f.Text != "" {
		c.Add("(position(lower(?) in lower(x.label)) > 0 OR position(lower(?) in lower(x.ligand_id)) > 0)", f.Text, f.Text)
	}
	if f.InChIKey != "" {
		c.Add("starts_with(x.inchi_key, ?)", f.InChIKey)
	}
	if f.MinLigandEfficiency != nil {
		c.Add("x.ligand_efficiency >= ?", *f.MinLigandEfficiency)
	}
	if f.PassedChecks != nil {
		c.Add("x.passed_checks = ?", *f.PassedChecks)
	}
	if f.WithPoses {
		c.Add("x.pose_count > 0")
	}
	for _, pattern := range f.Interactions {
		pattern.narrow(c)
	}
}

// narrow asks for an interaction, by its key or part by part.
func (p interactionPattern) narrow(c *list.Conditions) {
	if key, whole := p.key(); whole {
		c.Add("x.interactions @> ARRAY[?]::text[]", key)
		return
	}
	inner := &list.Conditions{Args: c.Args}
	for i, part := range p.Parts {
		if part != anyPart {
			inner.Add(fmt.Sprintf("split_part(i.key, ':', %d) = ?", i+1), part)
		}
	}
	c.Args = inner.Args
	c.Add("EXISTS (SELECT FROM unnest(x.interactions) AS i (key) WHERE " + inner.String() + ")")
}

type resultRow struct {
	sorted
	RunID            string            `db:"run_id"`
	BatchID          sql.NullString    `db:"batch_id"`
	LigandIndex      int               `db:"ligand_index"`
	LigandID         string            `db:"ligand_id"`
	Label            string            `db:"label"`
	Source           string            `db:"source"`
	InputSMILES      sql.NullString    `db:"input_smiles"`
	Status           string            `db:"status"`
	FailureStage     sql.NullString    `db:"failure_stage"`
	Error            sql.NullString    `db:"error"`
	CanonicalSMILES  sql.NullString    `db:"canonical_smiles"`
	DockedSMILES     sql.NullString    `db:"docked_smiles"`
	InChIKey         sql.NullString    `db:"inchi_key"`
	FormalCharge     sql.Null[int]     `db:"formal_charge"`
	HeavyAtoms       sql.Null[int]     `db:"heavy_atoms"`
	RotatableBonds   sql.Null[int]     `db:"rotatable_bonds"`
	BestScoreKcalMol sql.Null[float64] `db:"best_score_kcal_mol"`
	CNNScore         sql.Null[float64] `db:"cnn_score"`
	CNNAffinityPk    sql.Null[float64] `db:"cnn_affinity_pk"`
	LigandEfficiency sql.Null[float64] `db:"ligand_efficiency"`
	PoseCount        int               `db:"pose_count"`
	PassedChecks     sql.Null[bool]    `db:"passed_checks"`
	Interactions     pq.StringArray    `db:"interactions"`
	Notes            json.RawMessage   `db:"notes"`
	DockCPUSeconds   sql.Null[float64] `db:"dock_cpu_seconds"`
	Convergence      *json.RawMessage  `db:"convergence"`
	CreatedAt        time.Time         `db:"created_at"`
	UpdatedAt        time.Time         `db:"updated_at"`
	Rank             sql.Null[int]     `db:"rank"`
}

// results reads up to limit results in an order.
func (s store) results(
	ctx context.Context, accountID string, f resultFilter, o order, from *place, limit int,
) ([]resultRow, error) {
	c := list.Owned("x.account_id", accountID)
	f.narrow(c)
	o.behind(c, from)
	return s.selectResults(ctx, c, o, limit)
}

// result reads one result. Errors: fault.NotFound.
func (s store) result(ctx context.Context, accountID, id string) (resultRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.id = ?", id)
	return only(s.selectResults(ctx, c, newest, 1))("result")
}

// countResults counts what results lists.
func (s store) countResults(ctx context.Context, accountID string, f resultFilter) (count int, err error) {
	c := list.Owned("x.account_id", accountID)
	f.narrow(c)
	err = s.db.GetContext(ctx, &count, `SELECT count(*) FROM docking_results x JOIN docking_runs d ON d.id = x.run_id WHERE `+
		c.String(), c.Args...)
	return count, wrap(err, "counting docking results")
}

// selectResults reads results with their places in their runs, which filters do not change.
func (s store) selectResults(ctx context.Context, c *list.Conditions, o order, limit int) ([]resultRow, error) {
	var rows []resultRow
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS MATERIALIZED (
    SELECT x.id, x.run_id, d.batch_id, x.ligand_index, x.ligand_id, x.label, x.source, x.input_smiles, x.status, x.failure_stage,
    x.error,
        x.canonical_smiles, x.docked_smiles, x.inchi_key, x.formal_charge, x.heavy_atoms, x.rotatable_bonds, x.best_score_kcal_mol,
        x.cnn_score, x.cnn_affinity_pk, x.ligand_efficiency,
        x.pose_count, x.passed_checks, x.interactions, x.notes, x.dock_cpu_seconds,
        x.convergence, x.created_at, x.updated_at, `+o.selected()+`
    FROM docking_results x JOIN docking_runs d ON d.id = x.run_id WHERE `+c.String()+` ORDER BY `+o.by()+` LIMIT `+c.Arg(limit)+`
), ranks AS (
    SELECT x.id, row_number() OVER (PARTITION BY x.run_id
        ORDER BY CASE d.rank_by WHEN '`+rankByCNN+`' THEN -x.cnn_score END, x.best_score_kcal_mol, x.ligand_index) AS rank
    FROM docking_results x JOIN docking_runs d ON d.id = x.run_id
    WHERE x.run_id IN (SELECT run_id FROM chosen) AND x.best_score_kcal_mol IS NOT NULL
)
SELECT chosen.*, ranks.rank FROM chosen LEFT JOIN ranks ON ranks.id = chosen.id ORDER BY `+o.again(), c.Args...)
	return rows, wrap(err, "reading docking results")
}

// drawing is where the structure of a result's best pose stands.
type drawing struct {
	ResultID   string `db:"result_id"`
	PoseID     string `db:"pose_id"`
	Rank       int    `db:"rank"`
	StorageKey string `db:"storage_key"`
}

// drawings finds the best poses of results, for those that have one in SDF.
func (s store) drawings(ctx context.Context, accountID string, results []string) (map[string]drawing, error) {
	var rows []drawing
	err := s.db.SelectContext(ctx, &rows, `
SELECT DISTINCT ON (p.result_id) p.result_id, p.id AS pose_id, p.rank, a.storage_key
FROM docking_poses p JOIN artifacts a ON a.id = p.sdf_artifact
WHERE p.account_id = $1 AND p.result_id = ANY($2) ORDER BY p.result_id, p.rank`, accountID, pq.Array(results))
	if err != nil {
		return nil, wrap(err, "finding the poses of docking results")
	}
	found := make(map[string]drawing, len(rows))
	for _, row := range rows {
		found[row.ResultID] = row
	}
	return found, nil
}
