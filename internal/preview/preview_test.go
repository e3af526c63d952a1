package preview_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/internal/redistest"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// place is a Redis with a client and a desk over it.
type place struct {
	*testing.T
	rdb    redis.UniversalClient
	prefix string
	client *preview.Client
	desk   *preview.Desk
	warm   atomic.Int64 // renderers of the worker
}

func newPlace(t *testing.T) *place {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	p := &place{T: t, rdb: rdb, prefix: prefix, client: preview.NewClient(rdb, prefix, nil, quiet),
		desk: preview.NewDesk(rdb, prefix)}
	ctx, cancel := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	t.Cleanup(beating.Wait)
	t.Cleanup(cancel)
	beating.Go(func() {
		for ctx.Err() == nil {
			if n := p.warm.Load(); n > 0 {
				_ = p.desk.Beat(ctx, "wrk_1", int(n), nil)
			}
			select {
			case <-ctx.Done():
			case <-time.After(preview.BeatInterval):
			}
		}
	})
	return p
}

func requestOf(account string) preview.Request {
	return preview.Request{AccountID: account, Scene: []byte("scene of " + account), Format: preview.FormatMVSX, WidthPixels: 960,
		HeightPixels: 540, Transparent: true}
}

// answer is what Draw returned.
type answer struct {
	png []byte
	err error
}

// draw asks for a preview beside the test.
func (p *place) draw(ctx context.Context, r preview.Request) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		png, err := p.client.Draw(ctx, r)
		got <- answer{png, err}
	}()
	return got
}

func (p *place) received(got <-chan answer) answer {
	p.Helper()
	select {
	case a := <-got:
		return a
	case <-time.After(patience):
		p.Fatal("there is no answer")
		return answer{}
	}
}

// beat says that a worker has warm renderers, now and from now on.
func (p *place) beat(renderers int, asks ...preview.Ask) {
	p.Helper()
	p.warm.Store(int64(renderers))
	if err := p.desk.Beat(p.Context(), "wrk_1", renderers, asks); err != nil {
		p.Fatal(err)
	}
}

// take takes the next request that the worker can serve.
func (p *place) take(accounts []string, anyone bool) preview.Ask {
	p.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ask, _, err := p.desk.Take(p.Context(), accounts, anyone)
		if err != nil {
			p.Fatal(err)
		}
		if ask != nil {
			return *ask
		}
	}
	p.Fatal("no request came")
	return preview.Ask{}
}

func (p *place) deliver(ask preview.Ask, png []byte, err error) {
	p.Helper()
	if err := errors.Join(p.desk.Answer(p.Context(), ask, png, err), p.desk.Release(p.Context(), ask)); err != nil {
		p.Fatal(err)
	}
}

func isUnavailable(err error) bool {
	var unavailable *preview.UnavailableError
	return errors.As(err, &unavailable) && unavailable.RetryAfter > 0
}

func TestAPictureComesBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(2)
	if n, err := p.client.Warm(t.Context()); err != nil || n != 2 {
		t.Errorf("%d renderers are warm, %v; want 2", n, err)
	}
	want := requestOf("acc_one")
	got := p.draw(t.Context(), want)
	if err := p.desk.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := p.take(nil, true)
	if !bytes.Equal(ask.Scene, want.Scene) || ask.AccountID != want.AccountID || ask.Format != want.Format ||
		ask.WidthPixels != 960 || ask.HeightPixels != 540 || !ask.Transparent {
		t.Errorf("the worker got %+v", ask.Request)
	}
	p.deliver(ask, []byte("a picture"), nil)
	if a := p.received(got); a.err != nil || string(a.png) != "a picture" {
		t.Errorf("got %q, %v", a.png, a.err)
	}
	p.beat(0)
	if n, err := p.client.Warm(t.Context()); err != nil || n != 0 {
		t.Errorf("%d renderers are warm, %v; want none", n, err)
	}
}

func TestErrorsComeBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	long := strings.Repeat("ä", 3000)
	for name, c := range map[string]struct {
		told  error
		check func(error) bool
	}{
		"refused": {&preview.RefusedError{Message: "The scene refers to a thing."}, func(err error) bool {
			var refused *preview.RefusedError
			return errors.As(err, &refused) && refused.Message == "The scene refers to a thing."
		}},
		"long": {&preview.RefusedError{Message: long}, func(err error) bool {
			var refused *preview.RefusedError
			return errors.As(err, &refused) && len(refused.Message) == 2000 && strings.HasPrefix(long, refused.Message)
		}},
		"with a cause": {errors.Join(&preview.RefusedError{Message: "It failed."}, errors.New("secret")), func(err error) bool {
			var refused *preview.RefusedError
			return errors.As(err, &refused) && refused.Message == "It failed." && !strings.Contains(err.Error(), "secret")
		}},
		"unavailable": {&preview.UnavailableError{RetryAfter: 3 * time.Second, Reason: "It stops"}, func(err error) bool {
			var unavailable *preview.UnavailableError
			return errors.As(err, &unavailable) && unavailable.RetryAfter == 3*time.Second && unavailable.Reason == "It stops"
		}},
		"for ever": {&preview.UnavailableError{RetryAfter: 1000 * time.Hour, Reason: "It stops"}, func(err error) bool {
			var unavailable *preview.UnavailableError
			return errors.As(err, &unavailable) && unavailable.RetryAfter == time.Minute
		}},
		"any other": {errors.New("secret"), func(err error) bool {
			return isUnavailable(err) && !strings.Contains(err.Error(), "secret")
		}},
	} {
		got := p.draw(t.Context(), requestOf("acc_"+strings.ReplaceAll(name, " ", "-")))
		p.deliver(p.take(nil, true), nil, c.told)
		if a := p.received(got); !c.check(a.err) {
			t.Errorf("%s: got %v", name, a.err)
		}
	}
	got := p.draw(t.Context(), requestOf("acc_large"))
	p.deliver(p.take(nil, true), make([]byte, preview.MaxPictureBytes+1), nil)
	if a := p.received(got); !isUnavailable(a.err) {
		t.Errorf("a picture that is too large: %d bytes, %v", len(a.png), a.err)
	}
}

func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if _, err := p.client.Draw(t.Context(), requestOf("acc_one")); !isUnavailable(err) {
		t.Errorf("without a worker: %v", err)
	}
	p.beat(3)
	p.beat(0)
	if _, err := p.client.Draw(t.Context(), requestOf("acc_one")); !isUnavailable(err) {
		t.Errorf("without a warm renderer: %v", err)
	}
	if left, err := p.rdb.Keys(t.Context(), p.prefix+"*scene*").Result(); err != nil || len(left) > 0 {
		t.Errorf("scenes are left: %q, %v", left, err)
	}
}

func TestEverybodyIsBusy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	preview.SetWait(p.client, 50*time.Millisecond)
	if _, err := p.client.Draw(t.Context(), requestOf("acc_one")); !isUnavailable(err) {
		t.Errorf("while everybody is busy: %v", err)
	}
	if ask, waiting, err := p.desk.Take(t.Context(), nil, true); ask != nil || waiting || err != nil {
		t.Errorf("a request whose caller has gone is taken: %+v, %v, %v", ask, waiting, err)
	}
}

func TestTheCallerGoes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	ctx, cancel := context.WithCancel(t.Context())
	got := p.draw(ctx, requestOf("acc_gone"))
	if err := p.desk.Await(t.Context()); err != nil { // until it waits
		t.Fatal(err)
	}
	cancel()
	if a := p.received(got); !errors.Is(a.err, context.Canceled) {
		t.Errorf("got %v", a.err)
	}
	next := p.draw(t.Context(), requestOf("acc_next"))
	ask := p.take(nil, true)
	if ask.AccountID != "acc_next" {
		t.Errorf("%s is drawn although its caller has gone", ask.AccountID)
	}
	p.deliver(ask, []byte("picture"), nil)
	if a := p.received(next); a.err != nil {
		t.Error(a.err)
	}
}

// TestTheWorkerGoes: who has taken a request and says nothing more is not waited for.
func TestTheWorkerGoes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	preview.SetWait(p.client, 3*time.Second)
	got := p.draw(t.Context(), requestOf("acc_one"))
	p.take(nil, true)
	if a := p.received(got); !isUnavailable(a.err) {
		t.Errorf("got %v", a.err)
	}
	preview.SetWait(p.client, patience)
	again := p.draw(t.Context(), requestOf("acc_one"))
	p.deliver(p.take(nil, true), []byte("picture"), nil)
	if a := p.received(again); a.err != nil {
		t.Errorf("the account is not drawn for again: %v", a.err)
	}
}

