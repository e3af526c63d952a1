package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/client"
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
	"settled": "settled", "drifting": "drifts", "undecided": "cannot be told", "too-short": "too few values", "constant": "constant",
}

// isDynamics tells whether a job is a simulation.
func isDynamics(j client.Job) bool { return j.Simulator != nil && *j.Simulator == dynamicsSimulator }

// showDynamics prints what a simulation that has ended has measured: every quantity, however many ligands or queries are asked
// for. It has no detail for the exit.
func (inv *invocation) showDynamics(ctx context.Context, j client.Job, _ int) (detail string, err error) {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return "", nil
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	var analysis dynamicsAnalysis
	if err := inv.readDocument(ctx, outputs.Outputs, analysisFile, &analysis); err != nil {
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
	fmt.Fprintf(w, "\n%s of %d atoms%s; %d of %d frames analysed\n", length, a.System.Atoms, speed, a.Run.FramesAnalysed, a.Run.Frames)
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
var dynamicsFiles = []struct{ name, meaning string }{
	{"plots", "figures as SVG and PNG"}, {analysisFile, "averages, errors and drifts, for programs"},
	{"analysis.csv", "RMSD, radius of gyration and energies over time, for spreadsheets"}, {"trajectory.dcd", "the frames"},
	{"topology.pdb", "what the frames are of"}, {"topology.cif", "what the frames are of"}, {"state.csv", "energies, temperature and density over time"},
	{"minimised.pdb", "after the minimisation"}, {"minimised.cif", "after the minimisation"}, {"equilibrated.pdb", "where production began"},
	{"equilibrated.cif", "where production began"}, {resultsFile, "speed and averages of the run"}, {provenanceFile, "programs, parameters, seed and checksums"},
	{checkpointFile, "to go on with on the same machine"}, {stateXMLFile, "to go on with anywhere"}, {"preparation.json", "what the preparation did"},
}

// isDynamicsFile reports whether a run's file is one of those.
func isDynamicsFile(name string) bool {
	folder, _, _ := strings.Cut(path.Clean(name), "/")
	if path.Clean(name) == reportFile {
		return true
	}
	for _, file := range dynamicsFiles {
		if file.name == folder {
			return true
		}
	}
	return false
}

// deliverDynamics downloads a run's files, or says how to get them.
func (inv *invocation) deliverDynamics(ctx context.Context, j client.Job, folder string) error {
	if folder != "" {
		outputs, err := inv.api.AllOutputs(ctx, j.JobID)
		if err != nil {
			return err
		}
		files := slices.DeleteFunc(outputs.Outputs, func(o client.Output) bool { return !isDynamicsFile(o.Name) })
		if err := inv.download(ctx, files, folder); err != nil {
			return err
		}
	}
	if inv.json || folder == "" && j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return nil
	}
	fmt.Fprintf(inv.out, "\n%s\n", painter(inv.out).bold("Results"))
	if folder == "" {
		fmt.Fprintf(inv.out, "  molfabric outputs %s -o results   downloads report, plots, trajectory and provenance\n", j.JobID)
		fmt.Fprintf(inv.out, "  molfabric md STRUCTURE --restart %s --time 10ns   goes on\n", j.JobID)
		return nil
	}
	if there(folder, reportFile) {
		fmt.Fprintf(inv.out, "  Open %s first: figures, averages and what they are worth, in one page.\n", filepath.Join(folder, reportFile))
	}
	for _, file := range dynamicsFiles {
		if there(folder, file.name) {
			fmt.Fprintf(inv.out, "    %-17s %s\n", file.name, file.meaning)
		}
	}
	return nil
}
