package scene

import (
	"fmt"
	"slices"
	"strings"
)

// nothing refuses a selection that means no atoms. It names the part that is not there, and what is.
func (a *applier) nothing(s Selection) error {
	var chains, components []string
	for _, t := range a.tables {
		chains = append(chains, t.Chains()...)
		for _, r := range t.Components(Ligand, Additive, Ion, Branched) {
			if !slices.Contains(components, r.Name) {
				components = append(components, r.Name)
			}
		}
	}
	feature, alternative := s.String(), ""
	anywhere(s.root, func(n node) bool {
		switch n := n.(type) {
		case names:
			if missing := a.missingNames(n, chains); missing != "" {
				feature, alternative = n.field+" "+missing, a.alternativesTo(n.field, chains, components)
				return true
			}
		case numbers, word:
			if text := n.print(tight); a.isEmptyAnywhere(text) {
				feature, alternative = text, a.alternativesToPart(n, components)
				return true
			}
		}
		return false
	})
	return refusal(notFound, feature, alternative)
}

func (a *applier) isEmptyAnywhere(text string) bool {
	return !slices.ContainsFunc(a.resolve(text), func(s Set) bool { return !s.isEmpty() })
}

// missingNames are those of a list that are in no structure.
func (a *applier) missingNames(n names, chains []string) string {
	var missing []string
	for _, name := range n.list {
		if n.field == "chain" && slices.Contains(chains, name) {
			continue
		}
		if n.field != "chain" && !a.isEmptyAnywhere(n.field+" "+name) {
			continue
		}
		missing = append(missing, name)
	}
	return strings.Join(missing, "+")
}

func (a *applier) alternativesTo(field string, chains, components []string) string {
	switch {
	case field == "chain":
		return "chains " + strings.Join(chains, ", ")
	case field == "resn" && len(components) > 0:
		return "components " + strings.Join(components, ", ")
	}
	return ""
}

func (a *applier) alternativesToPart(n node, components []string) string {
	if _, ok := n.(numbers); ok {
		var ranges []string
		for _, t := range a.tables {
			ranges = append(ranges, t.ranges()...)
		}
		return "residues " + strings.Join(ranges, ", ")
	}
	if len(components) > 0 {
		return "components " + strings.Join(components, ", ")
	}
	return ""
}

// ranges are the numbers of the chains' residues: "A 1-137".
func (t *Table) ranges() []string {
	var texts []string
	for _, chain := range t.Chains() {
		low, high, found := 0, 0, false
		for _, r := range t.Residues {
			if r.Chain != chain || !r.Kind.inChain() {
				continue
			}
			if !found {
				low, high, found = r.Number, r.Number, true
			}
			low, high = min(low, r.Number), max(high, r.Number)
		}
		if found {
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %d-%d", chain, low, high)))
		}
	}
	return texts
}
