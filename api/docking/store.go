package docking

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// maxBatchIDs bounds the batches that an experiment names.
const maxBatchIDs = 100

// store reads the tables that the scheduler writes. Every query names the account, so that what another tenant has is as if
// absent.
type store struct{ db *sqlx.DB }

type experimentRow struct {
	sorted
	Name       string          `db:"name"`
	Receptor   json.RawMessage `db:"receptor"`
	CreatedAt  time.Time       `db:"created_at"`
	BatchIDs   pq.StringArray  `db:"batch_ids"`
	BatchCount int             `db:"batch_count"`
	RunCount   int             `db:"run_count"`
}

// experiments reads up to limit experiments, newest first.
func (s store) experiments(ctx context.Context, accountID, text string, from *place, limit int) ([]experimentRow, error) {
	c := list.Owned("x.account_id", accountID)
	if text != "" {
		c.Add("(position(lower(?) in lower(x.name)) > 0 OR x.id = ? OR x.receptor->>'pdbId' = upper(?))", text, text, text)
	}
	newest.behind(c, from)
	return s.selectExperiments(ctx, c, limit)
}

// experiment reads one experiment. Errors: fault.NotFound.
func (s store) experiment(ctx context.Context, accountID, id string) (experimentRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.id = ?", id)
	return only(s.selectExperiments(ctx, c, 1))("experiment")
}

func (s store) selectExperiments(ctx context.Context, c *list.Conditions, limit int) ([]experimentRow, error) {
	var rows []experimentRow
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS MATERIALIZED (
    SELECT x.id, x.name, x.receptor, x.created_at, `+newest.selected()+`
    FROM docking_experiments x WHERE `+c.String()+` ORDER BY `+newest.by()+` LIMIT `+c.Arg(limit)+`
)
SELECT chosen.*, b.batch_ids, b.batch_count, r.run_count FROM chosen
CROSS JOIN LATERAL (
    SELECT (coalesce(array_agg(id ORDER BY created_at DESC, id DESC), '{}'))[1:`+c.Arg(maxBatchIDs)+`] AS batch_ids,
        count(*) AS batch_count
    FROM docking_batches WHERE experiment_id = chosen.id
) b
CROSS JOIN LATERAL (SELECT count(*) AS run_count FROM docking_runs WHERE experiment_id = chosen.id) r
ORDER BY `+newest.again(), c.Args...)
	return rows, wrap(err, "reading docking experiments")
}

// runFilter narrows lists of batches and of runs. Zero members filter nothing.
type runFilter struct {
	ExperimentID, BatchID, JobID, RequestID, RequestRunID string
	Statuses                                              []string
}

func (f runFilter) narrow(c *list.Conditions) {
	c.Equal("x.experiment_id", f.ExperimentID)
	c.Equal("x.batch_id", f.BatchID)
	c.Equal("x.job_id", f.JobID)
	c.Equal("x.request_id", f.RequestID)
	c.Equal("x.request_run_id", f.RequestRunID)
	c.In("j.status", f.Statuses)
}

// tally is how many ligands of a run stand where.
type tally struct {
	Preparing int `db:"preparing"`
	Docking   int `db:"docking"`
	Completed int `db:"completed"`
	Failed    int `db:"failed"`
}

// tallied counts the results of a run.
const tallied = `SELECT count(*) FILTER (WHERE status = 'PREPARING') AS preparing, count(*) FILTER (WHERE status = 'DOCKING') AS
	docking,
        count(*) FILTER (WHERE status = 'COMPLETED') AS completed, count(*) FILTER (WHERE status = 'FAILED') AS failed
    FROM docking_results WHERE run_id = `

type batchRow struct {
	sorted
	tally
	ExperimentID string         `db:"experiment_id"`
	RunID        sql.NullString `db:"run_id"`
	RankBy       sql.NullString `db:"rank_by"` // of its run
	JobID        string         `db:"job_id"`
	Status       job.Status     `db:"status"`
	LigandCount  int            `db:"ligand_count"`
	ShardSize    int            `db:"shard_size"`
	Seed         int64          `db:"seed"`
	CreatedAt    time.Time      `db:"created_at"`
}

// batches reads up to limit batches, newest first.
func (s store) batches(ctx context.Context, accountID string, f runFilter, from *place, limit int) ([]batchRow, error) {
	c := list.Owned("x.account_id", accountID)
	f.narrow(c)
	newest.behind(c, from)
	return s.selectBatches(ctx, c, limit)
}

// batch reads one batch. Errors: fault.NotFound, fault.FilesDeleted.
func (s store) batch(ctx context.Context, accountID, id string) (batchRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.id = ?", id)
	row, err := only(s.selectBatches(ctx, c, 1))("batch")
	return row, s.orDeleted(ctx, accountID, id, err)
}

func (s store) selectBatches(ctx context.Context, c *list.Conditions, limit int) ([]batchRow, error) {
	var rows []batchRow
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS MATERIALIZED (
    SELECT x.id, x.experiment_id, x.job_id, j.status, x.ligand_count, x.shard_size, x.seed, x.created_at, `+newest.selected()+`
    FROM docking_batches x JOIN jobs j ON j.id = x.job_id WHERE `+c.String()+` ORDER BY `+newest.by()+` LIMIT `+c.Arg(limit)+`
)
SELECT chosen.*, r.id AS run_id, r.rank_by, t.* FROM chosen
LEFT JOIN docking_runs r ON r.batch_id = chosen.id
CROSS JOIN LATERAL (`+tallied+`r.id) t
ORDER BY `+newest.again(), c.Args...)
	return rows, wrap(err, "reading docking batches")
}

