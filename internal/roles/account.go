package roles

import (
	"context"
	"log/slog"
	"os/user"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/scheduler"
)

// WithOperator calls use with the accounts of the configured database, or of the one that the system of the home has. A database
// that is configured is taken as it is: nobody migrates it in passing.
func WithOperator(ctx context.Context, cfg config.Config, log *slog.Logger, use func(context.Context, auth.Operator) error) error {
	prices, err := billing.LoadBook(cfg.Prices)
	if err != nil {
		return err
	}
	return withAccounts(ctx, cfg, log, func(ctx context.Context, db *sqlx.DB) error {
		return use(ctx, auth.Operator{DB: db, Ledger: billing.NewLedger(prices, id.New), User: userName(), Now: time.Now,
			Secrets: func() (secret.Ring, error) { return knownSecrets(cfg) }})
	})
}

// DifferentRepeats are the newest tasks that made something else when they were run again, of the database as in WithOperator.
func DifferentRepeats(
	ctx context.Context, cfg config.Config, log *slog.Logger, limit int,
) (found []scheduler.DifferentRepeat, err error) {
	err = withAccounts(ctx, cfg, log, func(ctx context.Context, db *sqlx.DB) error {
		found, err = scheduler.ListDifferentRepeats(ctx, db, limit)
		return err
	})
	return found, err
}

// userName is who runs this process, for the audit log.
func userName() string {
	who, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return who.Username
}
