package director

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

const public = "../../director/testdata/public.jsonl"

// TestSentences runs the repository's own sentences through the judge.
func TestSentences(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	var printed bytes.Buffer
	err := Run(t.Context(), Options{
		Files: []string{public, "testdata/own.jsonl"}, Structures: "../../../engines/enginestest/samples", JSON: report,
		Out: &printed,
	})
	t.Log(printed.String())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, tally := range got.Files {
		if sum := tally.Exact + tally.Equal + tally.Asked + tally.Refused + tally.Wrong; sum != tally.Sentences ||
			len(tally.Judgements) != tally.Sentences {
			t.Errorf("%s: %d verdicts and %d judgements on %d sentences", tally.File, sum, len(tally.Judgements), tally.Sentences)
		}
	}
}

// TestLaterSentences runs sentences that were written when the grammar had been mended for the own ones. They are harder, and what
// is not understood of them is said so; none may lead to another picture.
func TestLaterSentences(t *testing.T) {
	t.Parallel()
	tally, err := judgeFile(t.Context(), "testdata/later.jsonl", "", dictionary{})
	if err != nil {
		t.Fatal(err)
	}
	if good := tally.Exact + tally.Equal; tally.Wrong > 0 || 4*good < 3*tally.Sentences {
		t.Errorf("%d of %d are answered as they should be and %d are wrong; want three quarters, and none", good,
			tally.Sentences, tally.Wrong)
	}
}

// write makes a file of sentences, which share one context.
func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sentences.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const hemoglobin = `{"structure": "4HHB", "title": "Deoxyhaemoglobin", "chains": {"A": "1-141", "B": "1-146"}, ` +
	`"ligands": ["HEM/A/142", "HEM/B/148"], "ions": [], "waters": true}`

// TestVerdicts holds wrong and right answers to sentences that are understood against each other.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sentence, want string
		verdict        Verdict
		unneeded       bool
	}{
		{"hide the waters", `[{"op": "hide", "args": {"sel": "water"}}]`, Exact, false},
		{"show the haems as spheres", `[{"op": "show", "args": {"sel": "(resn HEM and chain A) or (resn HEM and chain B)", "as": "spacefill"}}]`,
			Equal, false},
		{"show the haems as red spheres", `[{"op": "show", "args": {"sel": "resn HEM", "as": "spacefill"}}, ` +
			`{"op": "color", "args": {"sel": "resn HEM", "color": "red"}}]`, Equal, false},
		{"show the haems as spheres", `[{"op": "show", "args": {"sel": "resn HEM", "as": "stick"}}]`, Wrong, false},
		{"colour chain A red", `[{"op": "color", "args": {"sel": "chain B and polymer", "color": "red"}}]`, Wrong, false},
		{"zoom in on the haem", `[{"op": "focus", "args": {"sel": "resn HEM and chain A"}}]`, Asked, true},
		{"zoom in on the haem", `[{"op": "refuse", "args": {"reason": "not_found", "feature": "haem"}}]`, Asked, true},
		{"zoom in on the haem", `[{"op": "ask", "args": {"about": "ligand"}}]`, Equal, false},
		{"write me a poem", `[{"op": "focus", "args": {"sel": "all"}}]`, Refused, false},
		{"write me a poem", `[{"op": "refuse", "args": {"reason": "out_of_scope", "feature": "verses"}}]`, Equal, false},
		{"hide chain Z", `[{"op": "refuse", "args": {"reason": "not_found", "feature": "chain Y"}}]`, Refused, false},
		{"show the frobnicated whatsit of the ligand", `[]`, Exact, false},
		{"hide the waters", `[]`, Wrong, false},
		{"undo", `[{"op": "undo", "args": {}}]`, Exact, false},
		{"undo", `[{"op": "undo", "args": {"steps": 2}}]`, Wrong, false},
		{"load 1hsg and hide the ligand", `[{"op": "load", "args": {"source": "pdb:1HSG"}}]`, Wrong, false},
	} {
		line := `{"sentence": "` + c.sentence + `", "context": ` + hemoglobin + `, "operations": ` + c.want + `}`
		tally, err := judgeFile(t.Context(), write(t, line), "", dictionary{})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		got := tally.Judgements[0]
		if got.Verdict != c.verdict || got.Unneeded != c.unneeded {
			t.Errorf("%q, wanted %s: got %s (unneeded %t) for %v %q; want %s (%t)", c.sentence, c.want, got.Verdict, got.Unneeded,
				got.Got, got.Differences, c.verdict, c.unneeded)
		}
	}
}

