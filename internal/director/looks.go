package director

import (
	"slices"
	"strconv"
	"strings"
)

// polymerLooks are the representations that only a polymer has.
var polymerLooks = wordSet("cartoon backbone putty")

// look1 is the selection of a phrase for an operation on looks: a chain means its polymer, not its ligands and waters.
func (p *parser) look1(f phrase) string {
	if f.beside != "" {
		f = both(f, of("", "not "+f.beside))
	}
	if f.kind == "chain" || f.chainLess {
		f = both(f, of("", "polymer"))
	}
	return f.text()
}

// target is the selection that a clause is about: its objects, or what fits where it names none.
func (p *parser) target(f *frame, otherwise string) (string, phrase, bool) {
	switch len(f.objects) {
	case 0:
		return otherwise, phrase{kind: "none"}, true
	case 1:
		object := f.objects[0]
		if object.kind == "nothing" {
			return otherwise, object, true
		}
		p.placeInterface(&object)
		f.objects[0] = object
		return p.look1(object), object, object.role != "with" && object.role != "between" && object.role != "by"
	}
	return "", phrase{}, false
}

// placeInterface turns an interface of two chains into residues within 5 Å of the other; more chains are a question.
func (p *parser) placeInterface(f *phrase) {
	if f.kind != "interface" {
		return
	}
	ids := f.parts[0].chain
	if len(ids) == 0 {
		ids = p.ctx.chainIDs()
	}
	if len(ids) != 2 {
		p.ask("chain", chainChoices(ids), "")
		return
	}
	side := func(a, b string) part {
		return part{base: []string{"byres (chain " + a + " and polymer and within 5 of (chain " + b + " and polymer))"}}
	}
	f.parts = []part{side(ids[0], ids[1]), side(ids[1], ids[0])}
	f.kind = "residue"
}

// buildLooks handles what atoms look like.
func (p *parser) buildLooks(f *frame) ([]Operation, bool) {
	if f.verb == "colored" || f.verb == "name" {
		f.verb = "color"
	}
	if f.negated && f.acts("", "show", "put", "add", "on", "hide", "color") {
		f.negated = false
		if f.verb == "color" && !f.carried {
			return nil, false
		}
		f.verb = map[bool]string{true: "show", false: "hide"}[f.verb == "hide" && !f.carried]
	}
	if f.negated || f.has("text") && f.verb != "label" {
		return nil, false
	}
	if f.attributes["opacity"] == 0.0 && len(f.objects) == 1 && f.acts("", "put", "show", "fade") {
		delete(f.attributes, "opacity")
		f.verb = "hide" // what nobody can see
	}
	f.also = f.also || f.verb == "add"
	f.drop("colors")
	if state := f.takeText("switch"); state != "" {
		f.verb = map[string]string{"on": "show", "off": "hide"}[state]
	}
	switch f.verb {
	case "hide", "off", "clear":
		return p.buildHide(f)
	case "isolate":
		return p.buildIsolate(f)
	case "surface":
		f.set("rep", "surface")
		return p.buildSurface(f)
	case "fade":
		if !f.has("opacity") && !f.has("transparent") {
			f.set("opacity", 0.5)
		}
	case "color":
		return p.buildColor(f)
	case "show", "", "put", "add", "on":
	default:
		return nil, false
	}
	return p.buildShow(f)
}

// buildShow handles representations, and colours and opacities that come with them or instead of them.
func (p *parser) buildShow(f *frame) ([]Operation, bool) {
	object := phrase{kind: "none"}
	if len(f.objects) == 1 {
		object = f.objects[0]
	}
	rep, _ := f.attributes["rep"].(string)
	f.only = f.only && !(rep != "" && oneOf(object.role, "for", "of", "on", "around")) // "a surface for chain A only"
	switch {
	case f.only && len(f.objects) > 0:
		return p.buildIsolate(f)
	case f.has("anycolor"):
		return p.buildColor(f)
	case rep == "surface" && p.restyles(f):
	case rep == "surface" && f.upon && object.role == "" && isSort(object):
		return nil, false // "charged residues on the surface": which those are, nobody has measured
	case rep == "surface" && f.upon && f.verb == "" && f.has("color"):
		return nil, false // a colour on a surface that nobody has shown
	case rep == "surface":
		return p.buildSurface(f)
	case rep == "" && f.verb == "show" && !f.has("color") && !f.has("by") && plainComplement(object):
		return one("hide", map[string]any{"sel": complement(f.objects[0].text())}), true
	case f.has("distinct") || rep == "" && (f.has("color") || f.has("by")):
		return p.buildColor(f)
	case rep == "" && f.has("withrep"):
		return p.buildPlace(f)
	case rep == "" && p.hasOpacity(f):
		return p.buildOpacity(f, "")
	case (object.kind == "pocket" || object.kind == "site") && f.verb != "put":
		return p.buildPlace(f)
	case object.kind == "interface" && rep == "":
		return p.interfaceView(object)
	}
	if rep == "" {
		return p.buildPlainShow(f)
	}
	if p.restyles(f) {
		return p.restyle(f, rep)
	}
	return p.buildRepresentation(f, rep)
}

