package wavewatch3

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
)

// deck is what the namelists of a case say, as far as its price, its progress and its limits depend on it.
type deck struct {
	kind                         gridKind
	cells                        int // 0 where another program's file holds them
	frequencies, directions      int
	global, space, turn, sources time.Duration // time steps: DTMAX, DTXY, DTKTH, DTMIN
	moves, turns, hasSources     bool          // propagation in space, in the spectrum; source terms
	start, stop                  time.Time
	field, point, restart        series // the outputs that a run can be cut at, or that are joined behind it
	cannotCut                    string // why it cannot be cut into windows; "" where it can
	stages                       stages
}

type gridKind string

const (
	rectilinear  gridKind = "RECT"
	curvilinear  gridKind = "CURV"
	unstructured gridKind = "UNST"
	spherical    gridKind = "SMC" // a spherical multiple-cell grid
)

// stages are the programs that a case runs, by its decks. Of the others there is one each.
type stages struct {
	Initial bool     `json:"initial"` // ww3_strt
	Forcing []prnc   `json:"forcing"`
	Bounds  bool     `json:"bounds"` // ww3_bounc
	Fields  []string `json:"fields"` // decks of ww3_ounf
	Points  []string `json:"points"` // decks of ww3_ounp
	Needs   []string `json:"needs"`  // files of forcing that ww3_shel asks for
}

// prnc is a deck of ww3_prnc and the file that it makes.
type prnc struct {
	Deck string `json:"deck"`
	File string `json:"file"`
}

// The decks by the programs that read them.
const (
	gridDeck  = "ww3_grid.nml"
	shelDeck  = "ww3_shel.nml"
	boundDeck = "ww3_bounc.nml"
	startDeck = "ww3_strt.inp" // has no form with namelists
	// restartFile is what a run goes on from.
	restartFile = "restart.ww3"
	// unset is how WAVEWATCH III's namelists say that nothing is there.
	unset = "unset"
)

// groupsOf are the namelists that each program knows; it passes over others without a word, misspelt ones among them.
var groupsOf = map[string][]string{
	"ww3_grid": {"SPECTRUM_NML", "RUN_NML", "TIMESTEPS_NML", "GRID_NML", "RECT_NML", "CURV_NML", "UNST_NML", "SMC_NML", "DEPTH_NML",
		"MASK_NML", "OBST_NML", "SLOPE_NML", "SED_NML", "INBND_COUNT_NML", "INBND_POINT_NML", "EXCL_COUNT_NML", "EXCL_POINT_NML",
		"EXCL_BODY_NML", "OUTBND_COUNT_NML", "OUTBND_LINE_NML"},
	"ww3_shel":  {"DOMAIN_NML", "INPUT_NML", "OUTPUT_TYPE_NML", "OUTPUT_DATE_NML", "HOMOG_COUNT_NML", "HOMOG_INPUT_NML"},
	"ww3_prnc":  {"FORCING_NML", "FILE_NML"},
	"ww3_bounc": {"BOUND_NML"},
	"ww3_ounf":  {"FIELD_NML", "FILE_NML", "SMC_NML"},
	"ww3_ounp":  {"POINT_NML", "FILE_NML", "SPECTRA_NML", "PARAM_NML", "SOURCE_NML"},
}

// forcings are the members of INPUT%FORCING and INPUT%ASSIM with the files that ww3_shel reads for them.
var forcings = map[string]string{
	"FORCING%WATER_LEVELS": "level.ww3", "FORCING%CURRENTS": "current.ww3", "FORCING%WINDS": "wind.ww3",
	"FORCING%ATM_MOMENTUM": "momentum.ww3", "FORCING%AIR_DENSITY": "density.ww3", "FORCING%ICE_CONC": "ice.ww3",
	"FORCING%ICE_PARAM1": "ice1.ww3", "FORCING%ICE_PARAM2": "ice2.ww3", "FORCING%ICE_PARAM3": "ice3.ww3",
	"FORCING%ICE_PARAM4": "ice4.ww3", "FORCING%ICE_PARAM5": "ice5.ww3", "FORCING%MUD_DENSITY": "muddens.ww3",
	"FORCING%MUD_THICKNESS": "mudthk.ww3", "FORCING%MUD_VISCOSITY": "mudvisc.ww3", "ASSIM%MEAN": "data0.ww3",
	"ASSIM%SPEC1D": "data1.ww3", "ASSIM%SPEC2D": "data2.ww3",
}

