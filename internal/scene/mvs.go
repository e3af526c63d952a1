package scene

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/internal/mol"
)

// CompileOptions say what a model does not.
type CompileOptions struct {
	Title string
	Made  time.Time // when the document is written
	// Transition is how long a viewer takes from the camera before to this one; 0 jumps.
	Transition time.Duration
	// Snapshots puts the scenes that were kept before the one that is seen.
	Snapshots bool
	// Carry puts the model itself into the document, from which ReadDocument reads it.
	Carry bool
}

// The tree is written for version 1 of the format. A state of several is shown this long.
const (
	formatVersion = "1"
	lingerMs      = 5000
)

// Compile writes a model as MolViewSpec. Refs are the ids of layers, so that a viewer keeps what did not change. The files hold
// every structure and map of the scene; their addresses stand in the document, and none may be signed. Errors: *MissingError,
// *AddressError.
func Compile(m Model, files Files, options CompileOptions) ([]byte, error) {
	document := view{Kind: "single", Metadata: viewMeta{formatVersion, options.Made.UTC().Format(time.RFC3339), options.Title}}
	if err := m.checkAddresses(files); err != nil {
		return nil, err
	}
	state, err := stateOf(m, files)
	if err != nil {
		return nil, err
	}
	if options.Carry {
		model, err := m.carry(files)
		if err != nil {
			return nil, err
		}
		state.Root.Custom = map[string]any{customKey: model}
	}
	state.Metadata = stateMeta{Title: options.Title, LingerMs: lingerMs, TransitionMs: options.Transition.Milliseconds()}
	kept := options.Snapshots && len(m.Snapshots) > 0
	if !kept && state.Animation == nil && options.Transition == 0 { // one state has neither a camera's way nor a turning scene
		document.Root = state.Root
		return json.Marshal(document)
	}
	document.Kind = "multiple"
	if kept {
		for i, snapshot := range m.Snapshots {
			one, err := stateOf(snapshot.Scene, files)
			if err != nil {
				return nil, err
			}
			one.Metadata = stateMeta{Key: "snapshot-" + strconv.Itoa(i+1), Title: snapshot.Title, LingerMs: lingerMs,
				TransitionMs: options.Transition.Milliseconds()}
			document.Snapshots = append(document.Snapshots, one)
		}
	}
	document.Snapshots = append(document.Snapshots, state)
	return json.Marshal(document)
}

// compiler is a model that is being written.
type compiler struct {
	Model
	files  Files
	tables []*Table // of the structure that is being written, the model that is being written
	sets   map[inTable]Set
}

// inTable is a selection in one model of a structure.
type inTable struct {
	table *Table
	query string
}

func newCompiler(m Model, files Files, tables []*Table) *compiler {
	return &compiler{m, files, tables, map[inTable]Set{}}
}

func stateOf(m Model, files Files) (viewState, error) {
	tables, err := m.tablesOf(files)
	if err != nil {
		return viewState{}, err
	}
	c := newCompiler(m, files, tables)
	root := &treeNode{Kind: "root"}
	for i := range m.Structures {
		c.structure(root, i)
	}
	for _, v := range m.Volumes {
		if err := c.volume(root, v); err != nil {
			return viewState{}, err
		}
	}
	if m.Camera.Sel == "" {
		root.under(&treeNode{Kind: "focus", Params: c.focusParams()})
	}
	if effects := m.Canvas.Effects; effects.Axes != nil && *effects.Axes && len(tables) > 0 {
		root.under(c.axes())
	}
	root.under(c.canvas())
	return viewState{Root: root, Animation: c.animation()}, nil
}

// formats are the format's names of those that structures are read from.
var formats = map[string]string{mol.FormatPDB: "pdb", mol.FormatMMCIF: "mmcif", mol.FormatPDBQT: "pdbqt"}

// structure writes a structure and all that hangs on it, for each model that is shown.
func (c *compiler) structure(root *treeNode, i int) {
	shown := c.Structures[i]
	file := c.files[shown.Source]
	parsed := root.under(&treeNode{Kind: "download", Ref: shown.ID + "-file", Params: map[string]any{"url": file.URL}}).
		under(&treeNode{Kind: "parse", Params: map[string]any{"format": file.format()}})
	first, last := max(shown.Model, 1), max(shown.Model, 1)
	if shown.AllModels {
		first, last = 1, len(file.Structure.tables)
	}
	for model := first; model <= last; model++ {
		c.tables[i] = file.Structure.shown(shown, model)
		params := map[string]any{"type": "model"}
		if shown.Assembly != "" {
			params = map[string]any{"type": "assembly", "assembly_id": shown.Assembly}
		}
		suffix := ""
		if model > 1 {
			params["model_index"] = model - 1
			suffix = "-model-" + strconv.Itoa(model)
		}
		c.contents(parsed.under(&treeNode{Kind: "structure", Ref: shown.ID + suffix, Params: params}), i, suffix)
	}
	c.tables[i] = file.Structure.shown(shown, shown.Model)
}

