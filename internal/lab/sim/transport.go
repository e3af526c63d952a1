package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// heartbeatLife is how long a heartbeat is remembered, as package queue does.
const heartbeatLife = time.Minute

// transport is a scheduler.Queue in memory, with the workers' side of it. Nothing in it is sure to stay.
type transport struct {
	h      *history
	away   bool // it answers nobody
	orders []waitingOrder
	stream []report
	placed int // reports that ever reached the stream
	acks   map[string][]string
	stops  map[queue.Ref]bool
	beats  map[string]beat
	epoch  string
	said   []queue.Event // every report that ever arrived
}

// waitingOrder is an attempt in its queue. One that is claimed stays until its worker has done with it, and cannot be handed over
// again meanwhile.
type waitingOrder struct {
	queue.WorkOrder
	claimed bool
}

// report is an event in the stream.
type report struct {
	place int
	queue.Delivery
}

type beat struct {
	queue.Heartbeat
	at time.Time
}

var _ scheduler.Queue = (*transport)(nil)

func newTransport(h *history) *transport {
	q := &transport{h: h}
	q.flush()
	return q
}

// flush loses everything.
func (q *transport) flush() {
	q.orders, q.stream, q.epoch = nil, nil, ""
	q.acks, q.stops, q.beats = map[string][]string{}, map[queue.Ref]bool{}, map[string]beat{}
}

// call is a round trip.
func (q *transport) call(ctx context.Context, what string) error {
	if err := q.h.call(ctx, what); err != nil {
		return err
	}
	if q.away {
		if q.h.current != nil {
			q.h.current.excused = true
		}
		return fmt.Errorf("%s: %w", what, errQueueAway)
	}
	return nil
}

func (q *transport) find(ref queue.Ref) int {
	return slices.IndexFunc(q.orders, func(o waitingOrder) bool { return o.Ref() == ref })
}

// Enqueue implements scheduler.Queue, as the methods that follow.
func (q *transport) Enqueue(ctx context.Context, orders ...queue.WorkOrder) error {
	for _, order := range orders {
		if err := q.call(ctx, "enqueue"); err != nil {
			return err
		}
		if q.find(order.Ref()) < 0 {
			q.orders = append(q.orders, waitingOrder{WorkOrder: order})
		}
	}
	return nil
}

// Remove implements scheduler.Queue.
func (q *transport) Remove(_ string, ref queue.Ref) (bool, error) {
	if err := q.call(context.Background(), "remove"); err != nil {
		return false, err
	}
	i := q.find(ref)
	if i < 0 || q.orders[i].claimed {
		return false, nil
	}
	q.orders = slices.Delete(q.orders, i, i+1)
	return true, nil
}

// Waiting implements scheduler.Queue.
func (q *transport) Waiting(_ string, ref queue.Ref) (bool, error) {
	if err := q.call(context.Background(), "waiting"); err != nil {
		return false, err
	}
	i := q.find(ref)
	return i >= 0 && !q.orders[i].claimed, nil
}

// Depth implements scheduler.Queue. Only metrics ask.
func (q *transport) Depth(string) (queue.Depth, error) { return queue.Depth{}, nil }

// Sweep implements scheduler.Queue. Nothing is archived here.
func (q *transport) Sweep(string) error { return nil }

// IsMarked implements scheduler.Queue.
func (q *transport) IsMarked(ctx context.Context, mark string) (bool, error) {
	if err := q.call(ctx, "same"); err != nil {
		return false, err
	}
	return q.epoch == mark, nil
}

// Mark implements scheduler.Queue.
func (q *transport) Mark(ctx context.Context, mark string) error {
	if err := q.call(ctx, "mark"); err != nil {
		return err
	}
	q.epoch = mark
	return nil
}

// Wake implements scheduler.Queue. Nobody listens: a history decides when a leader looks.
func (q *transport) Wake(ctx context.Context) error { return q.call(ctx, "wake") }

// Wakes implements scheduler.Queue.
func (q *transport) Wakes(context.Context, func()) {}

