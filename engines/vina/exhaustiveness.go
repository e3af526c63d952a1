package vina

import "github.com/molfabric/molfabric/internal/mol"

// autoSearch is how long a search goes on that is not given its length. rounds.py reads it.
type autoSearch struct {
	// FirstRound is the exhaustiveness of the first two rounds; each later one has as much as all before it.
	FirstRound int `json:"firstRound"`
	// FlexibleFirstRound is that of ligands with FlexibleBonds rotatable bonds and more.
	FlexibleFirstRound int         `json:"flexibleFirstRound"`
	FlexibleBonds      int         `json:"flexibleBonds"`
	Bounds             []autoBound `json:"bounds"`             // by rising heavy atoms; the last holds for all larger ligands
	Candidates         int         `json:"candidates"`         // poses that a round keeps, of which the request's number are chosen
	ChooseBy           string      `json:"chooseBy,omitempty"` // rankByCNN: what they are chosen by; Vina's score when empty
}

// autoBound is the most that ligands of up to so many heavy atoms get, all rounds together.
type autoBound struct {
	HeavyAtoms     int `json:"heavyAtoms"`
	Exhaustiveness int `json:"exhaustiveness"`
	expected       float64
}

// autoSearchRule: two rounds of 4 are the 8 searches that a request gets which does not say, and most ligands need no more. Put
// together from 24 searches of 1, imatinib (7 rotatable bonds) takes 10.7 on average and is right in 98 of 100, dasatinib (8)
// 11.8 and 98, as with a fixed 8; BACE_1's macrocycle (11) is right in 92 with rounds of 4 and in 98 with rounds of 8, for
// 22.4, where a fixed 8 is right in 83. The expected figures are such averages; doc/decisions/0040-converged-search.md has more
// of them. Vina refines the poses that it keeps, and with 30 of them finds native poses, scored sixth and worse, that it does not
// find with nine (4CUM's, 4QNB's).
var autoSearchRule = autoSearch{FirstRound: 4, FlexibleFirstRound: 8, FlexibleBonds: 9, Candidates: 30, Bounds: []autoBound{
	{HeavyAtoms: 12, Exhaustiveness: 16, expected: 9},
	{HeavyAtoms: 30, Exhaustiveness: 32, expected: 11},
	{HeavyAtoms: maxHeavyAtoms, Exhaustiveness: 32, expected: 16},
}}

func (a autoSearch) boundOf(heavyAtoms float64) autoBound {
	for _, bound := range a.Bounds {
		if heavyAtoms <= float64(bound.HeavyAtoms) {
			return bound
		}
	}
	return a.Bounds[len(a.Bounds)-1]
}

// rounds is how many rounds it takes to an exhaustiveness.
func (a autoSearch) rounds(exhaustiveness float64) float64 {
	rounds, done := 1.0, float64(a.FirstRound)
	for done < exhaustiveness {
		done += max(float64(a.FirstRound), done)
		rounds++
	}
	return rounds
}

// mostSearches is the largest number that an exhaustiveness can come to.
func mostSearches(e mol.Exhaustiveness) int {
	if e == mol.AutoExhaustiveness {
		return autoSearchRule.Bounds[len(autoSearchRule.Bounds)-1].Exhaustiveness
	}
	return int(e)
}
