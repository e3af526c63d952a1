package director

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The geometry of a structure that is made, in Å. A chain runs to and fro through a block: residues at the distance of two alpha
// carbons, rows and layers so far apart that side chains find room between them. The blocks of four chains meet at one edge, where
// ligands lie below them in touch with all, so that pockets and interfaces are never empty.
const (
	residueAngstrom = 3.8
	rowAngstrom     = 5.0
	layerAngstrom   = 10.0
	gapAngstrom     = 1.7 // of a block to the edge that the blocks share
	belowAngstrom   = 3.0 // what is no chain lies so far below its chain
	cellAngstrom    = 9.0 // each ligand has a square cell there
	bondAngstrom    = 1.4
	waterAngstrom   = 3.0 // waters of a cell
)

// What is made that contexts do not number.
const (
	firstWater        = 5001
	firstBesideLigand = 6001
	firstGlycan       = 4001
	glycansPerCell    = 2
	watersPerChain    = 45
)

// maker writes a structure as PDB text.
type maker struct {
	text   strings.Builder
	serial int
	want   blueprint
}

// blueprint is what a structure shall hold.
type blueprint struct {
	context   Context
	chains    []chain
	ligands   []component
	ions      []component
	modified  []component
	spoken    spoken
	formulaOf func(id string) string
}

