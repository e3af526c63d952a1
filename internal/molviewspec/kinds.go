package molviewspec

// kind is a kind of node: below which kinds it may stand, and its parameters. Where selector is set, the parameter of that name
// chooses which of the cases the other parameters are.
type kind struct {
	parents  []string
	params   fields
	selector string
	cases    map[string]fields
}

// tree is a set of kinds and the one at its top.
type tree struct {
	top   string
	kinds map[string]kind
}

// sceneTree is the tree of a view, animationTree that of what changes it: the kinds of MolViewSpec version 1 as Mol* 5.11 has
// them (mvs-tree.ts, animation-tree.ts).
var (
	sceneTree     = tree{top: "root", kinds: sceneKinds}
	animationTree = tree{top: "animation", kinds: animationKinds}
)

var sceneKinds = map[string]kind{
	"root": {},

	// What is loaded.
	"download":    {parents: under("root"), params: fields{"url": must(url)}},
	"parse":       {parents: under("download"), params: fields{"format": must(oneOf(parseFormats...))}},
	"coordinates": {parents: under("parse")},
	"structure": {parents: under("parse"), params: fields{
		"type":         must(oneOf("model", "assembly", "symmetry", "symmetry_mates")),
		"block_header": may(orNull(text)), "block_index": may(integer), "model_index": may(integer),
		"assembly_id": may(orNull(text)), "radius": may(number),
		"ijk_min": may(cell), "ijk_max": may(cell),
		"coordinates_ref": may(orNull(linkTo("coordinates"))),
	}},
	"volume":    {parents: under("parse"), params: fields{"channel_id": may(orNull(text))}},
	"transform": {parents: under("structure", "component", "volume"), params: placement},
	"instance":  {parents: under("structure", "component", "volume"), params: placement},

	// Which part of it.
	"component": {parents: under("structure"), params: fields{"selector": must(selector)}},
	"component_from_uri": {parents: under("structure"),
		params: with(annotationFile, fields{"field_values": may(orNull(list(text)))})},
	"component_from_source": {parents: under("structure"),
		params: with(annotationSource, fields{"field_values": may(orNull(list(text)))})},

	// How it looks.
	"representation":        {parents: components, selector: "type", cases: representations},
	"volume_representation": {parents: under("volume"), selector: "type", cases: volumeRepresentations},
	"color":                 {parents: drawn, params: fields{"color": may(color), "selector": may(selector)}},
	"color_from_uri": {parents: under("representation"),
		params: with(annotationFile, fields{"palette": may(orNull(palette)), "selector": may(selector)})},
	"color_from_source": {parents: under("representation"),
		params: with(annotationSource, fields{"palette": may(orNull(palette)), "selector": may(selector)})},
	"opacity": {parents: drawn, params: fields{"opacity": must(number)}},
	"clip": {parents: under("representation", "volume_representation", "primitives", "primitives_from_uri"), selector: "type",
		cases: clips},

	// What is said about it.
	"label": {parents: components, params: fields{"text": must(text)}},
	"label_from_uri": {parents: under("structure"),
		params: with(annotationFile, fields{"text_format": may(text), "group_by_fields": may(orNull(list(text)))})},
	"label_from_source": {parents: under("structure"),
		params: with(annotationSource, fields{"text_format": may(text), "group_by_fields": may(orNull(list(text)))})},
	"tooltip":             {parents: components, params: fields{"text": must(text)}},
	"tooltip_from_uri":    {parents: under("structure"), params: with(annotationFile, fields{"text_format": may(text)})},
	"tooltip_from_source": {parents: under("structure"), params: with(annotationSource, fields{"text_format": may(text)})},

	// From where it is seen.
	"focus": {parents: under("root", "component", "component_from_uri", "component_from_source", "primitives",
		"primitives_from_uri", "volume", "volume_representation"),
		params: fields{"direction": may(vector), "up": may(vector), "radius": may(orNull(number)), "radius_factor": may(number),
			"radius_extent": may(number)}},
	"camera": {parents: under("root"),
		params: fields{"target": must(vector), "position": must(vector), "up": may(vector), "near": may(orNull(number))}},
	"canvas": {parents: under("root"), params: fields{"background_color": may(color)}},

	// Shapes.
	"primitives": {parents: under("structure", "root"), params: fields{
		"color": may(color), "label_color": may(color), "tooltip": may(orNull(text)), "opacity": may(number),
		"label_opacity": may(number), "label_show_tether": may(boolean), "label_tether_length": may(number),
		"label_attachment": may(oneOf("bottom-left", "bottom-center", "bottom-right", "middle-left", "middle-center",
			"middle-right", "top-left", "top-center", "top-right")),
		"label_background_color": may(orNull(color)), "snapshot_key": may(orNull(text)), "instances": may(orNull(list(matrix))),
	}},
	"primitives_from_uri": {parents: under("structure", "root"),
		params: fields{"uri": must(url), "format": must(oneOf("mvs-node-json")), "references": may(list(link))}},
	"primitive": {parents: under("primitives"), selector: "kind", cases: primitives},
}

var animationKinds = map[string]kind{
	"animation": {params: fields{
		"frame_time_ms": may(number), "duration_ms": may(orNull(number)), "autoplay": may(boolean), "loop": may(boolean),
		"include_camera": may(boolean), "include_canvas": may(boolean),
	}},
	"interpolate": {parents: under("animation"), selector: "kind", cases: interpolations},
}

// Parents that several kinds share.
var (
	components = under("component", "component_from_uri", "component_from_source")
	drawn      = under("representation", "volume_representation")
)

// Parameters that several kinds share.
var (
	placement = fields{
		"rotation": may(matrix), "translation": may(vector),
		"rotation_center": may(orNull(union(vector, oneOf("centroid")))),
		"matrix":          may(orNull(matrix)),
	}
	annotationSource = fields{
		"schema": must(oneOf(annotationSchemas...)), "block_header": may(orNull(text)), "block_index": may(integer),
		"category_name": may(orNull(text)), "field_name": may(text), "field_remapping": may(dict(textForm, orNull(text))),
	}
	annotationFile = with(annotationSource, fields{"uri": must(url), "format": must(oneOf("cif", "bcif", "json"))})
)

func under(kinds ...string) []string { return kinds }

// children are the kinds that may stand below one, for messages.
func (t *tree) children(parent string) []string {
	var below []string
	for name, kind := range t.kinds {
		for _, allowed := range kind.parents {
			if allowed == parent {
				below = append(below, name)
			}
		}
	}
	return below
}

// readableFrom says from which formats of a parse node the nodes below it can be made: all others give nothing (load.ts).
var readableFrom = map[string][]string{
	"structure":   {"mmcif", "bcif", "pdb", "pdbqt", "gro", "xyz", "mol", "sdf", "mol2", "lammpstrj", "psf", "prmtop", "top"},
	"coordinates": {"xtc", "nctraj", "dcd", "trr", "lammpstrj"},
	"volume":      {"mmcif", "bcif", "map", "dx", "dxbin"},
}

// topologies are formats without coordinates of their own: a structure made from one needs coordinates_ref (conversion.ts).
var topologies = []string{"psf", "prmtop", "top"}
