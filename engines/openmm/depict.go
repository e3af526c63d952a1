package openmm

import "github.com/molfabric/molfabric/engines"

var _ engines.Depicter = OpenMM{}

const (
	// snapshotsFile has a model for each frame of a film.
	snapshotsFile = "snapshots.pdb"
	// maxSnapshots bounds them: ten seconds of film.
	maxSnapshots = 240
)

// snapshots are the frames of a film of the run: those that are analysed, or so many of them, evenly spread.
func (q request) snapshots() int64 {
	return min(q.Protocol.ProductionSteps/q.Outputs.AnalysisIntervalSteps, maxSnapshots)
}

// Depict draws the solute as it moves, a state a snapshot. Of a system that is nothing but water and ions there are none: then the
// job fails with the results of its simulation kept.
func (OpenMM) Depict(r engines.Request, _ []engines.Shard) (engines.Depiction, error) {
	q, err := resolve(r)
	if err != nil {
		return engines.Depiction{}, err
	}
	return engines.Depiction{
		Scene: engines.Scene{Format: FormatPDB, States: make([]engines.SceneState, q.snapshots())},
		File:  engines.From{Stage: stageAnalyse, Shard: shardAnalysis, Output: snapshotsFile},
	}, nil
}
