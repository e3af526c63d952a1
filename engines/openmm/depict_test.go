package openmm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

func TestDepict(t *testing.T) {
	t.Parallel()
	request := smallRun(unchanged)
	request.JobType = engines.JobTypePipeline
	plan, err := New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	depiction, err := New().Depict(request, plan)
	if err != nil {
		t.Fatal(err)
	}
	var asked struct{ Snapshots int }
	if err := json.Unmarshal(plan[len(plan)-1].Params, &asked); err != nil {
		t.Fatal(err)
	}
	if last := plan[len(plan)-1]; depiction.File.Shard != last.Name || depiction.File.Stage != last.Stage {
		t.Errorf("the scene comes from %+v, want shard %s", depiction.File, last.Name)
	}
	if got := len(depiction.Scene.States); got == 0 || got != asked.Snapshots {
		t.Errorf("the scene has %d states and the analysis keeps %d snapshots", got, asked.Snapshots)
	}
}

// TestSnapshots keeps frames for a film: heavy atoms of the solute alone, the first and the last frame among them.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	dir, _ := layAnalysis(t, 20, 50)
	path := filepath.Join(dir, "request.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeAnalysisInput(t, dir, "request.json", []byte(strings.Replace(string(text), "{", `{"snapshots":5,`, 1)))
	if failure := analyse(t, dir); failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	film, result := analysisText(t, dir, snapshotsFile), analysisText(t, dir, python.ResultFile)
	if !strings.Contains(result, snapshotsFile) {
		t.Errorf("%s does not name %s: %s", python.ResultFile, snapshotsFile, result)
	}
	if got := strings.Count(film, "MODEL "); got != 5 {
		t.Errorf("%s has %d models, want 5", snapshotsFile, got)
	}
	for line := range strings.Lines(film) {
		if strings.HasPrefix(line, "ATOM") && (strings.HasSuffix(strings.TrimSpace(line), "H") || strings.Contains(line, "HOH")) {
			t.Fatalf("%s has hydrogens or water: %s", snapshotsFile, line)
		}
	}
}
