package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// deadline bounds every wait of these tests; a healthy machine needs a fraction.
const deadline = 30 * time.Second

// planLimit is more than any hold of these tests pays for.
const planLimit = 1000 * time.Hour

// threeStages plans like docking does: one essential preparation, with companions that are not, then n shards, each on so many
// devices, then one essential ranking. It carries the id of a priced engine; its command is never run.
type threeStages struct{}

func (threeStages) Spec() engines.Spec {
	return engines.Spec{ID: "autodock-vina", Title: "three stages", Hardware: "cpu", GPU: true}
}

func (threeStages) Plan(r engines.Request) ([]engines.Shard, error) {
	var params struct{ Shards, Companions, GPUs int }
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return nil, err
	}
	if params.Shards < 1 {
		return nil, &engines.InvalidError{Field: "shards", Message: "at least 1"}
	}
	shard := func(stage string, index int, name string, essential bool, inputs ...engines.Input) engines.Shard {
		return engines.Shard{Stage: stage, StageIndex: index, Name: name, Params: json.RawMessage(`{}`), Inputs: inputs,
			Essential: essential, Preparation: index == 0, Items: 1, ExpectedCPUSeconds: 60,
			Needs: engines.Resources{CPUs: 1, TimeLimit: planLimit}}
	}
	plan := []engines.Shard{shard("prepare", 0, "receptor", true, engines.Input{Name: "scene", Object: &r.SceneFile})}
	for i := range params.Companions {
		plan = append(plan, shard("prepare", 0, fmt.Sprintf("companion-%03d", i), false))
	}
	prepared := engines.Input{Name: "receptor", From: &engines.From{Stage: "prepare", Shard: "receptor", Output: "out"}}
	for i := range params.Shards {
		dock := shard("dock", 1, fmt.Sprintf("dock-%03d", i), false, prepared)
		dock.Needs.GPUs, dock.ExpectedGPUSeconds = params.GPUs, float64(60*params.GPUs)
		plan = append(plan, dock)
	}
	poses := engines.Input{Name: "poses", From: &engines.From{Stage: "dock", Output: "out"}}
	return append(plan, shard("rank", 2, "rank", true, poses)), nil
}

func (threeStages) Command(engines.Shard, engines.Dir) (engines.Command, error) {
	return engines.Command{}, nil
}

func (threeStages) Collect(engines.Shard, engines.Dir) (engines.Result, error) {
	return engines.Result{}, nil
}

// fabric is a scheduler on stores of its own.
type fabric struct {
	*scheduler.Scheduler
	t      testing.TB
	db     *sqlx.DB
	rdb    redis.UniversalClient
	queue  *queue.Queue
	ledger *billing.Ledger
}

func newFabric(t testing.TB, rdb redis.UniversalClient, prefix string, change ...func(*scheduler.Deps)) *fabric {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Alter(t, longAgo)
	db := pgtest.New(t)
	f := &fabric{t: t, db: db, rdb: rdb, queue: queue.New(rdb, prefix), ledger: billing.NewLedger(book, id.New)}
	deps := scheduler.Deps{DB: db, Queue: f.queue, Engines: engines.NewRegistry(threeStages{}), Prices: book,
		Ledger: f.ledger, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	for _, do := range change {
		do(&deps)
	}
	f.Scheduler = scheduler.New(deps)
	return f
}

// longAgo has attempts handed out long before they are: the workers of these tests say that they have worked for minutes and years.
const longAgo = `CREATE FUNCTION long_ago() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN NEW.queued_at := NEW.queued_at - interval '100 years'; RETURN NEW; END $$;
	CREATE TRIGGER long_ago BEFORE UPDATE OF queued_at ON tasks FOR EACH ROW EXECUTE FUNCTION long_ago()`

// asOwner changes the test's tables.
func asOwner(t testing.TB, statements string) {
	t.Helper()
	owner, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err == nil {
		_, err = owner.ExecContext(t.Context(), statements)
		err = errors.Join(err, owner.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// start makes a fabric whose scheduler runs until the test ends.
func start(t *testing.T) *fabric {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.lead()
	return f
}

// lead runs the scheduler until the test ends.
func (f *fabric) lead() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) })
	f.t.Cleanup(func() { cancel(); running.Wait(); f.audit() })
}

