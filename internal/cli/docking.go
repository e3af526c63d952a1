package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	resultsFile   = "results.json"
	timingsFile   = "timings.json"
	receptorFile  = "receptor.json"
	boxFile       = "box.json"
	redockingFile = "redock.json"
	// maxDocumentBytes bounds a document that is read into memory: times of 10,000 ligands have some 2 MB.
	maxDocumentBytes = 64 << 20
)

// The statuses of a ligand that has ended.
const (
	ligandCompleted = "COMPLETED"
	ligandFailed    = "FAILED"
)

// dockingEnd is what a docking has found, and what its scores rest on.
type dockingEnd struct {
	Receptor   preparedReceptor
	Box        searchedBox
	Validation *redocking               // nil when no native ligand was named
	Results    []contract.DockingResult // best first, failed ones last
	Flaws      map[string]int           // checks that the best pose has not passed, by the result's id
}

// preparedReceptor is what is shown of receptor.json.
type preparedReceptor struct {
	Format      string   `json:"format"`
	PDBID       *string  `json:"pdbId"`
	Protonation string   `json:"protonation"`
	Reused      bool     `json:"reused"`
	AtomCount   int      `json:"atomCount"`
	Notes       []string `json:"notes"`
	// Site is what the structure held beside its chains, nearest to the box first; nil of a receptor that was given prepared.
	Site   []siteEntry `json:"site"`
	Waters struct {
		Kept    int    `json:"kept"`
		Removed int    `json:"removed"`
		Option  string `json:"option"`
	} `json:"waters"`
}

// searchedBox is what is shown of box.json.
type searchedBox struct {
	Source         string    `json:"source"`
	CenterAngstrom []float64 `json:"centerAngstrom"`
	SizeAngstrom   []float64 `json:"sizeAngstrom"`
	Notes          []string  `json:"notes"`
}

// redocking is how the structure's own ligand was found again, of redock.json.
type redocking struct {
	ComponentID         string   `json:"componentId"`
	RMSDAngstrom        *float64 `json:"rmsdAngstrom"`        // of the best-scored pose to the crystal pose
	ClosestRMSDAngstrom *float64 `json:"closestRmsdAngstrom"` // of any pose
	ThresholdAngstrom   float64  `json:"thresholdAngstrom"`
	Passed              bool     `json:"passed"`
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
func (inv *invocation) showDocking(ctx context.Context, j contract.Job, top int) (detail string, err error) {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures || j.Simulator != nil && *j.Simulator != simulator {
		return "", nil
	}
	run, found, err := inv.api.RunOfJob(ctx, j.JobID)
	if err != nil || !found {
		return "", err
	}
	end, err := inv.foundBy(ctx, run.RunID, top)
	if err != nil {
		return "", err
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	var timings dockingTimings
	for name, into := range map[string]any{timingsFile: &timings, receptorFile: &end.Receptor, boxFile: &end.Box,
		redockingFile: &end.Validation} {
		if err := inv.readDocument(ctx, outputs.Body, name, into); err != nil {
			return "", err
		}
	}
	if err := dockingTable(inv.out, end, timings.cpuSeconds(), top); err != nil {
		return "", err
	}
	showSetting(inv.out, end)
	return showFailedLigands(inv.out, end.Results), nil
}

// foundBy reads what became of a run's ligands. The checks that a best pose has not passed are its pose's to tell; they are asked
// for where they are shown.
func (inv *invocation) foundBy(ctx context.Context, runID string, top int) (dockingEnd, error) {
	results, err := inv.api.AllDockingResults(ctx, runID, client.ResultFilter{})
	end := dockingEnd{Results: results, Flaws: map[string]int{}}
	if err != nil {
		return end, err
	}
	for _, r := range results {
		if r.Rank == nil || *r.Rank > top || r.PassedChecks == nil || *r.PassedChecks {
			continue
		}
		poses, err := inv.api.DockingPoses(ctx, r.ResultID, client.Page{Limit: 1})
		if err != nil {
			return end, err
		}
		for _, best := range poses.Body.Poses {
			end.Flaws[r.ResultID] = len(best.Flaws())
		}
	}
	return end, nil
}

// readDocument reads a job's output of this name; one that is not there leaves into alone.
func (inv *invocation) readDocument(ctx context.Context, outputs contract.Outputs, name string, into any) error {
	for _, output := range outputs.Outputs {
		if path.Clean(output.Name) != name {
			continue
		}
		text, err := inv.api.FetchOutput(ctx, outputs.JobID, output, maxDocumentBytes)
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
