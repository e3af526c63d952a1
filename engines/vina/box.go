package vina

import (
	"fmt"
	"math"
	"strings"

	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// How a docking box is found, in the order of precedence.
const (
	boxExplicit       = "explicit"
	boxLigandFile     = "ligandFile"
	boxPocketLigand   = "pocketLigand"
	boxPocketResidues = "pocketResidues"
	boxFpocket        = "fpocket"
)

// What boxSource says of a box that nothing else places.
const (
	sourceBoundLigand = "boundLigand"
	sourceFpocket     = "fpocket"
)

// Edges in Å that stand for a box that is not known before the receptor has been read: a usual one for what it costs, and the
// largest that is laid around a pocket for what it needs.
const (
	usualPocketEdgeAngstrom   = 22.5
	largestPocketEdgeAngstrom = 40.0
)

// How a box is laid around a ligand and around residues, as box.py does: so much more on each side, and each edge at least this and
// at most largestPocketEdgeAngstrom.
const (
	ligandMarginAngstrom    = 5.0
	residueMarginAngstrom   = 4.0
	leastPocketEdgeAngstrom = 15.0
)

// boxRequest says where the docking box is to be. box.py reads it and lays the box.
type boxRequest struct {
	Source         string          `json:"source"`
	CenterAngstrom *mol.BoxCenter  `json:"centerAngstrom,omitempty"`
	SizeAngstrom   *mol.BoxSize    `json:"sizeAngstrom,omitempty"`
	ComponentID    string          `json:"componentId,omitempty"`
	Chain          string          `json:"chain,omitempty"`
	Residue        *int            `json:"residue,omitempty"`
	InsertionCode  string          `json:"insertionCode,omitempty"`
	Residues       []PocketResidue `json:"residues,omitempty"`
	Notes          []string        `json:"notes,omitempty"` // on how the place was chosen

	field  string               // the request's member that says where
	around *coordinates.Residue // the ligand that it lies around, where the receptor has been read
}

// takeBox chooses the box's source: an explicit box, a ligand's file, a ligand of the receptor, residues; and where nothing says
// where, the ligand that is docked again, the one that is bound, and else the best pocket that fpocket finds.
func (q *request) takeBox(p Params) error {
	if err := checkBoxMembers(p); err != nil {
		return err
	}
	q.box = boxRequest{Source: boxFpocket, SizeAngstrom: p.BoxSizeAngstrom}
	switch {
	case p.BoxCenterAngstrom != nil && p.BoxSizeAngstrom == nil:
		return invalid("boxSizeAngstrom", "is missing; give the box's size in Å as one number or [x, y, z], each %g to %g",
			mol.MinBoxEdgeAngstrom, mol.MaxBoxEdgeAngstrom)
	case p.BoxCenterAngstrom != nil:
		q.box.Source, q.box.field, q.box.CenterAngstrom = boxExplicit, "boxCenterAngstrom", p.BoxCenterAngstrom
	case p.BoxLigandArtifact != nil:
		if err := q.takeBoxLigand(*p.BoxLigandArtifact); err != nil {
			return err
		}
	case p.PocketLigand != nil:
		q.box.Source, q.box.field, q.box.ComponentID = boxPocketLigand, "pocketLigand", *p.PocketLigand
		q.box.Chain, q.box.Residue = valueOr(p.PocketLigandChain, ""), p.PocketLigandResidue
	case len(p.PocketResidues) > 0:
		q.box.Source, q.box.field, q.box.Residues = boxPocketResidues, "pocketResidues", p.PocketResidues
	default:
		if err := q.takeDefaultBox(valueOr(p.BoxSource, "")); err != nil {
			return err
		}
	}
	return q.checkBox()
}

// checkBoxMembers refuses members that need another one, and a place that is said twice.
func checkBoxMembers(p Params) error {
	if p.PocketLigand == nil && p.BoxCenterAngstrom == nil {
		if p.PocketLigandChain != nil {
			return invalid("pocketLigandChain", "needs pocketLigand, the residue name of the ligand")
		}
		if p.PocketLigandResidue != nil {
			return invalid("pocketLigandResidue", "needs pocketLigand, the residue name of the ligand")
		}
	}
	for _, other := range []struct {
		name  string
		given bool
	}{{"boxCenterAngstrom", p.BoxCenterAngstrom != nil}, {"pocketLigand", p.PocketLigand != nil},
		{"pocketResidues", len(p.PocketResidues) > 0}} {
		switch {
		case other.given && p.BoxLigandArtifact != nil:
			return invalid("boxLigandArtifact", "is given beside %s; say in one of them where to dock", other.name)
		case other.given && p.BoxSource != nil:
			return invalid("boxSource", "is given beside %s, which says where to dock; leave one of them out", other.name)
		}
	}
	if p.BoxSource != nil && p.BoxLigandArtifact != nil {
		return invalid("boxSource", "is given beside boxLigandArtifact, which says where to dock; leave one of them out")
	}
	return nil
}

// takeBoxLigand lays the box around a molecule in a file of its own.
func (q *request) takeBoxLigand(a mol.ArtifactReference) error {
	switch a.Format {
	case mol.FormatSDF, mol.FormatMOL2, mol.FormatPDB, mol.FormatPDBQT, mol.FormatMMCIF:
	default:
		return invalid("boxLigandArtifact.format", "is %s; the ligand must be sdf, mol2, pdb, pdbqt or mmcif", a.Format)
	}
	if a.ByteSize == 0 || a.ByteSize > maxLigandBytes {
		return invalid("boxLigandArtifact.byteSize", "is %d; a ligand must have 1 to %d bytes", a.ByteSize, maxLigandBytes)
	}
	q.box.Source, q.box.field = boxLigandFile, "boxLigandArtifact"
	found := q.boxLigand
	if found == nil { // of an estimate
		return nil
	}
	if found.Format != a.Format {
		return invalid("boxLigandArtifact.format", "is %s, but the file is %s", a.Format, found.Format)
	}
	center, size, cut := boxAround(found.Low, found.High, ligandMarginAngstrom)
	q.box.CenterAngstrom = &center
	if q.box.SizeAngstrom == nil {
		q.box.SizeAngstrom = &size
		if cut != "" {
			q.box.Notes = append(q.box.Notes, cut)
		}
	}
	q.box.Notes = append(q.box.Notes, fmt.Sprintf("the box lies around the %d heavy atoms of the ligand in boxLigandArtifact",
		found.HeavyAtoms))
	if found.Molecules > 1 {
		q.box.Notes = append(q.box.Notes, fmt.Sprintf("boxLigandArtifact holds %d molecules; the box lies around the first",
			found.Molecules))
	}
	return nil
}

// boxAround is the box around what spans from low to high, with a margin on each side. cut says that it would be longer than a box
// is laid unasked.
func boxAround(low, high coordinates.Point, margin float64) (center mol.BoxCenter, size mol.BoxSize, cut string) {
	longest := 0.0
	for i := range low {
		center[i] = math.Round((low[i]+high[i])/2*1000) / 1000
		edge := high[i] - low[i] + 2*margin
		longest = max(longest, edge)
		size[i] = math.Round(min(max(edge, leastPocketEdgeAngstrom), largestPocketEdgeAngstrom)*1000) / 1000
	}
	if longest > largestPocketEdgeAngstrom {
		cut = fmt.Sprintf("the box would be %.1f Å long and is cut to %g Å; give boxSizeAngstrom for a larger one", longest,
			largestPocketEdgeAngstrom)
	}
	return center, size, cut
}

// takeDefaultBox lays the box where nothing else says where: around the ligand that is docked again, the one that is bound, or the
// best pocket. A PDBQT is taken as it was prepared, without a ligand to look for.
func (q *request) takeDefaultBox(source string) error {
	if q.native != nil && source != sourceFpocket {
		number := q.native.Residue
		q.box.Source, q.box.field, q.box.ComponentID = boxPocketLigand, "dockingValidation.nativeReference",
			strings.ToUpper(q.native.ComponentID)
		q.box.Chain, q.box.Residue, q.box.InsertionCode = q.native.Chain, &number,
			strings.TrimSpace(valueOr(q.native.InsertionCode, ""))
		q.box.Notes = append(q.box.Notes, fmt.Sprintf("nothing says where to dock, so the box lies around %s, the ligand that is "+
			"docked again", q.box.named()))
		return nil
	}
	if source == sourceFpocket || q.site == nil || source == "" && q.site.file.Format == mol.FormatPDBQT {
		return nil
	}
	found, others, ok := q.site.bound()
	if !ok {
		if source == sourceBoundLigand {
			return invalid("boxSource", "is boundLigand, but the receptor holds no drug-like ligand of %d to %d heavy atoms; "+
				"beside its chains it has: %s. Name one as pocketLigand, or give a box",
				fewestLigandAtoms, mostLigandAtoms, q.site.listed())
		}
		return nil
	}
	number := found.Number
	q.box.Source, q.box.field, q.box.ComponentID, q.box.Chain, q.box.Residue = boxPocketLigand, "boxSource", found.Name,
		found.Chain, &number
	q.box.InsertionCode = found.InsertionCode
	if q.site.subchains != nil { // its copies have chains of their own
		q.box.Chain, q.box.Residue, q.box.InsertionCode = "", nil, ""
	}
	q.box.Notes = append(q.box.Notes, fmt.Sprintf("nothing says where to dock, so the box lies around %s, the ligand that is "+
		"bound; boxSource fpocket takes the best pocket instead", found))
	if len(others) > 0 {
		q.box.Notes = append(q.box.Notes, fmt.Sprintf("other ligands are bound: %s; pocketLigand chooses one", list(others)))
	}
	return nil
}

// named is the ligand of the box as the request names it.
func (b boxRequest) named() string {
	text := strings.ToUpper(b.ComponentID)
	if b.Chain != "" {
		text += ", chain " + b.Chain
	}
	if b.Residue != nil {
		text += fmt.Sprintf(", residue %d%s", *b.Residue, b.InsertionCode)
	}
	return text
}

// volumeCubicAngstrom is the box's volume, or that of a box with the edge given when its size is not known yet.
func (b boxRequest) volumeCubicAngstrom(edgeAngstrom float64) float64 {
	if size := b.SizeAngstrom; size != nil {
		return size[0] * size[1] * size[2]
	}
	return edgeAngstrom * edgeAngstrom * edgeAngstrom
}
