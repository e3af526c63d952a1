package scene

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Operation is one step of an answer. Its JSON is {"op": …, "args": {…}}; the schema is Schema.
type Operation struct {
	Op   string
	Args Args
}

// Args are the arguments of an operation: one of the types of this file, by value. A nil pointer stands for an argument that is
// not given.
type Args interface{ op() string }

// Do is the operation with these arguments.
func Do(args Args) Operation { return Operation{Op: args.op(), Args: args} }

// The names of the operations.
const (
	opLoad         = "load"
	opStructure    = "structure"
	opSelect       = "select"
	opShow         = "show"
	opHide         = "hide"
	opIsolate      = "isolate"
	opColor        = "color"
	opOpacity      = "opacity"
	opSurface      = "surface"
	opLabel        = "label"
	opHighlight    = "highlight"
	opPocket       = "pocket"
	opInteractions = "interactions"
	opMeasure      = "measure"
	opClear        = "clear"
	opFocus        = "focus"
	opZoom         = "zoom"
	opOrient       = "orient"
	opSpin         = "spin"
	opBackground   = "background"
	opEffects      = "effects"
	opClip         = "clip"
	opPreset       = "preset"
	opVolume       = "volume"
	opUndo         = "undo"
	opRedo         = "redo"
	opReset        = "reset"
	opSnapshot     = "snapshot"
	opRender       = "render"
	opExport       = "export"
	opDescribe     = "describe"
	opAsk          = "ask"
	opRefuse       = "refuse"
)

// Load brings a structure in: "pdb:1CBS", "alphafold:P04637", "pose:ID", "run:ID", "upload:STORAGE KEY", "artifact:ID",
// "frame:JOB/FILE", "project:ID", "project:ID@VERSION", or "file:NAME" of an archive that was read. Add keeps those that are there.
type Load struct {
	Source string `json:"source"`
	Add    bool   `json:"add,omitempty"`
}

// ChooseStructure chooses an assembly ("deposited" for the atoms as the file has them), a model (from 1), or all models.
type ChooseStructure struct {
	Assembly  string `json:"assembly,omitempty"`
	Model     int    `json:"model,omitempty"`
	AllModels *bool  `json:"all_models,omitempty"`
}

// Select makes a selection what "it" means from now on, perhaps with a name.
type Select struct {
	Sel  string `json:"sel"`
	Name string `json:"name,omitempty"`
}

// Show draws atoms; As "" chooses by kind. Add keeps what they are drawn as.
type Show struct {
	Sel string `json:"sel"`
	As  string `json:"as,omitempty"`
	Add bool   `json:"add,omitempty"`
}

// Hide takes atoms out of the picture, or out of one representation.
type Hide struct {
	Sel string `json:"sel"`
	As  string `json:"as,omitempty"`
}

// Isolate hides everything else.
type Isolate struct {
	Sel string `json:"sel"`
}

// Color paints atoms with a colour or by a property; exactly one is given. As restricts it to a representation.
type Color struct {
	Sel         string `json:"sel"`
	Color       string `json:"color,omitempty"`
	By          string `json:"by,omitempty"`
	Palette     string `json:"palette,omitempty"`
	As          string `json:"as,omitempty"`
	CarbonsOnly bool   `json:"carbons_only,omitempty"`
}

// Opacity sets how opaque atoms are drawn, 0 to 1.
type Opacity struct {
	Sel   string  `json:"sel"`
	Value float64 `json:"value"`
	As    string  `json:"as,omitempty"`
}

// Surface adds a surface: "molecular" or "gaussian".
type Surface struct {
	Sel     string   `json:"sel"`
	Type    string   `json:"type,omitempty"`
	Opacity *float64 `json:"opacity,omitempty"`
	Color   string   `json:"color,omitempty"`
	By      string   `json:"by,omitempty"`
}

// Label writes beside each atom, residue or chain, or once beside all ("component"). Size is relative to the usual one.
type Label struct {
	Sel   string  `json:"sel"`
	Level string  `json:"level"`
	Text  string  `json:"text,omitempty"`
	Size  float64 `json:"size,omitempty"`
	Color string  `json:"color,omitempty"`
}

// Highlight draws atoms once more in a colour, yellow unless it is given.
type Highlight struct {
	Sel   string `json:"sel"`
	Color string `json:"color,omitempty"`
}