// Receive implements scheduler.Queue. It never waits.
func (q *transport) Receive(ctx context.Context, limit int64, _ time.Duration) ([]queue.Delivery, error) {
	if err := q.call(ctx, "receive"); err != nil {
		return nil, err
	}
	var out []queue.Delivery
	for _, r := range q.stream[:min(int(limit), len(q.stream))] {
		out = append(out, placed(r))
	}
	return out, nil
}

// placed is a report whose id says where in the stream it lies.
func placed(r report) queue.Delivery {
	r.ID += "@" + strconv.Itoa(r.place)
	return r.Delivery
}

// Acknowledge implements scheduler.Queue.
func (q *transport) Acknowledge(ctx context.Context, done []queue.Delivery) error {
	if err := q.call(ctx, "acknowledge"); err != nil {
		return err
	}
	for _, d := range done {
		id, place, _ := strings.Cut(d.ID, "@")
		q.stream = slices.DeleteFunc(q.stream, func(r report) bool { return strconv.Itoa(r.place) == place })
		q.acks[d.WorkerID] = append(q.acks[d.WorkerID], id)
	}
	return nil
}

// Workers implements scheduler.Queue.
func (q *transport) Workers(ctx context.Context) ([]queue.Heartbeat, error) {
	if err := q.call(ctx, "workers"); err != nil {
		return nil, err
	}
	var out []queue.Heartbeat
	for _, id := range slices.Sorted(maps.Keys(q.beats)) {
		if q.h.clock.Sub(q.beats[id].at) > heartbeatLife {
			delete(q.beats, id)
			continue
		}
		out = append(out, q.beats[id].Heartbeat)
	}
	return out, nil
}

// Forget implements scheduler.Queue.
func (q *transport) Forget(ctx context.Context, workerID string) error {
	if err := q.call(ctx, "forget"); err != nil {
		return err
	}
	delete(q.beats, workerID)
	return nil
}

// StopAttempts implements scheduler.Queue.
func (q *transport) StopAttempts(ctx context.Context, refs ...queue.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	if err := q.call(ctx, "stop attempts"); err != nil {
		return err
	}
	for _, ref := range refs {
		q.stops[ref] = true
	}
	return nil
}

// LeavePermit implements scheduler.Queue. Nobody asks: files are not simulated.
func (q *transport) LeavePermit(ctx context.Context, _ string, _ queue.Ref, _ []byte) error {
	return q.call(ctx, "leave permit")
}

// unclaimed are the orders that a worker may take.
func (q *transport) unclaimed() []queue.WorkOrder {
	var out []queue.WorkOrder
	for _, o := range q.orders {
		if !o.claimed {
			out = append(out, o.WorkOrder)
		}
	}
	return out
}

// claimedOrders are those that workers have taken and not ended.
func (q *transport) claimedOrders() []queue.WorkOrder {
	var out []queue.WorkOrder
	for _, o := range q.orders {
		if o.claimed {
			out = append(out, o.WorkOrder)
		}
	}
	return out
}

// claim takes an order. One that has been claimed may be claimed again: its hand-over was repeated.
func (q *transport) claim(ref queue.Ref) {
	if i := q.find(ref); i >= 0 {
		q.orders[i].claimed = true
	}
}

// done forgets an order that its worker has ended.
func (q *transport) done(ref queue.Ref) {
	if i := q.find(ref); i >= 0 && q.orders[i].claimed {
		q.orders = slices.Delete(q.orders, i, i+1)
	}
}

// arrive puts a worker's report into the stream.
func (q *transport) arrive(event queue.Event) {
	q.put(event)
	q.said = append(q.said, event)
}

// put puts a report of anybody into the stream.
func (q *transport) put(event queue.Event) {
	sent, err := queue.Send(event)
	q.h.must(err)
	q.placed++
	q.stream = append(q.stream, report{q.placed, sent})
}

// beat takes a heartbeat and hands out what its worker is told in return.
func (q *transport) beat(hb queue.Heartbeat) (acked []string, stop map[queue.Ref]bool) {
	q.beats[hb.WorkerID] = beat{hb, q.h.clock}
	acked = q.acks[hb.WorkerID]
	delete(q.acks, hb.WorkerID)
	return acked, q.stops
}
