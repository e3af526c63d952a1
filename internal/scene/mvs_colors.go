package scene

import (
	"math"
	"slices"
)

// themes are the viewer's names of what can be coloured by. Other viewers know none of them: a plain colour stands beside each.
var themes = map[string]string{
	"chain": "chain-id", "entity": "entity-id", "element": "element-symbol", "residue_name": "residue-name",
	"residue_index": "sequence-id", "secondary_structure": "secondary-structure", "occupancy": "occupancy",
	"hydrophobicity": "hydrophobicity", "charge": "residue-charge", "accessibility": "accessible-surface-area",
	"molecule_type": "molecule-type", "model": "model-index",
}

// plainColor is what viewers draw that know no themes.
const plainColor = "#a0aec0"

// themed is a colour by a theme of the viewer.
func themed(name string, params map[string]any) *treeNode {
	custom := map[string]any{"molstar_color_theme_name": name}
	if params != nil {
		custom["molstar_color_theme_params"] = params
	}
	return &treeNode{Kind: "color", Params: map[string]any{"color": plainColor}, Custom: custom}
}

// ownColor is the colour of a layer that no paint covers: chains, and elements where atoms are seen. The carbons of chains have
// their chain's colour; those of ligands do not, and stand out.
func (c *compiler) ownColor(l Layer, set Set) *treeNode {
	switch {
	case l.Style == "illustrative":
		return themed("illustrative", nil)
	case l.As == "carbohydrate":
		return themed("carbohydrate-symbol", nil)
	case l.As == "surface" || slices.Contains(traces, l.As):
		return themed("chain-id", nil)
	}
	t := c.tables[l.Structure]
	if t.ofKind(kindsOf["polymer"]...).meets(set) {
		return themed("element-symbol", nil)
	}
	return byElement()
}

// byElement is the colour of the elements, of carbon too.
func byElement() *treeNode {
	carbons := map[string]any{"name": "element-symbol", "params": map[string]any{}}
	return themed("element-symbol", map[string]any{"carbonColor": carbons})
}

// colors are the colours of a layer from below: its own, and the paints on it. What is hidden wholly is left out.
func (c *compiler) colors(l Layer, set Set) []*treeNode {
	nodes := []*treeNode{c.ownColor(l, set)}
	for _, p := range c.Paints {
		painted := c.painted(p, l, set)
		if painted.isEmpty() {
			continue
		}
		node := c.paint(p, l.Structure, painted)
		if painted.equal(set) {
			nodes = []*treeNode{node}
			continue
		}
		node.Params["selector"] = c.paintSelector(p, l.Structure, painted)
		nodes = append(nodes, node)
	}
	return nodes
}

// painted are the atoms of a layer that a paint covers.
func (c *compiler) painted(p Paint, l Layer, set Set) Set {
	t := c.tables[l.Structure]
	if p.As != "" && p.As != l.As {
		return newSet(len(t.Atoms))
	}
	of := c.set(l.Structure, p.Sel).and(set)
	if p.CarbonsOnly {
		of = of.and(t.atomsThat(func(a Atom) bool { return a.Element == "C" }))
	}
	return of
}

// paintSelector is the shorter one of the selectors of what is painted in a layer, and of all that is painted.
func (c *compiler) paintSelector(p Paint, structure int, painted Set) any {
	t := c.tables[structure]
	inside := t.selector(painted)
	if p.CarbonsOnly {
		return inside
	}
	if everywhere := t.selector(c.set(structure, p.Sel)); selectorLength(everywhere) < selectorLength(inside) {
		return everywhere
	}
	return inside
}

func selectorLength(selector any) int {
	switch selector := selector.(type) {
	case string:
		return 0
	case []expression:
		return len(selector)
	}
	return 1
}

// paint is a colour, by itself or by a property.
func (c *compiler) paint(p Paint, structure int, painted Set) *treeNode {
	switch p.By {
	case "":
		return &treeNode{Kind: "color", Params: map[string]any{"color": p.Color}}
	case "plddt":
		return fromBFactor(map[string]any{"kind": "discrete", "mode": "absolute", "colors": confidenceColors})
	case "bfactor":
		low, high := c.tables[structure].spread(painted)
		palette := map[string]any{"kind": "continuous", "mode": "normalized", "value_domain": [2]float64{low, high},
			"colors": defaultBFactorColors, "underflow_color": "auto", "overflow_color": "auto"}
		if p.Palette != "" {
			palette["colors"] = p.Palette
		}
		return fromBFactor(palette)
	case "element":
		return byElement()
	}
	return themed(themes[p.By], nil)
}

var (
	// confidenceColors are those of the AlphaFold database, from the least pLDDT that each stands for.
	confidenceColors = [][2]any{{"#ff7d45", 0}, {"#ffdb13", 50}, {"#65cbf3", 70}, {"#0053d6", 90}}
	// defaultBFactorColors lead from what is still to what moves.
	defaultBFactorColors = []string{"#2166ac", "#f7f7f7", "#b2182b"}
)

// fromBFactor is a colour by the B factors of the file, which the format itself knows.
func fromBFactor(palette map[string]any) *treeNode {
	return &treeNode{Kind: "color_from_source", Params: map[string]any{
		"schema": "all_atomic", "category_name": "atom_site", "field_name": "B_iso_or_equiv", "palette": palette,
	}}
}

// The few atoms with extreme B factors would leave one colour to all others.
const leastPart, mostPart = 0.05, 0.95

// spread are the B factors between which nearly all atoms lie.
func (t *Table) spread(of Set) (low, high float64) {
	var values []float64
	of.each(func(i int) { values = append(values, t.Atoms[i].BFactor) })
	slices.Sort(values)
	at := func(part float64) float64 { return values[int(math.Round(part*float64(len(values)-1)))] }
	low, high = at(leastPart), at(mostPart)
	if high <= low {
		high = low + 1
	}
	return low, high
}
