package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// clock is one that a test sets.
type clock struct {
	mu  sync.Mutex
	fwd time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.fwd)
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fwd += d
}

// permitting is a bureau with an object store.
type permitting struct {
	*bureau
	store *object.Store
	clock *clock
}

func newPermitting(t *testing.T) *permitting {
	t.Helper()
	store, _ := objecttest.New(t)
	now := new(clock)
	b := newBureau(t, func(d *scheduler.Deps) { d.Permits, d.Remover, d.Now = store, store, now.now })
	return &permitting{b, store, now}
}

func (p *permitting) put(key string) {
	p.t.Helper()
	if _, err := p.store.Put(context.Background(), key, strings.NewReader(key), "text/plain", ""); err != nil {
		p.t.Fatal(err)
	}
}

// may reports whether a permit reads and writes these keys.
func (p *permitting) may(text []byte, read, write string) (reads, writes bool) {
	p.t.Helper()
	permit, err := object.ParsePermit(text)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx := context.Background()
	body, _, getErr := permit.Get(ctx, read)
	if getErr == nil {
		_ = body.Close()
	}
	_, putErr := permit.Put(ctx, write, strings.NewReader("x"), "text/plain", "")
	for _, err := range []error{getErr, putErr} {
		if err != nil && !errors.Is(err, object.ErrRefused) {
			p.t.Fatal(err)
		}
	}
	return getErr == nil, putErr == nil
}

func (p *permitting) expectMay(what string, text []byte, read, write string, want bool) {
	p.t.Helper()
	if reads, writes := p.may(text, read, write); reads != want || writes != want {
		p.t.Errorf("%s: reads %s: %v, writes %s: %v; want %v", what, read, reads, write, writes, want)
	}
}

// asking lets the bureau's worker beat once for an order and returns the permit that its next beat brings, sealed for the box, or
// nil.
func (p *permitting) asking(order queue.WorkOrder, seq int64, ask queue.Ask) []byte {
	p.t.Helper()
	held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running, Ask: &ask}.Proven(order.Claim, p.worker.self)
	beat := func(seq int64) queue.Orders {
		hb := queue.Heartbeat{WorkerID: "wrk_asking", Seq: seq, Queues: []string{cpuQueue}, Slots: 1, Held: []queue.Held{held}}
		got, err := p.queue.Beat(context.Background(), hb.Signed(p.worker.self))
		if err != nil {
			p.t.Fatal(err)
		}
		return got
	}
	beat(2 * seq)
	if err := p.leader.Watch(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	return beat(2*seq + 1).Permits[order.Ref()]
}

// TestOrdersComeWithPermits: each attempt may read its own inputs, those that it resumes from among them, and write below its own
// prefix; nothing of it lies in Redis for others to read.
func TestOrdersComeWithPermits(t *testing.T) {
	t.Parallel()
	p := newPermitting(t)
	p.submit(p.account(), 1)
	p.put("scene")
	p.put("accounts/another/file")
	if err := p.leader.Dispatch(context.Background()); err != nil {
		t.Fatal(err)
	}
	prepare := <-p.claimed
	p.expectMay("the preparation", prepare.Permit, "scene", prepare.OutputPrefix+"out", true)
	p.expectMay("elsewhere", prepare.Permit, "accounts/another/file", "accounts/another/file", false)
	p.expectMay("its output", prepare.Permit, prepare.OutputPrefix+"out", strings.Replace(prepare.OutputPrefix, "/1/", "/2/", 1)+
		"out", false)
	p.say(prepare, *success(prepare))
	dock := p.dispatch(1)["dock-000"]
	p.expectMay("the docking", dock.Permit, prepare.OutputPrefix+"out", dock.OutputPrefix+"out", true)
	p.expectMay("with another's input", dock.Permit, "scene", prepare.OutputPrefix+"out", false)
	saved := saving(dock, 1, "a")
	p.put(saved.Checkpoints[0].StorageKey)
	p.say(dock, saved)
	next := p.interrupted(dock)
	p.expectMay("the resumption", next.Permit, saved.Checkpoints[0].StorageKey, next.OutputPrefix+"out", true)
	p.expectMay("with its own prefix alone", next.Permit, "scene", dock.OutputPrefix+"out", false)
}