// Pocket shows the residues of proteins within Radius Å (5) of atoms, and looks at them.
type Pocket struct {
	Of      string  `json:"of"`
	Radius  float64 `json:"radius,omitempty"`
	As      string  `json:"as,omitempty"`
	Labels  bool    `json:"labels,omitempty"`
	Surface bool    `json:"surface,omitempty"`
}

// Interactions draws non-covalent contacts; With "" is everything else, Types nil all types.
type Interactions struct {
	Of     string   `json:"of"`
	With   string   `json:"with,omitempty"`
	Types  []string `json:"types,omitempty"`
	Labels *bool    `json:"labels,omitempty"`
}

// Measure draws a distance between two places or an angle between three.
type Measure struct {
	Kind    string   `json:"kind"`
	Between []string `json:"between"`
}

// Clear drops what was added to the picture, all of it or what concerns a selection.
type Clear struct {
	What string `json:"what"`
	Sel  string `json:"sel,omitempty"`
}

// Focus looks at atoms, with a margin in Å (3).
type Focus struct {
	Sel    string   `json:"sel"`
	Margin *float64 `json:"margin,omitempty"`
}

// Zoom brings the camera nearer (more than 1) or farther.
type Zoom struct {
	Factor float64 `json:"factor"`
}

// Orient turns the scene to a view, or by degrees about an axis of the screen: x to the right, y up, z to the viewer.
type Orient struct {
	View    string   `json:"view,omitempty"`
	Axis    string   `json:"axis,omitempty"`
	Degrees *float64 `json:"degrees,omitempty"`
}

// Spin lets the scene turn ("spin") or swing ("rock") while it is looked at.
type Spin struct {
	Mode  string `json:"mode"`
	Axis  string `json:"axis,omitempty"`
	Speed string `json:"speed,omitempty"`
}

// Background sets what is behind the scene; exactly one is given. Only renders can be transparent.
type Background struct {
	Color       string `json:"color,omitempty"`
	Transparent *bool  `json:"transparent,omitempty"`
}

// Effects turns effects on or off; those that are nil stay.
type Effects struct {
	Outline      *bool `json:"outline,omitempty"`
	Shadow       *bool `json:"shadow,omitempty"`
	Occlusion    *bool `json:"occlusion,omitempty"`
	Fog          *bool `json:"fog,omitempty"`
	DepthOfField *bool `json:"depth_of_field,omitempty"`
	Axes         *bool `json:"axes,omitempty"`
}

// Clip cuts away what is before a plane through atoms ("front"), or all but a slab around them, ThicknessAngstrom thick.
type Clip struct {
	Mode              string  `json:"mode"`
	Through           string  `json:"through,omitempty"`
	ThicknessAngstrom float64 `json:"thickness,omitempty"`
}

// Preset is a list of other operations under one name.
type Preset struct {
	Name string `json:"name"`
	Sel  string `json:"sel,omitempty"`
}

// Volume draws an isosurface of a map of the account, perhaps only within Radius Å of atoms.
type Volume struct {
	Source   string   `json:"source"`
	Isovalue *float64 `json:"isovalue,omitempty"`
	Scale    string   `json:"scale,omitempty"`
	Style    string   `json:"style,omitempty"`
	Color    string   `json:"color,omitempty"`
	Around   string   `json:"around,omitempty"`
	Radius   float64  `json:"radius,omitempty"`
}

// Undo goes back among the scenes of a session, a step unless more are given.
type Undo struct {
	Steps int `json:"steps,omitempty"`
}

// Redo goes forth to what was undone.
type Redo struct {
	Steps int `json:"steps,omitempty"`
}

// Reset goes back to the first "camera", "scene" or "colors".
type Reset struct {
	What string `json:"what"`
}

// TakeSnapshot keeps the scene as it is.
type TakeSnapshot struct {
	Title string `json:"title,omitempty"`
}

// Render asks for a picture or a film. It changes no scene.
type Render struct {
	Engine      string     `json:"engine,omitempty"`
	Width       int        `json:"width,omitempty"`
	Height      int        `json:"height,omitempty"`
	Format      string     `json:"format,omitempty"`
	Transparent *bool      `json:"transparent,omitempty"`
	Turntable   *Turntable `json:"turntable,omitempty"`
	Samples     int        `json:"samples,omitempty"`
}

