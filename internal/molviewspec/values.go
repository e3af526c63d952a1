package molviewspec

// Values that parameters of several kinds take: selections, positions, palettes and the words of the format (param-types.ts).

// selector says which part of a structure is meant.
var selector = union(oneOf("all", "polymer", "protein", "nucleic", "branched", "ligand", "ion", "water", "coarse"),
	expression, list(expression))

var expression = object("a component expression", fields{
	"label_entity_id": may(text), "label_asym_id": may(text), "auth_asym_id": may(text),
	"label_seq_id": may(integer), "auth_seq_id": may(integer), "pdbx_PDB_ins_code": may(text),
	"beg_label_seq_id": may(integer), "end_label_seq_id": may(integer), "beg_auth_seq_id": may(integer),
	"end_auth_seq_id": may(integer), "label_comp_id": may(text), "auth_comp_id": may(text), "residue_index": may(integer),
	"label_atom_id": may(text), "auth_atom_id": may(text), "type_symbol": may(text), "atom_id": may(integer),
	"atom_index":  may(integer),
	"instance_id": may(text),
})

// position is a point in space, or the middle of a part of a structure.
var position = union(vector, expression, object("a component expression of another structure", fields{
	"structure_ref": may(link), "expression_schema": may(oneOf(annotationSchemas...)), "expressions": may(list(expression)),
}))

// cell are the indices of a unit cell.
var cell = tuple(integer, integer, integer)

var palette = union(categoricalPalette, discretePalette, continuousPalette)

var (
	categoricalPalette = object("a palette", fields{
		"kind":              must(oneOf("categorical")),
		"colors":            may(union(oneOf(colorLists...), oneOf(colorTables...), list(color), dict(textForm, color))),
		"repeat_color_list": may(boolean), "sort": may(oneOf("none", "lexical", "numeric")),
		"sort_direction": may(oneOf("ascending", "descending")), "case_insensitive": may(boolean),
		"missing_color": may(orNull(color)),
	})
	discretePalette = object("a palette", with(scaledPalette, fields{
		"kind": must(oneOf("discrete")),
		"colors": may(union(oneOf(colorLists...), list(color), list(tuple(color, number)),
			list(tuple(orNull(color), orNull(number), orNull(number))))),
	}))
	continuousPalette = object("a palette", with(scaledPalette, fields{
		"kind":            must(oneOf("continuous")),
		"colors":          may(union(oneOf(colorLists...), list(color), list(tuple(color, number)))),
		"underflow_color": may(orNull(union(oneOf("auto"), color))), "overflow_color": may(orNull(union(oneOf("auto"), color))),
	}))
	scaledPalette = fields{
		"reverse": may(boolean), "mode": may(oneOf("normalized", "absolute")),
		"value_domain": may(tuple(orNull(number), orNull(number))),
	}
)

var (
	parseFormats = []string{
		"mmcif", "bcif", "pdb", "pdbqt", "gro", "xyz", "mol", "sdf", "mol2", "lammpstrj", "xtc", "nctraj", "dcd", "trr",
		"psf", "prmtop", "top", "map", "dx", "dxbin",
	}
	annotationSchemas = []string{
		"whole_structure", "entity", "chain", "auth_chain", "residue", "auth_residue", "residue_range", "auth_residue_range",
		"atom", "auth_atom", "all_atomic",
	}
	easings = []string{
		"linear", "bounce-in", "bounce-out", "bounce-in-out", "circle-in", "circle-out", "circle-in-out", "cubic-in", "cubic-out",
		"cubic-in-out", "exp-in", "exp-out", "exp-in-out", "quad-in", "quad-out", "quad-in-out", "sin-in", "sin-out", "sin-in-out",
	}
	colorTables = []string{"ElementSymbol", "ResidueName", "ResidueProperties", "SecondaryStructure"}
	colorLists  = []string{
		"Reds", "Oranges", "Greens", "Blues", "Purples", "Greys", "OrRd", "BuGn", "PuBuGn", "GnBu", "PuBu", "BuPu", "RdPu", "PuRd",
		"YlOrRd", "YlOrBr", "YlGn", "YlGnBu", "Magma", "Inferno", "Plasma", "Viridis", "Cividis", "Turbo", "Warm", "Cool",
		"CubehelixDefault", "Rainbow", "Sinebow", "RdBu", "RdGy", "PiYG", "BrBG", "PRGn", "PuOr", "RdYlGn", "RdYlBu", "Spectral",
		"Category10", "Observable10", "Tableau10", "Set1", "Set2", "Set3", "Pastel1", "Pastel2", "Dark2", "Paired", "Accent",
		"Chainbow",
	}
)
