package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// TestDispatchReadsThePartialIndexAlone holds the pick to its promise: whatever the backlog, it reads a few index entries of
// each account that waits.
func TestDispatchReadsThePartialIndexAlone(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.backlog(t, 20_000)
	query := strings.NewReplacer("$1", "'"+cpuQueue+"'", "$2", "now()", "$3", "12", "$4", "'{}'", "$5",
		fmt.Sprint(scheduler.SmallBacklog), "$6", fmt.Sprint(scheduler.SmallTurns)).Replace(scheduler.NextReadyQuery)
	var plan []string
	if err := f.db.Select(&plan, `EXPLAIN (ANALYZE, COSTS OFF) `+query); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(plan, "\n")
	if strings.Contains(text, "Seq Scan on tasks") || !strings.Contains(text, "tasks_pending") {
		t.Errorf("the plan does not use tasks_pending alone:\n%s", text)
	}
}

// backlog makes n ready tasks of one account's jobs and three of each of a hundred others'.
func (f *fabric) backlog(t testing.TB, n int) (jobID string) {
	t.Helper()
	large := f.account()
	f.enrich(t, large)
	const perJob = 10_000
	for range n / perJob {
		jobID = f.submit(large, perJob-2)
	}
	for range 100 {
		f.submit(f.account(), 1)
	}
	f.db.MustExec(`UPDATE tasks SET ready = true`)
	f.db.MustExec(`VACUUM ANALYZE tasks`)
	return jobID
}

func (f *fabric) enrich(t testing.TB, accountID string) {
	t.Helper()
	err := postgres.InTx(t.Context(), f.db, func(tx *sqlx.Tx) error {
		_, err := f.ledger.Credit(t.Context(), tx, billing.CreditRequest{AccountID: accountID, Type: billing.EntryBonus,
			Bucket: billing.Wallet, Pence: 1_000_000, UniqueKey: id.New("key_"), Description: "rich"}, f.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkPick is what one dispatch asks of a backlog.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", n), func(b *testing.B) {
			rdb, _, prefix := redistest.New(b)
			f := newFabric(b, rdb, prefix)
			f.backlog(b, n)
			leader := scheduler.NewLeader(f.Scheduler, "")
			for b.Loop() {
				if _, err := leader.NextReady(context.Background(), cpuQueue, 12); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPickWithLicences is the same where, beside the backlog, a hundred accounts' tasks wait for a seat, a hundred of each.
func BenchmarkPickWithLicences(b *testing.B) {
	rdb, _, prefix := redistest.New(b)
	f := newFabric(b, rdb, prefix)
	f.backlog(b, 10_000)
	for range 100 {
		accountID := f.account()
		f.server(accountID, seating{seats: 1, enforcement: "ENFORCED", enabled: true})
		f.submitWith(accountID, 100, houdini)
	}
	f.db.MustExec(`UPDATE tasks SET status = 'RUNNING' WHERE license_key IS NOT NULL AND ordinal = 0`)
	f.db.MustExec(`UPDATE tasks SET ready = true`)
	f.db.MustExec(`VACUUM ANALYZE tasks`)
	leader := scheduler.NewLeader(f.Scheduler, "")
	for b.Loop() {
		if _, err := leader.NextReady(context.Background(), cpuQueue, 12); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRollUp is what each batch of reports costs beside the reports themselves.
func BenchmarkRollUp(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			rdb, _, prefix := redistest.New(b)
			f := newFabric(b, rdb, prefix)
			accountID := f.account()
			f.enrich(b, accountID)
			jobID := f.submit(accountID, n-2)
			f.db.MustExec(`UPDATE tasks SET ready = true, status = (ARRAY['SUCCEEDED', 'RUNNING', 'PENDING',
				'PENDING'])[1 + ordinal % 4]`)
			f.db.MustExec(`ANALYZE tasks`)
			leader := scheduler.NewLeader(f.Scheduler, "")
			for b.Loop() {
				if err := leader.RollUp(context.Background(), jobID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
