package swan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/casefile"
)

// caseOf is a case with the deck of a folder of testdata, and its bottom where that is wanted.
func caseOf(t *testing.T, folder string, more ...string) *casefile.Case {
	t.Helper()
	c := &casefile.Case{}
	for _, name := range append([]string{filepath.Join(folder, "INPUT")}, more...) {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		c.Files = append(c.Files, casefile.File{Name: filepath.Base(name), Bytes: int64(len(text)), Text: text})
	}
	return c
}

func TestDecks(t *testing.T) {
	t.Parallel()
	c := caseOf(t, "stationary", "bottom.bot")
	d, err := readDeck(c.Files[0], c)
	if err != nil {
		t.Fatal(err)
	}
	if d.nonstationary || d.cells != 51*51 || d.directions != 36 || d.frequencies != 33 || d.iterations != 50 ||
		len(d.computations) != 1 || len(d.reads) != 1 || len(d.writes) != 4 || d.regular.Meshes != [2]int{50, 50} {
		t.Errorf("stationary: %+v", d)
	}
	c = caseOf(t, "nonstationary", "bottom.bot")
	d, err = readDeck(c.Files[0], c)
	if err != nil {
		t.Fatal(err)
	}
	if !d.nonstationary || d.computations[0].steps() != 24 || d.computations[0].step != 5*time.Minute || !d.inOneLine {
		t.Errorf("nonstationary: %+v", d)
	}
}

// TestDecksThatAreRefused: the first thing wrong is named with its file and line.
func TestDecksThatAreRefused(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"e2": `INPUT, line 11: "GEN9" is no command of SWAN`,
		"e3": `INPUT, line 7: READINP names "bottom.bot", which is not in the case; it has INPUT`,
		"e4": `INPUT: has no COMPUTE; SWAN would read the commands and compute nothing`,
	} {
		more := []string{"bottom.bot"}
		if folder == "e3" {
			more = nil
		}
		c := caseOf(t, folder, more...)
		if _, err := readDeck(c.Files[0], c); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", folder, err, want)
		}
	}
	stationary, err := os.ReadFile("testdata/stationary/INPUT")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ from, to, want string }{
		{"'bottom.bot'", "'../bottom.bot'", `line 7: READINP names "../bottom.bot", which lies outside the case`},
		{"'bottom.bot'", "'/etc/passwd'", "lies outside the case"},
		{"'bottom.bot'", "'BOTTOM.BOT'", `it has "bottom.bot"`},
		{"'bottom.bot'", "'bottom.bot", "without its second quotation mark"},
		{"'hs.blk'", "'out/hs.blk'", "without a folder"},
		{"'hs.blk'", "'PRINT'", "a file of SWAN's own"},
		{"'hs.blk'", "'bottom.bot'", "an input of the case"},
		{"CIRCLE 36", "CIRCLE 0", "line 5: CGRID: give at least one direction"},
		{"50 50 CIRCLE", "5000 5000 CIRCLE", "at most 4000000 points"},
		{"\nSTOP", "\n", "does not end with STOP"},
		{"\nCGRID", "\n$ CGRID", "has no CGRID"},
		{"MODE STATIONARY", "MODE NONSTATIONARY", "COMPUTE: needs a begin"},
	} {
		c := caseOf(t, "stationary", "bottom.bot")
		c.Files[0].Text = []byte(strings.Replace(string(stationary), one.from, one.to, 1))
		if _, err := readDeck(c.Files[0], c); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: got %v, want %s", one.to, err, one.want)
		}
	}
}

// TestDecksAsPeopleWriteThem: abbreviations, remarks, continued lines and lists that go on.
func TestDecksAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	text := `$ a bay $ proj 'bay' '1'
mode nonst twod  ! two-dimensional
cgrid 0. 0. 0. 1.e4 1.e4 &
      20 10 sec 0. 90. 18 0.05 0.5
inp bot 0 0 0 50 50 200 200
read bot 1. 'bottom.bot' 3 0 form '(10F8.3)'
boundspec side w var file 0. 'west.tpar' 1 &
  5000. 'west.tpar' 1
poin 'buoys' 100. 200.
   300. 400.
tab 'buoys' head 'buoys.tab' hs out 20260101.000000 1 hr
comp nonst 20260101.000000 10 mi 20260102.000000
stop
what follows is not read 'at all
`
	c := caseOf(t, "stationary", "bottom.bot")
	c.Files = append(c.Files, casefile.File{Name: "west.tpar"})
	c.Files[0].Text = []byte(strings.Replace(text, "what follows is not read 'at all\n", "", 1))
	d, err := readDeck(c.Files[0], c)
	if err != nil {
		t.Fatal(err)
	}
	if d.cells != 21*11 || d.directions != 18 || d.frequencies != 25 || d.computations[0].steps() != 144 || len(d.reads) != 3 ||
		len(d.writes) != 1 || !d.inOneLine {
		t.Errorf("got %+v", d)
	}
}
