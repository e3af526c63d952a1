package vina

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	// typicalSMILES is celecoxib, of the size of most oral drugs: 26 heavy atoms.
	typicalSMILES = "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F"
	// mostLigands is what a library may hold.
	mostLigands = 10_000
)

var _ engines.Typical = Vina{}

// Typical implements engines.Typical: a request without any ligand docks one of the size of most drugs in each of its tasks.
func (Vina) Typical(r engines.Request) (engines.Request, string, error) {
	p, err := paramsOfRequest(r)
	if err != nil || p.LigandIdentity != nil || len(p.LigandLibrary) > 0 || p.DockingValidation != nil {
		return r, "", err
	}
	count := max(r.TaskCount, 1)
	if count > mostLigands {
		return r, "", invalid("taskCount", "is %d; a docking has at most %d ligands, and the typical case one a task",
			count, mostLigands)
	}
	p.LigandLibrary = make([]mol.LigandEntry, count)
	for i := range p.LigandLibrary {
		p.LigandLibrary[i] = mol.LigandEntry{LigandID: fmt.Sprintf("typical-%d", i+1), Label: "typical",
			Source: mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: typicalSMILES}}}.Completed()
	}
	if r.Params, err = json.Marshal(p); err != nil {
		return r, "", fmt.Errorf("vina: writing the parameters of the typical case: %w", err)
	}
	engines.Remember(&r, p)
	what := "one ligand"
	if count > 1 {
		what = fmt.Sprintf("%d ligands", count)
	}
	return r, fmt.Sprintf("The typical docking with autodock-vina: %s of 26 heavy atoms, the size of most oral drugs, "+
		"into one receptor that has to be prepared; everything else as "+
		"simulationParams says, or its defaults. "+
		"Name your ligands in simulationParams.ligandIdentity or ligandLibrary for the price of your own job.", what), nil
}
