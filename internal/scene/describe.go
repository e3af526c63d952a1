package scene

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds what a sentence lists.
const maxListed = 40

// helpText says what the studio can do.
const helpText = "Load a structure (pdb:1CBS); show, hide, colour, label or measure atoms, residues, chains and ligands; look at " +
	"a binding site, its residues and its contacts; turn, zoom, clip and light the scene; keep views, undo, render and export."

// describe answers in words that are made of the structure alone.
func (a *applier) describe(args Describe) error {
	var err error
	switch args.About {
	case "chains":
		a.outcome.Text = a.each(a.chainsOf)
	case "ligands":
		a.outcome.Text = a.each(a.ligandsOf)
	case "waters":
		a.outcome.Text = a.each(func(i int) string {
			return fmt.Sprintf("%s has %s.", a.Structures[i].Source, counted(len(a.tables[i].Components(Water)), "water molecule"))
		})
	case "sequence":
		a.outcome.Text, err = a.sequence(args.Sel)
	case "selection":
		a.outcome.Text, err = a.selection(args.Sel)
	case "scene":
		a.outcome.Text = a.sceneInWords()
	case "interactions":
		a.outcome.Text, err = a.contactsInWords(args.Sel)
	case "distance":
		a.outcome.Text, err = a.distanceInWords(args.Between)
	default:
		a.outcome.Text = helpText
	}
	return err
}

func (a *applier) each(say func(structure int) string) string {
	texts := make([]string, len(a.Structures))
	for i := range texts {
		texts[i] = say(i)
	}
	return strings.Join(texts, " ")
}

