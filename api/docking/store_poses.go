package docking

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/list"
)

// poseFilter narrows lists of poses. Zero members filter nothing.
type poseFilter struct {
	ResultID string
	MaxScore *float64
	BestOf   []string `json:",omitempty"` // the best pose of each of these results
}

func (f poseFilter) narrow(c *list.Conditions) {
	c.Equal("x.result_id", f.ResultID)
	c.AtMost("x.score_kcal_mol", f.MaxScore)
	if len(f.BestOf) > 0 {
		c.In("x.result_id", f.BestOf)
		c.Add("x.rank = 1")
	}
}

type poseRow struct {
	sorted
	ResultID              string            `db:"result_id"`
	RunID                 string            `db:"run_id"`
	LigandID              string            `db:"ligand_id"`
	Label                 string            `db:"label"`
	Rank                  int               `db:"rank"`
	VinaRank              int               `db:"vina_rank"`
	CNNScore              sql.Null[float64] `db:"cnn_score"`
	CNNAffinityPk         sql.Null[float64] `db:"cnn_affinity_pk"`
	ScoreKcalMol          float64           `db:"score_kcal_mol"`
	RMSDLowerBound        float64           `db:"rmsd_lower_bound"`
	RMSDUpperBound        float64           `db:"rmsd_upper_bound"`
	Inter                 float64           `db:"inter"`
	Intra                 float64           `db:"intra"`
	Torsional             float64           `db:"torsional"`
	Unbound               float64           `db:"unbound"`
	ReferenceRMSDAngstrom sql.Null[float64] `db:"reference_rmsd_angstrom"`
	Checks                *json.RawMessage  `db:"checks"`
	Interactions          *json.RawMessage  `db:"interactions"`
	PDBQTArtifact         sql.NullString    `db:"pdbqt_artifact"`
	SDFArtifact           sql.NullString    `db:"sdf_artifact"`
	ComplexArtifact       sql.NullString    `db:"complex_artifact"`
	CreatedAt             time.Time         `db:"created_at"`
	Programs              json.RawMessage   `db:"programs"` // of the run
}

// poses reads up to limit poses in an order.
func (s store) poses(ctx context.Context, accountID string, f poseFilter, o order, from *place, limit int) ([]poseRow, error) {
	c := list.Owned("x.account_id", accountID)
	f.narrow(c)
	o.behind(c, from)
	return s.selectPoses(ctx, c, o, limit)
}

// pose reads one pose. Errors: fault.NotFound.
func (s store) pose(ctx context.Context, accountID, id string) (poseRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.id = ?", id)
	return only(s.selectPoses(ctx, c, newest, 1))("pose")
}

// countPoses counts what poses lists.
func (s store) countPoses(ctx context.Context, accountID string, f poseFilter) (count int, err error) {
	c := list.Owned("x.account_id", accountID)
	f.narrow(c)
	err = s.db.GetContext(ctx, &count, `SELECT count(*) FROM docking_poses x WHERE `+c.String(), c.Args...)
	return count, wrap(err, "counting docking poses")
}

func (s store) selectPoses(ctx context.Context, c *list.Conditions, o order, limit int) ([]poseRow, error) {
	var rows []poseRow
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS MATERIALIZED (
    SELECT x.id, x.result_id, x.rank, coalesce(x.vina_rank, x.rank) AS vina_rank, x.cnn_score, x.cnn_affinity_pk,
        x.score_kcal_mol, x.rmsd_lower_bound, x.rmsd_upper_bound, x.inter, x.intra, x.torsional, x.unbound,
        x.reference_rmsd_angstrom, x.checks, x.interactions, x.pdbqt_artifact, x.sdf_artifact, x.complex_artifact, x.created_at,
        `+o.selected()+`
    FROM docking_poses x WHERE `+c.String()+` ORDER BY `+o.by()+` LIMIT `+c.Arg(limit)+`
)
SELECT chosen.*, r.run_id, r.ligand_id, r.label, d.programs FROM chosen
JOIN docking_results r ON r.id = chosen.result_id JOIN docking_runs d ON d.id = r.run_id ORDER BY `+o.again(), c.Args...)
	return rows, wrap(err, "reading docking poses")
}

// artifactRow is a file of a docking job, and what was last seen of it.
type artifactRow struct {
	ID         string       `db:"id"`
	JobID      string       `db:"job_id"`
	Name       string       `db:"name"`
	Role       string       `db:"role"`
	StorageKey string       `db:"storage_key"`
	SHA256     string       `db:"sha256"`
	ByteSize   int64        `db:"byte_size"`
	MediaType  string       `db:"media_type"`
	Format     string       `db:"format"`
	VerifiedAt sql.NullTime `db:"verified_at"`
	Failed     bool         `db:"verification_failed"`
}

const artifactColumns = `a.id, a.job_id, a.name, a.role, a.storage_key, a.sha256, a.byte_size, a.media_type, a.format, a.verified_at, a.verification_failed`

// artifact reads a file of one of the account's docking jobs; what one stage leaves for the next alone is as if absent. Errors:
// fault.NotFound.
func (s store) artifact(ctx context.Context, accountID, id, hiddenRole string) (artifactRow, error) {
	var rows []artifactRow
	err := s.db.SelectContext(ctx, &rows, `SELECT `+artifactColumns+` FROM artifacts a JOIN docking_runs d ON d.job_id = a.job_id
WHERE a.account_id = $1 AND d.account_id = $1 AND a.id = $2 AND a.role <> $3`, accountID, id, hiddenRole)
	return only(rows, wrap(err, "reading a docking artifact"))("artifact")
}

// artifacts reads files by their ids; unknown ones stay out.
func (s store) artifacts(ctx context.Context, accountID string, ids []string) (map[string]artifactRow, error) {
	var rows []artifactRow
	err := s.db.SelectContext(ctx, &rows, `SELECT `+artifactColumns+` FROM artifacts a WHERE a.account_id = $1 AND a.id = ANY($2)`,
		accountID, pq.Array(ids))
	if err != nil {
		return nil, wrap(err, "reading docking artifacts")
	}
	found := make(map[string]artifactRow, len(rows))
	for _, row := range rows {
		found[row.ID] = row
	}
	return found, nil
}

// noteVerification keeps what was seen of a file.
func (s store) noteVerification(ctx context.Context, id string, at time.Time, failed bool) error {
	_, err := s.db.ExecContext(ctx, `UPDATE artifacts SET verified_at = $2, verification_failed = $3 WHERE id = $1`, id, at, failed)
	return wrap(err, "noting the verification of a docking artifact")
}

// outcomes reads what became of each ligand of a run, in the order of the request.
func (s store) outcomes(ctx context.Context, accountID, runID string) ([]outcome, error) {
	var rows []outcome
	err := s.db.SelectContext(ctx, &rows, `
SELECT ligand_index, ligand_id, status, coalesce(failure_stage, '') AS failure_stage, best_score_kcal_mol, coalesce(pdbqt_sha256,
'') AS pdbqt_sha256
FROM docking_results WHERE account_id = $1 AND run_id = $2 ORDER BY ligand_index`, accountID, runID)
	return rows, wrap(err, "reading the outcomes of a docking run")
}
