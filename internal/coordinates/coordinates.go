// Package coordinates reads what a file of atoms holds: the models, chains and residues of a PDB, mmCIF or PDBQT structure with
// where they lie, and the place of a small molecule in an SDF or MOL2 file. It takes any bytes, within bounds, and says in plain
// words what is wrong with them. It knows names and distances and no more chemistry than that: what a residue is good for is its
// reader's business.
package coordinates

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

const (
	// MaxBytes bounds a file, and what a compressed one unpacks to: as much as docking reads of a receptor.
	MaxBytes = 64 << 20
	// MaxAtoms bounds the atoms of a model, waters included: what the preparation of a receptor reads.
	MaxAtoms = 400_000
	// maxModels, maxAssemblies and maxAssemblyChains bound the lists of what a file offers.
	maxModels         = 10_000
	maxAssemblies     = 1_000
	maxAssemblyChains = 1_000
	// maxCoordinateAngstrom is the largest number that the PDB format's eight columns hold.
	maxCoordinateAngstrom = 9999.0
)

// UnreadableError says what is wrong with a file, as the end of a sentence that begins with its name: "is empty".
type UnreadableError struct{ Reason string }

func (e *UnreadableError) Error() string { return "the file " + e.Reason }

func unreadable(format string, args ...any) error {
	return &UnreadableError{fmt.Sprintf(format, args...)}
}

// ModelError says that a structure does not have the model that was asked for.
type ModelError struct{ Models []int }

func (e *ModelError) Error() string {
	return fmt.Sprintf("there is no such model; models: %v", e.Models)
}

// Point is a position, or the lengths along the axes, in Å.
type Point [3]float64

// Place is where a residue stands in a structure, by its authors' numbering.
type Place struct {
	Chain         string
	Number        int
	InsertionCode string
}

// String is the place as people write it: A:381, or A:52A with an insertion code.
func (p Place) String() string {
	chain := p.Chain
	if chain == "" {
		chain = "(blank)"
	}
	return fmt.Sprintf("%s:%d%s", chain, p.Number, p.InsertionCode)
}

// Residue is a residue of a structure: an amino acid or nucleotide, or any other component. Of atoms in several places the one
// with the greatest occupancy counts, as in the preparation of receptors.
type Residue struct {
	Place
	Name string // upper case
	// Subchain is mmCIF's label_asym_id, by which its assemblies are defined; "" in other formats.
	Subchain string
	Het      bool // the file says of all of its atoms that they belong to no chain (HETATM)
	// Member says that a peptide bond or a phosphodiester joins it to its neighbour in the file.
	Member bool
	// InChain says that it belongs to a chain of amino acids or nucleotides: as a member, by what the file says of it, or because
	// it is bonded to one at an end of its own name, as chromophores are.
	InChain    bool
	HeavyAtoms int
	Element    string // of the only heavy atom, upper case; "" where there are more
	// Low and High are the corners of the box that just holds the heavy atoms.
	Low, High   Point
	first, last int32 // of the structure's atoms
}

// Center is the middle of the residue's extent.
func (r Residue) Center() Point {
	var middle Point
	for i := range middle {
		middle[i] = (r.Low[i] + r.High[i]) / 2
	}
	return middle
}

func (r Residue) String() string { return r.Name + " " + r.Place.String() }

// Assembly is a biological assembly that a file defines: its id, and the chains that it is made of. They are subchains in mmCIF.
type Assembly struct {
	ID     string
	Chains []string
}

// Structure is one model of a file. It is not changed after it was read, and is safe for concurrent use.
type Structure struct {
	Format     string // mol.FormatPDB, mol.FormatMMCIF or mol.FormatPDBQT
	Compressed bool   // the bytes were gzip'd
	Models     []int  // with atoms, in their order
	Model      int    // the one that was read
	Chains     []string
	Residues   []Residue      // without waters, in their order
	Waters     map[string]int // molecules by component
	Assemblies []Assembly
	atoms      []atom // heavy ones, residue by residue, without waters
}

// atom is a heavy atom. Single precision keeps a thousandth of an Å at the largest coordinates.
type atom struct {
	at      [3]float32 // in Å
	element byte       // S for sulphur, M for metals, else 0
}

// Read reads a structure; model is the number of the one that is wanted, 0 for the first. Errors: *UnreadableError, *ModelError.
func Read(content []byte, model int) (*Structure, error) {
	text, compressed, err := textOf(content)
	if err != nil {
		return nil, err
	}
	b := newBuilder(model)
	switch {
	case isCIF(text):
		b.structure.Format = mol.FormatMMCIF
		err = b.readCIF(text)
	case isPDBQT(text):
		b.structure.Format = mol.FormatPDBQT
		err = b.readPDBQT(text)
	default:
		b.structure.Format = mol.FormatPDB
		err = b.readPDB(text)
	}
	if err != nil {
		return nil, err
	}
	b.structure.Compressed = compressed
	return b.finish(text)
}

