package esmfold

import (
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/internal/fasta"
)

const (
	// residues are the letters that the model has atoms for.
	residues = "ACDEFGHIKLMNPQRSTVWY"
	// linkerTokens join two chains of a complex, as encoding.py has it.
	linkerTokens = 25
	// maxChains are the names that a PDB file has for chains.
	maxChains = 26
	// MaxCPUTokens is the longest protein that is folded on a CPU, linkers included: beyond it one sequence takes hours.
	MaxCPUTokens = 400
	// MaxGPUTokens is the longest that is folded on a device: the language model was trained on proteins of up to 1,024 residues.
	MaxGPUTokens = 1024
	// maxNamedRefusals bounds the records that a refusal of the whole submission names.
	maxNamedRefusals = 5
)

// advice says what to do about letters that stand for no single residue.
var advice = map[rune]string{
	'B': "asparagine or aspartate; say N or D", 'Z': "glutamine or glutamate; say Q or E", 'J': "leucine or isoleucine; say L or I",
	'X': "any residue, which has no atoms", 'U': "selenocysteine, which the model does not know; C is nearest",
	'O': "pyrrolysine, which the model does not know; K is nearest", '*': "a stop; cut the sequence there",
	'-': "a gap; give the sequence without its alignment",
}

// Judged is a record of a request's FASTA. Reason says why it cannot be folded, as a clause for "the sequence …"; "" of one that can,
// which has Chains.
type Judged struct {
	Name   string
	Chains []string
	Reason string
}

// Tokens counts residues and linkers; time and memory go by it.
func (j Judged) Tokens() int { return tokens(j.Chains) }

func tokens(chains []string) int {
	count := linkerTokens * (len(chains) - 1)
	for _, chain := range chains {
		count += len(chain)
	}
	return count
}

// Judge tells of every record whether it can be folded, where no protein may have more tokens than most. Letters may be lower case,
// and a stop may end a chain.
func Judge(records []fasta.Record, most int) []Judged {
	judged := make([]Judged, len(records))
	first := map[string]int{}
	for i, record := range records {
		one := Judged{Name: record.Name}
		one.Chains, one.Reason = chainsOf(record.Letters)
		switch earlier, double := first[record.Name]; {
		case one.Reason != "":
		case double:
			one.Reason = fmt.Sprintf("has the name of record %d; give every sequence a name of its own", earlier+1)
		case one.Tokens() > most:
			one.Reason = fmt.Sprintf("has %d residues with the linkers between its chains; at most %d are folded here", one.Tokens(),
				most)
		default:
			first[record.Name] = i
		}
		if one.Reason != "" {
			one.Chains = nil
		}
		judged[i] = one
	}
	return judged
}

// chainsOf reads the chains of a record, which ":" joins.
func chainsOf(letters string) (chains []string, reason string) {
	chains = strings.Split(strings.ToUpper(letters), ":")
	if len(chains) > maxChains {
		return nil, fmt.Sprintf("has %d chains; a complex may have %d", len(chains), maxChains)
	}
	for i, chain := range chains {
		chain = strings.TrimSuffix(chain, "*")
		chains[i] = chain
		if chain == "" {
			if len(chains) > 1 {
				return nil, fmt.Sprintf("has no residue in chain %d; \":\" joins the chains of a complex", i+1)
			}
			return nil, "is empty"
		}
		for place, letter := range chain {
			if strings.ContainsRune(residues, letter) {
				continue
			}
			what := advice[letter]
			if what == "" {
				what = "no residue"
			}
			return nil, fmt.Sprintf("has %q at position %d, which is %s", letter, place+1, what)
		}
	}
	return chains, ""
}

// refusal names the first records that cannot be folded, for a request of which none can.
func refusal(judged []Judged) string {
	var words []string
	for _, one := range judged[:min(len(judged), maxNamedRefusals)] {
		words = append(words, one.Name+" "+one.Reason)
	}
	text := strings.Join(words, "; ")
	if more := len(judged) - maxNamedRefusals; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// fileOf is what a sequence's files are called, by its place in the FASTA and its name: "0003-ubiquitin".
func fileOf(index int, name string) string {
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if slug = strings.Trim(slug[:min(len(slug), maxSlugBytes)], "-"); slug == "" {
		slug = "protein"
	}
	return fmt.Sprintf("%04d-%s", index+1, slug)
}

// maxSlugBytes keeps names of files short enough for every file system and archive.
const maxSlugBytes = 40
