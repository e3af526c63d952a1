package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Delivery is an event as it lies in the stream.
type Delivery struct {
	Event
	entry       string
	body, proof []byte // as they were sent; see ProvenBy
}

// Send is an event on its way to the scheduler: encoded, and proven with its Claim if it has one.
func Send(e Event) (Delivery, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return Delivery{}, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return Delivery{Event: e, body: body, proof: e.Claim.prove(reportMark, body)}, nil
}

// arrive makes a delivery of what was sent. One that does not parse, or is no report of an attempt, has an empty event.
func arrive(entry string, body, proof []byte) Delivery {
	d := Delivery{entry: entry, body: body, proof: proof}
	if json.Unmarshal(body, &d.Event) != nil || d.Event.check() != nil {
		d.Event = Event{}
	}
	return d
}

// Report sends events to the scheduler and returns, for each, its place in the stream (see StillThere).
func (q *Queue) Report(ctx context.Context, events []Event) ([]string, error) {
	pipe := q.rdb.Pipeline()
	adds := make([]*redis.StringCmd, len(events))
	for i, e := range events {
		d, err := Send(e)
		if err != nil {
			return nil, err
		}
		adds[i] = pipe.XAdd(ctx, &redis.XAddArgs{Stream: q.key("events"), Values: []any{"event", d.body, "proof", d.proof}})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("report %d events: %w", len(events), err)
	}
	places := make([]string, len(events))
	for i, add := range adds {
		places[i] = add.Val()
	}
	return places, nil
}

// StillThere reports, for each place, whether the event that was sent there lies unread in the stream: then sending it again would
// only repeat it.
func (q *Queue) StillThere(ctx context.Context, places ...string) ([]bool, error) {
	if len(places) == 0 {
		return nil, nil
	}
	pipe := q.rdb.Pipeline()
	looks := make([]*redis.XMessageSliceCmd, len(places))
	for i, place := range places {
		looks[i] = pipe.XRange(ctx, q.key("events"), place, place)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("look for %d events: %w", len(places), err)
	}
	there := make([]bool, len(places))
	for i, look := range looks {
		there[i] = len(look.Val()) > 0
	}
	return there, nil
}

// Receive waits up to block for events and returns at most limit of them, oldest first. They stay in the stream until
// Acknowledge. A body that does not parse, or is no report of an attempt, is acknowledged to nobody and returned with an empty ID,
// to be dropped.
func (q *Queue) Receive(ctx context.Context, limit int64, block time.Duration) ([]Delivery, error) {
	streams, err := q.rdb.XRead(ctx, &redis.XReadArgs{Streams: []string{q.key("events"), "0"}, Count: limit, Block: block}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	var out []Delivery
	for _, message := range streams[0].Messages {
		body, _ := message.Values["event"].(string)
		proof, _ := message.Values["proof"].(string)
		out = append(out, arrive(message.ID, []byte(body), []byte(proof)))
	}
	return out, nil
}

// Acknowledge removes events from the stream and tells their workers. It is called after the commit that applied them; when
// it fails, they are delivered again.
func (q *Queue) Acknowledge(ctx context.Context, done []Delivery) error {
	if len(done) == 0 {
		return nil
	}
	byWorker := map[string][]any{}
	entries := make([]string, len(done))
	for i, d := range done {
		entries[i] = d.entry
		if d.WorkerID != "" {
			byWorker[d.WorkerID] = append(byWorker[d.WorkerID], d.ID)
		}
	}
	pipe := q.rdb.Pipeline()
	for worker, ids := range byWorker {
		pipe.RPush(ctx, q.key("acks", worker), ids...)
		pipe.Expire(ctx, q.key("acks", worker), ackTTL)
	}
	pipe.XDel(ctx, q.key("events"), entries...)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("acknowledge %d events: %w", len(done), err)
	}
	return nil
}

// Orders is what a worker learns in return for its heartbeat.
type Orders struct {
	Acked   []string     // events that the scheduler has committed
	Stop    map[Ref]bool // held attempts that must end: their job is being stopped or a later attempt runs
	Workers int          // live workers, this one included
	// Permits are new ones that the worker has asked for, sealed.
	Permits map[Ref][]byte
}

// allAcks is more acknowledgements than a worker ever has reports on their way. What one heartbeat left for the next would make a
// worker that ends tasks faster than that send its reports again, and each repetition adds an acknowledgement.
const allAcks = 1 << 24

