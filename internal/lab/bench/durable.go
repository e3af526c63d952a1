package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/probe"
)

const (
	// durableCustomers submit by turns: the fabric's promise is to many accounts. B8 is about one.
	durableCustomers = 8
	// leastDurableCalls of a run have ten beyond their p99; it takes so many seconds at least.
	leastDurableCalls, leastDurableSeconds = 1000, 10
	// The p99 of a run is its tenth slowest call: those of equal runs differ by a quarter. The control may differ by as much as the
	// goal allows.
	lowestDurableControl, highestDurableControl = 1 / mostDurableP99, mostDurableP99
	// mostDurableP99 is the goal: the fabric's p99 by the peer's.
	mostDurableP99 = 1.5
	// peerHeaderTimeout bounds what nobody but this process sends to the peer.
	peerHeaderTimeout = 10 * time.Second
)

// durable is the workload B3: submissions at a fixed rate, each of which is answered when it cannot be lost any more.
type durable struct {
	deployment *deployment
	customers  []*customer
	perSecond  int
	calls      int

	peer      *http.Client
	peerURL   string
	peerBody  string
	stopPeer  func() error
	medians   []float64 // of each run of the fabric, seconds
	peerHalfs []float64 // of each run of the peer
}

// newDurable opens the accounts and starts the peer: a handler that inserts what it gets as one row and commits.
func newDurable(ctx context.Context, d *deployment, perSecond, calls int) (*durable, error) {
	w := &durable{deployment: d, perSecond: perSecond, calls: calls}
	for range durableCustomers {
		u, err := d.newCustomer(ctx)
		if err != nil {
			return nil, err
		}
		w.customers = append(w.customers, u)
	}
	if err := makeDurableTable(ctx, d.db); err != nil {
		return nil, err
	}
	// What our own submissions say, so that both send the same.
	w.peerBody = fmt.Sprintf(`{"jobType":"simulation","simulator":%q,"sceneFile":%q,"parameters":{"Seconds":"0","Tasks":"1"}}`,
		probe.ID, w.customers[0].scene)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(w.insert), ReadHeaderTimeout: peerHeaderTimeout}
	go func() { _ = server.Serve(listener) }()
	w.peerURL = "http://" + listener.Addr().String()
	w.peer = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}} // as internal/client has them
	w.stopPeer = server.Close
	return w, nil
}

// insert is the peer's handler.
func (w *durable) insert(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err == nil {
		err = insertDurable(request.Context(), w.deployment.db, body)
	}
	if err != nil {
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	answer.WriteHeader(http.StatusAccepted)
}

// callPeer sends one request to the peer.
func (w *durable) callPeer(ctx context.Context, _ int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.peerURL, strings.NewReader(w.peerBody))
	if err != nil {
		return err
	}
	answer, err := w.peer.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusAccepted {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return errors.Join(fmt.Errorf("the peer answers %s: %s", answer.Status, said), answer.Body.Close())
	}
	return answer.Body.Close()
}

// callFabric submits a job of one task.
func (w *durable) callFabric(ctx context.Context, i int) error {
	_, err := w.customers[i%len(w.customers)].submit(ctx, 1, 0)
	return err
}

// p99 makes an arm of a call; halfs keeps the medians of its runs.
func (w *durable) p99(call func(context.Context, int) error, halfs *[]float64) Arm {
	return func(ctx context.Context) (float64, error) {
		took, err := openLoop(ctx, w.perSecond, w.calls, call)
		if err != nil {
			return 0, err
		}
		*halfs = append(*halfs, quantile(took, 0.5))
		return quantile(took, 0.99), nil
	}
}

// measure measures B3 at one rate.
func (w *durable) measure(ctx context.Context, pairs int, told func(string)) (Result, error) {
	result := Result{
		ID: fmt.Sprintf("B3/%d", w.perSecond), Name: "durable submit",
		Peer: "a handler that inserts the request as one row and commits",
		Workload: fmt.Sprintf("%d submissions of one task, %d a second whatever becomes of them, by %d accounts in turn; p99 "+
			"from the scheduled moment to the answer", w.calls, w.perSecond, len(w.customers)),
		Goal: "≥ 0.67 (at most 1.5 × the peer's p99)", MeasuredAt: time.Now().UTC(),
	}
	ours, peer := w.p99(w.callFabric, &w.medians), w.p99(w.callPeer, &w.peerHalfs)
	for _, warmUp := range []Arm{ours, peer} {
		if _, err := warmUp(ctx); err != nil {
			return result, err
		}
	}
	w.medians, w.peerHalfs = nil, nil
	by := usualRules(pairs)
	by.lowest, by.highest = lowestDurableControl, highestDurableControl
	var err error
	if result.Comparison, err = compareBy(ctx, "s of p99", by, ours, peer, told); err != nil {
		return result, err
	}
	result.Met = result.Comparison.Median >= 1/mostDurableP99
	result.Figures = map[string]float64{
		"p99Ms": 1000 * median(result.Comparison.Ours), "peerP99Ms": 1000 * median(result.Comparison.Peer),
		"p50Ms": 1000 * median(w.medians), "peerP50Ms": 1000 * median(w.peerHalfs),
	}
	result.Notes = []string{"the fabric authenticates, throttles, looks for the scene file, plans, prices, takes the idempotency " +
		"key, sets the price aside and stores job and task in one transaction; its API is a process of its own, the peer is in " +
		"that of the load",
		"a scheduler runs and no worker, so that what is submitted waits"}
	return result, nil
}

func (o Options) measureDurable(ctx context.Context, d *deployment) ([]Result, error) {
	var results []Result
	for _, perSecond := range []int{50, 200} {
		id := fmt.Sprintf("B3/%d", perSecond)
		if !o.wants(id) {
			continue
		}
		w, err := newDurable(ctx, d, perSecond, max(leastDurableCalls, perSecond*leastDurableSeconds))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		result, err := w.measure(ctx, o.Pairs, o.told(id))
		if err = errors.Join(err, w.stopPeer()); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		results = append(results, result)
	}
	return results, nil
}
