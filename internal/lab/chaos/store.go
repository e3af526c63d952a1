package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
)

// openMigrated opens a database and brings it to the newest schema.
func openMigrated(ctx context.Context, url string) (*sqlx.DB, error) {
	db, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("migrate: %w", err), db.Close())
	}
	return db, nil
}

// setCredit makes an account's available credit exactly so much, in its wallet, by adjustments.
func setCredit(ctx context.Context, db *sqlx.DB, accountID string, pence int64) error {
	book, err := billing.LoadBook("")
	if err != nil {
		return err
	}
	ledger := billing.NewLedger(book, id.New)
	return postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		now := time.Now().UTC()
		balance, err := ledger.Balance(ctx, tx, accountID, now)
		if err != nil {
			return err
		}
		for bucket, change := range map[billing.Bucket]int64{billing.Monthly: -balance.MonthlyPence,
			billing.Wallet: pence - balance.WalletPence} {
			if change == 0 {
				continue
			}
			_, err := ledger.Credit(ctx, tx, billing.CreditRequest{AccountID: accountID, Type: billing.EntryAdjustment,
				Bucket: bucket, Pence: change, UniqueKey: id.New("chaos_"), Description: "credit of a test"}, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// statusOf is a job's status as the database has it.
func (w *World) statusOf(ctx context.Context, jobID string) (job.Status, error) {
	var status job.Status
	err := w.db.GetContext(ctx, &status, `SELECT status FROM jobs WHERE id = $1`, jobID)
	if away(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the status of %s: %w", jobID, err)
	}
	return status, nil
}

// away tells an error of a database that is away, or on its way back, from its refusal of a statement.
func away(err error) bool {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return false
	}
	var refusal *pq.Error
	if errors.As(err, &refusal) {
		return refusal.Code.Class() == "57" || refusal.Code.Class() == "08" // operator intervention, connection exception
	}
	return true
}
