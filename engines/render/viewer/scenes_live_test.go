package viewer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

func node(kind string, params map[string]any, children ...map[string]any) map[string]any {
	return map[string]any{"kind": kind, "params": params, "children": children}
}

// shown is the peptide by a reference, each of its atoms a ball of a colour; more hangs on its component.
func shown(reference, colour string, more ...map[string]any) map[string]any {
	balls := node("representation", map[string]any{"type": "spacefill"}, node("color", map[string]any{"color": colour}))
	balls["ref"] = "balls"
	component := node("component", map[string]any{"selector": "all"}, append(more, balls)...)
	return node("download", map[string]any{"url": reference}, node("parse", map[string]any{"format": "pdb"},
		node("structure", map[string]any{"type": "model"}, component)))
}

func canvas(colour string) map[string]any {
	return node("canvas", map[string]any{"background_color": colour})
}

// single is a scene of one state.
func single(t *testing.T, children ...map[string]any) string {
	t.Helper()
	return text(t, map[string]any{"root": node("root", map[string]any{}, children...), "metadata": metadata()})
}

// multiple is a scene of states, each with a duration of 300 ms; animations may be shorter than states.
func multiple(t *testing.T, roots []map[string]any, animations ...map[string]any) string {
	t.Helper()
	var snapshots []map[string]any
	for i, root := range roots {
		snapshot := map[string]any{"root": node("root", map[string]any{}, root, canvas("white")),
			"metadata": map[string]any{"key": fmt.Sprint(i), "linger_duration_ms": 300}}
		if i < len(animations) {
			snapshot["animation"] = animations[i]
		}
		snapshots = append(snapshots, snapshot)
	}
	return text(t, map[string]any{"kind": "multiple", "metadata": metadata(), "snapshots": snapshots})
}

func metadata() map[string]any {
	return map[string]any{"version": "1", "timestamp": "2026-01-01T00:00:00Z"}
}

func text(t *testing.T, document any) string {
	t.Helper()
	content, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var peptideAs = map[string]string{"structures/peptide (1).pdb": peptide}

const named = "structures/peptide (1).pdb"

func TestSceneIsDrawn(t *testing.T) {
	t.Parallel()
	label := node("label", map[string]any{"text": "Peptide"})
	folder, failure := job{scene: single(t, shown(named, "#1a7f37", label), canvas("#ffeedd")), references: peptideAs}.run(t)
	if failure != nil {
		t.Fatal(failure)
	}
	picture := pictureOf(t, folder, 1)
	if share := covered(picture); share < 0.05 || share > 0.9 {
		t.Errorf("the scene covers %.3f of the picture", share)
	}
	if got := color.RGBAModel.Convert(picture.At(0, 0)); got != (color.RGBA{0xff, 0xee, 0xdd, 0xff}) {
		t.Errorf("the background is %v; want the scene's #ffeedd", got)
	}
	content := contentOf(t, filepath.Join(folder, "out", "frame_0001.png"))
	for _, chunk := range []string{"sRGB", "pHYs", "tEXtSoftware\x00molfabric"} {
		if !bytes.Contains(content, []byte(chunk)) {
			t.Errorf("the picture lacks its %q", chunk)
		}
	}
}

func TestStructuresAreDrawn(t *testing.T) {
	t.Parallel()
	for format, path := range map[string]string{"pdb": peptide, "sdf": ethanol} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			picture := job{scene: path, format: format}.rendered(t, 1)
			if share := covered(picture); share < 0.03 || picture.At(0, 0) != picture.At(width-1, height-1) {
				t.Errorf("the structure covers %.3f of the picture", share)
			}
		})
	}
}

