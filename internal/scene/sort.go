package scene

// Sort tells what sort of thing atoms of the table are: "atom", "water", "ligand", "residue" or "chain"; "" for anything else, such
// as residues of several chains.
func (t *Table) Sort(of Set) string {
	residues := t.touched(of)
	if len(residues) == 0 {
		return ""
	}
	every := func(that func(Residue) bool) bool {
		for _, i := range residues {
			if !that(t.Residues[i]) {
				return false
			}
		}
		return true
	}
	first := t.Residues[residues[0]]
	switch {
	case every(func(r Residue) bool { return r.Kind == Water }):
		return "water"
	case every(func(r Residue) bool { return !r.Kind.inChain() }):
		return "ligand"
	case of.Count() == 1:
		return "atom"
	case len(residues) == 1:
		return "residue"
	case !every(func(r Residue) bool { return r.Chain == first.Chain }):
		return ""
	case of.equal(t.residues(func(r Residue) bool { return r.Chain == first.Chain && r.Kind.inChain() })):
		return "chain"
	}
	return "residue"
}
