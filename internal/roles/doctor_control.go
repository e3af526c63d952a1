package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/config"
)

// ExamineControl looks at an API or a scheduler that runs alone, by its own configuration: its stores, its settings and the
// workers that live. No engine need be installed where it runs.
func ExamineControl(ctx context.Context, cfg config.Config, version string, log *slog.Logger) Report {
	report := Report{Findings: []Finding{{Part: "molfabric", Healthy: true, Version: version}}}
	report.add(examineNamed(cfg)...)
	ofUp := func(f Finding) bool { return strings.HasSuffix(f.Part, startedByUp) }
	report.add(slices.DeleteFunc(examineStores(ctx, cfg), ofUp)...)
	report.add(examineApp())
	report.add(examineExposure(cfg)...)
	report.add(examineSecrets(ctx, cfg)...)
	report.add(examineDatabases(ctx, cfg, log)...)
	report.add(examineWeights(ctx, cfg, log)...)
	report.add(examineFleet(ctx, cfg))
	return report
}

// examineNamed complains of stores that the configuration does not name: nobody starts them for a part that runs alone.
func examineNamed(cfg config.Config) (found []Finding) {
	for _, store := range []struct{ name, value string }{{"DATABASE_URL", cfg.DatabaseURL}, {"REDIS_URL", cfg.RedisURL},
		{"S3_ENDPOINT", cfg.S3.Endpoint}} {
		if store.value == "" {
			found = append(found, finding(store.name, "", errors.New("is not set; the API and the scheduler need it")))
		}
	}
	return found
}

// examineFleet tells how many workers live and what they offer. That none does is no illness: a fleet may have scaled to zero.
func examineFleet(ctx context.Context, cfg config.Config) Finding {
	const part = "workers"
	if cfg.RedisURL == "" {
		return Finding{Part: part, Healthy: true, Note: "not known without REDIS_URL"}
	}
	client, err := openRedis(ctx, cfg)
	if err != nil {
		return finding(part, "", err)
	}
	defer client.Close()
	living, err := newQueue(client, cfg).Workers(ctx)
	if err != nil {
		return finding(part, "", err)
	}
	if len(living) == 0 {
		return Finding{Part: part, Healthy: true, Note: "none lives: jobs wait until one does"}
	}
	cores, engines := 0, map[string]bool{}
	for _, w := range living {
		cores += w.Slots
		for engine := range w.Programs {
			engines[engine] = true
		}
	}
	return Finding{Part: part, Healthy: true, Note: fmt.Sprintf("%d with %d cores; they offer %s", len(living), cores,
		strings.Join(slices.Sorted(maps.Keys(engines)), ", "))}
}
