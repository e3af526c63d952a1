package director

import (
	"slices"
	"strings"
)

// asked is what a question mentions.
type asked struct {
	objects      []phrase
	contacts     bool
	far          bool
	pocket       bool
	sequence     bool
	selected     bool
	scene        bool
	counts       bool
	unknown      bool
	chains       bool
	pointsAtThis bool
	residues     bool
}

// question reads a question in words. False when the message is none, or asks for what is not told here.
func (p *parser) question() ([]Operation, bool) {
	start := p.mark()
	p.skip("filler", "conj")
	if x := p.at(0); x.is("help") && p.onlyFillers(p.pos+1) {
		return one("describe", map[string]any{"about": "help"}), true
	}
	if p.at(0).has("verb", "show") && p.at(1).is("question") &&
		(p.at(2).has("prep", "around") || p.at(2).has("prep", "within")) {
		p.back(start) // "show me what's around Phe15" is to be drawn
		return nil, false
	}
	if p.at(0).has("verb", "show") && p.at(1).has("question", "what") && !p.at(0).is("question") && p.at(1).text != "is" {
		p.pos++ // "show me which residues it binds"
	}
	x := p.at(0)
	isSequence := strings.Contains(x.text, "sequence") && (!x.is("prop") || p.at(1).has("prep", "of")) ||
		x.has("verb", "show") && p.names("askword", "sequence")
	if !x.is("question") && !isSequence && !(p.isQuestion() && p.names("thing", "distance")) {
		p.back(start)
		return nil, false
	}
	q := p.mentions()
	q.sequence = q.sequence || isSequence
	operations, ok := p.tell(q)
	if isShown := p.lex[0].has("verb", "show") && x.has("question", "what") && x.text == "how"; ok && isShown && q.contacts {
		operations = p.shown(operations)
	}
	if !ok {
		p.back(start)
	}
	return operations, ok
}

// shown draws the interactions that a question is about: "show how the magnesium is coordinated".
func (p *parser) shown(operations []Operation) []Operation {
	last := &operations[len(operations)-1]
	if last.Op != "describe" || last.Args["about"] != "interactions" {
		return operations
	}
	args := map[string]any{"of": last.Args["sel"]}
	for _, x := range p.lex {
		if kind, ok := x.value("itype"); ok && kind != "all" {
			args["types"] = []string{kind}
		}
	}
	return one("interactions", args)
}

// names tells whether the message has a phrase of a sense.
func (p *parser) names(category, value string) bool {
	return slices.ContainsFunc(p.lex, func(x lexeme) bool { return x.has(category, value) })
}

// hasText tells whether the message has one of several phrases.
func (p *parser) hasText(phrases ...string) bool {
	return slices.ContainsFunc(p.lex, func(x lexeme) bool { return slices.Contains(phrases, x.text) })
}

func (p *parser) isQuestion() bool {
	return len(p.lex) > 0 && p.lex[len(p.lex)-1].raw() == "?"
}

func (p *parser) onlyFillers(from int) bool {
	for _, x := range p.lex[min(from, len(p.lex)):] {
		if !x.is("filler") && !x.is("conj") && !x.is("help") && !x.is("prep") && !x.is("article") {
			return false
		}
	}
	return true
}

// mentions collects what a question speaks of.
func (p *parser) mentions() asked {
	var q asked
	for !p.ended() {
		x := p.at(0)
		switch {
		case x.has("thing", "resolution"):
			p.halt(refusal("unsupported", "resolution", "the entry's page at the PDB says so"))
		case x.is("itype"):
			q.contacts = true
		case x.is("far") || x.has("thing", "distance"):
			q.far = true
		case x.has("question", "what") && x.text != "is" && x.text != "are":
			q.counts = q.counts || strings.Contains(x.text, "many") || strings.Contains(x.text, "list") ||
				strings.Contains(x.text, "count")
		case x.is("askword") && !(x.is("selected") && p.at(1).has("word", "residue")):
			value, _ := x.value("askword")
			q.sequence, q.selected, q.scene = q.sequence || value == "sequence", q.selected || value == "selected", q.scene ||
				value == "scene"
		case p.mention(&q):
			continue
		case x.is("question") || x.is("filler") || x.is("article") || x.is("prep") || x.is("conj") || x.is("also") ||
			x.is("verb") || x.is("poss") ||
			x.is("rep") || x.is("thing") || x.is("quant"):
			q.scene = q.scene || x.has("thing", "scene")
		default:
			q.unknown = true
		}
		p.pos++
	}
	return q
}

// mention reads a noun phrase of a question.
func (p *parser) mention(q *asked) bool {
	x := p.at(0)
	around := phrase{kind: "residue", plural: true, generic: true, parts: []part{{base: []string{"protein"}}}}
	if f, ok := p.spatial(around); ok {
		q.note(f)
		return true
	}
	if x.is("prep") {
		role, _ := x.value("prep")
		start := p.mark()
		p.pos++
		f, ok := p.phrase()
		if !ok {
			p.back(start)
			return false
		}
		f.role = role
		q.note(f)
		return true
	}
	f, ok := p.phrase()
	if ok {
		q.note(f)
	}
	return ok
}

func (q *asked) note(f phrase) {
	switch f.kind {
	case "nothing", "ref":
		q.pointsAtThis = true
	case "pocket", "site":
		q.pocket = true
	case "chains":
		q.chains = true
	}
	q.residues = q.residues || f.generic && f.kind == "residue"
	if f.kind != "nothing" && !(f.generic && f.kind == "residue") {
		q.objects = append(q.objects, f)
	}
}

