package director

import (
	"maps"
	"slices"
	"strings"
)

// check holds a phrase against the structure: its chains, its numbers and the names that the words gave them. What is missing is
// refused, what disagrees is a question.
func (p *parser) check(f *phrase) {
	if p.ctx.Structure == "" {
		return
	}
	for i := range f.parts {
		q := &f.parts[i]
		for _, id := range q.chain {
			if _, ok := p.ctx.chain(id); !ok && !p.hasComponentChain(id) {
				p.halt(refusal("not_found", "chain "+id, p.ctx.chainNames()))
				return
			}
		}
		p.checkNumbers(q)
	}
	if slices.ContainsFunc(f.parts, func(q part) bool { return slices.Contains(q.base, "water") }) && !p.ctx.Waters {
		p.halt(refusal("not_found", "water", ""))
	}
	if slices.ContainsFunc(f.parts, func(q part) bool { return slices.Equal(q.base, []string{"ion"}) }) && len(p.ctx.Ions) == 0 {
		p.halt(refusal("not_found", "ions", p.whatThereIs()))
	}
	p.checkNames(f)
}

func (p *parser) hasComponentChain(id string) bool {
	for _, list := range [][]Component{p.ctx.Ligands, p.ctx.Ions} {
		if slices.ContainsFunc(list, func(c Component) bool { return c.Chain == id }) {
			return true
		}
	}
	return false
}

// checkNumbers sees that each number exists, and names the chain where only one has them all.
func (p *parser) checkNumbers(q *part) {
	if len(q.resi) == 0 || len(q.resn) > 0 {
		return
	}
	candidates := q.chain
	if len(candidates) == 0 {
		candidates = p.ctx.chainIDs()
	}
	for _, number := range q.resi {
		fit := slices.DeleteFunc(slices.Clone(candidates), func(id string) bool {
			chain, _ := p.ctx.chain(id)
			return !overlaps(chain, number) && !p.isComponent(id, number)
		})
		if len(fit) == 0 {
			feature := "residue " + number
			if len(q.chain) > 0 {
				feature += " of chain " + strings.Join(q.chain, "+")
			}
			p.halt(refusal("not_found", feature, p.extents()))
			return
		}
		if len(q.chain) == 0 {
			candidates = fit
		}
	}
	if len(candidates) == 1 {
		q.chain = candidates
	}
}

func (p *parser) isComponent(chain, number string) bool {
	for _, list := range [][]Component{p.ctx.Ligands, p.ctx.Ions, p.ctx.Modified} {
		if slices.ContainsFunc(list, func(c Component) bool { return c.Chain == chain && c.Number == number }) {
			return true
		}
	}
	return false
}

// overlaps tells whether a number or a range has a residue in the chain.
func overlaps(chain Chain, number string) bool {
	first, last, isRange := strings.Cut(number, "-")
	if !isRange || first == "" {
		return chain.holds(number)
	}
	low, high := atoi(first), atoi(last)
	return chain.holds(first) || chain.holds(last) ||
		slices.ContainsFunc(chain.Ranges, func(r Range) bool { return low <= r.Last && r.First <= high })
}

// extents says which numbers the chains have.
func (p *parser) extents() string {
	var texts []string
	for _, chain := range p.ctx.Chains {
		for _, r := range chain.Ranges {
			texts = append(texts, chain.ID+" "+span(r.First, r.Last))
		}
	}
	return "the chains hold " + strings.Join(texts, ", ")
}

// checkNames asks where the words call a residue by another name than the structure does.
func (p *parser) checkNames(f *phrase) {
	if p.ctx.Residue == nil {
		return
	}
	for _, number := range slices.Sorted(maps.Keys(f.expected)) {
		for i := range f.parts {
			if slices.Contains(f.parts[i].resi, number) {
				p.checkName(&f.parts[i], number, f.expected[number])
			}
		}
	}
}

func (p *parser) checkName(q *part, number, expected string) {
	chains := q.chain
	if len(chains) == 0 {
		chains = p.ctx.chainsWith(number)
	}
	var right, wrong []string
	for _, id := range chains {
		name, ok := p.ctx.Residue(id, number)
		if !ok || name == expected {
			right = append(right, id)
		} else {
			wrong = append(wrong, id+"/"+name+"/"+number)
		}
	}
	switch {
	case len(right) == 0 && len(wrong) > 0:
		p.halt(question("residue", wrong))
	case len(wrong) > 0:
		q.chain = right
	}
}
