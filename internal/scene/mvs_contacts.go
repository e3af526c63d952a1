package scene

import (
	"fmt"

	"github.com/molfabric/molfabric/internal/scene/contacts"
)

// contactColors are those of the docking's pictures, told apart by every kind of colour vision.
var contactColors = map[string]string{
	contacts.HydrogenBond: "#1f8fe0", contacts.SaltBridge: "#d99a00", contacts.HalogenBond: "#00a5a5",
	contacts.MetalComplex: "#8a5fb0", contacts.WaterBridge: "#6fb9ea", contacts.PiStacking: "#4aa85a",
	contacts.PiCation: "#d96b45", contacts.Hydrophobic: "#9aa3ad",
}

// otherContactColor is that of types that are not known here.
const otherContactColor = "#9aa3ad"

// How lines of contacts are drawn, in Å. Hydrophobic ones are thin, for they say little and are many.
const (
	contactAngstrom      = 0.07
	thinContactAngstrom  = 0.035
	contactDashAngstrom  = 0.17
	contactLabelAngstrom = 1.0
)

// Letters in a contact's colour have a light edge, by which they are read on anything; its width is a part of their size.
const labelEdge, labelEdgeWidth = 0xffffff, 0.22

// contacts writes contacts as dashed lines, with their lengths where these are asked for.
func (c *compiler) contacts(structure *treeNode, shown InteractionsShown, suffix string) {
	t := c.tables[shown.Structure]
	found := t.contacts(c.files[c.Structures[shown.Structure].Source].Structure, shown)
	if len(found.list) == 0 {
		return
	}
	names := t.namer()
	shapes := structure.under(&treeNode{Kind: "primitives", Ref: shown.ID + suffix,
		Params: map[string]any{"label_attachment": "middle-center"},
		Custom: map[string]any{"molstar_label_params": map[string]any{"borderColor": labelEdge, "borderWidth": labelEdgeWidth}}})
	lines := map[[2][3]float64]*treeNode{} // of atoms that are in several contacts one line is drawn
	for _, k := range found.list {
		tip := contactNoun(1, k.Type)[len("1 "):] + " " + names.contact(k)
		if line := lines[k.Ends]; line != nil && k.Through == nil {
			line.Params["tooltip"] = fmt.Sprint(line.Params["tooltip"], "; ", tip)
			continue
		}
		ends := [][3]float64{k.Ends[0], k.Ends[1]}
		if k.Through != nil {
			ends = [][3]float64{k.Ends[0], k.Through.Position, k.Ends[1]}
		}
		for i := 1; i < len(ends); i++ {
			line := shapes.under(contactLine(k.Type, ends[i-1], ends[i], tip))
			if k.Through == nil {
				lines[k.Ends] = line
			}
			if shown.Labels && (k.Type != contacts.Hydrophobic || shown.Types != nil) {
				shapes.under(contactLength(k.Type, ends[i-1], ends[i]))
			}
		}
	}
}

func contactLine(kind string, start, end [3]float64, tip string) *treeNode {
	radius := contactAngstrom
	if kind == contacts.Hydrophobic {
		radius = thinContactAngstrom
	}
	return &treeNode{Kind: "primitive", Params: map[string]any{
		"kind": "tube", "start": start, "end": end, "radius": radius, "dash_length": contactDashAngstrom,
		"color": contactColor(kind), "tooltip": tip,
	}}
}

func contactLength(kind string, start, end [3]float64) *treeNode {
	return &treeNode{Kind: "primitive", Params: map[string]any{
		"kind": "label", "position": times(plus(start, end), 0.5), "text": fmt.Sprintf("%.1f Å", distance(start, end)),
		"label_size": contactLabelAngstrom, "label_color": contactColor(kind),
	}}
}

func contactColor(kind string) string {
	if color, ok := contactColors[kind]; ok {
		return color
	}
	return otherContactColor
}

// String is a contact in words.
func (k Contact) String() string {
	return fmt.Sprintf("%s %s %s – %s %s, %.2f Å", k.Type, k.From, k.FromAtom, k.To, k.ToAtom, k.DistanceAngstrom)
}
