package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/queue"
)

// A worker runs foreign input. Whoever gets out of its sandbox has what it holds, so it should hold what it needs: Redis as a user
// that may do a worker's part.

// excessSecrets are the settings that a worker has no use for, and that tell or open more than its own work.
func excessSecrets(cfg config.Config) []string {
	var found []string
	for _, secret := range []struct{ value, name string }{
		{cfg.DatabaseURL, "DATABASE_URL"}, {cfg.MigrationDatabaseURL, "MIGRATION_DATABASE_URL"},
		{cfg.KeySecret, "MOLFABRIC_KEY_SECRET"}, {strings.Join(cfg.KeySecretsRead, ","), "MOLFABRIC_KEY_SECRETS_READ"},
		{cfg.Stripe.SecretKey, "STRIPE_SECRET_KEY"}, {cfg.Stripe.WebhookSecret, "STRIPE_WEBHOOK_SECRET"},
		{cfg.OIDC.ClientSecret, "MOLFABRIC_OIDC_CLIENT_SECRET"}, {cfg.SMTP.URL, "MOLFABRIC_SMTP_URL"},
		{cfg.Director.Key, "MOLFABRIC_DIRECTOR_KEY"}, {cfg.IssuerRedisURL, "MOLFABRIC_ISSUER_REDIS_URL"},
		{byPermit(cfg, cfg.S3.AccessKey), "S3_ACCESS_KEY"}, {byPermit(cfg, cfg.S3.SecretKey), "S3_SECRET_KEY"},
		{byPermit(cfg, cfg.S3.SessionToken), "S3_SESSION_TOKEN"},
	} {
		if secret.value != "" {
			found = append(found, secret.name)
		}
	}
	return found
}

// byPermit is a secret that workers need only where the deployment gives them the store's key.
func byPermit(cfg config.Config, secret string) string {
	if cfg.StoreAccess == config.ByKey {
		return ""
	}
	return secret
}

// excessRights tries what a worker never does, in ways that change nothing, and returns what its user in Redis may do beyond need.
func excessRights(ctx context.Context, client redis.UniversalClient, prefix string) ([]string, error) {
	var found []string
	for _, right := range []struct {
		name string
		try  error
	}{
		{"administer the server", client.ConfigGet(ctx, "maxmemory-policy").Err()},
		{"read the keys of other programs", client.Exists(ctx, "molfabric-doctor-looks").Err()},
		{"list the keys of others", client.Scan(ctx, 0, "molfabric-doctor-looks", 1).Err()},
		{"read claims without taking them", queue.New(client, prefix).LookForClaims(ctx)},
		{"wake the scheduler", queue.New(client, prefix).Wake(ctx)},
	} {
		switch {
		case right.try == nil:
			found = append(found, right.name)
		case !isForbidden(right.try):
			return nil, fmt.Errorf("try to %s: %w", right.name, right.try)
		}
	}
	return found, nil
}

// isForbidden tells a refusal of Redis from a Redis that is away. A server without the command refuses it in its own words.
func isForbidden(err error) bool {
	var refusal redis.Error
	return errors.As(err, &refusal)
}

// excess says what a worker of this configuration holds beyond need, and what to do; "" for nothing.
func excess(ctx context.Context, client redis.UniversalClient, cfg config.Config) (string, error) {
	var told []string
	if secrets := excessSecrets(cfg); len(secrets) > 0 {
		told = append(told, "a worker needs none of "+strings.Join(secrets, ", ")+
			": take them out of its environment and its molfabric.yaml")
	}
	rights, err := excessRights(ctx, client, cfg.RedisPrefix)
	if len(rights) > 0 {
		told = append(told, "its user in Redis may "+strings.Join(rights, ", ")+
			`: give it the rules of "Redis's users" in doc/operating.md`)
	}
	return strings.Join(told, "; "), err
}

// examineWorker looks at the configuration as that of a worker.
func examineWorker(ctx context.Context, cfg config.Config) Finding {
	const part = "what a worker holds"
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	passport, err := openPassport(ctx, &cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return finding(part, "", err)
	}
	defer passport.client.Close()
	told, err := excess(ctx, passport.client, cfg)
	if err == nil && told != "" {
		err = errors.New(told)
	}
	found := finding(part, "", errors.Join(err, passport.leave(ctx)))
	if found.Healthy {
		found.Note = passport.describe()
	}
	return found
}

// warnOfExcess lets a worker that holds more than it needs say so in its log.
func warnOfExcess(ctx context.Context, client redis.UniversalClient, cfg config.Config, log *slog.Logger) {
	told, err := excess(ctx, client, cfg)
	if err != nil {
		log.Debug("not looked whether the worker holds more than it needs", "error", err)
	}
	if told != "" {
		log.Warn("this worker holds more than it needs", "what", told)
	}
}
