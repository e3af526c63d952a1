package cli

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

// Bounds of doc/contract.md §2.2.
const (
	minResidue        = -9999
	maxResidue        = 99999
	maxPocketResidues = 256
)

// What --box takes beside numbers, and the boxSource that it stands for.
var boxWords = map[string]string{"bound": "boundLigand", "pocket": "fpocket"}

// dockBox says where to dock, by one of its members; with none of them the server finds the native ligand, the bound one or a
// pocket.
type dockBox struct {
	center   *mol.BoxCenter
	file     string // of a ligand in the receptor's coordinates
	ligand   *pocketLigand
	residues []residuePlace
	source   string       // of boxWords
	size     *mol.BoxSize // required with center; else nil lets the box fit the pocket
}

// boxLigandFormats by a file's extension, and how the request calls them.
var boxLigandFormats = map[string]string{
	"sdf": mol.FormatSDF, "mol": mol.FormatSDF, "mol2": mol.FormatMOL2, "pdb": mol.FormatPDB, "ent": mol.FormatPDB,
	"pdbqt": mol.FormatPDBQT, "cif": mol.FormatMMCIF, "mmcif": mol.FormatMMCIF,
}

// boxLigandFormat is the format of a ligand's file; "" for another.
func boxLigandFormat(path string) string { return boxLigandFormats[formatOf(path)] }

// pocketLigand is a ligand of the structure; what is zero is not stated.
type pocketLigand struct {
	componentID, chain string
	residue            *int
}

// put writes the box into a request.
func (b dockBox) put(params *dockParams) {
	params.BoxCenterAngstrom, params.BoxSizeAngstrom, params.PocketResidues = b.center, b.size, b.residues
	params.BoxSource = b.source
	if b.ligand != nil {
		params.PocketLigand, params.PocketLigandChain, params.PocketLigandResidue = b.ligand.componentID, b.ligand.chain,
			b.ligand.residue
	}
}

// boxFlags are the flags of a box as they are written.
type boxFlags struct {
	box, from, center, size, ligand string
	residues                        []string
}

// read reads the one place that the flags name.
func (f *boxFlags) read() (dockBox, error) {
	named := 0
	for _, given := range []bool{f.box != "", f.from != "", f.center != "", f.ligand != "", len(f.residues) > 0} {
		if given {
			named++
		}
	}
	var b dockBox
	switch {
	case named > 1:
		return b, usage("--box, --box-from, --center, --pocket-ligand and --pocket-residues each say where to dock; give one of " +
			"them, or none for the ligand that is bound")
	case boxWords[f.box] == "" && f.box != "" && f.size != "":
		return b, usage("--box has the size in it; leave --size out")
	case f.center != "" && f.size == "":
		return b, usage("--size is missing: with --center it is the box's edge in Å, such as 22")
	case boxWords[f.box] == "" && f.box != "":
		return parseBox(f.box)
	}
	b.source = boxWords[f.box]
	if f.size != "" {
		size, err := parseSize("--size", f.size)
		if err != nil {
			return b, err
		}
		b.size = &size
	}
	var err error
	switch {
	case f.center != "":
		var center mol.BoxCenter
		center, err = parseCenter(f.center)
		b.center = &center
	case f.from != "":
		b.file, err = f.from, checkBoxLigand(f.from)
	case f.ligand != "":
		b.ligand, err = parsePocketLigand("--pocket-ligand", f.ligand)
	case len(f.residues) > 0:
		b.residues, err = parsePocketResidues(f.residues)
	}
	return b, err
}

// parseBox reads a centre and a size, "x,y,z,edge" or "x,y,z,a,b,c" in Å.
func parseBox(flag string) (dockBox, error) {
	numbers, err := parseNumbers(flag)
	if err != nil || len(numbers) != 4 && len(numbers) != 6 {
		return dockBox{}, usage("--box %q: write x,y,z,edge or x,y,z,a,b,c in Å, such as 15.8,14.6,3.9,22; or bound for the "+
			"ligand that is bound, or pocket for the best pocket", flag)
	}
	parts := strings.SplitN(flag, ",", 4)
	size, err := parseSize("--box", parts[3])
	if err != nil {
		return dockBox{}, err
	}
	center := mol.BoxCenter(numbers[:3])
	return dockBox{center: &center, size: &size}, nil
}

// parseCenter reads "x,y,z" in Å.
func parseCenter(flag string) (mol.BoxCenter, error) {
	numbers, err := parseNumbers(flag)
	if err != nil || len(numbers) != 3 {
		return mol.BoxCenter{}, usage("--center %q: write x,y,z in Å, such as 15.8,14.6,3.9", flag)
	}
	return mol.BoxCenter(numbers), nil
}

