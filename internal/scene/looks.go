package scene

import (
	"fmt"
	"slices"
	"strings"
)

// traces draw the run of a chain, and envelopes what encloses it; what is drawn of single residues leaves both alone.
var (
	traces    = []string{"cartoon", "backbone", "putty", "carbohydrate"}
	envelopes = append(slices.Clone(traces), "surface")
)

// part is atoms that are drawn alike.
type part struct {
	as  string
	set Set
	sel string
}

// defaultLooks are how kinds are drawn where nobody says how.
var defaultLooks = []struct {
	as    string
	kinds []Kind
}{
	{"cartoon", []Kind{Protein, Nucleic, Polymer}}, {"ball_and_stick", []Kind{Ligand}}, {"ball_and_stick", []Kind{Additive}},
	{"carbohydrate", []Kind{Branched}}, {"spacefill", []Kind{Ion}}, {"ball_and_stick", []Kind{Water}},
}

// shortestCartoon is how many residues of a chain a cartoon can be drawn of.
const shortestCartoon = 3

// defaultParts divides atoms by how they are drawn where nobody says how.
func (a *applier) defaultParts(structure int, query string, set Set) []part {
	t := a.tables[structure]
	var found []part
	for _, look := range defaultLooks {
		of := set.and(t.ofKind(look.kinds...))
		if of.isEmpty() {
			continue
		}
		as := look.as
		if as == "cartoon" && len(t.touched(of)) < shortestCartoon {
			as = "stick"
		}
		found = append(found, part{as, of, a.compose(structure, query, of)})
	}
	return found
}

// defaultView draws a structure that was just loaded: everything but water.
func (a *applier) defaultView(structure int) {
	t := a.tables[structure]
	for _, p := range a.defaultParts(structure, "all", t.all().less(t.ofKind(Water))) {
		a.addLayer(structure, p)
	}
}

func (a *applier) addLayer(structure int, p part) *Layer {
	a.Layers = append(a.Layers, Layer{ID: a.id("layer"), Structure: structure, Sel: p.sel, As: p.as, Opacity: 1})
	return &a.Layers[len(a.Layers)-1]
}

// show draws atoms.
func (a *applier) show(args Show) error {
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		parts := []part{{args.As, set, query}}
		if args.As == "" {
			parts = a.defaultParts(i, query, set)
		}
		for _, p := range parts {
			a.draw(i, p, args.Add)
		}
	}
	return nil
}

// draw draws atoms as one thing, in the place of others unless they stay. Atoms that are drawn so already stay as they are; the
// rest joins a layer of the same look, so that a chain is drawn in one piece.
func (a *applier) draw(structure int, p part, keepOthers bool) {
	if !keepOthers {
		a.replace(structure, p)
	}
	left, group := p.set, a.groupOf(structure, p.set)
	for _, l := range a.Layers {
		if l.Structure == structure && l.As == p.as && l.Style == "" {
			left = left.less(a.set(structure, l.Sel))
		}
	}
	if left.isEmpty() {
		return
	}
	for i, l := range a.Layers {
		have := a.set(structure, l.Sel)
		if l.Structure == structure && l.As == p.as && l.Opacity == 1 && l.Style == "" && a.groupOf(structure, have) == group {
			offered := "(" + l.Sel + ") or (" + p.sel + ")"
			if p.set.covers(have) {
				offered = p.sel
			}
			a.Layers[i].Sel = a.compose(structure, offered, have.or(left))
			return
		}
	}
	if !left.equal(p.set) {
		p.sel = a.compose(structure, p.sel, left)
	}
	l := a.addLayer(structure, p)
	if p.as == "surface" {
		l.Type = surfaceType("", left.Count())
	}
}

// groupOf is which of the default looks the first atom of a set has, so that layers of different kinds stay apart.
func (a *applier) groupOf(structure int, set Set) int {
	t, group := a.tables[structure], -1
	for _, residue := range t.touched(set) {
		kind := t.Residues[residue].Kind
		return slices.IndexFunc(defaultLooks, func(look struct {
			as    string
			kinds []Kind
		}) bool {
			return slices.Contains(look.kinds, kind)
		})
	}
	return group
}