// TestAWorkerThatDrawsForLong: as long as it says that it draws, its caller waits.
func TestAWorkerThatDrawsForLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	preview.SetWait(p.client, 3*time.Second)
	got := p.draw(t.Context(), requestOf("acc_one"))
	ask := p.take(nil, true)
	for range 8 { // longer than it counts without a word
		p.beat(1, ask)
		select {
		case a := <-got:
			t.Fatalf("got %v while it is drawn", a.err)
		case <-time.After(time.Second):
		}
	}
	p.deliver(ask, []byte("picture"), nil)
	if a := p.received(got); a.err != nil {
		t.Error(a.err)
	}
}

// TestFairness: an account has one request drawn at a time, so that it cannot occupy all renderers, and may fill a part of the list.
func TestFairness(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(2)
	var greedy []<-chan answer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 6 {
		greedy = append(greedy, p.draw(ctx, requestOf("acc_greedy")))
	}
	refused, out := 0, merged(greedy)
	for range 2 {
		select {
		case a := <-out:
			if isUnavailable(a.err) {
				refused++
			}
		case <-time.After(patience):
			t.Fatal("an account may have as many requests as it likes")
		}
	}
	if refused != 2 {
		t.Errorf("%d of 6 requests were refused, want 2", refused)
	}
	modest := p.draw(t.Context(), requestOf("acc_modest"))
	first, second := p.take(nil, true), p.take(nil, true)
	if first.AccountID != "acc_greedy" || second.AccountID != "acc_modest" {
		t.Errorf("%s and %s are drawn beside each other", first.AccountID, second.AccountID)
	}
	if ask, waiting, err := p.desk.Take(t.Context(), []string{"acc_greedy"}, true); ask != nil || !waiting || err != nil {
		t.Errorf("got %+v, %v, %v; want nothing while the account is drawn for", ask, waiting, err)
	}
	p.deliver(first, []byte("picture"), nil)
	third := p.take(nil, true)
	if third.AccountID != "acc_greedy" {
		t.Errorf("the next is %s", third.AccountID)
	}
	p.deliver(third, []byte("picture"), nil)
	p.deliver(second, []byte("picture"), nil)
	if a := p.received(modest); a.err != nil {
		t.Error(a.err)
	}
}

// merged receives from the first of many.
func merged(all []<-chan answer) <-chan answer {
	out := make(chan answer, len(all))
	for _, one := range all {
		go func() {
			if a, ok := <-one; ok {
				out <- a
			}
		}()
	}
	return out
}

// TestWhatAWorkerCanServe: one without a spare renderer takes the requests of its own accounts alone.
func TestWhatAWorkerCanServe(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	other := p.draw(t.Context(), requestOf("acc_other"))
	if err := p.desk.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	own := p.draw(t.Context(), requestOf("acc_own"))
	ask := p.take([]string{"acc_own", "acc_third"}, false)
	if ask.AccountID != "acc_own" {
		t.Errorf("%s was taken", ask.AccountID)
	}
	p.deliver(ask, []byte("own"), nil)
	if ask, waiting, err := p.desk.Take(t.Context(), []string{"acc_own"}, false); ask != nil || !waiting || err != nil {
		t.Errorf("got %+v, %v, %v; want to hear that another waits", ask, waiting, err)
	}
	p.deliver(p.take(nil, true), []byte("other"), nil)
	for name, got := range map[string]<-chan answer{"own": own, "other": other} {
		if a := p.received(got); a.err != nil || string(a.png) != name {
			t.Errorf("%s got %q, %v", name, a.png, a.err)
		}
	}
}

func TestTheListIsBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting []<-chan answer
	for i := range 20 {
		waiting = append(waiting, p.draw(ctx, requestOf(fmt.Sprintf("acc_%d", i))))
	}
	out := merged(waiting)
	for range 4 {
		select {
		case a := <-out:
			if !isUnavailable(a.err) {
				t.Errorf("got %v", a.err)
			}
		case <-time.After(patience):
			t.Fatal("more than 16 requests wait")
		}
	}
	cancel()
	for range 16 {
		select {
		case a := <-out:
			if !errors.Is(a.err, context.Canceled) {
				t.Errorf("got %v", a.err)
			}
		case <-time.After(patience):
			t.Fatal("a caller that has gone still waits")
		}
	}
	if left, err := p.rdb.Keys(t.Context(), p.prefix+"*scene*").Result(); err != nil || len(left) > 0 {
		t.Errorf("scenes are left: %q, %v", left, err)
	}
}

