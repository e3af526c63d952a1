package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
)

// giveCredit puts money on an account and returns its id.
func giveCredit(ctx context.Context, db *sqlx.DB, email string, pence int64) (string, error) {
	var account string
	if err := db.GetContext(ctx, &account, `SELECT id FROM accounts WHERE email = $1`, email); err != nil {
		return "", fmt.Errorf("find the account: %w", err)
	}
	book, err := billing.LoadBook("")
	if err != nil {
		return "", err
	}
	err = postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		_, err := billing.NewLedger(book, id.New).Credit(ctx, tx, billing.CreditRequest{
			AccountID: account, Type: billing.EntryAdjustment, Bucket: billing.Wallet, Pence: pence, UniqueKey: id.New("bench_"),
			Description: "benchmark",
		}, time.Now().UTC())
		return err
	})
	return account, err
}

// stageSpan is the time from the start of the first task of a job's stage to the end of its last, in seconds.
func stageSpan(ctx context.Context, db *sqlx.DB, jobID, stage string) (float64, error) {
	var seconds float64
	err := db.GetContext(ctx, &seconds, `SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM tasks
		WHERE job_id = $1 AND stage = $2`, jobID, stage)
	if err != nil {
		return 0, fmt.Errorf("time the stage %s of %s: %w", stage, jobID, err)
	}
	return seconds, nil
}

// firstStart is the time from a job's commit to the start of its first task, in seconds; negative when none has started.
func firstStart(ctx context.Context, db *sqlx.DB, jobID string) (float64, error) {
	var seconds float64
	err := db.GetContext(ctx, &seconds, `SELECT coalesce(extract(epoch FROM min(t.started_at) - min(j.created_at))::float8, -1)
		FROM jobs j JOIN tasks t ON t.job_id = j.id WHERE j.id = $1`, jobID)
	if err != nil {
		return 0, fmt.Errorf("time the first task of %s: %w", jobID, err)
	}
	return seconds, nil
}

// libraryTables hold what a submission writes of itself, its ligands and its tasks.
var libraryTables = []struct{ name, ofJob, parent string }{
	{"jobs", `id = $1`, `(account_id) REFERENCES accounts (id)`},
	{"tasks", `job_id = $1`, `(job_id) REFERENCES jobs (id)`},
	{"plan_blocks", `job_id = $1`, `(job_id) REFERENCES jobs (id)`},
	{"docking_results", `run_id = (SELECT id FROM docking_runs WHERE job_id = $1)`, `(run_id) REFERENCES docking_runs (id)`},
}

// copied is what a job wrote into one table.
type copied struct {
	table   string // the empty twin that it is copied into
	columns []string
	rows    [][]any
}

// readLibraryRows reads what a job wrote, and makes an empty twin of each table, with its indexes and its foreign key.
func readLibraryRows(ctx context.Context, db *sqlx.DB, jobID string) ([]copied, error) {
	var all []copied
	for _, table := range libraryTables {
		c := copied{table: "bench_" + table.name}
		if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+c.table+` (LIKE `+table.name+` INCLUDING ALL, FOREIGN KEY `+
			table.parent+`)`); err != nil {
			return nil, fmt.Errorf("make %s: %w", c.table, err)
		}
		if err := c.read(ctx, db, table.name, table.ofJob, jobID); err != nil {
			return nil, fmt.Errorf("read %s: %w", table.name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// read fills a twin's rows from its table.
func (c *copied) read(ctx context.Context, db *sqlx.DB, table, ofJob, jobID string) error {
	rows, err := db.QueryxContext(ctx, `SELECT * FROM `+table+` WHERE `+ofJob, jobID) //nolint:sqlclosecheck // the linter does not know sqlx's rows; they are closed below
	if err != nil {
		return err
	}
	defer rows.Close()
	if c.columns, err = rows.Columns(); err != nil {
		return err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, err := rows.SliceScan()
		if err != nil {
			return err
		}
		for i, value := range row {
			// JSON and lists, which COPY would take for bytes
			if text, ok := value.([]byte); ok && types[i].DatabaseTypeName() != "BYTEA" {
				row[i] = string(text)
			}
		}
		c.rows = append(c.rows, row)
	}
	return rows.Err()
}

// copyRows writes rows with COPY, in one transaction, into the twins, which it empties afterwards outside of the time that it
// returns.
func copyRows(ctx context.Context, db *sqlx.DB, tables []copied) (time.Duration, error) {
	began := time.Now()
	err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		for _, c := range tables {
			if err := postgres.Copy(ctx, tx, c.table, c.columns, slices.Values(c.rows)); err != nil {
				return err
			}
		}
		return nil
	})
	took := time.Since(began)
	for _, c := range tables {
		if err != nil {
			return 0, err
		}
		_, err = db.ExecContext(ctx, `TRUNCATE `+c.table)
	}
	return took, err
}

// bestScores are the best scores of a job's ligands, by their place in the request.
func bestScores(ctx context.Context, db *sqlx.DB, jobID string) (map[int]float64, error) {
	var rows []struct {
		Index int     `db:"ligand_index"`
		Score float64 `db:"best_score_kcal_mol"`
	}
	err := db.SelectContext(ctx, &rows, `SELECT r.ligand_index, r.best_score_kcal_mol FROM docking_results r
		JOIN docking_runs u ON u.id = r.run_id
		WHERE u.job_id = $1 AND r.best_score_kcal_mol IS NOT NULL`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the scores of %s: %w", jobID, err)
	}
	scores := make(map[int]float64, len(rows))
	for _, r := range rows {
		scores[r.Index] = r.Score
	}
	return scores, nil
}
