package roles

import (
	"log/slog"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/postgres"
)

// examineExposure says, by setting, of which databases elsewhere the connection is not checked. A deployment may have its reasons,
// so that they are no illness.
func examineExposure(cfg config.Config) (found []Finding) {
	for _, one := range []struct{ name, address string }{{"DATABASE_URL", cfg.DatabaseURL},
		{"MIGRATION_DATABASE_URL", cfg.MigrationDatabaseURL}} {
		if told := postgres.Exposed(one.address); told != "" {
			found = append(found, Finding{Part: one.name, Healthy: true, Note: told})
		}
	}
	return found
}

// warnOfExposure says it once in a process' log.
func warnOfExposure(cfg config.Config, log *slog.Logger) {
	for _, one := range examineExposure(cfg) {
		log.Warn("the way to the database is not safe", "setting", one.Part, "what", one.Note)
	}
}
