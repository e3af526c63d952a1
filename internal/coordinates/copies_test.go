package coordinates

import (
	"fmt"
	"strings"
	"testing"
)

// TestCopies: the recipes of assemblies in both formats. In the PDB file an operation of each assembly has the number 1.
func TestCopies(t *testing.T) {
	t.Parallel()
	biomt := func(n int, x, shift string) string {
		return fmt.Sprintf("REMARK 350   BIOMT1 %3d %9s  0.000000  0.000000 %14s\n"+
			"REMARK 350   BIOMT2 %3d  0.000000  1.000000  0.000000        0.00000\n"+
			"REMARK 350   BIOMT3 %3d  0.000000  0.000000  1.000000        0.00000\n", n, x, shift, n, n)
	}
	const chains = "REMARK 350 APPLY THE FOLLOWING TO CHAINS: "
	pdb := "REMARK 350 BIOMOLECULE: 1\n" + chains + "A\n" + biomt(1, "-1.000000", "-29.18500") + chains +
		"B,\nREMARK 350                    AND CHAINS: C\n" + biomt(2, "1.000000", "0.00000") + "REMARK 350 BIOMOLECULE: 2\n" +
		chains + "A\n" + biomt(1, "1.000000", "0.00000") + biomt(2, "1.000000", "9.00000") + glycine("A", 1, 0)
	l, err := List([]byte(pdb))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		assembly, chain string
		count           int
		operators       string
		to              Point // where the first copy has (1, 2, 3)
	}{
		{"1", "A", 1, "1", Point{-30.185, 2, 3}}, {"1", "B", 1, "2", Point{1, 2, 3}}, {"1", "C", 1, "2", Point{1, 2, 3}},
		{"2", "A", 2, "3", Point{1, 2, 3}},
	} {
		got := l.Copies[c.assembly][c.chain]
		if to := got.First.Of(Point{1, 2, 3}); got.Count != c.count || got.Operators != c.operators || to != c.to {
			t.Errorf("assembly %s, chain %s: got %+v, to %v", c.assembly, c.chain, got, to)
		}
	}
	if l.Copies["1"]["A"].First.IsStill() || !l.Copies["1"]["B"].First.IsStill() {
		t.Error("what moves and what does not is mistaken")
	}
}

func TestCopiesOfExpressions(t *testing.T) {
	t.Parallel()
	l := &lister{Listing: &Listing{}}
	l.operate("X0", Motion{Rotation: still.Rotation, Shift: [3]float64{10, 0, 0}})
	l.operate("5", Motion{Rotation: [3][3]float64{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}})
	for _, c := range []struct {
		expression string
		count      int
		first      string
	}{
		{"1", 1, "1"}, {"1,2,3", 3, "1"}, {"(1-60)", 60, "1"}, {"(X0)(1-5,9)", 6, "X0-1"}, {"P", 1, "P"}, {"", 0, ""},
		{"1-999999999,2-999999999", maxCopies, "1"}, {"(1-999999)(1-999999)", maxCopies, "1-1"}, {"()", 0, ""},
	} {
		count, first := l.expand(c.expression)
		if count != c.count || strings.Join(first, "-") != c.first {
			t.Errorf("%s: got %d, %v, want %d, %s", c.expression, count, first, c.count, c.first)
		}
	}
	l.generate("1", "(X0)(5)", "A")
	if got := l.copies()["1"]["A"]; got.First.Of(Point{1, 0, 0}) != (Point{10, 1, 0}) || got.Operators != "X0-5" {
		t.Errorf("two operations, the last first: got %+v", got) // turned, and then shifted
	}
}
