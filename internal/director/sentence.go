package director

import (
	"slices"
	"strings"
)

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
