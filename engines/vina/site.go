package vina

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// What becomes of a component.
const (
	statusKept    = "kept"
	statusRemoved = "removed"
)

// The members of receptorPreparation that change what becomes of a component.
const (
	optionRetain = "retainComponents"
	optionRemove = "removeComponents"
	optionWaters = "waters"
)

// maxFateResidues bounds the places that a fate names.
const maxFateResidues = 20

// site is what a receptor's file holds, seen with the eyes of a request. Its rule is that of components.py, which decides.
type site struct {
	file            *coordinates.Structure
	chains          []string        // that are docked into; all when empty
	subchains       map[string]bool // of the assembly that is asked for; nil without one
	retain, removed map[string]bool // components that the request names
	structural      bool            // waters that hold the site together stay
}

// siteOf is nil where nobody has read the receptor.
func siteOf(file *coordinates.Structure, selected selection, preparation mol.ReceptorPreparation) *site {
	if file == nil {
		return nil
	}
	s := &site{file: file, chains: selected.Chains, retain: upperSet(preparation.RetainComponents),
		removed:    upperSet(preparation.RemoveComponents),
		structural: valueOr(preparation.Waters, mol.WatersNone) == mol.WatersStructural}
	if selected.AssemblyID != "" {
		s.subchains = map[string]bool{}
		for _, assembly := range file.Assemblies {
			for _, chain := range assembly.Chains {
				s.subchains[chain] = s.subchains[chain] || assembly.ID == selected.AssemblyID
			}
		}
	}
	return s
}

func upperSet(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[strings.ToUpper(name)] = true
	}
	return set
}

// selected tells whether a residue is in the part of the file that is docked into.
func (s *site) selected(r coordinates.Residue) bool {
	if len(s.chains) > 0 && !slices.Contains(s.chains, r.Chain) {
		return false
	}
	if s.subchains == nil {
		return true
	}
	if s.file.Format == mol.FormatMMCIF {
		return s.subchains[r.Subchain]
	}
	return s.subchains[r.Chain]
}

// others are the residues of the selection that are no standard ones of a chain.
func (s *site) others() []coordinates.Residue {
	var found []coordinates.Residue
	for _, r := range s.file.Residues {
		if !(coordinates.IsStandard(r.Name) && isPartOfChain(r)) && s.selected(r) {
			found = append(found, r)
		}
	}
	return found
}

// The least and the most heavy atoms of a ligand that a box is laid around unasked: fewer have ions and solvents, more cannot be
// docked.
const (
	fewestLigandAtoms = 6
	mostLigandAtoms   = maxHeavyAtoms
)

// bound finds the ligand around which to dock when nobody says where: what is neither water, metal, cofactor, sugar nor additive
// and no part of a chain. Of several components it is the largest, of its copies the first chain's; others are the first copies of
// the other components. ok is false when nothing like it is there.
func (s *site) bound() (found coordinates.Residue, others []coordinates.Residue, ok bool) {
	copies := map[string][]coordinates.Residue{}
	for _, r := range s.others() {
		if !r.InChain && classOf(r) == classLigand && !s.retain[r.Name] && r.HeavyAtoms >= fewestLigandAtoms &&
			r.HeavyAtoms <= mostLigandAtoms {
			copies[r.Name] = append(copies[r.Name], r)
		}
	}
	for _, list := range copies {
		most := slices.MaxFunc(list, func(a, b coordinates.Residue) int {
			return cmp.Compare(a.HeavyAtoms, b.HeavyAtoms)
		}).HeavyAtoms
		whole := slices.DeleteFunc(list, func(r coordinates.Residue) bool { return r.HeavyAtoms < most })
		others = append(others, slices.MinFunc(whole, byPlace))
	}
	if len(others) == 0 {
		return coordinates.Residue{}, nil, false
	}
	slices.SortFunc(others, func(a, b coordinates.Residue) int {
		return cmp.Or(cmp.Compare(b.HeavyAtoms, a.HeavyAtoms), byPlace(a, b))
	})
	return others[0], others[1:], true
}

// byPlace orders residues as box.py does.
func byPlace(a, b coordinates.Residue) int {
	return cmp.Or(cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Number, b.Number), cmp.Compare(a.InsertionCode, b.InsertionCode))
}