// interfaceView is the preset of an interface, of the chains that were named.
func (p *parser) interfaceView(object phrase) ([]Operation, bool) {
	args := map[string]any{"name": "interface"}
	if chains := object.parts[0].chain; len(chains) > 0 {
		args["sel"] = "chain " + strings.Join(chains, "+")
	}
	return one("preset", args), true
}

func (p *parser) hasOpacity(f *frame) bool {
	return f.has("opacity") || f.has("transparent") || f.has("relative")
}

// restyles tells whether a representation is named as the thing to change: "make the cartoon see-through".
func (p *parser) restyles(f *frame) bool {
	rep, _ := f.attributes["rep"].(string)
	_, shown := p.ctx.layerWith(rep)
	changes := p.hasOpacity(f) || f.has("color") || f.has("by")
	return changes && (f.verb == "put" || f.verb == "fade" || f.verb == "" && shown) && (shown || rep != "surface") &&
		len(f.objects) < 2 &&
		(len(f.objects) == 0 || shown && f.objects[0].role != "" && f.objects[0].role != "as")
}

func (p *parser) restyle(f *frame, rep string) ([]Operation, bool) {
	if p.hasOpacity(f) {
		f.takeText("rep")
		return p.buildOpacity(f, rep)
	}
	return p.buildColor(f)
}

// layer is the selection of a representation that is shown, or of what would have it.
func (p *parser) layer(rep string) string {
	if sel, ok := p.ctx.layerWith(rep); ok {
		return sel
	}
	if polymerLooks[rep] || rep == "surface" {
		return "polymer"
	}
	return "all"
}

// plainComplement tells whether a phrase is all but something: "everything except the ligand".
func plainComplement(f phrase) bool {
	return f.kind == "except" && len(f.parts) == 1 && len(f.parts[0].base) == 1 && f.text() == f.parts[0].base[0]
}

// complement is what a phrase of the form "not X" leaves out.
func complement(sel string) string {
	rest, ok := strings.CutPrefix(sel, "not ")
	if !ok {
		return "not (" + sel + ")"
	}
	if strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")") {
		return rest[1 : len(rest)-1]
	}
	return rest
}

// buildPlainShow shows something in the way of its kind.
func (p *parser) buildPlainShow(f *frame) ([]Operation, bool) {
	if len(f.objects) != 1 || f.verb == "put" {
		return nil, false
	}
	object := f.objects[0]
	if f.verb == "" && !f.also && (!oneOf(object.kind, "residue", "water") || !strings.Contains(object.text(), "within ")) {
		return nil, false // what is near something can only be wanted shown
	}
	if object.kind == "nothing" || object.role != "" && object.role != "with" {
		return nil, false
	}
	return p.noted(f, inKind(object), object.text())
}

// inKind shows a phrase in the way of its kind: residues near something and side chains as sticks, since a ribbon would look as
// before.
func inKind(f phrase) []Operation {
	var others, sticks phrase
	for _, q := range f.parts {
		near := slices.ContainsFunc(q.base, func(b string) bool { return strings.HasPrefix(b, "byres (") })
		if near || slices.Contains(q.base, "sidechain") {
			sticks.parts = append(sticks.parts, q)
		} else {
			others.parts = append(others.parts, q)
		}
	}
	var operations []Operation
	if len(others.parts) > 0 {
		operations = append(operations, Operation{"show", map[string]any{"sel": others.text()}})
	}
	if len(sticks.parts) > 0 {
		operations = append(operations, Operation{"show", map[string]any{"sel": sticks.text(), "as": "stick"}})
	}
	return operations
}

