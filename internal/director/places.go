package director

import (
	"slices"
	"strings"
)

// ask ends the message with a question among choices, for a selection that is not known yet.
func (p *parser) ask(about string, choices []Choice, sel string) {
	if p.stop != nil {
		return
	}
	names := make([]string, len(choices))
	for i, choice := range choices {
		names[i] = choice.Name
	}
	p.halt(question(about, names))
	p.open = &opening{about: about, choices: choices, sel: sel}
}

// waiting is the pending question of a message, or nil when its answer would have to be a message of its own.
func (p *parser) waiting(operations []Operation) *Pending {
	if p.open == nil || len(p.open.choices) == 0 {
		return nil
	}
	for i, operation := range operations {
		for _, argument := range []string{"sel", "of", "with", "through", "around"} {
			if operation.Args[argument] == p.open.sel {
				return &Pending{Operations: operations, Index: i, Argument: argument, About: p.open.about, Choices: p.open.choices}
			}
		}
		ends, _ := operation.Args["between"].([]string)
		if position := slices.Index(ends, p.open.sel); position >= 0 {
			return &Pending{Operations: operations, Index: i, Argument: "between", Position: position, About: p.open.about,
				Choices: p.open.choices}
		}
	}
	return nil
}

// single is the selection for an operation that needs one place. Where several fit and none was in focus, it is a question.
func (p *parser) single(f phrase) string {
	text := f.text()
	if f.kind == "nothing" {
		p.askTarget(text)
		return text
	}
	if p.unknownAtom(f, text) || f.plural {
		return text
	}
	choices := p.instances(f)
	if len(choices) < 2 {
		return text
	}
	for _, choice := range choices {
		if p.inFocus(choice, f) {
			return choice.Selection
		}
	}
	about := "chain"
	if f.kind == "ligand" || f.kind == "pocket" || f.kind == "site" || f.kind == "ion" {
		about = "ligand"
	}
	p.ask(about, choices, text)
	return text
}

// inFocus tells whether a choice is what the last operation was about.
func (p *parser) inFocus(choice Choice, f phrase) bool {
	if p.last == "" || p.last == p.hidden {
		return false
	}
	if p.last == choice.Selection {
		return true
	}
	_, chain, _ := strings.Cut(choice.Selection, "chain ")
	chain, _, _ = strings.Cut(chain, " ")
	return f.kind == "residue" && slices.Contains(chainsIn(p.last), chain) && len(chainsIn(p.last)) == 1 &&
		!strings.Contains(p.last, "not ")
}

// chainsIn are the chains that a selection names.
func chainsIn(sel string) []string {
	var ids []string
	for rest := sel; ; {
		_, after, found := strings.Cut(rest, "chain ")
		if !found {
			return ids
		}
		names, remaining, _ := strings.Cut(after, " ")
		ids = union(ids, strings.Split(strings.Trim(names, "()"), "+"))
		rest = remaining
	}
}

// unknownAtom asks which atom is meant where an element of a component was named and there are several.
func (p *parser) unknownAtom(f phrase, text string) bool {
	if f.kind != "element" || f.plural || p.ctx.Atoms == nil || len(f.parts) != 1 || len(f.parts[0].elem) != 1 {
		return false
	}
	names := p.componentsOf(f.parts[0])
	if len(names) != 1 {
		return false
	}
	element := f.parts[0].elem[0]
	atoms := p.ctx.Atoms(names[0], element)
	if len(atoms) < 2 {
		return false
	}
	q := f.parts[0]
	q.elem = nil
	choices := make([]Choice, len(atoms))
	for i, atom := range atoms {
		q.name = []string{atom}
		choices[i] = Choice{atom, q.text()}
	}
	p.ask("target", choices, text)
	return true
}

// componentsOf are the names of the components that a part is about.
func (p *parser) componentsOf(q part) []string {
	if len(q.resn) > 0 {
		return q.resn
	}
	var names []string
	if slices.Contains(q.base, "ligand") {
		for _, ligand := range p.ctx.mainLigands() {
			names = union(names, []string{ligand.Name})
		}
	}
	return names
}