// tell decides what a question is about.
func (p *parser) tell(q asked) ([]Operation, bool) {
	describe := func(about string, more ...string) ([]Operation, bool) {
		args := map[string]any{"about": about}
		if len(more) > 0 && more[0] != "" {
			args["sel"] = more[0]
		}
		return one("describe", args), true
	}
	kinds := map[string]phrase{}
	for _, f := range q.objects {
		kinds[f.kind] = f
	}
	_, hasLigand := kinds["ligand"]
	switch {
	case p.names("superlative", "closest") && len(q.objects) > 0 && !q.chains && kinds["chain"].kind == "":
		p.halt(refusal("unsupported", "what is closest", "ask which residues are within 4 Å"))
		return nil, true
	case q.unknown:
		return nil, false
	case q.far:
		return p.tellDistance(q)
	case q.contacts && hasLigand && q.ofChain() != nil:
		beside := both(near("5", kinds["ligand"]), *q.ofChain()) // of that chain alone
		return describe("selection", beside.text())
	case q.contacts:
		return describe("interactions", p.contactSubject(q))
	case len(q.objects) > 0 && q.objects[0].role == "between" && kinds["chain"].kind != "":
		return describe("interactions", q.objects[0].text())
	case q.sequence:
		return describe("sequence", firstText(q.objects, "chain"))
	case q.selected && len(q.objects) == 0:
		return describe("selection", p.ctx.Selected)
	case q.pocket:
		return p.tellPocket(q)
	case kinds["water"].kind != "" && len(q.objects[0].parts[0].base) == 1:
		return describe("waters")
	case q.hasSelection():
		return describe("selection", q.selection())
	case q.counts && q.residues:
		return describe("chains")
	case q.counts && q.chains && len(q.objects) > 1:
		return describe("scene")
	case q.chains || kinds["chain"].kind != "" || kinds["polymer"].kind != "":
		return describe("chains")
	case hasLigand || kinds["ion"].kind != "" || kinds["metal"].kind != "" || kinds["branched"].kind != "":
		return describe("ligands")
	case q.scene || q.pointsAtThis && p.ctx.Selected == "" && p.last == "" || kinds["all"].kind != "" ||
		kinds["structure"].kind != "":
		return describe("scene")
	case q.pointsAtThis:
		sel := p.ctx.Selected
		if sel == "" {
			sel = p.last
		}
		return describe("selection", sel)
	case kinds["protein"].kind != "" && q.counts || kinds["nucleic"].kind != "":
		return describe("chains")
	case kinds["protein"].kind != "":
		return describe("scene")
	}
	return nil, false
}

// ofChain is the chain, or all residues of one, that a question is limited to; nil for none.
func (q asked) ofChain() *phrase {
	for _, f := range q.objects {
		if len(f.parts) != 1 || !oneOf(f.kind, "chain", "residue") {
			continue
		}
		if only := f.parts[0]; len(only.chain) == 1 && len(only.resi)+len(only.resn)+len(only.name) == 0 {
			return &phrase{kind: "chain", parts: []part{{chain: only.chain}}}
		}
	}
	return nil
}

// hasSelection tells whether a question names residues that can be listed.
func (q asked) hasSelection() bool {
	return q.selection() != ""
}

func (q asked) selection() string {
	var found *phrase
	for _, f := range q.objects {
		switch {
		case f.generic || !oneOf(f.kind, "residue", "atom", "water") && !isSort(f):
		case found == nil:
			found = &f
		case isSort(f) && strings.HasPrefix(found.text(), "byres ("):
			limited := both(*found, f) // "which residues are near the ligand and polar"
			found = &limited
		default:
			united := either(*found, f)
			found = &united
		}
	}
	if found == nil {
		return ""
	}
	return found.text()
}

func firstText(objects []phrase, kind string) string {
	for _, f := range objects {
		if f.kind == kind {
			return f.text()
		}
	}
	return ""
}

// tellDistance describes how far two places are apart.
func (p *parser) tellDistance(q asked) ([]Operation, bool) {
	ends := p.endsOf(q.objects)
	if len(ends) == 1 && p.last != "" {
		last, _ := p.pointed(p.last)
		ends = append(ends, last)
	}
	if len(ends) != 2 {
		return nil, false
	}
	between := []string{p.single(ends[0]), p.single(ends[1])}
	return one("describe", map[string]any{"about": "distance", "between": between}), true
}

// contactSubject is what the contacts that a question is about are of.
func (p *parser) contactSubject(q asked) string {
	for _, kind := range []string{"ligand", "ref", "residue", "chain", "ion", "metal", "water", "element"} {
		for _, f := range q.objects {
			if f.kind == kind && !(kind == "ref" && p.last == "") {
				return p.single(f)
			}
		}
	}
	return p.single(p.subject())
}

// tellPocket shows the pocket and names its residues.
func (p *parser) tellPocket(q asked) ([]Operation, bool) {
	for _, f := range q.objects {
		if f.centre != nil {
			args := map[string]any{"of": p.single(*f.centre)}
			if f.radius != "5" {
				args["radius"] = atof(f.radius)
			}
			return []Operation{{"pocket", args}, {"describe", map[string]any{"about": "selection", "sel": f.text()}}}, true
		}
	}
	return nil, false
}