// contents writes what is shown of a structure. What is added later comes later, so that the refs before it stay.
func (c *compiler) contents(structure *treeNode, i int, suffix string) {
	for _, l := range c.Layers {
		if l.Structure == i {
			c.layer(structure, l, suffix)
		}
	}
	for _, h := range c.Highlights {
		if h.Structure == i {
			c.highlight(structure, h, suffix)
		}
	}
	for _, l := range c.Labels {
		if l.Structure == i {
			c.labels(structure, l, suffix)
		}
	}
	for _, m := range c.Measurements {
		if m.Structure == i {
			structure.under(c.measurement(m, suffix))
		}
	}
	for _, shown := range c.Interactions {
		if shown.Structure == i {
			c.contacts(structure, shown, suffix)
		}
	}
	if c.Camera.Sel != "" && suffix == "" {
		if set := c.set(i, c.Camera.Sel); !set.isEmpty() {
			selector := map[string]any{"selector": c.tables[i].firstSelector(set)}
			structure.under(&treeNode{Kind: "component", Ref: "focus", Params: selector}).
				under(&treeNode{Kind: "focus", Params: c.focusParams()})
		}
	}
}

// set are the atoms of a selection, which is resolved once.
func (c *compiler) set(structure int, query string) Set {
	key := inTable{c.tables[structure], query}
	found, known := c.sets[key]
	if !known {
		found = key.table.resolveText(query)
		c.sets[key] = found
	}
	return found
}

func (c *compiler) component(structure *treeNode, i int, set Set, ref string) *treeNode {
	return structure.under(&treeNode{Kind: "component", Ref: ref, Params: map[string]any{"selector": c.tables[i].selector(set)}})
}

// layer writes a layer; in a model where it means nothing there is none.
func (c *compiler) layer(structure *treeNode, l Layer, suffix string) {
	set := c.set(l.Structure, l.Sel)
	if set.isEmpty() {
		return
	}
	ref := l.ID + suffix
	look := c.component(structure, l.Structure, set, ref).under(representation(l, ref+"-look"))
	look.Children = append(look.Children, c.colors(l, set)...)
	if l.Opacity != 1 {
		look.under(&treeNode{Kind: "opacity", Params: map[string]any{"opacity": l.Opacity}})
	}
	if !c.isLookedAt(l.Structure, set) {
		look.Children = append(look.Children, c.clips()...)
	}
}

// isLookedAt tells what a clip passes through: it is what is to be seen, and stays whole.
func (c *compiler) isLookedAt(structure int, set Set) bool {
	return c.Clip != nil && c.Clip.Through != "" && c.set(structure, c.Clip.Through).covers(set)
}

// The radius of sticks, as a part of the atoms' size.
const stickSize = 0.25

// representation is how a layer is drawn. The format has no sticks: they are balls as thin as their bonds.
func representation(l Layer, ref string) *treeNode {
	n := &treeNode{Kind: "representation", Ref: ref, Params: map[string]any{"type": l.As}}
	switch l.As {
	case "stick":
		n.Params["type"] = "ball_and_stick"
		n.Custom = map[string]any{"molstar_representation_params": map[string]any{"sizeAspectRatio": 1, "sizeFactor": stickSize}}
	case "surface":
		n.Params["surface_type"] = surfaceType(l.Type, 0)
	case "putty":
		n.Params["size_theme"] = "uncertainty"
	}
	if l.Style == "illustrative" {
		n.Custom = map[string]any{"molstar_representation_params": map[string]any{"ignoreLight": true}}
	}
	return n
}

// Highlights are a little larger than what they lie on.
const highlightSize = 1.3

func (c *compiler) highlight(structure *treeNode, h Highlighted, suffix string) {
	set := c.set(h.Structure, h.Sel)
	if set.isEmpty() {
		return
	}
	look := c.component(structure, h.Structure, set, h.ID+suffix).under(&treeNode{Kind: "representation",
		Ref: h.ID + suffix + "-look", Params: map[string]any{"type": "ball_and_stick", "size_factor": highlightSize}})
	look.under(&treeNode{Kind: "color", Params: map[string]any{"color": h.Color}})
}

