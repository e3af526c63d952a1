package billing_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/molfabric/molfabric/billing"
)

// BenchmarkHoldAndSettle is what the ledger adds to a job: two transactions. One account is the worst case, in which every
// job waits for the same lock.
func BenchmarkHoldAndSettle(b *testing.B) {
	for _, accounts := range []int{1, 16} {
		b.Run(fmt.Sprintf("accounts=%d", accounts), func(b *testing.B) {
			bench := newBench(b)
			ids := make([]string, accounts)
			for i := range ids {
				ids[i] = bench.mustOpen(b, midMarch)
				if _, err := bench.credit(topUp(ids[i], ids[i], billing.MaxPence/2), midMarch); err != nil {
					b.Fatal(err)
				}
			}
			var jobs atomic.Int64
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := jobs.Add(1)
					job := fmt.Sprintf("job_%d", n)
					if err := bench.hold(ids[int(n)%accounts], job, 10, midMarch); err != nil {
						b.Error(err)
						return
					}
					if _, err := bench.settle(job, 5, midMarch); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
