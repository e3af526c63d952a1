package wavewatch3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/casefile"
)

// caseOf is the case of testdata/tp1.1, with some of its texts changed: pairs of what stands there and what is to.
func caseOf(t *testing.T, changes ...[2]string) *casefile.Case {
	t.Helper()
	c := &casefile.Case{}
	names, err := filepath.Glob("testdata/tp1.1/*")
	if err != nil || len(names) == 0 {
		t.Fatal("there is no case", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range changes {
			text = []byte(strings.Replace(string(text), change[0], change[1], 1))
		}
		c.Files = append(c.Files, casefile.File{Name: filepath.Base(name), Bytes: int64(len(text)), Text: text})
	}
	return c
}

// with adds a file to a case.
func with(c *casefile.Case, name, text string) *casefile.Case {
	c.Files = append(c.Files, casefile.File{Name: name, Bytes: int64(len(text)), Text: []byte(text)})
	return c
}

// without takes a file away.
func without(c *casefile.Case, name string) *casefile.Case {
	for i, file := range c.Files {
		if file.Name == name {
			c.Files = append(c.Files[:i:i], c.Files[i+1:]...)
		}
	}
	return c
}

func TestCase(t *testing.T) {
	t.Parallel()
	d, err := readCase(caseOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if d.kind != rectilinear || d.cells != 1080 || d.frequencies != 3 || d.directions != 4 || d.global != time.Hour || !d.moves ||
		d.turns || d.hasSources || d.steps() != 576 || !d.stages.Initial || len(d.stages.Fields) != 1 ||
		len(d.stages.Points) != 1 || len(d.stages.Forcing) != 0 || d.cannotCut != "" {
		t.Errorf("got %+v", d)
	}
}

// wind is a deck of ww3_prnc.
const wind = "&FORCING_NML\n FORCING%FIELD%WINDS = T\n FORCING%GRID%LATLON = T\n/\n&FILE_NML\n FILE%FILENAME = 'wind.nc'\n/\n"

// windy asks the model for wind.
var windy = [2]string{"&INPUT_NML\n", "&INPUT_NML\n  INPUT%FORCING%WINDS = 'T'\n"}

func TestForcing(t *testing.T) {
	t.Parallel()
	d, err := readCase(with(with(caseOf(t, windy), "ww3_prnc_wind.nml", wind), "wind.nc", ""))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.stages; len(got.Forcing) != 1 || got.Forcing[0] != (prnc{"ww3_prnc_wind.nml", "wind.ww3"}) || len(got.Needs) != 1 ||
		got.Needs[0] != "wind.ww3" {
		t.Errorf("got %+v", got)
	}
	if _, err := readCase(with(caseOf(t, windy), "wind.ww3", "")); err != nil {
		t.Errorf("a case with its own wind.ww3: %v", err)
	}
}

// TestCasesThatAreRefused: the first thing wrong is named with its file and line.
func TestCasesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ from, to, want string }{
		{"'equator.depth'", "'../input/equator.depth'", `ww3_grid.nml, line 42: DEPTH%FILENAME names "../input/equator.depth", which ` +
			"lies outside the case"},
		{"'equator.depth'", "'/etc/passwd'", "lies outside the case"},
		{"'equator.depth'", "'Equator.depth'", `which is not in the case; it has "equator.depth"`},
		{"'equator.depth'", "'equator.depth", "ww3_grid.nml, line 42: has a text without its second quotation mark"},
		{"'namelists.nml'", "'settings.nml'", `ww3_grid.nml, line 23: GRID%NML names "settings.nml", which is not in the case`},
		{"'points.list'", "'buoys.list'", `ww3_shel.nml, line 13: TYPE%POINT%FILE names "buoys.list", which is not in the case`},
		{"&RUN_NML", "&RUNS_NML", "ww3_grid.nml, line 10: &RUNS_NML is no namelist of ww3_grid"},
		{"SPECTRUM%NK    = 3", "SPECTRUM%NK    = 0", "ww3_grid.nml, line 6: SPECTRUM%NK is 0"},
		{"SPECTRUM%NK    = 3", "SPECTRUM%NK    = many", "ww3_grid.nml, line 6: SPECTRUM%NK is \"many\", which is no number"},
		{"DTMAX = 3600.", "DTMAX = 0.", "ww3_grid.nml, line 15: TIMESTEPS%DTMAX is 0"},
		{"RECT%NX = 360", "RECT%NX = 36000000", "ww3_grid.nml, line 32: RECT%NX is 3.6e+07"},
		{"'RECT'", "'HEXA'", `ww3_grid.nml, line 24: GRID%TYPE is "HEXA"; it must be RECT, CURV, UNST or SMC`},
		{"RUN%FLCX = T", "RUN%FLDRY = T", "ww3_grid.nml, line 11: RUN%FLDRY asks for a dry run"},
		{"'19680625 000000'\n/", "'19680601 000000'\n/", "ww3_shel.nml, line 5: the run from 19680601 000000 to 19680601 000000 has 0 steps"},
		{"DOMAIN%STOP  = '19680625", "DOMAIN%STOP  = '1968-06-25", "ww3_shel.nml, line 5: DOMAIN%STOP is"},
		{"DATE%FIELD = '19680600 000000' '86400'", "DATE%FIELD = '19680600 000000' 'daily'", "ww3_shel.nml, line 17: DATE%FIELD must be"},
		{"&INPUT_NML\n/", "&INPUT_NML\n  INPUT%FORCING%WINDS = 'T'\n/", "ww3_shel.nml, line 9: INPUT%FORCING%WINDS is T, and nothing makes " +
			"wind.ww3"},
		{"&INPUT_NML\n/", "&INPUT_NML\n  INPUT%FORCING%WINDS = 'C'\n/", "line 9: INPUT%FORCING%WINDS asks for another model"},
		{"&INPUT_NML\n/", "&INPUT_NML\n  INPUT%FORCING%WINDS = 'X'\n/", `line 9: INPUT%FORCING%WINDS is "X"`},
		{"POINT%SAMEFILE   = T\n/", "POINT%SAMEFILE   = T\n", "ww3_ounp.nml, line 1: &POINT_NML does not end with \"/\" before line 8"},
		{"FIELD%LIST       = 'HS'", "= 'HS'", "ww3_ounf.nml, line 4: &FIELD_NML has a \"=\" without a name"},
	} {
		if _, err := readCase(caseOf(t, [2]string{one.from, one.to})); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: got %v, want %s", one.to, err, one.want)
		}
	}
	for name, one := range map[string]struct {
		c    *casefile.Case
		want string
	}{
		"no grid":     {without(caseOf(t), gridDeck), "ww3_grid.nml: is not at the top of the case"},
		"older form":  {with(without(caseOf(t), gridDeck), "ww3_grid.inp", ""), "ww3_grid.inp: is the older form"},
		"no netCDF":   {with(caseOf(t), "ww3_prnc.nml", wind), `ww3_prnc.nml, line 6: FILE%FILENAME names "wind.nc", which is not`},
		"no field":    {with(caseOf(t), "ww3_prnc.nml", "&FORCING_NML\n/\n"), "ww3_prnc.nml, line 1: sets no FORCING%FIELD"},
		"two winds":   {with(with(with(caseOf(t), "ww3_prnc.nml", wind), "ww3_prnc_b.nml", wind), "wind.nc", ""), "makes wind.ww3, which"},
		"no spectra":  {with(with(caseOf(t), boundDeck, "&BOUND_NML\n/\n"), "spec.list", "\nwest.nc\n"), `spec.list, line 2: the list names "west.nc"`},
		"no output":   {caseOf(t, [2]string{"DATE%FIELD", "DATE%TRACK%X"}, [2]string{"DATE%POINT", "DATE%TRACK%Y"}), "asks for no output"},
		"no tracks":   {caseOf(t, [2]string{"DATE%FIELD", "DATE%TRACK"}), `DATE%TRACK names "track_i.ww3", which is not in the case`},
		"other place": {with(caseOf(t), "ww3_ounf_b.nml", "&FILE_NML\n FILE%PREFIX = '../x'\n/\n"), "ww3_ounf_b.nml, line 2: FILE%PREFIX is"},
	} {
		if _, err := readCase(one.c); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: got %v, want %s", name, err, one.want)
		}
	}
}

