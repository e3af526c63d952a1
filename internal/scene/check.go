package scene

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ModelError says why a model that came from elsewhere is refused. Path is the place in it, such as "layers[3].sel"; Message says
// what is allowed there.
type ModelError struct{ Path, Message string }

func (e *ModelError) Error() string { return "the scene's model: " + e.Path + ": " + e.Message }

// Bounds on a model from elsewhere, beside those on every model.
const (
	// maxNextID leaves room for a session's own numbers.
	maxNextID = 1_000_000_000
	// maxSelectionsBytes bounds all selections of a model together, and maxNearby their distances: each costs a look at every atom,
	// when the model is compiled.
	maxSelectionsBytes = 256 << 10
	maxNearby          = 1000
	// maxTurn is how far directions of a camera may be from length 1, and from a right angle.
	maxTurn = 0.01
	// leastZoom and mostZoom bound how near a camera is.
	leastZoom, mostZoom = 0.01, 100.0
)

// CheckModel checks a model that came from elsewhere: that Apply and Compile take it, and that it is no larger than Apply would
// have made it. What only the structures tell, such as whether a selection means anything, it does not check. Errors: *ModelError.
func CheckModel(m Model) error {
	known, err := vocabulary()
	if err != nil {
		return err
	}
	c := &modelChecker{known: known}
	c.model("", m, true)
	if c.err != nil {
		return c.err
	}
	return nil
}

// modelChecker keeps the first thing that is wrong.
type modelChecker struct {
	known  lexicon
	err    *ModelError
	bytes  int // of selections
	nearby int
	ids    map[string]bool
	next   int
}

func (c *modelChecker) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = &ModelError{path, fmt.Sprintf(format, args...)}
	}
}

// argument checks a value by what the schema says of an argument.
func (c *modelChecker) argument(path, op, argument string, value any) {
	if number, ok := value.(int); ok {
		value = float64(number)
	}
	entry := c.known[op]
	if schema := entry.arguments[argument]; schema.Validate(value) != nil {
		c.fail(path, "expected %s, got %s", entry.allowed(schema.Schema()), brief(value))
	}
}

// given checks a value that may be left out.
func given[T comparable](c *modelChecker, path, op, argument string, value T) {
	var none T
	if value != none {
		c.argument(path, op, argument, value)
	}
}

func (c *modelChecker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.fail(path, "expected one of %q, got %s", allowed, brief(value))
	}
}

func (c *modelChecker) color(path, color string) {
	c.argument(path, opBackground, "color", color)
	if c.err == nil && checkColor(color) != nil {
		c.fail(path, "%s is the name of no colour", brief(color))
	}
}

// sel checks a selection: that it can be read, is canonical, and costs little.
func (c *modelChecker) sel(path, text string) {
	s, err := ParseSelection(text)
	if err != nil {
		c.fail(path, "%s", clip(err.Error(), 300))
		return
	}
	anywhere(s.root, func(n node) bool {
		if _, ok := n.(nearby); ok {
			c.nearby++
		}
		return false
	})
	c.bytes += len(text)
	switch {
	case s.String() != text:
		c.fail(path, "expected a selection in its canonical form, which is %s", brief(s.String()))
	case c.nearby > maxNearby:
		c.fail(path, "the selections have more than %d distances together", maxNearby)
	case c.bytes > maxSelectionsBytes:
		c.fail(path, "the selections have more than %d KiB together", maxSelectionsBytes>>10)
	}
}

func (c *modelChecker) optionalSel(path, text string) {
	if text != "" {
		c.sel(path, text)
	}
}

// idForm is the form of what names a part of a scene.
var idForm = regexp.MustCompile(`^([a-z]{1,16})-([1-9][0-9]{0,9})$`)

func (c *modelChecker) id(path, id, kind string) {
	parts := idForm.FindStringSubmatch(id)
	switch {
	case len(parts) == 0 || parts[1] != kind:
		c.fail(path, "expected %s- and a number, got %s", kind, brief(id))
		return
	case c.ids[id]:
		c.fail(path, "%s stands twice", id)
	}
	c.ids[id] = true
	if n, _ := strconv.Atoi(parts[2]); n >= c.next { // the form holds ten digits at most
		c.fail(path, "%s is not below nextId, which is %d", id, c.next)
	}
}

func (c *modelChecker) count(path string, have, most int) bool {
	if have > most {
		c.fail(path, "expected at most %d, got %d", most, have)
	}
	return c.err == nil
}