// fileEnds are the last parts of keys whose values name files that a program reads.
var fileEnds = []string{"FILENAME", "FILE", "NML", "UGOBCFILE"}

// Bounds of what a case may ask for.
const (
	maxCells    = 10_000_000
	maxSpectrum = 360 * 100
	maxSteps    = 500_000
)

// reader reads the decks of a case.
type reader struct {
	files *casefile.Case
	deck  deck
}

// readCase reads a case and holds it against its files. Errors: *waves.WrongError.
func readCase(files *casefile.Case) (deck, error) {
	r := reader{files: files}
	for _, step := range []func() error{r.grid, r.forcing, r.bounds, r.outputs, r.run} {
		if err := step(); err != nil {
			return deck{}, err
		}
	}
	_, r.deck.stages.Initial = files.Find(startDeck)
	return r.deck, nil
}

// open reads a deck by its name, and what its groups and files must be.
func (r *reader) open(program, name string) (namelists, error) {
	file, there := r.files.Find(name)
	if !there {
		old := strings.TrimSuffix(name, ".nml") + ".inp"
		if _, there := r.files.Find(old); there {
			return namelists{}, waves.Wrong(old, 0, "is the older form, which is not read here; write it as namelists, %s", name)
		}
		return namelists{}, waves.Wrong(name, 0, "is not at the top of the case; %s", waves.Nearest(r.files, name))
	}
	if file.Text == nil {
		return namelists{}, waves.Wrong(name, 0, "is no text, or has more than %d bytes", casefile.MaxTextBytes)
	}
	found, err := readNamelists(name, string(file.Text))
	if err != nil {
		return found, err
	}
	for _, g := range found.groups {
		if !slices.Contains(groupsOf[program], g.name) {
			return found, waves.Wrong(name, g.line, "&%.40s is no namelist of %s, which would pass over it; it knows %s",
				g.name, program, strings.Join(groupsOf[program], ", "))
		}
	}
	return found, r.named(found)
}

