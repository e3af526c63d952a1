package redock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	casesFile = "cases.tsv"
	// maxCases bounds a folder: more would take weeks.
	maxCases = 1000
	// none stands in a column that says nothing.
	none = "-"
)

// The columns of a folder's cases.tsv. The first four name a ligand in an entry; receptor and crystal are for structures that lie
// in files of their own.
const (
	columnName     = "pdb"
	columnLigand   = "ligand"
	columnChain    = "chain"
	columnResidue  = "residue"
	columnKeep     = "keep"
	columnWhy      = "why it is here"
	columnReceptor = "receptor"
	columnCrystal  = "crystal"
)

var (
	columns = []string{
		columnName, columnLigand, columnChain, columnResidue, columnKeep, columnWhy, columnReceptor, columnCrystal,
	}
	nameForm      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	componentForm = regexp.MustCompile(`^[A-Za-z0-9]{1,8}$`)
	residueForm   = regexp.MustCompile(`^-?[0-9]{1,5}[A-Za-z]?$`)
	// entryEndings are tried, in this order, where the table names no receptor.
	entryEndings = []string{".pdb", ".cif", ".pdb.gz", ".cif.gz"}
)

// Case is a ligand whose crystal pose is known, and the structure that it is docked into again.
type Case struct {
	Name     string   `json:"name"`              // of the entry, such as 1iep; unique among all folders
	Receptor string   `json:"receptor"`          // path of the structure
	Ligand   string   `json:"ligand"`            // component
	Chain    string   `json:"chain"`             // "" where the ligand lies in a file of its own
	Residue  string   `json:"residue"`           // with its insertion code, as the author numbers it
	Crystal  string   `json:"crystal,omitempty"` // path of the ligand in its crystal pose; "" where it is in the structure
	Keep     []string `json:"keep"`              // components that a chemist would leave in the site
	Why      string   `json:"why,omitempty"`     // it is a case
}

// ReadCases reads the cases of folders, each of which holds a cases.tsv, or of such tables themselves. Paths in a table are
// relative to it. Every case is held against its files, so that nothing runs for a table that is wrong.
func ReadCases(places []string) ([]Case, error) {
	var all []Case
	for _, place := range places {
		table := place
		if info, err := os.Stat(place); err == nil && info.IsDir() {
			table = filepath.Join(place, casesFile)
		}
		text, err := os.ReadFile(table)
		if err != nil {
			return nil, fmt.Errorf("read the cases: %w; name a folder with a %s, or such a table", err, casesFile)
		}
		found, err := parseCases(text, filepath.Dir(table))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		all = append(all, found...)
	}
	for i, c := range all {
		if slices.ContainsFunc(all[:i], func(earlier Case) bool { return earlier.Name == c.Name }) {
			return nil, fmt.Errorf("the case %s is there twice; give one of them another name", c.Name)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("there are no cases; name a folder with a " + casesFile)
	case len(all) > maxCases:
		return nil, fmt.Errorf("there are %d cases; at most %d are measured at once", len(all), maxCases)
	}
	return all, nil
}

// parseCases reads a table whose first line names its columns. Lines that are empty or begin with # are skipped.
func parseCases(text []byte, folder string) ([]Case, error) {
	var header []string
	var cases []Case
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if header == nil {
			if err := checkHeader(fields); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			header = fields
			continue
		}
		c, err := parseCase(header, fields, folder)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		cases = append(cases, c)
	}
	return cases, lines.Err()
}

func checkHeader(fields []string) error {
	for _, field := range fields {
		if !slices.Contains(columns, field) {
			return fmt.Errorf("there is no column %q; the first line names some of %s, with tabs between them",
				field, strings.Join(columns, ", "))
		}
	}
	if !slices.Contains(fields, columnName) || !slices.Contains(fields, columnLigand) {
		return fmt.Errorf("the first line must name the columns %s and %s, with a tab between them", columnName, columnLigand)
	}
	return nil
}

// parseCase reads one line and finds its files.
func parseCase(header, fields []string, folder string) (Case, error) {
	said := map[string]string{}
	for i, name := range header {
		if i < len(fields) && strings.TrimSpace(fields[i]) != none {
			said[name] = strings.TrimSpace(fields[i])
		}
	}
	c := Case{
		Name: said[columnName], Ligand: said[columnLigand], Chain: said[columnChain], Residue: said[columnResidue],
		Why: said[columnWhy], Keep: []string{},
	}
	if keep := said[columnKeep]; keep != "" {
		c.Keep = strings.Split(strings.ReplaceAll(keep, " ", ""), ",")
	}
	if err := c.check(said[columnCrystal] != ""); err != nil {
		return c, err
	}
	var err error
	if c.Receptor, err = findReceptor(folder, c.Name, said[columnReceptor]); err != nil {
		return c, err
	}
	if said[columnCrystal] != "" {
		c.Crystal, err = findFile(folder, said[columnCrystal])
	}
	return c, err
}

// check holds the words of a case against what they must look like; apart tells that the crystal pose is a file of its own.
func (c Case) check(apart bool) error {
	switch {
	case !nameForm.MatchString(c.Name):
		return fmt.Errorf("%s %q: must be 1 to 64 letters, digits, dots and hyphens, such as 1iep", columnName, c.Name)
	case !componentForm.MatchString(c.Ligand):
		return fmt.Errorf("%s: %s %q: must be a component of 1 to 8 letters and digits, such as STI", c.Name, columnLigand,
			c.Ligand)
	case !apart && (c.Chain == "" || !residueForm.MatchString(c.Residue)):
		return fmt.Errorf("%s: %s %q and %s %q: must say where the ligand lies in the entry, such as A and 201; or name a "+
			"file in %s",
			c.Name, columnChain, c.Chain, columnResidue, c.Residue, columnCrystal)
	}
	for _, component := range c.Keep {
		if !componentForm.MatchString(component) {
			return fmt.Errorf("%s: %s %q: must be components with commas between them, such as GCP,MG, or %s",
				c.Name, columnKeep, component, none)
		}
	}
	return nil
}

// findReceptor is the file that the table names, else the entry of the case's name.
func findReceptor(folder, name, said string) (string, error) {
	if said != "" {
		return findFile(folder, said)
	}
	for _, ending := range entryEndings {
		if path, err := findFile(folder, name+ending); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %s holds no %s", name, folder, name+strings.Join(entryEndings, ", "+name))
}

func findFile(folder, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path)
	}
	return path, nil
}

// place is the ligand's in the entry, as --redock takes it.
func (c Case) place() string { return c.Ligand + ":" + c.Chain + ":" + c.Residue }
