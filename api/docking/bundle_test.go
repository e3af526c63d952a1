package docking_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// outputs are what a docking of two ligands leaves, by task.
var outputs = []struct{ task, name, format, role string }{
	{"receptor", "receptor.pdbqt", "pdbqt", "result"}, {"receptor", "receptor.pdb", "pdb", "result"},
	{"receptor", "receptor.json", "json", "result"}, {"receptor", "box.json", "json", "result"},
	{"receptor", "serials.json", "json", "intermediate"}, {"receptor", "logs/receptor.log", "log", "log"},
	{"dock-00000", "poses/00001.pdbqt", "pdbqt", "result"}, {"dock-00000", "logs/dock-00000.log", "log", "log"},
	{"dock-00001", "poses/00002.pdbqt", "pdbqt", "result"}, {"analyse-0000", "analysis.json", "json", "result"},
	{"analyse-0000", "poses/00001.sdf", "sdf", "result"}, {"rank", "results.json", "json", "result"},
	{"rank", "results.csv", "csv", "result"}, {"rank", "best.sdf", "sdf", "result"}, {"rank", "report.html", "html", "result"},
	{"rank", "provenance.json", "json", "provenance"}, {"rank", "timings.json", "json", "log"},
	{"rank", "complexes/00001.pdb", "pdb", "result"}, {"rank", "../../etc/passwd", "txt", "result"},
}

// finished submits the library and stores what its tasks leave. It returns the run and the artifacts by name.
func (w *works) finished(c chemist) (run contract.DockingRun, artifacts map[string]string) {
	w.t.Helper()
	run = w.submit(c)
	w.exec(`UPDATE docking_runs SET box = '{"source":"explicit","centerAngstrom":[1,2,3],"sizeAngstrom":[20,20,20],"notes":[]}',
		receptor = $2,
		programs = '{"vina":"1.2.7","rdkit":"2026.3.4","meeko":"0.7.1","molscrub":"0.2","pdb2pqr":"3.7.1","propka":"3.5.1",
			"prolif":"2.2.3","python":"3.12.3"}',
		native_component_id = 'STI', validation = '{"rmsdAngstrom":0.75,"closestRmsdAngstrom":0.5,"passed":true}' WHERE id = $1`, run.RunID,
		`{"format":"pdb","preparation":{"protonationMethod":"pdb2pqr","protonationPh":7.4,"forceField":"AMBER"},"identity":{"inputSha256":"`+strings.Repeat("5a", 32)+`","chains":["A|B"]},"hashes":{}}`)
	var tasks []struct{ ID, Name string }
	if err := w.DB.SelectContext(w.t.Context(), &tasks, `SELECT id, name FROM tasks WHERE job_id = $1 ORDER BY ordinal`,
		run.JobID); err != nil {
		w.t.Fatal(err)
	}
	artifacts = map[string]string{}
	for i, task := range tasks {
		at := noon.Add(time.Duration(i) * time.Minute)
		w.exec(`UPDATE tasks SET status = 'SUCCEEDED' WHERE id = $1`, task.ID)
		w.exec(`INSERT INTO task_attempts (task_id, attempt, outcome, cpu_us, started_at, finished_at)
			VALUES ($1, 1, 'SUCCEEDED', 1500000, $2, $3)`, task.ID, at, at.Add(30*time.Second))
		for _, output := range outputs {
			if output.task == task.Name {
				artifacts[output.name] = w.file(c.AccountID, &docked{job: run.JobID, task: task.ID}, output.name, output.format,
					output.role, "content of "+output.name)
			}
		}
	}
	w.end(run.RunID, []float64{-5, -4}, "a", "b")
	w.exec(`UPDATE jobs SET started_at = $2, finished_at = $3, charged_pence = 35 WHERE id = $1`, run.JobID, noon,
		noon.Add(time.Hour))
	return run, artifacts
}

// unzip reads an archive whose files all have a time.
func unzip(t *testing.T, text string) (names []string, files map[string]string) {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, f := range archive.File {
		body, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(body)
		if err != nil || !f.Modified.Equal(noon.Add(time.Hour).Truncate(time.Second)) {
			t.Errorf("%s: %v, made %v", f.Name, err, f.Modified)
		}
		names, files[f.Name] = append(names, f.Name), string(content)
	}
	return names, files
}

