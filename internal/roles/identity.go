package roles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api/workers"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/identity"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
)

const (
	// leavePatience is how long a worker that ends tries to give its credentials up.
	leavePatience = 5 * time.Second
	// lifeShare of its credentials' time is how long a connection of a worker is used: shorter than what is left of the time of a
	// user when the next one is there.
	lifeShare = 5
)

// passport is how a worker reaches Redis: as the user that all workers share, or as one of its own.
type passport struct {
	client redis.UniversalClient
	holder *identity.Holder // nil for the shared user
	id     string           // of the worker; "" for the shared user
}

// openPassport connects a worker to Redis, and completes its configuration by what the API has told.
func openPassport(ctx context.Context, cfg *config.Config, log *slog.Logger) (*passport, error) {
	if cfg.WorkerToken == "" {
		cfg.RedisURL = cmp.Or(cfg.WorkerRedisURL, cfg.RedisURL) // one file may have both
		client, err := await(ctx, *cfg, log, openRedis)
		return &passport{client: client}, err
	}
	if cfg.RedisURL != "" || cfg.WorkerRedisURL != "" {
		return nil, errors.New("REDIS_URL (or MOLFABRIC_WORKER_REDIS_URL) and MOLFABRIC_WORKER_TOKEN are both set: with the " +
			"token this worker gets a user of Redis of its own, so take the address away")
	}
	host, _ := os.Hostname() // what a worker is called by says nothing that must be true
	p := &passport{id: worker.NewID()}
	var err error
	p.holder, err = identity.New(identity.Config{API: cfg.WorkerAPI, Token: cfg.WorkerToken, WorkerID: p.id, Host: host,
		Name: cfg.WorkerName, Log: log.With("worker", p.id)})
	if err != nil {
		return nil, err
	}
	grant, err := await(ctx, *cfg, log, func(ctx context.Context, _ config.Config) (identity.Grant, error) {
		return p.holder.Renew(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("MOLFABRIC_WORKER_API: %w", err)
	}
	cfg.RedisPrefix = grant.Prefix
	p.client, err = await(ctx, *cfg, log, func(ctx context.Context, _ config.Config) (redis.UniversalClient, error) {
		return queue.ConnectAs(ctx, grant.Redis, grant.Authorities, queue.Login{Credentials: p.holder.Credentials,
			Refused: p.holder.Refused, ConnectionLife: grant.Good() / lifeShare})
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the Redis that MOLFABRIC_WORKER_API names: %w", err), p.leave(ctx))
	}
	return p, nil
}

// keep renews the credentials until stop is called, which gives them up. Within the context that it returns the worker works: it
// ends with identity.ErrEnded as its cause when the worker gets none any more.
func (p *passport) keep(ctx context.Context, log *slog.Logger) (working context.Context, stop func()) {
	if p.holder == nil {
		return ctx, func() {}
	}
	working, end := context.WithCancelCause(ctx)
	keeping, leave := context.WithCancel(context.WithoutCancel(ctx)) // a worker that drains needs its credentials to the end
	done := make(chan struct{})
	go func() {
		defer close(done)
		end(p.holder.Keep(keeping))
	}()
	return working, func() {
		leave()
		<-done
		if errors.Is(context.Cause(working), identity.ErrEnded) {
			return
		}
		if err := p.leave(ctx); err != nil {
			log.Warn("this worker's credentials were not given up; they end by themselves", "end", p.holder.Until(), "error", err)
		}
	}
}

func (p *passport) leave(ctx context.Context) error {
	if p.holder == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	return p.holder.Leave(ctx)
}

// ended is why a worker has stopped that was not asked to; nil for any other.
func (p *passport) ended(working context.Context) error {
	if cause := context.Cause(working); errors.Is(cause, identity.ErrEnded) {
		return cause
	}
	return nil
}

// describe says whose user a worker has in Redis.
func (p *passport) describe() string {
	if p.holder == nil {
		return "its user in Redis may be shared with other workers, and is good until its password is changed; " +
			"MOLFABRIC_WORKER_TOKEN gives it one of its own"
	}
	return fmt.Sprintf("its user in Redis is its own; one made now would end at %s without renewal",
		p.holder.Until().UTC().Format(time.RFC3339))
}

// issuer gives workers users of their own, where the configuration has a Redis that makes them.
func (c *control) issuer(ctx context.Context) error {
	deps := workers.Deps{DB: c.db, Prefix: c.cfg.RedisPrefix, Good: c.cfg.WorkerCredentials, Metrics: workers.NewMetrics(c.metrics),
		Log: c.log, Now: time.Now}
	if c.cfg.IssuerRedisURL == "" {
		c.workers = workers.New(deps)
		return nil
	}
	var err error
	if deps.Redis, err = queue.Bare(cmp.Or(c.cfg.WorkerRedisURL, c.cfg.RedisURL)); err != nil {
		return err
	}
	if c.cfg.RedisCA != "" {
		text, err := os.ReadFile(c.cfg.RedisCA)
		if err != nil {
			return fmt.Errorf("the certificates of Redis' authorities: %w", err)
		}
		deps.Authorities = string(text)
	}
	own := c.cfg
	own.RedisURL = c.cfg.IssuerRedisURL
	if c.issuing, err = await(ctx, own, c.log, openRedis); err != nil {
		return fmt.Errorf("MOLFABRIC_ISSUER_REDIS_URL: %w", err)
	}
	deps.Users = queue.NewUsers(c.issuing, c.cfg.RedisPrefix)
	c.workers = workers.New(deps)
	return nil
}

// WithWorkers calls use with what operators do with workers' identities, in the configured database or that of the system of the
// home.
func WithWorkers(
	ctx context.Context, cfg config.Config, log *slog.Logger, use func(context.Context, workers.Operator) error,
) error {
	return withAccounts(ctx, cfg, log, func(ctx context.Context, db *sqlx.DB) error {
		return use(ctx, workers.Operator{DB: db, User: userName(), Now: time.Now})
	})
}
