package director

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/scene"
)

// aminoAcid is what a structure that is made needs of an amino acid.
type aminoAcid struct {
	letter string
	word   string
	atoms  string // of the side chain, heavy ones alone
}

// aminoAcids are the twenty. An order that is not the alphabet's mixes their kinds along a chain.
var aminoAcids = map[string]aminoAcid{
	"ALA": {"A", "alanine", "CB"},
	"ARG": {"R", "arginine", "CB CG CD NE CZ NH1 NH2"},
	"ASN": {"N", "asparagine", "CB CG OD1 ND2"},
	"ASP": {"D", "aspartate", "CB CG OD1 OD2"},
	"CYS": {"C", "cysteine", "CB SG"},
	"GLN": {"Q", "glutamine", "CB CG CD OE1 NE2"},
	"GLU": {"E", "glutamate", "CB CG CD OE1 OE2"},
	"GLY": {"G", "glycine", ""},
	"HIS": {"H", "histidine", "CB CG ND1 CD2 CE1 NE2"},
	"ILE": {"I", "isoleucine", "CB CG1 CG2 CD1"},
	"LEU": {"L", "leucine", "CB CG CD1 CD2"},
	"LYS": {"K", "lysine", "CB CG CD CE NZ"},
	"MET": {"M", "methionine", "CB CG SD CE"},
	"PHE": {"F", "phenylalanine", "CB CG CD1 CD2 CE1 CE2 CZ"},
	"PRO": {"P", "proline", "CB CG CD"},
	"SER": {"S", "serine", "CB OG"},
	"THR": {"T", "threonine", "CB OG1 CG2"},
	"TRP": {"W", "tryptophan", "CB CG CD1 CD2 NE1 CE2 CE3 CZ2 CZ3 CH2"},
	"TYR": {"Y", "tyrosine", "CB CG CD1 CD2 CE1 CE2 CZ OH"},
	"VAL": {"V", "valine", "CB CG1 CG2"},
}

// sequence is the order in which a chain that is made repeats the amino acids.
var sequence = strings.Fields("LEU SER GLU GLY ALA LYS VAL ASP THR PRO ILE ARG ASN PHE GLN TYR HIS MET CYS TRP")

// spoken is what sentences say of the residues of one structure, by their numbers. A structure that is made has it so.
type spoken struct {
	names    map[int]string
	inserted map[int][]string // insertion codes
}

var (
	// calledPattern finds "Asp25", "T315", "histidine 57", and the numbers that a list goes on with.
	calledPattern = regexp.MustCompile(`(?i)\b([a-z]+)[ -]?([0-9]{1,4})\b((?:(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+|\s*/\s*)[0-9]{1,4}\b)*)`)
	numberPattern = regexp.MustCompile(`[0-9]+`)
	// atomPattern finds the atoms of residues in selections, insertedPattern residues with insertion codes.
	atomPattern     = regexp.MustCompile(`resi ([0-9]+) and name ([A-Z0-9]+)`)
	insertedPattern = regexp.MustCompile(`\b([0-9]{1,4})([A-Z])\b`)
)

// listen gathers what sentences say of the residues of their structures, by structure.
func listen(sentences []Sentence) map[string]spoken {
	all := map[string]spoken{}
	for _, s := range sentences {
		if s.Context.Structure == "" {
			continue
		}
		said, ok := all[s.Context.Structure]
		if !ok {
			said = spoken{map[int]string{}, map[int][]string{}}
			all[s.Context.Structure] = said
		}
		if !asksAboutResidues(s.Want) {
			said.words(s.Text)
			said.answers(s.Want)
		}
		said.contacts(s.Context.Contacts)
	}
	return all
}

// asksAboutResidues tells a sentence that calls a residue by a name that it does not have.
func asksAboutResidues(want []scene.Operation) bool {
	return slices.ContainsFunc(want, func(o scene.Operation) bool {
		ask, ok := o.Args.(scene.Ask)
		return ok && ask.About == "residue"
	})
}

// call notes a residue's name; the first one counts.
func (s spoken) call(number int, name string) {
	if s.names[number] == "" {
		s.names[number] = name
	}
}

func (s spoken) words(text string) {
	for _, match := range calledPattern.FindAllStringSubmatch(text, -1) {
		name := residueNamed(match[1])
		if name == "" {
			continue
		}
		for _, number := range numberPattern.FindAllString(match[2]+" "+match[3], -1) {
			if n, err := strconv.Atoi(number); err == nil {
				s.call(n, name)
			}
		}
	}
}

// residueNamed is the amino acid that a word means: a letter in capitals, three letters or its name, perhaps in the plural.
func residueNamed(word string) string {
	for _, form := range []string{word, strings.TrimSuffix(word, "s")} {
		if name := strings.ToUpper(form); aminoAcids[name].letter != "" {
			return name
		}
		for name, acid := range aminoAcids {
			if form == acid.letter || strings.EqualFold(form, acid.word) {
				return name
			}
		}
	}
	return ""
}

// answers notes residues that have atoms of the answer, and insertion codes.
func (s spoken) answers(want []scene.Operation) {
	text, err := json.Marshal(want)
	if err != nil {
		return
	}
	for _, match := range atomPattern.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(match[1]) // at most four digits
		for _, name := range sequence {
			if slices.Contains(strings.Fields(aminoAcids[name].atoms), match[2]) {
				s.call(n, name)
				break
			}
		}
	}
	for _, match := range insertedPattern.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(match[1])
		if !slices.Contains(s.inserted[n], match[2]) {
			s.inserted[n] = append(s.inserted[n], match[2])
		}
	}
}

func (s spoken) contacts(contacts []string) {
	for _, text := range contacts {
		_, place, _ := strings.Cut(text, " ")
		parts := strings.Split(place, "/")
		if len(parts) != 3 {
			continue
		}
		if n, err := strconv.Atoi(parts[2]); err == nil {
			s.call(n, parts[1])
		}
	}
}
