package esmfold

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/fasta"
)

// TestJudge: every record that cannot be folded says why, and none of them hides another.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		letters, reason string // "" for one that can be folded
	}{
		{"mkvla", ""}, {"MKV*", ""}, {"MKV:mkv", ""}, {"", "is empty"}, {"MKV:", "no residue in chain 2"},
		{"MKB", "'B' at position 3, which is asparagine or aspartate"}, {"M-K", "'-' at position 2, which is a gap"},
		{"MU", "selenocysteine"}, {"M*K", "a stop"}, {"M1", "'1' at position 2, which is no residue"},
		{strings.Repeat("A", 11), "11 residues"}, {"AAAAA:AAAAA", "35 residues with the linkers"},
		{strings.Repeat("A:", maxChains) + "A", "27 chains"},
	} {
		most := 10
		if c.reason == "" {
			most = 40
		}
		got := Judge([]fasta.Record{{Name: "a", Letters: c.letters}}, most)[0]
		if (c.reason == "") != (got.Reason == "") || !strings.Contains(got.Reason, c.reason) || (got.Chains == nil) == (c.reason == "") {
			t.Errorf("Judge(%q) is %+v, want the reason %q", c.letters, got, c.reason)
		}
	}
	doubles := Judge([]fasta.Record{{Name: "a", Letters: "MX"}, {Name: "a", Letters: "MK"}, {Name: "a", Letters: "MV"}}, 10)
	if doubles[1].Reason != "" || !strings.Contains(doubles[2].Reason, "record 2") {
		t.Errorf("got %+v, want the third refused for the name of the second", doubles)
	}
}

func TestFileOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"ubiquitin": "0003-ubiquitin", "sp|P0CG48|UBC": "0003-sp-P0CG48-UBC", "../..": "0003-protein",
		strings.Repeat("ä", 50): "0003-protein", "record 3": "0003-record-3"} {
		if got := fileOf(2, name); got != want {
			t.Errorf("fileOf(%q) is %q, want %q", name, got, want)
		}
	}
}

// TestParts: every protein is in one part, and no part is longer than a summary holds.
func TestParts(t *testing.T) {
	t.Parallel()
	var folded []foldSequence
	for i := range 300 {
		folded = append(folded, foldSequence{File: fileOf(i, "p"), Chains: []string{strings.Repeat("A", 1+i)}})
	}
	for _, tasks := range []int{0, 1, 7, 300} {
		q := request{weights: trueWeights(), taskCount: tasks, device: deviceCPU}
		seen := map[string]bool{}
		parts := q.parts(folded)
		for _, part := range parts {
			for i, one := range part {
				if seen[one.File] || len(part) > maxShardSequences || i > 0 && tokens(one.Chains) < tokens(part[i-1].Chains) {
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
