package scene

import (
	"errors"
	"fmt"
	"slices"
)

// Bounds on a model, so that a session of a stranger costs little.
const (
	maxStructures    = 8
	maxLayers        = 200
	maxPaints        = 200
	maxLabels        = 500 // that are drawn: atoms, residues or chains
	maxAnnotations   = 100 // measurements, highlights, interactions, volumes, and lists of labels, of each
	maxSnapshots     = 50
	maxNames         = 100
	longSelection    = 400 // what the model writes itself is spelled anew when it is longer
	manySurfaceAtoms = 20_000
)

// Outcome tells what one operation did.
type Outcome struct {
	Op         string     `json:"op"`
	Selections []Resolved `json:"selections,omitempty"`
	Warnings   []string   `json:"warnings,omitempty"`
	Text       string     `json:"text,omitempty"` // words for people: the answer of describe, a measured distance
}

// Resolved is a selection and what it means in the structures of the scene.
type Resolved struct {
	Query        string   `json:"query"`
	Chains       []string `json:"chains"`
	ResidueCount int      `json:"residueCount"`
	AtomCount    int      `json:"atomCount"`
}

// Apply carries operations out on a model: all of them or none. The model is not changed; the one that is returned is new. The
// files hold every structure of the scene and of the operations (Sources). Undo and redo are History's.
//
// Errors: *InvalidError, *SelectionError, *RefusedError, *QuestionError, *MissingError.
func Apply(m Model, files Files, operations []Operation) (Model, []Outcome, error) {
	if err := Validate(operations); err != nil {
		return m, nil, err
	}
	a := &applier{Model: m.clone(), files: files}
	outcomes := make([]Outcome, len(operations))
	for i, operation := range operations {
		a.outcome = &outcomes[i]
		a.outcome.Op = operation.Op
		err := a.do(operation.Args)
		if err == nil {
			err = a.checkBounds()
		}
		if err != nil {
			return m, nil, placed(err, i)
		}
	}
	return a.Model, outcomes, nil
}

// placed tells a question or a refusal which operation it is about.
func placed(err error, index int) error {
	if question, ok := errors.AsType[*QuestionError](err); ok {
		question.Index = index
		return question
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		refused.Index = index
		return refused
	}
	return err
}

// Sources are the structures and maps that operations need beside those of the scene, each once.
func Sources(operations []Operation) []string {
	var sources []string
	for _, operation := range operations {
		source := ""
		switch args := operation.Args.(type) {
		case Load:
			source = args.Source
		case Volume:
			source = args.Source
		}
		if source != "" && !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	return sources
}

// applier is a model that operations are being carried out on.
type applier struct {
	Model
	files   Files
	outcome *Outcome
	tables  []*Table // of the structures; nil when they have changed
	sets    map[string][]Set
}

// do carries out one operation.
func (a *applier) do(args Args) error {
	switch args := args.(type) {
	case Load:
		return a.load(args)
	case ChooseStructure:
		return a.chooseStructure(args)
	case Volume:
		return a.volume(args)
	case Reset:
		return a.reset(args)
	case TakeSnapshot:
		return a.snapshot(args)
	case Background:
		return a.background(args)
	case Effects:
		a.Canvas.Effects = a.Canvas.Effects.with(args)
		return nil
	case Spin:
		a.spin(args)
		return nil
	case Ask:
		return &QuestionError{About: args.About, Choices: args.Choices}
	case Refuse:
		return &RefusedError{Reason: args.Reason, Feature: args.Feature, Alternative: args.Alternative}
	case Undo, Redo:
		return refusal(unsupported, args.op()+" among other operations", args.op()+" first, and then the others")
	case Render, Export:
		return a.needStructure()
	case Describe:
		if args.About == "help" {
			return a.describe(args) // whoever begins has nothing loaded yet
		}
	}
	if err := a.needStructure(); err != nil {
		return err
	}
	return a.doOnAtoms(args)
}

// doOnAtoms carries out an operation that is about atoms.
func (a *applier) doOnAtoms(args Args) error {
	switch args := args.(type) {
	case Select:
		return a.choose(args)
	case Show:
		return a.show(args)
	case Hide:
		return a.hide(args)
	case Isolate:
		return a.isolate(args)
	case Color:
		return a.color(args)
	case Opacity:
		return a.opacity(args)
	case Surface:
		return a.surface(args)
	case Label:
		return a.label(args)
	case Highlight:
		return a.highlight(args)
	case Pocket:
		return a.pocket(args)
	case Interactions:
		return a.interactions(args)
	case Measure:
		return a.measure(args)
	case Clear:
		return a.clear(args)
	case Focus:
		return a.focus(args)
	case Zoom:
		a.zoom(args)
		return nil
	case Orient:
		return a.orient(args)
	case Clip:
		return a.clip(args)
	case Preset:
		return a.preset(args)
	case Describe:
		return a.describe(args)
	}
	return fmt.Errorf("operation %s is not carried out anywhere", args.op())
}

func (a *applier) needStructure() error {
	if len(a.Structures) == 0 {
		return refusal(needsData, "a structure", "load one first, such as pdb:1CBS")
	}
	return a.findTables()
}

// findTables finds the tables of the scene's structures again, when these have changed.
func (a *applier) findTables() error {
	if a.tables != nil {
		return nil
	}
	tables, err := a.Model.tablesOf(a.files)
	a.tables, a.sets = tables, map[string][]Set{}
	return err
}

// tablesOf are the tables of a model's structures. Errors: *MissingError.
func (m Model) tablesOf(files Files) ([]*Table, error) {
	tables := make([]*Table, len(m.Structures))
	for i, shown := range m.Structures {
		file, ok := files[shown.Source]
		if !ok || file.Structure == nil {
			return nil, &MissingError{shown.Source}
		}
		if tables[i] = file.Structure.shown(shown, shown.Model); tables[i] == nil {
			return nil, &MissingError{shown.Source}
		}
	}
	return tables, nil
}

func (a *applier) structure(i int) *Structure { return a.files[a.Structures[i].Source].Structure }

// id names what is added to the scene.
func (a *applier) id(kind string) string {
	a.NextID++
	return fmt.Sprintf("%s-%d", kind, a.NextID-1)
}

func (a *applier) warn(format string, args ...any) {
	a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf(format, args...))
}

