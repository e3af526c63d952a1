package swan

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
)

// deck is what a command file of SWAN says, as far as its price, its progress and its limits depend on it. The grammar is that of
// SWAN's user manual: one command a line, keywords by their first letters, texts in quotation marks, "$" or "!" before remarks.
type deck struct {
	file string // within the case
	// nonstationary and oneDimensional are the mode.
	nonstationary, oneDimensional, spherical bool
	// cells, directions and frequencies are of the computational grid; cells are 0 of an unstructured one.
	cells, directions, frequencies int
	unstructured                   bool
	iterations                     int // at most, of a stationary computation or of one time step; 0 where the deck does not say
	computations                   []computation
	// inOneLine tells that what depends on the time stands in commands of one line each, so that a run can be cut into windows.
	inOneLine bool
	// origin, extent and meshes are those of a regular grid, in metres or degrees, for maps; rotation is in degrees.
	regular regularGrid
	// reads and writes are the files that commands name, with the lines that do.
	reads, writes []mention
}

// regularGrid is a computational grid of equal meshes.
type regularGrid struct {
	Origin   [2]float64 `json:"origin"`
	Rotation float64    `json:"rotation"`
	Extent   [2]float64 `json:"extent"`
	Meshes   [2]int     `json:"meshes"` // both 0 of a grid that is none
}

// computation is one COMPUTE. Of a stationary one step is 0.
type computation struct {
	line       int
	begin, end time.Time
	step       time.Duration
}

// steps of a nonstationary computation.
func (c computation) steps() int {
	if c.step <= 0 {
		return 0
	}
	return int(math.Round(float64(c.end.Sub(c.begin)) / float64(c.step)))
}

// mention is a file that a command names.
type mention struct {
	line    int
	command string
	name    string
}

// word is a token of a command: a keyword or number, or a quoted text.
type word struct {
	text   string
	quoted bool
}

// command is one command with its continued lines.
type command struct {
	line  int
	words []word
	// continued tells that it has more lines than one.
	continued bool
}

// commands are SWAN's, by the letters that must be there: user manual, chapter 4.
var commands = strings.Fields(`PROJ SET MODE COORD CGRID READ INP WIND ICE BOU INIT GEN1 GEN2 GEN3 NEGAT SSWELL QUAD BRE WCAP FRIC TRI VEGE
MUD TURB BRAG SICE LIM OBST SETUP DIFFR SURF SCAT OFF PROP NUM FRAM GRO CUR RAY ISO POIN NGR QUANT OUTP BLO TAB SPEC NEST TEST COMP
HOTF STOP MXC DAM`)

// SWAN's own files: a deck that writes them would destroy what tells how the run went.
var reserved = []string{"INPUT", "PRINT", "ERRFILE", "NORM_END", "SWANINIT", "SWANINIT.DEF"}

// Bounds of what a deck may ask for.
const (
	maxCells      = 4_000_000
	maxSpectrum   = 360 * 100
	maxSteps      = 200_000
	maxDeckLines  = 20_000
	defaultMaxIts = 50
)

// readDeck reads a deck and holds it against the files of its case. Errors: *waves.WrongError.
func readDeck(file casefile.File, files *casefile.Case) (deck, error) {
	d := deck{file: file.Name, directions: 1, frequencies: 1, inOneLine: true}
	all, err := d.split(string(file.Text))
	if err != nil {
		return d, err
	}
	stopped := false
	for _, c := range all {
		if stopped = c.is("STOP"); stopped {
			break
		}
		if err := d.read(c); err != nil {
			return d, err
		}
	}
	switch {
	case len(d.computations) == 0:
		err = d.wrong(0, "has no COMPUTE; SWAN would read the commands and compute nothing")
	case !stopped:
		err = d.wrong(0, "does not end with STOP; SWAN would end with an error after the computation")
	case d.cells == 0 && !d.unstructured:
		err = d.wrong(0, "has no CGRID, which says where to compute")
	}
	if err != nil {
		return d, err
	}
	err = d.checkFiles(files)
	return d, err
}

