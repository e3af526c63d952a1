package vina

import (
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// BenchmarkLibrary is what a submission of 10,000 ligands makes of them: what they want, their plan, and the plan as it
// is recorded.
func BenchmarkLibrary(b *testing.B) {
	p := params(library(manyLigands(10_000, "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F")...))
	r := requestFor(p)
	engines.Remember(&r, p)
	plan, err := New().Plan(r)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("wants", func(b *testing.B) {
		for b.Loop() {
			if _, err := New().Wants(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			if _, err := New().Plan(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadPlan(plan); err != nil {
				b.Fatal(err)
			}
		}
	})
}
