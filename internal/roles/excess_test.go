package roles

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// TestDoctorTellsWhatAWorkerHoldsBeyondNeed examines a worker's configuration that is right, and ones with too much.
func TestDoctorTellsWhatAWorkerHoldsBeyondNeed(t *testing.T) {
	t.Parallel()
	started, err := servers.StartRedis(t.Context(), servers.RedisOptions{Dir: serverstest.Dir(t),
		Log: slog.New(slog.DiscardHandler), Users: []servers.RedisUser{
			{Name: controlUser, ACL: queue.ControlACL("a:")}, {Name: workerUser, ACL: queue.WorkerACL("a:")}}})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := started.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Log(err)
		}
	})
	_, shared, _ := redistest.New(t)
	right := config.Config{RedisURL: started.UserURL(workerUser), RedisPrefix: "a:", StoreAccess: config.ByPermit}
	s3 := config.S3{Endpoint: "http://h", AccessKey: "secret@", SecretKey: "secret@"}
	with := func(change func(*config.Config)) config.Config {
		cfg := right
		change(&cfg)
		return cfg
	}
	for name, test := range map[string]struct {
		cfg  config.Config
		tell []string
	}{
		"what it needs": {right, nil},
		"a database":    {with(func(c *config.Config) { c.DatabaseURL = "postgres://:secret@h/d" }), []string{"DATABASE_URL"}},
		"all secrets": {with(func(c *config.Config) {
			c.MigrationDatabaseURL, c.KeySecret, c.Stripe.SecretKey, c.OIDC.ClientSecret = "postgres://:secret@h/d", "secret",
				"secret", "secret"
			c.Director.Key = "secret"
		}), []string{"MIGRATION_DATABASE_URL", "MOLFABRIC_KEY_SECRET", "STRIPE_SECRET_KEY", "MOLFABRIC_OIDC_CLIENT_SECRET",
			"MOLFABRIC_DIRECTOR_KEY",
			"molfabric.yaml"}},
		"the store's key": {with(func(c *config.Config) { c.S3 = s3 }),
			[]string{"S3_ACCESS_KEY, S3_SECRET_KEY", "molfabric.yaml"}},
		"its key by choice": {with(func(c *config.Config) { c.S3, c.StoreAccess = s3, config.ByKey }), nil},
		"the scheduler's Redis": {with(func(c *config.Config) { c.RedisURL = started.UserURL(controlUser) }),
			[]string{"wake the scheduler", "read claims", "list the keys", "doc/operating.md"}},
		"all of Redis": {with(func(c *config.Config) { c.RedisURL = shared }),
			[]string{"administer the server", "other programs"}},
		"a token too": {with(func(c *config.Config) { c.WorkerToken, c.WorkerAPI = "secret@", "https://h" }),
			[]string{"REDIS_URL", "MOLFABRIC_WORKER_TOKEN", "both set"}},
		"what makes users": {with(func(c *config.Config) { c.IssuerRedisURL = "redis://:secret@h" }),
			[]string{"MOLFABRIC_ISSUER_REDIS_URL"}},
		"another deployment's": {with(func(c *config.Config) { c.RedisURL = "" }), []string{"REDIS_URL is not set"}},
	} {
		var report Report
		report.ExamineWorker(t.Context(), test.cfg)
		got := report.Findings[0]
		if report.Healthy != (test.tell == nil) || got.Healthy != report.Healthy {
			t.Errorf("%s: healthy %v: %s", name, report.Healthy, got.Note)
		}
		for _, word := range test.tell {
			if !strings.Contains(got.Note, word) {
				t.Errorf("%s: %q does not tell of %s", name, got.Note, word)
			}
		}
		if strings.Contains(got.Note, "secret@") {
			t.Errorf("%s: a secret is told: %s", name, got.Note)
		}
	}
}
