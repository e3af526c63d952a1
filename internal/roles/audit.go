package roles

import (
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/audit"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/tenant"
)

// Audit is `molfabric audit`: it compares the books and the files of the configured stores; see withStores. sweep deletes old files
// that nothing names.
func Audit(ctx context.Context, cfg config.Config, sweep bool, log *slog.Logger) (report audit.Report, err error) {
	run := audit.Run
	if sweep {
		run = audit.Sweep
	}
	ctx = tenant.Everyone(ctx, "the operator compares the books and the files of all accounts")
	err = withStores(ctx, cfg, log, func(db *sqlx.DB, objects *object.Store) error {
		report, err = run(ctx, db, objects, time.Now())
		return err
	})
	return report, err
}