// TestPermitsAreRenewed: who holds an attempt gets another permit in time, and nobody else does.
func TestPermitsAreRenewed(t *testing.T) {
	t.Parallel()
	p := newPermitting(t)
	p.submit(p.account(), 1)
	p.put("scene")
	order := p.dispatch(1)["receptor"]
	p.worker.kill() // this test beats itself
	box, err := queue.NewLetterbox()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(until time.Time, refused bool) queue.Ask {
		return queue.Ask{Until: until, Refused: refused, Box: box.Public()}.Proven(order.Ref(), order.Claim)
	}
	first := p.clock.now().Add(object.PermitLife)
	if sealed := p.asking(order, 1, ask(first, false)); sealed != nil {
		t.Error("a permit that is new is renewed")
	}
	for name, try := range map[string]queue.Ask{
		"another claim": queue.Ask{Box: box.Public()}.Proven(order.Ref(), newClaim(t)),
		"another task":  queue.Ask{Box: box.Public()}.Proven(queue.Ref{TaskID: "task_x", Attempt: 1}, order.Claim),
		"no proof":      {Box: box.Public()},
		"another box":   {Box: newClaim(t).Witness(), Proof: ask(time.Time{}, false).Proof},
		"no box":        queue.Ask{Box: []byte("short")}.Proven(order.Ref(), order.Claim),
	} {
		p.clock.forward(10 * time.Second) // for each to be looked at
		if sealed := p.asking(order, p.clock.now().Unix(), try); sealed != nil {
			t.Errorf("%s: got a permit", name)
		}
	}
	for name, try := range map[string]queue.Ask{"none": ask(time.Time{}, false), "refused": ask(first, true),
		"old": ask(first.Add(-26*time.Minute), false)} {
		p.clock.forward(10 * time.Second)
		sealed := p.asking(order, p.clock.now().Unix(), try)
		text, ok := box.Open(order.Ref(), order.Claim.Witness(), sealed)
		if !ok {
			t.Fatalf("%s: got no permit", name)
		}
		p.expectMay(name, text, "scene", order.OutputPrefix+"out", true)
		if again := p.asking(order, p.clock.now().Unix()+1, try); again != nil {
			t.Errorf("%s: asked again at once, it got another one", name)
		}
	}
	p.say(order, *success(order))
	p.clock.forward(10 * time.Second)
	if sealed := p.asking(order, p.clock.now().Unix(), ask(time.Time{}, false)); sealed != nil {
		t.Error("of an attempt that has ended it got a permit")
	}
}

// TestOldCheckpointsAreRemoved: what a later checkpoint or a success replaces is removed after the commit, and nothing else.
func TestOldCheckpointsAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPermitting(t)
	p.submit(p.account(), 1)
	p.put("scene")
	order := p.dispatch(1)["receptor"]
	p.put("accounts/another/file")
	save := func(order queue.WorkOrder, version int, names ...string) {
		event := saving(order, version, names...)
		for _, file := range event.Checkpoints {
			p.put(file.StorageKey)
		}
		p.say(order, event)
	}
	left := func(want ...string) {
		t.Helper()
		if err := p.leader.Tidy(context.Background()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for info, err := range p.store.List(context.Background(), "") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, info.Key)
		}
		if want = append(want, "accounts/another/file", "scene"); !slices.Equal(slices.Sorted(slices.Values(got)),
			slices.Sorted(slices.Values(want))) {
			t.Errorf("the store holds %q, want %q", got, want)
		}
	}
	at := func(order queue.WorkOrder, name string) string { return order.OutputPrefix + "checkpoint/" + name }
	save(order, 1, "a", "b")
	left(at(order, "000001/a"), at(order, "000001/b"))
	save(order, 2, "a")
	p.say(order, saving(order, 2, "a")) // told again
	left(at(order, "000001/b"), at(order, "000002/a"))
	next := p.interrupted(order)
	left(at(order, "000001/b"), at(order, "000002/a"))
	late := saving(order, 3, "b") // the zombie speaks
	p.put(late.Checkpoints[0].StorageKey)
	p.say(order, late)
	save(next, 1, "b")
	left(at(order, "000002/a"), at(order, "000003/b"), at(next, "000001/b"))
	p.put(at(next, "000002/a"))
	p.put(next.OutputPrefix + "out")
	ended := success(next)
	ended.Stray = at(next, "000002/a")
	p.say(next, *ended)
	left(at(order, "000003/b"), next.OutputPrefix+"out") // nobody knows of what the zombie left

	dock := p.dispatch(1)["dock-000"]
	ended = success(dock)
	ended.Stray = next.OutputPrefix + "out"
	p.say(dock, *ended)
	left(at(order, "000003/b"), next.OutputPrefix+"out")
	rank := p.dispatch(1)["rank"]
	ended = success(rank)
	ended.Stray = rank.OutputPrefix + "out"
	p.put(rank.OutputPrefix + "out")
	p.say(rank, *ended)
	left(at(order, "000003/b"), next.OutputPrefix+"out", rank.OutputPrefix+"out")
}

