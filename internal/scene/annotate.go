package scene

import (
	"fmt"
	"math"
	"slices"
)

// choose makes a selection what "it" means, perhaps under a name.
func (a *applier) choose(args Select) error {
	query, _, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	if args.Name != "" {
		if a.Names == nil {
			a.Names = map[string]string{}
		}
		a.Names[args.Name] = query
	}
	return nil
}

// label writes beside atoms. A label of the same level for the same atoms is replaced.
func (a *applier) label(args Label) error {
	if err := checkColor(args.Color); err != nil {
		return err
	}
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	size := args.Size
	if size == 0 {
		size = 1
	}
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		if n := a.tables[i].labelCount(set, args.Level); n > maxLabels {
			return refusal(unsupported, fmt.Sprintf("%d labels at once", n),
				fmt.Sprintf("label at most %d atoms or residues", maxLabels))
		}
		a.Labels = slices.DeleteFunc(a.Labels, func(l Labelled) bool {
			return l.Structure == i && l.Level == args.Level && a.set(i, l.Sel).equal(set)
		})
		a.Labels = append(a.Labels, Labelled{
			ID: a.id("label"), Structure: i, Sel: query, Level: args.Level, Text: args.Text, Size: size, Color: args.Color,
		})
	}
	return nil
}

// highlight draws atoms once more. A highlight of the same atoms is replaced.
func (a *applier) highlight(args Highlight) error {
	if err := checkColor(args.Color); err != nil {
		return err
	}
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	color := args.Color
	if color == "" {
		color = defaultHighlight
	}
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		a.dropHighlights(i, set)
		a.Highlights = append(a.Highlights, Highlighted{a.id("highlight"), i, query, color})
	}
	return nil
}

const (
	defaultPocketAngstrom = 5.0
	pocketSurfaceOpacity  = 0.5
)

// pocket shows the residues of proteins around atoms, and looks at those.
func (a *applier) pocket(args Pocket) error {
	query, sets, err := a.meant(args.Of)
	if err == nil {
		query, sets, err = a.one(query, sets)
	}
	if err != nil {
		return err
	}
	radius := args.Radius
	if radius == 0 {
		radius = defaultPocketAngstrom
	}
	around := canonical(fmt.Sprintf("byres (protein and within %g of (%s))", radius, query))
	if a.isEmptyAnywhere(around) {
		return refusal(notFound, fmt.Sprintf("protein within %g Å of %s", radius, clip(query, 40)), "a larger radius")
	}
	as := args.As
	if as == "" {
		as = "stick"
	}
	steps := []Args{Show{Sel: around, As: as}}
	if args.Surface {
		opacity := pocketSurfaceOpacity
		steps = append(steps, Surface{Sel: around, Opacity: &opacity})
	}
	if args.Labels {
		steps = append(steps, Label{Sel: around, Level: "residue"})
	}
	for i, set := range sets {
		for _, p := range a.defaultParts(i, query, a.undrawn(i, set)) {
			a.draw(i, p, true)
		}
	}
	if err := a.doAll(steps); err != nil {
		return err
	}
	a.look(query, radius)
	a.Last = around
	return nil
}

// doAll carries out the operations that another one is made of.
func (a *applier) doAll(steps []Args) error {
	for _, step := range steps {
		if err := a.do(step); err != nil {
			return err
		}
	}
	return nil
}

// measure draws a distance or an angle and tells its value.
func (a *applier) measure(args Measure) error {
	if want := map[string]int{"distance": 2, "angle": 3}[args.Kind]; len(args.Between) != want {
		return &InvalidError{Op: opMeasure, Argument: "between",
			Message: fmt.Sprintf("a measurement of kind %s has %d places, got %d", args.Kind, want, len(args.Between))}
	}
	table := -1
	places := make([][3]float64, len(args.Between))
	queries := make([]string, len(args.Between))
	for i, text := range args.Between {
		query, sets, err := a.onePlace(text)
		if err != nil {
			return err
		}
		in := slices.IndexFunc(sets, func(s Set) bool { return !s.isEmpty() })
		if table >= 0 && in != table {
			return refusal(unsupported, "a measurement between two structures", "measure within one structure")
		}
		table, queries[i], places[i] = in, query, a.tables[in].middle(sets[in])
	}
	a.Measurements = slices.DeleteFunc(a.Measurements, func(m Measurement) bool {
		return m.Structure == table && slices.Equal(m.Between, queries)
	})
	a.Measurements = append(a.Measurements, Measurement{a.id("measurement"), table, args.Kind, queries})
	a.outcome.Text = measured(places)
	return nil
}

