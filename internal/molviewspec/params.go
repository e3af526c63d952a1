package molviewspec

// The parameters of kinds that come in several cases.

var representations = map[string]fields{
	"cartoon":        with(sized, fields{"tubular_helices": may(boolean)}),
	"backbone":       sized,
	"ball_and_stick": with(sized, hydrogens),
	"line":           with(sized, hydrogens),
	"spacefill":      with(sized, hydrogens),
	"carbohydrate":   sized,
	"surface":        with(sized, hydrogens, fields{"surface_type": may(oneOf("molecular", "gaussian"))}),
	"putty":          with(sized, fields{"size_theme": may(oneOf("uniform", "uncertainty"))}),
}

var (
	sized     = fields{"size_factor": may(number)}
	hydrogens = fields{"ignore_hydrogens": may(boolean)}
	isovalue  = fields{"relative_isovalue": may(orNull(number)), "absolute_isovalue": may(orNull(number))}
)

var volumeRepresentations = map[string]fields{
	"isosurface": with(isovalue, fields{"show_wireframe": may(boolean), "show_faces": may(boolean)}),
	"grid_slice": with(isovalue, fields{
		"dimension": must(oneOf("x", "y", "z")), "absolute_index": may(orNull(integer)), "relative_index": may(orNull(number)),
	}),
}

var clips = map[string]fields{
	"plane":  with(clipping, fields{"normal": must(vector), "point": must(vector)}),
	"sphere": with(clipping, fields{"center": must(vector), "radius": may(number)}),
	"box":    with(clipping, fields{"center": must(vector), "size": may(vector), "rotation": may(matrix)}),
}

var clipping = fields{"check_transform": may(orNull(matrix)), "invert": may(boolean), "variant": may(oneOf("object", "pixel"))}

var primitives = map[string]fields{
	"mesh": with(tinted, hovered, fields{
		"vertices": must(list(number)), "indices": must(list(integer)), "triangle_groups": may(orNull(list(integer))),
		"group_colors": may(dict(integerForm, color)), "group_tooltips": may(dict(integerForm, text)),
		"show_triangles": may(boolean), "show_wireframe": may(boolean), "wireframe_width": may(number),
		"wireframe_color": may(orNull(color)),
	}),
	"lines": with(tinted, hovered, fields{
		"vertices": must(list(number)), "indices": must(list(integer)), "line_groups": may(orNull(list(integer))),
		"group_colors": may(dict(integerForm, color)), "group_tooltips": may(dict(integerForm, text)),
		"group_widths": may(dict(integerForm, number)), "width": may(number),
	}),
	"tube": with(tube, hovered),
	"arrow": with(tinted, hovered, fields{
		"start": must(position), "end": may(orNull(position)), "direction": may(orNull(vector)), "length": may(orNull(number)),
		"show_start_cap": may(boolean), "start_cap_length": may(orNull(number)), "start_cap_radius": may(orNull(number)),
		"show_end_cap": may(boolean), "end_cap_length": may(orNull(number)), "end_cap_radius": may(orNull(number)),
		"show_tube": may(boolean), "tube_radius": may(number), "tube_dash_length": may(orNull(number)),
	}),
	"distance_measurement": with(tube, measured),
	"angle_measurement": with(measured, fields{
		"a": must(position), "b": must(position), "c": must(position),
		"show_vector": may(boolean), "vector_color": may(orNull(color)), "vector_radius": may(number),
		"show_section": may(boolean), "section_color": may(orNull(color)), "section_radius": may(orNull(number)),
		"section_radius_scale": may(number),
	}),
	"label": {
		"position": must(position), "text": must(text), "label_size": may(number), "label_color": may(orNull(color)),
		"label_offset": may(number),
	},
	"ellipse": with(tinted, hovered, axes, fields{
		"as_circle": may(boolean), "radius_major": may(orNull(number)), "radius_minor": may(orNull(number)),
		"theta_start": may(number), "theta_end": may(number),
	}),
	"ellipsoid": with(tinted, hovered, axes, fields{
		"radius": may(orNull(union(vector, number))), "radius_extent": may(orNull(union(vector, number))),
	}),
	"box": with(hovered, fields{
		"center": must(position), "extent": may(orNull(vector)), "show_faces": may(boolean), "face_color": may(orNull(color)),
		"show_edges": may(boolean), "edge_radius": may(number), "edge_color": may(orNull(color)),
	}),
}

var (
	tinted  = fields{"color": may(orNull(color))}
	hovered = fields{"tooltip": may(orNull(text))}
	tube    = with(tinted, fields{
		"start": must(position), "end": must(position), "radius": may(number), "dash_length": may(orNull(number)),
	})
	measured = fields{
		"label_template": may(text), "label_size": may(orNull(number)), "label_auto_size_scale": may(number),
		"label_auto_size_min": may(number), "label_color": may(orNull(color)),
	}
	axes = fields{
		"center": must(position), "major_axis": may(orNull(vector)), "minor_axis": may(orNull(vector)),
		"major_axis_endpoint": may(orNull(position)), "minor_axis_endpoint": may(orNull(position)),
	}
)

var interpolations = map[string]fields{
	"scalar": with(interpolated, eased(""), repeated(""), fields{
		"start": may(orNull(union(number, list(number)))), "end": may(orNull(union(number, list(number)))),
		"discrete": may(boolean), "noise_magnitude": may(number),
	}),
	"vec3": with(interpolated, eased(""), repeated(""), fields{
		"start": may(orNull(list(number))), "end": may(orNull(list(number))), "spherical": may(boolean),
		"noise_magnitude": may(number),
	}),
	"rotation_matrix": with(interpolated, eased(""), repeated(""), fields{
		"start": may(orNull(matrix)), "end": may(orNull(matrix)), "noise_magnitude": may(number),
	}),
	"color": with(interpolated, eased(""), repeated(""), fields{
		"start": may(union(color, null, dict(textForm, color))), "end": may(union(color, null, dict(textForm, color))),
		"palette": may(orNull(union(discretePalette, continuousPalette))),
	}),
	"transform_matrix": with(interpolated, fields{"pivot": may(orNull(vector))},
		moved("rotation_", matrix), moved("translation_", vector), moved("scale_", vector)),
}

var interpolated = fields{
	"target_ref": must(link), "property": must(union(text, list(union(text, integer)))),
	"start_ms": may(number), "duration_ms": must(number),
}

func eased(prefix string) fields { return fields{prefix + "easing": may(oneOf(easings...))} }

func repeated(prefix string) fields {
	return fields{prefix + "frequency": may(integer), prefix + "alternate_direction": may(boolean)}
}

// moved are the parameters of one part of a transformation: its rotation, translation or scale.
func moved(prefix string, values shape) fields {
	return with(eased(prefix), repeated(prefix), fields{
		prefix + "start": may(orNull(values)), prefix + "end": may(orNull(values)), prefix + "noise_magnitude": may(number),
	})
}
