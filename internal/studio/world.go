package studio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/scene"
)

// world is what the grammar must know of the scene to read a sentence: names, numbers and counts, never coordinates.
func (s *Studio) world(state State, files scene.Files, selected string) director.Context {
	m := state.History.Scene()
	last := cmp.Or(m.Last, selected)    // without a last one, "it" is what is selected
	selected = cmp.Or(selected, m.Last) // and the other way round for "this one"
	world := director.Context{Selected: selected, Last: last, LastOf: state.LastOf, Named: m.Names, Pending: state.Pending,
		Shown: shown(m), Synonyms: map[string]string{}}
	var tables []*scene.Table
	for i, one := range m.Structures {
		structure := files[one.Source].Structure
		if structure == nil || structure.Table(one.Model) == nil {
			continue
		}
		if i == 0 {
			world.Structure, world.Title = nameOf(one.Source), structure.Title
			world.Assemblies, world.Models = structure.Assemblies, len(structure.Models)
		}
		world.Predicted = world.Predicted || structure.Predicted
		tables = append(tables, structure.Table(one.Model))
	}
	for _, table := range tables {
		addTable(&world, table)
	}
	s.addSynonyms(&world)
	world.Residue = func(chain, number string) (string, bool) { return residueName(tables, chain, number) }
	world.Atoms = func(component, element string) []string { return atomNames(tables, component, element) }
	return world
}

// nameOf is what a sentence calls a source: the entry's id, else the source.
func nameOf(source string) string {
	if id, ok := strings.CutPrefix(source, "pdb:"); ok {
		return id
	}
	return source
}

// shown lists the layers of a scene and what else is seen in it.
func shown(m scene.Model) []string {
	var found []string
	for _, layer := range m.Layers {
		found = append(found, layer.Sel+": "+layer.As)
	}
	for _, one := range []struct {
		word string
		n    int
	}{{"labels", len(m.Labels)}, {"measurements", len(m.Measurements)}, {"interactions", len(m.Interactions)},
		{"highlights", len(m.Highlights)}} {
		if one.n > 0 {
			found = append(found, one.word)
		}
	}
	if m.Canvas.Spin != nil {
		found = append(found, "spin")
	}
	return found
}

// addTable adds the chains and components of a structure.
func addTable(world *director.Context, table *scene.Table) {
	for _, r := range table.Residues {
		component := director.Component{Name: r.Name, Chain: r.Chain, Number: number(r)}
		switch r.Kind {
		case scene.Protein, scene.Nucleic, scene.Polymer:
			addToChain(world, r)
			if !scene.IsStandard(r.Name) {
				world.Modified = append(world.Modified, component)
			}
		case scene.Branched:
			world.Glycans = true
			world.Ligands = append(world.Ligands, component)
		case scene.Ligand, scene.Additive:
			world.Ligands = append(world.Ligands, component)
		case scene.Ion:
			world.Ions = append(world.Ions, component)
		case scene.Water:
			world.Waters = true
		}
	}
}

func number(r scene.Residue) string { return fmt.Sprint(r.Number, r.InsertionCode) }

// addToChain adds a residue to its chain's ranges.
func addToChain(world *director.Context, r scene.Residue) {
	at := slices.IndexFunc(world.Chains, func(c director.Chain) bool { return c.ID == r.Chain })
	if at < 0 {
		kind := "protein"
		if r.Kind == scene.Nucleic {
			kind = "nucleic"
		}
		world.Chains = append(world.Chains, director.Chain{ID: r.Chain, Kind: kind})
		at = len(world.Chains) - 1
	}
	chain := &world.Chains[at]
	if last := len(chain.Ranges) - 1; last >= 0 {
		if end := chain.Ranges[last].Last; r.Number == end || r.Number == end+1 {
			chain.Ranges[last].Last = r.Number
			return
		}
	}
	chain.Ranges = append(chain.Ranges, director.Range{First: r.Number, Last: r.Number})
}

// addSynonyms adds the names that people use for the components of the structures.
func (s *Studio) addSynonyms(world *director.Context) {
	var ids []string
	for _, list := range [][]director.Component{world.Ligands, world.Ions, world.Modified} {
		for _, component := range list {
			if !slices.Contains(ids, component.Name) {
				ids = append(ids, component.Name)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	for id, names := range s.library.Names(ids) {
		for _, name := range names {
			world.Synonyms[strings.ToLower(name)] = id
		}
	}
}

func residueName(tables []*scene.Table, chain, text string) (string, bool) {
	for _, table := range tables {
		for _, r := range table.Residues {
			if r.Chain == chain && number(r) == text && r.Kind != scene.Water {
				return r.Name, true
			}
		}
	}
	return "", false
}

// atomNames are the names of a component's atoms of an element, from its first instance.
func atomNames(tables []*scene.Table, component, element string) []string {
	for _, table := range tables {
		at := slices.IndexFunc(table.Residues, func(r scene.Residue) bool { return r.Name == component })
		if at < 0 {
			continue
		}
		var names []string
		for _, atom := range table.Atoms {
			if atom.Residue == at && strings.EqualFold(atom.Element, element) && !slices.Contains(names, atom.Name) {
				names = append(names, atom.Name)
			}
		}
		return names
	}
	return nil
}

// lastOf is the last selection of each kind, after a turn.
func lastOf(before map[string]string, m scene.Model, files scene.Files) map[string]string {
	selection, err := scene.ParseSelection(m.Last)
	if m.Last == "" || err != nil {
		return before
	}
	after := map[string]string{}
	for kind, text := range before {
		after[kind] = text
	}
	for _, one := range m.Structures {
		structure := files[one.Source].Structure
		if structure == nil || structure.Table(one.Model) == nil {
			continue
		}
		table := structure.Table(one.Model)
		if kind := table.Sort(table.Resolve(selection)); kind != "" {
			after[kind] = m.Last
		}
	}
	return after
}

// isQuery tells whether a selection as somebody wrote it is the one of a question.
func isQuery(text, query string) bool {
	selection, err := scene.ParseSelection(text)
	return err == nil && selection.String() == query
}
