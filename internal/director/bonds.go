package director

import (
	"regexp"
	"slices"
	"strings"
)

// interactionTypes are all kinds, in the order of the vocabulary.
var interactionTypes = []string{
	"hydrogen_bond", "hydrophobic", "pi_stacking", "pi_cation", "salt_bridge", "halogen_bond", "water_bridge", "metal_complex",
}

// buildBonds handles interactions, distances and angles.
func (p *parser) buildBonds(f *frame) ([]Operation, bool, bool) {
	switch {
	case f.has("itype"):
		built, ok := p.buildInteractions(f)
		return built, true, ok
	case f.names("distance") || f.names("angle") || f.verb == "measure":
		built, ok := p.buildMeasure(f)
		return built, true, ok
	case f.names("measurements") && len(f.objects) > 1 && !p.removes(f):
		f.drop("measurements")
		built, ok := p.buildMeasure(f)
		return built, true, ok
	}
	return nil, false, false
}

// removes tells whether a clause takes something away.
func (p *parser) removes(f *frame) bool {
	if f.takeText("switch") == "off" {
		f.verb = "off"
	}
	off := f.verb == "hide" || f.verb == "off" || f.verb == "clear" || f.verb == "stop" || f.verb == "undo"
	return off != f.negated
}

// chosenByContact tells contacts that only say which residues are meant: "only residues that bind the ligand", "label the
// interacting residues", "biotin and every residue that touches it".
func chosenByContact(f *frame, object phrase) bool {
	anyResidue := func(q part) bool {
		return slices.Equal(q.base, []string{"protein"}) && len(q.resi)+len(q.resn)+len(q.chain) == 0
	}
	if object.kind == "mixed" {
		return slices.ContainsFunc(object.parts, anyResidue)
	}
	return object.generic && (f.only || f.verb == "label")
}

func (p *parser) buildInteractions(f *frame) ([]Operation, bool) {
	if p.removes(f) {
		f.takeList("itype")
		return one("clear", map[string]any{"what": "interactions"}), len(f.objects) == 0
	}
	if slices.ContainsFunc(f.objects, func(object phrase) bool { return chosenByContact(f, object) }) {
		return nil, false
	}
	args, ok := p.interacting(f)
	if !ok || !f.acts("", "show", "add", "on", "put", "highlight", "measure", "select", "label", "color") ||
		f.has("color") {
		return nil, false
	}
	if types := p.types(f); types != nil {
		args["types"] = types
	}
	if p.hasText("dashed lines", "dashed line", "dotted lines", "dotted line") {
		f.drop("measurements") // they are drawn so anyway
		f.drop("distance")
	}
	for _, thing := range []string{"labels", "distance", "measurements"} {
		if f.drop(thing) {
			args["labels"] = true
		}
	}
	if f.verb == "label" {
		args["labels"] = true
	}
	f.also = false
	return one("interactions", args), true
}

// types are the kinds that a clause names, or nil for all of them.
func (p *parser) types(f *frame) []string {
	named, less := f.takeList("itype"), f.takeList("itype_less")
	types := slices.DeleteFunc(slices.Clone(named), func(kind string) bool { return kind == "all" })
	if len(types) == 0 && len(less) == 0 {
		return nil
	}
	if len(types) == 0 {
		types = interactionTypes
	}
	return slices.DeleteFunc(slices.Clone(types), func(kind string) bool { return slices.Contains(less, kind) })
}

