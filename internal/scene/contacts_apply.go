package scene

import (
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/scene/contacts"
)

// How many contacts of a type an outcome names, and how many residues that were added to the picture; all contacts are counted.
const (
	maxNamedContacts = 8
	maxNamedResidues = 20
)

// interactions draws contacts, and what is in contact where no atoms of it are seen.
func (a *applier) interactions(args Interactions) error {
	query, sets, err := a.meant(args.Of)
	if err == nil {
		query, sets, err = a.one(query, sets)
	}
	if err != nil {
		return err
	}
	with := ""
	if args.With != "" {
		last := a.Last
		if with, _, err = a.meant(args.With); err != nil {
			return err
		}
		a.Last = last
	}
	var texts []string
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		shown := InteractionsShown{
			Structure: i, Of: query, With: with, Types: args.Types, Labels: args.Labels != nil && *args.Labels,
		}
		a.Interactions = slices.DeleteFunc(a.Interactions, func(old InteractionsShown) bool {
			return old.Structure == i && old.Of == query && old.With == with
		})
		shown.ID = a.id("contacts")
		a.Interactions = append(a.Interactions, shown)
		found := a.contacts(shown)
		if len(found.list) == 0 {
			continue
		}
		names := a.tables[i].namer()
		texts = append(texts, names.inWords(found.list, maxNamedContacts)+".")
		texts = append(texts, a.showContacts(names, i, found.list)...)
	}
	if len(a.Structures) > 1 {
		a.warn("contacts between two structures are not looked for")
	}
	if len(texts) == 0 {
		a.warn("there are no such contacts")
		texts = []string{"No contacts of " + clip(query, 60) + " were found."}
	}
	a.outcome.Text = strings.Join(texts, " ")
	return nil
}

// contacts finds contacts and says what is not known of them.
func (a *applier) contacts(shown InteractionsShown) shownContacts {
	i := shown.Structure
	found := a.tables[i].contacts(a.structure(i), shown)
	if found.measured {
		return found
	}
	bonds := slices.ContainsFunc(found.list, func(k Contact) bool {
		return k.Type == contacts.HydrogenBond || k.Type == contacts.WaterBridge
	})
	if bonds && !found.Hydrogens {
		a.warn("the file has no hydrogens: which atoms give hydrogen bonds was told by their elements and neighbours")
	}
	if found.More > 0 {
		a.warn("there are %d contacts more, which are not drawn", found.More)
	}
	if found.Cut {
		a.warn("the atoms lie too close together for all contacts to be looked for")
	}
	if a.tables[i].repeated() {
		a.warn("contacts between the copies in assembly %s are not looked for", a.Structures[i].Assembly)
	}
	return found
}

// seenAsAtoms are the representations in which single atoms are seen.
var seenAsAtoms = []string{"stick", "ball_and_stick", "line", "spacefill"}

// showContacts draws the residues at the ends of contacts, and the waters between them, whose atoms are not seen: members of chains
// as sticks, others as they are usually drawn. It says which.
func (a *applier) showContacts(names namer, i int, list []Contact) []string {
	t := a.tables[i]
	seen := newSet(len(t.Atoms))
	for _, l := range a.Layers {
		if l.Structure == i && slices.Contains(seenAsAtoms, l.As) {
			seen = seen.or(a.set(i, l.Sel))
		}
	}
	unseen := newSet(len(t.Atoms))
	look := func(at Place, atom string) {
		residue, ok := names.index[at]
		if !ok {
			return
		}
		r := t.Residues[residue]
		named := slices.ContainsFunc(t.Atoms[r.first:r.last], func(a Atom) bool { return a.Name == atom })
		for k := r.first; k < r.last; k++ {
			if seen.has(k) && (!named || t.Atoms[k].Name == atom) {
				return
			}
		}
		for k := r.first; k < r.last; k++ {
			unseen.add(k)
		}
	}
	for _, k := range list {
		look(k.From, k.FromAtom)
		look(k.To, k.ToAtom)
		if k.Through != nil {
			look(k.Through.Place, "")
		}
	}
	return a.drawUnseen(names, i, unseen)
}

func (a *applier) drawUnseen(names namer, i int, unseen Set) []string {
	t := a.tables[i]
	var texts []string
	say := func(set Set, what string) {
		var list []string
		for _, residue := range t.touched(set) {
			list = append(list, names.residue(t.Residues[residue].Place))
		}
		texts = append(texts, what+" were added for "+shortenedTo(list, maxNamedResidues)+".")
	}
	chains := unseen.and(t.ofKind(kindsOf["polymer"]...))
	if !chains.isEmpty() {
		a.draw(i, part{"stick", chains, t.spell(chains)}, true)
		say(chains, "Sticks")
	}
	if others := unseen.less(chains); !others.isEmpty() {
		for _, p := range a.defaultParts(i, t.spell(others), others) {
			a.draw(i, p, true)
		}
		say(others, "Atoms")
	}
	return texts
}