// TestNamelistsAsPeopleWriteThem: several assignments a line, remarks, small letters, quotation marks within texts, indices.
func TestNamelistsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	_, err := readNamelists("a.nml", "&GRID_NML\n GRID % NAME = 1 /\n")
	if err == nil || !strings.Contains(err.Error(), "a.nml, line 2") {
		t.Errorf("a name with a blank in it: got %v", err)
	}
	n, err := readNamelists("a.nml", "this is passed over = 1 /\n&grid_nml grid%name = 'Jan''s / bay' ! a remark / with a slash\n"+
		"/\n&OUTBND_LINE_NML\n OUTBND_LINE(1, 2)%X0 = 1.5D0, -2 , outbnd_line(1, 2)%x0=3\n&END\n&DOMAIN_NML domain%yes = .true. /\n")
	if err != nil {
		t.Fatal(err)
	}
	x, err := n.number("OUTBND_LINE_NML", "OUTBND_LINE(1,2)%X0")
	if got := n.text("GRID_NML", "GRID%NAME", ""); got != "Jan's / bay" || err != nil || x != 3 || len(n.groups) != 3 ||
		!n.yes("DOMAIN_NML", "DOMAIN%YES") || n.line("OUTBND_LINE_NML", "OUTBND_LINE(1,2)%X0") != 5 {
		t.Errorf("got %q, %g, %v, %+v", got, x, err, n.groups)
	}
}
