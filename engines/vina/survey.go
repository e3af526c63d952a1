package vina

import (
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// contactAngstrom is the farthest that a box may lie from the receptor's heavy atoms: 4 Å, beyond which check_box of box.py refuses
// it, and the length of a bond to a hydrogen.
const contactAngstrom = 5.0

// receptorField is the member of a request that says which file the receptor is.
func (p Params) receptorField() string {
	switch {
	case p.ReceptorPDBID != nil:
		return "receptorPdbId"
	case p.ReceptorArtifact != nil:
		return "receptorArtifact"
	}
	return "sceneFile"
}

// checkReceptor holds what the request says of the receptor against what is in its file. It finds what the preparation would fail
// for; what it cannot see, such as the copies of an assembly, it leaves to that.
func (q *request) checkReceptor(p Params) error {
	if q.site == nil {
		return nil
	}
	file, field := q.site.file, p.receptorField()
	if file.Compressed {
		return invalid(field, "is a gzip'd file; unpack it (gunzip) and upload the %s file itself", formatNames[file.Format])
	}
	if declared := q.selection.DeclaredFormat; declared != "" && declared != file.Format {
		return invalid(field+".format", "is %s, but the file is %s", declared, formatNames[file.Format])
	}
	if err := q.checkSelection(); err != nil {
		return err
	}
	if file.Format == mol.FormatPDBQT {
		return nil
	}
	for i, name := range q.preparation.RetainComponents {
		if name = strings.ToUpper(name); !q.site.holds(name) {
			return invalid(fmt.Sprintf("receptorPreparation.retainComponents[%d]", i),
				"names %s, which the receptor does not have; beside its chains it has: %s", name, q.site.listed())
		}
	}
	if !slices.ContainsFunc(file.Residues, func(r coordinates.Residue) bool {
		return coordinates.IsStandard(r.Name) && q.site.selected(r)
	}) {
		return invalid(field, "has no protein or nucleic acid residues in the part that is docked into; give the receptor, not "+
			"a ligand")
	}
	return nil
}

var formatNames = map[string]string{mol.FormatPDB: "PDB", mol.FormatMMCIF: "mmCIF", mol.FormatPDBQT: "PDBQT"}

// checkSelection looks for the chains and the assembly that are asked for.
func (q *request) checkSelection() error {
	file := q.site.file
	for i, chain := range q.selection.Chains {
		if !slices.Contains(file.Chains, chain) {
			return invalid(fmt.Sprintf("receptorChains[%d]", i), "names chain %s, which the receptor does not have; its chains: %s",
				chain, listNames(file.Chains))
		}
	}
	wanted := q.selection.AssemblyID
	if wanted == "" {
		return nil
	}
	if file.Format == mol.FormatPDBQT {
		return invalid("receptorAssemblyId", "is given, but a PDBQT receptor says nothing of assemblies; leave it out")
	}
	var ids []string
	for _, assembly := range file.Assemblies {
		if ids = append(ids, assembly.ID); assembly.ID == wanted {
			return nil
		}
	}
	return invalid("receptorAssemblyId", "is %s, which the receptor does not have; its assemblies: %s", wanted, listNames(ids))
}

// holds tells whether the selection has a component, waters included.
func (s *site) holds(component string) bool {
	return s.file.Waters[component] > 0 ||
		slices.ContainsFunc(s.file.Residues, func(r coordinates.Residue) bool { return r.Name == component && s.selected(r) })
}

// find finds a ligand by its component and, where they are stated, its chain, number and insertion code: the first by place. In an
// assembly, whose copies have chains of their own, the component alone decides.
func (s *site) find(component, chain string, number *int, insertionCode *string) (coordinates.Residue, bool) {
	var found []coordinates.Residue
	for _, r := range s.file.Residues {
		stated := (chain == "" || r.Chain == chain) && (number == nil || r.Number == *number) &&
			(insertionCode == nil || r.InsertionCode == *insertionCode)
		if strings.EqualFold(r.Name, component) && (s.subchains != nil || stated && s.selected(r)) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return coordinates.Residue{}, false
	}
	return slices.MinFunc(found, byPlace), true
}

// checkBox looks for what the box is to be laid around, and for a box that touches nothing. An assembly is built later.
func (q *request) checkBox() error {
	if q.site == nil {
		return nil
	}
	switch q.box.Source {
	case boxPocketLigand:
		found, ok := q.site.find(q.box.ComponentID, q.box.Chain, q.box.Residue, nil)
		if !ok {
			return invalid(q.box.field, "names %s, which the receptor does not have; beside its chains it has: %s", q.box.named(),
				q.site.listed())
		}
		q.box.around = &found
	case boxPocketResidues:
		return q.checkPocketResidues()
	case boxExplicit, boxLigandFile:
		return q.checkContact()
	}
	return nil
}

func (q *request) checkPocketResidues() error {
	if q.site.subchains != nil {
		return nil
	}
	places := map[coordinates.Place]bool{}
	for _, r := range q.site.file.Residues {
		if q.site.selected(r) {
			places[r.Place] = true
		}
	}
	for i, wanted := range q.box.Residues {
		place := coordinates.Place{Chain: wanted.Chain, Number: wanted.Residue,
			InsertionCode: strings.TrimSpace(valueOr(wanted.InsertionCode, ""))}
		if !places[place] {
			return invalid(fmt.Sprintf("pocketResidues[%d]", i), "names residue %s, which the receptor does not have; its "+
				"chains: %s", place, listNames(q.site.file.Chains))
		}
	}
	return nil
}

func (q *request) checkContact() error {
	if q.site.subchains != nil || q.box.CenterAngstrom == nil || q.box.SizeAngstrom == nil {
		return nil
	}
	counts := func(r coordinates.Residue) bool { return q.site.kept(r, q.leaves()) }
	distance, ok := q.site.file.Distance(coordinates.Point(*q.box.CenterAngstrom), coordinates.Point(*q.box.SizeAngstrom), counts)
	if !ok || distance <= contactAngstrom {
		return nil
	}
	low, high := q.site.file.Extent(counts)
	return invalid(q.box.field, "puts the box %.1f Å from the nearest atom of the receptor, so nothing could bind; the receptor "+
		"spans x %.1f to %.1f, y %.1f to %.1f, z %.1f to %.1f Å",
		distance, low[0], high[0], low[1], high[1], low[2], high[2])
}

// listNames names chains or assemblies in a message.
func listNames(names []string) string {
	shown := make([]quoted, len(names))
	for i, name := range names {
		shown[i] = quoted(name)
	}
	return list(shown)
}

// quoted is a name that may be blank.
type quoted string

func (q quoted) String() string {
	if q == "" {
		return "(blank)"
	}
	return string(q)
}