// Beat sends a heartbeat and fetches the worker's acknowledgements and the stop orders for what it holds, in one round trip.
func (q *Queue) Beat(ctx context.Context, hb Heartbeat) (Orders, error) {
	body, err := json.Marshal(hb)
	if err != nil {
		return Orders{}, fmt.Errorf("encode heartbeat: %w", err)
	}
	pipe := q.rdb.Pipeline()
	pipe.HSet(ctx, q.key("workers"), hb.WorkerID, time.Now().Unix())
	pipe.Set(ctx, q.key("worker", hb.WorkerID), body, heartbeatTTL)
	acks := pipe.LPopCount(ctx, q.key("acks", hb.WorkerID), allAcks)
	workers := pipe.HLen(ctx, q.key("workers"))
	stops := make([]*redis.IntCmd, len(hb.Held))
	for i, h := range hb.Held {
		stops[i] = pipe.Exists(ctx, q.key("cancel", h.Ref.String()))
	}
	if err := execute(ctx, pipe); err != nil {
		return Orders{}, fmt.Errorf("heartbeat: %w", err)
	}
	orders := Orders{Stop: map[Ref]bool{}, Workers: int(workers.Val())}
	orders.Acked, orders.Permits = apart(acks.Val())
	for i, h := range hb.Held {
		if stops[i].Val() > 0 {
			orders.Stop[h.Ref] = true
		}
	}
	return orders, nil
}

// Workers returns the newest heartbeat of every worker that has sent one within the last minute, and forgets the others: they
// may have died while nobody watched. What is no heartbeat is passed over.
func (q *Queue) Workers(ctx context.Context) ([]Heartbeat, error) {
	ids, err := q.rdb.HKeys(ctx, q.key("workers")).Result()
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	pipe := q.rdb.Pipeline()
	gets := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		gets[i] = pipe.Get(ctx, q.key("worker", id))
	}
	if err := execute(ctx, pipe); err != nil {
		return nil, fmt.Errorf("read heartbeats: %w", err)
	}
	var out []Heartbeat
	var silent []string
	for i, get := range gets {
		var hb Heartbeat
		switch body, err := get.Bytes(); {
		case errors.Is(err, redis.Nil):
			silent = append(silent, ids[i])
		case err == nil && json.Unmarshal(body, &hb) == nil && hb.check(ids[i]) == nil:
			out = append(out, hb)
		}
	}
	if len(silent) == 0 {
		return out, nil
	}
	if err := q.rdb.HDel(ctx, q.key("workers"), silent...).Err(); err != nil {
		return nil, fmt.Errorf("forget silent workers: %w", err)
	}
	return out, nil
}

// execute runs a pipeline in which a missing key is an answer. In a cluster each node answers for its own keys: what one of them
// has not answered must not be taken for missing, behind a key that is.
func execute(ctx context.Context, pipe redis.Pipeliner) error {
	commands, err := pipe.Exec(ctx)
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	for _, command := range commands {
		if failed := command.Err(); err == nil && !errors.Is(failed, redis.Nil) {
			err = failed
		}
	}
	return err
}

// Forget removes a worker that has said goodbye or was declared lost.
func (q *Queue) Forget(ctx context.Context, workerID string) error {
	pipe := q.rdb.Pipeline()
	pipe.HDel(ctx, q.key("workers"), workerID)
	pipe.Del(ctx, q.key("worker", workerID))
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("forget worker %s: %w", workerID, err)
	}
	return nil
}

// StopAttempts asks whoever holds these attempts to end them. There is no order to stop a job: it would outlive its cause, and
// a retry of the job would be stopped by it; an attempt's number never comes again.
func (q *Queue) StopAttempts(ctx context.Context, refs ...Ref) error {
	if len(refs) == 0 {
		return nil
	}
	pipe := q.rdb.Pipeline()
	for _, ref := range refs {
		pipe.Set(ctx, q.key("cancel", ref.String()), 1, cancelTTL)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("stop %d attempts: %w", len(refs), err)
	}
	return nil
}

// Stopped reports whether a freshly claimed attempt must not start.
func (q *Queue) Stopped(ctx context.Context, ref Ref) (bool, error) {
	stops, err := q.rdb.Exists(ctx, q.key("cancel", ref.String())).Result()
	if err != nil {
		return false, fmt.Errorf("check cancel of %s: %w", ref, err)
	}
	return stops > 0, nil
}
