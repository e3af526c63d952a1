package contacts

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// place is an atom of a made structure.
type place struct {
	residue, name, element string
	x, y, z                float64
}

// made lays atoms out as a structure: those of a residue follow one another. The first residue is the one side, all others but
// water are the other.
func made(list ...place) (residues []Residue, atoms []Atom, one, other []int) {
	for i, p := range list {
		if i == 0 || p.residue != list[i-1].residue {
			residues = append(residues, Residue{Name: p.residue[:3], Water: p.residue[:3] == "HOH", First: i})
		}
		last := &residues[len(residues)-1]
		last.Last = i + 1
		atoms = append(atoms, Atom{
			Residue: len(residues) - 1, Name: p.name, Element: p.element, Occupancy: 1, Position: vector{p.x, p.y, p.z},
		})
		switch {
		case len(residues) == 1:
			one = append(one, i)
		case !last.Water:
			other = append(other, i)
		}
	}
	return residues, atoms, one, other
}

func found(list ...place) []string {
	residues, atoms, one, other := made(list...)
	var kinds []string
	for _, c := range Find(residues, atoms, one, other, nil).Contacts {
		kinds = append(kinds, c.Type+" "+atoms[c.Atoms[0]].Name+" "+atoms[c.Atoms[1]].Name)
	}
	return kinds
}

// A hydroxyl at the origin whose carbon lies to the left, a ketone's oxygen so far to the right, whose carbon stands so many
// degrees off the line, and a benzene ring in a plane through its middle.
func hydroxyl() []place {
	return []place{{"LIG1", "O1", "O", 0, 0, 0}, {"LIG1", "C1", "C", -0.48, 1.35, 0}, {"LIG1", "C2", "C", -1.98, 1.45, 0}}
}

func ketone(x, degrees float64) []place {
	sine, cosine := math.Sincos((180 - degrees) * math.Pi / 180)
	c := place{"KET2", "C", "C", x + 1.22*cosine, 1.22 * sine, 0}
	return []place{{"KET2", "O", "O", x, 0, 0}, c, {"KET2", "CA", "C", c.x + 1.5, c.y, 0}}
}

func benzene(residue string, x, y, z float64, edgewise bool) []place {
	var ring []place
	for i := range 6 {
		sine, cosine := math.Sincos(float64(i) * math.Pi / 3)
		p := place{residue, "C" + string(rune('1'+i)), "C", x + 1.39*cosine, y + 1.39*sine, z}
		if edgewise {
			p.y, p.z = y, z+1.39*sine
		}
		ring = append(ring, p)
	}
	return ring
}

