package bench

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// TestFleetRunsEveryTaskOnce lets thirty workers of one process and a real scheduler run a job on real stores.
func TestFleetRunsEveryTaskOnce(t *testing.T) {
	t.Parallel()
	const tasks = 300
	server, _ := redistest.Private(t)
	db := pgtest.New(t)
	lead, account := leading(t, db, server.URL())
	f, err := hire(t.Context(), fleetOptions{Workers: 30, Slots: 1, RedisURL: server.URL(), Scratch: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	work := engines.Request{JobType: engines.JobTypeSimulation, Recovery: "standard",
		SceneFile: engines.Object{StorageKey: "scene", ByteSize: 1}, Params: []byte(`{}`),
		Parameters: map[string]string{"Tasks": strconv.Itoa(tasks), "Seconds": "0.01"}}
	receipt, err := lead.Submit(t.Context(), scheduler.Submission{Request: work, AccountID: account, Plan: "free",
		Engine: probe.New(), Canonical: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{db: db, scheduler: &role{exited: make(chan struct{})}}
	if err := d.awaitEnd(t.Context(), receipt.JobID); err != nil {
		t.Fatal(err)
	}
	if err := f.dismiss(); err != nil {
		t.Fatal(err)
	}
	commits, err := readCommits(t.Context(), db, []string{receipt.JobID})
	if err != nil {
		t.Fatal(err)
	}
	spans := f.spans()
	waits := latencies(spans, commits)
	if len(spans) != tasks || len(waits) != tasks {
		t.Fatalf("%d runs and %d waits of %d tasks", len(spans), len(waits), tasks)
	}
	for i, w := range waits {
		if w.Handed <= 0 || w.Accepted < w.Handed || spans[i].Ended.Sub(spans[i].Started) < 10*time.Millisecond {
			t.Errorf("task %s waited %+v and ran from %s to %s", spans[i].Task, w, spans[i].Started, spans[i].Ended)
		}
	}
	if len(f.spans()) != 0 {
		t.Error("spans are told twice")
	}
}

// leading runs a scheduler until the test ends, and opens an account with credit.
func leading(t *testing.T, db *sqlx.DB, redisURL string) (*scheduler.Scheduler, string) {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	rdb, err := queue.Connect(t.Context(), redisURL, "")
	if err != nil {
		t.Fatal(err)
	}
	ledger := billing.NewLedger(book, id.New)
	lead := scheduler.New(scheduler.Deps{DB: db, Queue: queue.New(rdb, ""), Engines: engines.NewRegistry(probe.New()), Prices: book,
		Ledger: ledger,
		Log:    slog.New(slog.DiscardHandler), Now: time.Now})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = lead.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	account := id.New("acct_")
	err = postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
		if _, err := tx.Exec(`INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $2, '', '', 'free', now())`, account, account+"@example.test"); err != nil {
			return err
		}
		return ledger.OpenAccount(t.Context(), tx, account, "free", time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	return lead, account
}

func TestLatenciesAreBinned(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	spans := []span{{Task: "a", Started: at(10)}, {Task: "b", Started: at(10.5)}, {Task: "c", Started: at(12.5)},
		{Task: "b", Started: at(13)}, {Task: "x", Started: at(13.5)}}
	commits := map[string]commitTimes{"a": {at(9), at(9.5)}, "b": {at(9), at(12)}, "c": {at(9), at(12.25)}}
	bins := binned(latencies(spans, commits), 2, func(l latency) float64 { return l.Handed })
	want := []latencyBin{{AtSeconds: 1, Tasks: 1, P50Ms: 500, P95Ms: 500, P99Ms: 500},
		{AtSeconds: 3, Tasks: 2, P50Ms: 250, P95Ms: 1000, P99Ms: 1000}}
	if len(bins) != len(want) || bins[0] != want[0] || bins[1] != want[1] {
		t.Errorf("got %+v, want %+v", bins, want)
	}
	if got := quantile([]float64{4, 1, 3, 2}, 0.5); got != 2 {
		t.Errorf("the median of four is %v, want 2", got)
	}
}

func TestProcessesAreSummedAsTrees(t *testing.T) {
	t.Parallel()
	all := processes{1: {0, time.Second}, 2: {1, 2 * time.Second}, 3: {2, 4 * time.Second}, 4: {1, 8 * time.Second}}
	if got := all.cpu(2); got != 6*time.Second {
		t.Errorf("the tree below 2 has used %s, want 6s", got)
	}
	if _, err := readProcesses(); err != nil {
		t.Error(err)
	}
}
