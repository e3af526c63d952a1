package billing_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/billing"
)

// TestStartFeeIsDueOnceAJob: the run after a charged one costs its processor time alone.
func TestStartFeeIsDueOnceAJob(t *testing.T) {
	t.Parallel()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	const engine = "autodock-vina"
	fee := book.Engines[engine].StartFeePence
	rapid.Check(t, func(rt *rapid.T) {
		request := billing.QuoteRequest{Engine: engine, Hardware: "cpu",
			ExpectedCPUSeconds: rapid.Float64Range(0, 1e6).Draw(rt, "CPU seconds")}
		first, err := book.Quote(request)
		if err != nil {
			rt.Fatal(err)
		}
		request.StartFeePaid = true
		again, err := book.Quote(request)
		if err != nil {
			rt.Fatal(err)
		}
		if first.Breakdown.Sum()-again.Breakdown.Sum() != fee || again.HoldPence < again.EstimatedPence {
			rt.Fatalf("first run %+v, second %+v, want %d micropence less", first, again, fee)
		}
		used := billing.Micropence(rapid.Int64Range(0, 1e9).Draw(rt, "used"))
		charges := map[bool]int64{}
		for _, paid := range []bool{false, true} {
			charges[paid], err = book.Capture(billing.Accrual{Engine: engine, Used: used, HoldPence: 500, StartFeePaid: paid})
			if err != nil {
				rt.Fatal(err)
			}
		}
		want := min(max(used.RoundPence(), book.MinimumChargePence), 500)
		if used == 0 {
			want = 0
		}
		if charges[true] != want || charges[false] < want {
			rt.Fatalf("use of %d micropence is charged %d pence with the fee and %d without, want %d without", used, charges[false],
				charges[true], want)
		}
	})
}