// replace takes atoms out of the layers that they are not to be drawn in any more. A trace or a surface that goes on beyond the
// atoms stays: a cartoon is cut at no residue whose side chain is looked at.
func (a *applier) replace(structure int, p part) {
	for i := len(a.Layers) - 1; i >= 0; i-- {
		l := a.Layers[i]
		if l.Structure != structure || l.As == p.as && l.Style == "" {
			continue
		}
		stays := slices.Contains(envelopes, l.As) && !slices.Contains(traces, p.as)
		if stays && a.goesBeyond(structure, a.set(structure, l.Sel), p.set) {
			continue
		}
		a.takeAway(i, p.set, p.sel)
	}
}

// goesBeyond tells whether an envelope has residues in the chains of these atoms that are not among them.
func (a *applier) goesBeyond(structure int, drawn, set Set) bool {
	t := a.tables[structure]
	chains := map[string]bool{}
	for _, residue := range t.touched(drawn.and(set)) {
		chains[t.Residues[residue].Chain] = true
	}
	of := t.residues(func(r Residue) bool { return chains[r.Chain] })
	return !set.covers(drawn.and(of))
}

// takeAway takes atoms out of a layer, which goes when none are left. It tells whether anything changed.
func (a *applier) takeAway(layer int, set Set, query string) bool {
	l := a.Layers[layer]
	have := a.set(l.Structure, l.Sel)
	left := have.less(set)
	switch {
	case left.equal(have):
		return false
	case left.isEmpty():
		a.Layers = slices.Delete(a.Layers, layer, layer+1)
	default:
		a.Layers[layer].Sel = a.compose(l.Structure, "("+l.Sel+") and not ("+query+")", left)
	}
	return true
}

// hide takes atoms out of the picture, waters of the same chains included.
func (a *applier) hide(args Hide) error {
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	s, err := ParseSelection(query)
	if err != nil {
		return err
	}
	hidden := false
	for i := range sets {
		wet := a.tables[i].ResolveWet(s)
		for l := len(a.Layers) - 1; l >= 0; l-- {
			if a.Layers[l].Structure == i && (args.As == "" || a.Layers[l].As == args.As) {
				hidden = a.takeAway(l, wet, query) || hidden
			}
		}
		if args.As == "" {
			hidden = a.dropHighlights(i, wet) || hidden
		}
	}
	if !hidden {
		a.warn("nothing of %s was shown%s", query, asWords(args.As))
	}
	return nil
}

func asWords(as string) string {
	if as == "" {
		return ""
	}
	return " as " + as
}

// dropHighlights drops the highlights of atoms, and tells whether there were any.
func (a *applier) dropHighlights(structure int, set Set) bool {
	before := len(a.Highlights)
	a.Highlights = slices.DeleteFunc(a.Highlights, func(h Highlighted) bool {
		return h.Structure == structure && set.covers(a.set(structure, h.Sel))
	})
	return len(a.Highlights) < before
}

// isolate hides everything else. What was not shown of the atoms is.
func (a *applier) isolate(args Isolate) error {
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	for l := len(a.Layers) - 1; l >= 0; l-- {
		i := a.Layers[l].Structure
		have := a.set(i, a.Layers[l].Sel)
		switch kept := have.and(sets[i]); {
		case kept.isEmpty():
			a.Layers = slices.Delete(a.Layers, l, l+1)
		case !kept.equal(have):
			a.Layers[l].Sel = a.compose(i, "("+a.Layers[l].Sel+") and ("+query+")", kept)
		}
	}
	for i, set := range sets {
		a.dropHighlights(i, a.tables[i].all().less(set))
		for _, p := range a.defaultParts(i, query, a.undrawn(i, set)) {
			a.draw(i, p, true)
		}
	}
	a.Labels = slices.DeleteFunc(a.Labels, func(l Labelled) bool {
		return !sets[l.Structure].meets(a.set(l.Structure, l.Sel))
	})
	return nil
}

// undrawn are the residues of a set of which no atom is drawn.
func (a *applier) undrawn(structure int, set Set) Set {
	t := a.tables[structure]
	drawn := newSet(len(t.Atoms))
	for _, l := range a.Layers {
		if l.Structure == structure {
			drawn = drawn.or(a.set(structure, l.Sel))
		}
	}
	return set.less(t.wholeResidues(drawn))
}

