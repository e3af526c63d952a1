package director

import (
	"slices"
	"strings"
)

// frame is one clause: a verb, what it acts on, and the attributes that were read, in any order. An attribute that no builder takes
// means that the clause was not understood.
type frame struct {
	verb string
	// carried tells that the verb is the one of the clause before.
	carried bool
	// negated tells "no", "without", "do not".
	negated bool
	// only tells that what is not named is to go.
	only bool
	also bool
	// styled tells that a representation stood behind "as": it is not one to be hidden.
	styled  bool
	objects []phrase
	// attributes are by category; those that may stand several times are []string.
	attributes map[string]any
	// closed tells that an attribute stood behind an object, so that the next noun phrase begins a clause.
	closed bool
	// located is the chain that stood behind an attribute; built is what the clause came to.
	located *phrase
	built   []Operation
	// upon tells that a representation stood behind "on": it is what the colours of the clauses are for.
	upon bool
	// bridging tells that waters between two things are meant.
	bridging bool
	// joined tells that "and" stood before the next object.
	joined      bool
	first, last int
}

func (f *frame) empty() bool {
	return f.verb == "" && len(f.objects) == 0 && len(f.attributes) == 0 && !f.negated && !f.only
}

func (f *frame) has(category string) bool { return f.attributes[category] != nil }

// takeText takes an attribute that is one text; "" when there is none.
func (f *frame) takeText(category string) string {
	text, _ := f.attributes[category].(string)
	delete(f.attributes, category)
	return text
}

// takeList takes an attribute that may stand several times.
func (f *frame) takeList(category string) []string {
	list, _ := f.attributes[category].([]string)
	delete(f.attributes, category)
	return list
}

// takeNumber takes a number, and tells whether there was one.
func (f *frame) takeNumber(category string) (float64, bool) {
	value, ok := f.attributes[category].(float64)
	delete(f.attributes, category)
	return value, ok
}

// names tells whether a clause names a thing of the scene.
func (f *frame) names(thing string) bool {
	list, _ := f.attributes["thing"].([]string)
	return slices.Contains(list, thing)
}

// acts tells whether the clause's verb is one of several.
func (f *frame) acts(verbs ...string) bool { return slices.Contains(verbs, f.verb) }

// oneOf tells whether a text is one of several.
func oneOf(text string, several ...string) bool { return slices.Contains(several, text) }

// drop takes a thing of the scene out of the clause and tells whether it was named.
func (f *frame) drop(thing string) bool {
	if !f.names(thing) {
		return false
	}
	list, _ := f.attributes["thing"].([]string)
	list = slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == thing })
	if len(list) == 0 {
		delete(f.attributes, "thing")
	} else {
		f.attributes["thing"] = list
	}
	return true
}

// set keeps an attribute; false when one of its kind is there already.
func (f *frame) set(category string, value any) bool {
	if old := f.attributes[category]; old != nil {
		return old == value
	}
	f.attributes[category] = value
	f.closed = f.closed || len(f.objects) > 0
	return true
}

// put appends to an attribute that may stand several times.
func (f *frame) put(category, value string) bool {
	list, _ := f.attributes[category].([]string)
	f.attributes[category] = append(slices.Clone(list), value)
	f.closed = f.closed || len(f.objects) > 0
	return true
}

// sentence reads all clauses. What it returns second are the clauses that were not understood.
func (p *parser) sentence() ([]Operation, []string) {
	var operations []Operation
	var unread []string
	var before *frame
	alone := p.standsAlone()
	for p.skip("conj", "but", "filler"); !p.ended(); p.skip("conj", "but") {
		first := p.pos
		if told, ok := p.toldAfter(before); ok {
			return append(operations, told...), unread
		}
		f, ok := p.clause(before)
		f.also = f.also || first > 0 && p.lex[first-1].is("also")
		if f.empty() && ok {
			continue
		}
		var built []Operation
		if ok {
			built, ok = p.buildAny(f, before, operations)
		}
		if !ok {
			p.pos = max(p.pos, first+1)
			p.skipClause()
			unread = append(unread, p.quote(first, p.pos))
			continue
		}
		f.built = built
		f.shareChain(before)
		operations = p.follow(operations, built)
		before = f
	}
	if alone && len(unread) == 0 {
		return p.leaveOnly(operations)
	}
	return operations, unread
}

