package roles

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/molfabric/molfabric/internal/audit"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/scheduler/archive"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// headerPatience is how long a scrape may take to say what it wants.
const headerPatience = 5 * time.Second

// schedule runs the scheduler, and beside it the audit of the ledger, the archive and the eraser, until the context ends.
func (c *control) schedule(ctx context.Context) error {
	var beside sync.WaitGroup
	books := tenant.Everyone(ctx, "the books of all accounts are audited")
	beside.Go(func() { audit.Watch(books, c.db, c.metrics, c.log) })
	history := archive.New(archive.Deps{DB: c.db, Keep: c.cfg.KeepEvents, Log: c.log, Metrics: archive.NewMetrics(c.metrics),
		Now: time.Now})
	beside.Go(func() { history.Run(ctx) })
	eraser := erasure.New(erasure.Deps{DB: c.db, Objects: c.objects, Log: c.log, Metrics: erasure.NewMetrics(c.metrics),
		Now: time.Now})
	beside.Go(func() { eraser.Run(ctx) })
	defer beside.Wait()
	return c.scheduler.Run(ctx)
}

// showMetrics serves /metrics, /fleet/demand and /healthz at the configured address until the context ends; not at all when none is
// configured. It returns once the address is open.
func (c *control) showMetrics(ctx context.Context) (wait func() error, err error) {
	if c.cfg.MetricsListen == "" {
		return func() error { return nil }, nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.cfg.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("listen for scrapes on %s: %w", c.cfg.MetricsListen, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.metrics, promhttp.HandlerOpts{Registry: c.metrics}))
	mux.Handle("GET /fleet/demand", demandHandler(c.scheduler.Demand, c.log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"alive":true}`) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerPatience}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	c.log.Info("metrics are shown", "url", "http://"+ln.Addr().String()+"/metrics")
	return func() error {
		stop()
		err := errors.Join(server.Close(), <-failed)
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}, nil
}