// blueprintOf reads a context. Errors name the member.
func blueprintOf(c Context, said spoken, formulaOf func(string) string) (blueprint, error) {
	b := blueprint{context: c, spoken: said, formulaOf: formulaOf}
	var errs [4]error
	b.chains, errs[0] = c.chains()
	b.ligands, errs[1] = componentsOf("ligands", c.Ligands)
	b.ions, errs[2] = componentsOf("ions", c.Ions)
	b.modified, errs[3] = componentsOf("modified", c.Modified)
	for _, err := range errs {
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// write makes the PDB text.
func (b blueprint) write() string {
	m := &maker{want: b}
	c := b.context
	fmt.Fprintf(&m.text, "HEADER    %-40s%-9s   %4.4s\n", "MADE FOR THE JUDGE OF SENTENCES", "01-JAN-26", c.Structure)
	title := c.Title
	if c.Predicted {
		title = "ALPHAFOLD " + title
	}
	fmt.Fprintf(&m.text, "TITLE     %.70s\n", strings.ToUpper(strings.Join(strings.Fields(title), " ")))
	m.assemblies()
	for _, one := range b.chains {
		m.secondary(one)
	}
	models := max(c.Models, 1)
	for model := 1; model <= models; model++ {
		m.serial = 0
		if models > 1 {
			fmt.Fprintf(&m.text, "MODEL     %4d\n", model)
		}
		m.model(float64(model-1) * 0.05)
		if models > 1 {
			m.text.WriteString("ENDMDL\n")
		}
	}
	m.text.WriteString("END\n")
	return m.text.String()
}

func (m *maker) assemblies() {
	for _, id := range m.want.context.Assemblies {
		fmt.Fprintf(&m.text, "REMARK 350 BIOMOLECULE: %s\n", id)
		for _, one := range m.want.chains {
			fmt.Fprintf(&m.text, "REMARK 350 APPLY THE FOLLOWING TO CHAINS: %s\n", one.id)
		}
		for row := range 3 {
			unit := [3]float64{}
			unit[row] = 1
			fmt.Fprintf(&m.text, "REMARK 350   BIOMT%d   1 %9.6f %9.6f %9.6f %14.5f\n", row+1, unit[0], unit[1], unit[2], 0.0)
		}
	}
}

// The pattern of helices, strands and loops along a protein, in residues.
const (
	helixEnd   = 6
	strandFrom = 9
	strandEnd  = 12
	patternEnd = 14
)

func (m *maker) secondary(one chain) {
	if one.nucleic {
		return
	}
	name := func(number int) string { return m.residueName(one, slices.Index(one.numbers, number)) }
	for at := 0; at+patternEnd <= len(one.numbers); at += patternEnd {
		from, to := one.numbers[at], one.numbers[at+helixEnd-1]
		fmt.Fprintf(&m.text, "HELIX  %3d %3d %3s %s %4d  %3s %s %4d  1%30s %5d\n", at%999+1, at%999+1, name(from), one.id, from,
			name(to), one.id, to, "", helixEnd)
		from, to = one.numbers[at+strandFrom-1], one.numbers[at+strandEnd-1]
		fmt.Fprintf(&m.text, "SHEET    1 %3s 1 %3s %s%4d  %3s %s%4d  0\n", one.id, name(from), one.id, from, name(to), one.id, to)
	}
}

// residueName is the name of a chain's residue, by its place in the chain.
func (m *maker) residueName(one chain, place int) string {
	number := one.numbers[place]
	for _, r := range m.want.modified {
		if r.chain == one.id && r.number == number {
			return r.name
		}
	}
	if one.nucleic {
		return []string{"DC", "DG", "DA", "DA", "DT", "DT"}[place%6]
	}
	if name := m.want.spoken.names[number]; name != "" {
		return name
	}
	return sequence[place%len(sequence)]
}

// model writes the atoms of one model; a shift tells models apart.
func (m *maker) model(shift float64) {
	cells := map[string]int{}
	for i, one := range m.want.chains {
		m.chain(i, one, shift)
	}
	place := func(of string) (corner [3]float64, side [2]float64) {
		i := max(0, slices.IndexFunc(m.want.chains, func(c chain) bool { return c.id == of }))
		key := fmt.Sprint(i)
		cells[key]++
		return cellOf(i, cells[key]-1, shift)
	}
	for i, ligand := range m.want.ligands {
		corner, side := place(ligand.chain)
		m.ligand(i, ligand, corner, side)
	}
	for _, ion := range m.want.ions {
		corner, side := place(ion.chain)
		element := strings.TrimRight(ion.name, "0123456789")
		m.atom(true, ion.name, element, component{ion.name, ion.chain, ion.number}, "", offset(corner, side, 2, 2, 0.6))
	}
	for _, one := range m.want.chains {
		if m.want.context.Glycans {
			m.glycans(one, place)
		}
		if m.want.context.Waters {
			m.waters(one, place)
		}
	}
}

// quarter is the block that a chain has: which way it lies from the shared edge, and how high.
func quarter(i int) (side [2]float64, height float64) {
	side = [2]float64{-1, -1}
	if i%2 == 1 {
		side[0] = 1
	}
	if i/2%2 == 1 {
		side[1] = 1
	}
	return side, float64(i/4) * 200
}

// cellOf is the corner of a chain's cell below its block, from the shared edge outward.
func cellOf(i, cell int, shift float64) (corner [3]float64, side [2]float64) {
	side, height := quarter(i)
	const perRow = 3
	x, y := cell%perRow, cell/perRow
	return [3]float64{
		shift + side[0]*(gapAngstrom+float64(x)*cellAngstrom), side[1] * (gapAngstrom + float64(y)*cellAngstrom),
		height - belowAngstrom,
	}, side
}

// offset is a point of a cell, outward and up from its corner.
func offset(corner [3]float64, side [2]float64, x, y, z float64) [3]float64 {
	return [3]float64{corner[0] + side[0]*x, corner[1] + side[1]*y, corner[2] + z}
}

// chain writes the residues of a chain.
func (m *maker) chain(i int, one chain, shift float64) {
	side, height := quarter(i)
	edge := max(4, int(math.Ceil(math.Cbrt(float64(len(one.numbers))*rowAngstrom*layerAngstrom/residueAngstrom/residueAngstrom))))
	rows := max(3, edge*4/5)
	for place, number := range one.numbers {
		column, row, layer := place%edge, place/edge%rows, place/edge/rows
		forward := 1.0
		if (place/edge)%2 == 1 {
			column, forward = edge-1-column, -1
		}
		if layer%2 == 1 {
			row = rows - 1 - row
		}
		at := [3]float64{
			shift + side[0]*(gapAngstrom+float64(column)*residueAngstrom), side[1] * (gapAngstrom + float64(row)*rowAngstrom),
			height + float64(layer)*layerAngstrom,
		}
		residue := component{m.residueName(one, place), one.id, number}
		m.residue(one, residue, "", at, forward*side[0])
		for k, code := range m.want.spoken.inserted[number] {
			at[2] += 2.5 * float64(k+1)
			m.residue(one, residue, code, at, forward*side[0])
		}
	}
}

// nucleotideAtoms are those of a nucleotide that selections and kinds need, with their places in Å.
var nucleotideAtoms = []struct {
	name string
	at   [3]float64
}{
	{"P", [3]float64{-1.9, 0, 0}}, {"OP1", [3]float64{-2.2, 1.3, 0}}, {"OP2", [3]float64{-2.2, -1.3, 0}},
	{"O5'", [3]float64{-0.6, 0.6, 0.5}}, {"C5'", [3]float64{0, 0.4, 1.6}}, {"C4'", [3]float64{0.6, 0, 0.6}},
	{"C3'", [3]float64{0.8, 0, -0.6}}, {"O3'", [3]float64{0.6, 0, -1.2}}, {"C2'", [3]float64{1.2, 1.2, 0}},
	{"C1'", [3]float64{0.8, 1.4, 1.4}}, {"O4'", [3]float64{0.2, 1, 1.8}}, {"N1", [3]float64{0.8, 1.4, 2.8}},
	{"C2", [3]float64{0.8, 2.6, 3.4}}, {"N3", [3]float64{0.8, 2.6, 4.8}}, {"C4", [3]float64{0.8, 1.4, 5.4}},
	{"C5", [3]float64{0.8, 0.2, 4.8}}, {"C6", [3]float64{0.8, 0.2, 3.4}},
}

// residue writes a member of a chain around a point; forward is 1 or -1, the way that the chain runs in x.
func (m *maker) residue(one chain, r component, code string, at [3]float64, forward float64) {
	if one.nucleic {
		for _, a := range nucleotideAtoms {
			m.atom(false, a.name, a.name[:1], r, code, plus(at, [3]float64{forward * a.at[0], a.at[1], a.at[2]}))
		}
		return
	}
	for _, a := range []struct {
		name string
		at   [3]float64
	}{
		{"N", [3]float64{-1.2 * forward, 0.5, 0}}, {"CA", [3]float64{}}, {"C", [3]float64{1.2 * forward, 0.5, 0}},
		{"O", [3]float64{1.2 * forward, 1.7, 0}},
	} {
		m.atom(false, a.name, a.name[:1], r, code, plus(at, a.at))
	}
	acid, standard := aminoAcids[r.name]
	atoms := strings.Fields(acid.atoms)
	if !standard {
		atoms = []string{"CB", "CG", "CD", "OE", "NZ"}
	}
	for i, name := range atoms {
		zigzag := [3]float64{0.7 * float64(i%2), -0.6, 1.1 * float64(i+1)}
		m.atom(false, name, name[:1], r, code, plus(at, zigzag))
	}
}

// ligand writes a ligand, by its place in the list, as a flat patch of atoms in its cell, and a water beside it.
func (m *maker) ligand(at int, one component, corner [3]float64, side [2]float64) {
	names, elements := heavyAtoms(m.want.formulaOf(one.name))
	width := int(math.Ceil(math.Sqrt(float64(len(names)))))
	for i, name := range names {
		m.atom(true, name, elements[i], one, "",
			offset(corner, side, bondAngstrom*float64(i%width), bondAngstrom*float64(i/width), 0.2*float64(i%2)))
	}
	if m.want.context.Waters {
		beside := offset(corner, side, bondAngstrom*float64(width-1)+waterAngstrom, 0, 0)
		m.atom(true, "O", "O", component{"HOH", one.chain, firstBesideLigand + at}, "", beside)
	}
}

func (m *maker) glycans(one chain, place func(string) ([3]float64, [2]float64)) {
	corner, side := place(one.id)
	for i := range glycansPerCell {
		sugar := component{"NAG", one.id, firstGlycan + i}
		for k, name := range strings.Fields("C1 C2 C3 C4 C5 C6 N2 O3 O4 O5 O6") {
			at := offset(corner, side, bondAngstrom*float64(k%3)+4*float64(i), bondAngstrom*float64(k/3), 0)
			m.atom(true, name, name[:1], sugar, "", at)
		}
	}
}

// waters fills cells with single waters, the first ones beside the ligands.
func (m *maker) waters(one chain, place func(string) ([3]float64, [2]float64)) {
	const perRow = 3
	var corner [3]float64
	var side [2]float64
	for i := range watersPerChain {
		k := i % (perRow * perRow)
		if k == 0 {
			corner, side = place(one.id)
		}
		m.atom(true, "O", "O", component{"HOH", one.id, firstWater + i}, "",
			offset(corner, side, waterAngstrom*float64(k%perRow), waterAngstrom*float64(k/perRow), 0))
	}
}

// What is written of every atom: enough spread in the B factors to be seen.
const (
	leastBFactor  = 10
	bFactorSpread = 80
)

// atom writes a line.
func (m *maker) atom(het bool, name, element string, r component, code string, at [3]float64) {
	record := "ATOM"
	if het {
		record = "HETATM"
	}
	if len(element) == 1 && len(name) < 4 {
		name = " " + name
	}
	m.serial++
	b := leastBFactor + float64(m.serial*7%bFactorSpread)
	fmt.Fprintf(&m.text, "%-6s%5d %-4.4s %3.3s %1.1s%4d%1.1s   %8.3f%8.3f%8.3f%6.2f%6.2f          %2s\n", record,
		m.serial%100_000, name, r.name, r.chain, r.number, code, at[0], at[1], at[2], 1.0, b, element)
}

func plus(a, b [3]float64) [3]float64 { return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