// reluctant is a Remover that fails now and then.
type reluctant struct {
	scheduler.Remover
	away bool
}

func (r *reluctant) DeleteAll(ctx context.Context, keys []string) error {
	if r.away {
		return object.ErrUnavailable
	}
	return r.Remover.DeleteAll(ctx, keys)
}

// TestOldCheckpointsWaitForTheStore: while it is away nothing is lost but time.
func TestOldCheckpointsWaitForTheStore(t *testing.T) {
	t.Parallel()
	store, _ := objecttest.New(t)
	remover := &reluctant{store, true}
	p := &permitting{newBureau(t, func(d *scheduler.Deps) { d.Permits, d.Remover = store, remover }), store, new(clock)}
	p.submit(p.account(), 1)
	order := p.dispatch(1)["receptor"]
	for version := range 3 {
		event := saving(order, version+1, "a")
		p.put(event.Checkpoints[0].StorageKey)
		p.say(order, event)
		if err := p.leader.Tidy(context.Background()); version > 0 && !errors.Is(err, object.ErrUnavailable) {
			t.Errorf("version %d: %v, want ErrUnavailable", version+1, err)
		}
	}
	remover.away = false
	if err := p.leader.Tidy(context.Background()); err != nil {
		t.Fatal(err)
	}
	for version, want := range []error{object.ErrNotFound, object.ErrNotFound, nil} {
		if _, err := store.Head(context.Background(), saving(order, version+1, "a").Checkpoints[0].StorageKey); !errors.Is(err,
			want) {
			t.Errorf("version %d: %v, want %v", version+1, err, want)
		}
	}
}

// grudging is a Remover that refuses some objects: one by one as S3 does, or the whole request that names one.
type grudging struct {
	scheduler.Remover
	keeps  string
	wholly bool
}

func (g grudging) DeleteAll(ctx context.Context, keys []string) error {
	if !slices.Contains(keys, g.keeps) {
		return g.Remover.DeleteAll(ctx, keys)
	}
	if g.wholly {
		return errors.New("MalformedXML: the key cannot be")
	}
	others := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == g.keeps })
	return errors.Join(g.Remover.DeleteAll(ctx, others), &object.UndeletedError{Keys: []string{g.keeps}, Code: "AccessDenied"})
}

// TestAnObjectThatIsNotRemovedKeepsNoOther: it is tried a few times, counted and left behind; all others go.
func TestAnObjectThatIsNotRemovedKeepsNoOther(t *testing.T) {
	t.Parallel()
	for name, wholly := range map[string]bool{"refused by itself": false, "with its whole request": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := objecttest.New(t)
			remover := &grudging{Remover: store, wholly: wholly}
			registry := prometheus.NewRegistry()
			p := &permitting{newBureau(t, func(d *scheduler.Deps) {
				d.Permits, d.Remover, d.Metrics = store, remover, scheduler.NewMetrics(registry)
			}), store, new(clock)}
			p.submit(p.account(), 1)
			order := p.dispatch(1)["receptor"]
			const versions = 5
			for version := range versions {
				event := saving(order, version+1, "a")
				p.put(event.Checkpoints[0].StorageKey)
				p.say(order, event)
				if version == 0 {
					remover.keeps = event.Checkpoints[0].StorageKey
				}
				if version < 2 {
					continue // two of them go with one request
				}
				if err := p.leader.Tidy(context.Background()); err != nil {
					t.Errorf("version %d: %v", version+1, err)
				}
			}
			for version := range versions {
				want := object.ErrNotFound
				if version == 0 || version == versions-1 {
					want = nil
				}
				key := saving(order, version+1, "a").Checkpoints[0].StorageKey
				if _, err := store.Head(context.Background(), key); !errors.Is(err, want) {
					t.Errorf("version %d: %v, want %v", version+1, err, want)
				}
			}
			if n := counted(t, registry, "molfabric_objects_left_behind_total"); n != 1 {
				t.Errorf("%g objects are counted as left behind, want 1", n)
			}
		})
	}
}