func TestTurntable(t *testing.T) {
	t.Parallel()
	folder, failure := job{scene: peptide, format: "pdb", kind: "turntable", length: 12, frames: []int{1, 4}}.run(t)
	if failure != nil {
		t.Fatal(failure)
	}
	if alike(pictureOf(t, folder, 1), pictureOf(t, folder, 4)) {
		t.Error("a quarter of a turn changes nothing")
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	scene := multiple(t, []map[string]any{shown(named, "red"), shown(named, "blue")})
	folder, failure := job{scene: scene, references: peptideAs, kind: "states", length: 2, frames: []int{1, 2}}.run(t)
	if failure != nil {
		t.Fatal(failure)
	}
	red, blue := middle(t, folder, 1), middle(t, folder, 2)
	if red.R <= red.B || blue.B <= blue.R {
		t.Errorf("the states are %v and %v; want a red and a blue one", red, blue)
	}
}

func middle(t *testing.T, folder string, frame int) color.RGBA {
	t.Helper()
	picture, sum, count := pictureOf(t, folder, frame), [3]int{}, 0
	for y := range height {
		for x := range width {
			if pixel := color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA); picture.At(x, y) != picture.At(0, 0) {
				sum[0], sum[1], sum[2], count = sum[0]+int(pixel.R), sum[1]+int(pixel.G), sum[2]+int(pixel.B), count+1
			}
		}
	}
	count = max(count, 1)
	return color.RGBA{uint8(sum[0] / count), uint8(sum[1] / count), uint8(sum[2] / count), 255}
}

// TestTimelineByIndex holds a frame that was drawn alone against the same one after others: shards may share frames out in any way.
func TestTimelineByIndex(t *testing.T) {
	t.Parallel()
	fade := node("animation", map[string]any{"frame_time_ms": 100}, node("interpolate", map[string]any{
		"kind": "color", "target_ref": "shade", "property": "color", "start": "red", "end": "blue", "duration_ms": 300,
	}))
	moving := shown(named, "red", node("label", map[string]any{"text": "Peptide"}))
	mark(moving, "color", "shade")
	scene := multiple(t, []map[string]any{moving, shown(named, "lime", node("label", map[string]any{"text": "Peptide"}))}, fade)
	asked := job{scene: scene, references: peptideAs, kind: "timeline", length: 6}
	asked.frames = []int{1, 3, 4}
	folder, failure := asked.run(t)
	if failure != nil {
		t.Fatal(failure)
	}
	first, third, fourth := pictureOf(t, folder, 1), pictureOf(t, folder, 3), pictureOf(t, folder, 4)
	if alike(first, third) || alike(third, fourth) {
		t.Error("the frames of an animation are alike")
	}
	asked.frames = []int{4}
	if !alike(asked.rendered(t, 4), fourth) {
		t.Error("frame 4 drawn alone is another picture than after others")
	}
}

// mark gives the first node of a kind a name.
func mark(tree map[string]any, kind, ref string) bool {
	if tree["kind"] == kind {
		tree["ref"] = ref
		return true
	}
	for _, child := range tree["children"].([]map[string]any) {
		if mark(child, kind, ref) {
			return true
		}
	}
	return false
}

func TestRefused(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.cif")
	put(t, broken, []byte("this is no structure\n"))
	away := node("camera", map[string]any{"position": []float64{9000, 9000, 9000}, "target": []float64{9001, 9001, 9001},
		"up": []float64{0, 0, 1}})
	garbage := filepath.Join(t.TempDir(), "garbage.pdb")
	put(t, garbage, append(contentOf(t, peptide), "ATOM   9999  CA  garbage that says nothing of any place in this world\n"...))
	asCIF := shown(named, "red")
	asCIF["children"].([]map[string]any)[0]["params"] = map[string]any{"format": "mmcif"}
	cases := []struct {
		name, code, class, says string
		job                     job
	}{
		{"missing", "REFERENCE_MISSING", "USER_INPUT", named, job{scene: single(t, shown(named, "red"))}},
		{"file", "REFERENCE_MISSING", "USER_INPUT", "file:///", job{scene: single(t, shown("file:///etc/passwd", "red"))}},
		{"broken", "SCENE_INCOMPLETE", "USER_INPUT", "loaded", job{scene: single(t, asCIF),
			references: map[string]string{named: broken}}},
		{"json", "SCENE_UNREADABLE", "USER_INPUT", "cannot be read", job{scene: "{"}},
		{"garbage", "STRUCTURE_UNREADABLE", "USER_INPUT", "line 191", job{scene: garbage, format: "pdb"}},
		{"garbage that is referred to", "STRUCTURE_UNREADABLE", "USER_INPUT", named,
			job{scene: single(t, shown(named, "red")), references: map[string]string{named: garbage}}},
		{"format", "STRUCTURE_UNREADABLE", "USER_INPUT", "sdf", job{scene: peptide, format: "sdf"}},
		{"blank", "IMAGE_BLANK", "USER_INPUT", "alike", job{scene: single(t, shown(named, "red"), away), references: peptideAs}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder, failure := c.job.run(t)
			if failure == nil {
				t.Fatal("the job ended well")
			}
			if failure["code"] != c.code || failure["class"] != c.class ||
				!strings.Contains(fmt.Sprint(failure["message"]), c.says) {
				t.Errorf("got %v; want %s %s that says %q", failure, c.class, c.code, c.says)
			}
			if _, err := os.Stat(filepath.Join(folder, "out", "frame_0001.png")); err == nil {
				t.Error("a failure has left a picture")
			}
		})
	}
}

