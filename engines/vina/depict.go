package vina

import "github.com/molfabric/molfabric/engines"

var _ engines.Depicter = Vina{}

// Depict draws the receptor with the best pose of the best ligand. A ligand given as PDBQT has no such complex: then the renderer
// has nothing to draw, and the job fails with the results of its docking kept.
func (Vina) Depict(engines.Request, []engines.Shard) (engines.Depiction, error) {
	return engines.Depiction{
		Scene: engines.Scene{Format: "pdb", States: []engines.SceneState{{Title: "Best pose"}}},
		File:  engines.From{Stage: stageRank, Shard: shardRank, Output: outputBest},
	}, nil
}
