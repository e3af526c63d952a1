package fold

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/fasta"
)

func TestFileOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"ubiquitin": "0003-ubiquitin", "sp|P0CG48|UBC": "0003-sp-P0CG48-UBC",
		"../..":                 "0003-protein",
		strings.Repeat("ä", 50): "0003-protein", "record 3": "0003-record-3"} {
		if got := fileOf(2, name); got != want {
			t.Errorf("fileOf(%q) is %q, want %q", name, got, want)
		}
	}
}

// TestParts: every protein is in one part, and no part is longer than a summary holds.
func TestParts(t *testing.T) {
	t.Parallel()
	var folded []Sequence
	for i := range 300 {
		folded = append(folded, Sequence{File: fileOf(i, "p"), Chains: []string{strings.Repeat("A", 1+i)}})
	}
	for _, tasks := range []int{0, 1, 7, 300} {
		q := Request{TaskCount: tasks}
		seen := map[string]bool{}
		parts := q.parts(folded, func(s Sequence) float64 { return 4 * float64(len(s.Chains[0])) })
		for _, part := range parts {
			for i, one := range part {
				if seen[one.File] || len(part) > maxShardSequences ||
					i > 0 && fasta.Tokens(one.Chains) < fasta.Tokens(part[i-1].Chains) {
					t.Fatalf("taskCount %d: %s stands twice, out of order or in a part of %d", tasks, one.File, len(part))
				}
				seen[one.File] = true
			}
		}
		if len(seen) != len(folded) || tasks == 300 && len(parts) != 300 {
			t.Errorf("taskCount %d: %d of %d proteins in %d parts", tasks, len(seen), len(folded), len(parts))
		}
	}
}
