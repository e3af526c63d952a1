package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// How a test ended.
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// noteWidth is what the table shows of a note in a line.
const noteWidth = 60

// Report is the file that a suite writes.
type Report struct {
	Seed    string    `json:"seed"` // decimal; as a number it would lose its last digits in many readers
	Machine string    `json:"machine"`
	Cores   int       `json:"cores"`
	At      time.Time `json:"at"`
	Short   bool      `json:"short"`
	Tests   []Outcome `json:"tests"`
}

// Outcome is how one test ended.
type Outcome struct {
	ID      string             `json:"id"`
	Fault   string             `json:"fault"`
	Passes  string             `json:"passes"` // when
	Outcome string             `json:"outcome"`
	Seconds float64            `json:"seconds"`
	Note    string             `json:"note"`    // why it failed or was skipped, and what the test has noted
	Figures map[string]float64 `json:"figures"` // with their units in their names

	notes []string
}

// line prints how a test ended, while others are still to come.
func (o Outcome) line(w io.Writer) {
	fmt.Fprintf(w, "%s  %-4s %-7s %6.1f s  %s\n", time.Now().Format(time.TimeOnly), o.ID, o.Outcome, o.Seconds, o.Fault)
	if o.Outcome != Passed {
		fmt.Fprintf(w, "          %s\n", strings.ReplaceAll(o.Note, "\n", "\n          "))
	}
}

// table prints the report for people.
func (r Report) table(w io.Writer) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Options.SeparateRows = true
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, WidthMax: noteWidth, WidthMaxEnforcer: text.WrapSoft},
		{Number: 3, WidthMax: noteWidth, WidthMaxEnforcer: text.WrapSoft},
		{Number: 6, WidthMax: noteWidth, WidthMaxEnforcer: text.WrapSoft},
	})
	t.AppendHeader(table.Row{"#", "fault or abuse", "passes when", "outcome", "seconds", "figures and notes"})
	for _, o := range r.Tests {
		t.AppendRow(table.Row{o.ID, o.Fault, o.Passes, o.Outcome, fmt.Sprintf("%.1f", o.Seconds), o.said()})
	}
	fmt.Fprintf(w, "\nseed %s, %d cores, %s\n", r.Seed, r.Cores, r.Machine)
	t.Render()
}

// said is a test's figures and its note in a few lines.
func (o Outcome) said() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o.Figures)) {
		parts = append(parts, fmt.Sprintf("%s %.4g", name, o.Figures[name]))
	}
	said := strings.Join(parts, ", ")
	if o.Note != "" {
		said += "\n" + o.Note
	}
	return strings.TrimSpace(said)
}

func (r Report) write(path string) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(path, append(body, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
