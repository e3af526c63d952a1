package fpocket

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	pocketsFile    = "pockets.json"
	provenanceFile = "provenance.json"
	pocketsSchema  = "molfabric.pockets/v1"

	// maxDocumentBytes bounds each JSON document: 20 pockets with all their residues are some hundred kilobytes.
	maxDocumentBytes = 16 << 20
)

// pocketsDocument is what Collect reads of pockets.json.
type pocketsDocument struct {
	Schema       string         `json:"schema"`
	PocketsFound *int           `json:"pocketsFound"`
	Pockets      []pocketRecord `json:"pockets"`
}

type pocketRecord struct {
	Rank           int               `json:"rank"`
	Score          *float64          `json:"score"`
	CenterAngstrom []float64         `json:"centerAngstrom"`
	Residues       []json.RawMessage `json:"residues"`
	DockingBox     boxRecord         `json:"dockingBox"`
	Files          filesRecord       `json:"files"`
}

type boxRecord struct {
	CenterAngstrom []float64 `json:"boxCenterAngstrom"`
	SizeAngstrom   []float64 `json:"boxSizeAngstrom"`
}

type filesRecord struct {
	Atoms        string `json:"atoms"`
	AlphaSpheres string `json:"alphaSpheres"`
}

// Collect checks that the shard's outputs are there and complete, and lists them.
func (Fpocket) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	var params findParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, fmt.Errorf("fpocket: reading the parameters of shard %s: %w", shard.Name, err)
	}
	result, err := finding.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	content, err := python.ReadBounded(dir.Out(pocketsFile), maxDocumentBytes)
	if err != nil {
		return engines.Result{}, finding.BadOutput("%s is missing or cannot be read", pocketsFile)
	}
	pockets, err := readPockets(content, params.MaxPockets)
	if err != nil {
		return engines.Result{}, err
	}
	artifacts := artifactsOf(pockets)
	if err := finding.CheckDigests(dir, provenanceFile, maxDocumentBytes, artifacts); err != nil {
		return engines.Result{}, err
	}
	return result.With(artifacts), nil
}

// readPockets parses pockets.json and checks that it holds what it promises: at most `most` pockets with ranks from 1 and falling
// scores, each with residues, a box that a docking request takes, and files of its own. A wrong one is a *engines.Failure.
func readPockets(content []byte, most int) ([]pocketRecord, error) {
	var document pocketsDocument
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, finding.BadOutput("%s is not complete JSON", pocketsFile)
	}
	if document.Schema != pocketsSchema || document.PocketsFound == nil {
		return nil, finding.BadOutput("%s is no document of %s", pocketsFile, pocketsSchema)
	}
	pockets := document.Pockets
	if len(pockets) != min(*document.PocketsFound, most) {
		return nil, finding.BadOutput("%s holds %d pockets of %d found", pocketsFile, len(pockets), *document.PocketsFound)
	}
	for i, pocket := range pockets {
		files := filesRecord{Atoms: fmt.Sprintf("pockets/%02d.pdb", i+1), AlphaSpheres: fmt.Sprintf("pockets/%02d.pqr", i+1)}
		switch {
		case pocket.Rank != i+1 || pocket.Files != files:
			return nil, finding.BadOutput("pocket %d of %s has rank %d or names other files", i+1, pocketsFile, pocket.Rank)
		case i > 0 && pocket.Score != nil && pockets[i-1].Score != nil && *pocket.Score > *pockets[i-1].Score:
			return nil, finding.BadOutput("pocket %d of %s has a better score than the one before it", i+1, pocketsFile)
		case len(pocket.CenterAngstrom) != 3 || len(pocket.Residues) == 0 || !pocket.DockingBox.usable():
			return nil, finding.BadOutput("pocket %d of %s is incomplete", i+1, pocketsFile)
		}
	}
	return pockets, nil
}

// usable reports whether a docking request takes the box.
func (b boxRecord) usable() bool {
	for _, edge := range b.SizeAngstrom {
		if edge < mol.MinBoxEdgeAngstrom || edge > mol.MaxBoxEdgeAngstrom {
			return false
		}
	}
	return len(b.CenterAngstrom) == 3 && len(b.SizeAngstrom) == 3
}

func artifactsOf(pockets []pocketRecord) []engines.Artifact {
	artifacts := []engines.Artifact{
		{Name: pocketsFile, Role: engines.RoleResult, MediaType: "application/json", Format: "json"},
		{Name: "pockets.csv", Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
		{Name: "structure-with-pockets.pdb", Role: engines.RoleResult, MediaType: "chemical/x-pdb", Format: "pdb"},
		{Name: provenanceFile, Role: engines.RoleProvenance, MediaType: "application/json", Format: "json"},
	}
	for _, pocket := range pockets {
		artifacts = append(artifacts,
			engines.Artifact{Name: pocket.Files.Atoms, Role: engines.RoleResult, MediaType: "chemical/x-pdb", Format: "pdb"},
			engines.Artifact{Name: pocket.Files.AlphaSpheres, Role: engines.RoleResult, MediaType: "chemical/x-pqr", Format: "pqr"},
		)
	}
	return artifacts
}
