package roles

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/postgres"
)

// examineExposure says, by setting, which servers elsewhere are reached over a connection that is not checked. A deployment may
// have its reasons, so that they are no illness.
func examineExposure(cfg config.Config) (found []Finding) {
	for _, one := range []struct{ name, told string }{
		{"DATABASE_URL", postgres.Exposed(cfg.DatabaseURL)},
		{"MIGRATION_DATABASE_URL", postgres.Exposed(cfg.MigrationDatabaseURL)},
		{"REDIS_URL", exposedRedis(cfg.RedisURL)},
		{"MOLFABRIC_WORKER_REDIS_URL", exposedRedis(cfg.WorkerRedisURL)},
		{"MOLFABRIC_ISSUER_REDIS_URL", exposedRedis(cfg.IssuerRedisURL)},
		{"MOLFABRIC_WORKER_API", exposedAPI(cfg.WorkerAPI)},
	} {
		if one.told != "" {
			found = append(found, Finding{Part: one.name, Healthy: true, Note: one.told})
		}
	}
	return found
}

// exposedRedis says what somebody on the way to the Redis at address could do; "" for nothing, as on this machine, over TLS, and
// for an address that cannot be read. It repeats no password.
func exposedRedis(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(parsed.Scheme, "redis") || strings.HasPrefix(parsed.Scheme, "rediss") {
		return ""
	}
	hosts := []string{parsed.Hostname()}
	for _, other := range parsed.Query()["addr"] {
		hosts = append(hosts, (&url.URL{Host: other}).Hostname())
	}
	for _, host := range hosts {
		if !postgres.IsHere(host) {
			return fmt.Sprintf("%s: redis:// lets the password and all messages travel in plain text; use rediss://, which checks "+
				"the server's certificate", host)
		}
	}
	return ""
}

// exposedAPI says the same of the API that a worker gets its credentials from.
func exposedAPI(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" || postgres.IsHere(parsed.Hostname()) {
		return ""
	}
	return fmt.Sprintf("%s: http:// lets the worker's token and credentials travel in plain text; use https://", parsed.Hostname())
}

// warnOfExposure says it once in a process' log.
func warnOfExposure(cfg config.Config, log *slog.Logger) {
	for _, one := range examineExposure(cfg) {
		log.Warn("the way to a server is not safe", "setting", one.Part, "what", one.Note)
	}
}
