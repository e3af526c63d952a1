package preview

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// scrapePatience bounds what a scrape asks of Redis.
const scrapePatience = 2 * time.Second

// The outcomes of requests, for the metric.
const (
	outcomeDrawn       = "drawn"
	outcomeRefused     = "refused"
	outcomeUnavailable = "unavailable"
	outcomeAbandoned   = "abandoned" // the caller went
	outcomeFailed      = "failed"
)

type metrics struct {
	seconds prometheus.Histogram
	total   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, warm func(context.Context) (int, error), log *slog.Logger) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		seconds: f.NewHistogram(prometheus.HistogramOpts{Name: "molfabric_preview_seconds",
			Help: "From the request for a preview to its picture, of those that were drawn.",
			// Finest around the two seconds that a preview should take at most.
			Buckets: []float64{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30}}),
		total: f.NewCounterVec(prometheus.CounterOpts{Name: "molfabric_previews_total",
			Help: "Requests for previews, by what became of them."}, []string{"outcome"}),
	}
	for _, outcome := range []string{outcomeDrawn, outcomeRefused, outcomeUnavailable, outcomeAbandoned, outcomeFailed} {
		m.total.WithLabelValues(outcome) // else the first of a kind would be no increase
	}
	if reg != nil {
		reg.MustRegister(&warmGauge{warm: warm, log: log})
	}
	return m
}

func (m *metrics) observe(ctx context.Context, took time.Duration, err error) {
	var refused *RefusedError
	var unavailable *UnavailableError
	outcome := outcomeFailed
	switch {
	case err == nil:
		outcome = outcomeDrawn
		m.seconds.Observe(took.Seconds())
	case errors.As(err, &refused):
		outcome = outcomeRefused
	case errors.As(err, &unavailable):
		outcome = outcomeUnavailable
	case ctx.Err() != nil:
		outcome = outcomeAbandoned
	}
	m.total.WithLabelValues(outcome).Inc()
}

// warmGauge counts warm renderers at each scrape; where Redis does not answer there is no figure.
type warmGauge struct {
	warm func(context.Context) (int, error)
	log  *slog.Logger
}

var warmDesc = prometheus.NewDesc("molfabric_preview_renderers", "Warm renderers for previews, of all workers.", nil, nil)

// Describe is prometheus.Collector's.
func (g *warmGauge) Describe(ch chan<- *prometheus.Desc) { ch <- warmDesc }

// Collect is prometheus.Collector's.
func (g *warmGauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	count, err := g.warm(ctx)
	if err != nil {
		g.log.Warn("renderers for previews not counted for the scrape", "error", err)
		return
	}
	ch <- prometheus.MustNewConstMetric(warmDesc, prometheus.GaugeValue, float64(count))
}
