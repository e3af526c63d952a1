package fasta_test

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
		{strings.Repeat("A:", fasta.MaxChains) + "A", "27 chains"},
	} {
		most := 10
		if c.reason == "" {
			most = 40
		}
		got := fasta.Judge([]fasta.Record{{Name: "a", Letters: c.letters}}, most)[0]
		if (c.reason == "") != (got.Reason == "") || !strings.Contains(got.Reason, c.reason) ||
			(got.Chains == nil) == (c.reason == "") {
			t.Errorf("Judge(%q) is %+v, want the reason %q", c.letters, got, c.reason)
		}
	}
	doubles := fasta.Judge([]fasta.Record{{Name: "a", Letters: "MX"}, {Name: "a", Letters: "MK"}, {Name: "a", Letters: "MV"}}, 10)
	if doubles[1].Reason != "" || !strings.Contains(doubles[2].Reason, "record 2") {
		t.Errorf("got %+v, want the third refused for the name of the second", doubles)
	}
}