// parseSize reads the edge of a cube or "x,y,z" in Å; name is the flag's, for its errors.
func parseSize(name, flag string) (mol.BoxSize, error) {
	numbers, err := parseNumbers(flag)
	if err == nil && len(numbers) == 1 {
		numbers = []float64{numbers[0], numbers[0], numbers[0]}
	}
	if err != nil || len(numbers) != 3 {
		return mol.BoxSize{}, usage("%s %q: write one edge or x,y,z in Å, such as 22 or 20,20,26", name, flag)
	}
	for _, edge := range numbers {
		if !(edge >= mol.MinBoxEdgeAngstrom && edge <= mol.MaxBoxEdgeAngstrom) {
			return mol.BoxSize{}, usage("%s %q: each edge must be %g to %g Å", name, flag, mol.MinBoxEdgeAngstrom,
				mol.MaxBoxEdgeAngstrom)
		}
	}
	return mol.BoxSize(numbers), nil
}

func parseNumbers(flag string) ([]float64, error) {
	var numbers []float64
	for part := range strings.SplitSeq(flag, ",") {
		number, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || number-number != 0 { // neither infinite nor NaN
			return nil, usage("%q is no number", part)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// checkBoxLigand holds the file of a ligand against what can be known of it here.
func checkBoxLigand(path string) error {
	if boxLigandFormat(path) == "" {
		return usage("--box-from %s: must be a ligand as .sdf, .mol2, .pdb, .pdbqt or .cif, perhaps as .gz", path)
	}
	return checkPlain(path, ligandBound)
}

// parsePocketLigand reads STI, STI:A or STI:A:201; name is the flag's, for its errors.
func parsePocketLigand(name, flag string) (*pocketLigand, error) {
	parts := strings.Split(flag, ":")
	wrong := usage("%s %q: write COMPONENT, COMPONENT:CHAIN or COMPONENT:CHAIN:NUMBER, such as STI:A:201", name, flag)
	if len(parts) > 3 || !componentForm.MatchString(parts[0]) {
		return nil, wrong
	}
	found := &pocketLigand{componentID: strings.ToUpper(parts[0])}
	if len(parts) > 1 {
		if found.chain = parts[1]; !isChain(found.chain) {
			return nil, wrong
		}
	}
	if len(parts) > 2 {
		number, err := strconv.Atoi(parts[2])
		if err != nil || number < minResidue || number > maxResidue {
			return nil, wrong
		}
		found.residue = &number
	}
	return found, nil
}

// parsePocketResidues reads residues such as A:315 and A:52A.
func parsePocketResidues(flags []string) ([]residuePlace, error) {
	var places []residuePlace
	for _, flag := range flags {
		place, ok := parsePlace(strings.TrimSpace(flag))
		if !ok {
			return nil, usage("--pocket-residues %q: write CHAIN:NUMBER, with an insertion code right behind the number, such as "+
				"A:315,A:52A", flag)
		}
		places = append(places, place)
	}
	if len(places) > maxPocketResidues {
		return nil, usage("--pocket-residues names %d residues; at most %d make a box", len(places), maxPocketResidues)
	}
	return places, nil
}

// redock is the structure's own ligand that is docked again: named in full, or the one of a component, or the one that is bound.
type redock struct {
	named  *residueName
	ligand *pocketLigand // nil for the one that is bound
}

// boundWord is what --redock means without a value.
const boundWord = "bound"

// parseRedock reads STI:A:201, STI:A, STI, or boundWord.
func parseRedock(flag string) (*redock, error) {
	if flag == boundWord {
		return &redock{}, nil
	}
	component, rest, _ := strings.Cut(flag, ":")
	if place, ok := parsePlace(rest); ok && componentForm.MatchString(component) {
		return &redock{named: &residueName{ComponentID: strings.ToUpper(component), residuePlace: place}}, nil
	}
	ligand, err := parsePocketLigand("--redock", flag)
	return &redock{ligand: ligand}, err
}

// put writes the redocking into a request whose box has been written.
func (r *redock) put(params *dockParams, gate *float64) {
	if r == nil {
		return
	}
	params.DockingValidation = &dockValidation{NativeReference: r.named, RedockBound: r.named == nil, GateRMSDAngstrom: gate}
	if r.ligand != nil {
		params.PocketLigand, params.PocketLigandChain, params.PocketLigandResidue = r.ligand.componentID, r.ligand.chain,
			r.ligand.residue
	}
}

// checkBeside refuses a component to dock again beside a box that says its own place: the request has one member for both.
func (r *redock) checkBeside(b dockBox) error {
	if r == nil || r.ligand == nil || b.file == "" && b.ligand == nil && len(b.residues) == 0 && b.source == "" {
		return nil
	}
	return usage("--redock %s: beside another place to dock, name the ligand in full, as COMPONENT:CHAIN:NUMBER such as STI:A:201",
		r.ligand.componentID)
}

// placeForm is a chain, a residue's number and perhaps an insertion code.
var placeForm = regexp.MustCompile(`^([^:\s]{1,16}):(-?[0-9]{1,5})([A-Za-z]{0,4})$`)

func parsePlace(text string) (residuePlace, bool) {
	match := placeForm.FindStringSubmatch(text)
	if match == nil {
		return residuePlace{}, false
	}
	number, err := strconv.Atoi(match[2])
	return residuePlace{Chain: match[1], Residue: number, InsertionCode: match[3]}, err == nil && number >= minResidue &&
		number <= maxResidue
}

func isChain(text string) bool {
	return text != "" && len([]rune(text)) <= maxChainChars && !strings.ContainsAny(text, " \t")
}
