package scene

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Difference is one thing in which two answers differ. Aspect is "answer" where they differ in what they ask, refuse, tell or
// order; of scenes it is "structure", "atoms", "colour", "highlights", "labels", "measurements", "interactions", "camera",
// "canvas", "clip", "volumes", "snapshots" or "selection".
type Difference struct {
	Aspect string
	Text   string
}

// Compare tells in what two answers to one sentence differ, in the scenes that they make of a model and in what they ask, refuse,
// tell or order. Nothing is the same answer, however it is worded: in another order, by another selection of the same atoms, or
// with a default filled in. A list that cannot be carried out is the question or the refusal that it leads to. What is loaded is
// part of the scene where the files hold it.
//
// Errors: *InvalidError, *SelectionError, *MissingError.
func Compare(m Model, files Files, one, other []Operation) ([]Difference, error) {
	a, err := answerOf(m, files, one)
	if err != nil {
		return nil, err
	}
	b, err := answerOf(m, files, other)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(a.told, b.told) {
		return []Difference{{"answer", fmt.Sprintf("%s, and %s", a.said(), b.said())}}, nil
	}
	c := &comparison{files: files}
	return c.scenes(a.scene, b.scene, selects(one) || selects(other))
}

// answer is what a list of operations comes to.
type answer struct {
	told  []string // operations that make no scene, with the arguments that count
	scene Model
}

func (a answer) said() string {
	if len(a.told) == 0 {
		return "a scene"
	}
	return strings.Join(a.told, " and ")
}

func answerOf(m Model, files Files, operations []Operation) (answer, error) {
	if err := Validate(operations); err != nil {
		return answer{}, err
	}
	var made []Operation
	a := answer{scene: m}
	for _, operation := range operations {
		switch args := operation.Args.(type) {
		case Load:
			a.told = append(a.told, asTold(operation))
			if _, ok := files[args.Source]; ok {
				made = append(made, operation) // what follows is about it
			}
		case Describe, Render, Export, Undo, Redo, TakeSnapshot:
			a.told = append(a.told, asTold(operation))
		default:
			made = append(made, operation)
		}
	}
	scene, _, err := Apply(m, files, made)
	question, asks := errors.AsType[*QuestionError](err)
	refused, refuses := errors.AsType[*RefusedError](err)
	switch {
	case asks:
		return answer{told: []string{asTold(question.Operation())}, scene: m}, nil
	case refuses:
		return answer{told: []string{asTold(refused.Operation())}, scene: m}, nil
	case err != nil:
		return answer{}, err
	}
	a.scene = scene
	slices.Sort(a.told)
	return a, nil
}

// asTold is an operation with the arguments that count: those that the schema requires, and how many steps.
func asTold(operation Operation) string {
	switch args := operation.Args.(type) {
	case Ask:
		return "ask " + args.About
	case Refuse:
		return "refuse " + args.Reason + " " + plain(args.Feature)
	case Describe:
		return "describe " + args.About
	case Export:
		return "export " + args.Format
	case Load:
		return "load " + args.Source
	case Undo:
		return fmt.Sprint("undo ", max(args.Steps, 1))
	case Redo:
		return fmt.Sprint("redo ", max(args.Steps, 1))
	}
	return operation.Op
}

// plain is a text without its case and its joints.
func plain(text string) string {
	return strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(strings.TrimSpace(text)))
}

func selects(operations []Operation) bool {
	return slices.ContainsFunc(operations, func(o Operation) bool { return o.Op == opSelect })
}

// comparison gathers the differences of two scenes.
type comparison struct {
	files Files
	found []Difference
}

func (c *comparison) differ(aspect, format string, args ...any) {
	c.found = append(c.found, Difference{aspect, fmt.Sprintf(format, args...)})
}

func (c *comparison) scenes(a, b Model, selection bool) ([]Difference, error) {
	if !slices.EqualFunc(a.Structures, b.Structures, func(x, y Shown) bool {
		return x.Source == y.Source && x.Assembly == y.Assembly && max(x.Model, 1) == max(y.Model, 1) && x.AllModels == y.AllModels
	}) {
		c.differ("structure", "%v, and %v", a.Structures, b.Structures)
		return c.found, nil
	}
	tables, err := a.tablesOf(c.files)
	if err != nil {
		return nil, err
	}
	left, right := newCompiler(a, c.files, tables), newCompiler(b, c.files, tables)
	for i := range tables {
		c.drawn(left, right, i)
	}
	c.annotations(left, right)
	c.cameras(left, right)
	c.stages(left, right)
	if selection && len(tables) > 0 && !left.sameAtoms(a.Last, b.Last) {
		c.differ("selection", "%s, and %s", a.Last, b.Last)
	}
	return c.found, nil
}