// The sizes of texts, in Å.
const (
	labelAngstrom       = 1.5
	measurementAngstrom = 1.2
	tubeAngstrom        = 0.06
	dashAngstrom        = 0.25
)

// labels writes texts: as labels of components, or as primitives where their size or colour is asked for, which labels do not have.
func (c *compiler) labels(structure *treeNode, l Labelled, suffix string) {
	t := c.tables[l.Structure]
	list := t.labelled(c.set(l.Structure, l.Sel), l.Level)
	if len(list) == 0 {
		return
	}
	list = list[:min(len(list), maxLabels)]                // a model from elsewhere may ask for more
	plain := l.Size == 1 && l.Color == "" && !t.repeated() // of what is there several times the viewer labels the middle
	var shapes *treeNode
	if !plain {
		params := map[string]any{}
		if l.Color != "" {
			params["label_color"] = l.Color
		}
		shapes = structure.under(&treeNode{Kind: "primitives", Ref: l.ID + suffix, Params: params})
	}
	for _, one := range list {
		text := one.text
		if l.Text != "" {
			text = l.Text
		}
		if plain { // without a ref: then the viewer makes one object of all labels
			c.component(structure, l.Structure, one.set, "").under(&treeNode{Kind: "label", Params: map[string]any{"text": text}})
			continue
		}
		shapes.under(&treeNode{Kind: "primitive", Params: map[string]any{
			"kind": "label", "position": t.middle(one.set), "text": text, "label_size": labelAngstrom * l.Size,
		}})
	}
}

// measurement writes a distance or an angle between the middles of places.
func (c *compiler) measurement(m Measurement, suffix string) *treeNode {
	var places [][3]float64
	for _, query := range m.Between {
		places = append(places, c.tables[m.Structure].middle(c.set(m.Structure, query)))
	}
	params := map[string]any{"kind": "distance_measurement", "label_size": measurementAngstrom}
	if m.Kind == "angle" {
		params["kind"] = "angle_measurement"
		params["a"], params["b"], params["c"] = places[0], places[1], places[2]
	} else {
		params["start"], params["end"] = places[0], places[1]
		params["radius"], params["dash_length"] = tubeAngstrom, dashAngstrom
	}
	shapes := &treeNode{Kind: "primitives", Ref: m.ID + suffix}
	shapes.under(&treeNode{Kind: "primitive", Params: params})
	return shapes
}

// volume writes an isosurface, cut to a box around atoms where it is asked for.
func (c *compiler) volume(root *treeNode, v VolumeShown) error {
	file, ok := c.files[v.Source]
	if !ok {
		return &MissingError{v.Source}
	}
	params := map[string]any{"type": "isosurface", "show_wireframe": v.Style == "mesh", "show_faces": v.Style != "mesh"}
	if v.Absolute {
		params["absolute_isovalue"] = v.Isovalue
	} else {
		params["relative_isovalue"] = v.Isovalue
	}
	look := root.under(&treeNode{Kind: "download", Params: map[string]any{"url": file.URL}}).
		under(&treeNode{Kind: "parse", Params: map[string]any{"format": file.format()}}).
		under(&treeNode{Kind: "volume", Ref: v.ID}).
		under(&treeNode{Kind: "volume_representation", Ref: v.ID + "-look", Params: params})
	look.under(&treeNode{Kind: "color", Params: map[string]any{"color": v.Color}})
	if low, high, ok := c.box(v.Around, v.RadiusAngstrom); ok {
		look.under(&treeNode{Kind: "clip", Params: map[string]any{"type": "box", "center": times(plus(low, high), 0.5),
			"size": minus(high, low), "invert": true}})
	}
	return nil
}

// box holds atoms of all structures with a margin; ok is false where none are meant.
func (c *compiler) box(query string, margin float64) (low, high [3]float64, ok bool) {
	if query == "" {
		return low, high, false
	}
	for i, t := range c.tables {
		from, to, found := t.extent(c.set(i, query))
		switch {
		case !found:
		case !ok:
			low, high, ok = from, to, true
		default:
			for k := range from {
				low[k], high[k] = min(low[k], from[k]), max(high[k], to[k])
			}
		}
	}
	edge := [3]float64{margin, margin, margin}
	return minus(low, edge), plus(high, edge), ok
}
