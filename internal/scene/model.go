package scene

import (
	"maps"
	"slices"
)

// Model is a scene: what is drawn, how, and from where. It is a value that goes to JSON and back; nothing changes one that was
// given away. Selections in it are canonical and are resolved anew where they are needed.
type Model struct {
	Structures   []Shown             `json:"structures"`
	Layers       []Layer             `json:"layers"`
	Paints       []Paint             `json:"paints,omitempty"`
	Highlights   []Highlighted       `json:"highlights,omitempty"`
	Labels       []Labelled          `json:"labels,omitempty"`
	Measurements []Measurement       `json:"measurements,omitempty"`
	Interactions []InteractionsShown `json:"interactions,omitempty"`
	Volumes      []VolumeShown       `json:"volumes,omitempty"`
	Camera       Camera              `json:"camera"`
	Canvas       Canvas              `json:"canvas"`
	Clip         *Clip               `json:"clip,omitempty"`
	Snapshots    []Snapshot          `json:"snapshots,omitempty"`
	// Last is the selection of the last operation that had one: what "it" means.
	Last string `json:"last,omitempty"`
	// Names are the selections that the session has named.
	Names map[string]string `json:"names,omitempty"`
	// NextID numbers what is added. It never goes back, so that a ref never means something else.
	NextID int `json:"nextId"`
}

// Shown is a structure of the scene: by its source, and which assembly or model of it.
type Shown struct {
	ID        string `json:"id"`
	Source    string `json:"source"`
	Assembly  string `json:"assembly,omitempty"`
	Model     int    `json:"model,omitempty"` // its place among the file's, from 1; 0 for the first
	AllModels bool   `json:"allModels,omitempty"`
}

// Layer draws atoms of one structure in one representation.
type Layer struct {
	ID        string  `json:"id"`
	Structure int     `json:"structure"` // its place in Structures
	Sel       string  `json:"sel"`
	As        string  `json:"as"`
	Type      string  `json:"type,omitempty"` // of a surface: molecular or gaussian
	Opacity   float64 `json:"opacity"`
	// Style is "illustrative" for flat colours without light, else "".
	Style string `json:"style,omitempty"`
}

// Paint colours atoms wherever they are drawn, or in one representation. Later paints lie on earlier ones; what no paint covers has
// the representation's own colours: chains, and elements where atoms are seen.
type Paint struct {
	Sel         string `json:"sel"`
	As          string `json:"as,omitempty"`
	Color       string `json:"color,omitempty"`
	By          string `json:"by,omitempty"`
	Palette     string `json:"palette,omitempty"`
	CarbonsOnly bool   `json:"carbonsOnly,omitempty"`
}

// Highlighted are atoms that are drawn once more, in a colour.
type Highlighted struct {
	ID        string `json:"id"`
	Structure int    `json:"structure"`
	Sel       string `json:"sel"`
	Color     string `json:"color"`
}

// Labelled are atoms with a text beside each atom, residue, chain, or all of them. Text "" is their name.
type Labelled struct {
	ID        string  `json:"id"`
	Structure int     `json:"structure"`
	Sel       string  `json:"sel"`
	Level     string  `json:"level"`
	Text      string  `json:"text,omitempty"`
	Size      float64 `json:"size"` // relative to the usual one
	Color     string  `json:"color,omitempty"`
}

// Measurement is a distance between two places of a structure, or the angle at the second of three. A place is the middle of its
// atoms.
type Measurement struct {
	ID        string   `json:"id"`
	Structure int      `json:"structure"`
	Kind      string   `json:"kind"`
	Between   []string `json:"between"`
}

// InteractionsShown are the contacts between atoms and others that are drawn.
type InteractionsShown struct {
	ID        string   `json:"id"`
	Structure int      `json:"structure"`
	Of        string   `json:"of"`
	With      string   `json:"with,omitempty"`  // "" is everything else
	Types     []string `json:"types,omitempty"` // nil is all
	Labels    bool     `json:"labels,omitempty"`
}

// VolumeShown is an isosurface of a map, perhaps only around atoms.
type VolumeShown struct {
	ID             string  `json:"id"`
	Source         string  `json:"source"`
	Isovalue       float64 `json:"isovalue"`
	Absolute       bool    `json:"absolute,omitempty"` // else in standard deviations
	Style          string  `json:"style"`              // mesh or surface
	Color          string  `json:"color"`
	Around         string  `json:"around,omitempty"`
	RadiusAngstrom float64 `json:"radiusAngstrom,omitempty"`
}

// Camera looks along Direction at atoms, at everything where Sel is "". Zoom of 2 is twice as near.
type Camera struct {
	Sel            string     `json:"sel,omitempty"`
	MarginAngstrom float64    `json:"marginAngstrom,omitempty"`
	Direction      [3]float64 `json:"direction"`
	Up             [3]float64 `json:"up"`
	Zoom           float64    `json:"zoom"`
}

// Canvas is what is around the scene, and how it moves while it is looked at.
type Canvas struct {
	Color       string  `json:"color"`
	Transparent bool    `json:"transparent,omitempty"` // in renders
	Effects     Effects `json:"effects"`
	Spin        *Spin   `json:"spin,omitempty"`
}

// Snapshot is a scene that was kept.
type Snapshot struct {
	Title string `json:"title"`
	Scene Model  `json:"scene"` // without snapshots
}

// The camera looks from the front at first, as the renderer does.
var (
	frontDirection = [3]float64{0, 0, -1}
	frontUp        = [3]float64{0, 1, 0}
)

const (
	defaultBackground     = "white"
	defaultHighlight      = "yellow"
	defaultMarginAngstrom = 3.0
)

// NewModel is the scene of a session that has loaded nothing.
func NewModel() Model {
	return Model{Camera: frontCamera(), Canvas: Canvas{Color: defaultBackground}, NextID: 1}
}

func frontCamera() Camera { return Camera{Direction: frontDirection, Up: frontUp, Zoom: 1} }

// clone is a model whose lists may be changed. What they hold is replaced, never changed.
func (m Model) clone() Model {
	m.Structures, m.Layers, m.Paints = slices.Clone(m.Structures), slices.Clone(m.Layers), slices.Clone(m.Paints)
	m.Highlights, m.Labels = slices.Clone(m.Highlights), slices.Clone(m.Labels)
	m.Measurements, m.Interactions = slices.Clone(m.Measurements), slices.Clone(m.Interactions)
	m.Volumes, m.Snapshots, m.Names = slices.Clone(m.Volumes), slices.Clone(m.Snapshots), maps.Clone(m.Names)
	return m
}

// Files are what scenes are made from, by their sources ("pdb:1CBS").
type Files map[string]File

// File is a structure, or a map when Structure is nil, and where a viewer finds it.
type File struct {
	Structure *Structure
	URL       string
	Format    string // of MolViewSpec: mmcif, bcif, pdb, map, …; "" is the structure's own
}
