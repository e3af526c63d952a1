package docking

import (
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/fault"
)

// interactionTypes are the kinds of contact between a ligand and a receptor (doc/contract.md §2.10).
var interactionTypes = []string{
	"hydrogen_bond", "hydrophobic", "pi_stacking", "pi_cation", "salt_bridge", "halogen_bond", "water_bridge", "metal_complex",
}

// anyPart stands for any value of a part of an interaction's key.
const anyPart = "*"

// interactionPattern asks for an interaction by the parts of its key, chain:residueName:residue[+insertionCode]:type.
type interactionPattern struct {
	Parts [4]string
}

// The forms of a key's parts. A structure without chains has the empty one.
var (
	chainForm       = regexp.MustCompile(`^[^\s*]{0,16}$`)
	residueNameForm = regexp.MustCompile(`^[A-Za-z0-9]{1,8}$`)
	residueForm     = regexp.MustCompile(`^-?[0-9]{1,5}[A-Za-z0-9]{0,4}$`)
)

// patternsOf reads the interactions that a query asks for. Errors: fault.Validation naming the form.
func patternsOf(asked []string) ([]interactionPattern, error) {
	patterns := make([]interactionPattern, len(asked))
	for i, text := range asked {
		pattern, ok := patternOf(text)
		if !ok {
			return nil, fault.New(fault.Validation, "interaction: expected chain:residueName:residue:type, such as "+
				"A:ASP:381:hydrogen_bond, with an insertion code "+
				"right behind the residue's number and * for any of a part; type is one of %s",
				strings.Join(interactionTypes, ", "))
		}
		patterns[i] = pattern
	}
	return patterns, nil
}

func patternOf(text string) (interactionPattern, bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return interactionPattern{}, false
	}
	p := interactionPattern{Parts: [4]string(parts)}
	ok := (p.Parts[0] == anyPart || chainForm.MatchString(p.Parts[0])) &&
		(p.Parts[1] == anyPart || residueNameForm.MatchString(p.Parts[1])) &&
		(p.Parts[2] == anyPart || residueForm.MatchString(p.Parts[2])) &&
		(p.Parts[3] == anyPart || slices.Contains(interactionTypes, p.Parts[3]))
	return p, ok
}

// key is the pattern as the one key that it asks for; false when a part may be anything.
func (p interactionPattern) key() (string, bool) {
	return strings.Join(p.Parts[:], ":"), !slices.Contains(p.Parts[:], anyPart)
}