// stratum is how one layer draws: atoms of one stratum differ in colour alone.
type stratum struct {
	as, kind, style string
	opacity         float64
}

// drawn compares which atoms are drawn how, and in which colours.
func (c *comparison) drawn(left, right *compiler, i int) {
	l, lColors := left.strata(i)
	r, rColors := right.strata(i)
	for _, s := range slices.SortedFunc(maps.Keys(l), compareStrata) {
		if _, ok := r[s]; !ok {
			c.differ("atoms", "%s is drawn by the first alone", s)
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(r), compareStrata) {
		atoms, ok := l[s]
		switch {
		case !ok:
			c.differ("atoms", "%s is drawn by the second alone", s)
		case !atoms.equal(r[s]):
			c.differ("atoms", "%s is drawn for %d atoms, and for %d", s, atoms.Count(), r[s].Count())
		default:
			different := 0
			atoms.each(func(atom int) {
				if !sameColor(lColors[s][atom], rColors[s][atom]) {
					different++
				}
			})
			if different > 0 {
				c.differ("colour", "%s has other colours on %d atoms", s, different)
			}
		}
	}
}

func (s stratum) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s at opacity %g", s.style, s.kind, s.as, s.opacity))
}

func compareStrata(a, b stratum) int { return strings.Compare(a.String(), b.String()) }

// strata are the atoms of a structure by how they are drawn, and their paints: nil is a layer's own colour.
func (c *compiler) strata(i int) (atoms map[stratum]Set, colors map[stratum]map[int]*Paint) {
	atoms, colors = map[stratum]Set{}, map[stratum]map[int]*Paint{}
	for _, l := range c.Layers {
		if l.Structure != i {
			continue
		}
		s := stratum{l.As, l.Type, l.Style, l.Opacity}
		set := c.set(i, l.Sel)
		if atoms[s] == nil {
			atoms[s], colors[s] = newSet(len(c.tables[i].Atoms)), map[int]*Paint{}
		}
		atoms[s] = atoms[s].or(set)
		for p := range c.Paints {
			c.painted(c.Paints[p], l, set).each(func(atom int) { colors[s][atom] = &c.Paints[p] })
		}
	}
	return atoms, colors
}

func sameColor(a, b *Paint) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.By != "" || b.By != "":
		return a.By == b.By && a.Palette == b.Palette
	}
	return nearColors(a.Color, b.Color)
}

// Colours that are nearer than this are one to most people, and so are all strong blues.
const nearColor = 40.0

func nearColors(a, b string) bool {
	x, y := colorValue(a), colorValue(b)
	return distance(x, y) <= nearColor || isBlue(x) && isBlue(y)
}

// isBlue tells a strong blue: between azure and violet, neither pale nor dark.
func isBlue(c [3]float64) bool {
	high, low := max(c[0], c[1], c[2]), min(c[0], c[1], c[2])
	return c[2] == high && high >= 100 && high-low >= high/2 && c[1] <= low+(high-low)*3/4 && c[0] <= low+(high-low)/4
}

// sameAtoms tells whether two selections mean the same atoms.
func (c *compiler) sameAtoms(a, b string) bool {
	for i := range c.tables {
		if (a == "") != (b == "") || !c.set(i, a).equal(c.set(i, b)) {
			return false
		}
	}
	return true
}

// key names the atoms of a selection in all structures, so that lists of them can be compared.
func (c *compiler) key(query string) string {
	var text strings.Builder
	for i := range c.tables {
		fmt.Fprintf(&text, "%x;", []uint64(c.set(i, query)))
	}
	return text.String()
}

// annotations compares what was added to the picture, in any order.
func (c *comparison) annotations(left, right *compiler) {
	for _, list := range []struct {
		aspect string
		of     func(*compiler) []string
	}{
		{"labels", (*compiler).labelKeys}, {"measurements", (*compiler).measurementKeys},
		{"interactions", (*compiler).interactionKeys}, {"highlights", (*compiler).highlightKeys},
		{"volumes", (*compiler).volumeKeys}, {"snapshots", (*compiler).snapshotKeys},
	} {
		a, b := list.of(left), list.of(right)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			c.differ(list.aspect, "%d, and %d or other ones", len(a), len(b))
		}
	}
}

func (c *compiler) labelKeys() []string {
	var keys []string
	for _, l := range c.Labels {
		for _, one := range c.tables[l.Structure].labelled(c.set(l.Structure, l.Sel), l.Level) {
			text := one.text
			if l.Text != "" {
				text = plain(l.Text)
			}
			keys = append(keys, fmt.Sprint(l.Structure, text, []uint64(one.set)))
		}
	}
	return keys
}

