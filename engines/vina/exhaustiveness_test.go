package vina

import (
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// TestAnAutomaticSearchIsBounded holds what a docking shard may come to against its ligands' bounds, and expects what is usual
// to be less.
func TestAnAutomaticSearchIsBounded(t *testing.T) {
	t.Parallel()
	const imatinib = "Cc1ccc(cc1Nc2nccc(n2)c3cccnc3)NC(=O)c4ccc(cc4)CN5CCN(CC5)C"
	for _, test := range []struct {
		smiles         string
		most           int     // exhaustiveness
		cheapest, dear float64 // expected CPU seconds as a multiple of those of exhaustiveness 8
	}{
		{"CC(=O)Oc1ccccc1", 16, 0.8, 1.4},
		{"CC(C)Cc1ccc(cc1)C(C)C(=O)O", 32, 1, 1.6},
		{imatinib, 32, 1.5, 2.5},
	} {
		fixed := shardOf(t, requestFor(params(func(p *Params) {
			p.LigandIdentity, p.Exhaustiveness = ptr(smiles("x", test.smiles)), nil
		})), stageDock)
		auto := shardOf(t, requestFor(params(func(p *Params) {
			p.LigandIdentity, p.Exhaustiveness = ptr(smiles("x", test.smiles)), ptr(mol.AutoExhaustiveness)
		})), stageDock)
		if fixed.MostCPUSeconds != 0 {
			t.Errorf("%s: a search of a fixed length says that it may come to %g CPU seconds", test.smiles, fixed.MostCPUSeconds)
		}
		atoms := heavyAtomsGuess(smiles("x", test.smiles).Source, nil)
		if least := searchCPUSeconds(atoms, float64(test.most)); auto.MostCPUSeconds < least || auto.MostCPUSeconds > 2*least+5 {
			t.Errorf("%s: it may come to %g CPU seconds; the %d searches of its bound alone take %g", test.smiles,
				auto.MostCPUSeconds,
				test.most, least)
		}
		if ratio := auto.ExpectedCPUSeconds / fixed.ExpectedCPUSeconds; ratio < test.cheapest || ratio > test.dear {
			t.Errorf("%s: expected to take %.2f times what exhaustiveness 8 takes, want %g to %g", test.smiles, ratio,
				test.cheapest,
				test.dear)
		}
		if auto.ExpectedCPUSeconds >= auto.MostCPUSeconds {
			t.Errorf("%s: expected %g CPU seconds, the most %g", test.smiles, auto.ExpectedCPUSeconds, auto.MostCPUSeconds)
		}
	}
}

func TestAPlanTellsTheMostOfAnAutomaticSearch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		asked mol.Exhaustiveness
		most  int
		auto  bool
	}{{16, 16, false}, {mol.AutoExhaustiveness, 32, true}} {
		plan, err := New().Plan(requestFor(params(func(p *Params) { p.Exhaustiveness = &test.asked })))
		if err != nil {
			t.Fatal(err)
		}
		run, err := ReadPlan(plan)
		if err != nil || run.Exhaustiveness != test.most || run.AutoExhaustiveness != test.auto {
			t.Errorf("%v: got %d, auto %v, %v; want %d, %v", test.asked, run.Exhaustiveness, run.AutoExhaustiveness, err, test.most,
				test.auto)
		}
	}
}

// shardOf is the first shard of a stage of a request's plan.
func shardOf(t *testing.T, request engines.Request, stage string) engines.Shard {
	t.Helper()
	plan, err := New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range plan {
		if shard.Stage == stage {
			return shard
		}
	}
	t.Fatalf("the plan has no stage %s", stage)
	return engines.Shard{}
}