// account opens an account with the free plan's credit.
func (f *fabric) account() string {
	f.t.Helper()
	accountID := id.New("acct_")
	err := postgres.InTx(context.Background(), f.db, func(tx *sqlx.Tx) error {
		_, err := tx.Exec(`INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $2, '', '', 'free', $3)`, accountID, accountID+"@example.test", f.Now())
		if err != nil {
			return err
		}
		return f.ledger.OpenAccount(context.Background(), tx, accountID, "free", f.Now())
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return accountID
}

func submission(accountID string, shards int, key string) scheduler.Submission {
	params := json.RawMessage(fmt.Sprintf(`{"shards":%d}`, shards))
	return scheduler.Submission{AccountID: accountID, Plan: "free", Engine: threeStages{}, Canonical: params, IdempotencyKey: key,
		Request: engines.Request{JobType: "simulation", Recovery: "standard",
			SceneFile: engines.Object{StorageKey: "scene", ByteSize: 1}, Params: params}}
}

func (f *fabric) submit(accountID string, shards int) string {
	f.t.Helper()
	receipt, err := f.Submit(context.Background(), submission(accountID, shards, ""))
	if err != nil {
		f.t.Fatal(err)
	}
	return receipt.JobID
}

// bill is what a job's row says about its end.
type bill struct {
	Status  job.Status `db:"status"`
	Held    int64      `db:"held_pence"`
	Charged *int64     `db:"charged_pence"`
	Class   *string    `db:"failure_class"`
	Message *string    `db:"error_message"`
}

func (f *fabric) bill(jobID string) bill {
	f.t.Helper()
	var b bill
	if err := f.db.Get(&b, `SELECT status, held_pence, charged_pence, failure_class, error_message FROM jobs WHERE id = $1`,
		jobID); err != nil {
		f.t.Fatal(err)
	}
	return b
}

// eventually polls until the condition holds.
func (f *fabric) eventually(what string, holds func() bool) {
	f.t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if holds() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	f.t.Fatalf("not within %s: %s", deadline, what)
}

func (f *fabric) awaitStatus(jobID string, want job.Status) bill {
	f.t.Helper()
	f.eventually(fmt.Sprintf("job is %s", want), func() bool { return f.bill(jobID).Status == want })
	return f.bill(jobID)
}

func (f *fabric) count(query string, args ...any) int {
	f.t.Helper()
	var n int
	if err := f.db.Get(&n, query, args...); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// audit is the oracle: the books balance, nothing is held for an ended job, no run of a job has two charges, what a job says of
// its money agrees with the ledger and every ended job's tasks have ended.
func (f *fabric) audit() {
	f.t.Helper()
	for _, violation := range f.violations() {
		f.t.Error(violation)
	}
}

func (f *fabric) violations() []string {
	f.t.Helper()
	var found []string
	ledger, err := f.ledger.Audit(context.Background(), f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, v := range ledger {
		found = append(found, fmt.Sprintf("ledger: %s", v))
	}
	for what, query := range map[string]string{
		"hold open for an ended job": `SELECT count(*) FROM holds h JOIN jobs j ON j.id = h.job_id WHERE j.finished_at IS NOT NULL
			AND h.status = 'open'`,
		"task open in an ended job": `SELECT count(*) FROM tasks t JOIN jobs j ON j.id = t.job_id WHERE j.finished_at IS NOT NULL
			AND t.finished_at IS NULL`,
		"charge other than the ledger": `SELECT count(*) FROM jobs j WHERE j.charged_pence IS NOT NULL
			AND j.charged_pence <> -coalesce((SELECT sum(amount_pence) FROM ledger_entries e WHERE e.job_id = j.id
			AND e.type = 'charge'), 0)`,
		"charge above the hold": `SELECT count(*) FROM jobs WHERE charged_pence > held_pence`,
		"hold other than the ledger": `SELECT count(*) FROM jobs j
			WHERE held_pence - settled_pence <> (SELECT wallet_pence + monthly_pence FROM holds h WHERE h.job_id = j.id
			AND h.run = j.attempts)`,
		"earlier charges forgotten": `SELECT count(*) FROM jobs j WHERE settled_pence <> coalesce((SELECT sum(captured_pence)
			FROM holds h WHERE h.job_id = j.id AND h.run < j.attempts), 0)`,
		"use other than the attempts": `SELECT count(*) FROM jobs j
			WHERE accrued_micropence - 1000000 * settled_pence <> coalesce((SELECT sum(charged_micropence) FROM task_attempts a
			JOIN tasks t ON t.id = a.task_id WHERE t.job_id = j.id AND a.run = j.attempts), 0)`,
		"task with two successes": `SELECT count(*) FROM (SELECT task_id FROM task_attempts WHERE outcome = 'SUCCEEDED'
			GROUP BY task_id, run HAVING count(*) > 1) s`,
		"files of two attempts": `SELECT count(*) FROM (SELECT task_id FROM artifacts
			GROUP BY task_id HAVING count(DISTINCT split_part(storage_key, '/', 6)) > 1) s`,
		"checkpoints of a success": `SELECT count(*) FROM task_checkpoints k JOIN tasks t ON t.id = k.task_id
			WHERE t.status = 'SUCCEEDED'`,
		"another attempt's checkpoint": `SELECT count(*) FROM task_checkpoints k JOIN tasks t ON t.id = k.task_id
			WHERE k.attempt > t.attempt OR split_part(k.storage_key, '/', 5) <> t.id OR split_part(k.storage_key, '/',
			6) <> k.attempt::text`,
		"results of a task without": `SELECT count(*) FROM tasks t JOIN task_details d ON d.task_id = t.id
			WHERE t.status <> 'SUCCEEDED' AND (d.summary IS NOT NULL OR d.programs IS NOT NULL)`,
	} {
		if n := f.count(query); n > 0 {
			found = append(found, fmt.Sprintf("%s: %d", what, n))
		}
	}
	return found
}

// cpuQueue and gpuQueue are the queues of the engine threeStages.
const (
	cpuQueue = "cpu.autodock-vina"
	gpuQueue = "gpu.autodock-vina"
)

// hand is a worker driven by a test: it claims orders through the real queue and reports what the test tells it to.
type hand struct {
	f      *fabric
	id     string
	self   queue.Claim // signs its heartbeats
	orders chan queue.WorkOrder
	queues []string

	mu   sync.Mutex
	held map[queue.Ref]queue.WorkOrder
	used queue.Use // of each order that it holds, as its heartbeats tell
	stop chan struct{}
	done chan struct{}

	consumer *queue.Consumer
	// behave answers an order with the event to report, or nil to keep it for the test.
	behave func(queue.WorkOrder) *queue.Event
}

// hire starts a worker without devices with the given number of slots.
func (f *fabric) hire(slots int, behave func(queue.WorkOrder) *queue.Event) *hand {
	f.t.Helper()
	return f.hireFor([]string{cpuQueue}, slots, behave)
}

// hireFor starts a worker that serves the queues. Of the class gpu it takes as many tasks as of the other.
func (f *fabric) hireFor(queues []string, slots int, behave func(queue.WorkOrder) *queue.Event) *hand {
	f.t.Helper()
	h := &hand{f: f, id: id.New("wrk_"), self: newClaim(f.t), queues: queues, orders: make(chan queue.WorkOrder, 1000),
		held: map[queue.Ref]queue.WorkOrder{}, stop: make(chan struct{}), done: make(chan struct{}), behave: behave}
	consumer, err := f.queue.Consume(queues, slots, 10*time.Millisecond, slog.New(slog.DiscardHandler), h.claim)
	if err != nil {
		f.t.Fatal(err)
	}
	h.consumer = consumer
	go h.beat(slots)
	f.t.Cleanup(func() {
		h.kill()
		consumer.Close()
	})
	return h
}

func (h *hand) claim(order queue.WorkOrder) {
	if slices.Contains(order.Avoid, h.id) {
		event := failure(engines.System)
		event.GivenBack, event.Failure.Code = true, "WORKER_KEPT_OFF"
		h.report(order, *event)
		return
	}
	h.mu.Lock()
	h.held[order.Ref()] = order
	h.mu.Unlock()
	h.report(order, queue.Event{Kind: queue.Started, Pickup: time.Since(order.CommittedAt)})
	if event := h.behave(order); event != nil {
		h.finish(order, *event)
	} else {
		h.orders <- order
	}
}

// finish reports the end of an order and lets go of it.
func (h *hand) finish(order queue.WorkOrder, event queue.Event) {
	h.report(order, event)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, order.Ref())
}

// spend lets its heartbeats tell that each order which it holds has used so much.
func (h *hand) spend(used queue.Use) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used = used
}

func (h *hand) report(order queue.WorkOrder, event queue.Event) {
	event.ID, event.Ref, event.JobID, event.WorkerID, event.Engine = id.New("evt_"), order.Ref(), order.JobID, h.id, order.Engine
	event.Claim = order.Claim
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if _, err := h.f.queue.Report(context.Background(), []queue.Event{event}); err == nil {
			return
		}
	}
	h.f.t.Error("event not reported")
}

func (h *hand) beat(slots int) {
	defer close(h.done)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for seq := int64(0); ; seq++ {
		hb := queue.Heartbeat{WorkerID: h.id, Seq: seq, Queues: h.queues, Slots: slots,
			Devices: queue.Devices{Total: slots, Slots: slots}, Programs: handsPrograms}
		h.mu.Lock()
		for ref, order := range h.held {
			held := queue.Held{Ref: ref, JobID: order.JobID, Phase: queue.Running, Progress: 0.5, Message: "half way", Used: h.used}
			hb.Held = append(hb.Held, held.Proven(order.Claim, h.self))
		}
		h.mu.Unlock()
		_, _ = h.f.queue.Beat(context.Background(), hb.Signed(h.self))
		select {
		case <-h.stop:
			return
		case <-ticker.C:
		}
	}
}

// kill silences the worker, as kill -9 does: it claims nothing more and its heart stops.
func (h *hand) kill() {
	h.mu.Lock()
	select {
	case <-h.stop:
	default:
		close(h.stop)
		h.consumer.Stop()
	}
	h.mu.Unlock()
	<-h.done
}

// success is the end of an attempt that used ten CPU seconds and left one output.
func success(order queue.WorkOrder) *queue.Event {
	return &queue.Event{Kind: queue.Succeeded, Usage: queue.Usage{CPUMicroseconds: 10_000_000, WallMs: 10_000, BytesOut: 100},
		Result: &queue.Result{Summary: []byte(`{"ok":true}`), Artifacts: []queue.StoredArtifact{{
			Artifact: engines.Artifact{Name: "out", Role: engines.RoleResult, MediaType: "text/plain", Format: "log"},
			Object:   engines.Object{StorageKey: order.OutputPrefix + "out", SHA256: "00", ByteSize: 100}}}}}
}

func failure(class engines.FailureClass) *queue.Event {
	return &queue.Event{Kind: queue.Failed, Usage: queue.Usage{CPUMicroseconds: 10_000_000},
		Failure: &engines.Failure{Class: class, Code: "BROKEN", Message: "it broke"}}
}