// CheckText looks whether a file is plain text with something in it. Errors: *UnreadableError.
func CheckText(content []byte) error {
	_, compressed, err := textOf(content)
	if err == nil && compressed {
		return unreadable("is a gzip'd file; unpack it")
	}
	return err
}

// textOf is a file's text with Unix line ends, unpacked where it was gzip'd.
func textOf(content []byte) (text string, compressed bool, err error) {
	if compressed = isPacked(content); compressed {
		if content, err = Plain(content); err != nil {
			return "", true, err
		}
	}
	switch {
	case len(content) > MaxBytes:
		return "", compressed, unreadable("has more than %d bytes", MaxBytes)
	case len(bytes.TrimSpace(content)) == 0:
		return "", compressed, unreadable("is empty")
	case bytes.HasPrefix(content, []byte("PK\x03\x04")):
		return "", compressed, unreadable("is a zip archive; unpack it")
	case bytes.ContainsFunc(content, isControl):
		return "", compressed, unreadable("is a binary file, and no text")
	}
	text = strings.ToValidUTF8(string(content), "�")
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimPrefix(text, "\ufeff"), compressed, nil
}

func isPacked(content []byte) bool { return bytes.HasPrefix(content, []byte{0x1f, 0x8b}) }

// Plain is what a file holds where it is gzip'd, of which no more than a byte above MaxBytes is taken, and else the file itself.
// Errors: *UnreadableError.
func Plain(content []byte) ([]byte, error) {
	if !isPacked(content) {
		return content, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, unreadable("is damaged: it begins as a gzip file and is none")
	}
	plain, err := io.ReadAll(io.LimitReader(reader, MaxBytes+1))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable("is a damaged gzip file; pack it again")
	}
	return plain, nil
}

// isControl tells characters that are in no text.
func isControl(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\f\v", r) }

// Distance is how far the box with this centre and these edges lies from the nearest heavy atom of the residues that count, in
// Å; 0 when an atom is inside. ok is false when no residue counts.
func (s *Structure) Distance(center, size Point, counts func(Residue) bool) (nearest float64, ok bool) {
	nearest = math.Inf(1)
	for _, r := range s.Residues {
		if !counts(r) {
			continue
		}
		for _, a := range s.atoms[r.first:r.last] {
			sum := 0.0
			for i := range a.at {
				outside := max(math.Abs(float64(a.at[i])-center[i])-size[i]/2, 0)
				sum += outside * outside
			}
			nearest = min(nearest, sum)
		}
	}
	return math.Sqrt(nearest), !math.IsInf(nearest, 1)
}

// Extent is the box that just holds the residues that count.
func (s *Structure) Extent(counts func(Residue) bool) (low, high Point) {
	e := newExtent()
	for _, r := range s.Residues {
		if counts(r) && r.HeavyAtoms > 0 {
			e.take(r.Low)
			e.take(r.High)
		}
	}
	return e.low, e.high
}

// Two heavy atoms of different residues that are nearer to each other are bonded, sulphurs with the second bound; metals make no
// bonds.
const (
	bondAngstrom      = 2.0
	disulfideAngstrom = 2.3
)

// Bonded are the residues, of those that count, that a covalent bond joins to one.
func (s *Structure) Bonded(r Residue, counts func(Residue) bool) []Residue {
	var found []Residue
	for _, other := range s.Residues {
		if other.first != r.first && counts(other) && apart(r, other) <= disulfideAngstrom && s.bonded(r, other) {
			found = append(found, other)
		}
	}
	return found
}

func (s *Structure) bonded(r, other Residue) bool {
	for _, a := range s.atoms[r.first:r.last] {
		for _, b := range s.atoms[other.first:other.last] {
			most := bondAngstrom
			if a.element == sulphur && b.element == sulphur {
				most = disulfideAngstrom
			}
			if a.element != metal && b.element != metal && squareOf(a, b) <= most*most {
				return true
			}
		}
	}
	return false
}

// apart is how far the extents of two residues are from each other at least, along an axis.
func apart(a, b Residue) float64 {
	most := 0.0
	for i := range a.Low {
		most = max(most, a.Low[i]-b.High[i], b.Low[i]-a.High[i])
	}
	return most
}

func squareOf(a, b atom) float64 {
	sum := 0.0
	for i := range a.at {
		d := float64(a.at[i] - b.at[i])
		sum += d * d
	}
	return sum
}

// extent grows around points.
type extent struct{ low, high Point }

func newExtent() extent {
	most := math.Inf(1)
	return extent{Point{most, most, most}, Point{-most, -most, -most}}
}

func (e *extent) take(p Point) {
	for i := range p {
		e.low[i], e.high[i] = min(e.low[i], p[i]), max(e.high[i], p[i])
	}
}
