package molstar

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/film"
)

// structure holds the residues of PDB entry 1UYD around its ligand PU8, the ligand and three waters.
const structure = "../fpocket/testdata/pocket-of-1uyd.pdb"

// node is a node of a MolViewSpec document.
func node(kind string, params map[string]any, children ...map[string]any) map[string]any {
	return map[string]any{"kind": kind, "params": params, "children": children}
}

// scene writes states that each show the structure in one colour, and returns its path. camera is that of every state; nil for the
// default.
func scene(t *testing.T, reference string, camera map[string]any, colours ...string) string {
	t.Helper()
	var snapshots []map[string]any
	for i, colour := range colours {
		shown := node("download", map[string]any{"url": reference}, node("parse", map[string]any{"format": "pdb"},
			node("structure", map[string]any{"type": "model"},
				node("component", map[string]any{"selector": "all"}, node("representation", map[string]any{"type": "spacefill"},
					node("color", map[string]any{"color": colour}))))))
		children := []map[string]any{shown, node("canvas", map[string]any{"background_color": "#ffffff"})}
		if camera != nil {
			children = append(children, node("camera", camera))
		}
		snapshots = append(snapshots, map[string]any{"root": node("root", map[string]any{}, children...),
			"metadata": map[string]any{"key": fmt.Sprint(i), "linger_duration_ms": 500}})
	}
	text, err := json.Marshal(map[string]any{"kind": "multiple", "metadata": map[string]any{"version": "1",
		"timestamp": "2026-01-01T00:00:00Z"}, "snapshots": snapshots})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scene.mvsj")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// showing is a scene of so many states that refers to the structure.
func showing(states int, reference string) func(*engines.Request) {
	return func(r *engines.Request) {
		r.Found.Scene = &engines.Scene{Format: engines.SceneMVSJ, References: []engines.SceneReference{
			{URL: reference, Object: engines.Object{StorageKey: "structure"}}}}
		for range states {
			r.Found.Scene.States = append(r.Found.Scene.States, engines.SceneState{Duration: 500 * time.Millisecond})
		}
	}
}

// liveCases have short names: they are part of their temporary folders, and Chromium opens a socket there, whose path is bounded.
func liveCases(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	const reference = "structures/1uyd (1).pdb"
	away := map[string]any{"position": []float64{9000, 9000, 9000}, "target": []float64{9001, 9001, 9001}, "up": []float64{0, 0, 1}}
	unreadable := filepath.Join(t.TempDir(), "broken.pdb")
	if err := os.WriteFile(unreadable, []byte("this is no structure\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return []enginestest.LiveCase{
		{Name: "still", Request: requestFor(unchanged, "Transparent=true"), Objects: map[string]string{"scene": structure},
			Check: checkStill},
		{
			Name: "turntable", Request: requestFor(showing(1, reference), "Animation=turntable", "TurntableFrames=4"),
			Check: checkTurntable, Objects: map[string]string{"scene": scene(t, reference, nil, "#1a7f37"), "structure": structure},
		},
		{
			Name: "states", Request: requestFor(showing(2, reference), "ImageFormat=JPEG", "Background=#000000"),
			Check: checkStates, Objects: map[string]string{"scene": scene(t, reference, nil, "#ff0000", "#0000ff"),
				"structure": structure},
		},
		{
			Name: "away", Request: requestFor(showing(1, reference)), Check: wantFailure(engines.UserInput, "IMAGE_BLANK"),
			Objects: map[string]string{"scene": scene(t, reference, away, "#ff0000"), "structure": structure},
		},
		{
			Name: "broken", Request: requestFor(showing(1, reference)), Check: wantFailure(engines.UserInput, ""),
			Objects: map[string]string{"scene": scene(t, reference, nil, "#ff0000"), "structure": unreadable},
		},
		{Name: "noise", Request: requestFor(unchanged), Objects: map[string]string{"scene": unreadable},
			Check: wantFailure(engines.UserInput, "")},
	}
}

// decoded is the picture of a frame that a shard has left.
func decoded(t *testing.T, outcome *enginestest.Outcome, shard, name string) image.Image {
	t.Helper()
	file, err := os.Open(outcome.Dirs[shard].Out(name))
	if err != nil {
		t.Fatalf("%v; failures: %v\n%s", err, outcome.Failures, outcome.Logs[shard])
	}
	defer file.Close()
	shown, _, err := image.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// share is the part of a picture's pixels that are as wanted.
func share(shown image.Image, wanted func(color.NRGBA) bool) float64 {
	found, bounds := 0, shown.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if pixel, ok := color.NRGBAModel.Convert(shown.At(x, y)).(color.NRGBA); ok && wanted(pixel) {
				found++
			}
		}
	}
	return float64(found) / float64(bounds.Dx()*bounds.Dy())
}

func checkStill(t *testing.T, outcome *enginestest.Outcome) {
	shard := film.ShardName(0)
	shown := decoded(t, outcome, shard, "frame_0001.png")
	through := share(shown, func(c color.NRGBA) bool { return c.A == 0 })
	if solid := share(shown, func(c color.NRGBA) bool { return c.A == 255 }); through < 0.3 || solid < 0.05 {
		t.Errorf("%.0f %% of the picture are transparent and %.0f %% are not", 100*through, 100*solid)
	}
	result := outcome.Results[shard]
	for _, name := range []string{"molstar", "chromium"} {
		if result.Programs[name] == "" {
			t.Errorf("the programs %v do not name %s", result.Programs, name)
		}
	}
	if len(outcome.Shards) != 1 || len(result.Artifacts) != 4 || result.Artifacts[3].Role != engines.RoleProvenance {
		t.Errorf("got %d shards and %+v", len(outcome.Shards), result.Artifacts)
	}
}

func checkTurntable(t *testing.T, outcome *enginestest.Outcome) {
	green := func(c color.NRGBA) bool { return int(c.G) > int(c.R)+20 && int(c.G) > int(c.B)+20 }
	seen := map[string]bool{}
	for frame := int64(1); frame <= 4; frame++ {
		name := film.FrameFile(frame, "PNG")
		if part := share(decoded(t, outcome, film.ShardName(0), name), green); part < 0.05 {
			t.Errorf("%.1f %% of frame %d are green", 100*part, frame)
		}
		content, err := os.ReadFile(outcome.Dirs[film.ShardName(0)].Out(name))
		if err != nil {
			t.Fatal(err)
		}
		seen[string(content)] = true
	}
	if len(seen) != 4 {
		t.Errorf("the turntable has %d different frames of 4", len(seen))
	}
	made := outcome.Dirs[film.ShardFilm].Out("film.mp4")
	counted, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-show_entries",
		"stream=nb_read_frames", "-of", "csv=p=0", made).Output()
	if err != nil || strings.TrimSpace(string(counted)) != "4" {
		t.Errorf("the film has %q frames (%v), want 4; failures %v", counted, err, outcome.Failures)
	}
}

