package structures

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxDictionaryBytes is ten times the Chemical Component Dictionary of 2026 in this form.
	maxDictionaryBytes = 256 << 20
	// maxLineBytes is ten times its longest component.
	maxLineBytes = 256 << 10
	// maxFoldedWords bounds the words of a query that are searched for, each over the whole dictionary.
	maxFoldedWords = 16
)

// Component is a chemical component as a dictionary defines it. Members beside the id may be "".
type Component struct {
	ID       string   `json:"id"` // in upper case
	Name     string   `json:"name"`
	Synonyms []string `json:"synonyms"`
	Formula  string   `json:"formula"`
	Type     string   `json:"type"` // e.g. NON-POLYMER
	SMILES   string   `json:"smiles"`
	InChIKey string   `json:"inchiKey"`
}

// Dictionary holds components in memory: their lines as they came, which are decoded when they are asked for, and their names
// folded for the search. The zero value is empty. It is never changed after it was loaded.
type Dictionary struct {
	text    []byte
	entries []dictionaryEntry // by id, ascending
}

type dictionaryEntry struct {
	id         string
	start, end int      // of its line
	names      []string // folded; the name first
}

// LoadDictionary reads a dictionary: JSON lines of Component, gzip'd or not. An error names the line.
func LoadDictionary(path string) (*Dictionary, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	d := &Dictionary{}
	if err := unpack(file, maxDictionaryBytes, d.read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	slices.SortFunc(d.entries, func(a, b dictionaryEntry) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(d.entries); i++ {
		if d.entries[i].id == d.entries[i-1].id {
			return nil, fmt.Errorf("%s: component %s stands in it twice", path, d.entries[i].id)
		}
	}
	d.text, d.entries = slices.Clip(d.text), slices.Clip(d.entries)
	return d, nil
}

func (d *Dictionary) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLineBytes)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Bytes()
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		var c Component
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		id, ok := componentID(c.ID)
		if !ok {
			return fmt.Errorf("line %d: id %.20q is not 1 to 8 letters and digits", number, c.ID)
		}
		d.entries = append(d.entries, dictionaryEntry{id: id, start: len(d.text), end: len(d.text) + len(line),
			names: foldedNames(c)})
		d.text = append(d.text, line...)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

// Len counts the components.
func (d *Dictionary) Len() int { return len(d.entries) }

// Lookup finds a component by its id, in either case.
func (d *Dictionary) Lookup(id string) (Component, bool) {
	id, _ = componentID(id)
	at, ok := slices.BinarySearchFunc(d.entries, id, func(e dictionaryEntry, id string) int { return cmp.Compare(e.id, id) })
	if !ok {
		return Component{}, false
	}
	return d.component(d.entries[at]), true
}

func (d *Dictionary) component(e dictionaryEntry) Component {
	var c Component
	if err := json.Unmarshal(d.text[e.start:e.end], &c); err != nil { // it was read before
		panic(err)
	}
	c.ID = e.id
	return c
}

// How well a component fits a query, best first.
const (
	byID = iota
	byName
	byPrefix
	byWords
	noFit
)

type hit struct {
	fit, nameBytes int
	entry          dictionaryEntry
}

// Search finds up to limit components: the one with this id, then those of which a name or synonym is the query, begins with it,
// or has a word beginning with each of its words. Letter case, punctuation and spaces do not count. Among equals shorter names
// come first, then smaller ids.
func (d *Dictionary) Search(query string, limit int) []Component {
	hits := d.search(query)
	found := make([]Component, min(len(hits), limit))
	for i := range found {
		found[i] = d.component(hits[i].entry)
	}
	return found
}

func (d *Dictionary) search(query string) []hit {
	id, isID := componentID(strings.TrimSpace(query))
	wanted := newFolded(query)
	var hits []hit
	for _, e := range d.entries {
		best := hit{fit: noFit, entry: e}
		if isID && e.id == id {
			best.fit = byID
		}
		for _, name := range e.names {
			if fit := wanted.fit(name); fit < best.fit {
				best.fit, best.nameBytes = fit, len(name)
			}
		}
		if best.fit < noFit {
			hits = append(hits, best)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(a.nameBytes, b.nameBytes), cmp.Compare(a.entry.id, b.entry.id))
	})
	return hits
}

// folded is a query in the form in which names are compared.
type folded struct {
	letters string // without spaces
	words   []string
}

func newFolded(query string) folded {
	words := strings.Fields(fold(query))
	return folded{letters: strings.Join(words, ""), words: words[:min(len(words), maxFoldedWords)]}
}

// fit says how well a folded name fits.
func (q folded) fit(name string) int {
	if q.letters == "" {
		return noFit
	}
	if rest, ok := cutLetters(name, q.letters); ok {
		if rest == "" {
			return byName
		}
		return byPrefix
	}
	for _, word := range q.words {
		if !strings.HasPrefix(name, word) && !strings.Contains(name, " "+word) {
			return noFit
		}
	}
	return byWords
}

// cutLetters cuts letters off the beginning of a name, whose spaces do not count.
func cutLetters(name, letters string) (rest string, ok bool) {
	at := 0
	for i := range len(letters) {
		if at < len(name) && name[at] == ' ' {
			at++
		}
		if at == len(name) || name[at] != letters[i] {
			return "", false
		}
		at++
	}
	return name[at:], true
}

// fold turns a text into lower-case words of letters and digits with one space between them.
func fold(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}

func foldedNames(c Component) []string {
	var names []string
	for _, name := range append([]string{c.Name}, c.Synonyms...) {
		if name = fold(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.Clip(names)
}
