package sandbox

import (
	"strconv"
	"testing"
)

// BenchmarkCalls makes a million system calls in one command, with and without the filter: the worst that a program can lose to it.
func BenchmarkCalls(b *testing.B) {
	for _, filtered := range []bool{true, false} {
		b.Run("filtered="+strconv.FormatBool(filtered), func(b *testing.B) {
			r := newRunner(b, python(b))
			if !filtered {
				r.filter = nil
			}
			spec := shellSpec(b, "")
			spec.Command.Argv = []string{"python", "-c", "import os\nfor _ in range(1_000_000): os.getppid()"}
			cpu := int64(0)
			for b.Loop() {
				outcome := mustRun(b, r, spec)
				expect(b, outcome, Exited, 0)
				cpu += outcome.Usage.CPUMicroseconds
			}
			b.ReportMetric(float64(cpu)/float64(b.N), "cpu-µs/op")
		})
	}
}
