package docking

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// listSeparator stands between the entries of a list in one cell.
const listSeparator = "; "

// column is a column of a table of V: its name and a row's cell. Text from outside is written by the function text.
type column[V any] struct {
	name string
	cell func(V) string
}

// resultColumns are what a chemist asks of a ranked library.
var resultColumns = []column[DockingResult]{
	{"rank", func(r DockingResult) string { return whole(r.Rank) }},
	{"ligandId", func(r DockingResult) string { return text(r.LigandID) }},
	{"label", func(r DockingResult) string { return text(r.Label) }},
	{"status", func(r DockingResult) string { return r.Status }},
	{"bestScoreKcalMol", func(r DockingResult) string { return number(r.BestScoreKcalMol) }},
	{"ligandEfficiency", func(r DockingResult) string { return number(r.LigandEfficiency) }},
	{"poseCount", func(r DockingResult) string { return strconv.Itoa(r.PoseCount) }},
	{"passedChecks", func(r DockingResult) string { return truth(r.PassedChecks) }},
	{"interactions", func(r DockingResult) string { return text(strings.Join(r.Interactions, listSeparator)) }},
	{"inputSmiles", func(r DockingResult) string { return textOf(r.InputSMILES) }},
	{"canonicalSmiles", func(r DockingResult) string { return textOf(r.CanonicalSMILES) }},
	{"dockedSmiles", func(r DockingResult) string { return textOf(r.DockedSMILES) }},
	{"inchiKey", func(r DockingResult) string { return textOf(r.InChIKey) }},
	{"formalCharge", func(r DockingResult) string { return whole(r.FormalCharge) }},
	{"heavyAtoms", func(r DockingResult) string { return whole(r.HeavyAtoms) }},
	{"rotatableBonds", func(r DockingResult) string { return whole(r.RotatableBonds) }},
	{"failureStage", func(r DockingResult) string { return textOf(r.FailureStage) }},
	{"error", func(r DockingResult) string { return textOf(r.Error) }},
	{"notes", func(r DockingResult) string { return text(strings.Join(r.Notes, listSeparator)) }},
	{"dockCpuSeconds", func(r DockingResult) string { return number(r.DockCPUSeconds) }},
	{"source", func(r DockingResult) string { return r.Source }},
	{"ligandIndex", func(r DockingResult) string { return strconv.Itoa(r.LigandIndex) }},
	{"resultId", func(r DockingResult) string { return r.ResultID }},
	{"runId", func(r DockingResult) string { return r.RunID }},
	{"batchId", func(r DockingResult) string { return textOf(r.BatchID) }},
	{"studio", func(r DockingResult) string { return r.UILinks.Studio }},
	{"converged", func(r DockingResult) string {
		if r.Convergence == nil {
			return ""
		}
		return strconv.FormatBool(r.Convergence.Converged)
	}},
	{"exhaustivenessUsed", func(r DockingResult) string {
		if r.Convergence == nil {
			return ""
		}
		return strconv.Itoa(r.Convergence.Exhaustiveness)
	}},
	{"cnnScore", func(r DockingResult) string { return number(r.CNNScore) }},
	{"cnnAffinityPk", func(r DockingResult) string { return number(r.CNNAffinityPk) }},
}

// posed is a pose with what it touches.
type posed struct {
	DockingPose
	contacts []DockingInteraction
}

var poseColumns = []column[posed]{
	{"ligandId", func(p posed) string { return text(p.LigandID) }},
	{"label", func(p posed) string { return text(p.Label) }},
	{"rank", func(p posed) string { return strconv.Itoa(p.Rank) }},
	{"scoreKcalMol", func(p posed) string { return number(&p.ScoreKcalMol) }},
	{"rmsdLowerBound", func(p posed) string { return number(&p.RMSDLowerBound) }},
	{"rmsdUpperBound", func(p posed) string { return number(&p.RMSDUpperBound) }},
	{"inter", func(p posed) string { return number(&p.Terms.Inter) }},
	{"intra", func(p posed) string { return number(&p.Terms.Intra) }},
	{"torsional", func(p posed) string { return number(&p.Terms.Torsional) }},
	{"unbound", func(p posed) string { return number(&p.Terms.Unbound) }},
	{"referenceRmsdAngstrom", func(p posed) string { return number(p.ReferenceRMSDAngstrom) }},
	{"passedChecks", func(p posed) string { return truth(p.passedChecks()) }},
	{"failedChecks", func(p posed) string { return text(strings.Join(p.failedChecks(), listSeparator)) }},
	{"interactions", func(p posed) string { return text(strings.Join(keysOf(p.contacts), listSeparator)) }},
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
	{"cnnScore", func(p posed) string { return number(p.CNNScore) }},
	{"cnnAffinityPk", func(p posed) string { return number(p.CNNAffinityPk) }},
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
func keysOf(contacts []DockingInteraction) (keys []string) {
	for _, contact := range contacts {
		if key := contact.key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// header is the first line of a table.
func header[V any](columns []column[V]) ([]byte, error) {
	return lines(columns, nil, func(c column[V]) string { return c.name })
}

// table writes rows as CSV (RFC 4180).
func table[V any](columns []column[V], rows []V) ([]byte, error) {
	var out []byte
	for _, row := range rows {
		line, err := lines(columns, out, func(c column[V]) string { return c.cell(row) })
		if err != nil {
			return nil, err
		}
		out = line
	}
	return out, nil
}

func lines[V any](columns []column[V], out []byte, cell func(column[V]) string) ([]byte, error) {
	buffer := bytes.NewBuffer(out)
	writer := csv.NewWriter(buffer)
	writer.UseCRLF = true
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = cell(c)
	}
	if err := writer.Write(cells); err != nil {
		return nil, fmt.Errorf("writing a table: %w", err)
	}
	writer.Flush()
	return buffer.Bytes(), writer.Error()
}

// text is foreign text for a cell. What a spreadsheet would take for a formula gets an apostrophe in front, which makes it text
// there (OWASP, "CSV Injection").
func text(foreign string) string {
	if strings.ContainsAny(firstOf(foreign), "=+-@\t\r\n＝＋－＠") {
		return "'" + foreign
	}
	return foreign
}

// firstOf is the first character of a text; "" of an empty one.
func firstOf(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

func textOf(foreign *string) string {
	if foreign == nil {
		return ""
	}
	return text(*foreign)
}

func number(value *float64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}

func whole(value *int) string {
	if value == nil {
		return ""
	}
	return strconv.Itoa(*value)
}

func truth(value *bool) string {
	if value == nil {
		return ""
	}
	return strconv.FormatBool(*value)
}
