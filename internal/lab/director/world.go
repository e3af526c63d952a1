package director

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// library has the structures of sentences: the real file where a folder has it, else one that is made from the context.
type library struct {
	folder     string
	components dictionary
	said       map[string]spoken     // by structure
	kept       map[string]scene.File // by source, of the sentence that is judged
	built      map[string]scene.File // by what they were made from
}

// File gives the structure of the sentence, and one that stands for all others to what a sentence loads.
func (l *library) File(_ context.Context, source string) (scene.File, error) {
	if file, ok := l.kept[source]; ok {
		return file, nil
	}
	return l.made(standIn(source))
}

// standIn is a context with something of everything, for what a sentence loads.
func standIn(source string) Context {
	c := Context{Structure: "0XXX", Chains: map[string]string{"A": "1-120", "B": "1-120"}, Predicted: true}
	if !strings.HasPrefix(source, "alphafold:") {
		c.Ligands, c.Ions, c.Waters, c.Predicted = []string{"LIG/A/201"}, []string{"ZN/B/202"}, true, false
	}
	return c
}

// files are the structures that operations are about, with those that they load.
func (l *library) files(ctx context.Context, lists ...[]scene.Operation) (scene.Files, error) {
	files := maps.Clone(scene.Files(l.kept))
	for _, list := range lists {
		for _, source := range scene.Sources(list) {
			if strings.HasPrefix(source, "artifact:") {
				continue // maps have no stand-in
			}
			file, err := l.File(ctx, source)
			if err != nil {
				return nil, err
			}
			files[source] = file
		}
	}
	return files, nil
}

// Names are the names of components that the dictionary has.
func (l *library) Names(ids []string) map[string][]string {
	found := map[string][]string{}
	for _, id := range ids {
		found[id] = l.components.find(id).names
	}
	return found
}

// sourceOf is what a scene calls the structure of a context.
func sourceOf(structure string) string {
	prediction, isPrediction := strings.CutPrefix(structure, "AF-")
	switch {
	case strings.Contains(structure, ":"):
		return structure
	case isPrediction:
		accession, _, _ := strings.Cut(prediction, "-")
		return "alphafold:" + accession
	case entryPattern.MatchString(structure):
		return "pdb:" + structure
	}
	return "project:" + notPlain.ReplaceAllString(structure, "_")
}

var (
	entryPattern = regexp.MustCompile("^[0-9][A-Z0-9]{3}$")
	notPlain     = regexp.MustCompile("[^A-Za-z0-9_]+")
)

// use makes the structure of a context the one that the library has. Errors name what the context lacks.
func (l *library) use(c Context) error {
	l.kept = map[string]scene.File{}
	if c.Structure == "" {
		return nil
	}
	file, err := l.real(c.Structure)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = l.made(c)
	}
	if err != nil {
		return fmt.Errorf("structure %s: %w", c.Structure, err)
	}
	l.kept[sourceOf(c.Structure)] = file
	return nil
}

// maxFileBytes bounds a structure's file.
const maxFileBytes = 256 << 20

// real is a structure's file in the folder. Errors: fs.ErrNotExist.
func (l *library) real(structure string) (scene.File, error) {
	if l.folder == "" || !isPlain(structure) {
		return scene.File{}, fs.ErrNotExist
	}
	for _, name := range []string{structure, strings.ToLower(structure)} {
		for _, ending := range []string{".cif", ".cif.gz", ".pdb", ".pdb.gz"} {
			path := filepath.Join(l.folder, name+ending)
			if file, ok := l.built[path]; ok {
				return file, nil
			}
			about, err := os.Stat(path)
			if err != nil || about.Size() > maxFileBytes {
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return scene.File{}, err
			}
			return l.read(path, content)
		}
	}
	return scene.File{}, fs.ErrNotExist
}