// TestNothingForeignIsFetched lets scenes refer to a server of the test in every place that could be fetched.
func TestNothingForeignIsFetched(t *testing.T) {
	t.Parallel()
	address, count := listener(t)
	foreign := "http://" + address + "/peptide.pdb"
	picture := canvas("white")
	picture["custom"] = map[string]any{"molstar_postprocessing": map[string]any{
		"background": map[string]any{"name": "image", "params": map[string]any{
			"source": map[string]any{"name": "url", "params": foreign}}},
	}}
	for name, scene := range map[string]string{"reference": single(t, shown(foreign, "red")),
		"background": single(t, shown(named, "red"), picture)} {
		t.Run(name, func(t *testing.T) {
			_, failure := job{scene: scene, references: peptideAs}.run(t)
			if failure == nil || failure["code"] != "REFERENCE_MISSING" ||
				!strings.Contains(fmt.Sprint(failure["message"]), "http://"+address) {
				t.Errorf("got %v; want REFERENCE_MISSING that names the reference", failure)
			}
		})
	}
	if got := count.Load(); got != 0 {
		t.Errorf("%d connections were made; want none", got)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	label := node("label", map[string]any{"text": "Peptide"})
	scene := single(t, shown(named, "#1a7f37", label), canvas("#ffeedd"))
	folder, failure := job{program: "export.py", scene: scene, references: peptideAs, kind: "turntable", length: 4,
		frames: []int{1, 2}}.run(t)
	if failure != nil {
		t.Fatal(failure)
	}
	gltf, files, stage := modelOf(t, folder)
	nodes, representations := gltf["nodes"].([]any), stage["representations"].([]any)
	if len(nodes) == 0 || len(nodes) != len(representations) {
		t.Errorf("the model has %d nodes and %d representations", len(nodes), len(representations))
	}
	for _, member := range representations {
		if one := member.(map[string]any); one["type"] != "spacefill" || one["component"] != "polymer" &&
			one["component"] != "ligand" || one["opacity"] != 1.0 {
			t.Errorf("a representation is %v", one)
		}
	}
	frames := stage["frames"].([]any)
	if len(frames) != 2 || stage["background"] != "#ffeedd" {
		t.Fatalf("the stage has %d frames on %v", len(frames), stage["background"])
	}
	one, two := frames[0].(map[string]any), frames[1].(map[string]any)
	if one["model"] != "model-0.glb" || two["model"] != "model-0.glb" {
		t.Errorf("a turntable has the models %v and %v; want one", one["model"], two["model"])
	}
	if fmt.Sprint(one["camera"]) == fmt.Sprint(two["camera"]) {
		t.Error("the camera stands still on a turntable")
	}
	if overlay, ok := one["labels"].(string); !ok || len(files[overlay]) == 0 {
		t.Errorf("the labels are %v", one["labels"])
	}
}

// binding is a scene of CRABP-II as programs for viewing molecules write them: the protein as a cartoon in Mol*'s own colours below
// a surface that one looks through, and what is bound in the middle.
func binding(reference string) map[string]any {
	colours := node("color", map[string]any{})
	colours["custom"] = map[string]any{"molstar_color_theme_name": "secondary-structure"}
	opacity := node("opacity", map[string]any{"opacity": 0.25})
	opacity["ref"] = "glass"
	turn := node("transform", map[string]any{"matrix": []int{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}})
	turn["ref"] = "turn"
	protein := node("component", map[string]any{"selector": "polymer"},
		node("representation", map[string]any{"type": "cartoon"}, colours),
		node("representation", map[string]any{"type": "surface", "surface_type": "gaussian"},
			node("color", map[string]any{"color": "#b8c8e0"}), opacity))
	ligand := node("component", map[string]any{"selector": "ligand"},
		node("representation", map[string]any{"type": "ball_and_stick", "size_factor": 1.2},
			node("color", map[string]any{"color": "#cc3399"})),
		node("focus", map[string]any{"direction": []float64{0.4, -0.3, -0.86}, "up": []int{0, 1, 0}, "radius_factor": 3}),
		node("label", map[string]any{"text": "Retinoic acid"}))
	return node("download", map[string]any{"url": reference},
		node("parse", map[string]any{"format": "mmcif"}, node("structure", map[string]any{"type": "model"}, turn, protein, ligand)))
}

// turningOver is an animation in which the surface closes while the molecule turns over and the camera goes around it.
func turningOver() map[string]any {
	const milliseconds = 300
	animation := node("animation", map[string]any{"duration_ms": milliseconds, "frame_time_ms": 100, "include_camera": true},
		node("interpolate", map[string]any{
			"kind": "scalar", "target_ref": "glass", "property": "opacity", "start": 0.25, "end": 0.9, "duration_ms": milliseconds,
			"easing": "sin-in-out",
		}),
		node("interpolate", map[string]any{
			"kind": "transform_matrix", "target_ref": "turn", "property": "matrix", "duration_ms": milliseconds,
			"pivot": []int{17, 21, 27}, "rotation_start": []int{1, 0, 0, 0, 1, 0, 0, 0, 1},
			"rotation_end": []int{-1, 0, 0, 0, 1, 0, 0, 0, -1},
		}))
	animation["custom"] = map[string]any{"molstar_trackball": map[string]any{"name": "spin",
		"params": map[string]any{"speed": 0.5}}}
	return animation
}

// TestProteinsAreDrawn draws whole proteins: scenes of the documentation, one that moves, and a structure alone.
func TestProteinsAreDrawn(t *testing.T) {
	t.Parallel()
	const documented = "../../../doc/scenes/"
	references := map[string]string{"1cbs.cif": enginestest.Sample(t, "1cbs.cif"), "1ATP.pdb": enginestest.Sample(t, "1atp.pdb")}
	moving := job{
		scene: multiple(t, []map[string]any{binding("1cbs.cif"), binding("1cbs.cif")}, turningOver()),
		kind:  "timeline", length: 6, frames: []int{1, 3},
	}
	for name, asked := range map[string]job{
		"crabp2":   {scene: string(contentOf(t, documented+"crabp2.mvsj"))},
		"pka":      {scene: string(contentOf(t, documented+"pka.mvsj"))},
		"moving":   moving,
		"no scene": {scene: references["1cbs.cif"], format: "mmcif"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked.references = references
			folder, failure := asked.run(t)
			if failure != nil {
				t.Fatal(failure)
			}
			if share := covered(pictureOf(t, folder, 1)); share < 0.1 {
				t.Errorf("the scene covers %.3f of the picture", share)
			}
			if asked.kind == "timeline" && alike(pictureOf(t, folder, 1), pictureOf(t, folder, 3)) {
				t.Error("what moves stands still")
			}
		})
	}
	t.Run("a file of the machine", func(t *testing.T) {
		t.Parallel()
		_, failure := job{scene: single(t, binding("file:///etc/passwd"), canvas("white")), references: references}.run(t)
		if failure == nil || failure["code"] != "REFERENCE_MISSING" {
			t.Errorf("got %v; want REFERENCE_MISSING", failure)
		}
	})
}

