package director_test

import (
	"slices"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
)

// TestWhatIsBoundToMetals: what coordinates a metal reaches as far as such bonds do, waters at anything as far as hydrogen bonds.
func TestWhatIsBoundToMetals(t *testing.T) {
	t.Parallel()
	const around351 = "byres (protein and within 2.8 of (resn MN and resi 351))"
	for sentence, want := range map[string]string{
		"residues coordinating Mn 351":                   "show as:stick,sel:" + around351,
		"show the residues that coordinate Mn 351":       "show as:stick,sel:" + around351,
		"label the aspartates binding the metals":        "label level:residue,sel:byres (resn ASP and within 2.8 of metal)",
		"show everything coordinating the metals":        "show as:stick,sel:byres (within 2.8 of metal)",
		"show the manganese and the residues binding it": "show sel:resn MN\nshow as:stick,sel:byres (protein and within 2.8 of resn MN)",
		"waters bound to the ligand":                     "show sel:water and within 3.5 of ligand",
		"colour the waters coordinating Mn 352 red":      "color color:red,sel:water and within 2.8 of (resn MN and resi 352)",
		"which waters coordinate Mn 351?":                "describe about:selection,sel:water and within 2.8 of (resn MN and resi 351)",
		"colour the ATP bound to chain E red":            "color color:red,sel:resn ATP and chain E",
		"show the residues bound to ATP":                 "show as:stick,sel:byres (protein and within 5 of resn ATP)",
		"sphere for Mn 351 and its coordinating residues as sticks": "show as:spacefill,sel:resn MN and resi 351\n" +
			"show as:stick,sel:byres (protein and within 2.8 of (resn MN and resi 351))",
		"show the coordination sphere of the metals": "show as:stick,sel:byres (protein and within 2.8 of metal)",
		"show how Mn 351 is coordinated":             "interactions of:resn MN and resi 351,types:[metal_complex]",
	} {
		if got := understood(t, kinase(), sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
}

// TestWhatStandsBehind: a chain, a number of times, a background or a look behind what they are for.
func TestWhatStandsBehind(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]string{
		"zoom in 3x on ATP":         "focus sel:resn ATP\nzoom factor:3",
		"zoom in on ATP 2x":         "focus sel:resn ATP\nzoom factor:2",
		"strands yellow in chain E": "color color:yellow,sel:sheet and chain E",
		"color helices red and strands yellow in chain E": "color color:red,sel:helix and chain E\n" +
			"color color:yellow,sel:sheet and chain E",
		"color helices of chain I red and strands yellow in chain E": "color color:red,sel:helix and chain I\n" +
			"color color:yellow,sel:sheet and chain E",
		"spin it about the z axis with a dark blue background": "spin axis:z,mode:spin\nbackground color:darkblue",
		"show ATP as thick orange sticks on a black background": "show as:stick,sel:resn ATP\n" +
			"color as:stick,color:orange,sel:resn ATP\nbackground color:black",
		"put it on white":                 "background color:white",
		"no fog, occlusion on":            "effects fog:false\neffects occlusion:true",
		"no outlines, but depth of field": "effects outline:false\neffects depth_of_field:true",
		"hide the cartoon but keep the pocket residues as lines": "hide as:cartoon,sel:polymer\n" +
			"show as:line,sel:byres (protein and within 5 of ligand)",
		"color ATP green, everything else as it is": "color color:green,sel:resn ATP",
		"make the ribbon transparent and label the peptide": "opacity as:cartoon,sel:polymer,value:0.5\n" +
			"label level:chain,sel:chain I",
		"make the waters invisible": "hide sel:water",
		"color ATP pink, its oxygens red, and zoom on it": "color color:pink,sel:resn ATP\n" +
			"color color:red,sel:resn ATP and elem O\nfocus sel:resn ATP",
		"color acidic residues red on the surface":                   "surface sel:polymer\ncolor as:surface,color:red,sel:resn ASP+GLU",
		"color acidic residues red and basic ones blue on a surface": "not understood",
	} {
		if got := understood(t, kinase(), sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
}

// TestResiduesInOtherWords: numbers that are run together with a component, adorned, put behind a place, or measured.
func TestResiduesInOtherWords(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]string{
		"show TPO197 as spheres":       "show as:spacefill,sel:resn TPO and resi 197",
		"highlight pThr197":            "highlight sel:resn TPO and resi 197",
		"color TPO197 and SEP338 red":  "color color:red,sel:resn TPO and resi 197 or resn SEP and resi 338",
		"zoom to MN352":                "focus sel:resn MN and resi 352",
		"show the invariant lysine 72": "show sel:chain E and resi 72",
		"show the active site residues Lys72 and Asp184 as sticks": "show as:stick,sel:chain E and resi 72+184",
		"residues lining the ATP pocket as lines":                  "show as:line,sel:byres (protein and within 5 of resn ATP)",
		"show leucines near the ligand":                            "show as:stick,sel:byres (resn LEU and within 5 of ligand)",
		"CA-CA distance between residues 72 and 184": "measure between:[chain E and resi 72 and name CA," +
			"chain E and resi 184 and name CA],kind:distance",
		"show Lys72 and Asp184 and measure the distance between them": "show sel:chain E and resi 72+184\n" +
			"measure between:[chain E and resi 72,chain E and resi 184],kind:distance",
		"what is the closest residue to ATP?": "refuse alternative:ask which residues are within 4 Å,feature:what is closest," +
			"reason:unsupported",
		"which residues are within 4 Å of ATP and acidic?": "describe about:selection,sel:byres (protein and within 4 of resn ATP) " +
			"and resn ASP+GLU",
		"show the interface residues between E and I as sticks": "show as:stick,sel:byres (chain E and polymer and within 5 of " +
			"(chain I and polymer)) or byres (chain I and polymer and within 5 of (chain E and polymer))",
		"color E teal and I orange":             "color color:teal,sel:chain E and polymer\ncolor color:orange,sel:chain I and polymer",
		"highlight the C terminal tail 340-350": "highlight sel:chain E and resi 340-350",
		"show every third residue": "refuse alternative:name the residues by their numbers,feature:every so many residues," +
			"reason:unsupported",
		"show hydrogen bonds between ATP and Lys72 or Asp184": "interactions of:resn ATP,types:[hydrogen_bond]," +
			"with:chain E and resi 72+184",
		"hide chain I, centre on what is left": "hide sel:chain I\nfocus sel:not chain I",
		"clip 10 A around the ligand":          "clip mode:slab,thickness:10,through:ligand",
		"waters bridging ATP and the protein":  "interactions of:resn ATP,types:[water_bridge],with:protein",
	} {
		if got := understood(t, kinase(), sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
}

// TestPartsOfNucleotides: rings and phosphates are known by the names of their atoms, and refused where those are not there.
func TestPartsOfNucleotides(t *testing.T) {
	t.Parallel()
	ctx := kinase()
	all := []string{"PG", "O1G", "O2G", "O3G", "PB", "O1B", "O2B", "O3B", "PA", "O1A", "O2A", "O3A", "O5'", "C5'", "C4'", "O4'",
		"C3'", "O3'", "C2'", "O2'", "C1'", "N9", "C8", "N7", "C5", "C6", "N6", "N1", "C2", "N3", "C4"}
	ctx.Atoms = func(_, element string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name[:1] != element })
	}
	const adenine = "resn ATP and name N1+C2+N3+C4+C5+C6+N6+N7+C8+N9"
	for sentence, want := range map[string]string{
		"show the adenine ring as sticks":      "show as:stick,sel:" + adenine,
		"color the adenine of ATP blue":        "color color:blue,sel:" + adenine,
		"zoom to ATP's adenine ring":           "focus sel:" + adenine,
		"highlight the gamma phosphate of ATP": "highlight sel:resn ATP and name PG+O1G+O2G+O3G",
		"color the ribose ring green":          "color color:green,sel:resn ATP and name C1'+C2'+C3'+C4'+O4'+C5'+O2'+O3'",
		"show residues near the adenine ring":  "show as:stick,sel:byres (protein and within 5 of (" + adenine + "))",
		"color the guanine base of the ligand red": "refuse alternative:name its atoms, such as N1 of the ligand," +
			"feature:the guanine base by its name,reason:unsupported",
	} {
		if got := understood(t, ctx, sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
	dna := director.Context{Structure: "1BNA", Chains: []director.Chain{
		{ID: "A", Kind: "nucleic", Ranges: []director.Range{{First: 1, Last: 12}}},
		{ID: "B", Kind: "nucleic", Ranges: []director.Range{{First: 13, Last: 24}}},
	}}
	const want = "color color:red,sel:resn DA+A"
	if got := understood(t, dna, "color adenine red"); got != want {
		t.Errorf("adenine of a double helix:\ngot  %s\nwant %s", got, want)
	}
}
