package director_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
)

// kinase is the catalytic subunit of a kinase with ATP, two metals and an inhibitor peptide: 1ATP.
func kinase() director.Context {
	return director.Context{
		Structure: "1ATP", Waters: true,
		Chains: []director.Chain{{ID: "E", Kind: "protein", Ranges: []director.Range{{First: 15, Last: 350}}},
			{ID: "I", Kind: "protein", Ranges: []director.Range{{First: 5, Last: 24}}}},
		Ligands:  []director.Component{{Name: "ATP", Chain: "E", Number: "355"}},
		Ions:     []director.Component{{Name: "MN", Chain: "E", Number: "351"}, {Name: "MN", Chain: "E", Number: "352"}},
		Modified: []director.Component{{Name: "TPO", Chain: "E", Number: "197"}, {Name: "SEP", Chain: "E", Number: "338"}},
	}
}

// understood is what a sentence comes to, an operation a line: "show sel=ligand as=stick".
func understood(t *testing.T, ctx director.Context, sentence string) string {
	t.Helper()
	got := director.Understand(ctx, sentence)
	if len(got.NotUnderstood) > 0 {
		return "not understood"
	}
	lines := make([]string, len(got.Operations))
	for i, operation := range got.Operations {
		text, err := json.Marshal(operation.Args)
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = operation.Op + " " + strings.NewReplacer(`"`, "", "{", "", "}", "").Replace(string(text))
	}
	return strings.Join(lines, "\n")
}

// TestPartsBelongToWhatWasSpokenOf: carbons, side chains and the like behind "its", or alone behind a clause that spoke of something.
func TestPartsBelongToWhatWasSpokenOf(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]string{
		"colour residues 316-321 yellow and show their backbone as sticks": "color color:yellow,sel:chain E and resi 316-321\n" +
			"show as:stick,sel:backbone and chain E and resi 316-321",
		"color the ligand carbons cyan and oxygens red": "color carbons_only:true,color:cyan,sel:ligand\n" +
			"color color:red,sel:ligand and elem O",
		"show Asp184 and Lys72 as sticks, carbons yellow": "show as:stick,sel:chain E and resi 184+72\n" +
			"color carbons_only:true,color:yellow,sel:chain E and resi 184+72",
		"hide the protein and show the ligand, carbons green": "hide sel:protein\nshow sel:ligand\n" +
			"color carbons_only:true,color:green,sel:ligand",
		"color the nitrogens of ATP and Lys72 blue": "color color:blue,sel:resn ATP and elem N or " +
			"chain E and resi 72 and elem N",
		"show Lys72, its carbons green": "show sel:chain E and resi 72\ncolor carbons_only:true,color:green,sel:chain E and resi 72",
		"zoom to residues 184-187 and label their CA atoms": "focus sel:chain E and resi 184-187\n" +
			"label level:atom,sel:chain E and resi 184-187 and name CA and polymer",
		"show the side chains of residues 47-57 as sticks, carbons cyan": "show as:stick,sel:sidechain and chain E and resi 47-57\n" +
			"color carbons_only:true,color:cyan,sel:sidechain and chain E and resi 47-57",
		"show the backbone of Lys72 as sticks and its side chain as spheres": "show as:stick,sel:backbone and chain E and resi 72\n" +
			"show as:spacefill,sel:sidechain and chain E and resi 72",
		"show residues 28 to 36, then their side chains as sticks": "show sel:chain E and resi 28-36\n" +
			"show as:stick,sel:sidechain and chain E and resi 28-36",
		// What has no such parts, or was hidden, owns none.
		"show the ligand as spheres and the side chains as sticks": "show as:spacefill,sel:ligand\nshow as:stick,sel:sidechain",
		"hide the waters, colour the oxygens red":                  "hide sel:water\ncolor color:red,sel:elem O",
		"color the backbone grey and the side chains by element": "color color:gray,sel:backbone\n" +
			"color by:element,sel:sidechain",
		"show its side chains": "ask about:target,choices:[ATP/E/355,E,I]",
	} {
		if got := understood(t, kinase(), sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
}

// TestAndSharesALimit: what stands behind two things of one sort limits both, and what a distance limits is whole residues.
func TestAndSharesALimit(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]string{
		"color arginine and lysine in chain E blue":             "color color:blue,sel:resn ARG+LYS and chain E",
		"show helices and strands of chain I as cartoon":        "show as:cartoon,sel:helix and chain I or sheet and chain I",
		"hide everything except helices and strands of chain I": "isolate sel:helix and chain I or sheet and chain I",
		"color leucines and valines within 5 Å of ATP red": "color color:red,sel:byres (resn LEU and within 5 of resn ATP) or " +
			"byres (resn VAL and within 5 of resn ATP)",
		// Things of two sorts keep apart, and one that has a limit keeps it.
		"hide the ligand and the helices of chain I":               "hide sel:ligand or helix and chain I",
		"hide helices of chain E and strands of chain I":           "hide sel:helix and chain E or sheet and chain I",
		"show residues of chain E within 4 Å of chain I as sticks": "show as:stick,sel:byres (chain E and polymer and within 4 of chain I)",
		"show residues within 5 A of ATP but only in chain E":      "show as:stick,sel:byres (protein and within 5 of resn ATP) and chain E",
		"show all charged residues within 4 Å of ATP":              "show as:stick,sel:byres (resn ARG+ASP+GLU+LYS and within 4 of resn ATP)",
		"show the side chains near the ligand":                     "show as:stick,sel:sidechain and byres (sidechain and within 5 of ligand)",
		"show Lys72 and its neighbours": "show sel:chain E and resi 72\n" +
			"show as:stick,sel:byres (protein and within 5 of (chain E and resi 72))",
	} {
		if got := understood(t, kinase(), sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
}

// TestNothingElseIsDone holds sentences that led to something else against what they ask for.
func TestNothingElseIsDone(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]string{
		"sequence of chain I": "describe about:sequence,sel:chain I",
		"hide everything except chain I and its contacts in E": "isolate sel:chain I\ninteractions of:chain I,with:chain E",
		"show hydrogen bonds inside chain I": "refuse alternative:show the contacts of a residue, or between two chains," +
			"feature:contacts inside one thing,reason:unsupported",
		"show metal coordination":      "interactions of:metal,types:[metal_complex]",
		"what coordinates the metals?": "describe about:interactions,sel:metal",
		"show me what's around Lys72":  "show as:stick,sel:byres (protein and within 5 of (chain E and resi 72))",
		"make a movie":                 "render format:mp4,turntable:",
		"color the gamma phosphate red": "refuse alternative:name its atoms, such as N1 of the ligand," +
			"feature:the gamma phosphate by its name,reason:unsupported",
		"show the phosphorylated residues": "show sel:resn PTR+SEP+TPO",
		"set the label size to 2":          "not understood",
		"show TPO 197 and SEP 338":         "show sel:resn TPO and resi 197 or resn SEP and resi 338",
		"show residues 100 to 90":          "show sel:chain E and resi 90-100",
		"show hydrogen bonds between ATP and the protein and label them": "interactions labels:true,of:resn ATP," +
			"types:[hydrogen_bond],with:protein",
		"show the pocket and colour its acidic residues red": "pocket of:ligand\n" +
			"color color:red,sel:byres (protein and within 5 of ligand) and resn ASP+GLU",
	} {
		if got := understood(t, kinase(), sentence); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, got, want)
		}
	}
}