// interacting are the two sides of interactions: the ligand where nothing else is named, and the protein where there is none.
func (p *parser) interacting(f *frame) (map[string]any, bool) {
	sides := []phrase{}
	with := []phrase{}
	if f.bridging && len(f.objects) == 2 && f.objects[1].role == "" {
		f.objects[1].role = "with"
	}
	for _, object := range f.objects {
		switch {
		case object.kind == "nothing":
		case f.has("its") && object.kind == "chain" && oneOf(object.role, "in", "from", "on"):
			with = append(with, object) // "its contacts in chain E"
		case object.role == "with" || object.role == "to" || len(sides) > 0 && (object.role == "between" || object.role == "and"):
			with = append(with, object)
		default:
			sides = append(sides, object)
		}
	}
	for len(with) > 1 && with[0].role == "between" && with[1].role == "between" {
		with = append([]phrase{eitherKeepingRole(with[0], with[1])}, with[2:]...) // "between REA and Arg132 or Tyr134"
	}
	if len(sides) > 1 || len(with) > 1 {
		return nil, false
	}
	switch {
	case f.attributes["its"] != nil || len(sides) > 0 || len(with) != 1 || with[0].kind != "ligand" && with[0].kind != "ref":
	case f.carried && with[0].kind == "ligand" && p.last != "" && p.last != with[0].text():
		last, _ := p.pointed(p.last) // "show X as sticks, with hydrogen bonds to the ligand": those of X
		sides = []phrase{last}
	default:
		sides, with = with, nil
	}
	if f.attributes["its"] != nil && len(sides) == 0 {
		last, _ := p.pointed(p.last)
		sides = []phrase{last}
	}
	delete(f.attributes, "its")
	if len(sides) == 0 {
		sides = []phrase{p.subjectOf(f)}
	}
	of := sides[0]
	if of.kind == "all" || of.kind == "structure" {
		of = phrase{kind: "protein", parts: []part{{base: []string{"protein"}}}}
	}
	if of.role == "between" && len(with) == 0 && (of.kind == "chains" || len(of.parts) == 1 && len(of.parts[0].chain) == 2) {
		return p.betweenChains(of)
	}
	if of.centre != nil && len(with) == 0 {
		of = *of.centre // the contacts in a pocket are its ligand's
	}
	args := map[string]any{"of": p.single(of)}
	if of.role == "within" && len(with) == 0 {
		p.halt(refusal("unsupported", "contacts inside one thing", "show the contacts of a residue, or between two chains"))
	}
	if len(with) == 1 {
		args["with"] = p.single(with[0])
	}
	return args, true
}

// betweenChains splits "between chains A and B".
func (p *parser) betweenChains(f phrase) (map[string]any, bool) {
	ids := f.parts[0].chain
	if len(ids) == 0 {
		ids = p.ctx.chainIDs()
	}
	if len(ids) != 2 {
		return nil, false
	}
	return map[string]any{"of": "chain " + ids[0], "with": "chain " + ids[1]}, true
}

// subjectOf is what interactions of a clause's kinds are of: coordination alone is that of the metals.
func (p *parser) subjectOf(f *frame) phrase {
	kinds, _ := f.attributes["itype"].([]string)
	if slices.Equal(kinds, []string{"metal_complex"}) && len(p.ctx.Ions) > 0 && p.last == "" {
		metals := of("metal", "metal")
		metals.plural = true
		return metals
	}
	return p.subject()
}

// subject is what interactions are of where nothing is named.
func (p *parser) subject() phrase {
	if p.last != "" && (strings.Contains(p.last, "ligand") || strings.Contains(p.last, "resn ")) &&
		!strings.Contains(p.last, "within") {
		f, _ := p.pointed(p.last)
		return f
	}
	if _, hasPeptide := p.ctx.peptide(); len(p.ctx.mainLigands()) == 0 && !hasPeptide {
		return of("protein", "protein")
	}
	return p.ligandHead(determiner{}, of("ligand", "ligand"))
}

func (p *parser) buildMeasure(f *frame) ([]Operation, bool) {
	if p.removes(f) {
		for _, thing := range []string{"distance", "angle", "measurements"} {
			f.drop(thing)
		}
		return one("clear", map[string]any{"what": "measurements"}), len(f.objects) == 0
	}
	kind, count := "distance", 2
	if f.drop("angle") {
		kind, count = "angle", 3
	}
	f.drop("distance")
	f.drop("labels")
	if f.has("ends") && len(f.objects) == 0 {
		return nil, false
	}
	ends := p.endsOf(shareChain(f.objects, count))
	if len(ends) == 1 && p.last != "" && kind == "distance" {
		last, _ := p.pointed(p.last)
		ends = []phrase{last, ends[0]}
	}
	if len(ends) != count {
		if len(ends) < count {
			p.halt(question("target", nil))
		}
		return nil, len(ends) < count && len(f.attributes) == 0 && f.verb != "show"
	}
	between := make([]string, count)
	atom := f.takeText("ends")
	for i, end := range ends {
		if atom != "" && oneResidue(end) {
			end = both(end, phrase{parts: []part{{name: []string{atom}}}})
		}
		if end.kind == "ref" {
			end.plural = true
		}
		between[i] = p.single(end)
	}
	if between[0] == between[1] {
		p.askTarget(between[0])
	}
	return one("measure", map[string]any{"kind": kind, "between": between}), true
}

