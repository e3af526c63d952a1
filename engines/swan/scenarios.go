package swan

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
)

// Bounds of a table of scenarios.
const (
	maxScenarios      = 1000
	maxColumns        = 50
	maxCell           = 100
	scenariosField    = "waveScenarios"
	scenarioName      = "name"
	byteOrderMark     = "\ufeff" // with which spreadsheets begin
	scenariosHowWrite = "the first line is name,… and each further line one scenario"
)

var (
	placeholder  = regexp.MustCompile(`\{([A-Za-z][A-Za-z0-9_]*)\}`)
	columnForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,31}$`)
	scenarioForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)
	cellForm     = regexp.MustCompile(`^[^{}\x00-\x1f\x7f-\x{10ffff}]*$`) // printable ASCII without braces
)

// scenario is a row of a table: a run of the deck with the row's cells in place of {column}.
type scenario struct {
	name   string
	values map[string]string // by column, without that of the name
}

// readScenarios reads a table of scenarios: CSV whose first column is the scenario's name and whose other columns the deck names.
// Errors: *waves.WrongError.
func readScenarios(file casefile.File) ([]scenario, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file.Text, []byte(byteOrderMark))))
	reader.Comment, reader.TrimLeadingSpace = '#', true
	columns, err := reader.Read()
	if err != nil {
		return nil, wrongTable(file.Name, err)
	}
	if err := checkColumns(file.Name, columns); err != nil {
		return nil, err
	}
	var all []scenario
	lines := map[string]int{} // of names, by their small letters: they begin names of files
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, wrongTable(file.Name, err)
		}
		line, _ := reader.FieldPos(0)
		one, err := readScenario(file.Name, line, columns, row)
		if err != nil {
			return nil, err
		}
		if before := lines[strings.ToLower(one.name)]; before > 0 {
			return nil, waves.Wrong(file.Name, line, "has the name %q of line %d", one.name, before)
		}
		lines[strings.ToLower(one.name)] = line
		if all = append(all, one); len(all) > maxScenarios {
			return nil, waves.Wrong(file.Name, line, "is scenario %d; a job runs at most %d", len(all), maxScenarios)
		}
	}
	if len(all) == 0 {
		return nil, waves.Wrong(file.Name, 0, "has no scenario; %s", scenariosHowWrite)
	}
	return all, nil
}

func checkColumns(file string, columns []string) error {
	if columns[0] != scenarioName || len(columns) < 2 || len(columns) > maxColumns {
		return waves.Wrong(file, 1, "must begin with name and have 1 to %d columns more, which the deck names as {column}; "+
			"it has %.200q", maxColumns-1, strings.Join(columns, ","))
	}
	seen := map[string]bool{}
	for _, column := range columns {
		switch {
		case !columnForm.MatchString(column):
			return waves.Wrong(file, 1, "%.40q is no name of a column: a letter, then letters, digits and _, at most 32", column)
		case seen[column]:
			return waves.Wrong(file, 1, "has the column %s twice", column)
		}
		seen[column] = true
	}
	return nil
}

func readScenario(file string, line int, columns, row []string) (scenario, error) {
	one := scenario{name: row[0], values: map[string]string{}}
	if !scenarioForm.MatchString(one.name) {
		return one, waves.Wrong(file, line, "%.60q is no name of a scenario: letters, digits, '.', '_' and '-', at most 40",
			one.name)
	}
	for i, cell := range row[1:] {
		column := columns[i+1]
		if cell = strings.TrimSpace(cell); cell == "" || len(cell) > maxCell || !cellForm.MatchString(cell) {
			return one, waves.Wrong(file, line, "%s is %.60q; a cell has 1 to %d plain letters and signs, and no braces", column,
				cell, maxCell)
		}
		one.values[column] = cell
	}
	return one, nil
}

// wrongTable is what a reader of CSV says, with its line.
func wrongTable(file string, err error) error {
	var parse *csv.ParseError
	switch {
	case errors.As(err, &parse) && errors.Is(err, csv.ErrFieldCount):
		return waves.Wrong(file, parse.Line, "has another number of cells than the first line")
	case errors.As(err, &parse):
		return waves.Wrong(file, parse.Line, "is no CSV: %v", parse.Err)
	}
	return waves.Wrong(file, 0, "is empty; %s", scenariosHowWrite)
}

// fill puts the cells of a scenario into a deck. Errors: *waves.WrongError.
func (s scenario) fill(deck casefile.File) (casefile.File, error) {
	lines := strings.Split(string(deck.Text), "\n")
	for i, line := range lines {
		for _, found := range placeholder.FindAllStringSubmatch(line, -1) {
			if _, ok := s.values[found[1]]; !ok {
				return deck, waves.Wrong(deck.Name, i+1, "names %s, which is no column of the scenarios", found[0])
			}
		}
		lines[i] = placeholder.ReplaceAllStringFunc(line, func(found string) string { return s.values[found[1:len(found)-1]] })
	}
	deck.Text = []byte(strings.Join(lines, "\n"))
	return deck, nil
}

// checkUse refuses a column that no deck names: a misspelt one would run every scenario alike.
func checkUse(table, deck casefile.File, one scenario) error {
	for column := range one.values {
		if !bytes.Contains(deck.Text, []byte("{"+column+"}")) {
			return waves.Wrong(table.Name, 1, "has the column %s, and %s names no {%s}", column, deck.Name, column)
		}
	}
	return nil
}

// runsOf are the runs of a deck, one a scenario.
func runsOf(table casefile.File, file casefile.File, files *casefile.Case) ([]run, error) {
	scenarios, err := readScenarios(table)
	if err != nil {
		return nil, waves.Invalid(waves.SceneFile, "%v", err)
	}
	if err := checkUse(table, file, scenarios[0]); err != nil {
		return nil, waves.Invalid(waves.SceneFile, "%v", err)
	}
	runs := make([]run, len(scenarios))
	for i, one := range scenarios {
		filled, err := one.fill(file)
		if err != nil {
			return nil, waves.Invalid(waves.SceneFile, "%v", err)
		}
		d, err := readDeck(filled, files)
		if err != nil {
			return nil, waves.Invalid(waves.SceneFile, "%v (scenario %s)", err, one.name)
		}
		runs[i] = run{deck: d, scenario: one}
	}
	return runs, nil
}

// label is what people call a run.
func (r run) label() string {
	if r.scenario.name == "" {
		return r.file
	}
	return fmt.Sprintf("%s, %s", r.file, r.scenario.name)
}