// meant resolves a selection in every structure, tells what it found, and makes it what "it" means. Errors: *SelectionError;
// *RefusedError when it means nothing.
func (a *applier) meant(text string) (string, []Set, error) {
	s, err := ParseSelection(text)
	if err != nil {
		return "", nil, err
	}
	query := s.String()
	sets := a.resolve(query)
	if !slices.ContainsFunc(sets, func(s Set) bool { return !s.isEmpty() }) {
		return "", nil, a.nothing(s)
	}
	a.tell(query, sets)
	a.Last = query
	return query, sets, nil
}

// tell adds a selection to the outcome, once.
func (a *applier) tell(query string, sets []Set) {
	if !slices.ContainsFunc(a.outcome.Selections, func(r Resolved) bool { return r.Query == query }) {
		a.outcome.Selections = append(a.outcome.Selections, a.summary(query, sets))
	}
}

func (a *applier) summary(query string, sets []Set) Resolved {
	r := Resolved{Query: query, Chains: []string{}}
	for i, set := range sets {
		t := a.tables[i]
		r.AtomCount += set.Count()
		for _, residue := range t.touched(set) {
			r.ResidueCount++
			if chain := t.Residues[residue].Chain; !slices.Contains(r.Chains, chain) {
				r.Chains = append(r.Chains, chain)
			}
		}
	}
	return r
}

// resolve finds the atoms of a canonical selection in every structure.
func (a *applier) resolve(query string) []Set {
	if sets, ok := a.sets[query]; ok {
		return sets
	}
	sets := make([]Set, len(a.tables))
	for i, t := range a.tables {
		sets[i] = t.resolveText(query)
	}
	a.sets[query] = sets
	return sets
}

// resolveText finds the atoms of a selection; one that cannot be read means nothing.
func (t *Table) resolveText(query string) Set {
	s, err := ParseSelection(query)
	if err != nil {
		return newSet(len(t.Atoms))
	}
	return t.Resolve(s)
}

// set are the atoms of a selection in one structure.
func (a *applier) set(structure int, query string) Set { return a.resolve(query)[structure] }

// compose is the shortest text that means these atoms of a structure: a word, the text that is offered, or one spelled anew.
func (a *applier) compose(structure int, offered string, want Set) string {
	spelled := a.tables[structure].spell(want)
	if slices.Contains(words, spelled) {
		return spelled
	}
	if offered = canonical(offered); len(offered) <= longSelection && a.set(structure, offered).equal(want) {
		return offered
	}
	return spelled
}

// checkBounds refuses what would make the model too large.
func (a *applier) checkBounds() error {
	for _, bound := range []struct {
		what       string
		have, most int
	}{
		{"structures", len(a.Structures), maxStructures}, {"layers", len(a.Layers), maxLayers},
		{"colours", len(a.Paints), maxPaints},
		{"lists of labels", len(a.Labels), maxAnnotations}, {"measurements", len(a.Measurements), maxAnnotations},
		{"highlights", len(a.Highlights), maxAnnotations}, {"interactions", len(a.Interactions), maxAnnotations},
		{"volumes", len(a.Volumes), maxAnnotations}, {"snapshots", len(a.Snapshots), maxSnapshots},
		{"names", len(a.Names), maxNames},
	} {
		if bound.have > bound.most {
			return refusal(unsupported, fmt.Sprintf("more than %d %s in a scene", bound.most, bound.what),
				"clear some, or reset the scene")
		}
	}
	return nil
}