func (d *deck) wrong(line int, format string, args ...any) error {
	return waves.Wrong(d.file, line, format, args...)
}

// split cuts a deck into commands.
func (d *deck) split(text string) ([]command, error) {
	var all []command
	continued := false
	for i, line := range strings.Split(text, "\n") {
		if i == maxDeckLines {
			return nil, d.wrong(i+1, "has more than %d lines", maxDeckLines)
		}
		words, more, err := d.words(i+1, strings.TrimSuffix(line, "\r"))
		if err != nil {
			return nil, err
		}
		switch {
		case len(words) == 0:
			continue
		case len(all) > 0 && (continued || words[0].isDatum() && all[len(all)-1].goesOn()):
			last := &all[len(all)-1]
			last.words, last.continued = append(last.words, words...), true
		case !startsCommand(words[0]):
			return nil, d.wrong(i+1, "%.40q is no command of SWAN", words[0].text)
		default:
			all = append(all, command{line: i + 1, words: words})
		}
		continued = more
	}
	return all, nil
}

// words cuts a line, and tells whether the next one goes on with it.
func (d *deck) words(number int, line string) (words []word, more bool, err error) {
	for rest := line; ; {
		rest = strings.TrimLeft(rest, " \t,=")
		switch {
		case rest == "" || rest[0] == '!':
			return words, false, nil
		case rest[0] == '$':
			_, behind, closed := strings.Cut(rest[1:], "$")
			if !closed {
				return words, false, nil
			}
			rest = behind
		case rest[0] == '\'' || rest[0] == '"':
			text, behind, closed := strings.Cut(rest[1:], rest[:1])
			if !closed {
				return nil, false, d.wrong(number, "has a text without its second quotation mark")
			}
			words, rest = append(words, word{text, true}), behind
		case (rest[0] == '&' || rest[0] == '_') && strings.Trim(rest[1:], " \t") == "":
			return words, true, nil
		default:
			end := strings.IndexAny(rest, " \t,='\"$!")
			if end < 0 {
				end = len(rest)
			}
			words, rest = append(words, word{text: rest[:end]}), rest[end:]
		}
	}
}

func startsCommand(w word) bool {
	text := strings.ToUpper(w.text)
	return !w.quoted && slices.ContainsFunc(commands, func(name string) bool { return strings.HasPrefix(text, name) })
}

// isDatum tells a number or a text from a keyword.
func (w word) isDatum() bool { return w.quoted || strings.ContainsAny(w.text[:1], "0123456789.+-") }

// goesOn tells the commands whose data may go on at the next line without a mark: lists of points and of boundaries.
func (c command) goesOn() bool {
	return c.is("POIN") || c.is("BOU") || c.is("CUR") || c.is("RAY") || c.is("OBST") || c.is("CGRID")
}

// is tells whether the command has a name, by the letters that must be there.
func (c command) is(name string) bool {
	return len(c.words) > 0 && strings.HasPrefix(strings.ToUpper(c.words[0].text), name)
}

// has tells whether one of the words is a keyword.
func (c command) has(keyword string) bool { return c.index(keyword) >= 0 }

// index is where a keyword stands; -1 where it does not.
func (c command) index(keyword string) int {
	return slices.IndexFunc(c.words, func(w word) bool { return !w.quoted && strings.HasPrefix(strings.ToUpper(w.text), keyword) })
}

// texts are the quoted words.
func (c command) texts() []string {
	var found []string
	for _, w := range c.words {
		if w.quoted {
			found = append(found, w.text)
		}
	}
	return found
}

// numbers are those from a word on, up to the first that is none.
func (c command) numbers(from int) []float64 {
	var found []float64
	for _, w := range c.words[min(max(from, 0), len(c.words)):] {
		value, err := strconv.ParseFloat(strings.NewReplacer("d", "e", "D", "e").Replace(w.text), 64)
		if err != nil || w.quoted {
			return found
		}
		found = append(found, value)
	}
	return found
}

