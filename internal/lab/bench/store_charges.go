package bench

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
)

// readQueued reads the current attempts of a job's tasks that have been dispatched and not started.
func readQueued(ctx context.Context, db *sqlx.DB, jobID string) ([]queue.Ref, error) {
	var refs []queue.Ref
	rows, err := db.QueryxContext(ctx, `SELECT id, attempt FROM tasks WHERE job_id = $1 AND status = 'QUEUED' ORDER BY ordinal`, jobID) //nolint:sqlclosecheck // the linter does not know sqlx's rows; they are closed below
	if err != nil {
		return nil, fmt.Errorf("read what is queued of %s: %w", jobID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref queue.Ref
		if err := rows.Scan(&ref.TaskID, &ref.Attempt); err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, rows.Err()
}

// charges are what a job's tasks were charged.
type charges struct {
	Charged           int   `db:"charged"` // attempts with a charge
	SumMicropence     int64 `db:"sum_micropence"`
	AccruedMicropence int64 `db:"accrued_micropence"` // the job's bill
	Violations        int   `db:"violations"`         // of the whole ledger
}

func readCharges(ctx context.Context, db *sqlx.DB, jobID string) (charges, error) {
	var c charges
	err := db.GetContext(ctx, &c, `SELECT count(*) FILTER (WHERE a.charged_micropence > 0) AS charged,
		coalesce(sum(a.charged_micropence), 0)::bigint AS sum_micropence,
			(SELECT accrued_micropence FROM jobs WHERE id = $1), (SELECT count(*) FROM ledger_violations) AS violations
		FROM tasks t JOIN task_attempts a ON a.task_id = t.id WHERE t.job_id = $1`, jobID)
	if err != nil {
		return c, fmt.Errorf("read the charges of %s: %w", jobID, err)
	}
	return c, nil
}

// peerAccount is the peer's one account.
const peerAccount = "hot"

// makeChargeTables makes the tables of the peer of B8: one account with plenty, and no charge.
func makeChargeTables(ctx context.Context, db *sqlx.DB) error {
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS bench_accounts (id text PRIMARY KEY, balance_pence bigint NOT NULL CHECK (balance_pence >= 0))`,
		`CREATE TABLE IF NOT EXISTS bench_charges (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			account_id text NOT NULL REFERENCES bench_accounts (id), amount_pence bigint NOT NULL, at timestamptz NOT NULL DEFAULT
			now())`,
		`TRUNCATE bench_charges, bench_accounts`,
		`INSERT INTO bench_accounts VALUES ('` + peerAccount + `', 1000000)`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the peer's tables: %w", err)
		}
	}
	return nil
}

// chargeOnce is a charge as it is commonly written: the account's row is locked, looked at and changed, and the charge is noted.
func chargeOnce(ctx context.Context, db *sqlx.DB, pence int64) error {
	return postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		var balance int64
		if err := tx.GetContext(ctx, &balance, `SELECT balance_pence FROM bench_accounts WHERE id = $1 FOR UPDATE`,
			peerAccount); err != nil {
			return fmt.Errorf("lock the account: %w", err)
		}
		if balance < pence {
			return fmt.Errorf("the account has %d pence, and %d are charged", balance, pence)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE bench_accounts SET balance_pence = $2 WHERE id = $1`, peerAccount,
			balance-pence); err != nil {
			return fmt.Errorf("charge the account: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO bench_charges (account_id, amount_pence) VALUES ($1, $2)`, peerAccount,
			pence); err != nil {
			return fmt.Errorf("note the charge: %w", err)
		}
		return nil
	})
}
