package warm

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/molviewspec"
)

// TestWarmUp: what renderers draw to get warm are scenes that a job would take, and they refer to nothing outside.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	for _, states := range []int{enough, len(warmUps)} {
		archive, err := warmUpScene(states)
		if err != nil {
			t.Fatal(err)
		}
		found, err := molviewspec.ParseArchive(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		if len(found.States) != states || len(found.References) != 0 {
			t.Errorf("%d states that refer to %v; want %d", len(found.States), found.References, states)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	start, err := Command()
	if err != nil {
		t.Fatal(err)
	}
	compile, err := Compile()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(start.Argv, compile.Argv) || start.Argv[0] != "python" {
		t.Errorf("the commands are %q and %q", start.Argv, compile.Argv)
	}
	for _, name := range []string{SceneFile, "program/stay.py", "program/viewer.py", "program/task.py"} {
		if len(start.Files[name]) == 0 || len(compile.Files[name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
	var asked request
	if err := json.Unmarshal(compile.Files[python.RequestFile], &asked); err != nil || !asked.Compile ||
		asked.WarmUp.States != len(warmUps) {
		t.Errorf("the compiler is asked for %+v, %v", asked, err)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Reply{
		`{"ready": true, "renderer": "llvmpipe"}`: {Ready: true, Renderer: "llvmpipe"},
		`{"drawn": 3}`:   {Drawn: 3},
		`{"cleared": 3}`: {Cleared: 3},
		`{"failed": 2, "class": "USER_INPUT", "code": "SCENE_EMPTY", "message": "It is empty."}`: {Failed: 2, Class: "USER_INPUT",
			Code: "SCENE_EMPTY", Message: "It is empty."},
	} {
		if got, ok := ParseReply(line); !ok || got != want {
			t.Errorf("%s: got %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "{}", "null", `{"progress": 0.5}`, `{"drawn": -1}`, `{"drawn": "3"}`, "Traceback"} {
		if got, ok := ParseReply(line); ok {
			t.Errorf("%s is taken for %+v", line, got)
		}
	}
	line, err := Order{Number: 7, Format: "mvsx", WidthPixels: 960, HeightPixels: 540}.Line()
	if err != nil || !bytes.HasSuffix(line, []byte("}\n")) || bytes.Count(line, []byte("\n")) != 1 {
		t.Errorf("the order is %q, %v", line, err)
	}
}
