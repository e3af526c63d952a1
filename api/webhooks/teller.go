package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/molfabric/molfabric/api/news"
	"github.com/molfabric/molfabric/internal/reach"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/internal/webhook"
)

const (
	// passInterval is how long an event waits at most before its message is sent.
	passInterval = 2 * time.Second
	// answerPatience bounds a sending, from the name of the host to the end of the answer.
	answerPatience = 15 * time.Second
	// lease is when a message is sent again whose sender has died.
	lease = time.Minute
	// maxAtOnce bounds the messages to one webhook that are on their way, and maxSending those to all, in one pass.
	maxAtOnce, maxSending = 4, 64
	// maxAnswerBytes of an answer are read, to use its connection again.
	maxAnswerBytes = 16 << 10
)

// TellerDeps is what a Teller needs beside a Service. All may be left out.
type TellerDeps struct {
	Metrics  *Metrics
	Roots    *x509.CertPool // of the certificates that are believed; the machine's own when nil
	Patience time.Duration  // with a server, from its name to the end of its answer; answerPatience when 0
}

// Metrics count what was sent.
type Metrics struct {
	sendings *prometheus.CounterVec
	seconds  prometheus.Histogram
	disabled prometheus.Counter
}

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		sendings: f.NewCounterVec(prometheus.CounterOpts{Name: "molfabric_webhook_sendings_total",
			Help: "Sendings of messages to accounts' own servers, by what came of them: delivered, again, failed.",
		}, []string{"outcome"}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{Name: "molfabric_webhook_sending_seconds",
			Help: "How long a sending took.", Buckets: prometheus.ExponentialBuckets(0.01, 3, 8)}),
		disabled: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_webhooks_disabled_total",
			Help: "Webhooks that were disabled because nothing reached them."}),
	}
}

// Teller writes down which webhook is to be told of what, and sends it, again and again where that fails. A message has one id at
// all its sendings, and those of one job go in their order. Every instance of the API may run one: they take turns by the message.
type Teller struct {
	*Service
	metrics *Metrics
	client  *http.Client
	rounds  news.Rounds
}

// NewTeller returns a Teller. It starts nothing.
func (s *Service) NewTeller(deps TellerDeps) *Teller {
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics(nil)
	}
	if deps.Patience == 0 {
		deps.Patience = answerPatience
	}
	transport := &http.Transport{DialContext: s.Guard.DialContext, MaxIdleConnsPerHost: maxAtOnce, MaxIdleConns: maxSending,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: deps.Patience, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: deps.Roots, MinVersion: tls.VersionTLS12}}
	return &Teller{Service: s, metrics: deps.Metrics, client: &http.Client{
		Transport: transport, Timeout: deps.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Run tells what is due, every few seconds, until the context ends.
func (t *Teller) Run(ctx context.Context) {
	defer t.client.CloseIdleConnections()
	news.Run(ctx, passInterval, t.Pass, func(err error) {
		t.Log.Warn("accounts' servers are not told yet; the next try is soon", "error", err)
	})
}

// Pass writes down what is to be told now, and sends what is due. It may be called at any time, by one goroutine.
func (t *Teller) Pass(ctx context.Context) error {
	ctx = tenant.Everyone(ctx, "webhooks of all accounts are told of their events")
	now := t.Now().UTC()
	return t.rounds.Round(ctx, news.Work{Note: t.store.noteNews, Send: t.send, Forget: t.store.tidy}, now)
}

// send sends what is due, until nothing is.
func (t *Teller) send(ctx context.Context) error {
	for {
		due, err := t.store.claim(ctx, t.Now().UTC(), lease)
		if err != nil || len(due) == 0 {
			return err
		}
		errs := make([]error, len(due))
		var sending sync.WaitGroup
		for i, one := range due {
			sending.Go(func() { errs[i] = t.sendOne(ctx, one) })
		}
		sending.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
}

// outcomes are the labels of what comes of a sending, by the state that the message is then in.
var outcomes = map[string]string{delivered: "delivered", pending: "again", failed: "failed"}

// sendOne sends a message and records what came of it.
func (t *Teller) sendOne(ctx context.Context, m message) error {
	began := time.Now()
	status, problem := t.post(ctx, m)
	if ctx.Err() != nil {
		return ctx.Err() // the lease ends, and somebody sends it again
	}
	t.metrics.seconds.Observe(time.Since(began).Seconds())
	came := outcome{status: status, problem: problem, at: t.Now().UTC(), state: delivered}
	if problem != "" {
		pause, more := webhook.Again(m.Attempts)
		came.state, came.next = pending, came.at.Add(pause)
		if !more || status == http.StatusGone {
			came.state = failed
		}
	}
	t.metrics.sendings.WithLabelValues(outcomes[came.state]).Inc()
	disabled, err := t.store.record(ctx, m, came)
	if disabled {
		t.metrics.disabled.Inc()
		t.Log.Warn("a webhook was disabled: nothing reached it", "webhook", m.WebhookID, "account", m.AccountID)
	}
	return err
}

// post sends a message once. problem is "" when it was taken, and says nothing of this machine or its network.
func (t *Teller) post(ctx context.Context, m message) (status int, problem string) {
	key, ok := t.sealer.Open(m.WebhookID, m.Sealed)
	if !ok {
		return 0, "the webhook's secret cannot be read any more; make a new one"
	}
	header, err := webhook.Sign(key, m.ID, t.Now(), m.Body)
	if err != nil {
		return 0, "the webhook's secret cannot be used; make a new one"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, "the address cannot be used"
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "molfabric-webhooks/1")
	response, err := t.client.Do(request)
	if err != nil {
		return 0, reasonOf(err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswerBytes))
	switch {
	case response.StatusCode/100 == 2:
		return response.StatusCode, ""
	case response.StatusCode/100 == 3:
		return response.StatusCode, fmt.Sprintf("the server answered %d; redirections are not followed", response.StatusCode)
	}
	return response.StatusCode, fmt.Sprintf("the server answered %d", response.StatusCode)
}

// reasonOf says for the owner of a server why there was no answer.
func reasonOf(err error) string {
	var refused *reach.RefusedError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &refused):
		return refused.Reason
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the server did not answer in time"
	case reach.Certificate(err):
		return "the server's certificate is not valid for its name"
	}
	return "the server cannot be reached, or ended the connection without an answer"
}
