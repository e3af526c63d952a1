package enginestest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the module as seen from this folder, where go test runs.
const root = "../.."

var (
	// named matches the line above the blocks of a file, and block a block of code.
	named = regexp.MustCompile("(?m)^`([a-z_/.]+\\.[a-z]+)`.*:$")
	block = regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$")
)

// joined is a test of what the lines elsewhere bring about.
const joined = `package gyration_test

import (
	"encoding/json"
	"testing"

	"github.com/molfabric/molfabric/api/jobs/parameters"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/engines/gyration"
)

func TestTheEngineHasJoined(t *testing.T) {
	if engine, ok := all.Registry().Lookup(gyration.ID); !ok || !engine.Spec().Serves(engines.JobTypeSimulation) {
		t.Error("the registry does not have it")
	}
	var given parameters.SimulationParams
	if err := json.Unmarshal([]byte(` + "`{\"gyrationChain\":\"A\"}`" + `), &given); err != nil {
		t.Fatal(err)
	}
	completed, err := parameters.Complete(&given, gyration.ID)
	if err != nil || string(completed.Text) != ` + "`{\"gyrationChain\":\"A\",\"maxPockets\":10}`" + ` {
		t.Errorf("its parameters are %s, %v", completed.Text, err)
	}
	book, err := billing.LoadBook("")
	if _, priced := book.Engines[gyration.ID]; err != nil || !priced {
		t.Errorf("it has no price, %v", err)
	}
}
`

// TestThePageBuildsItsEngine lays the text of doc/new-engine.md over the module and runs the tests of the engine that it
// describes.
func TestThePageBuildsItsEngine(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "doc", "new-engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, string(page))
	files["engines/gyration/joined_test.go"] = joined
	if len(files) != 7 {
		t.Fatalf("the page has %d files, want the engine's three, the three that it joins and a test", len(files))
	}
	tests := filepath.Join(t.TempDir(), "gyration.test")
	// The folder is not there for vet to look into, nor for the tests to run in.
	run(t, root, "go", "test", "-c", "-vet=off", "-o", tests, "-overlay", overlay(t, files), "./engines/gyration")
	run(t, t.TempDir(), tests)
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	process := exec.CommandContext(t.Context(), name, args...)
	process.Dir = dir
	if printed, err := process.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, printed)
	}
}

// filesOf are the page's files by their paths. The blocks of a file that the module has are put behind their first lines
// in it.
func filesOf(t *testing.T, page string) map[string]string {
	t.Helper()
	files := map[string]string{}
	places := named.FindAllStringSubmatchIndex(page, -1)
	for i, place := range places {
		end := len(page)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		name := page[place[2]:place[3]]
		text, err := os.ReadFile(filepath.Join(root, name))
		known := err == nil
		for _, found := range block.FindAllStringSubmatch(page[place[1]:end], -1) {
			code := found[1]
			if !known {
				text = append(text, code...)
				continue
			}
			first, _, _ := strings.Cut(code, "\n")
			if strings.Count("\n"+string(text), "\n"+first+"\n") != 1 {
				t.Fatalf("%s does not have this line once: %s", name, first)
			}
			text = []byte(strings.Replace("\n"+string(text), "\n"+first+"\n", "\n"+code, 1)[1:])
		}
		files[name] = string(text)
	}
	return files
}

// overlay writes files aside and says where the go command finds them.
func overlay(t *testing.T, files map[string]string) string {
	t.Helper()
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	aside := t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		file := filepath.Join(aside, strings.ReplaceAll(name, "/", "_"))
		write(t, file, text)
		replace[filepath.Join(base, name)] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(aside, "overlay.json")
	write(t, file, string(text))
	return file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
