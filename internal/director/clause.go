package director

import (
	"slices"
	"strings"
)

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
