package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/system"
	"github.com/molfabric/molfabric/api/uploads"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/scheduler"
)

// apiGrace is how long running requests may take to end when the API stops.
const apiGrace = 10 * time.Second

// control is what the API and the scheduler share: the stores and the rooms over them.
type control struct {
	cfg       config.Config
	log       *slog.Logger
	db        *sqlx.DB
	redis     redis.UniversalClient
	objects   *object.Store
	registry  *engines.Registry
	prices    *billing.Book
	ledger    *billing.Ledger
	metrics   *prometheus.Registry
	scheduler *scheduler.Scheduler
}

// openControl connects to the stores and wires the rooms.
func openControl(ctx context.Context, cfg config.Config, log *slog.Logger) (*control, error) {
	registry, err := all.Registry().Only(cfg.Simulators)
	if err != nil {
		return nil, fmt.Errorf("simulators: %w", err)
	}
	c := &control{cfg: cfg, log: log, registry: registry, metrics: prometheus.NewRegistry()}
	if c.prices, err = loadPrices(cfg, c.registry); err != nil {
		return nil, err
	}
	if c.db, err = openMigrated(ctx, cfg); err != nil {
		return nil, err
	}
	if c.redis, err = openRedis(ctx, cfg); err != nil {
		return nil, errors.Join(err, c.db.Close())
	}
	if c.objects, err = openObjects(ctx, cfg); err != nil {
		return nil, errors.Join(err, c.db.Close(), c.redis.Close())
	}
	c.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c.ledger = billing.NewLedger(c.prices, id.New)
	c.scheduler = scheduler.New(scheduler.Deps{DB: c.db, Queue: newQueue(c.redis, cfg), Engines: c.registry, Prices: c.prices,
		Ledger: c.ledger, Log: log, Metrics: scheduler.NewMetrics(c.metrics), Now: time.Now})
	c.metrics.MustRegister(c.scheduler)
	return c, nil
}

func (c *control) close() {
	if err := errors.Join(c.db.Close(), c.redis.Close()); err != nil {
		c.log.Debug("stores not closed cleanly", "error", err)
	}
}

// loadPrices reads the price book and makes sure that every engine has a price: one without could be run but never billed.
func loadPrices(cfg config.Config, registry *engines.Registry) (*billing.Book, error) {
	book, err := billing.LoadBook(cfg.Prices)
	if err != nil {
		return nil, fmt.Errorf("price book: %w", err)
	}
	for _, engineID := range registry.IDs() {
		engine, _ := registry.Lookup(engineID)
		if _, err := book.Quote(billing.QuoteRequest{Engine: engineID, Hardware: engine.Spec().Hardware}); err != nil {
			return nil, fmt.Errorf("price book: %w", err)
		}
	}
	return book, nil
}

// server wires the front door.
func (c *control) server(version string) (*api.Server, error) {
	secret, err := keySecret(c.cfg)
	if err != nil {
		return nil, err
	}
	store := uploads.New(c.db, c.objects, time.Now)
	work := jobs.New(jobs.Deps{DB: c.db, Scheduler: c.scheduler, Engines: c.registry, Objects: c.objects, Uploads: store.OwnedAll,
		Currency: c.prices.Currency, Pipeline: c.cfg.Pipeline, Log: c.log, Now: time.Now})
	return api.New(api.Deps{
		DB: c.db, Redis: c.redis, Ledger: c.ledger, Metrics: c.metrics, Log: c.log, Now: time.Now,
		Groups: []func(huma.API){
			func(a huma.API) { jobs.Register(a, work) },
			func(a huma.API) { uploads.Register(a, store) },
		},
		Checks: []system.Check{{Name: "object store", Ask: func(ctx context.Context) (string, error) { return "", c.objects.Check(ctx) }}},
		Config: api.Config{Version: version, KeySecret: secret, Origins: c.cfg.Origins, SecureCookies: c.cfg.SecureCookies, RedisPrefix: c.cfg.RedisPrefix},
	})
}

// serve answers requests on ln until the context ends.
func (c *control) serve(ctx context.Context, server *api.Server, ln net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiGrace)
	defer cancel()
	err := server.Shutdown(grace)
	return errors.Join(err, <-failed)
}

// RunAPI is `molfabric api`: the front door alone.
func RunAPI(ctx context.Context, cfg config.Config, version string, log *slog.Logger) error {
	c, err := openControl(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer c.close()
	server, err := c.server(version)
	if err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	log.Info("API ready", "url", "http://"+ln.Addr().String())
	return c.serve(ctx, server, ln)
}

// RunScheduler is `molfabric scheduler`: one scheduler of possibly several.
func RunScheduler(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	c, err := openControl(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer c.close()
	return c.scheduler.Run(ctx)
}

// listen opens the API's port. When nobody asked for the default port and it is taken, any free one does.
func listen(ctx context.Context, address string, asked bool) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil && !asked && errors.Is(err, syscall.EADDRINUSE) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (another address: --listen 127.0.0.1:0 takes any free port)", address, err)
	}
	return ln, nil
}