// shareChain gives all ends the chain that stands apart: "iron to His87 distance in chain A".
func shareChain(objects []phrase, count int) []phrase {
	last := len(objects) - 1
	if len(objects) != count+1 || objects[last].kind != "chain" || objects[last].role != "in" && objects[last].role != "of" {
		return objects
	}
	ends := slices.Clone(objects[:last])
	for i, end := range ends {
		if len(end.parts) == 1 && len(end.parts[0].chain) == 0 {
			ends[i] = both(end, objects[last])
		}
	}
	return ends
}

// endsOf are the ends of a distance: the objects, where one of two residues counts for two.
func (p *parser) endsOf(objects []phrase) []phrase {
	var ends []phrase
	for _, object := range objects {
		q := part{}
		if len(object.parts) == 1 {
			q = object.parts[0]
		}
		if pair := pairOf(object); pair != nil && len(objects) == 1 {
			ends = append(ends, pair...)
			continue
		}
		switch {
		case len(q.resi) > 1 && (!object.plural || len(objects) == 1 && oneOf(object.kind, "atom", "element")):
			for _, number := range q.resi {
				q.resi = []string{number}
				ends = append(ends, phrase{kind: object.kind, parts: []part{q}})
			}
		case len(q.chain) > 1 && len(q.resi) == 1:
			for _, chain := range object.parts[0].chain {
				q.chain = []string{chain}
				ends = append(ends, phrase{kind: object.kind, parts: []part{q}})
			}
		default:
			ends = append(ends, object)
		}
	}
	share(ends)
	return ends
}

// pairPattern is a selection of two residues by their numbers.
var pairPattern = regexp.MustCompile(`^((?:\(*chain \w+ and )?resi )([0-9]+[A-Z]?)\+([0-9]+[A-Z]?)(\)*)$`)

// pairOf are the two residues that "them" means, or a range that was said of a distance; nil for neither.
func pairOf(object phrase) []phrase {
	if len(object.parts) == 1 && len(object.parts[0].resi) == 1 && object.kind == "residue" {
		first, last, isRange := strings.Cut(object.parts[0].resi[0], "-")
		if isRange && first != "" { // "from 35 to 52"
			a, b := object.parts[0], object.parts[0]
			a.resi, b.resi = []string{first}, []string{last}
			return []phrase{{kind: "residue", parts: []part{a}}, {kind: "residue", parts: []part{b}}}
		}
	}
	match := pairPattern.FindStringSubmatch(strings.Trim(object.text(), "()"))
	if object.kind != "ref" || match == nil {
		return nil
	}
	return []phrase{of("residue", match[1]+match[2]), of("residue", match[1]+match[3])}
}

// share gives each end what was said once for both: the atom in "the CA atoms of X and Y", the chain in "X and Y of chain A".
func share(ends []phrase) {
	if len(ends) < 2 {
		return
	}
	last := &ends[len(ends)-1]
	for i := range ends[:len(ends)-1] {
		a := &ends[i]
		if len(a.parts) != 1 || len(last.parts) != 1 || len(a.parts[0].resi) == 0 || len(last.parts[0].resi) == 0 {
			continue
		}
		q, z := a.parts[0], last.parts[0]
		if len(q.chain) == 0 && len(z.chain) == 1 && q.resi[0] != z.resi[0] {
			q.chain = z.chain
			a.parts = []part{q}
		}
		if a.plural && a.kind == "atom" && len(z.name) == 0 {
			z.name = q.name
			last.parts = []part{z}
		}
	}
}