// model checks a model; whole is one that may have snapshots.
func (c *modelChecker) model(at string, m Model, whole bool) {
	if m.NextID < 1 || m.NextID > maxNextID {
		c.fail(at+"nextId", "expected a whole number from 1 to %d, got %d", maxNextID, m.NextID)
	}
	c.ids, c.next = map[string]bool{}, m.NextID
	for _, bound := range []struct {
		name       string
		have, most int
	}{
		{"structures", len(m.Structures), maxStructures}, {"layers", len(m.Layers), maxLayers},
		{"paints", len(m.Paints), maxPaints},
		{"labels", len(m.Labels), maxAnnotations}, {"measurements", len(m.Measurements), maxAnnotations},
		{"highlights", len(m.Highlights), maxAnnotations}, {"interactions", len(m.Interactions), maxAnnotations},
		{"volumes", len(m.Volumes), maxAnnotations}, {"snapshots", len(m.Snapshots), maxSnapshots},
		{"names", len(m.Names), maxNames},
	} {
		if !c.count(at+bound.name, bound.have, bound.most) {
			return
		}
	}
	if !whole && len(m.Snapshots) > 0 {
		c.fail(at+"snapshots", "a snapshot has none of its own")
	}
	c.structures(at, m)
	c.drawn(at, m)
	c.annotations(at, m)
	c.stage(at, m)
	for i, s := range m.Snapshots {
		path := fmt.Sprintf("%ssnapshots[%d].", at, i)
		c.argument(path+"title", opSnapshot, "title", s.Title)
		if c.err == nil {
			c.model(path+"scene.", s.Scene, false)
		}
	}
}

func (c *modelChecker) structures(at string, m Model) {
	for i, s := range m.Structures {
		path := fmt.Sprintf("%sstructures[%d].", at, i)
		c.id(path+"id", s.ID, "structure")
		c.argument(path+"source", opLoad, "source", s.Source)
		given(c, path+"assembly", opStructure, "assembly", s.Assembly)
		given(c, path+"model", opStructure, "model", s.Model)
	}
	for i, v := range m.Volumes {
		path := fmt.Sprintf("%svolumes[%d].", at, i)
		c.id(path+"id", v.ID, "volume")
		c.argument(path+"source", opVolume, "source", v.Source)
		c.argument(path+"isovalue", opVolume, "isovalue", v.Isovalue)
		c.argument(path+"style", opVolume, "style", v.Style)
		c.color(path+"color", v.Color)
		c.optionalSel(path+"around", v.Around)
		given(c, path+"radiusAngstrom", opVolume, "radius", v.RadiusAngstrom)
	}
}

// in checks that a part belongs to a structure that is there.
func (c *modelChecker) in(path string, structure int, m Model) {
	if structure < 0 || structure >= len(m.Structures) {
		c.fail(path+"structure", "expected the place of one of %d structures, from 0, got %d", len(m.Structures), structure)
	}
}

func (c *modelChecker) drawn(at string, m Model) {
	for i, l := range m.Layers {
		path := fmt.Sprintf("%slayers[%d].", at, i)
		c.id(path+"id", l.ID, "layer")
		c.in(path, l.Structure, m)
		c.sel(path+"sel", l.Sel)
		c.argument(path+"as", opShow, "as", l.As)
		given(c, path+"type", opSurface, "type", l.Type)
		c.argument(path+"opacity", opOpacity, "value", l.Opacity)
		c.oneOf(path+"style", l.Style, "", "illustrative")
	}
	for i, p := range m.Paints {
		path := fmt.Sprintf("%spaints[%d].", at, i)
		c.sel(path+"sel", p.Sel)
		given(c, path+"as", opColor, "as", p.As)
		given(c, path+"by", opColor, "by", p.By)
		if (p.Color == "") == (p.By == "") {
			c.fail(path+"color", `expected exactly one of "color" and "by"`)
		}
		if p.Color != "" {
			c.color(path+"color", p.Color)
		}
		if p.Palette != "" && !palettes[p.Palette] {
			c.fail(path+"palette", "there is no palette %s", brief(p.Palette))
		}
	}
	for i, h := range m.Highlights {
		path := fmt.Sprintf("%shighlights[%d].", at, i)
		c.id(path+"id", h.ID, "highlight")
		c.in(path, h.Structure, m)
		c.sel(path+"sel", h.Sel)
		c.color(path+"color", h.Color)
	}
}

