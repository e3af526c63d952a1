package scene

import (
	"fmt"
	"strings"
	"testing"
)

// twoChains has chains A and B, 100 Å apart. Assembly 1 has A moved to 10 Å before B; assembly 2 has B three times.
func twoChains(t *testing.T) Files {
	t.Helper()
	biomt := func(n int, shift float64) string {
		var text strings.Builder
		for row := range 3 {
			x := [4]float64{}
			x[row] = 1
			if row == 0 {
				x[3] = shift
			}
			fmt.Fprintf(&text, "REMARK 350   BIOMT%d %3d %9.6f %9.6f %9.6f %14.5f\n", row+1, n, x[0], x[1], x[2], x[3])
		}
		return text.String()
	}
	const chains = "REMARK 350 APPLY THE FOLLOWING TO CHAINS: "
	text := "REMARK 350 BIOMOLECULE: 1\n" + chains + "A\n" + biomt(1, 90) + chains + "B\n" + biomt(2, 0) +
		"REMARK 350 BIOMOLECULE: 2\n" + chains + "B\n" + biomt(1, 0) + biomt(2, 200) + biomt(3, 400)
	for i := range 4 {
		text += pdbLine("ATOM", "CA", "GLY", "A", i+1, "", float64(4*i), 5, "C")
	}
	for i := range 4 {
		text += pdbLine("ATOM", "CA", "GLY", "B", i+1, "", 100+float64(4*i), 5, "C")
	}
	return Files{"pdb:1ABC": {Structure: made(t, text), URL: "1abc.pdb"}}
}

func TestAssemblies(t *testing.T) {
	t.Parallel()
	files := twoChains(t)
	m, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"pdb:1ABC"}}]`)
	const measure = `{"op":"measure","args":{"kind":"distance","between":["chain A and resi 1","chain B and resi 1"]}}`
	for _, c := range []struct{ assembly, told, distance string }{
		{"1", "Assembly 1 has 2 chains: A, B.", "10.00 Å"},
		{"deposited", "", "100.00 Å"},
	} {
		_, outcomes := applied(t, files, m, `[{"op":"structure","args":{"assembly":"`+c.assembly+`"}},`+measure+`]`)
		if outcomes[0].Text != c.told || outcomes[1].Text != c.distance {
			t.Errorf("assembly %s: got %+v, want %q and %s", c.assembly, outcomes, c.told, c.distance)
		}
	}
	second, outcomes := applied(t, files, m, `[{"op":"structure","args":{"assembly":"2"}},{"op":"select","args":{"sel":"all"}}]`)
	const told = "Assembly 2 has 1 chain: B, in up to 3 copies. Labels, measurements and contacts are those of the first."
	if outcomes[0].Text != told || outcomes[1].Selections[0].AtomCount != 4 {
		t.Errorf("got %q and %+v", outcomes[0].Text, outcomes[1].Selections)
	}
	_, _, err := Apply(second, files, []Operation{Do(Focus{Sel: "chain A"})})
	if err == nil || !strings.Contains(err.Error(), "chain A; instead: chains B") {
		t.Errorf("a chain that the assembly does not have: got %v", err)
	}
	second, _ = applied(t, files, second, `[{"op":"label","args":{"sel":"resi 2","level":"residue"}},{"op":"focus","args":{"sel":"resi 2"}}]`)
	text := compiled(t, files, second, CompileOptions{})
	for _, want := range []string{`"assembly_id":"2"`, `"instance_id":"ASM-3"`, `"position":[104,0,0]`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
	again, _ := applied(t, files, second, `[{"op":"structure","args":{"assembly":"deposited"}}]`)
	text = compiled(t, files, again, CompileOptions{})
	if strings.Contains(text, "instance_id") || strings.Contains(text, "assembly") {
		t.Errorf("the assembly is still there: %s", text)
	}
}
