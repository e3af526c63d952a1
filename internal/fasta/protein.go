package fasta

import (
	"fmt"
	"strings"
)

const (
	// residues are the letters that the model has atoms for.
	residues = "ACDEFGHIKLMNPQRSTVWY"
	// linkerTokens join two chains of a complex, as encoding.py has it.
	linkerTokens = 25
	// MaxChains are the names that a PDB file has for chains.
	MaxChains = 26
	// MaxCPUTokens is the longest protein that is folded on a CPU, linkers included: beyond it one sequence takes hours.
	MaxCPUTokens = 400
	// MaxGPUTokens is the longest that is folded on a device: the language model was trained on proteins of up to 1,024 residues.
	MaxGPUTokens = 1024
)

// advice says what to do about letters that stand for no single residue.
var advice = map[rune]string{
	'B': "asparagine or aspartate; say N or D", 'Z': "glutamine or glutamate; say Q or E", 'J': "leucine or isoleucine; say L or I",
	'X': "any residue, which has no atoms", 'U': "selenocysteine, which the model does not know; C is nearest",
	'O': "pyrrolysine, which the model does not know; K is nearest", '*': "a stop; cut the sequence there",
	'-': "a gap; give the sequence without its alignment",
}

// Judged is a record of a request's FASTA. Reason says why it cannot be folded, as a clause for "the sequence …"; "" of one that
// can, which has Chains.
type Judged struct {
	Name   string
	Chains []string
	Reason string
}

// Tokens counts residues and linkers; time and memory go by it.
func (j Judged) Tokens() int { return Tokens(j.Chains) }

// Tokens counts the residues of chains, and the linkers between them.
func Tokens(chains []string) int {
	count := linkerTokens * (len(chains) - 1)
	for _, chain := range chains {
		count += len(chain)
	}
	return count
}

// Judge tells of every record whether it can be folded, where no protein may have more tokens than most. Letters may be lower case,
// and a stop may end a chain.
func Judge(records []Record, most int) []Judged {
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
			one.Reason = fmt.Sprintf("has %d residues with the linkers between its chains; at most %d are folded here",
				one.Tokens(),
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
	if len(chains) > MaxChains {
		return nil, fmt.Sprintf("has %d chains; a complex may have %d", len(chains), MaxChains)
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
