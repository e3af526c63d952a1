package vina

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/coordinates"
)

// Foretell writes a Forecast of what a request would be docked into; nil where nobody has read its receptor. The ligands are not
// looked at: a library is long.
func (Vina) Foretell(r engines.Request) (json.RawMessage, error) {
	p, err := paramsOfRequest(r)
	if err != nil || r.Found.Contents[p.receptorField()].Structure == nil {
		return nil, err
	}
	forecast, err := foretell(r, p)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(forecast)
	if err != nil {
		return nil, fmt.Errorf("vina: writing a forecast: %w", err)
	}
	return text, nil
}

func foretell(r engines.Request, p Params) (*contract.Forecast, error) {
	q := request{preparation: p.ReceptorPreparation.Completed(), components: r.Found.Components,
		boxLigand: r.Found.Contents[fieldBoxLigand].Molecule}
	for _, take := range []func() error{
		func() error { return q.takeReceptor(r, p) },
		func() error { return q.takeValidation(p) },
		func() error { return q.takeBox(p) },
	} {
		if err := take(); err != nil {
			return nil, err
		}
	}
	f := contract.Forecast{Box: q.forecastBox(), Components: q.site.fates(q.leaves()...), Notes: append([]string{}, q.box.Notes...)}
	if f.Components == nil {
		f.Components = []contract.ComponentFate{}
	}
	if q.box.Source == boxFpocket {
		f.Notes = append(f.Notes, "the box will lie around the best pocket that fpocket finds, which is a guess; name a ligand "+
			"or residues to dock elsewhere"+q.cofactorNote())
	}
	for _, ligand := range []*coordinates.Residue{q.nativeAt, q.box.around} {
		if note := q.covalentNote(ligand); note != "" && !slices.Contains(f.Notes, note) {
			f.Notes = append(f.Notes, note)
		}
	}
	return &f, nil
}

// cofactorNote names the cofactors of a structure without a ligand: one of them may stand where somebody wants to dock.
func (q *request) cofactorNote() string {
	var found []coordinates.Residue
	for _, r := range q.site.others() {
		if classOf(r) == classCofactor && !isPartOfChain(r) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(". Cofactors are bound: %s; pocketLigand docks in the place of one", list(found))
}

// covalentNote says of a ligand that it is bonded to the receptor, which a docking does not imitate.
func (q *request) covalentNote(ligand *coordinates.Residue) string {
	if ligand == nil || ligand.HeavyAtoms > maxLinkedAtoms {
		return ""
	}
	partners := q.site.file.Bonded(*ligand, func(r coordinates.Residue) bool {
		return coordinates.IsStandard(r.Name) && q.site.selected(r)
	})
	if len(partners) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is bonded to %s; docking makes no bonds, so its pose will not be found exactly", ligand, list(partners))
}

func (q *request) forecastBox() contract.ForecastBox {
	box := contract.ForecastBox{Source: q.box.Source, CenterAngstrom: q.box.CenterAngstrom, SizeAngstrom: q.box.SizeAngstrom}
	low, high, margin := coordinates.Point{}, coordinates.Point{}, 0.0
	switch around := q.box.around; {
	case around != nil:
		box.Ligand = &contract.ForecastLigand{ComponentID: around.Name, Chain: around.Chain, Residue: around.Number,
			InsertionCode: around.InsertionCode, HeavyAtoms: around.HeavyAtoms}
		low, high, margin = around.Low, around.High, ligandMarginAngstrom
	case q.box.Source == boxPocketResidues && q.site.subchains == nil:
		low, high = q.site.file.Extent(func(r coordinates.Residue) bool { return q.box.names(r) })
		margin = residueMarginAngstrom
	}
	if margin > 0 && q.site.subchains == nil {
		center, size, _ := boxAround(low, high, margin)
		box.CenterAngstrom = &center
		if box.SizeAngstrom == nil {
			box.SizeAngstrom = &size
		}
	}
	return box
}

// names tells whether a residue is one of those that the box is laid around.
func (b boxRequest) names(r coordinates.Residue) bool {
	for _, wanted := range b.Residues {
		if r.Chain == wanted.Chain && r.Number == wanted.Residue &&
			r.InsertionCode == strings.TrimSpace(valueOr(wanted.InsertionCode, "")) {
			return true
		}
	}
	return false
}