func (c *modelChecker) annotations(at string, m Model) {
	for i, l := range m.Labels {
		path := fmt.Sprintf("%slabels[%d].", at, i)
		c.id(path+"id", l.ID, "label")
		c.in(path, l.Structure, m)
		c.sel(path+"sel", l.Sel)
		c.argument(path+"level", opLabel, "level", l.Level)
		c.argument(path+"text", opLabel, "text", l.Text)
		c.argument(path+"size", opLabel, "size", l.Size)
		if l.Color != "" {
			c.color(path+"color", l.Color)
		}
	}
	for i, one := range m.Measurements {
		path := fmt.Sprintf("%smeasurements[%d].", at, i)
		c.id(path+"id", one.ID, "measurement")
		c.in(path, one.Structure, m)
		c.argument(path+"kind", opMeasure, "kind", one.Kind)
		if want := map[string]int{"distance": 2, "angle": 3}[one.Kind]; len(one.Between) != want {
			c.fail(path+"between", "expected %d places, got %d", want, len(one.Between))
		}
		for k, text := range one.Between {
			c.sel(fmt.Sprintf("%sbetween[%d]", path, k), text)
		}
	}
	for i, one := range m.Interactions {
		path := fmt.Sprintf("%sinteractions[%d].", at, i)
		c.id(path+"id", one.ID, "contacts")
		c.in(path, one.Structure, m)
		c.sel(path+"of", one.Of)
		c.optionalSel(path+"with", one.With)
		if one.Types != nil {
			types := make([]any, len(one.Types))
			for k, kind := range one.Types {
				types[k] = kind
			}
			c.argument(path+"types", opInteractions, "types", types)
		}
	}
}

func (c *modelChecker) stage(at string, m Model) {
	c.optionalSel(at+"last", m.Last)
	for name, text := range m.Names {
		c.argument(at+"names", opSelect, "name", name)
		c.sel(at+"names."+clip(name, 40), text)
	}
	camera := m.Camera
	c.optionalSel(at+"camera.sel", camera.Sel)
	c.argument(at+"camera.marginAngstrom", opFocus, "margin", camera.MarginAngstrom)
	for name, v := range map[string][3]float64{"direction": camera.Direction, "up": camera.Up} {
		if length := math.Sqrt(dot(v, v)); !(math.Abs(length-1) <= maxTurn) {
			c.fail(at+"camera."+name, "expected a direction of length 1, got %v", v)
		}
	}
	if !(math.Abs(dot(camera.Direction, camera.Up)) <= maxTurn) {
		c.fail(at+"camera.up", "expected a right angle to the direction")
	}
	if !(camera.Zoom >= leastZoom && camera.Zoom <= mostZoom) {
		c.fail(at+"camera.zoom", "expected a number from %g to %g, got %g", leastZoom, mostZoom, camera.Zoom)
	}
	c.color(at+"canvas.color", m.Canvas.Color)
	if spin := m.Canvas.Spin; spin != nil {
		c.oneOf(at+"canvas.spin.mode", spin.Mode, "spin", "rock")
		c.argument(at+"canvas.spin.axis", opSpin, "axis", spin.Axis)
		c.argument(at+"canvas.spin.speed", opSpin, "speed", spin.Speed)
	}
	if clip := m.Clip; clip != nil {
		c.oneOf(at+"clip.mode", clip.Mode, "front", "slab")
		c.optionalSel(at+"clip.through", clip.Through)
		if clip.Mode == "slab" || clip.ThicknessAngstrom != 0 {
			c.argument(at+"clip.thickness", opClip, "thickness", clip.ThicknessAngstrom)
		}
	}
}

// Sources are the structures and maps of a model and of its snapshots, each once, in their order.
func (m Model) Sources() []string {
	var sources []string
	add := func(source string) {
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	for _, s := range m.Structures {
		add(s.Source)
	}
	for _, v := range m.Volumes {
		add(v.Source)
	}
	for _, snapshot := range m.Snapshots {
		for _, source := range snapshot.Scene.Sources() {
			add(source)
		}
	}
	return sources
}

// IsPublic tells whether anybody can get what a source names: entries of public databases.
func IsPublic(source string) bool {
	return strings.HasPrefix(source, "pdb:") || strings.HasPrefix(source, "alphafold:")
}