// read takes what matters of one command.
func (d *deck) read(c command) error {
	d.inOneLine = d.inOneLine && !(c.continued && (c.has("OUT") || c.is("COMP") || c.is("INIT") || c.is("HOTF")))
	switch {
	case c.is("MODE"):
		d.nonstationary = c.has("NONST") || c.has("DYN")
		d.oneDimensional = c.has("ONED")
	case c.is("COORD"):
		d.spherical = c.has("SPH")
	case c.is("CGRID"):
		return d.grid(c)
	case c.is("NUM"):
		d.numerics(c)
	case c.is("COMP"):
		return d.compute(c)
	}
	for _, name := range c.inputs() {
		d.reads = append(d.reads, mention{c.line, strings.ToUpper(c.words[0].text), name})
	}
	for _, name := range c.outputs() {
		d.writes = append(d.writes, mention{c.line, strings.ToUpper(c.words[0].text), name})
	}
	return nil
}

// inputs are the files that a command reads.
func (c command) inputs() []string {
	texts := c.texts()
	switch {
	case len(texts) == 0:
	case c.is("READ"):
		return texts[:1] // a second text is a format of Fortran
	case c.is("BOU") && (c.has("FILE") || c.has("NEST") || c.has("WW") || c.is("BOUN")):
		return texts
	case c.is("INIT") && c.has("HOTS"):
		return texts[:1]
	case c.is("POIN") && c.has("FILE") || c.is("NGR") && c.has("UNSTR"):
		return texts[1:]
	}
	return nil
}

// outputs are the files that a command writes.
func (c command) outputs() []string {
	texts := c.texts()
	switch {
	case len(texts) == 0:
	case c.is("HOTF") || c.is("TEST"):
		return texts
	case (c.is("BLO") || c.is("TAB") || c.is("SPEC") || c.is("NEST")) && len(texts) > 1:
		return texts[1:2]
	}
	return nil
}

// grid reads CGRID: the cells and the spectrum.
func (d *deck) grid(c command) error {
	var cells []float64
	switch at := c.index("UNSTR"); {
	case at > 0:
		d.unstructured = true
	case c.index("CURV") > 0:
		cells = c.numbers(c.index("CURV") + 1)
	default:
		numbers := c.numbers(max(c.index("REG"), 0) + 1)
		if len(numbers) < 7 {
			return d.wrong(c.line, "CGRID needs xpc, ypc, alpc, xlenc, ylenc, mxc and myc")
		}
		cells = numbers[5:7]
		d.regular = regularGrid{Origin: [2]float64{numbers[0], numbers[1]}, Rotation: numbers[2],
			Extent: [2]float64{numbers[3], numbers[4]}, Meshes: [2]int{int(numbers[5]), int(numbers[6])}}
	}
	if !d.unstructured {
		if len(cells) < 2 || cells[0] < 1 || cells[1] < 0 || (cells[0]+1)*(cells[1]+1) > maxCells {
			return d.wrong(c.line, "CGRID: mxc and myc must be whole numbers of meshes, at most %d points together", maxCells)
		}
		d.cells = (int(cells[0]) + 1) * (int(cells[1]) + 1)
	}
	return d.spectrum(c)
}

// spectrum reads CIRCLE and SECTOR. Frequencies that are not said follow from a ratio of 1.1 between neighbours.
func (d *deck) spectrum(c command) error {
	at, before := c.index("CIR"), 0
	if at < 0 {
		at, before = c.index("SEC"), 2
	}
	numbers := c.numbers(at + 1)
	if at < 0 || len(numbers) < before+3 {
		return d.wrong(c.line, "CGRID needs CIRCLE mdc flow fhigh, or SECTOR dir1 dir2 mdc flow fhigh")
	}
	numbers = numbers[before:]
	low, high := numbers[1], numbers[2]
	d.directions = int(numbers[0])
	switch {
	case len(numbers) > 3:
		d.frequencies = int(numbers[3]) + 1
	case low > 0 && high > low:
		d.frequencies = int(math.Round(math.Log(high/low)/math.Log(1.1))) + 1
	}
	if d.directions < 1 || d.frequencies < 2 || d.directions*d.frequencies > maxSpectrum || !(low > 0 && high > low) {
		return d.wrong(c.line, "CGRID: give at least one direction and 0 < flow < fhigh, at most %d spectral bins", maxSpectrum)
	}
	return nil
}

