package director

import "slices"

// coloredAll are the operations of a colour, a property, or a property and a colour for the carbons.
func (p *parser) coloredAll(f *frame, sel string) ([]Operation, bool) {
	if by, _ := f.attributes["by"].(string); by != "element" || !f.has("color") || !f.has("carbons") {
		colored, ok := p.colored(f, sel)
		return []Operation{colored}, ok
	}
	f.takeText("by")
	carbons, ok := p.colored(f, sel)
	return []Operation{{"color", map[string]any{"sel": sel, "by": "element"}}, carbons}, ok
}

// dealColors gives each of several things its own colour, in the order of both.
func (p *parser) dealColors(f *frame, object phrase, rep string) ([]Operation, bool) {
	colors := append([]string{f.takeText("color")}, f.takeList("colors")...)
	things := p.each(object, len(colors))
	if len(things) != len(colors) || f.has("by") || f.has("carbons") {
		return nil, false
	}
	operations := make([]Operation, len(colors))
	for i, color := range colors {
		operations[i] = Operation{"color", map[string]any{"sel": p.look1(things[i]), "color": color}}
		if rep != "" {
			operations[i].Args["as"] = rep
		}
	}
	return operations, true
}

// dealLooks gives each of several things its own representation, in the order of both.
func (p *parser) dealLooks(f *frame, object phrase, first string) ([]Operation, bool) {
	looks := append([]string{first}, f.takeList("reps")...)
	things := p.each(object, len(looks))
	if len(things) != len(looks) {
		return nil, false
	}
	operations := make([]Operation, len(looks))
	for i, look := range looks {
		operations[i] = Operation{"show", map[string]any{"sel": p.look1(things[i]), "as": look}}
	}
	return operations, true
}

// each parts a phrase into the things that it names, where they are as many as are wanted.
func (p *parser) each(f phrase, count int) []phrase {
	var things []phrase
	add := func(q part) { things = append(things, phrase{kind: f.kind, parts: []part{q}}) }
	switch {
	case f.kind == "chains":
		for _, chain := range p.ctx.Chains {
			things = append(things, phrase{kind: "chain", parts: []part{{chain: []string{chain.ID}}}})
		}
	case len(f.parts) == count:
		for _, q := range f.parts {
			add(q)
		}
	case len(f.parts) == 1 && len(f.parts[0].chain) == count:
		for _, id := range f.parts[0].chain {
			q := f.parts[0]
			q.chain = []string{id}
			add(q)
		}
	case len(f.parts) == 1 && len(f.parts[0].resi) == count:
		for _, number := range f.parts[0].resi {
			q := f.parts[0]
			q.resi = []string{number}
			add(q)
		}
	case len(f.parts) == 1 && len(f.parts[0].resn) == count:
		for _, name := range f.parts[0].resn {
			q := f.parts[0]
			q.resn = []string{name}
			add(q)
		}
	}
	return things
}

// colored is the operation of a colour or property on a selection.
func (p *parser) colored(f *frame, sel string) (Operation, bool) {
	args := map[string]any{"sel": sel}
	color, by := f.takeText("color"), f.takeText("by")
	if (color == "") == (by == "") {
		return Operation{}, false
	}
	if f.attributes["carbons"] != nil {
		args["carbons_only"] = true
		delete(f.attributes, "carbons")
	}
	if color != "" {
		args["color"] = color
	} else {
		args["by"] = by
	}
	if by == "plddt" && !p.ctx.Predicted {
		p.halt(noConfidence())
	}
	return Operation{"color", args}, true
}

// buildColor handles colours.
func (p *parser) buildColor(f *frame) ([]Operation, bool) {
	rep := f.takeText("rep")
	otherwise := "polymer"
	if by, _ := f.attributes["by"].(string); by == "element" {
		otherwise = "all"
	}
	if rep != "" {
		otherwise = p.layer(rep)
	}
	p.carbons(f)
	if _, shown := p.ctx.layerWith(rep); f.upon && rep == "surface" && !shown && !p.surfaced {
		if f.carried {
			return nil, false // what the clause before has coloured would stay without one
		}
		more, ok := p.buildColor(f)
		for _, colored := range more {
			colored.Args["as"] = rep
		}
		return append(one("surface", map[string]any{"sel": "polymer"}), more...), ok
	}
	sel, object, ok := p.target(f, otherwise)
	if !ok || object.role == "to" || f.has("relative") || f.only && len(f.objects) == 0 {
		return nil, false
	}
	if object.kind == "structure" {
		sel = otherwise
	}
	if f.attributes["distinct"] != nil || object.kind == "chains" && !f.has("color") && !f.has("by") {
		delete(f.attributes, "distinct")
		if !oneOf(object.kind, "none", "chains", "nothing", "protein", "all", "structure", "polymer", "nucleic") {
			return nil, false
		}
		return one("color", map[string]any{"sel": otherwise, "by": "chain"}), true
	}
	if f.attributes["anycolor"] != nil || !f.has("color") && !f.has("by") {
		delete(f.attributes, "anycolor")
		if len(f.objects) == 0 || object.role != "" {
			return nil, false
		}
		p.halt(question("color", nil))
		return one("color", map[string]any{"sel": sel}), true
	}
	if f.has("colors") {
		return p.dealColors(f, object, rep)
	}
	operations, ok := p.coloredAll(f, sel)
	for _, colored := range operations {
		if rep != "" {
			colored.Args["as"] = rep
		}
	}
	if p.hasOpacity(f) && ok {
		more, fits := p.buildOpacity(f, rep)
		return append(operations, more...), fits
	}
	return operations, ok
}

// carbons reads "the carbons of the ligand" as its carbons only.
func (p *parser) carbons(f *frame) {
	if len(f.objects) == 2 && f.objects[1].kind == "element" && f.objects[1].role == "with" && f.has("color") {
		f.attributes["carbons"] = true
		f.objects = f.objects[:1]
	}
	if len(f.objects) != 1 || f.objects[0].kind != "element" {
		return
	}
	object := f.objects[0]
	object.parts = slices.Clone(object.parts)
	for i := range object.parts {
		if !slices.Equal(object.parts[i].elem, []string{"C"}) {
			return
		}
		object.parts[i].elem = nil
	}
	f.attributes["carbons"] = true
	f.objects = []phrase{object}
}