// buildRepresentation shows something in a representation, with a colour and an opacity of its own.
func (p *parser) buildRepresentation(f *frame, rep string) ([]Operation, bool) {
	f.takeText("rep")
	otherwise := p.last
	if otherwise == "" || otherwise == p.hidden || polymerLooks[rep] {
		otherwise = "polymer"
	}
	sel, object, ok := p.target(f, otherwise)
	if !ok {
		return nil, false
	}
	if f.has("reps") {
		return p.dealLooks(f, object, rep)
	}
	if polymerLooks[rep] && len(f.objects) == 1 && oneOf(f.objects[0].kind, "rest", "except") {
		sel = both(of("", sel), of("", "polymer")).text() // a ligand has no ribbon, and would be gone
	}
	args := map[string]any{"sel": sel, "as": rep}
	if f.also {
		args["add"] = true
	}
	operations := one("show", args)
	if f.has("color") || f.has("by") {
		colors, fits := p.coloredAll(f, sel)
		if !fits {
			return nil, false
		}
		for _, colored := range colors {
			colored.Args["as"] = rep
		}
		operations = append(operations, colors...)
	}
	if p.hasOpacity(f) {
		value, fits := p.opacityValue(f)
		if !fits {
			return nil, false
		}
		operations = append(operations, Operation{"opacity", map[string]any{"sel": sel, "as": rep, "value": value}})
	}
	return p.noted(f, operations, sel)
}

// noted adds labels that a clause asked for in passing: "show the ligand as sticks with labels".
func (p *parser) noted(f *frame, operations []Operation, sel string) ([]Operation, bool) {
	if f.drop("labels") {
		operations = append(operations, Operation{"label", map[string]any{"sel": sel, "level": "residue"}})
	}
	return operations, true
}

// buildOpacity handles how transparent something is.
func (p *parser) buildOpacity(f *frame, rep string) ([]Operation, bool) {
	sel, object, ok := p.target(f, p.layer(rep))
	if rep == "" && len(f.objects) == 0 && !f.has("relative") {
		return nil, false
	}
	value, fits := p.opacityValue(f)
	if !ok || !fits || object.kind == "interface" {
		return nil, false
	}
	args := map[string]any{"sel": sel, "value": value}
	if rep != "" {
		args["as"] = rep
	}
	return one("opacity", args), true
}

// opacityValue takes the opacity of a clause. "More transparent" is a question.
func (p *parser) opacityValue(f *frame) (float64, bool) {
	if f.attributes["relative"] != nil {
		delete(f.attributes, "relative")
		p.halt(question("value", []string{"25 %", "50 %", "75 %"}))
		return 0.5, true
	}
	if f.attributes["transparent"] != nil {
		delete(f.attributes, "transparent")
		return 0.5, true
	}
	return f.takeNumber("opacity")
}

// buildSurface adds a surface.
func (p *parser) buildSurface(f *frame) ([]Operation, bool) {
	f.takeText("rep")
	f.drop("labels")
	otherwise := "polymer"
	if by, _ := f.attributes["by"].(string); by == "hydrophobicity" {
		otherwise = "protein"
	}
	sel, object, ok := p.target(f, otherwise)
	if !ok || object.kind == "interface" || f.only && len(f.objects) > 0 {
		return nil, false
	}
	args := map[string]any{"sel": sel}
	if kind := f.takeText("surfacetype"); kind != "" {
		args["type"] = kind
	}
	if f.has("color") || f.has("by") {
		colored, fits := p.colored(f, sel)
		if !fits || colored.Args["carbons_only"] != nil {
			return nil, false
		}
		for _, name := range []string{"color", "by"} {
			if value := colored.Args[name]; value != nil {
				args[name] = value
			}
		}
	}
	if p.hasOpacity(f) {
		value, fits := p.opacityValue(f)
		if !fits {
			return nil, false
		}
		args["opacity"] = value
	}
	return one("surface", args), true
}