// standsAlone takes a closing "and nothing else" off the message, and tells whether it was there.
func (p *parser) standsAlone() bool {
	end := len(p.lex)
	for end > 0 && (p.lex[end-1].is("filler") || p.lex[end-1].has("conj", "stop")) {
		end--
	}
	if end < 2 || !p.lex[end-1].is("alone") {
		return false
	}
	p.lex = p.lex[:end-1]
	return true
}

// leaveOnly hides what the steps did not speak of. A single plain step of showing is that itself.
func (p *parser) leaveOnly(operations []Operation) ([]Operation, []string) {
	for _, operation := range operations {
		if !oneOf(operation.Op, "show", "color", "surface", "opacity", "label", "highlight", "isolate") {
			return nil, []string{"nothing else"}
		}
	}
	if len(p.mentioned) == 0 {
		return nil, []string{"nothing else"}
	}
	isolated := one("isolate", map[string]any{"sel": strings.Join(p.mentioned, " or ")})
	operations = slices.DeleteFunc(operations, func(operation Operation) bool {
		plain := operation.Args["as"] == nil || operation.Args["as"] == "stick" && !p.names("rep", "stick")
		return operation.Op == "isolate" || operation.Op == "show" && plain
	})
	return append(isolated, operations...), nil
}

// toldAfter reads a question that ends a message of several steps: "…, and tell me the distance between them".
func (p *parser) toldAfter(before *frame) ([]Operation, bool) {
	if before == nil || !p.at(0).is("question") || p.at(0).is("verb") {
		return nil, false
	}
	return p.question()
}

// skipClause passes over the rest of a clause that was not understood.
func (p *parser) skipClause() {
	for !p.ended() {
		x := p.at(0)
		if x.has("conj", "stop") || x.has("conj", "then") || x.has("conj", "semicolon") || x.is("conj") && p.at(1).is("verb") {
			return
		}
		p.pos++
	}
}

// follow appends what a clause built, and remembers what it spoke of. "Hide everything, keep X" is one isolation.
func (p *parser) follow(operations, built []Operation) []Operation {
	for _, operation := range built {
		p.followOne(operation)
	}
	return append(operations, built...)
}

// followOne remembers what one operation spoke of: a pocket is its residues. What stands behind a load is about what was loaded.
func (p *parser) followOne(operation Operation) {
	sel, _ := operation.Args["sel"].(string)
	if centre, ok := operation.Args["of"].(string); ok {
		sel = centre
	}
	p.surfaced = p.surfaced || operation.Op == "surface"
	switch {
	case operation.Op == "load" && operation.Args["add"] == nil:
		source, _ := operation.Args["source"].(string)
		p.ctx = &Context{Predicted: strings.HasPrefix(source, "alphafold:"), Synonyms: p.ctx.Synonyms}
		p.last, p.mentioned, p.owner = "", nil, nil
	case operation.Op == "pocket" || operation.Op == "preset" && operation.Args["name"] == "binding_site":
		radius := "5"
		if value, ok := operation.Args["radius"].(float64); ok {
			radius = shortest(value)
		}
		p.remember(near(radius, of("", sel)).text())
	case sel != "" && operation.Op != "clear":
		if operation.Op == "hide" {
			p.hidden = sel
		}
		p.remember(sel)
	}
}

// remember makes a selection what "it" means.
func (p *parser) remember(sel string) {
	p.last = sel
	if !slices.Contains(p.mentioned, sel) {
		p.mentioned = append(p.mentioned, sel)
	}
}

// buildAny builds a frame. A verb that was carried over and does not fit is left away.
func (p *parser) buildAny(f, before *frame, done []Operation) ([]Operation, bool) {
	if f.carried && len(f.objects) == 0 && !f.hasHead() && (len(before.objects) > 0 || !f.has("rep")) && !f.has("source") {
		return nil, false // a second look for what has one already
	}
	kept := *f
	kept.attributes = map[string]any{}
	for category, value := range f.attributes {
		kept.attributes[category] = value
	}
	here := p.mark()
	if built, ok := p.build(f, before, done); ok && len(f.attributes) == 0 {
		return built, true
	}
	if !kept.carried {
		return nil, false
	}
	p.back(here)
	kept.verb, kept.carried = "", false
	*f = kept
	built, ok := p.build(f, before, done)
	return built, ok && len(f.attributes) == 0
}