// headline is a structure in one line.
func (s *Structure) headline() string {
	t := s.tables[0]
	name := strings.TrimSpace(s.ID + " " + s.Title)
	chains := 0
	for _, chain := range t.Chains() {
		if slices.ContainsFunc(t.Residues, func(r Residue) bool { return r.Chain == chain && r.Kind.inChain() }) {
			chains++
		}
	}
	return fmt.Sprintf("%s: %s, %s, %s, %s.", name, counted(chains, "chain"), counted(len(t.Components(Ligand)), "ligand"),
		counted(len(t.Components(Ion)), "ion"), counted(len(t.Components(Water)), "water"))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// chainsOf says which chains a structure has, and what they are.
func (a *applier) chainsOf(i int) string {
	t := a.tables[i]
	var texts []string
	for _, span := range t.ranges() {
		chain, numbers, _ := strings.Cut(span, " ")
		of := t.residues(func(r Residue) bool { return r.Chain == chain && r.Kind.inChain() })
		residues := t.touched(of)
		if len(residues) == 0 {
			continue
		}
		kind := map[Kind]string{Protein: "protein", Nucleic: "nucleic acid", Polymer: "polymer"}[t.Residues[residues[0]].Kind]
		texts = append(texts, fmt.Sprintf("%s (%s, %s, %s)", chain, kind, counted(len(residues), "residue"), numbers))
	}
	return fmt.Sprintf("%s has %s: %s.", a.Structures[i].Source, counted(len(texts), "chain"), shortened(texts))
}

// ligandsOf lists what is bound: ligands, ions, glycans, and what is there because of the crystal.
func (a *applier) ligandsOf(i int) string {
	t := a.tables[i]
	var texts []string
	for _, group := range []struct {
		name string
		kind Kind
	}{{"ligands", Ligand}, {"ions", Ion}, {"sugars", Branched}, {"additives", Additive}} {
		var names []string
		for _, r := range t.Components(group.kind) {
			names = append(names, fmt.Sprintf("%s %s", r.Name, r.Place))
		}
		if len(names) > 0 {
			texts = append(texts, group.name+" "+shortened(names))
		}
	}
	if len(texts) == 0 {
		return a.Structures[i].Source + " has no ligands."
	}
	return fmt.Sprintf("%s has %s.", a.Structures[i].Source, strings.Join(texts, "; "))
}

// shortened is a list for a sentence, cut where it grows long.
func shortened(texts []string) string { return shortenedTo(texts, maxListed) }

func shortenedTo(texts []string, most int) string {
	if more := len(texts) - most; more > 0 {
		return strings.Join(texts[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, ", ")
}

// sequence spells proteins in letters, X for what has none, and other chains by their components.
func (a *applier) sequence(query string) (string, error) {
	if query == "" {
		query = "polymer"
	}
	_, sets, err := a.meant(query)
	if err != nil {
		return "", err
	}
	var texts []string
	for i, set := range sets {
		t := a.tables[i]
		letters := map[string]*strings.Builder{}
		for _, residue := range t.touched(set) {
			r := t.Residues[residue]
			if !r.Kind.inChain() {
				continue
			}
			if letters[r.Chain] == nil {
				letters[r.Chain] = &strings.Builder{}
			}
			letters[r.Chain].WriteString(letterOf(r))
		}
		for _, chain := range t.Chains() {
			if letters[chain] != nil {
				texts = append(texts, fmt.Sprintf("%s: %s", chain, letters[chain]))
			}
		}
	}
	if len(texts) == 0 {
		return "", refusal(notFound, "a sequence of "+clip(query, 50), "name a chain")
	}
	return strings.Join(texts, "\n"), nil
}

func letterOf(r Residue) string {
	letter := oneLetter[r.Name]
	switch {
	case letter != 0:
		return string(letter)
	case r.Kind == Nucleic && len(r.Name) <= 2:
		return r.Name[len(r.Name)-1:]
	}
	return "X"
}

// selection says what a selection means, by its residues.
func (a *applier) selection(query string) (string, error) {
	if query == "" {
		query = a.Last
	}
	if query == "" {
		return "", refusal(notFound, "a selection", "say which atoms are meant")
	}
	query, sets, err := a.meant(query)
	if err != nil {
		return "", err
	}
	var names []string
	several := len(a.tables) > 1
	for i, set := range sets {
		t := a.tables[i]
		several = several || len(t.Chains()) > 1
		for _, residue := range t.touched(set) {
			name := t.residueName(residue)
			if several {
				name += " (" + t.Residues[residue].Chain + ")"
			}
			names = append(names, name)
		}
	}
	summary := a.summary(query, sets)
	return fmt.Sprintf("%s is %s with %s: %s.", query, counted(summary.ResidueCount, "residue"), counted(summary.AtomCount, "atom"),
		shortened(names)), nil
}

// sceneInWords says what is drawn.
func (a *applier) sceneInWords() string {
	var texts []string
	for _, l := range a.Layers {
		text := fmt.Sprintf("%s as %s", l.Sel, strings.ReplaceAll(l.As, "_", " "))
		if l.Opacity != 1 {
			text += fmt.Sprintf(" at %g%% opacity", l.Opacity*100)
		}
		texts = append(texts, text)
	}
	for _, one := range []struct {
		n    int
		what string
	}{{len(a.Highlights), "highlight"}, {len(a.Labels), "list of labels"}, {len(a.Measurements), "measurement"}} {
		if one.n > 0 {
			texts = append(texts, strings.Replace(counted(one.n, one.what), "list of labelss", "lists of labels", 1))
		}
	}
	if len(texts) == 0 {
		return "Nothing is shown."
	}
	return "Shown: " + shortened(texts) + "."
}

// contactsInWords lists the contacts of atoms: those of the structure's table, else those that the places of atoms tell.
func (a *applier) contactsInWords(query string) (string, error) {
	if query == "" {
		query = "ligand"
	}
	query, sets, err := a.meant(query)
	if err == nil {
		query, sets, err = a.one(query, sets)
	}
	if err != nil {
		return "", err
	}
	var texts []string
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		if found := a.contacts(InteractionsShown{Structure: i, Of: query}); len(found.list) > 0 {
			texts = append(texts, counted(len(found.list), "contact")+": "+a.tables[i].namer().inWords(found.list, maxListed)+".")
		}
	}
	if len(texts) == 0 {
		return "No contacts of " + query + " were found.", nil
	}
	return strings.Join(texts, " "), nil
}

// distanceInWords measures without drawing.
func (a *applier) distanceInWords(between []string) (string, error) {
	if len(between) != 2 {
		return "", &QuestionError{About: "target"}
	}
	places := make([][3]float64, 2)
	for i, text := range between {
		_, sets, err := a.onePlace(text)
		if err != nil {
			return "", err
		}
		in := slices.IndexFunc(sets, func(s Set) bool { return !s.isEmpty() })
		places[i] = a.tables[in].middle(sets[in])
	}
	return measured(places) + ".", nil
}