// fates says what becomes of everything that is no standard member of a chain. leaves are the ligands that go because they are
// docked again, or because the box is laid around them.
func (s *site) fates(leaves ...*coordinates.Residue) []contract.ComponentFate {
	var found []contract.ComponentFate
	at := map[[3]string]int{}
	add := func(f contract.ComponentFate, where string, count int) {
		key := [3]string{f.Component, f.Status, f.Why}
		i, known := at[key]
		if !known {
			i, at[key] = len(found), len(found)
			f.Name = nameOf(f.Component)
			found = append(found, f)
		}
		found[i].Count += count
		if where != "" && len(found[i].Residues) < maxFateResidues {
			found[i].Residues = append(found[i].Residues, where)
		}
	}
	for _, r := range s.others() {
		add(s.fate(r, leaves), r.Place.String(), 1)
	}
	for _, name := range slices.Sorted(maps.Keys(s.file.Waters)) {
		add(s.fateOfWater(name), "", s.file.Waters[name])
	}
	slices.SortStableFunc(found, func(a, b contract.ComponentFate) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	return found
}

// rankOf orders fates for people: what stays first, then what went by choice, waters last.
func rankOf(f contract.ComponentFate) int {
	switch {
	case f.Class == classWater:
		return 3
	case f.Status == statusKept:
		return 0
	case f.Class == classLigand:
		return 1
	}
	return 2
}

// fate is what Site.verdict of components.py says of a residue.
func (s *site) fate(r coordinates.Residue, leaves []*coordinates.Residue) contract.ComponentFate {
	f := contract.ComponentFate{Component: r.Name, Class: classOf(r), Status: statusRemoved, Option: optionRetain}
	part := isPartOfChain(r)
	if part {
		f.Class = classModified
	}
	switch docked := slices.ContainsFunc(leaves, func(l *coordinates.Residue) bool {
		return l != nil && l.Place == r.Place && l.Name == r.Name
	}); {
	case docked:
		f.Why = "it is the ligand whose place is docked into"
	case s.removed[r.Name]:
		f.Why, f.Option = "it was named to be removed", ""
	case s.file.Format == mol.FormatPDBQT:
		f.Status, f.Why, f.Option = statusKept, "a PDBQT is taken as it was prepared", optionRemove
	case r.Name == selenomethionine && r.Member:
		f.Status, f.Why, f.Option = statusKept, "selenomethionine is prepared as methionine", ""
	case part:
		f.Status, f.Why, f.Option = statusKept, "it is a part of the chain", optionRemove
	case s.retain[r.Name]:
		f.Status, f.Why, f.Option = statusKept, "it was named to be kept", ""
	default:
		f.Status, f.Why, f.Option = fateOfClass(f.Class)
	}
	return f
}

// selenomethionine is crystallographers' methionine.
const selenomethionine = "MSE"

// fateOfClass is what becomes of a molecule of which the request says nothing.
func fateOfClass(class string) (status, why, option string) {
	switch class {
	case classCofactor:
		return statusKept, "it is a cofactor", optionRemove
	case classMetal:
		return statusKept, "it is a metal ion", optionRemove
	case classAdditive:
		return statusRemoved, "it is an additive of crystallisation", optionRetain
	case classSugar:
		return statusRemoved, "it is a sugar", optionRetain
	}
	return statusRemoved, "it is another small molecule", optionRetain
}

func (s *site) fateOfWater(name string) contract.ComponentFate {
	f := contract.ComponentFate{Component: name, Class: classWater, Status: statusRemoved, Why: "it is water", Option: optionWaters}
	switch {
	case s.removed[name]:
		f.Why, f.Option = "it was named to be removed", ""
	case s.retain[name]:
		f.Status, f.Why, f.Option = statusKept, "it was named to be kept", ""
	case s.structural:
		f.Why, f.Option = "it is water; the molecules that hold at least three polar atoms together stay", ""
	}
	return f
}

// maxLinkedAtoms bounds the molecules whose bonds to others are looked for.
const maxLinkedAtoms = 500

// linked are a ligand and the small molecules that are bonded to it, which leave the site as one.
func (s *site) linked(ligand coordinates.Residue) []*coordinates.Residue {
	found := []*coordinates.Residue{&ligand}
	known := func(r coordinates.Residue) bool {
		return slices.ContainsFunc(found, func(l *coordinates.Residue) bool { return l.Place == r.Place && l.Name == r.Name })
	}
	for i := 0; i < len(found) && found[i].HeavyAtoms <= maxLinkedAtoms; i++ {
		for _, r := range s.file.Bonded(*found[i], func(r coordinates.Residue) bool {
			return !coordinates.IsStandard(r.Name) && s.selected(r) && r.HeavyAtoms <= maxLinkedAtoms && !s.retain[r.Name] &&
				!known(r)
		}) {
			found = append(found, &r)
		}
	}
	return found
}

// kept tells whether a residue is a part of the receptor that is docked into.
func (s *site) kept(r coordinates.Residue, leaves []*coordinates.Residue) bool {
	return s.selected(r) && (coordinates.IsStandard(r.Name) && isPartOfChain(r) || s.fate(r, leaves).Status == statusKept)
}

// listed names the components of the selection that are no standard members of a chain, for messages: "STI A:201, CL A:1".
func (s *site) listed() string { return list(s.others()) }

// maxListed bounds the names in a message.
const maxListed = 12

func list[T fmt.Stringer](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	var names []string
	for _, one := range all[:min(len(all), maxListed)] {
		names = append(names, one.String())
	}
	if more := len(all) - maxListed; more > 0 {
		return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