// buildNotes handles labels, highlights, selections, and what is cleared away again.
func (p *parser) buildNotes(f *frame) ([]Operation, bool, bool) {
	clears := map[string]string{"labels": "labels", "annotations": "annotations", "measurements": "measurements",
		"highlights": "highlights"}
	if f.has("thing") && p.removes(f) && f.verb != "undo" {
		built, ok := p.buildClear(f, clears)
		if ok {
			return built, true, true
		}
	}
	switch {
	case f.verb == "label" || f.names("labels") && f.acts("put", "add", "show", "on", ""):
		if object := f.objects; len(object) == 1 && f.verb != "label" && object[0].role == "" {
			return nil, false, false
		}
		built, ok := p.buildLabel(f)
		return built, true, ok
	case f.verb == "highlight":
		built, ok := p.buildHighlight(f)
		return built, true, ok
	case f.verb == "select":
		built, ok := p.buildSelect(f)
		return built, true, ok
	}
	return nil, false, false
}

// buildClear takes away what lies over the atoms.
func (p *parser) buildClear(f *frame, clears map[string]string) ([]Operation, bool) {
	var operations []Operation
	things, _ := f.attributes["thing"].([]string)
	for _, thing := range things {
		what, ok := clears[thing]
		if !ok {
			return nil, false
		}
		operations = append(operations, Operation{"clear", map[string]any{"what": what}})
	}
	f.takeList("thing")
	f.takeText("level")
	if len(f.objects) > 1 {
		return nil, false
	}
	if len(f.objects) == 1 && f.objects[0].kind != "all" && f.objects[0].kind != "chains" && f.objects[0].kind != "nothing" {
		for _, operation := range operations {
			operation.Args["sel"] = f.objects[0].text()
		}
	}
	return operations, true
}

func (p *parser) buildLabel(f *frame) ([]Operation, bool) {
	f.drop("labels")
	if f.negated || len(f.objects) > 1 || f.has("rep") {
		return nil, false
	}
	level := f.takeText("level")
	object := phrase{kind: "nothing"}
	if len(f.objects) == 1 {
		object = f.objects[0]
	}
	sel := p.last
	switch {
	case object.generic && object.kind == "residue" && object.role != "":
		level = "residue" // "labelled by residue": what was spoken of
	case object.kind != "nothing":
		sel = object.text()
	}
	if sel == "" && level == "chain" {
		sel = "polymer"
	}
	if sel == "" {
		p.askTarget(sel)
	}
	switch {
	case level != "":
	case object.kind == "chain" || object.kind == "chains":
		level = "chain"
	case object.kind == "atom" || object.kind == "element":
		level = "atom"
	default:
		level = "residue"
	}
	args := map[string]any{"sel": sel, "level": level}
	if text := f.takeText("text"); text != "" {
		args["text"] = clip(text, 200)
	}
	if color := f.takeText("color"); color != "" {
		args["color"] = color
	}
	if size, ok := f.takeNumber("textsize"); ok {
		args["size"] = size
	}
	return one("label", args), object.kind != "interface"
}

func (p *parser) buildHighlight(f *frame) ([]Operation, bool) {
	if f.negated || len(f.objects) != 1 {
		return nil, false
	}
	object := f.objects[0]
	if object.kind == "nothing" {
		p.askTarget(object.text())
	}
	if f.has("rep") {
		f.verb = "show" // "mark Lys48 as a magenta sphere"
		return p.buildShow(f)
	}
	p.placeInterface(&object)
	args := map[string]any{"sel": object.text()}
	if color := f.takeText("color"); color != "" {
		args["color"] = color
	}
	return p.noted(f, one("highlight", args), object.text())
}

func (p *parser) buildSelect(f *frame) ([]Operation, bool) {
	if f.negated || len(f.objects) != 1 || f.objects[0].kind == "nothing" {
		return nil, false
	}
	object := f.objects[0]
	p.placeInterface(&object)
	args := map[string]any{"sel": object.text()}
	if name := slug(f.takeText("text")); name != "" {
		args["name"] = name
	}
	if name := f.takeText("name"); name != "" {
		args["name"] = name
	}
	return one("select", args), true
}

// slug is a name as selections may have it: small letters, digits and underscores, a letter first; "" when nothing is left.
func slug(text string) string {
	var name strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' && name.Len() > 0:
			name.WriteRune(r)
		case name.Len() > 0 && !strings.HasSuffix(name.String(), "_"):
			name.WriteByte('_')
		}
	}
	return strings.TrimRight(clip(name.String(), 32), "_")
}
