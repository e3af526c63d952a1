package director

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/scene"
)

const (
	// maxLineBytes bounds a line of a file of sentences; the longest of ours has a tenth of it.
	maxLineBytes = 64 << 10
	// maxSentences bounds a file.
	maxSentences = 20_000
)

// Sentence is a line of a file of sentences: what somebody says, what he says it in, and one good answer.
type Sentence struct {
	Text    string
	Context Context
	// Want are the operations of a good answer; none where the sentence must not be understood.
	Want []scene.Operation
	Note string
}

// Context is what a sentence is said in.
type Context struct {
	Structure string            `json:"structure"` // "1CBS", "AF-P04637-F1", "pose:…"; "" where nothing is loaded
	Title     string            `json:"title"`
	Chains    map[string]string `json:"chains"` // author residue numbers by chain: "1-76" or "1-20,25-76"
	Kinds     map[string]string `json:"kinds"`  // "nucleic" by chain; the others are proteins
	// Ligands, Ions and Modified are components as component/chain/number; modified residues are members of their chain.
	Ligands    []string          `json:"ligands"`
	Ions       []string          `json:"ions"`
	Modified   []string          `json:"modified"`
	Waters     bool              `json:"waters"`
	Glycans    bool              `json:"glycans"`
	Predicted  bool              `json:"predicted"`
	Assemblies []string          `json:"assemblies"`
	Models     int               `json:"models"`
	Contacts   []string          `json:"interactions"` // the table of a pose: "hydrogen_bond A/LEU/83"
	Shown      []string          `json:"shown"`        // "polymer: surface", and "labels", "spin", "interactions"
	Selected   string            `json:"selected"`     // in the viewer
	Last       string            `json:"last"`         // what "it" means
	Named      map[string]string `json:"named"`
	History    []string          `json:"history"` // what was said before
	Pending    *Pending          `json:"pending"`
}

// Pending is the question that the last message left: an operation that fits several things, and what they are.
type Pending struct {
	Op    string         `json:"op"`
	Args  map[string]any `json:"args"`
	Asked string         `json:"asked"`
}

// ReadSentences reads a file of sentences, a JSON object a line. Errors name the line.
func ReadSentences(path string) ([]Sentence, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	var sentences []Sentence
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLineBytes)
	for number := 1; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if len(sentences) == maxSentences {
			return nil, fmt.Errorf("%s: more than %d sentences", path, maxSentences)
		}
		sentence, err := readSentence(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, number, err)
		}
		sentences = append(sentences, sentence)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(sentences) == 0 {
		return nil, fmt.Errorf("%s: holds no sentence", path)
	}
	return sentences, nil
}

func readSentence(line []byte) (Sentence, error) {
	var read struct {
		Sentence   string            `json:"sentence"`
		Context    Context           `json:"context"`
		Operations []json.RawMessage `json:"operations"`
		Note       string            `json:"note"`
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return Sentence{}, err
	}
	if read.Sentence == "" {
		return Sentence{}, fmt.Errorf("sentence: is empty; give what somebody says")
	}
	s := Sentence{Text: read.Sentence, Context: read.Context, Note: read.Note}
	if len(read.Operations) == 0 {
		return s, nil
	}
	text, err := json.Marshal(read.Operations)
	if err != nil {
		return Sentence{}, err
	}
	s.Want, err = scene.Parse(text)
	return s, err
}

// component is an instance of a chemical component, or one of a chain's residues.
type component struct {
	name, chain string
	number      int
}

// componentsOf reads component/chain/number. Errors name the list and what is allowed.
func componentsOf(field string, texts []string) ([]component, error) {
	var found []component
	for _, text := range texts {
		parts := strings.Split(text, "/")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s: %q; allowed is component/chain/number", field, text)
		}
		number, err := strconv.Atoi(parts[2])
		if err != nil || len(parts[0]) > 3 || len(parts[1]) != 1 {
			return nil, fmt.Errorf("%s: %q; allowed is component/chain/number, of at most three letters, one letter and a number "+
				"without insertion code", field, text)
		}
		found = append(found, component{parts[0], parts[1], number})
	}
	return found, nil
}

// chain is a polymer chain of a context.
type chain struct {
	id      string
	nucleic bool
	numbers []int // of its residues, ascending
}

// maxResidues bounds the structure of a context.
const maxResidues = 20_000

// chains are the chains of the context, by name. Errors name the chain.
func (c Context) chains() ([]chain, error) {
	var found []chain
	total := 0
	for id, text := range c.Chains {
		if len(id) != 1 {
			return nil, fmt.Errorf("chains: %q; the names of chains have one letter", id)
		}
		one := chain{id: id, nucleic: c.Kinds[id] == "nucleic"}
		for part := range strings.SplitSeq(text, ",") {
			first, last, ok := rangeOf(strings.TrimSpace(part))
			if total += last - first + 1; !ok || total > maxResidues {
				return nil, fmt.Errorf("chains: %q of chain %s; allowed are ranges such as 1-76,80-95, of at most %d residues in "+
					"all", part, id, maxResidues)
			}
			for number := first; number <= last; number++ {
				one.numbers = append(one.numbers, number)
			}
		}
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b chain) int { return strings.Compare(a.id, b.id) })
	return found, nil
}

// rangeOf reads "225-498", "-3-120" or "12".
func rangeOf(text string) (first, last int, ok bool) {
	at := strings.Index(strings.TrimPrefix(text, "-"), "-")
	if at < 0 {
		first, err := strconv.Atoi(text)
		return first, first, err == nil
	}
	at += len(text) - len(strings.TrimPrefix(text, "-"))
	first, err := strconv.Atoi(text[:at])
	last, err2 := strconv.Atoi(text[at+1:])
	return first, last, err == nil && err2 == nil && first <= last
}