// buildHide hides atoms or a representation of them.
func (p *parser) buildHide(f *frame) ([]Operation, bool) {
	rep := f.takeText("rep")
	f.takeText("surfacetype")
	if f.styled || len(f.objects) == 0 && rep == "" || len(f.objects) > 1 || f.verb == "off" && f.has("color") {
		return nil, false
	}
	if rep == "surface" && len(f.objects) == 0 && f.verb != "hide" {
		return one("clear", map[string]any{"what": "surfaces"}), true
	}
	if rep != "" && slices.ContainsFunc(p.lex[f.first:f.last], func(x lexeme) bool { return x.is("except") || x.is("but") }) {
		return nil, false // "everything but the cartoon": which others there are is not said
	}
	sel := p.layer(rep)
	if len(f.objects) == 1 {
		object := f.objects[0]
		if object.kind == "nothing" || object.kind == "interface" {
			return nil, false
		}
		sel = object.text()
		if rep != "" {
			sel = p.look1(object)
		}
		if rep == "" && plainComplement(object) {
			return one("isolate", map[string]any{"sel": complement(sel)}), true
		}
	}
	args := map[string]any{"sel": sel}
	if rep != "" {
		args["as"] = rep
	}
	return one("hide", args), true
}

// buildIsolate hides all else.
func (p *parser) buildIsolate(f *frame) ([]Operation, bool) {
	if len(f.objects) != 1 || f.objects[0].kind == "nothing" {
		return nil, false
	}
	object := f.objects[0]
	p.placeInterface(&object)
	f.objects[0] = object
	operations := one("isolate", map[string]any{"sel": object.text()})
	f.only = false
	if !f.has("rep") && !f.has("color") && !f.has("by") {
		return operations, true
	}
	f.verb = "show"
	more, ok := p.buildShow(f)
	return append(operations, more...), ok
}

// buildPlace shows a pocket: the whole view of a binding site, or the residues with what was asked for.
func (p *parser) buildPlace(f *frame) ([]Operation, bool) {
	if len(f.objects) == 0 || f.objects[0].centre == nil {
		if len(f.objects) == 1 && f.takeText("withrep") == "surface" {
			return []Operation{{"show", map[string]any{"sel": f.objects[0].text()}},
				{"surface", map[string]any{"sel": p.look1(f.objects[0])}}}, true
		}
		return nil, false
	}
	object := f.objects[0]
	centre := *object.centre
	if len(f.objects) == 2 && f.objects[1].role != "between" && f.objects[1].role != "to" {
		centre = f.objects[1]
	} else if len(f.objects) > 1 {
		return nil, false
	}
	centre.plural = centre.plural && centre.kind != "ref" || object.plural && len(centre.parts) > 1
	sel := p.single(centre)
	args := map[string]any{"of": sel}
	if object.radius != "5" {
		args["radius"] = atof(object.radius)
	}
	if value, ok := f.takeNumber("length"); ok {
		args["radius"] = value
	}
	if rep := f.takeText("rep"); rep != "" {
		args["as"] = rep
	}
	if f.drop("labels") {
		args["labels"] = true
	}
	switch f.takeText("withrep") {
	case "":
	case "surface":
		args["surface"] = true
	default:
		return nil, false
	}
	if object.kind == "site" && len(args) == 1 {
		return one("preset", map[string]any{"name": "binding_site", "sel": sel}), true
	}
	return one("pocket", args), true
}

// shortest writes a number without needless digits.
func shortest(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// exchange reads "replace the cartoon by a surface": what is shown in one way is shown in another.
func (p *parser) exchange() ([]Operation, bool) {
	start := p.mark()
	defer p.back(start)
	p.skip("filler")
	if !oneOf(p.at(0).text, "replace", "swap", "exchange", "trade", "substitute", "switch", "change") {
		return nil, false
	}
	p.pos++
	p.skip("article")
	from, ok := p.take("rep")
	if !ok {
		return nil, false
	}
	sel := p.layer(from)
	if p.takes("prep", "of") {
		f, read := p.phrase()
		if !read {
			return nil, false
		}
		sel = p.look1(f)
	}
	if x := p.at(0); !x.is("prep") && !x.has("conj", "and") || oneOf(x.text, "and") {
		return nil, false
	}
	p.pos++
	p.skip("article", "filler")
	to, ok := p.take("rep")
	if !ok || !p.onlyFillers(p.pos) {
		return nil, false
	}
	if to == "surface" {
		return []Operation{{"hide", map[string]any{"sel": sel, "as": from}}, {"surface", map[string]any{"sel": sel}}}, true
	}
	return one("show", map[string]any{"sel": sel, "as": to}), true
}
