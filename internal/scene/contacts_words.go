package scene

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/scene/contacts"
)

// contactNouns are the types of contacts as people call them.
var contactNouns = map[string]string{
	contacts.HydrogenBond: "hydrogen bond", contacts.SaltBridge: "salt bridge", contacts.WaterBridge: "water bridge",
	contacts.MetalComplex: "bond to a metal", contacts.HalogenBond: "halogen bond", contacts.PiStacking: "π stacking contact",
	contacts.PiCation: "π–cation contact", contacts.Hydrophobic: "hydrophobic contact",
}

// contactNoun is a type with its number: "3 hydrogen bonds".
func contactNoun(n int, kind string) string {
	noun := contactNouns[kind]
	if noun == "" {
		noun = strings.ReplaceAll(kind, "_", " ")
	}
	if n != 1 && kind == contacts.MetalComplex {
		noun = "bonds to metals"
	} else if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// namer names residues in contacts.
type namer struct {
	*Table
	index   map[Place]int
	several bool           // several chains have residues
	count   map[string]int // residues by their components
}

func (t *Table) namer() namer {
	n := namer{Table: t, index: t.atPlace(), count: map[string]int{}}
	chain := ""
	for _, r := range t.Residues {
		n.count[r.Name]++
		if r.Kind.inChain() {
			n.several = n.several || chain != "" && chain != r.Chain
			chain = r.Chain
		}
	}
	return n
}

// residue is a residue as papers on structures have it: ARG132, GLU127(E) where there are several chains, and STI or HOH 309.
func (n namer) residue(at Place) string {
	i, ok := n.index[at]
	if !ok {
		return at.String()
	}
	r := n.Residues[i]
	number := strconv.Itoa(r.Number) + r.InsertionCode
	switch {
	case r.Kind.inChain():
		number = r.Name + number
	case n.count[r.Name] == 1:
		return r.Name
	default:
		number = r.Name + " " + number
	}
	if n.several && r.Chain != "" {
		number += "(" + r.Chain + ")"
	}
	return number
}

// contact is a contact in words, from what is touched to what touches it: "ARG132 NH1–REA O1 2.7 Å".
func (n namer) contact(k Contact) string {
	end := func(at Place, atom string) string {
		switch k.Type {
		case contacts.Hydrophobic, contacts.PiStacking, contacts.PiCation, contacts.SaltBridge: // of groups of atoms
			return n.residue(at)
		}
		return strings.TrimSpace(n.residue(at) + " " + atom)
	}
	through := ""
	if k.Through != nil {
		through = n.residue(k.Through.Place) + "–"
	}
	return fmt.Sprintf("%s–%s%s %.1f Å", end(k.To, k.ToAtom), through, end(k.From, k.FromAtom), k.DistanceAngstrom)
}

// inWords counts contacts by types, and names so many of each: "3 hydrogen bonds: …; 1 salt bridge: …".
func (n namer) inWords(list []Contact, most int) string {
	kinds := slices.Clone(contacts.Types)
	named := map[string][]string{}
	for _, k := range list {
		if !slices.Contains(kinds, k.Type) {
			kinds = append(kinds, k.Type)
		}
		named[k.Type] = append(named[k.Type], n.contact(k))
	}
	var texts []string
	for _, kind := range kinds {
		names := named[kind]
		if len(names) == 0 {
			continue
		}
		texts = append(texts, contactNoun(len(names), kind)+": "+shortenedTo(names, most))
	}
	return strings.Join(texts, "; ")
}