// instances are the places that a phrase fits.
func (p *parser) instances(f phrase) []Choice {
	if f.centre != nil {
		return p.pocketInstances(f)
	}
	if len(f.parts) != 1 {
		return nil
	}
	q := f.parts[0]
	names := p.componentsOf(q)
	switch {
	case len(names) > 0 && f.kind != "residue":
		return p.componentInstances(q, names)
	case len(q.resi) > 0 && len(q.chain) != 1:
		chains := q.chain
		if len(chains) == 0 {
			chains = p.ctx.chainsWith(strings.Split(q.resi[0], "-")[0])
		}
		q.chain = nil
		choices := make([]Choice, len(chains))
		for i, id := range chains {
			q.chain = []string{id}
			choices[i] = Choice{id, q.text()}
		}
		return choices
	}
	return nil
}

func (p *parser) componentInstances(q part, names []string) []Choice {
	var fit []Component
	for _, name := range names {
		for _, component := range p.ctx.components(name) {
			inChain := len(q.chain) == 0 || slices.Contains(q.chain, component.Chain)
			numbered := len(q.resi) == 0 || slices.Contains(q.resi, component.Number)
			if inChain && numbered {
				fit = append(fit, component)
			}
		}
	}
	return choicesOf(fit)
}

// pocketInstances are pockets around each of what the centre fits.
func (p *parser) pocketInstances(f phrase) []Choice {
	choices := p.instances(*f.centre)
	for i := range choices {
		choices[i].Selection = near(f.radius, of("", choices[i].Selection)).text()
	}
	return choices
}

// answer reads the answer to the pending question: one of its choices, by name, by chain, by its place in the list. Anything else
// is no answer.
func (p *parser) answer() (Understanding, bool) {
	pending := p.ctx.Pending
	if pending == nil || len(pending.Operations) <= pending.Index || len(p.lex) > 12 {
		return Understanding{}, false
	}
	chosen := -1
	for i, x := range p.lex {
		index, isChoice := p.choice(pending.Choices, x)
		switch {
		case isChoice && chosen >= 0 && chosen != index && !x.is("article"):
			return Understanding{}, false
		case isChoice && (chosen < 0 || !x.is("article")):
			chosen = index
		case isChoice || p.fillsAnswer(i, x):
		default:
			return Understanding{}, false
		}
	}
	if chosen < 0 {
		return Understanding{}, false
	}
	return Understanding{Operations: answered(pending, pending.Choices[chosen].Selection)}, true
}

// fillsAnswer tells the words that may stand round an answer.
func (p *parser) fillsAnswer(at int, x lexeme) bool {
	if at+1 < len(p.lex) && x.is("article") {
		return true
	}
	return x.is("filler") || x.is("conj") || x.has("word", "chain") || x.has("word", "copy") || x.is("prep") ||
		x.has("noun", "ligand") ||
		x.is("article") || x.has("word", "atom") || x.has("word", "residue") || x.is("component") || x.is("ref") ||
		x.is("quant") || x.is("yes")
}

// choice finds the choice that a word names.
func (p *parser) choice(choices []Choice, x lexeme) (int, bool) {
	raw := x.raw()
	for i, choice := range choices {
		fields := strings.Split(choice.Name, "/")
		if strings.EqualFold(raw, choice.Name) {
			return i, true
		}
		if len(fields) == 3 && (raw == fields[1] && p.alone(choices, 1, raw) || raw == fields[2] && p.alone(choices, 2, raw) ||
			strings.EqualFold(raw, fields[0]) && p.alone(choices, 0, fields[0])) {
			return i, true
		}
	}
	ordinals := map[string]int{"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5, "last": len(choices) - 1}
	if value, ok := x.value("ordinal"); ok {
		index, known := ordinals[value]
		return index, known && index < len(choices)
	}
	return 0, false
}

// alone tells whether only one choice has a value in a field of its name.
func (p *parser) alone(choices []Choice, field int, value string) bool {
	count := 0
	for _, choice := range choices {
		if fields := strings.Split(choice.Name, "/"); len(fields) == 3 && fields[field] == value {
			count++
		}
	}
	return count == 1
}

// answered are the operations of a pending question with its gap filled.
func answered(pending *Pending, sel string) []Operation {
	operations := slices.Clone(pending.Operations)
	operation := operations[pending.Index]
	args := map[string]any{}
	for name, value := range operation.Args {
		args[name] = value
	}
	if ends, ok := args[pending.Argument].([]string); ok {
		ends = slices.Clone(ends)
		if pending.Position < len(ends) {
			ends[pending.Position] = sel
		}
		args[pending.Argument] = ends
	} else {
		args[pending.Argument] = sel
	}
	operations[pending.Index] = Operation{operation.Op, args}
	return operations
}
