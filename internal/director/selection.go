package director

import (
	"slices"
	"strings"
)

// part is one conjunction of a selection: all of its terms hold. Its text is in the selection language, in author numbering.
type part struct {
	base                          []string
	resn, chain, resi, name, elem []string
}

// phrase is what a noun phrase selects: any of its parts.
type phrase struct {
	parts []part
	// kind is what sort of thing the head of the phrase is: "chain", "residue", "ligand", "water", "pocket", "ref" …
	kind string
	// plural tells that all are meant where several fit.
	plural bool
	// role is the preposition that the phrase stood behind: "", "of", "between", "except" …
	role string
	// expected are the names that the words gave residues, by number: checked against the structure.
	expected map[string]string
	// generic tells that the head says nothing by itself: "residues", "atoms".
	generic bool
	// chainLess tells what is left of a chain: as the chain itself, it means the polymer where looks are concerned.
	chainLess bool
	// limited tells that more than the head says what is meant, and limitsAt where that begins; sort is the kind of what was
	// joined before things of several kinds were.
	limited  bool
	limitsAt int
	sort     string
	// beside is the chain that is not meant where looks are concerned: the peptide beside its protein.
	beside string
	// centre and radius are what a pocket is around, and how far it reaches in ångström.
	centre *phrase
	radius string
}

func (q part) text() string {
	var terms []string
	for _, base := range q.base {
		if base != "polymer" {
			terms = append(terms, base)
		}
	}
	for _, field := range []struct {
		word   string
		values []string
	}{{"resn", q.resn}, {"chain", q.chain}, {"resi", q.resi}, {"name", q.name}, {"elem", q.elem}} {
		if len(field.values) > 0 {
			terms = append(terms, field.word+" "+strings.Join(field.values, "+"))
		}
	}
	if slices.Contains(q.base, "polymer") {
		terms = append(terms, "polymer")
	}
	if len(terms) == 0 {
		return "all"
	}
	if len(terms) > 1 {
		for i := range terms {
			terms[i] = group(terms[i])
		}
	}
	return strings.Join(terms, " and ")
}

// group puts brackets round a selection of several alternatives.
func group(sel string) string {
	if strings.Contains(outside(sel), " or ") {
		return "(" + sel + ")"
	}
	return sel
}

// outside is a selection without what stands in brackets.
func outside(sel string) string {
	var kept strings.Builder
	depth := 0
	for _, r := range sel {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0:
			kept.WriteRune(r)
		}
	}
	return kept.String()
}

// operand puts brackets round what is more than one term, for "within r of" and "not".
func operand(sel string) string {
	if plain := outside(sel); strings.Contains(plain, " or ") || strings.Contains(plain, " and ") {
		return "(" + sel + ")"
	}
	return sel
}

func (f phrase) text() string {
	texts := make([]string, 0, len(f.parts))
	for _, q := range f.parts {
		if text := q.text(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " or ")
}

// of makes a phrase of one term.
func of(kind, base string) phrase { return phrase{kind: kind, parts: []part{{base: []string{base}}}} }

// merge is the conjunction of two parts. What both say is kept as a term of its own.
func merge(a, b part) part {
	merged := part{base: union(a.base, b.base), resn: a.resn, chain: a.chain, resi: a.resi, name: a.name, elem: a.elem}
	var clash part
	pick := func(into *[]string, values []string, spare *[]string) {
		switch {
		case len(*into) == 0:
			*into = values
		case len(values) > 0 && !slices.Equal(*into, values):
			*spare = values
		}
	}
	pick(&merged.resn, b.resn, &clash.resn)
	pick(&merged.chain, b.chain, &clash.chain)
	pick(&merged.resi, b.resi, &clash.resi)
	pick(&merged.name, b.name, &clash.name)
	pick(&merged.elem, b.elem, &clash.elem)
	if text := clash.text(); text != "all" {
		merged.base = append(slices.Clone(merged.base), text)
	}
	return merged
}

// both is the conjunction of two phrases; the head's kind stays.
func both(head, limit phrase) phrase {
	var parts []part
	for _, a := range head.parts {
		for _, b := range limit.parts {
			parts = append(parts, merge(a, b))
		}
	}
	head.parts = parts
	head.expected = joined(head.expected, limit.expected)
	return head
}

// either is the union of two phrases. Parts that differ in one list only become one part with the longer list.
func either(a, b phrase) phrase {
	parts := slices.Clone(a.parts)
	for _, q := range b.parts {
		if last := len(parts) - 1; last >= 0 {
			if both, ok := together(parts[last], q); ok {
				parts[last] = both
				continue
			}
		}
		parts = append(parts, q)
	}
	a.parts = parts
	if a.kind != b.kind {
		if a.kind != "mixed" {
			a.sort = a.kind
		}
		a.kind = "mixed"
	}
	a.plural, a.limited = true, a.limited || b.limited
	a.expected = joined(a.expected, b.expected)
	return a
}

// together joins two parts that differ in one list.
func together(a, b part) (part, bool) {
	if !slices.Equal(a.base, b.base) || len(a.name)+len(a.elem)+len(b.name)+len(b.elem) > 0 {
		return part{}, false
	}
	different := 0
	for _, pair := range [][2][]string{{a.resn, b.resn}, {a.chain, b.chain}, {a.resi, b.resi}} {
		if slices.Equal(pair[0], pair[1]) {
			continue
		}
		different++
		if len(pair[0]) == 0 || len(pair[1]) == 0 {
			return part{}, false
		}
	}
	a.resn, a.chain, a.resi = union(a.resn, b.resn), union(a.chain, b.chain), union(a.resi, b.resi)
	return a, different == 1
}

// union appends what is new, without touching either list.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, value := range b {
		if !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}

func joined(a, b map[string]string) map[string]string {
	if len(a) == 0 {
		return b
	}
	all := map[string]string{}
	for _, names := range []map[string]string{a, b} {
		for number, name := range names {
			all[number] = name
		}
	}
	return all
}

// without is a phrase less another.
func without(f, less phrase) phrase {
	term := "not " + operand(less.text())
	f.parts = slices.Clone(f.parts)
	for i := range f.parts {
		base := slices.DeleteFunc(slices.Clone(f.parts[i].base), func(b string) bool { return b == "all" })
		base = append(base, term)
		f.parts[i].base = base
	}
	f.chainLess = f.kind == "chain"
	f.kind = "except"
	return f
}

// near are the residues of the protein within a distance of a phrase.
func near(radius string, centre phrase) phrase {
	return phrase{kind: "residue", plural: true,
		parts: []part{{base: []string{"byres (protein and within " + radius + " of " + operand(centre.text()) + ")"}}}}
}