func (c *compiler) measurementKeys() []string {
	keys := make([]string, len(c.Measurements))
	for i, m := range c.Measurements {
		places := make([]string, len(m.Between))
		for k, query := range m.Between {
			places[k] = c.key(query)
		}
		if places[0] > places[len(places)-1] { // read from its other end it is the same
			slices.Reverse(places)
		}
		keys[i] = m.Kind + strings.Join(places, "|")
	}
	return keys
}

func (c *compiler) interactionKeys() []string {
	keys := make([]string, len(c.Interactions))
	for i, shown := range c.Interactions {
		types := slices.Sorted(slices.Values(shown.Types))
		keys[i] = fmt.Sprint(c.key(shown.Of), shown.With != "", c.key(shown.With), types, shown.Labels)
	}
	return keys
}

func (c *compiler) highlightKeys() []string {
	keys := make([]string, len(c.Highlights))
	for i, h := range c.Highlights {
		color := colorValue(h.Color)
		if isBlue(color) {
			color = colorValue("blue")
		}
		keys[i] = fmt.Sprint(h.Structure, []uint64(c.set(h.Structure, h.Sel)), color)
	}
	return keys
}

func (c *compiler) volumeKeys() []string {
	keys := make([]string, len(c.Volumes))
	for i, v := range c.Volumes {
		keys[i] = fmt.Sprint(v.Source, v.Isovalue, v.Absolute, v.Style, colorValue(v.Color), c.key(v.Around), v.RadiusAngstrom)
	}
	return keys
}

func (c *compiler) snapshotKeys() []string {
	keys := make([]string, len(c.Snapshots))
	for i, s := range c.Snapshots {
		keys[i] = s.Title
	}
	return keys
}

// How far two cameras may differ: their target in Å, how near they are as a factor, and the angle between them as its cosine.
const (
	sameTargetAngstrom = 2.0
	sameZoom           = 1.35
	sameDirection      = 0.99
)

func (c *comparison) cameras(left, right *compiler) {
	a, b := left.Camera, right.Camera
	zoom := a.Zoom / b.Zoom
	target, size := left.target()
	otherTarget, otherSize := right.target()
	switch {
	case distance(target, otherTarget) > sameTargetAngstrom, size > otherSize*sameZoom+sameTargetAngstrom,
		otherSize > size*sameZoom+sameTargetAngstrom:
		c.differ("camera", "looks at %q, and at %q", a.Sel, b.Sel)
	case zoom > sameZoom || zoom < 1/sameZoom || (a.Zoom-1)*(b.Zoom-1) < 0:
		c.differ("camera", "is %g times as near, and %g times", a.Zoom, b.Zoom)
	case dot(a.Direction, b.Direction) < sameDirection || dot(a.Up, b.Up) < sameDirection:
		c.differ("camera", "looks along %v, and along %v", a.Direction, b.Direction)
	}
}

// target is where the camera points, and how large that is, in Å.
func (c *compiler) target() (middle [3]float64, size float64) {
	query := c.Camera.Sel
	if query == "" {
		query = "all"
	}
	low, high, _ := c.box(query, 0)
	return times(plus(low, high), 0.5), distance(low, high)
}

// stages compares what is around the scene.
func (c *comparison) stages(left, right *compiler) {
	a, b := left.Canvas, right.Canvas
	if !nearColors(a.Color, b.Color) || a.Transparent != b.Transparent {
		c.differ("canvas", "the background is %s, and %s", a.Color, b.Color)
	}
	if a.Effects.key() != b.Effects.key() {
		c.differ("canvas", "the effects are %v, and %v", a.Effects.key(), b.Effects.key())
	}
	if (a.Spin == nil) != (b.Spin == nil) || a.Spin != nil && *a.Spin != *b.Spin {
		c.differ("canvas", "the scene turns otherwise")
	}
	x, y := left.Clip, right.Clip
	if (x == nil) != (y == nil) || x != nil && (x.Mode != y.Mode || !left.sameAtoms(x.Through, y.Through) ||
		math.Abs(x.ThicknessAngstrom-y.ThicknessAngstrom) > sameTargetAngstrom) {
		c.differ("clip", "%v, and %v", x, y)
	}
}

// key are the effects that are on.
func (e Effects) key() [6]bool {
	on := func(effect *bool) bool { return effect != nil && *effect }
	return [6]bool{on(e.Outline), on(e.Shadow), on(e.Occlusion), on(e.Fog), on(e.DepthOfField), on(e.Axes)}
}
