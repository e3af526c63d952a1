package docking

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
)

// listSeparator stands between the entries of a list in one cell.
const listSeparator = "; "

// column is a column of a table of V: its name and a row's cell. Text from outside is written by the function text.
type column[V any] struct {
	name string
	cell func(V) string
}

// resultColumns are what a chemist asks of a ranked library.
var resultColumns = []column[contract.DockingResult]{
	{"rank", func(r contract.DockingResult) string { return list.Whole(r.Rank) }},
	{"ligandId", func(r contract.DockingResult) string { return list.Foreign(r.LigandID) }},
	{"label", func(r contract.DockingResult) string { return list.Foreign(r.Label) }},
	{"status", func(r contract.DockingResult) string { return r.Status }},
	{"bestScoreKcalMol", func(r contract.DockingResult) string { return list.Number(r.BestScoreKcalMol) }},
	{"ligandEfficiency", func(r contract.DockingResult) string { return list.Number(r.LigandEfficiency) }},
	{"poseCount", func(r contract.DockingResult) string { return strconv.Itoa(r.PoseCount) }},
	{"passedChecks", func(r contract.DockingResult) string { return truth(r.PassedChecks) }},
	{"interactions", func(r contract.DockingResult) string {
		return list.Foreign(strings.Join(r.Interactions, listSeparator))
	}},
	{"inputSmiles", func(r contract.DockingResult) string { return foreignOr(r.InputSMILES) }},
	{"canonicalSmiles", func(r contract.DockingResult) string { return foreignOr(r.CanonicalSMILES) }},
	{"dockedSmiles", func(r contract.DockingResult) string { return foreignOr(r.DockedSMILES) }},
	{"inchiKey", func(r contract.DockingResult) string { return foreignOr(r.InChIKey) }},
	{"formalCharge", func(r contract.DockingResult) string { return list.Whole(r.FormalCharge) }},
	{"heavyAtoms", func(r contract.DockingResult) string { return list.Whole(r.HeavyAtoms) }},
	{"rotatableBonds", func(r contract.DockingResult) string { return list.Whole(r.RotatableBonds) }},
	{"failureStage", func(r contract.DockingResult) string { return foreignOr(r.FailureStage) }},
	{"error", func(r contract.DockingResult) string { return foreignOr(r.Error) }},
	{"notes", func(r contract.DockingResult) string { return list.Foreign(strings.Join(r.Notes, listSeparator)) }},
	{"dockCpuSeconds", func(r contract.DockingResult) string { return list.Number(r.DockCPUSeconds) }},
	{"source", func(r contract.DockingResult) string { return r.Source }},
	{"ligandIndex", func(r contract.DockingResult) string { return strconv.Itoa(r.LigandIndex) }},
	{"resultId", func(r contract.DockingResult) string { return r.ResultID }},
	{"runId", func(r contract.DockingResult) string { return r.RunID }},
	{"batchId", func(r contract.DockingResult) string { return foreignOr(r.BatchID) }},
	{"studio", func(r contract.DockingResult) string { return r.UILinks.Studio }},
	{"converged", func(r contract.DockingResult) string {
		if r.Convergence == nil {
			return ""
		}
		return strconv.FormatBool(r.Convergence.Converged)
	}},
	{"exhaustivenessUsed", func(r contract.DockingResult) string {
		if r.Convergence == nil {
			return ""
		}
		return strconv.Itoa(r.Convergence.Exhaustiveness)
	}},
	{"cnnScore", func(r contract.DockingResult) string { return list.Number(r.CNNScore) }},
	{"cnnAffinityPk", func(r contract.DockingResult) string { return list.Number(r.CNNAffinityPk) }},
}

// posed is a pose with what it touches.
type posed struct {
	contract.DockingPose
	contacts []contract.DockingInteraction
}

var poseColumns = []column[posed]{
	{"ligandId", func(p posed) string { return list.Foreign(p.LigandID) }},
	{"label", func(p posed) string { return list.Foreign(p.Label) }},
	{"rank", func(p posed) string { return strconv.Itoa(p.Rank) }},
	{"scoreKcalMol", func(p posed) string { return list.Number(&p.ScoreKcalMol) }},
	{"rmsdLowerBound", func(p posed) string { return list.Number(&p.RMSDLowerBound) }},
	{"rmsdUpperBound", func(p posed) string { return list.Number(&p.RMSDUpperBound) }},
	{"inter", func(p posed) string { return list.Number(&p.Terms.Inter) }},
	{"intra", func(p posed) string { return list.Number(&p.Terms.Intra) }},
	{"torsional", func(p posed) string { return list.Number(&p.Terms.Torsional) }},
	{"unbound", func(p posed) string { return list.Number(&p.Terms.Unbound) }},
	{"referenceRmsdAngstrom", func(p posed) string { return list.Number(p.ReferenceRMSDAngstrom) }},
	{"passedChecks", func(p posed) string { return truth(p.passedChecks()) }},
	{"failedChecks", func(p posed) string { return list.Foreign(strings.Join(p.failedChecks(), listSeparator)) }},
	{"interactions", func(p posed) string { return list.Foreign(strings.Join(keysOf(p.contacts), listSeparator)) }},
	{"sdfArtifactId", func(p posed) string {
		if p.Artifacts.SDF == nil {
			return ""
		}
		return p.Artifacts.SDF.ArtifactID
	}},
	{"record", func(p posed) string { return strconv.Itoa(p.Rank) }},
	{"poseId", func(p posed) string { return p.PoseID }},
	{"resultId", func(p posed) string { return p.ResultID }},
	{"runId", func(p posed) string { return p.RunID }},
	{"studio", func(p posed) string { return p.UILinks.Studio }},
	{"vinaRank", func(p posed) string { return strconv.Itoa(p.VinaRank) }},
	{"cnnScore", func(p posed) string { return list.Number(p.CNNScore) }},
	{"cnnAffinityPk", func(p posed) string { return list.Number(p.CNNAffinityPk) }},
}

func (p posed) passedChecks() *bool {
	if p.Checks == nil {
		return nil
	}
	return &p.Checks.Passed
}

func (p posed) failedChecks() (failed []string) {
	if p.Checks == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Checks.Tests)) {
		if !p.Checks.Tests[name] {
			failed = append(failed, name)
		}
	}
	return failed
}

// keysOf are the keys of interactions, each once, in their order.
func keysOf(contacts []contract.DockingInteraction) (keys []string) {
	for _, contact := range contacts {
		if key := keyOf(contact); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// header is the first line of a table.
func header[V any](columns []column[V]) ([]byte, error) {
	return lines(columns, []func(column[V]) string{func(c column[V]) string { return c.name }})
}

// table writes rows as CSV.
func table[V any](columns []column[V], rows []V) ([]byte, error) {
	cells := make([]func(column[V]) string, len(rows))
	for i, row := range rows {
		cells[i] = func(c column[V]) string { return c.cell(row) }
	}
	return lines(columns, cells)
}

func lines[V any](columns []column[V], rows []func(column[V]) string) ([]byte, error) {
	text := list.Table{MediaType: list.CSV}
	cells := make([]string, len(columns))
	for _, row := range rows {
		for i, c := range columns {
			cells[i] = row(c)
		}
		if err := text.Row(cells...); err != nil {
			return nil, err
		}
	}
	return text.Take(), nil
}

func foreignOr(foreign *string) string {
	if foreign == nil {
		return ""
	}
	return list.Foreign(*foreign)
}

func truth(value *bool) string {
	if value == nil {
		return ""
	}
	return strconv.FormatBool(*value)
}
