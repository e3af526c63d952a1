package scene

import "math"

// leastCellAngstrom bounds how many cells a grid has.
const leastCellAngstrom = 2.0

// grid has atoms by cells, whose edges are as long as the distance that is asked for: what is near an atom lies in
// its own cell or in one of the 26 around it.
type grid struct {
	atoms     []Atom
	edge      float64
	cells     map[[3]int][]int32
	low, high [3]float64 // of the atoms' positions
}

func (t *Table) gridOf(of Set, radius float64) grid {
	g := grid{atoms: t.Atoms, edge: max(radius, leastCellAngstrom), cells: map[[3]int][]int32{}}
	g.low, g.high, _ = t.extent(of)
	of.each(func(i int) {
		cell := g.cell(t.Atoms[i].Position)
		g.cells[cell] = append(g.cells[cell], int32(i))
	})
	return g
}

func (g grid) cell(at [3]float64) [3]int {
	return [3]int{int(math.Floor(at[0] / g.edge)), int(math.Floor(at[1] / g.edge)), int(math.Floor(at[2] / g.edge))}
}

// near visits the atoms of the grid that are at most radius Å away, until one says that it is enough; it tells whether one did.
func (g grid) near(at [3]float64, radius float64, enough func(atom int) bool) bool {
	for k := range at { // most atoms of a large structure are far away
		if at[k] < g.low[k]-radius || at[k] > g.high[k]+radius {
			return false
		}
	}
	c := g.cell(at)
	for x := c[0] - 1; x <= c[0]+1; x++ {
		for y := c[1] - 1; y <= c[1]+1; y++ {
			for z := c[2] - 1; z <= c[2]+1; z++ {
				for _, i := range g.cells[[3]int{x, y, z}] {
					if squareBetween(at, g.atoms[i].Position) <= radius*radius && enough(int(i)) {
						return true
					}
				}
			}
		}
	}
	return false
}

// within are the atoms at most radius Å from one of these, these left out.
func (t *Table) within(radius float64, of Set) Set {
	g, found := t.gridOf(of, radius), newSet(len(t.Atoms))
	one := func(int) bool { return true }
	for i, a := range t.Atoms {
		if !of.has(i) && g.near(a.Position, radius, one) {
			found.add(i)
		}
	}
	return found
}

// extent are the corners of the box that just holds atoms; ok is false where there are none.
func (t *Table) extent(of Set) (low, high [3]float64, ok bool) {
	of.each(func(i int) {
		at := t.Atoms[i].Position
		if !ok {
			low, high, ok = at, at, true
		}
		for k := range at {
			low[k], high[k] = min(low[k], at[k]), max(high[k], at[k])
		}
	})
	return low, high, ok
}