type topRow struct {
	RunID            string            `db:"run_id"`
	ID               string            `db:"id"`
	LigandIndex      int               `db:"ligand_index"`
	LigandID         string            `db:"ligand_id"`
	Label            string            `db:"label"`
	BestScoreKcalMol float64           `db:"best_score_kcal_mol"`
	LigandEfficiency sql.Null[float64] `db:"ligand_efficiency"`
}

// rankByCNN is what a run ranks by that does not rank by score.
const rankByCNN = "cnn"

// topResults reads the best results of each run, best first. The two kinds of run are read apart, so that an index serves the
// usual one.
func (s store) topResults(ctx context.Context, accountID string, runs []string, most int) (map[string][]topRow, error) {
	var rows []topRow
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS (SELECT id AS run_id, rank_by FROM docking_runs WHERE id = ANY($2))
SELECT t.run_id, t.id, t.ligand_index, t.ligand_id, t.label, t.best_score_kcal_mol, t.ligand_efficiency FROM (
    SELECT r.*, NULL::float8 AS network FROM chosen CROSS JOIN LATERAL (
        SELECT * FROM docking_results WHERE run_id = chosen.run_id AND account_id = $1 AND best_score_kcal_mol IS NOT NULL
        ORDER BY best_score_kcal_mol, ligand_index LIMIT $3
    ) r WHERE chosen.rank_by <> '`+rankByCNN+`'
    UNION ALL
    SELECT r.*, -r.cnn_score FROM chosen CROSS JOIN LATERAL (
        SELECT * FROM docking_results WHERE run_id = chosen.run_id AND account_id = $1 AND best_score_kcal_mol IS NOT NULL
        ORDER BY -cnn_score, best_score_kcal_mol, ligand_index LIMIT $3
    ) r WHERE chosen.rank_by = '`+rankByCNN+`'
) t ORDER BY t.run_id, t.network, t.best_score_kcal_mol, t.ligand_index`, accountID, pq.Array(runs), most)
	if err != nil {
		return nil, wrap(err, "reading the best docking results")
	}
	top := map[string][]topRow{}
	for _, row := range rows {
		top[row.RunID] = append(top[row.RunID], row)
	}
	return top, nil
}

// only expects one row. Errors: fault.NotFound when there is none.
func only[T any](rows []T, err error) func(kind string) (T, error) {
	return func(kind string) (row T, _ error) {
		switch {
		case err != nil:
			return row, err
		case len(rows) == 0:
			return row, noSuch(kind)
		}
		return rows[0], nil
	}
}

// orDeleted tells of a run or a batch that was not found whether it was deleted. Errors: err, or fault.FilesDeleted in its place.
func (s store) orDeleted(ctx context.Context, accountID, id string, err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	var at time.Time
	switch asked := s.db.GetContext(ctx, &at, `SELECT deleted_at FROM deleted_results WHERE account_id = $1 AND id = $2`, accountID,
		id); {
	case errors.Is(asked, sql.ErrNoRows):
		return err
	case asked != nil:
		return wrap(asked, "looking for what was deleted")
	}
	return erasure.Gone(at)
}

func wrap(err error, doing string) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
