package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// resultsSchema marks the document of a docking's results.
	resultsSchema = "molfabric.docking.results/v1"
	resultsFile   = "results.json"
	timingsFile   = "timings.json"
	receptorFile  = "receptor.json"
	// maxDocumentBytes bounds a document that is read into memory: 10,000 ligands with 100 poses each.
	maxDocumentBytes = 512 << 20
)

// The statuses of a ligand that has ended.
const (
	ligandCompleted = "COMPLETED"
	ligandFailed    = "FAILED"
)

// dockingResults is what is shown of results.json.
type dockingResults struct {
	Schema   string `json:"schema"`
	Receptor struct {
		Format      string   `json:"format"`
		PDBID       *string  `json:"pdbId"`
		Protonation string   `json:"protonation"`
		Reused      bool     `json:"-"` // says receptor.json
		AtomCount   int      `json:"atomCount"`
		Notes       []string `json:"notes"`
		// Site is what the structure held beside its chains, nearest to the box first; nil of a receptor that was given prepared.
		Site   []siteEntry `json:"site"`
		Waters struct {
			Kept    int    `json:"kept"`
			Removed int    `json:"removed"`
			Option  string `json:"option"`
		} `json:"waters"`
	} `json:"receptor"`
	Box struct {
		Source         string    `json:"source"`
		CenterAngstrom []float64 `json:"centerAngstrom"`
		SizeAngstrom   []float64 `json:"sizeAngstrom"`
		Notes          []string  `json:"notes"`
	} `json:"box"`
	Validation  *redocking     `json:"validation"`  // nil when no native ligand was named
	Convergence *agreement     `json:"convergence"` // nil for searches of a fixed length
	Ligands     []ligandResult `json:"ligands"`     // best first, failed ones last
}

// redocking is how the structure's own ligand was found again.
type redocking struct {
	ComponentID         string   `json:"componentId"`
	RMSDAngstrom        *float64 `json:"rmsdAngstrom"`        // of the best-scored pose to the crystal pose
	ClosestRMSDAngstrom *float64 `json:"closestRmsdAngstrom"` // of any pose
	ThresholdAngstrom   float64  `json:"thresholdAngstrom"`
	Passed              bool     `json:"passed"`
}

// agreement is on how many ligands independent searches agree.
type agreement struct {
	Judged       int      `json:"judged"`
	Converged    int      `json:"converged"`
	NotConverged []string `json:"notConverged"` // ids of the first that have not, best first
}

type ligandResult struct {
	Rank             *int     `json:"rank"`
	LigandID         string   `json:"ligandId"`
	Label            string   `json:"label"`
	Status           string   `json:"status"`
	FailureStage     *string  `json:"failureStage"`
	Error            *string  `json:"error"`
	BestScoreKcalMol *float64 `json:"bestScoreKcalMol"`
	LigandEfficiency *float64 `json:"ligandEfficiency"`
	CNNScore         *float64 `json:"cnnScore"` // of the best pose, 0 to 1; nil where the network was not at hand
	PoseCount        int      `json:"poseCount"`
	Checks           *struct {
		Passed bool            `json:"passed"`
		Tests  map[string]bool `json:"tests"`
	} `json:"checks"` // of the best pose; nil where they did not run
	Interactions []string `json:"interactions"` // of the best pose, chain:residueName:residue:type; nil where nobody has looked
}

// dockingTimings is timings.json: kept apart from the results, which are the same to the byte in every run.
type dockingTimings struct {
	Ligands []struct {
		LigandID          string   `json:"ligandId"`
		PrepareCPUSeconds *float64 `json:"prepareCpuSeconds"`
		DockCPUSeconds    *float64 `json:"dockCpuSeconds"`
		AnalyseCPUSeconds *float64 `json:"analyseCpuSeconds"`
	} `json:"ligands"`
}

// cpuSeconds of each ligand, by its id.
func (t dockingTimings) cpuSeconds() map[string]float64 {
	spent := make(map[string]float64, len(t.Ligands))
	for _, ligand := range t.Ligands {
		for _, seconds := range []*float64{ligand.PrepareCPUSeconds, ligand.DockCPUSeconds, ligand.AnalyseCPUSeconds} {
			if seconds != nil {
				spent[ligand.LigandID] += *seconds
			}
		}
	}
	return spent
}

// showDocking prints what a docking that has results has found, and does nothing for any other job. detail says how many
// ligands failed, or "".
func (inv *invocation) showDocking(ctx context.Context, j client.Job, top int) (detail string, err error) {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures || j.Simulator != nil && *j.Simulator != simulator {
		return "", nil
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	var results dockingResults
	var timings dockingTimings
	var prepared struct {
		Reused bool `json:"reused"`
	}
	for name, into := range map[string]any{resultsFile: &results, timingsFile: &timings, receptorFile: &prepared} {
		if err := inv.readDocument(ctx, outputs.Outputs, name, into); err != nil {
			return "", err
		}
	}
	results.Receptor.Reused = prepared.Reused
	if results.Schema != resultsSchema {
		return "", nil
	}
	if err := dockingTable(inv.out, results, timings.cpuSeconds(), top); err != nil {
		return "", err
	}
	showSetting(inv.out, results)
	return showFailedLigands(inv.out, results), nil
}

// readDocument reads a job's output of this name; one that is not there leaves into alone.
func (inv *invocation) readDocument(ctx context.Context, outputs []client.Output, name string, into any) error {
	for _, output := range outputs {
		if path.Clean(output.Name) != name {
			continue
		}
		text, err := inv.api.FetchOutput(ctx, output, maxDocumentBytes)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("%s of the job is no JSON: %w", name, err)
		}
		return nil
	}
	return nil
}