// TestWhatOthersLeave: whoever may write to Redis may leave anything. It is neither drawn nor an answer.
func TestWhatOthersLeave(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	put := func(key, value string) {
		if err := p.rdb.Set(t.Context(), p.prefix+"molfabric:{preview}:"+key, value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	list := func(entry string) {
		if err := p.rdb.RPush(t.Context(), p.prefix+"molfabric:{preview}:desk:waiting", entry).Err(); err != nil {
			t.Fatal(err)
		}
	}
	until := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	messages := map[string]string{
		"empty": "", "short": "ab", "longer than it is": "\xff\xff\xff\xff{}", "no document": "\x00\x00\x00\x02xx",
		"nothing in it": "\x00\x00\x00\x02{}scene",
	}
	for name, message := range messages {
		id := strings.ReplaceAll(name, " ", "-")
		put("scene:"+id, message)
		list(id + " acc_" + id + " " + until)
	}
	list("nonsense")
	list("gone acc_gone 1")
	for range len(messages) {
		if ask, _, err := p.desk.Take(t.Context(), nil, true); ask != nil || err == nil {
			t.Errorf("took %+v, %v", ask, err)
		}
	}
	if ask, waiting, err := p.desk.Take(t.Context(), nil, true); ask != nil || waiting || err != nil {
		t.Errorf("there is left %+v, %v, %v", ask, waiting, err)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.beat(1)
	for want, change := range map[string]func(*preview.Request){
		"accountId":    func(r *preview.Request) { r.AccountID = "acc_one two" },
		"format":       func(r *preview.Request) { r.Format = "pdb" },
		"scene: 0":     func(r *preview.Request) { r.Scene = nil },
		"16 MiB":       func(r *preview.Request) { r.Scene = make([]byte, preview.MaxSceneBytes+1) },
		"widthPixels":  func(r *preview.Request) { r.WidthPixels = 961 },
		"heightPixels": func(r *preview.Request) { r.HeightPixels = 15 },
	} {
		r := requestOf("acc_one")
		change(&r)
		if _, err := p.client.Draw(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	reg := prometheus.NewRegistry()
	p.client = preview.NewClient(p.rdb, p.prefix, reg, quiet)
	if _, err := p.client.Draw(t.Context(), requestOf("acc_one")); err == nil {
		t.Error("it was drawn by nobody")
	}
	p.beat(3)
	got := p.draw(t.Context(), requestOf("acc_one"))
	p.deliver(p.take(nil, true), []byte("picture"), nil)
	if a := p.received(got); a.err != nil {
		t.Fatal(a.err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			found = append(found, fmt.Sprint(name, " ", value))
		}
	}
	if want := []string{"molfabric_preview_renderers 3", "molfabric_preview_seconds 1", "molfabric_previews_total abandoned 0",
		"molfabric_previews_total drawn 1", "molfabric_previews_total failed 0", "molfabric_previews_total refused 0",
		"molfabric_previews_total unavailable 1"}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}

// TestManyAtOnce lets some workers serve more callers than they have renderers.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	p.beat(3)
	for range 3 {
		workers.Go(func() {
			for ctx.Err() == nil {
				ask, waiting, err := p.desk.Take(ctx, nil, true)
				if ask != nil {
					err = errors.Join(p.desk.Answer(ctx, *ask, ask.Scene, nil), p.desk.Release(ctx, *ask))
				} else if err == nil && !waiting {
					err = p.desk.Await(ctx)
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var all []<-chan answer
	for i := range 12 {
		all = append(all, p.draw(t.Context(), requestOf(fmt.Sprintf("acc_%d", i/2))))
	}
	for i, got := range all {
		a := p.received(got)
		if want := requestOf(fmt.Sprintf("acc_%d", i/2)).Scene; a.err != nil || !slices.Equal(a.png, want) {
			t.Errorf("got %q, %v; want %q", a.png, a.err, want)
		}
	}
}
