package sequences

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strconv"
)

const (
	// MaxSourceBytes bounds a FASTA, uncompressed: UniRef90 of 2026 has about 90 GB.
	MaxSourceBytes = 256 << 30
	// MaxSequences bounds a database: 8 bytes of each id are held to find doubles. UniRef90 has about 200 million.
	MaxSequences = 400_000_000
	// maxIDBytes bounds an id, which tables of hits repeat in every line. The longest of public archives have about 60 characters.
	maxIDBytes = 250
	// readBytes is what is read at once.
	readBytes = 1 << 20

	// tellingLetters is from how many letters on a sequence of nucleotide letters alone is taken to be one, and coreShare of ten of
	// them must then be A, C, G, T, U, N or a gap. Shorter peptides of such letters do occur.
	tellingLetters = 30
	coreShare      = 9
	// maxNamedDoubles bounds the ids that a refusal names.
	maxNamedDoubles = 5
)

// Classes of the bytes of a sequence's lines.
const (
	aResidue    = 1 << iota // a letter that a protein may have, as BLAST+ reads it
	aNucleotide             // one of IUPAC's codes of nucleotides, or a gap
	aCoreBase               // A, C, G, T, U, N or a gap
	aSpace
)

// classes are the classes of every byte; 0 is what no sequence may hold.
var classes = func() (c [256]byte) {
	mark := func(letters string, class byte) {
		for _, letter := range []byte(letters) {
			c[letter] |= class
			if letter >= 'A' && letter <= 'Z' {
				c[letter+'a'-'A'] |= class
			}
		}
	}
	mark("ABCDEFGHIJKLMNOPQRSTUVWXYZ*-", aResidue)
	mark("ACGTURYSWKMBDHVN-", aNucleotide)
	mark("ACGTUN-", aCoreBase)
	mark(" \t", aSpace)
	return c
}()

// contents is what a FASTA holds.
type contents struct {
	Type      string
	Sequences int64
	Residues  int64 // letters of sequences, gaps and stops included: what BLAST+ counts
	SHA256    string
}

// openSource opens a FASTA and unpacks it when it is gzip'd. report is told how far the file is read.
func openSource(ctx context.Context, path string, report func(done, total int64)) (io.ReadCloser, error) {
	info, err := os.Stat(path) // before the opening, which of a pipe would wait
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	metered := bufio.NewReaderSize(&meter{ctx: ctx, from: file, total: info.Size(), report: report}, readBytes)
	var unpacked io.Reader = metered
	if magic, _ := metered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if unpacked, err = gzip.NewReader(metered); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{&bounded{unpacked, MaxSourceBytes}, file}, nil
}

// meter tells how much was read, and ends with its context.
type meter struct {
	ctx         context.Context
	from        io.Reader
	done, total int64
	report      func(done, total int64)
}

func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.from.Read(p)
	m.done += int64(n)
	m.report(m.done, m.total)
	return n, err
}

// bounded fails when more than left bytes come, where io.LimitReader would end as if that were all.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("has more than %d bytes; cut it into several databases", int64(MaxSourceBytes))
	}
	return n, err
}

