package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// watchInterval is how often the ledger is audited while the system runs: the audit reads all of it.
const watchInterval = time.Hour

// Watch audits the ledger now and every hour until the context ends, shows the number of violations as a metric and logs them.
// While the database does not answer the metric keeps its last value.
func Watch(ctx context.Context, db *sqlx.DB, metrics prometheus.Registerer, log *slog.Logger) {
	violations := promauto.With(metrics).NewGauge(prometheus.GaugeOpts{Name: "molfabric_ledger_violations",
		Help: "Statements about the ledger that its last audit found broken."})
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		n, err := countViolations(ctx, db)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("ledger not audited", "error", err)
		case err == nil:
			violations.Set(float64(n))
			if n > 0 {
				log.Error("the ledger disagrees with itself; `molfabric audit` tells where", "violations", n)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