func TestFind(t *testing.T) {
	t.Parallel()
	acid := []place{{"ACD1", "C", "C", 0, 0, 0}, {"ACD1", "O1", "O", 0.6, 1.1, 0}, {"ACD1", "O2", "O", 0.6, -1.1, 0},
		{"ACD1", "CA", "C", -1.5, 0, 0}}
	lysine := func(x float64) []place {
		return []place{{"LYS2", "NZ", "N", x, 0.1, 0}, {"LYS2", "CE", "C", x + 1.4, 0.5, 0}, {"LYS2", "CD", "C", x + 2.3, -0.7, 0}}
	}
	bromide := []place{{"BRO1", "BR", "BR", 0, 0, 0}, {"BRO1", "C", "C", -1.9, 0, 0}}
	water := place{"HOH9", "O", "O", 1.7, -2.1, 0}
	for _, c := range []struct {
		name string
		list []place
		want []string
	}{
		{"a hydrogen bond", slices.Concat(hydroxyl(), ketone(2.8, 120)), []string{"hydrogen_bond O1 O"}},
		{"too long", slices.Concat(hydroxyl(), ketone(3.6, 120)), nil},
		{"from behind the acceptor", slices.Concat(hydroxyl(), ketone(2.8, 80)), nil},
		{"a hydrogen that points away", slices.Concat(hydroxyl(), []place{{"LIG1", "H1", "H", -0.5, -0.82, 0}}, ketone(2.8, 120)),
			nil},
		{"a hydrogen that points there", slices.Concat(hydroxyl(), []place{{"LIG1", "H1", "H", 0.96, 0, 0}}, ketone(2.8, 120)),
			[]string{"hydrogen_bond O1 O"}},
		{"two that take and none that gives", slices.Concat([]place{{"KET1", "O", "O", 0, 0, 0}, {"KET1", "C", "C", -1.1, 0.5, 0}},
			ketone(2.8, 120)), nil},
		{"across a water", slices.Concat([]place{{"KET1", "O", "O", 0, 0, 0}, {"KET1", "C", "C", -1.1, 0.5, 0}}, ketone(3.6, 120),
			[]place{water}), []string{"water_bridge O O"}},
		{"a salt bridge", slices.Concat(acid, lysine(4.6)), []string{"salt_bridge O1 NZ"}},
		{"an acid with a hydrogen", slices.Concat(acid, []place{{"ACD1", "H", "H", 0.3, 2, 0}}, lysine(4.3)), nil},
		{"a metal", slices.Concat(acid, []place{{"_ZN2", "ZN", "ZN", 2.2, 0, 0}}), []string{"metal_complex O1 ZN",
			"metal_complex O2 ZN"}},
		{"a halogen bond", slices.Concat(bromide, ketone(3.1, 120)), []string{"halogen_bond BR O"}},
		{"beside a halogen", slices.Concat([]place{bromide[0], {"BRO1", "C", "C", 0, -1.9, 0}}, ketone(3.1, 120)), nil},
		{"grease", []place{{"ETH1", "C1", "C", 0, 0, 0}, {"ETH1", "C2", "C", -1.5, 0, 0}, {"LEU2", "CD1", "C", 4, 0, 0}, {"LEU2",
			"CG", "C", 5.5, 0, 0}}, []string{"hydrophobic C1 CD1"}},
		{"face to face", slices.Concat(benzene("BEN1", 0, 0, 0, false), benzene("PHE2", 1.3, 0.1, 3.6, false)),
			[]string{"pi_stacking C2 C3", "hydrophobic C2 C3"}},
		{"edge to face", slices.Concat(benzene("BEN1", 0, 0, 0, false), benzene("PHE2", 0.2, 0.1, 5, true)),
			[]string{"pi_stacking C1 C6", "hydrophobic C1 C6"}},
		{"side by side", slices.Concat(benzene("BEN1", 0, 0, 0, false), benzene("PHE2", 6, 0, 0, false)),
			[]string{"hydrophobic C1 C4"}},
		{"a charge above a ring", slices.Concat(benzene("BEN1", 0, 0, 0, false), []place{{"LYS2", "NZ", "N", 0.2, 0, 3.5}, {"LYS2",
			"CE", "C", 0, 0.6, 4.85}}), []string{"pi_cation C1 NZ"}},
		{"a disulphide", []place{{"CYS1", "SG", "S", 0, 0, 0}, {"CYS1", "CB", "C", -0.5, 1.7, 0}, {"CYS2", "SG", "S", 2.05, 0, 0},
			{"CYS2", "CB", "C", 2.5, 1.7, 0}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := found(c.list...)
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAlternateLocations: of an atom in two places the one with the higher occupancy counts.
func TestAlternateLocations(t *testing.T) {
	t.Parallel()
	list := append(hydroxyl(), ketone(3.3, 120)...)
	other := list[3]
	other.x = 2.7
	residues, atoms, one, rest := made(append(list, other)...)
	for _, occupancy := range []float64{0.3, 0.7} {
		atoms[3].Altloc, atoms[6].Altloc = "A", "B"
		atoms[3].Occupancy, atoms[6].Occupancy = 1-occupancy, occupancy
		got := Find(residues, atoms, one, rest, []string{HydrogenBond}).Contacts
		if want := map[float64]int{0.3: 3, 0.7: 6}[occupancy]; len(got) != 1 || got[0].Atoms[1] != want {
			t.Errorf("at %g: got %+v, want atom %d", occupancy, got, want)
		}
	}
}

// TestSidesCanBeSwapped: the contacts are the same from either side.
func TestSidesCanBeSwapped(t *testing.T) {
	t.Parallel()
	residues, atoms, one, other := made(slices.Concat(hydroxyl(), ketone(2.8, 120), benzene("PHE3", -2, 1.4, 3.8, false))...)
	there, back := Find(residues, atoms, one, other, nil), Find(residues, atoms, other, one, nil)
	for i := range back.Contacts {
		slices.Reverse(back.Contacts[i].Atoms[:])
		slices.Reverse(back.Contacts[i].Ends[:])
	}
	if len(there.Contacts) < 2 || !reflect.DeepEqual(there, back) {
		t.Errorf("got %+v\nand %+v", there, back)
	}
}

// TestHeapsEnd: thousands of atoms in one place are no structure, and cost little.
func TestHeapsEnd(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	var list []place
	for i := range 24_000 {
		element := []string{"C", "N", "O", "S"}[i%4]
		residue := []string{"LIG1", "ALA2"}[i/12_000]
		list = append(list, place{residue, "C", element, source.Float64() * 3, source.Float64() * 3, source.Float64() * 3})
	}
	residues, atoms, one, other := made(list...)
	got := Find(residues, atoms, one, other, nil)
	if !got.Cut || len(got.Contacts) > MaxContacts {
		t.Errorf("cut is %t, with %d contacts", got.Cut, len(got.Contacts))
	}
}

func TestNothingAgainstNothing(t *testing.T) {
	t.Parallel()
	residues, atoms, one, _ := made(hydroxyl()...)
	if got := Find(residues, atoms, one, nil, nil); len(got.Contacts) > 0 {
		t.Errorf("got %+v", got)
	}
	if got := Find(residues, atoms, nil, one, nil); len(got.Contacts) > 0 {
		t.Errorf("got %+v", got)
	}
}
