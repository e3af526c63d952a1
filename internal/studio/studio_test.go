package studio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/director/model"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// samples is a folder with structures.
const samples = "../../engines/enginestest/samples"

// shelf is a library of files in a folder.
type shelf struct{ folder string }

func (s shelf) File(_ context.Context, source string) (scene.File, error) {
	id, ok := strings.CutPrefix(source, "pdb:")
	content, err := os.ReadFile(filepath.Join(s.folder, strings.ToLower(id)+".cif.gz"))
	if !ok || err != nil {
		return scene.File{}, &studio.UnfoundError{Source: source, Reason: "it is not on the shelf"}
	}
	structure, err := scene.ReadStructure(content)
	return scene.File{Structure: structure, URL: id + ".cif"}, err
}

func (shelf) Names([]string) map[string][]string {
	return map[string][]string{"REA": {"RETINOIC ACID", "tretinoin"}}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	s := studio.New(shelf{samples}, nil)
	state := studio.NewState()
	for _, c := range []struct{ say, want string }{
		{"show the ligand", "Which structure?"},
		{"load 1cbs", "Loaded 1CBS"},
		{"show the ligand as sticks and its pocket within 5 Å", "chain A"},
		{"colour it by element", "by element"},
		{"undo", "Undone."},
		{"redo", "Done again."},
		{"show the ligand in a frobnicated whatsit", "Not understood"},
		{"show residue 4711", "Not found"},
		{"load 9zzz", "not on the shelf"},
		{"show tretinoin as spheres", "spacefill (1 residue, 22 atoms"},
		{"render a 4k picture", "costs money"},
	} {
		next, turn, err := s.Say(t.Context(), state, studio.Message{Text: c.say})
		if err != nil {
			t.Fatalf("%s: %v", c.say, err)
		}
		t.Logf("%s → %s %s", c.say, turn.Reply, strings.Join(turn.Warnings, "; "))
		if !strings.Contains(turn.Reply, c.want) {
			t.Errorf("%s: answered %q, want %q in it", c.say, turn.Reply, c.want)
		}
		text, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		state = studio.State{}
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
	}
	_, turn, err := s.Say(t.Context(), state, studio.Message{Text: "yes"})
	if err != nil || turn.Confirmed == nil {
		t.Errorf("a yes ordered %v, %v", turn.Confirmed, err)
	}
}

// advisor is a language model behind the real client.
type advisor struct{ *model.Model }

func (a advisor) Understand(
	ctx context.Context, world director.Context, message string, check func([]scene.Operation) error,
) ([]scene.Operation, error) {
	answer, err := a.Model.Understand(ctx, world, message, check)
	return answer.Operations, err
}

// TestModel: what the grammar gives up is the model's to read, and what the model says is carried out like anything else, or told.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		say         string
		understood  string
		changed     bool
		want, warns string
	}{
		"understood": {200, `[{"op":"color","args":{"sel":"ligand","color":"pink"}}]`, "llama", true, "Coloured ligand pink", ""},
		"not there": {200, `[{"op":"show","args":{"sel":"resi 4711","as":"stick"}}]`, "llama", false, "Not found in this scene",
			""},
		"nonsense": {200, `Of course! I would love to.`, "grammar", false, "Not understood", "could not help"},
		"an address": {200, `[{"op":"load","args":{"source":"https://example.org/x.cif"}}]`, "grammar", false,
			"Not understood", "could not help"},
		"away": {503, `busy`, "grammar", false, "Not understood", "could not help"},
		"its refusal": {200, `[{"op":"refuse","args":{"reason":"unsupported","feature":"glitter"}}]`, "llama", false, "glitter",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				content, err := json.Marshal(c.say)
				if err != nil {
					t.Error(err)
				}
				fmt.Fprintf(w, `{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": %s}}]}`, content)
			}))
			t.Cleanup(server.Close)
			asked, err := model.New(model.Config{URL: server.URL + "/v1", Model: "llama"})
			if err != nil {
				t.Fatal(err)
			}
			s := studio.New(shelf{samples}, advisor{asked})
			state, _, err := s.Say(t.Context(), studio.NewState(), studio.Message{Text: "load 1cbs"})
			if err != nil {
				t.Fatal(err)
			}
			_, turn, err := s.Say(t.Context(), state, studio.Message{Text: "give the ligand a snazzy glittering outfit"})
			if err != nil {
				t.Fatal(err)
			}
			if turn.Understood != c.understood || turn.Changed != c.changed || !strings.Contains(turn.Reply, c.want) ||
				!strings.Contains(strings.Join(turn.Warnings, " "), c.warns) {
				t.Errorf("understood by %s, changed %v: %s %v", turn.Understood, turn.Changed, turn.Reply, turn.Warnings)
			}
		})
	}
}

func TestOperationsInPlaceOfWords(t *testing.T) {
	t.Parallel()
	s := studio.New(shelf{samples}, nil)
	state, turn, err := s.Say(t.Context(), studio.NewState(), studio.Message{Operations: []scene.Operation{
		scene.Do(scene.Load{Source: "pdb:1CBS"}), scene.Do(scene.Show{Sel: "ligand", As: "stick"})}})
	if err != nil || turn.Understood != studio.ByOperations || !turn.Changed || len(turn.Selections) != 1 {
		t.Fatalf("%+v, %v", turn, err)
	}
	_, _, err = s.Say(t.Context(), state, studio.Message{Operations: []scene.Operation{scene.Do(scene.Show{Sel: "chain",
		As: "stick"})}})
	if err == nil {
		t.Error("half a selection was taken")
	}
	_, _, err = s.Say(t.Context(), state, studio.Message{Text: "colour it red", Selected: "resi ("})
	if err == nil {
		t.Error("half a selection of the viewer's was taken")
	}
	_, pointed, err := s.Say(t.Context(), state, studio.Message{Text: "colour this red", Selected: "resi 111"})
	if err != nil || len(pointed.Selections) != 1 || pointed.Selections[0].Query != "resi 111" {
		t.Errorf("what is selected in the viewer: %+v, %v", pointed, err)
	}
}
