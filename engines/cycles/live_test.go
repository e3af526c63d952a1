package cycles

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/internal/frames"
)

// scenes are the folder of the tests' scenes, and where their scripts would write.
type scenes struct{ folder, ran string }

// made are made once: every test only reads them.
var made = sync.OnceValues(func() (scenes, error) {
	folder, err := os.MkdirTemp("", "cycles-scenes-")
	if err != nil {
		return scenes{}, err
	}
	s := scenes{folder: filepath.Join(folder, "scenes"), ran: filepath.Join(folder, "ran")}
	command := exec.Command(os.Getenv("MOLFABRIC_PYTHON"), "-B", "testdata/scenes.py", s.folder, s.ran)
	output, err := command.CombinedOutput()
	if err != nil {
		return scenes{}, &exec.Error{Name: string(output), Err: err}
	}
	return s, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if os.Getenv("MOLFABRIC_PYTHON") != "" {
		if s, err := made(); err == nil {
			_ = os.RemoveAll(filepath.Dir(s.folder))
		}
	}
	os.Exit(status)
}

// scene is the path of a scene of testdata/scenes.py.
func scene(t *testing.T, name string) string {
	t.Helper()
	enginestest.Python(t)
	s, err := made()
	if err != nil {
		t.Fatalf("the scenes cannot be made: %v", err)
	}
	return filepath.Join(s.folder, name)
}

// wantNothingRan wants no script of a scene to have left anything.
func wantNothingRan(t *testing.T) {
	t.Helper()
	s, err := made()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(s.ran + "*")
	if err != nil || len(found) > 0 {
		t.Errorf("scripts or outputs of a scene have written %v (%v)", found, err)
	}
}

const shotKey = "accounts/a/uploads/u/shot.blend"

// packed is the project of testdata/scenes.py as attachments, and their files by key; without leaves out a path.
func packed(t *testing.T, without string) (engines.Request, map[string]string) {
	t.Helper()
	const folder = "accounts/a/uploads/projects/p/"
	root := scene(t, "project")
	objects := map[string]string{}
	request := blend(func(r *engines.Request) { r.SceneFile.StorageKey = folder + "shots/shot.blend" })
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		logical, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		objects[folder+logical] = path
		if logical != without && logical != "shots/shot.blend" {
			request.Attachments = append(request.Attachments, engines.Object{StorageKey: folder + logical, ByteSize: 1000})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return request, objects
}

func liveCases(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	if os.Getenv("MOLFABRIC_PYTHON") == "" {
		// which says why it is skipped
		return []enginestest.LiveCase{{Name: "plain", Request: blend(unchanged), Objects: map[string]string{shotKey: "cycles.go"}}}
	}
	whole, objects := packed(t, "")
	lacking, lackingObjects := packed(t, "textures/wood.png")
	unlinked, unlinkedObjects := packed(t, "props/prop.blend")
	cases := []enginestest.LiveCase{
		{Name: "range", Request: blend(ranged), Objects: map[string]string{shotKey: scene(t, "plain.blend")}, Check: checkRange},
		{Name: "EXR", Request: blend(still), Objects: map[string]string{shotKey: scene(t, "plain.blend")}, Check: checkStill},
		{Name: "evil", Request: blend(one), Objects: map[string]string{shotKey: scene(t, "evil.blend")}, Check: checkEvil},
		{Name: "project", Request: whole, Objects: objects, Check: checkProject},
		{Name: "linked texture missing", Request: lacking, Objects: lackingObjects,
			Check: wantRefused("MISSING_ASSETS", "wood", "textures/wood.png")},
		{Name: "library missing", Request: unlinked, Objects: unlinkedObjects,
			Check: wantRefused("MISSING_ASSETS", "library", "prop.blend")},
		{Name: "other camera", Request: blend(func(r *engines.Request) { r.Parameters = map[string]string{"Camera": "Crane"} }),
			Objects: map[string]string{shotKey: scene(t, "plain.blend")},
			Check:   wantRefused("SCENE_WITHOUT_CAMERA", "Crane", "Camera")},
		remapped(t),
		imported(t),
		{Name: "animated samples", Request: blend(sampled), Objects: map[string]string{shotKey: scene(t, "animated.blend")},
			Check: checkSampled},
		{Name: "smaller", Request: blend(smaller), Objects: map[string]string{shotKey: scene(t, "too-wide.blend")},
			Check: wantCompleted},
	}
	for _, bad := range []struct {
		name, code string
		words      []string
	}{
		{"untextured.blend", "MISSING_ASSETS", []string{"wood", "//textures/wood.png"}},
		{"lacking.blend", "MISSING_ASSETS", []string{"7 files", "wood.1001.png", "wood.1002.png", "step_0001.png", "step_0002.png",
			"fog.vdb", "lamp.ies", "clip.png"}},
		{"importing.blend", "MISSING_ASSETS", []string{"4 files", "/etc/hostname", "//../../shape.obj", "//gone.ply", "Import VDB",
			"other nodes compute"}},
		{"caches.blend", "MISSING_ASSETS", []string{
			"13 files", "mesh cache “Cube” (/etc/passwd)", "sculpt.btx", "//blendcache_shot", "//sparks", "smoke_0011.vdb",
			"smoke_0012.vdb", "//walk_0001.abc", "//layer.abc",
			"//baked", "//pool", "//frames/shot_0001.png",
		}},
		{"other-engine.blend", "RENDER_ENGINE_UNSUPPORTED", []string{"Backdrop", "Workbench", "Cycles"}},
		{"strip-engine.blend", "RENDER_ENGINE_UNSUPPORTED", []string{"Backdrop", "Workbench", "Cycles"}},
		{"too-wide.blend", "PICTURE_TOO_LARGE", []string{"8,194 x 180", "8,192", "metadata.resolution"}},
		{"too-many-samples.blend", "TOO_MANY_SAMPLES", []string{"33,554,432", "16,777,216", "metadata.samples"}},
		{"too-many-in-a-layer.blend", "TOO_MANY_SAMPLES", []string{"16,777,217", "metadata.samples"}},
		{"without-camera.blend", "SCENE_WITHOUT_CAMERA", []string{"camera"}},
		{"eevee.blend", "RENDER_ENGINE_UNSUPPORTED", []string{"Eevee", "Cycles"}},
	} {
		cases = append(cases, enginestest.LiveCase{Name: bad.name, Request: blend(unchanged),
			Objects: map[string]string{shotKey: scene(t, bad.name)}, Check: wantRefused(bad.code, bad.words...)})
	}
	cases = append(cases, unreadable(t)...)
	return append(cases, turned(t))
}

// turned is a turntable of two frames of a molecular scene, through both programs.
func turned(t *testing.T) enginestest.LiveCase {
	t.Helper()
	request := molecule(func(r *engines.Request) {
		r.Parameters = map[string]string{"Animation": "turntable", "TurntableFrames": "2", "Floor": "shadow", "DepthCue": "true"}
		r.Metadata = json.RawMessage(`{"resolution":"160x90","samples":4}`)
	})
	objects := map[string]string{
		"accounts/a/uploads/u/scene.mvsj": "../../doc/scenes/crabp2-surface.mvsj",
		"accounts/a/uploads/v/1cbs.cif":   enginestest.Sample(t, "1cbs.cif"),
	}
	return enginestest.LiveCase{Name: "molecule", Request: request, Objects: objects, Check: checkTurned}
}

func checkTurned(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	first, second := outcome.Dirs[film.ShardName(0)].Out("frame_0001.png"), outcome.Dirs[film.ShardName(0)].Out("frame_0002.png")
	one, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(second)
	if err != nil || bytes.Equal(one, two) {
		t.Errorf("both sides of the molecule look alike (%v)", err)
	}
	if found := names(outcome); !slices.Contains(found, stageFile) || !slices.Contains(found, "film.mp4") {
		t.Errorf("got %v, want a stage and a film", found)
	}
}

func ranged(r *engines.Request) {
	r.Frames = []frames.Range{{First: -1, Last: 3, Step: 2}}
	r.Parameters = map[string]string{"Video": "mp4"}
	r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: 1, FrameCPUSeconds: 100} // a frame a shard, but the last
}

func still(r *engines.Request) {
	one(r)
	r.OutputFormat = "EXR"
	r.Metadata = json.RawMessage(`{"resolution":"64x36","samples":1}`)
}

func one(r *engines.Request) { r.Frames = []frames.Range{{First: 7, Last: 7, Step: 1}} }

// remapped is a scene whose texture was on another machine, given beside it by its name.
func remapped(t *testing.T) enginestest.LiveCase {
	t.Helper()
	request := blend(func(r *engines.Request) {
		one(r)
		r.Attachments = []engines.Object{{StorageKey: "accounts/a/uploads/w/wood.png", ByteSize: 100}}
	})
	objects := map[string]string{shotKey: scene(t, "elsewhere.blend"),
		"accounts/a/uploads/w/wood.png": scene(t, "project/textures/wood.png")}
	return enginestest.LiveCase{Name: "texture from elsewhere", Request: request, Objects: objects, Check: wantCompleted}
}

// imported is a scene whose Geometry Nodes import two files of the project, one of them by its name alone; a group that nothing
// shows would import one of the worker's.
func imported(t *testing.T) enginestest.LiveCase {
	t.Helper()
	const folder = "accounts/a/uploads/projects/p/"
	request := blend(func(r *engines.Request) {
		one(r)
		r.SceneFile.StorageKey = folder + "shot.blend"
		r.Attachments = []engines.Object{{StorageKey: folder + "meshes/tetra.obj", ByteSize: 100},
			{StorageKey: folder + "scans/tetra.stl", ByteSize: 100}}
	})
	objects := map[string]string{folder + "shot.blend": scene(t, "imported.blend"),
		folder + "meshes/tetra.obj": scene(t, "tetra.obj"), folder + "scans/tetra.stl": scene(t, "tetra.stl")}
	return enginestest.LiveCase{Name: "imported geometry", Request: request, Objects: objects, Check: wantCompleted}
}

// sampled states the samples of a scene that would set them anew with each frame.
func sampled(r *engines.Request) {
	r.Frames = []frames.Range{{First: 2, Last: 2, Step: 1}}
	r.Metadata = json.RawMessage(`{"resolution":"64x36","samples":2}`)
}

func checkSampled(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	var summary struct{ Samples int }
	if err := json.Unmarshal(outcome.Results[film.ShardName(0)].Summary, &summary); err != nil || summary.Samples != 2 {
		t.Errorf("%d samples were taken (%v), want the 2 that were stated", summary.Samples, err)
	}
	if log := outcome.Logs[film.ShardName(0)]; strings.Contains(log, "Sample 3/") {
		t.Errorf("a scene took more samples than were stated:\n%s", log)
	}
	checked := string(outcome.Results[shardCheck].Summary)
	for _, word := range []string{"Scene, cycles.samples", "Backdrop, cycles.samples"} {
		if !strings.Contains(checked, word) {
			t.Errorf("the check does not say that the animation %q was left out: %s", word, checked)
		}
	}
}

// smaller states the size of a scene whose own is too large.
func smaller(r *engines.Request) {
	one(r)
	r.Metadata = json.RawMessage(`{"resolution":"64x36","samples":1}`)
}

func unreadable(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	whole, err := os.ReadFile(scene(t, "plain.blend"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []enginestest.LiveCase
	for name, content := range map[string][]byte{
		"empty": nil, "no blend": []byte("solid cube\nendsolid\n"), "torn": whole[:len(whole)/2],
		"header alone": []byte("BLENDER-v405"), "later Blender": []byte("BLENDER17-01v9900" + strings.Repeat("x", 1000)),
	} {
		path := filepath.Join(t.TempDir(), "bad.blend")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, enginestest.LiveCase{Name: name, Request: blend(unchanged), Objects: map[string]string{shotKey: path},
			Check: wantRefused("SCENE_UNREADABLE")})
	}
	return cases
}

// wantRefused wants the check to fail for the user's sake, with words that name what is wrong.
func wantRefused(code string, words ...string) func(*testing.T, *enginestest.Outcome) {
	return func(t *testing.T, outcome *enginestest.Outcome) {
		t.Helper()
		got := outcome.Failures[shardCheck]
		if got == nil || got.Class != engines.UserInput || got.Code != code {
			t.Fatalf("got %v, want USER_INPUT %s; log:\n%s", got, code, outcome.Logs[shardCheck])
		}
		for _, word := range words {
			if !strings.Contains(got.Message, word) {
				t.Errorf("got %q, want it to name %q", got.Message, word)
			}
		}
	}
}

func wantCompleted(t *testing.T, outcome *enginestest.Outcome) {
	t.Helper()
	for name, failure := range outcome.Failures {
		t.Fatalf("shard %s failed: %v\n%s", name, failure, outcome.Logs[name])
	}
}

func names(outcome *enginestest.Outcome) []string {
	var found []string
	for _, shard := range outcome.Shards {
		for _, artifact := range outcome.Results[shard.Name].Artifacts {
			found = append(found, artifact.Name)
		}
	}
	return found
}

func checkRange(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	found := names(outcome)
	for _, want := range []string{sceneFile, "frame_-0001.png", "frame_0001.png", "frame_0003.png", "contact-sheet.jpg", "film.mp4",
		"frames.csv"} {
		if !slices.Contains(found, want) {
			t.Errorf("the job has no output %s: %v", want, found)
		}
	}
	summary := string(outcome.Results[shardCheck].Summary)
	if !strings.Contains(summary, "1 of the 3 frames lie outside") {
		t.Errorf("the check says nothing of the frame before the scene's first: %s", summary)
	}
}

func checkStill(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	if found := names(outcome); !slices.Contains(found, "frame_0007.exr") || !slices.Contains(found, "preview.jpg") ||
		len(outcome.Shards) != 2 {
		t.Errorf("got %v of %d shards, want a frame as EXR and its preview of 2", found, len(outcome.Shards))
	}
}

func checkEvil(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	wantNothingRan(t)
	summary := string(outcome.Results[shardCheck].Summary)
	for _, word := range []string{"evil.py", "style.py", "driver of Cube", "File Output"} {
		if !strings.Contains(summary, word) {
			t.Errorf("the check does not name %q: %s", word, summary)
		}
	}
}

func checkProject(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	var document struct{ Objects, Polygons, Libraries, Images int }
	content, err := os.ReadFile(outcome.Dirs[shardCheck].Out(sceneFile))
	if err != nil || json.Unmarshal(content, &document) != nil {
		t.Fatalf("%s: %v", sceneFile, err)
	}
	if document.Objects != 4 || document.Polygons != 12 || document.Libraries != 1 || document.Images != 1 {
		t.Errorf("got %+v, want 4 objects of 12 polygons, a library and its image", document)
	}
}