// named sees that every file that a deck names lies in the case.
func (r *reader) named(n namelists) error {
	for _, g := range n.groups {
		for _, one := range g.assignments {
			last := one.key[strings.LastIndex(one.key, "%")+1:]
			for _, v := range one.values {
				name := strings.TrimSpace(v.text)
				switch {
				case !v.quoted || strings.EqualFold(name, unset) || name == "":
				case last == "PREFIX" && (strings.Contains(name, "/") || !waves.StaysInside(name)):
					return waves.Wrong(n.file, one.line,
						"%s is %.80q; outputs are written beside the decks, so give it without a folder", one.key, name)
				case slices.Contains(fileEnds, last):
					if err := r.there(n.file, one.line, one.key, name); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// there sees that a file that is named lies in the case.
func (r *reader) there(deckName string, line int, key, name string) error {
	if !waves.StaysInside(name) {
		return waves.Wrong(deckName, line, "%s names %.80q, which lies outside the case; put the file into it, and name it from "+
			"there", key, name)
	}
	if _, there := r.files.Find(path.Clean(name)); !there {
		return waves.Wrong(deckName, line, "%s names %.80q, which is not in the case; %s", key, name, waves.Nearest(r.files, name))
	}
	return nil
}

// grid reads ww3_grid.nml: the spectrum, the time steps and the grid.
func (r *reader) grid() error {
	n, err := r.open("ww3_grid", gridDeck)
	if err != nil {
		return err
	}
	d := &r.deck
	if err := r.spectrum(n); err != nil {
		return err
	}
	for _, step := range []struct {
		key  string
		into *time.Duration
	}{{"DTMAX", &d.global}, {"DTXY", &d.space}, {"DTKTH", &d.turn}, {"DTMIN", &d.sources}} {
		key := "TIMESTEPS%" + step.key
		seconds, err := n.number("TIMESTEPS_NML", key)
		if err != nil {
			return err
		}
		if seconds < 1 || seconds > 86400 {
			return waves.Wrong(n.file, n.line("TIMESTEPS_NML", key), "%s is %g; it must be 1 to 86400 seconds", key, seconds)
		}
		*step.into = time.Duration(seconds * float64(time.Second))
	}
	const group = "RUN_NML"
	d.moves = n.yes(group, "RUN%FLCX") || n.yes(group, "RUN%FLCY")
	d.turns, d.hasSources = n.yes(group, "RUN%FLCTH") || n.yes(group, "RUN%FLCK"), n.yes(group, "RUN%FLSOU")
	if n.yes(group, "RUN%FLDRY") {
		return waves.Wrong(n.file, n.line(group, "RUN%FLDRY"), "RUN%%FLDRY asks for a dry run, which computes nothing")
	}
	settings := n.text("GRID_NML", "GRID%NML", "namelists.nml")
	if err := r.there(n.file, n.line("GRID_NML", "GRID%NML"), "GRID%NML", settings); err != nil {
		return err
	}
	return r.cells(n)
}

func (r *reader) spectrum(n namelists) error {
	const group = "SPECTRUM_NML"
	frequencies, err := n.number(group, "SPECTRUM%NK")
	if err != nil {
		return err
	}
	directions, err := n.number(group, "SPECTRUM%NTH")
	if err != nil {
		return err
	}
	if frequencies < 3 || directions < 4 || frequencies*directions > maxSpectrum {
		return waves.Wrong(n.file, n.line(group, "SPECTRUM%NK"), "SPECTRUM%%NK is %g and SPECTRUM%%NTH is %g; there must be at "+
			"least 3 frequencies and 4 directions, and at most %d spectral bins", frequencies, directions, maxSpectrum)
	}
	r.deck.frequencies, r.deck.directions = int(frequencies), int(directions)
	return nil
}

// cells reads how many points the grid has.
func (r *reader) cells(n namelists) error {
	kind := gridKind(strings.ToUpper(n.text("GRID_NML", "GRID%TYPE", "")))
	r.deck.kind = kind
	switch kind {
	case rectilinear, curvilinear:
	case unstructured:
		r.deck.cells = nodes(r.files, n.text("UNST_NML", "UNST%FILENAME", ""))
		return nil
	case spherical:
		return nil
	default:
		return waves.Wrong(n.file, n.line("GRID_NML", "GRID%TYPE"), "GRID%%TYPE is %.20q; it must be RECT, CURV, UNST or SMC", kind)
	}
	group := string(kind) + "_NML"
	x, err := n.number(group, string(kind)+"%NX")
	if err != nil {
		return err
	}
	y, err := n.number(group, string(kind)+"%NY")
	if err != nil {
		return err
	}
	if x < 3 || y < 3 || x*y > maxCells {
		return waves.Wrong(n.file, n.line(group, string(kind)+"%NX"), "%s%%NX is %g and %s%%NY is %g; each must be at least 3, "+
			"and there may be %d points", kind, x, kind, y, maxCells)
	}
	r.deck.cells = int(x) * int(y)
	return nil
}

// nodes reads the number of points of a mesh of gmsh; 0 where its text has not been read.
func nodes(files *casefile.Case, name string) int {
	file, _ := files.Find(path.Clean(name))
	_, behind, found := strings.Cut(string(file.Text), "$Nodes")
	words := strings.Fields(behind[:min(len(behind), 100)])
	if !found || len(words) == 0 {
		return 0
	}
	count, err := strconv.Atoi(words[0])
	if err != nil || count < 0 || count > maxCells {
		return 0
	}
	return count
}

// decksLike are the decks of a program that may have several: ww3_prnc.nml, ww3_prnc_wind.nml.
func (r *reader) decksLike(program string) []string {
	var names []string
	for _, file := range r.files.Files {
		rest, ours := strings.CutPrefix(file.Name, program)
		if ours && !strings.Contains(rest, "/") && strings.HasSuffix(rest, ".nml") && strings.ContainsAny(rest[:1], "._-") {
			names = append(names, file.Name)
		}
	}
	return names
}

// forcing reads the decks of ww3_prnc. Each makes one file of forcing of one file of netCDF.
func (r *reader) forcing() error {
	made := map[string]string{}
	for _, name := range r.decksLike("ww3_prnc") {
		n, err := r.open("ww3_prnc", name)
		if err != nil {
			return err
		}
		file := ""
		for key, one := range forcings {
			field := "FORCING%FIELD%" + key[strings.Index(key, "%")+1:]
			if n.yes("FORCING_NML", field) || key == "FORCING%WINDS" && n.yes("FORCING_NML", field+"_AST") ||
				key == "FORCING%ICE_CONC" && n.yes("FORCING_NML", "FORCING%FIELD%ICE_BERG") {
				file = one
			}
		}
		switch {
		case file == "":
			return waves.Wrong(name, n.line("FORCING_NML", ""), "sets no FORCING%%FIELD to T; ww3_prnc would not know what to make")
		case strings.EqualFold(n.text("FILE_NML", "FILE%FILENAME", unset), unset):
			return waves.Wrong(name, n.line("FILE_NML", ""), "sets no FILE%%FILENAME, the netCDF file of the forcing")
		case made[file] != "":
			return waves.Wrong(name, 0, "makes %s, which %s makes as well", file, made[file])
		}
		made[file] = name
		r.deck.stages.Forcing = append(r.deck.stages.Forcing, prnc{name, file})
	}
	return nil
}

// bounds reads ww3_bounc.nml and the list of spectra that it names.
func (r *reader) bounds() error {
	if _, there := r.files.Find(boundDeck); !there {
		return nil
	}
	n, err := r.open("ww3_bounc", boundDeck)
	if err != nil {
		return err
	}
	r.deck.stages.Bounds = true
	list := n.text("BOUND_NML", "BOUND%FILE", "spec.list")
	if err := r.there(n.file, n.line("BOUND_NML", "BOUND%FILE"), "BOUND%FILE", list); err != nil {
		return err
	}
	file, _ := r.files.Find(path.Clean(list))
	for number, line := range strings.Split(string(file.Text), "\n") {
		if name := strings.TrimSpace(line); name != "" {
			if err := r.there(list, number+1, "the list", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// outputs reads the decks that make netCDF of what the model wrote.
func (r *reader) outputs() error {
	for _, one := range []struct {
		program string
		into    *[]string
	}{{"ww3_ounf", &r.deck.stages.Fields}, {"ww3_ounp", &r.deck.stages.Points}} {
		*one.into = r.decksLike(one.program)
		for _, name := range *one.into {
			if _, err := r.open(one.program, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// run reads ww3_shel.nml: the times, what drives the model and what it writes.
func (r *reader) run() error {
	n, err := r.open("ww3_shel", shelDeck)
	if err != nil {
		return err
	}
	d := &r.deck
	if d.start, err = n.time("DOMAIN_NML", "DOMAIN%START"); err != nil {
		return err
	}
	if d.stop, err = n.time("DOMAIN_NML", "DOMAIN%STOP"); err != nil {
		return err
	}
	if steps := d.steps(); steps < 1 || steps > maxSteps {
		return waves.Wrong(n.file, n.line("DOMAIN_NML", "DOMAIN%STOP"),
			"the run from %s to %s has %d steps of DTMAX; a run has 1 to %d", spell(d.start), spell(d.stop), steps, maxSteps)
	}
	if err := r.driven(n); err != nil {
		return err
	}
	return r.written(n)
}

// driven sees that every forcing that is asked for comes from somewhere.
func (r *reader) driven(n namelists) error {
	for _, key := range slices.Sorted(maps.Keys(forcings)) {
		file, line := forcings[key], n.line("INPUT_NML", "INPUT%"+key)
		switch how := strings.ToUpper(n.text("INPUT_NML", "INPUT%"+key, "F")); {
		case strings.HasPrefix(how, "F") || strings.HasPrefix(how, "H"):
		case strings.HasPrefix(how, "T"):
			_, ready := r.files.Find(file)
			if !ready && !slices.ContainsFunc(r.deck.stages.Forcing, func(p prnc) bool { return p.File == file }) {
				return waves.Wrong(n.file, line, "INPUT%%%s is T, and nothing makes %s: the case has neither that file nor a deck "+
					"ww3_prnc.nml for it", key, file)
			}
			r.deck.stages.Needs = append(r.deck.stages.Needs, file)
		case strings.HasPrefix(how, "C"):
			return waves.Wrong(n.file, line, "INPUT%%%s asks for another model to be coupled; the model runs alone here", key)
		default:
			return waves.Wrong(n.file, line, "INPUT%%%s is %.20q; it must be T, F or H", key, how)
		}
	}
	return nil
}

// written reads what the model writes, and when.
func (r *reader) written(n namelists) error {
	d := &r.deck
	found := map[string]series{}
	writes := false
	for _, name := range []string{"FIELD", "POINT", "TRACK", "RESTART", "RESTART2", "BOUNDARY", "PARTITION", "COUPLING"} {
		one, err := n.series(name)
		if err != nil {
			return err
		}
		if one.stride > 0 && !one.within(d.start, d.stop) {
			one.stride = 0
		}
		found[name] = one
		writes = writes || one.stride > 0
		if one.stride > 0 && slices.Contains([]string{"TRACK", "RESTART2", "BOUNDARY", "PARTITION", "COUPLING"}, name) {
			d.cannotCut = "DATE%" + name + " asks for outputs that cannot be joined"
		}
	}
	d.field, d.point, d.restart = found["FIELD"], found["POINT"], found["RESTART"]
	const group = "OUTPUT_DATE_NML"
	if n.text(group, "DATE%FIELD%OUTFFILE", "0") != "0" || n.text(group, "DATE%POINT%OUTFFILE", "0") != "0" {
		d.cannotCut = "DATE%FIELD%OUTFFILE asks for a file a time"
	}
	if !writes {
		return waves.Wrong(n.file, n.line(group, "DATE%FIELD"), "asks for no output between %s and %s; nothing would be left "+
			"of the run", spell(d.start), spell(d.stop))
	}
	if d.point.stride > 0 {
		key := "TYPE%POINT%FILE"
		if err := r.there(n.file, n.line("OUTPUT_TYPE_NML", key), key, n.text("OUTPUT_TYPE_NML", key, "points.list")); err != nil {
			return err
		}
	}
	if found["TRACK"].stride > 0 {
		return r.there(n.file, n.line(group, "DATE%TRACK"), "DATE%TRACK", "track_i.ww3")
	}
	return nil
}

// series are the times of an output: from first on, every stride, to last. A stride of 0 is of none.
type series struct {
	first, last time.Time
	stride      time.Duration
}

// within tells whether one of its times lies in a run.
func (s series) within(start, stop time.Time) bool {
	at := s.from(start)
	return !at.After(stop) && !at.After(s.last)
}

// from is the first of its times that is not before another, whether or not it comes after the last.
func (s series) from(start time.Time) time.Time {
	if s.stride <= 0 || !s.first.Before(start) {
		return s.first
	}
	behind := start.Sub(s.first) + s.stride - 1
	return s.first.Add(behind - behind%s.stride)
}

// series reads DATE%FIELD = 'first' 'seconds' 'last', or its parts one by one. WAVEWATCH III writes nothing where it is not set.
func (n namelists) series(name string) (series, error) {
	const group = "OUTPUT_DATE_NML"
	key := "DATE%" + name
	texts := []string{"19680606 000000", "0", "19680607 000000"}
	line := n.line(group, key)
	if whole, ok := n.find(group, key); ok {
		for i := range min(len(texts), len(whole.values)) {
			texts[i] = whole.values[i].text
		}
	}
	for i, part := range []string{"START", "STRIDE", "STOP"} {
		if found, ok := n.find(group, key+"%"+part); ok {
			texts[i], line = found.values[0].text, found.line
		}
	}
	first, firstErr := readTime(texts[0])
	last, lastErr := readTime(texts[2])
	seconds, err := strconv.ParseFloat(strings.TrimSpace(texts[1]), 64)
	if firstErr != nil || lastErr != nil || err != nil || seconds < 0 {
		return series{}, waves.Wrong(n.file, line, "%s must be a first time, seconds and a last time, as '19680601 000000' '3600' "+
			"'19680602 000000'", key)
	}
	return series{first, last, time.Duration(seconds * float64(time.Second)).Round(time.Second)}, nil
}

// time reads a time that must be there. Errors: *waves.WrongError.
func (n namelists) time(groupName, key string) (time.Time, error) {
	text := n.text(groupName, key, "")
	at, err := readTime(text)
	if err != nil {
		return at, waves.Wrong(n.file, n.line(groupName, key), "%s is %.40q; it must be a time as '19680601 000000'", key, text)
	}
	return at, nil
}

// timeForm is how WAVEWATCH III writes a time.
const timeForm = "20060102 150405"

func spell(t time.Time) string { return t.Format(timeForm) }

// readTime reads "19680601 000000". The day 00 is that before the first, as WAVEWATCH III counts.
func readTime(text string) (time.Time, error) {
	words := strings.Fields(text)
	if len(words) != 2 || len(words[0]) != 8 || len(words[1]) > 6 {
		return time.Time{}, fmt.Errorf("%.40q is no time as 19680601 000000", text)
	}
	day, err := strconv.Atoi(words[0])
	if err != nil {
		return time.Time{}, err
	}
	clock, err := strconv.Atoi(words[1])
	if err != nil || day < 0 || clock < 0 {
		return time.Time{}, fmt.Errorf("%.40q is no time as 19680601 000000", text)
	}
	return time.Date(day/10000, time.Month(day/100%100), day%100, clock/10000, clock/100%100, clock%100, 0, time.UTC), nil
}
