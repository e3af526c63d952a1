package scheduler_test

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// histories is how many are tried unless the flag -rapid.checks says otherwise: each takes half a second.
const histories = 30

func limitHistories(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(histories)); err != nil {
		t.Fatal(err)
	}
}

// TestAnyHistoryEndsWithRightResultsAndBills drives two schedulers on real stores through random histories of users, workers,
// faults and late, repeated or reordered reports, step by step and without waiting. Whatever happened, when the faults end
// every job ends, every result counts once, and every account has paid for what was used and no more.
func TestAnyHistoryEndsWithRightResultsAndBills(t *testing.T) {
	t.Parallel()
	server, _ := redistest.Private(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	f := newFabric(t, rdb, "")
	second := scheduler.New(f.Deps)
	limitHistories(t)
	clean := true
	rapid.Check(t, func(rt *rapid.T) {
		if !clean { // the history before this one failed half-way
			f.db.MustExec(`TRUNCATE jobs, accounts, holds, ledger_entries CASCADE`)
		}
		clean = false
		w := &world{f: f, t: rt, ctx: t.Context(), clock: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), runs: map[queue.Ref]*run{},
			kept: map[queue.Ref]int64{}}
		f.Now, second.Now = w.now, w.now
		w.leaders = []*scheduler.Leader{scheduler.NewLeader(f.Scheduler, "first"), scheduler.NewLeader(second, "second")}
		w.flush()
		w.run()
		clean = !rt.Failed()
	})
}