func TestABundleHoldsARun(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	run, artifacts := w.finished(c)
	got := c.Send("GET", base+"/runs/mine/bundle", "")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "application/zip" ||
		got.Header.Get("Content-Disposition") != `attachment; filename="docking-`+run.RunID+`.zip"` ||
		got.Header.Get("X-Total-Count") != "" {
		t.Fatalf("got %d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if again := c.Send("GET", base+"/runs/"+run.RunID+"/bundle?poses=false", ""); again.Text != got.Text {
		t.Error("the second bundle has other bytes")
	}
	names, files := unzip(t, got.Text)
	wanted := []string{
		"ro-crate-metadata.json", "methods.md", "artifacts.csv", "provenance.json", "receipt.json", "request.json", "box.json",
		"logs/receptor.log",
		"receptor.json", "receptor.pdb", "receptor.pdbqt", "best.sdf", "rank/provenance.json", "report.html", "results.csv",
		"results.json", "timings.json",
	}
	if !slices.Equal(names, wanted) {
		t.Errorf("got files %q, want %q", names, wanted)
	}
	checkCrate(t, files)
	for name, parts := range map[string][]string{
		"methods.md": {
			"The receptor was an uploaded structure (SHA-256 5a5a5a5a5a5a…), chain A\\|B. It was protonated with PDB2PQR 3.7.1 " +
				"and PROPKA 3.5.1 at pH 7.4 (AMBER force field) [1,2] and converted with Meeko 0.7.1 [3].",
			"2 ligands were given (2 as SMILES), protonated with molscrub 0.2 [4], embedded",
			"AutoDock Vina 1.2.7 with its Vina scoring function [6,7] in a box of 20 × 20 × 20 Å centred at (1.000, 2.000, " +
				"3.000) Å, placed by its given centre and size",
			"ligand STI was taken out and docked again: its best-scored pose lies 0.75 Å",
			"Interactions were found with ProLIF 2.2.3 [8].", "Of 2 ligands, 2 were docked",
			"1. Jurrus E", "<https://doi.org/10.1002/pro.3280>",
			"| AutoDock Vina | 1.2.7 | <https://github.com/ccsb-scripps/AutoDock-Vina> |",
		},
		"ro-crate-metadata.json": {
			`"description": "python -B program/dock.py --request request.json (2 tasks)"`,
			`"startTime": "2026-11-21T12:00:00+00:00"`, `"value": 0.35`, `"unitText": "GBP"`,
			`"https://doi.org/10.1021/acs.jcim.1c00203"`, `"softwareVersion": "1.2.7"`, `"urn:sha256:` + strings.Repeat("5a", 32) +
				`:receptor.pdb"`,
		},
		"artifacts.csv": {
			artifacts["results.csv"] + ",results.csv,rank,result,text/plain,",
			artifacts["poses/00001.pdbqt"] + ",poses/00001.pdbqt,dock-00000,result,text/plain,",
		},
	} {
		for _, part := range parts {
			if !strings.Contains(files[name], part) {
				t.Errorf("%s has no %s:\n%s", name, part, files[name])
			}
		}
	}
	if included := strings.Join(column(t, files["artifacts.csv"], "included"), " "); strings.Contains(files["artifacts.csv"],
		"serials.json") || strings.Count(included, "yes") != 11 || strings.Count(included, "no") != 7 {
		t.Errorf("got %s", files["artifacts.csv"])
	}
	var told struct {
		JobID     string
		Complete  bool
		Request   struct{ SHA256 string }
		Documents []map[string]any
	}
	if err := json.Unmarshal([]byte(files["provenance.json"]), &told); err != nil || told.JobID != run.JobID || !told.Complete ||
		told.Request.SHA256 != digestOf(files["request.json"]) ||
		len(told.Documents) != 1 || told.Documents[0]["url"] != nil || !strings.Contains(files["request.json"], `"c1ccccc1"`) {
		t.Errorf("got %+v, %v, of the request %s", told, err, files["request.json"])
	}
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// outside are the things that a crate may name and not describe.
var outside = []string{"https://w3id.org/ro/crate/1.1"}

// checkCrate holds the files of a bundle against what their metadata say.
func checkCrate(t *testing.T, files map[string]string) {
	t.Helper()
	var crate struct {
		Graph []map[string]any `json:"@graph"`
	}
	if err := json.Unmarshal([]byte(files["ro-crate-metadata.json"]), &crate); err != nil {
		t.Fatal(err)
	}
	described := map[string]map[string]any{}
	for _, entity := range crate.Graph {
		described[fmt.Sprint(entity["@id"])] = entity
	}
	if len(described) != len(crate.Graph) {
		t.Errorf("%d entities have %d ids", len(crate.Graph), len(described))
	}
	var follow func(value any)
	follow = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, one := range v {
				follow(one)
			}
		case map[string]any:
			if name, is := v["@id"].(string); is && described[name] == nil && !slices.Contains(outside, name) {
				t.Errorf("nothing has the id %s", name)
			}
		}
	}
	held := 1 // the metadata themselves
	for _, entity := range crate.Graph {
		for _, value := range entity {
			follow(value)
		}
		if entity["@type"] != "File" {
			continue
		}
		held++
		content, there := files[fmt.Sprint(entity["@id"])]
		if !there || entity["sha256"] != digestOf(content) || entity["contentSize"] != fmt.Sprint(len(content)) {
			t.Errorf("the file of %v is there: %t, and is not what that says", entity, there)
		}
	}
	if held != len(files) {
		t.Errorf("%d of %d files are described", held, len(files))
	}
}

