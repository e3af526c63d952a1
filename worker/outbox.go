package worker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// resendAfter is how long an event waits for its acknowledgement before the stream is asked whether it is still there, and
	// before it is asked again.
	resendAfter = 3 * time.Second
	// flushInterval is how often unsent events are tried again while Redis is away.
	flushInterval = 500 * time.Millisecond
)

// outbox keeps every report until the scheduler has committed it, and sends it again when Redis lost it. It holds a handful of
// events of an attempt (its start, its end and one of its checkpoints, or those that were stored last), and the scheduler hands out
// a bounded number of attempts before it acknowledges some.
type outbox struct {
	queue *queue.Queue
	log   *slog.Logger
	wake  chan struct{}

	mu      sync.Mutex
	pending []*report // in the order in which they were made
}

// report is an event on its way. place is where it lies in the stream, "" until it has been sent; seenAt is when it was last
// known to lie there.
type report struct {
	event     queue.Event
	place     string
	seenAt    time.Time
	committed func() // see addThen; may be nil
}

func newOutbox(q *queue.Queue, log *slog.Logger) *outbox {
	return &outbox{queue: q, log: log, wake: make(chan struct{}, 1)}
}

// add takes responsibility for an event. It never blocks on Redis.
func (o *outbox) add(event queue.Event) { o.addThen(event, nil) }

// addThen is add, and calls committed, if it is not nil, once the event has been committed. That an attempt which is no longer the
// current one reported something is committed as well. committed must not block.
func (o *outbox) addThen(event queue.Event, committed func()) {
	o.mu.Lock()
	o.pending = append(o.pending, &report{event: event, committed: committed})
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// acknowledged drops the events that the scheduler has committed.
func (o *outbox) acknowledged(ids []string) {
	for _, r := range o.drop(ids) {
		if r.committed != nil {
			r.committed()
		}
	}
}

// drop takes the reports of these events out and returns them.
func (o *outbox) drop(ids []string) []*report {
	committed := make(map[string]bool, len(ids))
	for _, id := range ids {
		committed[id] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var dropped []*report
	o.pending = slices.DeleteFunc(o.pending, func(r *report) bool {
		acknowledged := committed[r.event.ID]
		if acknowledged {
			dropped = append(dropped, r)
		}
		return acknowledged
	})
	return dropped
}

// refs are the attempts with unacknowledged events, each with one of them.
func (o *outbox) refs() map[queue.Ref]queue.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make(map[queue.Ref]queue.Event, len(o.pending))
	for _, r := range o.pending {
		out[r.event.Ref] = r.event
	}
	return out
}

// answersFor reports whether an event of an attempt waits for its acknowledgement.
func (o *outbox) answersFor(ref queue.Ref) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.pending, func(r *report) bool { return r.event.Ref == ref })
}

// empty reports whether everything has been acknowledged.
func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) == 0
}

// run sends events until the context ends.
func (o *outbox) run(ctx context.Context) {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	failing := false
	for {
		err := o.flush(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			o.log.Warn("reports wait for Redis", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		case <-ticker.C:
		}
	}
}

// flush sends what has not been sent, and again what the stream has lost.
func (o *outbox) flush(ctx context.Context) error {
	pending := o.snapshot()
	lost, err := o.lost(ctx, pending)
	if err != nil {
		return err
	}
	due := slices.DeleteFunc(pending, func(r *report) bool { return r.place != "" && !lost[r] })
	if len(due) == 0 {
		return nil
	}
	events := make([]queue.Event, len(due))
	for i, r := range due {
		events[i] = r.event
	}
	places, err := o.queue.Report(ctx, events)
	if err != nil {
		return err
	}
	for i, r := range due {
		r.place, r.seenAt = places[i], time.Now()
	}
	return nil
}

func (o *outbox) snapshot() []*report {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.pending)
}

// lost are those reports that were sent and must be sent again. Only run changes place and seenAt, so that no lock is needed for
// them.
func (o *outbox) lost(ctx context.Context, pending []*report) (map[*report]bool, error) {
	var aged []*report
	var places []string
	for _, r := range pending {
		if r.place != "" && time.Since(r.seenAt) >= resendAfter {
			aged, places = append(aged, r), append(places, r.place)
		}
	}
	there, err := o.queue.StillThere(ctx, places...)
	if err != nil {
		return nil, err
	}
	lost := map[*report]bool{}
	for i, r := range aged {
		if there[i] {
			r.seenAt = time.Now()
		} else {
			lost[r] = true
		}
	}
	return lost, nil
}