// TestFailsWhereAnAnswerIsWrong: one wrong answer is enough, and so are too few right ones.
func TestFailsWhereAnAnswerIsWrong(t *testing.T) {
	t.Parallel()
	right := `{"sentence": "hide the waters", "context": ` + hemoglobin + `, "operations": [{"op": "hide", "args": {"sel": "water"}}]}`
	wrong := strings.Replace(right, `"sel": "water"`, `"sel": "ligand"`, 1)
	refused := strings.Replace(right, "hide the waters", "paint a poem", 1)
	many := strings.Split(strings.Repeat(right+"\n", 40), "\n")[:40]
	for _, c := range []struct {
		lines []string
		fails bool
	}{
		{many, false}, {append([]string{refused}, many...), false}, {append([]string{wrong}, many...), true},
		{[]string{refused, right, right, right}, true},
	} {
		err := Run(t.Context(), Options{Files: []string{write(t, c.lines...)}, Out: &bytes.Buffer{}})
		if (err != nil) != c.fails {
			t.Errorf("%d sentences: got %v, want an error: %t", len(c.lines), err, c.fails)
		}
	}
}

func TestFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`{`, "line 1"},
		{`{"sentence": "", "context": {}, "operations": []}`, "sentence: is empty"},
		{`{"sentence": "a", "context": {}, "operations": [{"op": "explode", "args": {}}]}`, "explode"},
		{`{"sentence": "a", "context": {"structure": "X", "chains": {"A": "9-1"}}, "operations": []}`, "9-1"},
		{`{"sentence": "a", "context": {"structure": "X", "chains": {"AB": "1-9"}}, "operations": []}`, "one letter"},
		{`{"sentence": "a", "context": {"structure": "X", "chains": {"A": "1-9"}, "ligands": ["HEM"]}, "operations": []}`,
			"component/chain/number"},
		{`{"sentence": "a", "context": {"structure": "X", "chains": {"A": "1-9"}, "shown": ["fireworks"]}, "operations": []}`, "fireworks"},
		{`{"sentence": "a", "context": {"structure": "X", "chains": {"A": "1-9"}, "last": "chain"}, "operations": []}`, "last"},
		{"", "no sentence"},
	} {
		_, err := judgeFile(t.Context(), write(t, c.line), "", dictionary{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.line, err, c.want)
		}
	}
}

// TestMadeStructures: what sentences speak of is in the structures that are made, and what is near is near.
func TestMadeStructures(t *testing.T) {
	t.Parallel()
	sentences, err := ReadSentences(public)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{said: listen(sentences), built: map[string]scene.File{}}
	seen := map[string]bool{}
	for _, s := range sentences {
		c := s.Context
		if c.Structure == "" || seen[c.Structure] {
			continue
		}
		seen[c.Structure] = true
		file, err := l.made(c)
		if err != nil {
			t.Errorf("%s: %v", c.Structure, err)
			continue
		}
		table := file.Structure.Table(1)
		selections := []string{"polymer", "backbone"}
		for id := range c.Chains {
			if c.Kinds[id] != "nucleic" {
				selections = append(selections, "helix and chain "+id, "sheet and chain "+id, "loop and chain "+id, "sidechain")
			}
			for other := range c.Chains {
				if other != id {
					selections = append(selections, "chain "+id+" and polymer and within 5 of (chain "+other+" and polymer)")
				}
			}
		}
		for _, ligand := range c.Ligands {
			name, _, _ := strings.Cut(ligand, "/")
			selections = append(selections, "byres (protein and within 4 of resn "+name+")")
			if c.Waters {
				selections = append(selections, "water and within 4 of resn "+name)
			}
		}
		for _, ion := range c.Ions {
			name, _, _ := strings.Cut(ion, "/")
			selections = append(selections, "ion and resn "+name, "protein and within 4 of (ion and resn "+name+")")
		}
		if c.Glycans {
			selections = append(selections, "branched")
		}
		for _, text := range selections {
			selection, err := scene.ParseSelection(text)
			if err != nil {
				t.Fatal(err)
			}
			if table.Resolve(selection).Count() == 0 {
				t.Errorf("%s: nothing is %s", c.Structure, text)
			}
		}
		if file.Structure.Predicted != c.Predicted || len(file.Structure.Assemblies) != len(c.Assemblies) ||
			len(file.Structure.Models) != max(1, c.Models) || len(file.Structure.Contacts) != len(c.Contacts) {
			t.Errorf("%s: predicted %t, assemblies %q, %d models, %d contacts; the context says %+v", c.Structure,
				file.Structure.Predicted, file.Structure.Assemblies, len(file.Structure.Models), len(file.Structure.Contacts), c)
		}
	}
}

// TestTiming times one message of the measurement.
func TestTiming(t *testing.T) {
	t.Parallel()
	file, atoms, err := twoKinases()
	if err != nil {
		t.Fatal(err)
	}
	if atoms < 4500 || atoms > 5500 {
		t.Errorf("the structure has %d atoms, want some 5,000", atoms)
	}
	l := &library{kept: map[string]scene.File{"pdb:1IEP": file}}
	s := studio.New(l, nil)
	state, _, err := s.Say(t.Context(), studio.NewState(), studio.Message{Text: "load 1iep"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range timed {
		if state, _, err = timeMessage(t.Context(), s, l, state, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, _, err = timeMessage(t.Context(), s, l, state, "sing a song"); err == nil {
		t.Error("a message that draws nothing is timed")
	}
}