// opacity sets how opaque atoms are drawn. A layer of which only a part is meant is cut in two.
func (a *applier) opacity(args Opacity) error {
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	found := false
	for i := range a.Layers {
		l := a.Layers[i]
		have := a.set(l.Structure, l.Sel)
		meant := have.and(sets[l.Structure])
		if meant.isEmpty() || args.As != "" && l.As != args.As {
			continue
		}
		found = true
		if meant.equal(have) || l.Opacity == args.Value {
			a.Layers[i].Opacity = args.Value
			continue
		}
		other := l
		other.ID, other.Opacity = a.id("layer"), args.Value
		other.Sel = a.compose(l.Structure, "("+l.Sel+") and ("+query+")", meant)
		a.Layers[i].Sel = a.compose(l.Structure, "("+l.Sel+") and not ("+query+")", have.less(meant))
		a.Layers = append(a.Layers, other)
	}
	if !found {
		what := args.As
		if what == "" {
			what = "picture"
		}
		return refusal(notFound, fmt.Sprintf("a %s of %s", what, clip(query, 50)), "show it first")
	}
	return nil
}

// surface adds a surface, in the place of one that the atoms have.
func (a *applier) surface(args Surface) error {
	if err := checkColor(args.Color); err != nil {
		return err
	}
	if err := a.checkProperty(args.By); err != nil {
		return err
	}
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		for l := len(a.Layers) - 1; l >= 0; l-- {
			if a.Layers[l].Structure == i && a.Layers[l].As == "surface" {
				a.takeAway(l, set, query)
			}
		}
		l := a.addLayer(i, part{"surface", set, query})
		l.Type = surfaceType(args.Type, set.Count())
		if args.Opacity != nil {
			l.Opacity = *args.Opacity
		}
	}
	if args.Color != "" || args.By != "" {
		a.addPaint(Paint{Sel: query, As: "surface", Color: args.Color, By: args.By})
	}
	return nil
}

// surfaceType is which surface is drawn where nobody says which: a molecular one takes seconds for a large protein.
func surfaceType(asked string, atoms int) string {
	switch {
	case asked != "":
		return asked
	case atoms > manySurfaceAtoms:
		return "gaussian"
	}
	return "molecular"
}

// color paints atoms.
func (a *applier) color(args Color) error {
	if err := checkColor(args.Color); err != nil {
		return err
	}
	if err := a.checkProperty(args.By); err != nil {
		return err
	}
	if args.Palette != "" && !palettes[args.Palette] {
		return refusal(notFound, fmt.Sprintf("palette %q", args.Palette), "a palette such as Viridis, Blues, RdBu or Rainbow")
	}
	query, sets, err := a.meant(args.Sel)
	if err != nil {
		return err
	}
	if args.Palette != "" && args.By != "bfactor" {
		a.warn("the palette is used for B factors alone")
		args.Palette = ""
	}
	a.addPaint(Paint{Sel: query, As: args.As, Color: args.Color, By: args.By, Palette: args.Palette, CarbonsOnly: args.CarbonsOnly})
	if !slices.ContainsFunc(a.Layers, func(l Layer) bool {
		return (args.As == "" || l.As == args.As) && a.set(l.Structure, l.Sel).meets(sets[l.Structure])
	}) {
		a.warn("%s is not shown%s now; the colour is kept", query, asWords(args.As))
	}
	return nil
}

// checkProperty refuses to colour by what the structures do not have.
func (a *applier) checkProperty(by string) error {
	for i := range a.Structures {
		switch s := a.structure(i); {
		case by == "plddt" && !s.Predicted && !strings.HasPrefix(a.Structures[i].Source, "alphafold:"):
			return refusal(needsData, "plddt", "colour by B-factor")
		case by == "bfactor" && (s.Predicted || strings.HasPrefix(a.Structures[i].Source, "alphafold:")):
			a.warn("the B factors of %s are its prediction's confidence (pLDDT)", a.Structures[i].Source)
		}
	}
	return nil
}

// addPaint lays a paint on the others. Those that it hides wholly go.
func (a *applier) addPaint(p Paint) {
	over := a.resolve(p.Sel)
	a.Paints = slices.DeleteFunc(a.Paints, func(old Paint) bool {
		if p.As != "" && old.As != p.As || p.CarbonsOnly && !old.CarbonsOnly {
			return false
		}
		under := a.resolve(old.Sel)
		for i := range over {
			if !over[i].covers(under[i]) {
				return false
			}
		}
		return true
	})
	a.Paints = append(a.Paints, p)
}
