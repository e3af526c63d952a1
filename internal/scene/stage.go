package scene

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// load brings a structure in, in its default view. Without Add the scene begins anew.
func (a *applier) load(args Load) error {
	file, ok := a.files[args.Source]
	if !ok || file.Structure == nil {
		return &MissingError{args.Source}
	}
	if !args.Add {
		next := a.NextID
		a.Model = NewModel()
		a.NextID = next
	}
	a.Structures = append(a.Structures, Shown{ID: a.id("structure"), Source: args.Source})
	a.tables = nil
	if err := a.findTables(); err != nil {
		return err
	}
	i := len(a.Structures) - 1
	a.defaultView(i)
	a.Last, a.outcome.Text = "", a.structure(i).headline()
	return nil
}

// chooseStructure chooses an assembly or a model of the structures that have it.
func (a *applier) chooseStructure(args ChooseStructure) error {
	if err := a.needStructure(); err != nil {
		return err
	}
	found := false
	var offered []string
	for i := range a.Structures {
		s, shown := a.structure(i), &a.Structures[i]
		switch {
		case args.Assembly == deposited:
			shown.Assembly, found = "", true
		case args.Assembly != "":
			offered = append(offered, s.Assemblies...)
			if slices.Contains(s.Assemblies, args.Assembly) {
				shown.Assembly, found = args.Assembly, true
			}
		case args.Model > 0:
			offered = append(offered, fmt.Sprintf("1-%d", len(s.tables)))
			if args.Model <= len(s.tables) {
				shown.Model, shown.AllModels, found = args.Model, false, true
			}
		default:
			shown.AllModels, found = args.AllModels != nil && *args.AllModels, true
			if len(s.tables) == 1 {
				a.warn("%s has one model", shown.Source)
			}
		}
	}
	if !found && args.Assembly != "" {
		return refusal(notFound, "assembly "+args.Assembly, offer("assemblies", offered))
	}
	if !found {
		return refusal(notFound, "model "+strconv.Itoa(args.Model), offer("models", offered))
	}
	a.tables = nil
	if err := a.findTables(); err != nil {
		return err
	}
	var texts []string
	for i, shown := range a.Structures {
		if args.Assembly != "" && shown.Assembly == args.Assembly {
			texts = append(texts, a.assembled(i))
		}
	}
	a.outcome.Text = strings.Join(texts, " ")
	return nil
}

func offer(what string, choices []string) string {
	if len(choices) == 0 {
		return "the file has no " + what
	}
	return what + " " + strings.Join(choices, ", ")
}

// The isosurface of a map where nobody says how: one and a half standard deviations, as a mesh.
const (
	defaultIsovalue, defaultVolumeStyle, defaultVolumeColor = 1.5, "mesh", "steelblue"
	defaultVolumeAngstrom                                   = 5.0
)

// volume draws a map that is among the files.
func (a *applier) volume(args Volume) error {
	if err := checkColor(args.Color); err != nil {
		return err
	}
	file, ok := a.files[args.Source]
	if !ok || file.Structure != nil {
		return refusal(needsData, "map "+args.Source, "upload the map and name its file")
	}
	v := VolumeShown{
		ID: a.id("volume"), Source: args.Source, Isovalue: defaultIsovalue, Absolute: args.Scale == "absolute",
		Style: defaultVolumeStyle, Color: defaultVolumeColor,
	}
	if args.Isovalue != nil {
		v.Isovalue = *args.Isovalue
	}
	if args.Style != "" {
		v.Style = args.Style
	}
	if args.Color != "" {
		v.Color = args.Color
	}
	if args.Around != "" {
		if err := a.needStructure(); err != nil {
			return err
		}
		query, _, err := a.meant(args.Around)
		if err != nil {
			return err
		}
		v.Around, v.RadiusAngstrom = query, args.Radius
		if args.Radius == 0 {
			v.RadiusAngstrom = defaultVolumeAngstrom
		}
	}
	a.Volumes = append(a.Volumes, v)
	return nil
}

// reset goes back to the first camera, the first scene or the first colours.
func (a *applier) reset(args Reset) error {
	switch args.What {
	case "camera":
		a.Camera = frontCamera()
	case "colors":
		a.Paints = nil
	default:
		structures, next, snapshots, names := a.Structures, a.NextID, a.Snapshots, a.Names
		a.Model = NewModel()
		a.Structures, a.NextID, a.Snapshots, a.Names = structures, next, snapshots, names
		if len(structures) == 0 {
			return nil
		}
		if err := a.findTables(); err != nil {
			return err
		}
		for i := range structures {
			a.defaultView(i)
		}
	}
	return nil
}

// snapshot keeps the scene as it is.
func (a *applier) snapshot(args TakeSnapshot) error {
	if err := a.needStructure(); err != nil {
		return err
	}
	scene := a.Model.clone()
	scene.Snapshots = nil
	title := args.Title
	if title == "" {
		title = fmt.Sprintf("View %d", len(a.Snapshots)+1)
	}
	a.Snapshots = append(a.Snapshots, Snapshot{title, scene})
	return nil
}

func (a *applier) background(args Background) error {
	if args.Transparent != nil {
		a.Canvas.Transparent = *args.Transparent
		if *args.Transparent {
			a.warn("the background is transparent in renders; a viewer keeps its colour")
		}
		return nil
	}
	a.Canvas.Color, a.Canvas.Transparent = args.Color, false
	return checkColor(args.Color)
}

// with are effects changed by others: what these leave open stays.
func (e Effects) with(other Effects) Effects {
	for _, pair := range []struct{ to, from **bool }{
		{&e.Outline, &other.Outline}, {&e.Shadow, &other.Shadow}, {&e.Occlusion, &other.Occlusion}, {&e.Fog, &other.Fog},
		{&e.DepthOfField, &other.DepthOfField}, {&e.Axes, &other.Axes},
	} {
		if *pair.from != nil {
			*pair.to = *pair.from
		}
	}
	return e
}

// spin lets the scene turn, about the axis that points up unless another is named.
func (a *applier) spin(args Spin) {
	if args.Mode == "off" {
		if a.Canvas.Spin == nil {
			a.warn("nothing was turning")
		}
		a.Canvas.Spin = nil
		return
	}
	if args.Axis == "" {
		args.Axis = "y"
	}
	if args.Speed == "" {
		args.Speed = "normal"
	}
	a.Canvas.Spin = &args
}

const defaultSlabAngstrom = 10.0

// clip cuts the scene through the middle of atoms: of those that are looked at unless others are named.
func (a *applier) clip(args Clip) error {
	if args.Mode == "off" {
		a.Model.Clip = nil
		return nil
	}
	if args.Through != "" {
		query, _, err := a.meant(args.Through)
		if err != nil {
			return err
		}
		args.Through = query
	} else {
		args.Through = a.Camera.Sel
	}
	if slices.ContainsFunc(a.tables, (*Table).repeated) {
		a.warn("the cut goes through the first of the assembly's copies")
	}
	if args.Mode == "slab" && args.ThicknessAngstrom == 0 {
		args.ThicknessAngstrom = defaultSlabAngstrom
	}
	a.Model.Clip = &args
	return nil
}