// watched is a driver that tells its browser's id and then waits for the test.
const watched = `import json, sys
from viewer import Viewer
with Viewer(json.load(open("request.json"))) as viewer:
    viewer.load()
    print(viewer.browser.process.pid, flush=True)
    sys.stdin.readline()`

// crashed ends the browser's tab as a crash would, and expects to hear of it.
const crashed = `import json, os, signal
from pathlib import Path
from browser import descends
from task import Failure
from viewer import Viewer
with Viewer(json.load(open("request.json"))) as viewer:
    viewer.load()
    parents, tabs = {}, []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if b"--type=renderer" in (entry / "cmdline").read_bytes():
                tabs.append(int(entry.name))
        except OSError:
            pass
    for tab in tabs:
        if descends(tab, viewer.browser.process.pid, parents):
            os.kill(tab, signal.SIGKILL)
    try:
        viewer.picture(1)
    except Failure as failure:
        print(failure.code, failure.failure_class)`

// absent starts a Chromium that never opens the page, as one whose page's process has died at once.
const absent = `import json, browser, serving
from task import Failure
from viewer import Viewer
serving.TAKE_DEADLINE_S, browser.START = 5.0, "<!DOCTYPE html>"
with Viewer(json.load(open("request.json"))) as viewer:
    try:
        viewer.load()
    except Failure as failure:
        print(failure.code, failure.failure_class)`

