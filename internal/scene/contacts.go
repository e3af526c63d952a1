package scene

import (
	"slices"

	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/scene/contacts"
)

// shownContacts are the contacts that an entry of a model draws.
type shownContacts struct {
	list []Contact
	// measured tells that they came with the structure; else they were found by the places of atoms.
	measured bool
	contacts.Found
}

// contacts are the contacts that an entry of a model draws: of the structure's table where it has one, else those that the places
// of the atoms tell. Waters stand between the two sides, and hold metals; they are a side of their own only where a selection says
// so.
func (t *Table) contacts(s *Structure, shown InteractionsShown) shownContacts {
	of := t.resolveText(shown.Of)
	with := t.all().less(of)
	if shown.With != "" {
		with = t.resolveText(shown.With).less(of)
	}
	if s.Contacts != nil {
		return shownContacts{list: t.listed(s.Contacts, of, with, shown.Types), measured: true}
	}
	dry := with
	if shown.With == "" {
		dry = with.less(t.ofKind(Water))
	}
	found := t.find(of, dry, shown.Types)
	if !dry.equal(with) && (shown.Types == nil || slices.Contains(shown.Types, contacts.MetalComplex)) && t.hasMetal(of) {
		held := t.find(of, with, []string{contacts.MetalComplex})
		found.Contacts = slices.DeleteFunc(found.Contacts, func(c contacts.Contact) bool { return c.Type == contacts.MetalComplex })
		found.Contacts = append(found.Contacts, held.Contacts...)
	}
	list := make([]Contact, len(found.Contacts))
	for i, c := range found.Contacts {
		list[i] = t.contact(c)
	}
	return shownContacts{list: list, Found: found}
}

func (t *Table) hasMetal(of Set) bool {
	return of.meets(t.atomsThat(func(a Atom) bool { return coordinates.IsMetal(a.Element) }))
}

// find finds the contacts of some types between two sets.
func (t *Table) find(of, with Set, types []string) contacts.Found {
	residues := make([]contacts.Residue, len(t.Residues))
	for i, r := range t.Residues {
		residues[i] = contacts.Residue{Name: r.Name, Water: r.Kind == Water, First: r.first, Last: r.last}
	}
	atoms := make([]contacts.Atom, len(t.Atoms))
	for i, a := range t.Atoms {
		atoms[i] = contacts.Atom{
			Residue: a.Residue, Name: a.Name, Element: a.Element, Altloc: a.Altloc, Occupancy: a.Occupancy, Position: a.Position,
		}
	}
	return contacts.Find(residues, atoms, of.atoms(), with.atoms(), types)
}

func (t *Table) contact(c contacts.Contact) Contact {
	a, b := t.Atoms[c.Atoms[0]], t.Atoms[c.Atoms[1]]
	made := Contact{
		Type: c.Type, From: t.Residues[a.Residue].Place, To: t.Residues[b.Residue].Place, FromAtom: a.Name, ToAtom: b.Name,
		Ends: c.Ends, DistanceAngstrom: c.DistanceAngstrom,
	}
	if c.Water >= 0 {
		water := t.Atoms[c.Water]
		made.Through = &Bridge{t.Residues[water.Residue].Place, water.Position}
	}
	return made
}

// listed are the contacts of a table between two sets, from the first to the second.
func (t *Table) listed(list []Contact, of, with Set, types []string) []Contact {
	ofPlaces, withPlaces := t.places(of), t.places(with)
	var found []Contact
	for _, c := range list {
		if types != nil && !slices.Contains(types, c.Type) {
			continue
		}
		switch {
		case ofPlaces[c.From] && withPlaces[c.To]:
			found = append(found, c)
		case ofPlaces[c.To] && withPlaces[c.From]:
			found = append(found, c.reversed())
		}
	}
	return found
}

func (k Contact) reversed() Contact {
	k.From, k.To, k.FromAtom, k.ToAtom = k.To, k.From, k.ToAtom, k.FromAtom
	k.Ends[0], k.Ends[1] = k.Ends[1], k.Ends[0]
	return k
}

// places are where the residues of a set stand.
func (t *Table) places(of Set) map[Place]bool {
	places := map[Place]bool{}
	for _, residue := range t.touched(of) {
		places[t.Residues[residue].Place] = true
	}
	return places
}

// atPlace are the residues of a table by where they stand. Where several share a place the first counts.
func (t *Table) atPlace() map[Place]int {
	index := make(map[Place]int, len(t.Residues))
	for i, r := range t.Residues {
		if _, taken := index[r.Place]; !taken {
			index[r.Place] = i
		}
	}
	return index
}
