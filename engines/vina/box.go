package vina

import (
	"github.com/molfabric/molfabric/internal/mol"
)

// How a docking box is found, in the order of precedence.
const (
	boxExplicit       = "explicit"
	boxPocketLigand   = "pocketLigand"
	boxPocketResidues = "pocketResidues"
	boxFpocket        = "fpocket"
)

// Edges in Å that stand for a box that is not known before the receptor has been read: a usual one for what it costs, and the
// largest that is laid around a pocket for what it needs.
const (
	usualPocketEdgeAngstrom   = 22.5
	largestPocketEdgeAngstrom = 40.0
)

// boxRequest says where the docking box is to be. box.py reads it and lays the box.
type boxRequest struct {
	Source         string          `json:"source"`
	CenterAngstrom *mol.BoxCenter  `json:"centerAngstrom,omitempty"`
	SizeAngstrom   *mol.BoxSize    `json:"sizeAngstrom,omitempty"`
	ComponentID    string          `json:"componentId,omitempty"`
	Chain          string          `json:"chain,omitempty"`
	Residue        *int            `json:"residue,omitempty"`
	Residues       []PocketResidue `json:"residues,omitempty"`
}

// takeBox chooses the box's source: an explicit box, a ligand, residues, and else the best pocket that fpocket finds.
func (q *request) takeBox(p Params) error {
	if p.PocketLigand == nil && p.BoxCenterAngstrom == nil {
		if p.PocketLigandChain != nil {
			return invalid("pocketLigandChain", "needs pocketLigand, the residue name of the ligand")
		}
		if p.PocketLigandResidue != nil {
			return invalid("pocketLigandResidue", "needs pocketLigand, the residue name of the ligand")
		}
	}
	q.box = boxRequest{Source: boxFpocket, SizeAngstrom: p.BoxSizeAngstrom}
	switch {
	case p.BoxCenterAngstrom != nil && p.BoxSizeAngstrom == nil:
		return invalid("boxSizeAngstrom", "is missing; give the box's size in Å as one number or [x, y, z], each %g to %g", mol.MinBoxEdgeAngstrom, mol.MaxBoxEdgeAngstrom)
	case p.BoxCenterAngstrom != nil:
		q.box.Source, q.box.CenterAngstrom = boxExplicit, p.BoxCenterAngstrom
	case p.PocketLigand != nil:
		q.box.Source, q.box.ComponentID = boxPocketLigand, *p.PocketLigand
		q.box.Chain, q.box.Residue = valueOr(p.PocketLigandChain, ""), p.PocketLigandResidue
	case len(p.PocketResidues) > 0:
		q.box.Source, q.box.Residues = boxPocketResidues, p.PocketResidues
	}
	return nil
}

// volumeCubicAngstrom is the box's volume, or that of a box with the edge given when its size is not known yet.
func (b boxRequest) volumeCubicAngstrom(edgeAngstrom float64) float64 {
	if size := b.SizeAngstrom; size != nil {
		return size[0] * size[1] * size[2]
	}
	return edgeAngstrom * edgeAngstrom * edgeAngstrom
}
