package director

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/molfabric/molfabric/internal/structures"
)

//go:embed components.tsv
var componentTable string

// definition is what a structure and a grammar need of a chemical component.
type definition struct {
	formula string // without hydrogens: "C10 N5 O13 P3"
	names   []string
}

// usualFormula is of components that no table holds: of a drug's size, with more than one oxygen and nitrogen.
const usualFormula = "C18 N3 O3"

// builtIn are the components of the table beside this file.
var builtIn = sync.OnceValue(func() map[string]definition {
	found := map[string]definition{}
	for line := range strings.Lines(componentTable) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) > 1 && !strings.HasPrefix(line, "#") {
			found[fields[0]] = definition{fields[1], fields[2:]}
		}
	}
	return found
})

// dictionary finds components: in a deployment's dictionary where there is one, and else among the built-in ones.
type dictionary struct{ large *structures.Dictionary }

func (d dictionary) find(id string) definition {
	known := builtIn()[id]
	if d.large == nil {
		return known
	}
	if c, ok := d.large.Lookup(id); ok {
		known.formula = c.Formula
		known.names = append(append([]string{c.Name}, c.Synonyms...), known.names...)
	}
	return known
}

// elementPattern matches an element of a formula and how often it is there.
var elementPattern = regexp.MustCompile(`([A-Z][a-z]?|[A-Z]{2})([0-9]*)`)

// maxComponentAtoms bounds what a formula may ask for.
const maxComponentAtoms = 200

// heavyAtoms are the names and elements of a component's atoms: C1, C2, N1, and FE where there is only one of a metal.
func heavyAtoms(formula string) (names, elements []string) {
	if formula == "" {
		formula = usualFormula
	}
	for part := range strings.FieldsSeq(formula) {
		match := elementPattern.FindStringSubmatch(part)
		if len(match) < 3 || match[1] == "H" || match[1] == "D" {
			continue
		}
		element := strings.ToUpper(match[1])
		count, err := strconv.Atoi(match[2])
		if err != nil {
			count = 1
		}
		for i := 1; i <= count && len(names) < maxComponentAtoms; i++ {
			name := element + strconv.Itoa(i)
			if count == 1 && len(element) == 2 && element != "CL" && element != "BR" {
				name = element
			}
			names, elements = append(names, name), append(elements, element)
		}
	}
	return names, elements
}
