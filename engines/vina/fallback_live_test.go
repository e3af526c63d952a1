package vina

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// wantNoteWith checks that a note holds a text, among residues that depend on the program's version.
func wantNoteWith(run *task, text string) {
	run.t.Helper()
	if notes := run.report().Notes; !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, text) }) {
		run.t.Errorf("got notes %q, want one with %q", notes, text)
	}
}

// TestPreparationNeverGivesUp has the programs that place hydrogens and types fail, and wants a receptor all the same, with a note
// that says what was done instead.
func TestPreparationNeverGivesUp(t *testing.T) {
	t.Parallel()
	peptide := readFile(t, "testdata/peptide.pdb")
	for _, c := range []struct {
		name  string
		added map[string]string
		note  string
	}{
		{
			"PDB2PQR names nobody",
			map[string]string{"hydrogens.py": "\ndef run_pdb2pqr(*_):\n    raise Pdb2pqrError('no luck')\n"},
			"the receptor's hydrogens are placed by Meeko's residue templates: PDB2PQR cannot protonate it (no luck)",
		},
		{
			"PDB2PQR names a residue",
			map[string]string{"hydrogens.py": `
whole = run_pdb2pqr
named = []

def run_pdb2pqr(pdb, *rest):
    if not named:
        residue = next(line for line in pdb.splitlines() if line.startswith("ATOM"))
        named.append(f"{residue[17:20].strip()} {residue[21]} {residue[22:26].strip()}")
        raise Pdb2pqrError(f"{named[0]} is strained")
    return whole(pdb, *rest)
`},
			"kept as it stands, because PDB2PQR cannot work on it",
		},
		{
			"Meeko names nobody",
			map[string]string{"conversion.py": `
class Polymer:
    @staticmethod
    def from_pdb_string(*_, **__):
        raise ValueError("no luck")
`},
			"kept as it stands, because Meeko cannot read the receptor (no luck)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := prepareReceptorWith(t, peptide, fields{"box": around}, nil, c.added)
			wantNoteWith(run, c.note)
			if report := run.report(); report.AtomCount < 20 || len(run.output("receptor.pdbqt")) == 0 {
				t.Errorf("%d atoms are left of the peptide", report.AtomCount)
			}
		})
	}
}

// TestTheMostDruggablePocketIsTheBox has a pocket finder whose best pocket by its own score is not the most druggable one.
func TestTheMostDruggablePocketIsTheBox(t *testing.T) {
	t.Parallel()
	finder := func(druggable float64) string {
		return fmt.Sprintf(`
import json, pathlib
box = lambda x: {"boxCenterAngstrom": {"x": x, "y": 0, "z": 0}, "boxSizeAngstrom": {"x": 20, "y": 20, "z": 20}}
pocket = lambda rank, x, druggability: {"rank": rank, "score": 1 / rank, "druggabilityScore": druggability,
    "volumeCubicAngstrom": 500, "dockingBox": {key: list(side.values()) for key, side in box(x).items()}}
pathlib.Path("out").mkdir(exist_ok=True)
document = {"engine": {"name": "fpocket", "version": "4"}, "pockets": [pocket(1, 30, 0.1), pocket(2, 0, %g)]}
pathlib.Path("out/pockets.json").write_text(json.dumps(document))
`, druggable)
	}
	for name, c := range map[string]struct {
		druggable float64
		note      string
	}{
		"druggable": {0.8, "the most druggable of the 2 best pockets that fpocket 4 found, its score 0.80"},
		"low":       {0.3, "no pocket looks druggable (the best has 0.30 of 1; 0.5 is the usual bound)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := prepareReceptorWith(t, readFile(t, "testdata/peptide.pdb"), fields{"box": fields{"source": "fpocket"}}, nil,
				map[string]string{
					"finder.py": finder(c.druggable),
					"box.py":    "\nFIND_POCKETS = Path(__file__).with_name('finder.py')\n",
				})
			wantNoteWith(run, c.note)
			var box struct {
				CenterAngstrom [3]float64
				Detail         struct{ Rank int }
			}
			run.read("box.json", &box)
			if box.Detail.Rank != 2 || box.CenterAngstrom != [3]float64{} {
				t.Errorf("the box is that of pocket %d at %v, want the second one's at 0", box.Detail.Rank, box.CenterAngstrom)
			}
		})
	}
}