// Turntable is a film of the scene turning once.
type Turntable struct {
	Seconds float64 `json:"seconds,omitempty"`
	FPS     int     `json:"fps,omitempty"`
	Frames  int     `json:"frames,omitempty"`
}

// Export asks for the scene as a file: "mvsj" or "mvsx". It changes no scene.
type Export struct {
	Format string `json:"format"`
}

// Describe asks for words about the structure or the scene. It changes no scene.
type Describe struct {
	About   string   `json:"about"`
	Sel     string   `json:"sel,omitempty"`
	Between []string `json:"between,omitempty"`
}

// Ask asks back instead of guessing.
type Ask struct {
	About   string   `json:"about"`
	Choices []string `json:"choices,omitempty"`
}

// Refuse says why nothing was done, and what can be done instead.
type Refuse struct {
	Reason      string `json:"reason"`
	Feature     string `json:"feature"`
	Alternative string `json:"alternative,omitempty"`
}

func (Load) op() string            { return opLoad }
func (ChooseStructure) op() string { return opStructure }
func (Select) op() string          { return opSelect }
func (Show) op() string            { return opShow }
func (Hide) op() string            { return opHide }
func (Isolate) op() string         { return opIsolate }
func (Color) op() string           { return opColor }
func (Opacity) op() string         { return opOpacity }
func (Surface) op() string         { return opSurface }
func (Label) op() string           { return opLabel }
func (Highlight) op() string       { return opHighlight }
func (Pocket) op() string          { return opPocket }
func (Interactions) op() string    { return opInteractions }
func (Measure) op() string         { return opMeasure }
func (Clear) op() string           { return opClear }
func (Focus) op() string           { return opFocus }
func (Zoom) op() string            { return opZoom }
func (Orient) op() string          { return opOrient }
func (Spin) op() string            { return opSpin }
func (Background) op() string      { return opBackground }
func (Effects) op() string         { return opEffects }
func (Clip) op() string            { return opClip }
func (Preset) op() string          { return opPreset }
func (Volume) op() string          { return opVolume }
func (Undo) op() string            { return opUndo }
func (Redo) op() string            { return opRedo }
func (Reset) op() string           { return opReset }
func (TakeSnapshot) op() string    { return opSnapshot }
func (Render) op() string          { return opRender }
func (Export) op() string          { return opExport }
func (Describe) op() string        { return opDescribe }
func (Ask) op() string             { return opAsk }
func (Refuse) op() string          { return opRefuse }

// kinds are the operations, each with arguments that say nothing.
var kinds = []Args{
	Load{}, ChooseStructure{}, Select{}, Show{}, Hide{}, Isolate{}, Color{}, Opacity{}, Surface{}, Label{}, Highlight{}, Pocket{},
	Interactions{}, Measure{}, Clear{}, Focus{}, Zoom{}, Orient{}, Spin{}, Background{}, Effects{}, Clip{}, Preset{}, Volume{},
	Undo{}, Redo{}, Reset{}, TakeSnapshot{}, Render{}, Export{}, Describe{}, Ask{}, Refuse{},
}

// form is an operation as JSON has it.
type form struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args"`
}

// MarshalJSON writes {"op": …, "args": {…}}.
func (o Operation) MarshalJSON() ([]byte, error) {
	args, err := json.Marshal(o.Args)
	if err != nil {
		return nil, fmt.Errorf("write operation %s: %w", o.Op, err)
	}
	return json.Marshal(form{o.Op, args})
}

// UnmarshalJSON reads what MarshalJSON writes. It checks no more than that the operation exists; Parse checks the rest.
func (o *Operation) UnmarshalJSON(text []byte) error {
	var f form
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("read an operation: %w", err)
	}
	for _, kind := range kinds {
		if kind.op() != f.Op {
			continue
		}
		args := reflect.New(reflect.TypeOf(kind))
		if err := json.Unmarshal(f.Args, args.Interface()); err != nil {
			return fmt.Errorf("read operation %s: %w", f.Op, err)
		}
		o.Op, o.Args = f.Op, args.Elem().Interface().(Args)
		return nil
	}
	return fmt.Errorf("there is no operation %.40q", f.Op)
}