// numerics reads how often a computation is repeated at most.
func (d *deck) numerics(c command) {
	for _, keyword := range []string{"STAT", "NONST"} {
		if numbers := c.numbers(c.index(keyword) + 1); c.index(keyword) > 0 && len(numbers) > 0 && numbers[0] >= 1 {
			d.iterations = int(math.Min(numbers[0], 1000))
		}
	}
}

// units of a time step.
var units = map[string]time.Duration{"SE": time.Second, "MI": time.Minute, "HR": time.Hour, "DA": 24 * time.Hour}

// isoTime is SWAN's first form of a time: 20260101.120000. The others depend on the machine's habits and are not read.
const isoTime = "20060102.150405"

func (d *deck) compute(c command) error {
	if !d.nonstationary || c.has("STAT") {
		d.computations = append(d.computations, computation{line: c.line})
		return nil
	}
	begin, step, end, err := c.span(max(c.index("NONST"), 0) + 1)
	if err != nil {
		return d.wrong(c.line, "COMPUTE: %v", err)
	}
	one := computation{c.line, begin, end, step}
	if steps := one.steps(); steps < 1 || steps > maxSteps {
		return d.wrong(c.line, "COMPUTE has %d steps; a run has 1 to %d", steps, maxSteps)
	}
	d.computations = append(d.computations, one)
	return nil
}

// span reads "20260101.000000 5 MIN 20260101.020000".
func (c command) span(at int) (begin time.Time, step time.Duration, end time.Time, err error) {
	if len(c.words) < at+4 {
		return begin, 0, end, fmt.Errorf("needs a begin, a step, its unit and an end, as 20260101.000000 5 MIN 20260101.020000")
	}
	if begin, err = time.Parse(isoTime, c.words[at].text); err != nil {
		return begin, 0, end, fmt.Errorf("%.40q is no time as 20260101.000000", c.words[at].text)
	}
	length, err := strconv.ParseFloat(c.words[at+1].text, 64)
	unit := units[strings.ToUpper(c.words[at+2].text[:min(2, len(c.words[at+2].text))])]
	if err != nil || length <= 0 || unit == 0 {
		return begin, 0, end, fmt.Errorf("%.40q is no step; give a number and SEC, MIN, HR or DAY",
			c.words[at+1].text+" "+c.words[at+2].text)
	}
	if end, err = time.Parse(isoTime, c.words[at+3].text); err != nil {
		return begin, 0, end, fmt.Errorf("%.40q is no time as 20260101.000000", c.words[at+3].text)
	}
	return begin, time.Duration(length * float64(unit)).Round(time.Second), end, nil
}

// checkFiles sees that what is read is there, and that what is written stays beside the deck and spoils nothing.
func (d *deck) checkFiles(files *casefile.Case) error {
	for _, m := range d.reads {
		if !waves.StaysInside(m.name) {
			return d.wrong(m.line, "%s names %.80q, which lies outside the case; put the file into it", m.command, m.name)
		}
		if _, there := files.Find(path.Join(path.Dir(d.file), m.name)); !there {
			return d.wrong(m.line, "%s names %.80q, which is not in the case; %s", m.command, m.name, waves.Nearest(files, m.name))
		}
	}
	for _, m := range d.writes {
		switch {
		case strings.Contains(m.name, "/") || !waves.StaysInside(m.name):
			return d.wrong(m.line, "%s writes %.80q; outputs are written beside the deck, so give a name without a folder",
				m.command, m.name)
		case slices.Contains(reserved, strings.ToUpper(m.name)):
			return d.wrong(m.line, "%s writes %q, which is a file of SWAN's own; choose another name", m.command, m.name)
		}
		if _, there := files.Find(path.Join(path.Dir(d.file), m.name)); there {
			return d.wrong(m.line, "%s writes %.80q, which is an input of the case; choose another name", m.command, m.name)
		}
	}
	return nil
}