// clause reads one clause. The verb of the one before is carried over where it has none.
func (p *parser) clause(before *frame) (*frame, bool) {
	f := &frame{attributes: map[string]any{}, first: p.pos}
	for !p.ended() && !p.over(f) {
		if !p.piece(f) {
			f.last = p.pos
			return f, false
		}
	}
	f.last = p.pos
	// "…, and the ligand in green sticks"
	restyled := before != nil && before.verb == "color" && f.has("rep") && len(f.objects) > 0 && !f.upon
	if f.verb == "" && before != nil && !f.empty() && !restyled {
		f.verb, f.carried = before.verb, true
		f.only = f.only || before.only && len(f.objects) > 0
	}
	return f, true
}

// piece consumes the next piece of a clause: a verb, an attribute, an object, or what adds nothing.
func (p *parser) piece(f *frame) bool {
	x := p.at(0)
	switch {
	case x.is("conj") || x.is("but"):
		p.pos++
		f.joined = true
		return true
	case x.is("quant") && !x.has("quant", "both"):
		p.pos++
		f.only = f.only || x.has("quant", "only") || f.verb == "" || f.verb == "show"
		return true
	case p.particle(f, x):
		p.pos++
		return true
	case p.upon(f):
		p.pos++
		return f.put("thing", "background")
	case p.negation(f, x), p.verb(f, x), p.naming(f, x), p.exception(f, x):
		return true
	case p.attribute(f), p.object(f), p.caption(f, x):
		return true
	case x.is("ordinal") && (f.verb == "undo" || f.verb == "redo" || f.empty() && p.at(1).is("verb")),
		f.names("movie") && (x.has("verb", "rotate") || x.has("verb", "spin")),
		f.names("distance") && x.has("verb", "measure"):
		p.pos++
		return true
	case x.is("also"):
		p.pos++
		f.also = true
		return true
	case x.is("asis") && len(f.objects) > 0:
		p.pos++
		return f.set("asis", true)
	case x.is("comment") && !f.empty():
		return p.remark()
	case x.is("filler") || x.is("article") || x.is("poss"):
		p.pos++
		return true
	case x.has("verb", "colored") || x.has("verb", "show") && f.verb != "":
		p.pos++
		return true
	case x.is("prep") && p.idle(f):
		p.pos++
		return true
	}
	return false
}

