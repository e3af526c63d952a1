package director

import (
	"slices"
	"strconv"
	"strings"
)

// Context is what the grammar must know of the world to read a sentence. The zero value is a session with nothing loaded.
type Context struct {
	// Structure names what is loaded ("1CBS", "AF-P04637-F1", "pose:…"); empty when nothing is.
	Structure string
	Title     string
	// Predicted tells that the coordinates come from a prediction, so that there is a pLDDT.
	Predicted bool
	// Glycans tells that there are branched carbohydrates.
	Glycans bool
	Waters  bool
	Chains  []Chain
	// Ligands are the components that are neither polymer, ion nor water, as deposited: solvents and lipids are among them.
	Ligands []Component
	Ions    []Component
	// Modified are residues of a chain that have names of their own.
	Modified   []Component
	Assemblies []string
	// Models counts the models; 0 and 1 are the same.
	Models int
	// Volumes are the maps that the account has, as sources of the operation volume.
	Volumes []string
	// Shown are the layers of the scene as "selection: representation", and words such as "labels" and "spin".
	Shown []string
	// Selected is what is selected in the viewer, as a selection.
	Selected string
	// Last is the selection of the last operation that had one: what "it" means.
	Last string
	// LastOf is the last selection of a kind: "residue", "chain", "ligand", "water", "atom".
	LastOf map[string]string
	// Named are the selections that the session has given a name.
	Named map[string]string
	// Synonyms are names of the structure's components in small letters: "imatinib" to "STI".
	Synonyms map[string]string
	// Pending is the question that the last message left.
	Pending *Pending
	// Residue is the name of a residue by author numbering; nil when nobody knows.
	Residue func(chain, number string) (name string, ok bool)
	// Atoms are the names of a component's atoms of one element; nil when nobody knows.
	Atoms func(component, element string) []string
}

// Chain is a polymer chain in author numbering.
type Chain struct {
	ID string
	// Kind is "protein" or "nucleic".
	Kind   string
	Ranges []Range
}

// Range is of author residue numbers, both ends within.
type Range struct{ First, Last int }

// Component is one instance of a chemical component, in author numbering.
type Component struct{ Name, Chain, Number string }

// String is the form of choices: "STI/A/201".
func (c Component) String() string { return c.Name + "/" + c.Chain + "/" + c.Number }

// Pending is a question that waits for its answer: the operations of a turn, and the argument that one of them lacks.
type Pending struct {
	Operations []Operation
	// Index is of the operation that waits, Argument the name of its argument ("sel", "of", "between").
	Index    int
	Argument string
	// Position is within an argument that is a list.
	Position int
	About    string
	Choices  []Choice
}

// Choice is one answer: its name as the question said it, and the selection that it stands for.
type Choice struct{ Name, Selection string }

// residues counts a chain's residues by its numbering.
func (c Chain) residues() int {
	count := 0
	for _, r := range c.Ranges {
		count += r.Last - r.First + 1
	}
	return count
}

// holds tells whether a residue number, which may have an insertion code, lies in the chain.
func (c Chain) holds(number string) bool {
	value, err := strconv.Atoi(strings.TrimRight(number, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	return err == nil && slices.ContainsFunc(c.Ranges, func(r Range) bool { return r.First <= value && value <= r.Last })
}

// chain finds a chain by its name; capitals count only where two chains differ by nothing else.
func (c *Context) chain(id string) (Chain, bool) {
	for _, chain := range c.Chains {
		if chain.ID == id {
			return chain, true
		}
	}
	for _, chain := range c.Chains {
		if strings.EqualFold(chain.ID, id) {
			return chain, true
		}
	}
	return Chain{}, false
}

// namesChain tells whether the last of several words is the capital of a chain that looks like an article.
func (c *Context) namesChain(tokens []token) bool {
	last := tokens[len(tokens)-1].raw
	if len(tokens) < 2 || last != "A" {
		return false
	}
	chain, ok := c.chain(last)
	return ok && chain.ID == last
}

func (c *Context) chainIDs() []string {
	ids := make([]string, len(c.Chains))
	for i, chain := range c.Chains {
		ids[i] = chain.ID
	}
	return ids
}

// chainNames says which chains there are: "chains A, B".
func (c *Context) chainNames() string {
	if len(c.Chains) == 1 {
		return "chain " + c.Chains[0].ID
	}
	return "chains " + strings.Join(c.chainIDs(), ", ")
}

// minorComponents are solvents, buffers, cryoprotectants, lipids and single sugars: what nobody means by "the ligand".
var minorComponents = wordSet(`GOL EDO SO4 PO4 PEG PGE PG4 1PE P6G DMS ACT ACY FMT CLR NAG NDG BMA MAN FUC GAL GLC SIA CIT FLC TRS MES EPE HEZ
MPD IPA EOH MOH BME DTT TLA MLI NO3 CL NA K BR IOD OLC OLA OLB PLM MYR LMT BOG CHS Y01 UNX UNL NH4 IMD BCT CO3 AZI SCN`)

// mainLigands are the ligands that "the ligand" may mean.
func (c *Context) mainLigands() []Component {
	var found []Component
	for _, ligand := range c.Ligands {
		if !minorComponents[ligand.Name] {
			found = append(found, ligand)
		}
	}
	return found
}

// peptide is the short chain beside a long one: what "the ligand" means where there is no other. False when there is none.
func (c *Context) peptide() (Chain, bool) {
	var short []Chain
	long := false
	for _, chain := range c.Chains {
		switch {
		case chain.Kind == "nucleic":
		case chain.residues() <= maxPeptideResidues:
			short = append(short, chain)
		default:
			long = true
		}
	}
	if !long || len(short) != 1 {
		return Chain{}, false
	}
	return short[0], true
}

// maxPeptideResidues is up to where a chain is called a peptide here.
const maxPeptideResidues = 40

// hasNucleic tells whether a chain is a nucleic acid.
func (c *Context) hasNucleic() bool {
	return slices.ContainsFunc(c.Chains, func(chain Chain) bool { return chain.Kind == "nucleic" })
}

// components are all instances of a component by its name, wherever they stand.
func (c *Context) components(name string) []Component {
	var found []Component
	for _, list := range [][]Component{c.Ligands, c.Ions, c.Modified} {
		for _, component := range list {
			if component.Name == name {
				found = append(found, component)
			}
		}
	}
	return found
}

// chainsWith are the chains that hold a residue number.
func (c *Context) chainsWith(number string) []string {
	var found []string
	for _, chain := range c.Chains {
		if chain.holds(number) {
			found = append(found, chain.ID)
		}
	}
	return found
}

// layerWith is the selection of the layers that have a representation, and false when none has.
func (c *Context) layerWith(representation string) (string, bool) {
	var found []string
	for _, layer := range c.Shown {
		if sel, as, ok := strings.Cut(layer, ": "); ok && as == representation {
			found = append(found, sel)
		}
	}
	return strings.Join(found, " or "), len(found) > 0
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