// isPlain tells a name that leads out of no folder.
func isPlain(name string) bool { return filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`) }

func (l *library) read(key string, content []byte) (scene.File, error) {
	structure, err := scene.ReadStructure(content)
	if err != nil {
		return scene.File{}, err
	}
	l.built[key] = scene.File{Structure: structure, URL: "made"}
	return l.built[key], nil
}

// made is a structure that is made from what a context says.
func (l *library) made(c Context) (scene.File, error) {
	key := fmt.Sprint(c.Structure, c.Title, c.Chains, c.Kinds, c.Ligands, c.Ions, c.Modified, c.Waters, c.Glycans, c.Predicted,
		c.Assemblies, c.Models, c.Contacts)
	if file, ok := l.built[key]; ok {
		return file, nil
	}
	b, err := blueprintOf(c, l.said[c.Structure], func(id string) string { return l.components.find(id).formula })
	if err != nil {
		return scene.File{}, err
	}
	file, err := l.read(key, []byte(b.write()))
	if err != nil {
		return scene.File{}, err
	}
	file.Structure.Contacts = contactsOf(file.Structure, c.Contacts)
	return file, nil
}

// contactsOf are the contacts of a context's table, from the first ligand to the residues that it names.
func contactsOf(s *scene.Structure, texts []string) []scene.Contact {
	table := s.Table(1)
	ligands := table.Components(scene.Ligand)
	if len(texts) == 0 || len(ligands) == 0 {
		return nil
	}
	var found []scene.Contact
	for _, text := range texts {
		kind, place, _ := strings.Cut(text, " ")
		at := slices.IndexFunc(table.Residues, func(r scene.Residue) bool {
			return fmt.Sprintf("%s/%s/%d", r.Chain, r.Name, r.Number) == place
		})
		if at < 0 {
			continue
		}
		c := scene.Contact{Type: kind, From: ligands[0].Place, To: table.Residues[at].Place, DistanceAngstrom: 3}
		for _, atom := range table.Atoms {
			if table.Residues[atom.Residue].Place == c.From && c.FromAtom == "" {
				c.FromAtom, c.Ends[0] = atom.Name, atom.Position
			}
			if atom.Residue == at && c.ToAtom == "" {
				c.ToAtom, c.Ends[1] = atom.Name, atom.Position
			}
		}
		found = append(found, c)
	}
	return found
}

// earlier is how many steps of a conversation lie before and behind the scene of a sentence, so that it can be undone and redone.
const earlier = 5

// state is the conversation in which a sentence is said. Errors name the member of the context.
func (l *library) state(c Context) (studio.State, error) {
	state := studio.NewState()
	m := scene.NewModel()
	files := scene.Files(l.kept)
	if c.Structure != "" {
		operations := []scene.Operation{scene.Do(scene.Load{Source: sourceOf(c.Structure)})}
		for _, text := range c.Shown {
			more, err := shownAs(text)
			if err != nil {
				return state, err
			}
			operations = append(operations, more...)
		}
		var err error
		if m, _, err = scene.Apply(m, files, operations); err != nil {
			return state, fmt.Errorf("shown: %w", err)
		}
	}
	var err error
	if m.Last, err = canonical("last", c.Last); err != nil {
		return state, err
	}
	m.Names = maps.Clone(c.Named)
	for name, text := range m.Names {
		if m.Names[name], err = canonical("named", text); err != nil {
			return state, err
		}
	}
	state.History = scene.History{At: earlier}
	for range 2*earlier + 1 {
		state.History.Steps = append(state.History.Steps, scene.Step{Scene: m})
	}
	state.Pending, err = c.pending()
	return state, err
}

func canonical(member, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	selection, err := scene.ParseSelection(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", member, err)
	}
	return selection.String(), nil
}

// shownAs are the operations that lead to what a context says is shown.
func shownAs(text string) ([]scene.Operation, error) {
	sel, as, isLayer := strings.Cut(text, ": ")
	switch {
	case isLayer:
		return []scene.Operation{scene.Do(scene.Show{Sel: sel, As: as, Add: true})}, nil
	case text == "spin":
		return []scene.Operation{scene.Do(scene.Spin{Mode: "spin"})}, nil
	case text == "labels":
		return []scene.Operation{scene.Do(scene.Label{Sel: "polymer", Level: "chain"})}, nil
	case text == "interactions":
		return []scene.Operation{scene.Do(scene.Interactions{Of: "ligand"})}, nil
	}
	return nil, fmt.Errorf("shown: %q; allowed are a selection and a representation (polymer: surface), labels, interactions and "+
		"spin", text)
}

// pending is the question that a context has open, with what fits the selection that it is about.
func (c Context) pending() (*director.Pending, error) {
	if c.Pending == nil {
		return nil, nil
	}
	argument := "sel"
	if c.Pending.Args["of"] != nil {
		argument = "of"
	}
	sel, _ := c.Pending.Args[argument].(string)
	pending := &director.Pending{Operations: []director.Operation{{Op: c.Pending.Op, Args: c.Pending.Args}}, Argument: argument,
		About: c.Pending.Asked}
	ligands, err := componentsOf("ligands", c.Ligands)
	if err != nil {
		return nil, err
	}
	for _, ligand := range ligands {
		if c.Pending.Asked == "ligand" && strings.Contains(cmp.Or(sel, "ligand")+" ligand", ligand.name) || sel == "ligand" {
			pending.Choices = append(pending.Choices, director.Choice{
				Name:      fmt.Sprintf("%s/%s/%d", ligand.name, ligand.chain, ligand.number),
				Selection: "resn " + ligand.name + " and chain " + ligand.chain,
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Chains)) {
		if c.Pending.Asked == "chain" {
			pending.Choices = append(pending.Choices, director.Choice{Name: id, Selection: "chain " + id + " and " + sel})
		}
	}
	return pending, nil
}
