package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// resultsSchema marks the document of a docking's results.
	resultsSchema = "molfabric.docking.results/v1"
	resultsFile   = "results.json"
	timingsFile   = "timings.json"
	// maxDocumentBytes bounds a document that is read into memory: 10,000 ligands with 100 poses each.
	maxDocumentBytes = 512 << 20
	// maxFailuresShown bounds the failed ligands that are listed; results.csv names all.
	maxFailuresShown = 20
	// ligandFailed is a ligand's status without a result.
	ligandFailed = "FAILED"
)

// dockingResults is what is shown of results.json.
type dockingResults struct {
	Schema  string         `json:"schema"`
	Ligands []ligandResult `json:"ligands"` // best first, failed ones last
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
	PoseCount        int      `json:"poseCount"`
}

// dockingTimings is timings.json: kept apart from the results, which are the same to the byte in every run.
type dockingTimings struct {
	Ligands []struct {
		LigandID          string   `json:"ligandId"`
		PrepareCPUSeconds *float64 `json:"prepareCpuSeconds"`
		DockCPUSeconds    *float64 `json:"dockCpuSeconds"`
	} `json:"ligands"`
}

// cpuSeconds of each ligand, by its id.
func (t dockingTimings) cpuSeconds() map[string]float64 {
	spent := make(map[string]float64, len(t.Ligands))
	for _, ligand := range t.Ligands {
		for _, seconds := range []*float64{ligand.PrepareCPUSeconds, ligand.DockCPUSeconds} {
			if seconds != nil {
				spent[ligand.LigandID] += *seconds
			}
		}
	}
	return spent
}

// showDocking prints the ranked table of a docking that has results, and does nothing for any other job. detail says how many
// ligands failed, or "".
func (inv *invocation) showDocking(ctx context.Context, j client.Job, top int) (detail string, err error) {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return "", nil
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	var results dockingResults
	var timings dockingTimings
	for name, into := range map[string]any{resultsFile: &results, timingsFile: &timings} {
		if err := inv.readDocument(ctx, outputs.Outputs, name, into); err != nil {
			return "", err
		}
	}
	if results.Schema != resultsSchema {
		return "", nil
	}
	if err := dockingTable(inv.out, results, timings.cpuSeconds(), top); err != nil {
		return "", err
	}
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

// dockingTable prints the best ligands, at most top of them.
func dockingTable(w io.Writer, results dockingResults, cpuSeconds map[string]float64, top int) error {
	t := newTable(painter(w), []int{1, 3, 4, 5, 6}, "rank", "ligand", "best score (kcal/mol)", "efficiency", "poses", "CPU seconds")
	ranked := 0
	for _, ligand := range results.Ligands {
		if ligand.Rank == nil || ligand.BestScoreKcalMol == nil {
			continue
		}
		if ranked++; ranked > top {
			continue
		}
		t.AppendRow(table.Row{
			*ligand.Rank, shorten(ligand.Label, 40), fmt.Sprintf("%.2f", *ligand.BestScoreKcalMol), decimals(ligand.LigandEfficiency, 3),
			ligand.PoseCount, secondsText(cpuSeconds, ligand.LigandID),
		})
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", t.Render()); err != nil {
		return err
	}
	if ranked > top {
		_, err := fmt.Fprintf(w, "… and %d more; results.csv holds all\n", ranked-top)
		return err
	}
	return nil
}

// showFailedLigands names every ligand without a result, the step that failed and why, and returns their number in words.
func showFailedLigands(w io.Writer, results dockingResults) (detail string) {
	failed := 0
	for _, ligand := range results.Ligands {
		if ligand.Status != ligandFailed {
			continue
		}
		if failed++; failed == 1 {
			fmt.Fprintf(w, "\n%s\n", painter(w).bold("Failed ligands"))
		}
		if failed <= maxFailuresShown {
			fmt.Fprintf(w, "  %s  at %s: %s\n", shorten(ligand.Label, 40), orText(ligand.FailureStage, "an unknown step"), orText(ligand.Error, "no reason given"))
		}
	}
	if failed > maxFailuresShown {
		fmt.Fprintf(w, "  … and %d more; results.csv names all\n", failed-maxFailuresShown)
	}
	if failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d ligands have no result", failed, len(results.Ligands))
}

func orText(s *string, otherwise string) string {
	if s == nil || *s == "" {
		return otherwise
	}
	return *s
}

func decimals(value *float64, places int) string {
	if value == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f", places, *value)
}

func secondsText(spent map[string]float64, ligandID string) string {
	seconds, known := spent[ligandID]
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.1f", seconds)
}