// caption takes a word behind "label it" that no list has, and that looks like a name, as the label's text: "label it Ca2+".
func (p *parser) caption(f *frame, x lexeme) bool {
	isName := strings.ContainsAny(x.raw(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if f.verb != "label" || f.carried || len(f.objects) != 1 || p.pos+1 != len(p.lex) || len(x.senses) > 0 || !isName {
		return false
	}
	p.pos++
	return f.set("text", x.raw())
}

// particle reads the end of a verb that is parted: "bring the loops back", "take the waters away".
func (p *parser) particle(f *frame, x lexeme) bool {
	if ends := p.pos+1 == len(p.lex) || p.at(1).is("conj") || p.at(1).is("filler"); !ends || len(f.objects) == 0 || p.onWhole(f) {
		return false
	}
	switch {
	case x.text == "back" && f.acts("bring", "show", "put", "add", "take"):
		f.verb = "show"
	case oneOf(x.text, "away", "off", "out") && f.verb == "take":
		f.verb = "hide"
	default:
		return false
	}
	return true
}

// idle tells whether a preposition adds nothing where it stands: at the end, or before another.
func (p *parser) idle(f *frame) bool {
	next := p.at(1)
	return f.verb != "" && (p.pos+1 == len(p.lex) || next.is("conj") || next.is("prep") || next.is("filler"))
}

// remark passes over what only explains: ", those are the switch regions". What has a verb of ours in it is no remark.
func (p *parser) remark() bool {
	for i := p.pos; i < len(p.lex); i++ {
		if x := p.lex[i]; x.is("verb") && !x.is("filler") || x.is("feature") {
			return false
		}
	}
	p.pos = len(p.lex)
	return true
}

// negation reads "no", "without", "do not". Behind objects it begins a clause; among interactions it leaves kinds out.
func (p *parser) negation(f *frame, x lexeme) bool {
	if !x.is("neg") && !(x.is("except") && f.has("itype")) {
		return false
	}
	p.pos++
	if f.has("itype") {
		p.skip("article", "also")
		if value, ok := p.take("itype"); ok {
			return f.put("itype_less", value)
		}
		if x := p.at(0); strings.HasPrefix(x.text, "hydrophobic") && x.is("group") {
			p.pos++ // "interactions but not hydrophobic"
			return f.put("itype_less", "hydrophobic")
		}
		return false
	}
	f.negated = !f.negated
	return true
}

// verb takes the clause's verb.
func (p *parser) verb(f *frame, x lexeme) bool {
	value, ok := x.value("verb")
	bare := len(f.attributes) == 0 || len(f.attributes) == 1 && f.has("amount")
	if behind := p.at(-1); f.acts("put", "add") && x.text == "highlight" && (behind.is("article") || behind.is("color")) {
		f.verb = "highlight" // "put a yellow highlight on Tyr134"
		p.pos++
		return true
	}
	if f.verb == "show" && bare && value == "focus" && strings.HasPrefix(x.text, "close") && len(f.objects) == 0 {
		f.verb = "" // "show me a close-up of the pocket"
	}
	if !ok || f.verb != "" && !(f.verb == "put" && bare && (!x.is("thing") || value == "rock") && !x.is("color")) {
		return false
	}
	if len(f.objects) > 0 && x.is("filler") || value == "colored" && f.has("rep") {
		return false
	}
	f.closed = f.closed || len(f.objects) > 0
	if x.text == "turn" && (p.at(1).is("direction") || p.at(1).is("view")) {
		value = "rotate" // "turn left by 30 degrees"
	}
	if value == "off" && f.has("thing") {
		f.negated = false
	}
	f.verb = value
	p.pos++
	return true
}

// exception reads "except …" behind the attributes of a clause that spoke of everything.
func (p *parser) exception(f *frame, x lexeme) bool {
	if !x.is("except") || len(f.objects) == 0 {
		return false
	}
	start := p.mark()
	p.pos++
	less, ok := p.phraseList()
	if !ok {
		p.back(start)
		return false
	}
	last := &f.objects[len(f.objects)-1]
	*last = without(*last, less)
	return true
}

// object reads a noun phrase and its role.
func (p *parser) object(f *frame) bool {
	start := p.mark()
	role := ""
	x := p.at(0)
	for (x.is("prep") && !x.has("prep", "as") || x.is("purpose")) && !p.isNearby(x, p.at(1)) {
		role, _ = x.value("prep")
		if x.is("purpose") {
			role = "purpose"
		}
		p.pos++
		x = p.at(0)
	}
	read, ok := p.phrase()
	if !ok {
		p.back(start)
		return false
	}
	read.role = role
	read = p.bareParts(f, read)
	if f.locates(read) {
		f.objects[0], f.located = both(f.objects[0], read), &read
		return true
	}
	joined := f.joined
	f.joined = false
	if joined && len(f.objects) > 0 {
		last := &f.objects[len(f.objects)-1]
		if p.sharesPart(f, *last, read) {
			*last = either(partOf(of("sidechain", "sidechain"), *last), read)
			last.kind = "sidechain"
			return true
		}
		if !f.separate(last) {
			*last = eitherKeepingRole(p.shared(*last, read), read)
			p.own(*last)
			return true
		}
		if role == "" {
			read.role = last.role
		}
	}
	f.objects = append(f.objects, read)
	return true
}

// sharesPart tells side chains that stand behind the last of several residues and are meant of each: "Tyr134 and Arg132 side
// chains".
func (p *parser) sharesPart(f *frame, last, read phrase) bool {
	ofOne := func(parts []part) bool {
		return !slices.ContainsFunc(parts, func(q part) bool { return len(q.resi) == 0 && len(q.resn) == 0 })
	}
	behind := p.at(-1).has("noun", "sidechain") && p.isResidue(p.at(-2))
	return behind && read.kind == "sidechain" && last.kind == "residue" && ofOne(last.parts) && ofOne(read.parts) && !f.closed &&
		!f.separate(&last)
}

func eitherKeepingRole(a, b phrase) phrase {
	united := either(a, b)
	united.role = a.role
	return united
}

// separate tells whether objects joined by "and" stay apart: the ends of a distance, the two sides of interactions.
func (f *frame) separate(last *phrase) bool {
	return f.bridging || last.role == "between" || f.verb == "measure" || f.names("distance") || f.names("angle")
}

// over tells whether the clause ends before the next lexeme.
func (p *parser) over(f *frame) bool {
	if p.withNoted(f) {
		p.lex[p.pos].senses = p.lexicon.phrases["then"]
	}
	if p.withAnother(f) {
		p.lex[p.pos].senses = p.lexicon.phrases["and"]
	}
	x := p.at(0)
	switch {
	case f.empty():
		return false
	case x.has("conj", "stop") || x.has("conj", "semicolon"):
		return !(x.raw() == ":" && f.verb == "" && len(f.attributes) == 0)
	case x.is("neg") && !f.has("itype") && (len(f.objects) > 0 || len(f.attributes) > 0):
		return true
	case x.is("but") && f.negated && f.has("effect"):
		return true
	case x.is("conj") || x.is("but"):
		return p.parts(f)
	case f.verb == "put" && len(f.attributes) == 0 && x.is("verb"),
		f.names("movie") && (x.has("verb", "rotate") || x.has("verb", "spin")):
		return false
	case x.is("verb") && f.verb != "" && (len(f.objects) > 0 || f.closed) && !x.has("verb", "colored"):
		return !p.continues(f) && !x.is("filler") && !x.has("verb", "show") || p.startsOver(x)
	}
	return false
}

// withAnother tells a "with" that is an "and": "the protein as ribbons with the ligand in yellow sticks".
func (p *parser) withAnother(f *frame) bool {
	if p.beforeBackground(f) {
		return true
	}
	if !p.at(0).has("prep", "with") || !f.has("rep") && !f.has("color") && !f.has("by") || f.has("itype") || f.hasHead() ||
		len(f.objects) == 0 {
		return false
	}
	start := p.mark()
	defer p.back(start)
	p.pos++
	other, ok := p.phrase()
	return ok && other.kind != "element" && other.kind != "nothing" && p.takesOwnLook()
}

// withNoted tells a "with" that begins a clause of its own: "the pocket with Arg132 highlighted in red".
func (p *parser) withNoted(f *frame) bool {
	if !p.at(0).has("prep", "with") || f.has("itype") || len(f.objects) == 0 {
		return false
	}
	start := p.mark()
	defer p.back(start)
	p.pos++
	_, ok := p.phrase()
	return ok && p.isNoted()
}

// isNoted tells a participle behind what it is about: "Arg132 labelled".
func (p *parser) isNoted() bool {
	x := p.at(0)
	return oneOf(x.text, "labeled", "labelled", "annotated", "tagged", "highlighted", "marked", "emphasized")
}

// startsOver tells a verb that can only begin a clause, even without "and" before it.
func (p *parser) startsOver(x lexeme) bool {
	return x.has("verb", "show") && (p.at(1).is("article") || p.at(1).is("noun")) && !x.is("filler") && p.at(-1).kind() != word
}

// parts tells whether a conjunction parts two clauses.
func (p *parser) parts(f *frame) bool {
	start := p.mark()
	defer p.back(start)
	p.skip("conj", "but", "also", "filler")
	x := p.at(0)
	switch {
	case p.ended():
		return true
	case x.is("comment"):
		return false
	case x.is("neg"):
		return !f.has("itype")
	case x.has("prep", "with") && f.has("itype") && oneOf(firstThing(p.at(1)), "labels", "measurements", "distance"):
		return false // "…, with distances"
	case oneOf(x.text, "tell me", "tell us", "list", "how far", "how many") && len(f.objects) > 0:
		return true
	case x.has("verb", "colored"):
		return len(f.objects) == 0 || f.has("color") || f.has("by")
	case x.is("verb") && !p.continues(f):
		return true
	case p.continues(f), p.furtherColor(f), p.furtherLook(f):
		return false
	}
	comma := p.pos == start.pos+1 && p.at(-1).text == ","
	possessive, then := p.at(0).is("poss"), p.at(-1).has("conj", "then")
	if read, ok := p.phrase(); ok {
		if then && p.isNoted() {
			return true
		}
		if len(f.objects) > 0 && isPart(read) && !read.limited && p.at(0).is("color") && f.verb != "color" &&
			!isPart(f.objects[len(f.objects)-1]) {
			return true // "show the ligand, carbons green"
		}
		if len(f.objects) > 0 && possessive && (p.at(0).is("color") || then && p.takesOwnLook()) {
			return true // "show Lys72, its carbons green"
		}
		return f.closed || p.looksAgain(f) || len(f.objects) == 0 && len(f.attributes) > 0 && !(comma && !p.takesOwnLook())
	}
	trial := frame{verb: f.verb, attributes: map[string]any{}}
	return p.attribute(&trial)
}

func firstThing(x lexeme) string {
	value, _ := x.value("thing")
	return value
}

// looksAgain tells whether what was just read has a look behind it of a kind that the clause has already: "wireframe for the
// protein, and the ligand as spheres".
func (p *parser) looksAgain(f *frame) bool {
	if !p.takesOwnLook() || len(f.objects) == 0 {
		return false
	}
	trial := frame{verb: f.verb, attributes: map[string]any{}}
	return p.attribute(&trial) && (trial.has("rep") && f.has("rep") || trial.has("color") && f.has("color"))
}

// furtherColor tells one of several colours that are dealt out: "the two monomers cyan and magenta".
func (p *parser) furtherColor(f *frame) bool {
	x, next := p.at(0), p.at(1)
	return f.has("color") && len(f.objects) > 0 && f.acts("color", "colored", "put", "") && x.is("color") && !x.is("thing") &&
		(p.pos+1 == len(p.lex) || next.is("conj") || next.is("filler"))
}

// furtherLook tells one of several representations that are dealt out: "GTP and Mg as sticks and spheres".
func (p *parser) furtherLook(f *frame) bool {
	next := p.at(1)
	return f.has("rep") && f.styled && f.acts("show", "put", "") && len(f.objects) == 1 && f.objects[0].plural &&
		p.at(0).is("rep") && (p.pos+1 == len(p.lex) || next.is("conj") || next.is("filler"))
}

// continues tells whether what comes next is an attribute that the clause still lacks.
func (p *parser) continues(f *frame) bool {
	if f.has("assembly") || f.has("model") {
		return false
	}
	start := p.mark()
	defer p.back(start)
	trial := frame{verb: f.verb, attributes: map[string]any{}}
	p.skip("conj", "but", "also", "filler")
	if p.at(0).is("verb") && !p.at(0).has("verb", "colored") && p.at(0).is("verb") && !p.at(0).is("thing") && !p.at(0).is("view") {
		return false
	}
	next := p.at(1)
	if p.at(0).text == "label" && (next.is("article") || next.is("ref") || p.isResidue(next) || startsNoun(next)) {
		return false // "…, and label the ligand"
	}
	if !p.attribute(&trial) || trial.names("background") && !f.names("background") && (f.has("by") || f.has("rep")) {
		return false
	}
	if next := p.at(0); trial.has("color") && (next.is("thing") || next.is("rep") && f.has("rep")) {
		return false
	}
	if f.has("switch") || f.negated && f.has("effect") && (p.at(0).is("on") || p.at(0).is("off")) {
		return false
	}
	for category := range trial.attributes {
		if isHead(category) && len(f.objects) > 0 && !f.has(category) && f.verb != "measure" && category != "view" {
			return false
		}
		if isHead(category) && !f.has(category) && f.hasHead() {
			return false
		}
		if f.has(category) && !repeats(category) {
			return false
		}
	}
	return true
}

// isHead tells the attributes that are what a clause is about.
func isHead(category string) bool {
	return slices.Contains([]string{"thing", "effect", "itype", "preset", "view", "model", "assembly"}, category)
}

// hasHeadBesides tells whether a clause is about something else than one of its attributes.
func (f *frame) hasHeadBesides(category string) bool {
	for other := range f.attributes {
		if other != category && isHead(other) {
			return true
		}
	}
	return false
}

func (f *frame) hasHead() bool {
	for category := range f.attributes {
		if isHead(category) {
			return true
		}
	}
	return false
}

// repeats tells the attributes that may stand several times in a clause.
func repeats(category string) bool {
	return slices.Contains([]string{"thing", "effect", "itype", "itype_less"}, category)
}
