package queue_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// hostileOrders are orders that no scheduler sends, by what is wrong with them.
var hostileOrders = map[string]func(*queue.WorkOrder){
	"a task that climbs":           func(o *queue.WorkOrder) { o.TaskID = "../../../victim" },
	"a task that is a path":        func(o *queue.WorkOrder) { o.TaskID = "task_/etc" },
	"no task":                      func(o *queue.WorkOrder) { o.TaskID = "" },
	"the attempt 0":                func(o *queue.WorkOrder) { o.Attempt = 0 },
	"a negative attempt":           func(o *queue.WorkOrder) { o.Attempt = -7 },
	"a job that climbs":            func(o *queue.WorkOrder) { o.JobID = "job_1/../../other" },
	"an account that climbs":       func(o *queue.WorkOrder) { o.AccountID = "acct_1/../acct_2" },
	"a request with a line":        func(o *queue.WorkOrder) { o.RequestID = "req_1\nforged line" },
	"a queue that is a path":       func(o *queue.WorkOrder) { o.Queue = "cpu.vina/../x" },
	"an engine that is a path":     func(o *queue.WorkOrder) { o.Engine = "../autodock-vina" },
	"a shard that is a path":       func(o *queue.WorkOrder) { o.Shard.Name = "../../log" },
	"another attempt's outputs":    func(o *queue.WorkOrder) { o.OutputPrefix = "accounts/acct_1/uploads/" },
	"outputs that climb":           func(o *queue.WorkOrder) { o.OutputPrefix = "../" + o.OutputPrefix },
	"no time limit":                func(o *queue.WorkOrder) { o.Shard.Needs.TimeLimit = 0 },
	"a negative expectation":       func(o *queue.WorkOrder) { o.ExpectedSeconds = -1 },
	"a negative memory":            func(o *queue.WorkOrder) { o.Shard.Needs.MemoryBytes = -1 },
	"an input that climbs":         func(o *queue.WorkOrder) { o.Inputs[0].Name = "../../.ssh/authorized_keys" },
	"an input from the root":       func(o *queue.WorkOrder) { o.Inputs[0].Name = "/etc/cron.d/x" },
	"an input that is the place":   func(o *queue.WorkOrder) { o.Inputs[0].Name = "." },
	"an input with a null":         func(o *queue.WorkOrder) { o.Inputs[0].Name = "a\x00b" },
	"an input without a key":       func(o *queue.WorkOrder) { o.Inputs[0].Object.StorageKey = "" },
	"an input's key that climbs":   func(o *queue.WorkOrder) { o.Inputs[0].Object.StorageKey = "accounts/a/../b/file" },
	"an input's digest that is no": func(o *queue.WorkOrder) { o.Inputs[0].Object.SHA256 = "zz" },
}

func orderWithInput() queue.WorkOrder {
	order := newOrder()
	order.Inputs = []queue.ResolvedInput{{Name: "poses/a.sdf", Object: engines.Object{StorageKey: "accounts/acct_1/uploads/a.sdf",
		ByteSize: 7}}}
	return order
}

// TestOnlySoundOrdersAreHandled puts what no scheduler sends on a queue: none of it reaches a worker, and what follows does.
func TestOnlySoundOrdersAreHandled(t *testing.T) {
	t.Parallel()
	for name, spoil := range hostileOrders {
		order := orderWithInput()
		if err := order.Check(); err != nil {
			t.Fatalf("a sound order: %v", err)
		}
		spoil(&order)
		if err := order.Check(); err == nil {
			t.Errorf("%s: the order passes", name)
		}
	}
	q := newQueue(t)
	handled := make(chan queue.WorkOrder, len(hostileOrders)+1)
	for _, spoil := range hostileOrders {
		order := orderWithInput()
		if spoil(&order); order.Queue == vinaQueue {
			enqueue(t, q, order)
		}
	}
	last := orderWithInput()
	enqueue(t, q, last)
	consumer, err := q.Consume([]string{vinaQueue}, 1, 10*time.Millisecond, slog.New(slog.DiscardHandler),
		func(order queue.WorkOrder) { handled <- order })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { consumer.Stop(); consumer.Close() }()
	if got := <-handled; got.TaskID != last.TaskID {
		t.Errorf("handled %s attempt %d, want only %s", got.TaskID, got.Attempt, last.TaskID)
	}
}

// TestOnlySoundReportsAreReceived sends reports and heartbeats that no worker sends: they are delivered without an id, to be
// dropped, and the fleet does not count them.
func TestOnlySoundReportsAreReceived(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	for name, spoil := range map[string]func(*queue.Event){
		"a task that climbs": func(e *queue.Event) { e.Ref.TaskID = "../x" },
		"the attempt 0":      func(e *queue.Event) { e.Ref.Attempt = 0 },
		"a job that climbs":  func(e *queue.Event) { e.JobID = "job/../x" },
		"a worker's key":     func(e *queue.Event) { e.WorkerID = "wrk_1:acks" },
		"negative use":       func(e *queue.Event) { e.Usage.CPUMicroseconds = -1 },
		"no id":              func(e *queue.Event) { e.ID = "" },
		"checkpoints":        func(e *queue.Event) { e.Checkpoints = make([]queue.StoredArtifact, queue.MaxCheckpoints+1) },
	} {
		event := newEvent("wrk_1")
		spoil(&event)
		report(t, q, event)
		if got := deliveries(t, q, 10); len(got) != 1 || got[0].ID != "" || got[0].Ref != (queue.Ref{}) {
			t.Errorf("%s: delivered %+v, want one without an id", name, got)
		} else if err := q.Acknowledge(t.Context(), got); err != nil {
			t.Fatal(err)
		}
	}
	beat(t, q, queue.Heartbeat{WorkerID: "wrk_" + strings.Repeat("x", 100)})
	beat(t, q, queue.Heartbeat{WorkerID: "wrk_1", Held: []queue.Held{{Ref: queue.Ref{TaskID: "../x", Attempt: 1}}}})
	many := queue.Heartbeat{WorkerID: "wrk_2", Held: slices.Repeat([]queue.Held{{Ref: queue.Ref{TaskID: "task_1", Attempt: 1}}},
		queue.MaxHeld+1)}
	beat(t, q, many)
	beat(t, q, queue.Heartbeat{WorkerID: "wrk_1", Held: []queue.Held{{Ref: queue.Ref{TaskID: "task_1", Attempt: 1},
		Used: queue.Use{CPUMicroseconds: -1}}}})
	if workers, err := q.Workers(t.Context()); err != nil || len(workers) != 0 {
		t.Errorf("the fleet is %d workers, %v; want nobody", len(workers), err)
	}
	many.Held = many.Held[1:]
	beat(t, q, many)
	if workers, err := q.Workers(t.Context()); err != nil || len(workers) != 1 {
		t.Errorf("the fleet is %d workers, %v; want the one that holds all that may be held", len(workers), err)
	}
}