func TestABundleWithPoses(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	run, _ := w.finished(c)
	got := c.Send("GET", base+"/runs/"+run.RunID+"/bundle?poses=true", "")
	_, files := unzip(t, got.Text)
	checkCrate(t, files)
	for _, name := range []string{"poses/00001.pdbqt", "poses/00001.sdf", "poses/00002.pdbqt", "complexes/00001.pdb",
		"analysis.json"} {
		if files[name] != "content of "+name {
			t.Errorf("%s: got %q", name, files[name])
		}
	}
	if len(files) != 22 {
		t.Errorf("%d files, want 22: a log of docking and a path that leads out stay away", len(files))
	}
}

func TestABundleIsRefused(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	run := w.submit(c)
	want(t, "a run that waits", c.Send("GET", base+"/runs/"+run.RunID+"/bundle", ""), 422, fault.ArtifactNotFound, "wait")
	want(t, "an unknown run", c.Send("GET", base+"/runs/"+id.New("run_")+"/bundle", ""), 404, fault.NotFound, "runId")
	run, artifacts := w.finished(c)
	want(t, "another account's run", w.account().Send("GET", base+"/runs/"+run.RunID+"/bundle", ""), 404, fault.NotFound, "runId")
	if head := c.Send("HEAD", base+"/runs/"+run.RunID+"/bundle", ""); head.StatusCode != 200 || head.Text != "" {
		t.Errorf("HEAD: got %d %q", head.StatusCode, head.Text)
	}
	w.exec(`UPDATE artifacts SET byte_size = $2 WHERE id = $1`, artifacts["results.csv"], 3<<30)
	want(t, "a bundle beyond the bound", c.Send("GET", base+"/runs/"+run.RunID+"/bundle", ""), 413, fault.PayloadTooLarge, "poses")
	w.exec(`UPDATE artifacts SET byte_size = 10 WHERE id = $1`, artifacts["results.csv"])
	want(t, "a small bundle with other bytes", c.Send("GET", base+"/runs/"+run.RunID+"/bundle", ""), 422, fault.ChecksumMismatch,
		"results.csv")
	if err := w.objects.Delete(t.Context(), w.keyOfArtifact(artifacts["results.csv"])); err != nil {
		t.Fatal(err)
	}
	want(t, "a small bundle with a lost file", c.Send("GET", base+"/runs/"+run.RunID+"/bundle", ""), 422, fault.ChecksumMismatch,
		"results.csv")
}

// A run that ended before anything was prepared has a bundle too: its request and its provenance.
func TestABundleOfACancelledRun(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	run := w.submit(c)
	w.exec(`UPDATE docking_results SET status = 'FAILED', error = 'not docked: the job was cancelled' WHERE run_id = $1`, run.RunID)
	w.exec(`UPDATE jobs SET status = 'CANCELLED', finished_at = $2, charged_pence = 0 WHERE id = $1`, run.JobID,
		noon.Add(time.Hour))
	got := c.Send("GET", base+"/runs/"+run.RunID+"/bundle", "")
	names, files := unzip(t, got.Text)
	if len(names) != 6 || !strings.Contains(files["methods.md"], "The run ended before it was prepared. 2 ligands were given (2 "+
		"as SMILES).") ||
		!strings.Contains(files["methods.md"], "The others failed: 2 in a run that ended before.") {
		t.Errorf("got %q, %s", names, files["methods.md"])
	}
	checkCrate(t, files)
}

// A bundle that cannot go on breaks the connection: nobody takes what came for the whole.
func TestABrokenBundleIsNotWhole(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	run, artifacts := w.finished(c)
	var noise bytes.Buffer // that does not compress
	for sum := sha256.Sum256(nil); noise.Len() < 1<<20; sum = sha256.Sum256(sum[:]) {
		noise.Write(sum[:])
	}
	w.exec(`DELETE FROM artifacts WHERE id = $1`, artifacts["results.json"])
	var task string
	if err := w.DB.GetContext(t.Context(), &task, `SELECT id FROM tasks WHERE job_id = $1 AND name = 'rank'`,
		run.JobID); err != nil {
		t.Fatal(err)
	}
	large := w.file(c.AccountID, &docked{job: run.JobID, task: task}, "large.json", "json", "result", noise.String())
	fetch := func() (int, error) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Base+base+"/runs/"+run.RunID+"/bundle", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = c.Header.Clone()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Fatalf("got %s", response.Status)
		}
		n, err := io.Copy(io.Discard, response.Body)
		return int(n), err
	}
	if n, err := fetch(); err != nil || n < 1<<20 {
		t.Errorf("sound: %d bytes, %v", n, err)
	}
	w.exec(`UPDATE artifacts SET sha256 = $2 WHERE id = $1`, large, strings.Repeat("0", 64))
	for range 5 { // more often than an account may fetch at once: each lets go of its place
		if n, err := fetch(); err == nil { // on a busy machine perhaps before the first byte
			t.Errorf("%d bytes came and then no error, want a broken answer", n)
		}
	}
}
