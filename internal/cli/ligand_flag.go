package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/smiles"
)

// componentPrefix marks a component of the Chemical Component Dictionary; no SMILES begins with it.
const componentPrefix = "ccd:"

var (
	// codeForm is what people call compounds and what may be a SMILES at once: CC, BOC, PCP.
	codeForm = regexp.MustCompile(`^[\p{L}\p{N}_-]+$`)
	// heads begin so many SMILES, as in O=C(O)c1ccccc1, that nobody means a compound of that name.
	heads = []string{"O", "N", "S"}
)

// parseLigand reads NAME=SMILES, NAME=ccd:STI, or either of them without a name, which leaves the label of a SMILES empty. A name
// is any text. A SMILES has "=" of its own, so a flag that is a molecule as a whole is one, unless a name may well be meant.
func parseLigand(flag string) (ligand, error) {
	flag = strings.TrimSpace(flag)
	name, rest, found := strings.Cut(flag, "=")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	whole := smiles.Plausible(flag)
	switch {
	case strings.HasPrefix(flag, componentPrefix):
		return componentOf(flag, "", flag)
	case !found && !whole:
		return ligand{}, usage(`--ligand %q: write NAME=SMILES, such as aspirin="CC(=O)Oc1ccccc1C(=O)O", or NAME=ccd:ID, such as `+
			`imatinib=ccd:STI`, flag)
	case found && name == "":
		return ligand{}, usage("--ligand %q: there is no name in front of the first =", flag)
	case strings.HasPrefix(rest, componentPrefix):
		return componentOf(flag, name, rest)
	case whole && smiles.Plausible(rest) && codeForm.MatchString(name) && !slices.Contains(heads, name):
		return ligand{}, usage("--ligand %q reads in two ways. Write --ligand %q for a ligand called %s, or --ligand %q for the "+
			"molecule %s", flag, name+" = "+rest, name, "NAME="+flag, flag)
	case whole || unbalanced(name):
		name, rest = "", flag
	}
	entry := ligand{label: name, smiles: rest}
	if err := entry.check(); err != nil {
		return ligand{}, usage("--ligand %q: %v", flag, err)
	}
	switch err := smiles.Check(rest); {
	case err != nil && componentForm.MatchString(rest):
		return ligand{}, usage("--ligand %q: %q is no SMILES; a component of the PDB is written %s%s", flag, rest, componentPrefix,
			rest)
	case err != nil:
		return ligand{}, usage("--ligand %q: %q is no SMILES: %v", flag, rest, err)
	}
	return entry, nil
}

// componentOf reads ccd:ID. A component without a name is called by its id.
func componentOf(flag, name, text string) (ligand, error) {
	id := strings.ToUpper(strings.TrimPrefix(text, componentPrefix))
	if !componentForm.MatchString(id) {
		return ligand{}, usage("--ligand %q: a component's id has 1 to 8 letters and digits; `molfabric ligands NAME` looks it up",
			flag)
	}
	return ligand{label: first(name, id), componentID: id}, nil
}

// unbalanced reports whether a text ends within parentheses or brackets: no name does, but a SMILES that is cut at its first "=".
func unbalanced(text string) bool {
	return strings.Count(text, "(") != strings.Count(text, ")") || strings.Count(text, "[") != strings.Count(text, "]")
}
