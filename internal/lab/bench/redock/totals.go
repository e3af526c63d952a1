package redock

import "fmt"

// The goals of the measurement, as parts of all cases.
const (
	leastFirst   = 0.60 // whose best-scored pose is good
	leastClosest = 0.80 // of whose poses one is good
	// mostBehind is how many cases fewer than the peer may be found again.
	mostBehind = 1
)

// Tally counts the cases of one way of ranking.
type Tally struct {
	Prepared int `json:"prepared"` // have poses
	First    int `json:"first"`    // whose first pose is within 2 Å
	Closest  int `json:"closest"`  // of whose poses one is within 2 Å
}

// Verdict is one goal, and whether it is met.
type Verdict struct {
	Goal  string `json:"goal"`
	Found string `json:"found"`
	Met   bool   `json:"met"`
}

// Totals are the figures of all cases together.
type Totals struct {
	Cases      int       `json:"cases"`
	Fabric     Tally     `json:"fabric"`
	FabricCNN  *Tally    `json:"fabricCnn,omitempty"` // its poses, ranked by their CNN score; nil where there are none
	Bare       *Tally    `json:"bare,omitempty"`      // nil where the peer was skipped
	CPUSeconds float64   `json:"cpuSeconds"`          // of molfabric
	BareCPU    float64   `json:"bareCpuSeconds"`
	Unmeasured []string  `json:"unmeasured,omitempty"` // cases whose own files are at fault; they count nowhere
	Verdicts   []Verdict `json:"verdicts"`
}

// count adds a case's poses, ranked so that the first one has this deviation.
func (t *Tally) count(first, closest float64) {
	t.Prepared++
	if first <= goodAngstrom {
		t.First++
	}
	if closest <= goodAngstrom {
		t.Closest++
	}
}

// totalsOf counts the records and holds them against the goals.
func totalsOf(records []Record) Totals {
	var t Totals
	for _, r := range records {
		if r.Problem != "" {
			t.Unmeasured = append(t.Unmeasured, r.Case.Name+": "+r.Problem)
			continue
		}
		t.Cases++
		if r.Fabric != nil {
			t.countFabric(r.Fabric.Poses)
		}
		if r.Bare != nil {
			t.countBare(r.Bare.Poses)
		}
	}
	t.judge()
	return t
}

func (t *Totals) countFabric(p Poses) {
	t.CPUSeconds += p.CPUSeconds
	first, ok := p.first()
	if !ok {
		return
	}
	t.Fabric.count(first, p.closest())
	if byCNN, ok := p.firstByCNN(); ok {
		if t.FabricCNN == nil {
			t.FabricCNN = &Tally{}
		}
		t.FabricCNN.count(byCNN, p.closest())
	}
}

func (t *Totals) countBare(p Poses) {
	if t.Bare == nil {
		t.Bare = &Tally{}
	}
	t.BareCPU += p.CPUSeconds
	if first, ok := p.first(); ok {
		t.Bare.count(first, p.closest())
	}
}

func (t *Totals) judge() {
	n := t.Cases
	t.Verdicts = []Verdict{
		{"every case is prepared and docked", part(t.Fabric.Prepared, n), t.Fabric.Prepared == n},
		{fmt.Sprintf("the best-scored pose within %g Å in at least %.0f %%", goodAngstrom, 100*leastFirst), part(t.Fabric.First, n),
			float64(t.Fabric.First) >= leastFirst*float64(n)},
		{fmt.Sprintf("one of the poses within %g Å in at least %.0f %%", goodAngstrom, 100*leastClosest), part(t.Fabric.Closest, n),
			float64(t.Fabric.Closest) >= leastClosest*float64(n)},
	}
	if t.Bare == nil {
		return
	}
	behind := max(t.Bare.First-t.Fabric.First, t.Bare.Closest-t.Fabric.Closest)
	t.Verdicts = append(t.Verdicts, Verdict{
		Goal: fmt.Sprintf("at most %d case fewer than bare Vina", mostBehind),
		Found: fmt.Sprintf("first pose %d against %d, any pose %d against %d",
			t.Fabric.First, t.Bare.First, t.Fabric.Closest, t.Bare.Closest),
		Met: behind <= mostBehind,
	})
}

// part is a count of all, in words.
func part(count, of int) string {
	if of == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%.0f %%)", count, of, 100*float64(count)/float64(of))
}
