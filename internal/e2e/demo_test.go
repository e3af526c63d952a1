package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/internal/cli"
)

// imatinibDefined is imatinib in a dictionary of components, as set-up makes it.
const imatinibDefined = `{"id":"STI","name":"IMATINIB","synonyms":["STI-571"],"formula":"C29 H31 N7 O","type":"NON-POLYMER",` +
	`"smiles":"Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1","inchiKey":"KTUFNOKKBVMGRW-UHFFFAOYSA-N"}` + "\n"

// crystalAngstrom is how near a pose lies to the crystal's that is found again, as docking is usually judged.
const crystalAngstrom = 2

// TestDemonstration runs the demonstration from sign-up to its last line, with half of the usual searches, and holds the line against
// the results that it has left and against the crystal: the seed is fixed, so that the poses are the same everywhere.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	dictionary := filepath.Join(t.TempDir(), "components.jsonl.gz")
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(imatinibDefined)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dictionary, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "MOLFABRIC_COMPONENTS="+dictionary)
	var shown bytes.Buffer
	home := t.TempDir()
	err := cli.RunDemo(t.Context(), cli.DemoOptions{Server: s.url, Home: home, Program: "molfabric", Out: &shown,
		Exhaustiveness: 4, Link: web.Built()})
	t.Logf("%s", shown.String())
	if err != nil {
		t.Fatal(err)
	}
	if web.Built() && !regexp.MustCompile(`/enter#next=%2Fposes%2Fpose_\S+&token=\S+`).MatchString(shown.String()) {
		t.Error("no link leads to the best pose")
	}
	results := filepath.Join(home, "demo", "results")
	text, err := os.ReadFile(filepath.Join(results, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Ligands []struct {
			Label                 string
			ReferenceRMSDAngstrom *float64
			BestScoreKcalMol      *float64
		}
	}
	if err := json.Unmarshal(text, &document); err != nil || len(document.Ligands) != 3 {
		t.Fatalf("got %+v, %v, want three ligands", document, err)
	}
	lines := strings.Split(strings.TrimRight(shown.String(), "\n"), "\n")
	for _, ligand := range document.Ligands {
		if ligand.BestScoreKcalMol == nil || *ligand.BestScoreKcalMol > -4 {
			t.Errorf("got %+v, want a score", ligand)
		}
		if ligand.Label != "imatinib" {
			continue
		}
		if ligand.ReferenceRMSDAngstrom == nil {
			t.Fatal("nobody has compared imatinib with the crystal")
		}
		want := fmt.Sprintf("imatinib %.1f Å from the crystal", *ligand.ReferenceRMSDAngstrom)
		last := lines[len(lines)-1]
		if !strings.HasPrefix(last, want) || !strings.Contains(last, "THR 315") || !strings.Contains(last, "MET 318") {
			t.Errorf("the demonstration ends with %q, want %q with hydrogen bonds to THR 315 and MET 318", last, want)
		}
		if *ligand.ReferenceRMSDAngstrom >= crystalAngstrom {
			t.Errorf("imatinib lies %.2f Å from the crystal", *ligand.ReferenceRMSDAngstrom)
		}
	}
	for _, name := range []string{"report.html", "native/crystal.sdf", "receptor.pdb", "best.png"} {
		if _, err := os.Stat(filepath.Join(results, name)); err != nil {
			t.Error(err)
		}
	}
}