// inspect reads a FASTA whole: its counts, its digest, its type, which asked states or "" leaves to the letters, and everything
// that makeblastdb would drop without a word. An error names the line.
func inspect(ctx context.Context, path, asked string, report func(done, total int64)) (contents, error) {
	source, err := openSource(ctx, path, report)
	if err != nil {
		return contents{}, err
	}
	defer func() { _ = source.Close() }() // only read
	sum := sha256.New()
	scan := newScanner()
	chunk := make([]byte, readBytes)
	for {
		n, err := source.Read(chunk)
		_, _ = sum.Write(chunk[:n]) // never fails
		if refused := scan.feed(chunk[:n]); refused != nil {
			return contents{}, fmt.Errorf("%s: %w", path, refused)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return contents{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	found, err := scan.end(asked)
	if err != nil {
		return contents{}, fmt.Errorf("%s: %w", path, err)
	}
	found.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if suspects := scan.doubles(); len(suspects) > 0 {
		return found, namedDoubles(ctx, path, scan.seed, suspects)
	}
	return found, nil
}

// place is a sequence of the file, and what there was to notice in it.
type place struct {
	id     string
	line   int64
	letter byte
}

func (p place) String() string { return fmt.Sprintf("%q (line %d)", p.id, p.line) }

// scanner reads a FASTA byte by byte: chromosomes are written on one line, and headers of merged entries on very long ones.
type scanner struct {
	line      int64 // 1-based, of the next byte
	state     func(*scanner, byte) error
	afterCR   bool
	id        []byte
	header    int64 // line of the current sequence's header; 0 before the first
	letters   int64 // of the current sequence
	cores     int64
	isProtein bool // the current sequence has a letter that no nucleotide sequence has
	found     contents
	protein   *place // the first sequence that must be a protein
	bases     *place // the first that reads as nucleotides
	seed      maphash.Seed
	ids       []uint64 // of every id a hash
	onHeader  func(id []byte, line int64)
}

func newScanner() *scanner {
	return &scanner{line: 1, state: (*scanner).lineStart, seed: maphash.MakeSeed()}
}

func (s *scanner) feed(chunk []byte) error {
	for _, b := range chunk {
		if b == '\n' && s.afterCR { // the second half of a line's end
			s.afterCR = false
			continue
		}
		s.afterCR = b == '\r'
		if s.afterCR {
			b = '\n'
		}
		if err := s.state(s, b); err != nil {
			return err
		}
		if b == '\n' {
			s.line++
		}
	}
	return nil
}

func (s *scanner) lineStart(b byte) error {
	switch b {
	case '\n':
		return nil
	case '>':
		if err := s.endSequence(); err != nil {
			return err
		}
		s.header, s.id, s.letters, s.cores, s.isProtein = s.line, s.id[:0], 0, 0, false
		s.state = (*scanner).inID
		return nil
	case ';': // a comment, as FASTA had them once
		s.state = (*scanner).inRest
		return nil
	}
	if s.header == 0 {
		return fmt.Errorf("line %d: begins with %s; a FASTA begins with a header, \">id description\"", s.line, shown(b))
	}
	s.state = (*scanner).inLetters
	return s.inLetters(b)
}

// inID reads the first word of a header. Space before it belongs to no id.
func (s *scanner) inID(b byte) error {
	switch {
	case b != '\n' && len(s.id) == 0 && classes[b] == aSpace:
		return nil
	case b == '\n' || classes[b] == aSpace:
		if len(s.id) == 0 {
			return fmt.Errorf("line %d: the header has no id; write \">id description\"", s.line)
		}
		if s.state = (*scanner).inRest; b == '\n' {
			s.state = (*scanner).lineStart
		}
		if s.onHeader != nil {
			s.onHeader(s.id, s.line)
		}
		if s.ids = append(s.ids, maphash.Bytes(s.seed, s.id)); len(s.ids) > MaxSequences {
			return fmt.Errorf("line %d: has more than %d sequences; cut it into several databases", s.line, MaxSequences)
		}
		return nil
	case b < '!' || b > '~':
		return fmt.Errorf("line %d: the id %q goes on with %s; BLAST+ keeps ids of ASCII letters, digits and punctuation alone",
			s.line, s.id, shown(b))
	case len(s.id) == maxIDBytes:
		return fmt.Errorf("line %d: the id %.40q… has more than %d characters", s.line, s.id, maxIDBytes)
	}
	s.id = append(s.id, b)
	return nil
}

// inRest reads to the end of a line whose rest is no matter of ours.
func (s *scanner) inRest(b byte) error {
	if b == '\n' {
		s.state = (*scanner).lineStart
	}
	return nil
}

func (s *scanner) inLetters(b byte) error {
	if b == '\n' {
		s.state = (*scanner).lineStart
		return nil
	}
	class := classes[b]
	switch {
	case class == aSpace:
		return nil
	case class == 0:
		return fmt.Errorf("line %d: %s in the sequence %q stands for no residue and no base", s.line, shown(b), s.id)
	case class&aNucleotide == 0 && !s.isProtein:
		s.isProtein = true
		if s.protein == nil {
			s.protein = &place{string(s.id), s.line, b}
		}
	}
	s.letters++
	if class&aCoreBase != 0 {
		s.cores++
	}
	return nil
}

// shown is a byte in a sentence.
func shown(b byte) string {
	if b < ' ' || b > '~' {
		return fmt.Sprintf("byte 0x%02x", b)
	}
	return strconv.QuoteRune(rune(b))
}

// endSequence counts the sequence that the next header or the file's end closes.
func (s *scanner) endSequence() error {
	if s.header == 0 {
		return nil
	}
	if s.letters == 0 {
		return fmt.Errorf("line %d: the sequence %q has no letters; take it out", s.header, s.id)
	}
	if !s.isProtein && s.bases == nil && s.letters >= tellingLetters && s.cores*10 >= s.letters*coreShare {
		s.bases = &place{id: string(s.id), line: s.header}
	}
	s.found.Sequences++
	s.found.Residues += s.letters
	return nil
}

// end closes the last sequence and tells what the file holds, but for its digest.
func (s *scanner) end(asked string) (contents, error) {
	if err := s.feed([]byte("\n")); err != nil { // a last line without its end
		return contents{}, err
	}
	if err := s.endSequence(); err != nil {
		return contents{}, err
	}
	if s.header == 0 {
		return contents{}, errors.New("holds no sequence")
	}
	s.found.Type = asked
	switch {
	case asked == Nucleotide && s.protein != nil:
		return contents{}, fmt.Errorf("line %d: %q in the sequence %q stands for no base, so that this is no database of type %s",
			s.protein.line, s.protein.letter, s.protein.id, Nucleotide)
	case asked != "":
	case s.protein != nil && s.bases != nil:
		return contents{}, fmt.Errorf("mixes proteins and nucleotides: %s has the letter %q, which stands for no base, and %s "+
			"reads as nucleotides; cut the file in two, or give --type %s if all are proteins",
			s.protein, s.protein.letter, s.bases, Protein)
	case s.protein != nil:
		s.found.Type = Protein
	case s.bases != nil:
		s.found.Type = Nucleotide
	default:
		return contents{}, fmt.Errorf("may hold proteins or nucleotides: its %d sequences are short, and of letters that both "+
			"have; give --type %s or --type %s", s.found.Sequences, Protein, Nucleotide)
	}
	return s.found, nil
}

// doubles are the hashes that two ids have or more.
func (s *scanner) doubles() []uint64 {
	slices.SortFunc(s.ids, cmp.Compare[uint64])
	var doubles []uint64
	for i := 1; i < len(s.ids); i++ {
		if s.ids[i] == s.ids[i-1] && (len(doubles) == 0 || doubles[len(doubles)-1] != s.ids[i]) {
			doubles = append(doubles, s.ids[i])
		}
	}
	return doubles
}

// namedDoubles reads the file again and names ids that stand in it twice, of those with the given hashes; nil when only the hashes
// were the same. A hit on such an id could be either sequence.
func namedDoubles(ctx context.Context, path string, seed maphash.Seed, suspects []uint64) error {
	source, err := openSource(ctx, path, func(int64, int64) {})
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	first := map[string]int64{}           // line by id
	var named []string
	scan := newScanner()
	scan.onHeader = func(id []byte, line int64) {
		if _, suspect := slices.BinarySearch(suspects, maphash.Bytes(seed, id)); !suspect || len(named) == maxNamedDoubles {
			return
		}
		if at, known := first[string(id)]; known {
			named = append(named, fmt.Sprintf("%q (lines %d and %d)", id, at, line))
		} else {
			first[string(id)] = line
		}
	}
	chunk := make([]byte, readBytes)
	for len(named) < maxNamedDoubles {
		n, err := source.Read(chunk)
		if refused := scan.feed(chunk[:n]); refused != nil {
			return fmt.Errorf("%s: %w", path, refused)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(named) == 0 {
		return nil
	}
	return fmt.Errorf("%s: ids stand in it more than once, among them %s; a hit could be either sequence, so give each its own id",
		path, joined(named))
}
