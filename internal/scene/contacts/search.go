package contacts

import (
	"math"
	"slices"
)

// pairs visits the pairs of atoms of both sides that are near enough.
func (f *finder) pairs(most float64, visit func(p pair)) {
	for _, p := range f.near {
		if p.distance <= most {
			visit(p)
		}
	}
}

func (f *finder) hydrogenBonds() {
	f.pairs(HydrogenBondAngstrom, func(p pair) {
		if f.isHydrogenBond(p.i, p.j) {
			f.note(f.between(HydrogenBond, p.i, p.j), p.i, p.j)
		}
	})
}

// isHydrogenBond tells whether one of two atoms gives the other a hydrogen bond.
func (f *finder) isHydrogenBond(i, j int) bool {
	a, b := f.polar(i), f.polar(j)
	if !(a.gives && b.takes || b.gives && a.takes) || f.isBondedNear(i, j) {
		return false
	}
	return a.gives && b.takes && f.bondsWell(i, j) || b.gives && a.takes && f.bondsWell(j, i)
}

func (f *finder) saltBridges() {
	f.pairs(SaltBridgeAngstrom, func(p pair) {
		a, b := f.chargeOf(p.i), f.chargeOf(p.j)
		if a.sign*b.sign < 0 && !f.isBondedNear(p.i, p.j) {
			f.note(f.between(SaltBridge, p.i, p.j), a.centre, b.centre)
		}
	})
}

// metalComplexes: nitrogens, oxygens and sulphurs that hold a metal.
func (f *finder) metalComplexes() {
	holds := func(i int) bool {
		return slices.Contains([]string{"N", "O", "S"}, f.atoms[i].Element) && len(f.bonds(i)) < 4
	}
	f.pairs(MetalAngstrom, func(p pair) {
		a, b := f.atoms[p.i], f.atoms[p.j]
		if isMetal(a) && holds(p.j) || isMetal(b) && holds(p.i) {
			f.note(f.between(MetalComplex, p.i, p.j), p.i, p.j)
		}
	})
}

func (f *finder) halogenBonds() {
	f.pairs(HalogenAngstrom, func(p pair) {
		if (f.isHalogenBond(p.i, p.j) || f.isHalogenBond(p.j, p.i)) && !f.isBondedNear(p.i, p.j) {
			f.note(f.between(HalogenBond, p.i, p.j), p.i, p.j)
		}
	})
}

// isHalogenBond tells whether a halogen points at an acceptor, from the acceptor's side where it has one.
func (f *finder) isHalogenBond(halogen, acceptor int) bool {
	x, a := f.atoms[halogen], f.atoms[acceptor]
	on := f.bonds(halogen)
	if !slices.Contains([]string{"CL", "BR", "I"}, x.Element) || len(on) != 1 ||
		!slices.Contains([]string{"N", "O", "S"}, a.Element) || f.chargeOf(acceptor).sign > 0 ||
		angleAt(f.atoms[on[0]].Position, x.Position, a.Position) < leastHalogenDegrees {
		return false
	}
	beside := f.bonds(acceptor)
	return len(beside) == 0 || slices.ContainsFunc(beside, func(r int) bool {
		angle := angleAt(x.Position, a.Position, f.atoms[r].Position)
		return angle >= leastHalogenSideDegrees && angle <= mostHalogenDegrees
	})
}

// hydrophobic: a residue counts once for all its contacts with another.
func (f *finder) hydrophobic() {
	f.pairs(HydrophobicAngstrom, func(p pair) {
		if f.isGreasy(p.i) && f.isGreasy(p.j) {
			if a, b := f.atoms[p.i].Residue, f.atoms[p.j].Residue; !f.areJoined(a, b) {
				f.note(f.between(Hydrophobic, p.i, p.j), a, b)
			}
		}
	})
}