// TestLostPageIsTold wants nobody to wait for a page whose process has died, nor its scene to be blamed.
func TestLostPageIsTold(t *testing.T) {
	t.Parallel()
	for name, driver := range map[string]string{"it crashes": crashed, "it never comes": absent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python, folder := interpreter(t), folderOf(t)
			job{scene: ethanol, format: "sdf"}.request(t, folder)
			output, err := command(t, python, folder, "-c", driver).CombinedOutput()
			if err != nil || !strings.Contains(string(output), "VIEWER_CRASHED EXECUTOR") {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

// listed prints the command lines of the browser and of all that it has started, and the secret that none of them may hold.
const listed = `import json
from pathlib import Path
from browser import descends
from viewer import Viewer
with Viewer(json.load(open("request.json"))) as viewer:
    assert viewer.browser.start.stat().st_mode & 0o077 == 0
    viewer.load()
    assert not viewer.browser.start.exists()
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    ours = [pid for pid in parents if descends(pid, viewer.browser.process.pid, parents)]
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in ours]
    print("found", len(lines), "secret", sum(viewer.token.encode() in line for line in lines))`

// TestCommandLinesHoldNoSecret wants the way to the page to be hidden from whoever lists the processes of the machine.
func TestCommandLinesHoldNoSecret(t *testing.T) {
	t.Parallel()
	python, folder := interpreter(t), folderOf(t)
	job{scene: ethanol, format: "sdf"}.request(t, folder)
	output, err := command(t, python, folder, "-c", listed).CombinedOutput()
	var found, secrets int
	if _, scanErr := fmt.Sscanf(string(output), "found %d secret %d", &found, &secrets); err != nil || scanErr != nil ||
		found < 2 || secrets != 0 {
		t.Errorf("%v: %s", err, output)
	}
}

// hung gives the viewer no time for what is named.
const hung = `import sys, viewer
for name in sys.argv.pop(1).split(","):
    setattr(viewer, name, 0.0)
import render
sys.exit(render.main("hung", render.work))`

// TestHungSceneIsItsOwners wants a scene that keeps browsers busy beyond all time to be billed.
func TestHungSceneIsItsOwners(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]string{"opening": "LOAD_DEADLINE_S",
		"drawing": "PICTURE_DEADLINE_S,PICTURE_DEADLINE_S_PER_MEGAPIXEL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python, folder := interpreter(t), folderOf(t)
			job{scene: ethanol, format: "sdf"}.request(t, folder)
			output, err := command(t, python, folder, "-c", hung, limits).CombinedOutput()
			if err == nil {
				t.Fatal("the job ended well")
			}
			var failure map[string]any
			if json.Unmarshal(contentOf(t, filepath.Join(folder, "out", "failure.json")), &failure) != nil ||
				failure["class"] != "USER_INPUT" || failure["code"] != "VIEWER_HUNG" {
				t.Errorf("got %v, want USER_INPUT VIEWER_HUNG; it printed\n%s", failure, output)
			}
		})
	}
}

// gone waits until a process has ended, for a minute at most.
const gone = `import os, select, sys
try:
    waiting = select.poll()
    waiting.register(os.pidfd_open(int(sys.argv[1])), select.POLLIN)
    sys.exit(0 if waiting.poll(60_000) else "the browser lives on")
except ProcessLookupError:
    pass`

func TestBrowserEndsWithItsDriver(t *testing.T) {
	t.Parallel()
	python, folder := interpreter(t), folderOf(t)
	job{scene: ethanol, format: "sdf"}.request(t, folder)
	driver := command(t, python, folder, "-c", watched)
	if _, err := driver.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	told, err := driver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	var browser int
	if _, err := fmt.Fscan(told, &browser); err != nil {
		t.Fatal(err)
	}
	if err := driver.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = driver.Wait()
	if output, err := command(t, enginestest.Python(t), folder, "-c", gone, fmt.Sprint(browser)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
