// Package roles wires the rooms into the processes that one molfabric binary can be: api, scheduler, worker, migrate, and up,
// which is all of them on one machine with the stores they need. It knows everyone and decides nothing.
package roles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/outage"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
)

var errNoDatabase = errors.New("DATABASE_URL is not set: give the address of Postgres, or run `molfabric up`, which brings its own")

// openMigrated connects to the configured Postgres, to be served by the roles that row-level security binds, and holds its schema
// against the one that this binary knows.
func openMigrated(ctx context.Context, cfg config.Config) (*sqlx.DB, error) {
	if cfg.DatabaseURL == "" {
		return nil, errNoDatabase
	}
	db, err := postgres.OpenServed(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	current, head, err := postgres.SchemaVersion(ctx, db)
	if err == nil && current < head {
		err = fmt.Errorf("the database is at schema %d and this program needs %d; run `molfabric migrate`", current, head)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func openRedis(ctx context.Context, cfg config.Config) (redis.UniversalClient, error) {
	if cfg.RedisURL == "" {
		return nil, errors.New("REDIS_URL is not set: give the address of Redis, or run `molfabric up`, which brings its own")
	}
	client, err := queue.Connect(ctx, cfg.RedisURL, cfg.RedisCA)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis does not answer: %w", err), client.Close())
	}
	return client, nil
}

func openObjects(ctx context.Context, cfg config.Config) (*object.Store, error) {
	if cfg.S3.Endpoint == "" {
		return nil, errors.New("S3_ENDPOINT is not set: give the address of an S3 server with S3_ACCESS_KEY, S3_SECRET_KEY and " +
			"S3_BUCKET (or S3_CREDENTIALS=chain), or run `molfabric up`, which brings its own")
	}
	store, err := object.New(object.Config{Endpoint: cfg.S3.Endpoint, PublicEndpoint: cfg.S3.PublicEndpoint,
		WorkerEndpoint: cfg.S3.WorkerEndpoint, Region: cfg.S3.Region,
		Bucket: cfg.S3.Bucket, AccessKey: cfg.S3.AccessKey, SecretKey: cfg.S3.SecretKey, SessionToken: cfg.S3.SessionToken,
		Chain: cfg.S3.Credentials == config.CredentialsChain})
	if err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	if err := store.EnsureBucket(ctx); err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	return store, nil
}

// storePatience is how long a process that starts waits for a store that is away: as long as a store's restart takes, and short
// enough for a wrong address to be noticed.
const storePatience = time.Minute

// await opens a store for a process that stays, and waits while it is away: what is started together comes up in any order, and a
// process that is started again in a store's outage must not end by it.
func await[Store any](
	ctx context.Context, cfg config.Config, log *slog.Logger, open func(context.Context, config.Config) (Store, error),
) (store Store, err error) {
	told := func(err error) { log.Warn("waiting for a store", "at_most", storePatience, "error", err) }
	err = outage.Outlast(ctx, storePatience, told, func() error {
		store, err = open(ctx, cfg)
		return err
	})
	return store, err
}

// withStores calls use with the configured database and object store. What is not configured is that of the system that runs from
// the home directory, or is started from there just for the call.
func withStores(ctx context.Context, cfg config.Config, log *slog.Logger, use func(*sqlx.DB, *object.Store) error) error {
	if running := FindRunning(cfg.Home); running != nil {
		cfg = running.fill(cfg)
	}
	if cfg.DatabaseURL == "" || cfg.S3.Endpoint == "" {
		started, err := startStores(ctx, &cfg, log)
		defer func() { stopAll(context.WithoutCancel(ctx), started, log) }()
		if err == nil {
			err = Migrate(ctx, cfg, log)
		}
		if err != nil {
			return err
		}
	}
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	objects, err := openObjects(ctx, cfg)
	if err != nil {
		return err
	}
	return use(db, objects)
}

// fill gives a configuration the stores that it does not name.
func (r Running) fill(cfg config.Config) config.Config {
	if cfg.DatabaseURL == "" {
		cfg.DatabaseURL = r.Stores.DatabaseURL
	}
	if cfg.S3.Endpoint == "" && r.Stores.S3.Endpoint != "" {
		cfg.S3 = r.Stores.S3
	}
	return cfg
}

// Migrate brings the configured database to the newest schema.
func Migrate(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	address := cmp.Or(cfg.MigrationDatabaseURL, cfg.DatabaseURL)
	if address == "" {
		return errNoDatabase
	}
	cfg.DatabaseURL = address
	db, err := await(ctx, cfg, log, openOwned)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := postgres.Migrate(ctx, db); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	current, _, err := postgres.SchemaVersion(ctx, db)
	if err != nil {
		return err
	}
	log.Info("database is at its newest schema", "version", current)
	return nil
}

// openOwned connects to the configured Postgres as its user, the owner of the schema.
func openOwned(ctx context.Context, cfg config.Config) (*sqlx.DB, error) {
	db, err := postgres.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return db, nil
}

func newQueue(client redis.UniversalClient, cfg config.Config) *queue.Queue {
	return queue.New(client, cfg.RedisPrefix)
}