// waterBridges: a water with hydrogen bonds to both sides.
func (f *finder) waterBridges() {
	for _, w := range f.waters {
		at := f.atoms[w].Position
		var here, there []int
		f.around(at, HydrogenBondAngstrom, func(i int, _ float64) {
			if f.residues[f.atoms[i].Residue].Water || !f.together(w, i) || !f.isHydrogenBond(w, i) {
				return
			}
			switch f.sides[i] {
			case smaller:
				here = append(here, i)
			case larger:
				there = append(there, i)
			}
		})
		for _, i := range here {
			for _, j := range there {
				angle := angleAt(f.atoms[i].Position, at, f.atoms[j].Position)
				if angle >= leastBridgeDegrees && angle <= mostBridgeDegrees && !f.isBondedNear(i, j) {
					c := f.between(WaterBridge, i, j)
					c.Water = w
					f.note(c, i*len(f.atoms)+w, f.atoms[j].Residue)
				}
			}
		}
	}
}

func (f *finder) piStacking() {
	others := f.sideRings(larger)
	for _, a := range f.sideRings(smaller) {
		for _, b := range others {
			if apart := distance(a.middle, b.middle); apart <= EdgeAngstrom && a.system != b.system && stacked(a, b, apart) {
				f.note(f.ofRings(a, b, apart), a.system, b.system)
			}
		}
	}
}

// stacked tells whether two rings lie face to face, or one with an edge at the other's face.
func stacked(a, b ring, apart float64) bool {
	tilt := upright(a.normal, b.normal)
	line := minus(b.middle, a.middle)
	offset := min(upright(a.normal, line), upright(b.normal, line))
	if apart <= FaceAngstrom && tilt <= mostFaceDegrees && offset <= mostFaceOffsetDegrees {
		return true
	}
	return tilt >= leastEdgeDegrees && offset <= mostEdgeOffsetDegrees && cutNear(a, b)
}

// cutNear tells whether the line in which the planes of two rings cut each other passes near the middle of one of them.
func cutNear(a, b ring) bool {
	for _, pair := range [][2]ring{{a, b}, {b, a}} {
		// Within the plane of one ring the way to the other's plane is straight along the part of its normal that lies there.
		from, to := pair[0], pair[1]
		along := minus(to.normal, times(from.normal, dot(to.normal, from.normal)))
		off := math.Abs(dot(minus(to.middle, from.middle), to.normal))
		if steep := length(along); steep > 0 && off/steep <= mostEdgeCutAngstrom {
			return true
		}
	}
	return false
}

// ofRings is a contact from a ring's middle to another's.
func (f *finder) ofRings(a, b ring, apart float64) Contact {
	i, j := f.nearest(a.atoms, b.atoms)
	return Contact{
		Type: PiStacking, Atoms: [2]int{i, j}, Ends: [2][3]float64{a.middle, b.middle}, Water: -1, DistanceAngstrom: apart,
	}
}

// nearest are the two atoms of two groups that are nearest to each other.
func (f *finder) nearest(a, b []int) (i, j int) {
	least := math.Inf(1)
	for _, x := range a {
		for _, y := range b {
			if d := f.length(x, y); d < least {
				least, i, j = d, x, y
			}
		}
	}
	return i, j
}

// piCations: a charged atom above a ring, of either side.
func (f *finder) piCations() {
	for _, side := range []byte{smaller, larger} {
		for _, r := range f.sideRings(side) {
			f.around(r.middle, PiCationAngstrom, func(i int, apart float64) {
				if f.sides[i] != smaller+larger-side || f.atoms[i].Element != "N" {
					return
				}
				at := f.atoms[i].Position
				if f.chargeOf(i).sign <= 0 || upright(r.normal, minus(at, r.middle)) > mostPiCationDegrees {
					return
				}
				j, _ := f.nearest(r.atoms, []int{i})
				if f.isBondedNear(i, j) {
					return
				}
				c := Contact{
					Type: PiCation, Atoms: [2]int{j, i}, Ends: [2][3]float64{r.middle, at}, Water: -1, DistanceAngstrom: apart,
				}
				a, b := r.system, f.chargeOf(i).centre
				if side == larger {
					slices.Reverse(c.Atoms[:])
					slices.Reverse(c.Ends[:])
					a, b = b, a
				}
				f.note(c, a, b)
			})
		}
	}
}