func checkStates(t *testing.T, outcome *enginestest.Outcome) {
	for name, wanted := range map[string]func(color.NRGBA) bool{
		"frame_0001.jpg": func(c color.NRGBA) bool { return c.R > 90 && c.B < 70 },
		"frame_0002.jpg": func(c color.NRGBA) bool { return c.B > 90 && c.R < 70 },
	} {
		shown := decoded(t, outcome, film.ShardName(0), name)
		if part := share(shown, wanted); part < 0.05 {
			t.Errorf("%.1f %% of %s have the colour of their state", 100*part, name)
		}
		if part := share(shown, func(c color.NRGBA) bool { return c.R < 12 && c.G < 12 && c.B < 12 }); part < 0.2 {
			t.Errorf("%.1f %% of %s are as black as the background", 100*part, name)
		}
	}
	for _, artifact := range outcome.Results[film.ShardFilm].Artifacts {
		if artifact.Name == "film.mp4" {
			t.Error("states were made a film, and nobody has asked for one")
		}
	}
}

func wantFailure(class engines.FailureClass, code string) func(*testing.T, *enginestest.Outcome) {
	return func(t *testing.T, outcome *enginestest.Outcome) {
		t.Helper()
		got := outcome.Failures[film.ShardName(0)]
		if got == nil || got.Class != class || code != "" && got.Code != code {
			t.Fatalf("got %+v, want %s %s; log:\n%s", got, class, code, outcome.Logs[film.ShardName(0)])
		}
		t.Logf("%s: %s", got.Code, got.Message)
	}
}