// measured is a distance in Å or an angle in degrees.
func measured(places [][3]float64) string {
	if len(places) == 2 {
		return fmt.Sprintf("%.2f Å", distance(places[0], places[1]))
	}
	left, right := minus(places[0], places[1]), minus(places[2], places[1])
	cosine := dot(left, right) / math.Sqrt(dot(left, left)*dot(right, right))
	return fmt.Sprintf("%.1f°", math.Acos(max(-1, min(1, cosine)))*180/math.Pi)
}

// onePlace resolves a selection that means one place. Where it asks for atoms of an element and there are several, *QuestionError
// asks which.
func (a *applier) onePlace(text string) (string, []Set, error) {
	query, sets, err := a.meant(text)
	if err == nil {
		query, sets, err = a.one(query, sets)
	}
	if err != nil {
		return "", nil, err
	}
	s, err := ParseSelection(query)
	if err != nil {
		return "", nil, err
	}
	byElement := anywhere(s.root, func(n node) bool {
		list, ok := n.(names)
		return ok && list.field == "elem"
	})
	for i, set := range sets {
		t := a.tables[i]
		if n := set.Count(); n > 1 && byElement && len(t.touched(set)) == 1 {
			question := &QuestionError{About: "target", Query: query}
			set.each(func(atom int) {
				question.Choices = append(question.Choices, t.Atoms[atom].Name)
				question.Selections = append(question.Selections, canonical("("+query+") and name "+t.Atoms[atom].Name))
			})
			return "", nil, question
		}
		if set.Count() > 1 {
			a.warn("measured from the middle of the %d atoms of %s", set.Count(), query)
		}
	}
	return query, sets, nil
}

// middle is the mean of the atoms' positions.
func (t *Table) middle(of Set) [3]float64 {
	var sum [3]float64
	n := 0.0
	of.each(func(i int) {
		sum = plus(sum, t.Atoms[i].Position)
		n++
	})
	return times(sum, 1/max(n, 1))
}

// clear drops what was added to the picture.
func (a *applier) clear(args Clear) error {
	var sets []Set
	if args.Sel != "" {
		var err error
		if _, sets, err = a.meant(args.Sel); err != nil {
			return err
		}
	}
	about := func(structure int, queries ...string) bool {
		return args.Sel == "" || slices.ContainsFunc(queries, func(query string) bool {
			return a.set(structure, query).meets(sets[structure])
		})
	}
	before := a.added()
	what := func(names ...string) bool { return slices.Contains(names, args.What) }
	if what("labels", "annotations") {
		a.Labels = slices.DeleteFunc(a.Labels, func(l Labelled) bool { return about(l.Structure, l.Sel) })
	}
	if what("measurements", "annotations") {
		a.Measurements = slices.DeleteFunc(a.Measurements, func(m Measurement) bool { return about(m.Structure, m.Between...) })
	}
	if what("interactions", "annotations") {
		a.Interactions = slices.DeleteFunc(a.Interactions, func(i InteractionsShown) bool { return about(i.Structure, i.Of) })
	}
	if what("highlights", "annotations") {
		a.Highlights = slices.DeleteFunc(a.Highlights, func(h Highlighted) bool { return about(h.Structure, h.Sel) })
	}
	if what("surfaces") {
		a.Layers = slices.DeleteFunc(a.Layers, func(l Layer) bool { return l.As == "surface" && about(l.Structure, l.Sel) })
	}
	if what("clip") {
		a.Model.Clip = nil
	}
	if what("volumes") {
		a.Volumes = slices.DeleteFunc(a.Volumes, func(v VolumeShown) bool {
			return args.Sel == "" || v.Around != "" && a.meets(v.Around, sets)
		})
	}
	if a.added() == before {
		a.warn("there were no %s", args.What)
	}
	return nil
}

// meets tells whether a selection has atoms in common with sets of the structures.
func (a *applier) meets(query string, sets []Set) bool {
	for i, set := range a.resolve(query) {
		if set.meets(sets[i]) {
			return true
		}
	}
	return false
}

// added counts what Clear can drop.
func (a *applier) added() int {
	n := len(a.Labels) + len(a.Measurements) + len(a.Interactions) + len(a.Highlights) + len(a.Layers) + len(a.Volumes)
	if a.Model.Clip != nil {
		n++
	}
	return n
}
