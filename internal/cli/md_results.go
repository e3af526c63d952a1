package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	analysisFile   = "analysis.json"
	analysisSchema = "molfabric.openmm.analysis/v1"
)

// dynamicsAnalysis is what is shown of analysis.json.
type dynamicsAnalysis struct {
	Schema string `json:"schema"`
	Run    struct {
		StartNs        float64  `json:"startNs"` // of earlier runs that it goes on from
		DurationNs     float64  `json:"durationNs"`
		Frames         int      `json:"frames"`
		FramesAnalysed int      `json:"framesAnalysed"`
		NsPerDay       *float64 `json:"nsPerDay"`
	} `json:"run"`
	System struct {
		Atoms int `json:"atoms"`
	} `json:"system"`
	Quantities []dynamicsQuantity `json:"quantities"`
	Judgement  struct {
		Verdict   string   `json:"verdict"`
		Headline  string   `json:"headline"`
		Sentences []string `json:"sentences"`
	} `json:"judgement"`
	Notes []string `json:"notes"`
}

type dynamicsQuantity struct {
	Title                  string   `json:"title"`
	Unit                   string   `json:"unit"`
	Mean                   float64  `json:"mean"`
	StandardDeviation      float64  `json:"standardDeviation"`
	StandardError          *float64 `json:"standardError"`
	StandardErrorConverged *bool    `json:"standardErrorConverged"`
	DriftPerNs             *float64 `json:"driftPerNs"`
	Verdict                string   `json:"verdict"`
}

// verdicts of a quantity, for people.
var verdicts = map[string]string{
	"settled": "settled", "drifting": "drifts", "undecided": "cannot be told", "too-short": "too few values",
	"constant": "constant",
}

// isDynamics tells whether a job is a simulation.
func isDynamics(j contract.Job) bool { return j.Simulator != nil && *j.Simulator == dynamicsSimulator }

// showDynamics prints what a simulation that has ended has measured: every quantity, however many ligands or queries are asked
// for. It has no detail for the exit.
func (inv *invocation) showDynamics(ctx context.Context, j contract.Job, _ int) (detail string, err error) {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return "", nil
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	var analysis dynamicsAnalysis
	if err := inv.readDocument(ctx, outputs.Body, analysisFile, &analysis); err != nil {
		return "", err
	}
	if analysis.Schema != analysisSchema {
		fmt.Fprintln(inv.out, "\nThe analysis has left no results; the trajectory is there all the same.")
		return "", nil
	}
	return "", dynamicsTable(inv.out, analysis)
}

func dynamicsTable(w io.Writer, a dynamicsAnalysis) error {
	speed := ""
	if a.Run.NsPerDay != nil {
		speed = fmt.Sprintf(", at %s ns/day", digits(*a.Run.NsPerDay, 3))
	}
	length := timeText(a.Run.DurationNs * 1e6)
	if a.Run.StartNs > 0 {
		length += fmt.Sprintf(" (from %s to %s)", timeText(a.Run.StartNs*1e6), timeText((a.Run.StartNs+a.Run.DurationNs)*1e6))
	}
	fmt.Fprintf(w, "\n%s of %d atoms%s; %d of %d frames analysed\n", length, a.System.Atoms, speed, a.Run.FramesAnalysed,
		a.Run.Frames)
	p := painter(w)
	t := newTable(p, []int{2, 3, 4}, "quantity", "mean", "standard deviation", "drift per ns", "unit", "second half")
	bounds := false
	for _, q := range a.Quantities {
		mean := digits(q.Mean, 5)
		if q.StandardError != nil && *q.StandardError > 0 {
			places := min(max(1-int(math.Floor(math.Log10(*q.StandardError))), 0), 8)
			mean = fmt.Sprintf("%.*f ± %.*f", places, q.Mean, places, *q.StandardError)
			if q.StandardErrorConverged != nil && !*q.StandardErrorConverged {
				mean, bounds = mean+"*", true
			}
		}
		drift := "–"
		if q.DriftPerNs != nil {
			drift = digits(*q.DriftPerNs, 3)
		}
		verdict := first(verdicts[q.Verdict], labelOf(q.Verdict))
		if q.Verdict == "settled" || q.Verdict == "drifting" {
			verdict = p.good(q.Verdict == "settled", verdict)
		}
		t.AppendRow(table.Row{labelOf(q.Title), mean, digits(q.StandardDeviation, 3), drift, labelOf(q.Unit), verdict})
	}
	if err := render(w, t); err != nil {
		return err
	}
	if bounds {
		fmt.Fprintln(w, "* a lower bound: the run is short for what it is an error of")
	}
	fmt.Fprintf(w, "\n%s\n", p.bold(labelOf(a.Judgement.Headline)))
	for _, sentence := range slices.Concat(a.Judgement.Sentences, a.Notes) {
		fmt.Fprintf(w, "  %s\n", shorten(labelOf(sentence), noteChars))
	}
	return nil
}

// digits writes a number with so many significant digits and without an exponent.
func digits(value float64, significant int) string {
	if value == 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	places := significant - 1 - int(math.Floor(math.Log10(math.Abs(value))))
	scale := math.Pow(10, float64(places))
	return strconv.FormatFloat(math.Round(value*scale)/scale, 'f', min(max(places, 0), 12), 64)
}

// dynamicsFiles are the files and folders of a run that its user gets, in the order in which they are explained.
var dynamicsFiles = []delivered{
	{"plots", "figures as SVG and PNG"}, {analysisFile, "averages, errors and drifts, for programs"},
	{"analysis.csv", "RMSD, radius of gyration and energies over time, for spreadsheets"}, {"trajectory.dcd", "the frames"},
	{"topology.pdb", "what the frames are of"}, {"topology.cif", "what the frames are of"},
	{"state.csv", "energies, temperature and density over time"}, {"minimised.pdb", "after the minimisation"},
	{"minimised.cif", "after the minimisation"}, {"equilibrated.pdb", "where production began"},
	{"equilibrated.cif", "where production began"}, {resultsFile, "speed and averages of the run"},
	{provenanceFile, "programs, parameters, seed and checksums"}, {checkpointFile, "to go on with on the same machine"},
	{stateXMLFile, "to go on with anywhere"}, {"preparation.json", "what the preparation did"},
}

// deliverDynamics downloads a run's files, or says how to get them.
func (inv *invocation) deliverDynamics(ctx context.Context, j contract.Job, folder string) error {
	return inv.hand(ctx, j, folder, delivery{
		files: dynamicsFiles, choose: among(dynamicsFiles), report: "figures, averages and what they are worth, in one page",
		later: "  molfabric outputs %[1]s -o results   downloads report, plots, trajectory and provenance\n" +
			"  molfabric md STRUCTURE --restart %[1]s --time 10ns   goes on\n",
	})
}
