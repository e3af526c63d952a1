package alphafold

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/fold/foldtest"
)

// TestTemplates gives an entry to a model of its first residues: HHsearch finds the chain, and the results say so.
func TestTemplates(t *testing.T) {
	t.Parallel()
	weights, objects := tinyWeights(t)
	const key = "public/structures/1cbs.cif"
	objects[key] = enginestest.Sample(t, "1cbs.cif")
	r := foldtest.RequestOf(t, ">crabp2\nPNFSGNWKIIRSENFEELLKVLGVNVMLRK\n", weights)
	r.Params = json.RawMessage(`{"foldModels":1,"foldRecycles":0,"foldTemplates":["1cbs"]}`)
	r.Found.Structures = map[string]engines.Object{"1CBS": {StorageKey: key, SHA256: strings.Repeat("1", 64), ByteSize: 1}}
	outcome := enginestest.Drive(t, New(), r, objects, quickly()...)
	if len(outcome.Failures) > 0 {
		t.Fatalf("failures %v, logs %v", outcome.Failures, outcome.Logs)
	}
	var results struct {
		Sequences []struct{ Templates []string }
	}
	if err := json.Unmarshal(readFile(t, outcome.Dirs["report"].Out("results.json")), &results); err != nil {
		t.Fatal(err)
	}
	if len(results.Sequences) != 1 || !slices.Contains(results.Sequences[0].Templates, "1CBS_A") {
		t.Errorf("got %+v, want the chain that was the template", results)
	}
	for name, want := range map[string]string{"report.html": "Templates were taken from 1CBS", "structures.csv": "1CBS_A",
		"provenance.json": strings.Repeat("1", 64)} {
		if text := string(readFile(t, outcome.Dirs["report"].Out(name))); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", name, want)
		}
	}
	if text := string(readFile(t, outcome.Dirs["report"].Out("provenance.json"))); !strings.Contains(text, `"hhsearch"`) {
		t.Error("the provenance does not name the version of what searched")
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
