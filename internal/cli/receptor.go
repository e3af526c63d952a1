package cli

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

// Bounds of doc/contract.md §2.2, and of what the service reads of a receptor.
const (
	maxReceptorBytes = 64 << 20
	maxComponents    = 256
	maxChains        = 128
	maxChainChars    = 16
	maxAssemblyChars = 32
	maxModel         = 9999
)

// receptorBound is what the service reads of a receptor.
var receptorBound = fileBound{maxReceptorBytes,
	"a receptor may have at most " + bytesText(maxReceptorBytes) + ": cut out the chains that you need"}

// receptorFormats by a file's extension.
var receptorFormats = map[string]string{
	"pdb": mol.FormatPDB, "ent": mol.FormatPDB, "cif": mol.FormatMMCIF, "mmcif": mol.FormatMMCIF, "pdbqt": mol.FormatPDBQT,
}

var (
	pdbIDForm     = regexp.MustCompile(`^[0-9][A-Za-z0-9]{3}$`)
	componentForm = regexp.MustCompile(`^[A-Za-z0-9]{1,8}$`)
)

// receptor is what is docked into: a file or an entry of the Protein Data Bank, the part of it that is meant, and how it is
// prepared. What is empty is the server's to choose.
type receptor struct {
	path     string // of a file, or ""
	pdbID    string // in capitals, or ""
	chains   []string
	assembly string
	model    int

	protonation  string   // mol.MethodPDB2PQR or mol.MethodMeeko
	forceField   string   // in capitals
	keep, remove []string // components, in capitals
	waters       string   // mol.WatersNone or mol.WatersStructural
}

// receptorFlags are the flags of a receptor as they are written.
type receptorFlags struct {
	receptor, assembly, protonation, forceField, waters string
	chains, keep, remove                                []string
	model                                               int
}

// read takes the receptor that args or --receptor names, and holds it against what can be known of it here.
func (f *receptorFlags) read(args []string) (receptor, error) {
	name := f.receptor
	switch {
	case len(args) == 0 && name == "":
		return receptor{}, usage("RECEPTOR is missing: name a .pdb, .cif or .pdbqt file, or an entry of the Protein Data Bank " +
			"such as 1IEP")
	case len(args) > 0 && name != "":
		return receptor{}, usage("the receptor is named twice, %q and --receptor %q; name one", args[0], name)
	case len(args) > 0:
		name = args[0]
	}
	r := receptor{
		chains: f.chains, assembly: f.assembly, model: f.model, protonation: f.protonation,
		forceField: strings.ToUpper(f.forceField), keep: capitals(f.keep), remove: capitals(f.remove), waters: f.waters,
	}
	err := r.find(name)
	if err == nil {
		err = r.check()
	}
	return r, err
}

// find decides whether a name is a file's or an entry's. A file of that name goes first.
func (r *receptor) find(name string) error {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && pdbIDForm.MatchString(name) {
		r.pdbID = strings.ToUpper(name)
		return nil
	}
	switch {
	case receptorFormats[formatOf(name)] == "":
		return usage("%s: a receptor must be a .pdb, .cif, .mmcif or .pdbqt file, perhaps as .gz, "+
			"or an entry of the Protein Data Bank such as 1IEP", name)
	case err != nil:
		return invalidInput("%v", err)
	}
	r.path = name
	return checkPlain(name, receptorBound)
}

// namesReceptor tells whether a word is a file or looks like an entry of the Protein Data Bank.
func namesReceptor(name string) bool {
	_, err := os.Stat(name)
	return err == nil || pdbIDForm.MatchString(name)
}

// check holds the selection and the preparation against each other and against the bounds.
func (r *receptor) check() error {
	for _, chain := range r.chains {
		if chain == "" || len([]rune(chain)) > maxChainChars {
			return usage("--chains %q: a chain's id has 1 to %d characters; write --chains A,B", strings.Join(r.chains, ","),
				maxChainChars)
		}
	}
	for _, name := range slices.Concat(r.keep, r.remove) {
		if !componentForm.MatchString(name) {
			return usage("%q is no component: --keep and --remove take residue names of 1 to 8 letters and digits, such as "+
				"ZN or HOH", name)
		}
	}
	for _, name := range r.keep {
		if slices.Contains(r.remove, name) {
			return usage("%s is in both --keep and --remove; name it in one", name)
		}
	}
	switch {
	case len(r.chains) > maxChains || len(r.keep) > maxComponents || len(r.remove) > maxComponents:
		return usage("at most %d --chains, and %d components in each of --keep and --remove", maxChains, maxComponents)
	case len([]rune(r.assembly)) > maxAssemblyChars:
		return usage("--assembly: an assembly's id has at most %d characters, such as 1", maxAssemblyChars)
	case r.model < 0 || r.model > maxModel:
		return usage("--model %d: a model is 1 to %d", r.model, maxModel)
	case r.protonation != "" && r.protonation != mol.MethodPDB2PQR && r.protonation != mol.MethodMeeko:
		return usage("--protonation %s: must be %s or %s", r.protonation, mol.MethodPDB2PQR, mol.MethodMeeko)
	case r.waters != "" && r.waters != mol.WatersNone && r.waters != mol.WatersStructural:
		return usage("--waters %s: must be %s or %s", r.waters, mol.WatersNone, mol.WatersStructural)
	case r.forceField != "" && !slices.Contains(forceFields, r.forceField):
		return usage("--force-field %s: must be %s", r.forceField, strings.Join(forceFields, ", "))
	case r.forceField != "" && r.protonation == mol.MethodMeeko:
		return usage("--force-field belongs to --protonation %s; leave one of them out", mol.MethodPDB2PQR)
	case formatOf(r.path) == mol.FormatPDBQT && (r.assembly != "" || r.protonation != "" || r.forceField != ""):
		return usage("%s: a .pdbqt receptor is prepared already; leave --assembly, --protonation and --force-field out, or give "+
			"the .pdb or .cif that it was made from", r.path)
	}
	return nil
}

// forceFields that PDB2PQR is asked for.
var forceFields = []string{mol.ForceAMBER, "CHARMM", "PARSE"}

// preparationAt is how the receptor is prepared; nil leaves all of it to the server.
func (r receptor) preparationAt(ph *float64) *mol.ReceptorPreparation {
	if ph == nil && r.protonation == "" && r.forceField == "" && r.waters == "" && len(r.keep) == 0 && len(r.remove) == 0 {
		return nil
	}
	return &mol.ReceptorPreparation{
		ProtonationPh: ph, ProtonationMethod: given(r.protonation != "", r.protonation),
		ForceField: given(r.forceField != "", r.forceField), RemoveComponents: r.remove, RetainComponents: r.keep,
		Waters: given(r.waters != "", r.waters),
	}
}

// title is the receptor's name for people.
func (r receptor) title() string {
	if r.pdbID != "" {
		return r.pdbID
	}
	return stem(r.path)
}

func capitals(names []string) []string {
	var upper []string
	for _, name := range names {
		upper = append(upper, strings.ToUpper(strings.TrimSpace(name)))
	}
	return upper
}
