// Package system answers what an operator's machinery asks: does the process live (/healthz), can it serve (/readyz), how is
// it doing (/metrics). These addresses lie outside the API and need no credential; they show no data and no addresses.
package system

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/postgres"
)

// Paths are the addresses that Mount adds.
var Paths = []string{"/healthz", "/readyz", "/metrics"}

// askTimeout bounds a check: a part that needs longer cannot serve requests either.
const askTimeout = 2 * time.Second

// Check asks one part whether it can serve, and for its version, which may be empty.
type Check struct {
	Name string
	Ask  func(ctx context.Context) (version string, err error)
}

// Deps are the parts that the probes ask about.
type Deps struct {
	DB      *sqlx.DB
	Redis   redis.UniversalClient
	Metrics *prometheus.Registry
	Version string  // of this program
	Checks  []Check // beside the database, its schema and Redis
	Log     *slog.Logger
	Now     func() time.Time
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready   bool   `json:"ready"`
	Version string `json:"version"`
	Parts   []Part `json:"parts"`
}

// Part is one part's state.
type Part struct {
	Name      string  `json:"name"`
	Ready     bool    `json:"ready"`
	Version   string  `json:"version,omitempty"`
	LatencyMs float64 `json:"latencyMs"`
	Problem   string  `json:"problem,omitempty"`
}

// Mount adds the addresses.
func Mount(app *fiber.App, deps Deps) {
	checks := append([]Check{
		{"postgres", func(ctx context.Context) (string, error) { return postgres.Version(ctx, deps.DB) }},
		{"schema", deps.schema},
		{"redis", deps.redis},
	}, deps.Checks...)
	app.Get("/healthz", func(c *fiber.Ctx) error {
		return c.JSON(fiber.Map{"alive": true, "version": deps.Version})
	})
	app.Get("/readyz", func(c *fiber.Ctx) error {
		answer := deps.ask(c.UserContext(), checks)
		if !answer.Ready {
			c.Status(http.StatusServiceUnavailable)
		}
		return c.JSON(answer)
	})
	deps.Metrics.MustRegister(&readiness{&deps, checks})
	app.Get("/metrics", adaptor.HTTPHandler(promhttp.HandlerFor(deps.Metrics, promhttp.HandlerOpts{Registry: deps.Metrics})))
}

// readiness shows what /readyz says as a metric. The parts are asked with every scrape.
type readiness struct {
	deps   *Deps
	checks []Check
}

var readyDesc = prometheus.NewDesc("molfabric_part_ready", "1 while a part that this process needs answers as it should.",
	[]string{"part"}, nil)

// Describe implements prometheus.Collector.
func (r *readiness) Describe(ch chan<- *prometheus.Desc) { ch <- readyDesc }

// Collect implements prometheus.Collector.
func (r *readiness) Collect(ch chan<- prometheus.Metric) {
	for _, part := range r.deps.ask(context.Background(), r.checks).Parts {
		ready := 0.0
		if part.Ready {
			ready = 1
		}
		ch <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready, part.Name)
	}
}

// ask asks every part at once.
func (d *Deps) ask(ctx context.Context, checks []Check) Readiness {
	answer := Readiness{Ready: true, Version: d.Version, Parts: make([]Part, len(checks))}
	var asked sync.WaitGroup
	for i, check := range checks {
		asked.Go(func() { answer.Parts[i] = d.askOne(ctx, check) })
	}
	asked.Wait()
	for _, part := range answer.Parts {
		answer.Ready = answer.Ready && part.Ready
	}
	return answer
}

func (d *Deps) askOne(ctx context.Context, check Check) Part {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	started := d.Now()
	version, err := check.Ask(ctx)
	part := Part{Name: check.Name, Ready: err == nil, Version: version,
		LatencyMs: float64(d.Now().Sub(started).Microseconds()) / 1000}
	if err != nil {
		part.Problem = "does not answer as it should; the log says more"
		d.Log.WarnContext(ctx, "not ready", "part", check.Name, "error", err)
	}
	return part
}

// schema wants that of this program or of a newer one: a program goes on while the next release migrates, and after the way
// back to it.
func (d *Deps) schema(ctx context.Context) (string, error) {
	current, head, err := postgres.SchemaVersion(ctx, d.DB)
	if err == nil && current < head {
		err = fmt.Errorf("the database has schema version %d, this program needs %d: run molfabric migrate", current, head)
	}
	return fmt.Sprint(current), err
}

func (d *Deps) redis(ctx context.Context) (string, error) {
	info, err := d.Redis.Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("ask redis for its version: %w", err)
	}
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return version, nil
		}
	}
	return "", nil
}
