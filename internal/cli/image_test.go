package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/api/jobs"
)

const (
	oneState = `{"metadata":{"version":"1","timestamp":"2026-01-01T00:00:00Z"},"root":{"kind":"root","children":[
		{"kind":"download","params":{"url":"1cbs.cif"},"children":[{"kind":"parse","params":{"format":"mmcif"}}]},
		{"kind":"color_from_uri","params":{"uri":"./colours/domains.json"}},{"kind":"download","params":{"url":"1cbs.cif"}},
		{"kind":"root","custom":{"url":"https://example.org/about"}}]}}`
	threeStates = `{"kind":"multiple","metadata":{"version":"1"},"snapshots":[{"root":{"kind":"root"}},{"root":{"kind":"root"},"animation":null},{"root":{"kind":"root"},"animation":{"children":[]}}]}`
	moving      = `{"kind":"multiple","metadata":{"version":"1"},"snapshots":[{"root":{"kind":"root"},"animation":{"children":[{}]}}]}`
)

// sceneFolder holds scenes of every kind, and what one of them refers to.
func sceneFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"one.mvsj": oneState, "three.mvsj": threeStates, "moving.mvsj": moving, "1cbs.cif": "data_1CBS\n",
		"colours/domains.json": "[]", "my ligand.sdf": "x\n",
	})
	writeArchive(t, filepath.Join(dir, "one.mvsx"), map[string]string{"index.mvsj": oneState, "1cbs.cif": "data_1CBS\n",
		"colours/domains.json": "[]"})
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func writeArchive(t *testing.T, path string, files map[string]string) {
	t.Helper()
	var text bytes.Buffer
	archive := zip.NewWriter(&text)
	for name, content := range files {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// imageOf reads a command line of `image` for a scene in the folder.
func imageOf(t *testing.T, dir, scene string, arguments ...string) (molecularScene, rendering, error) {
	t.Helper()
	var f imageFlags
	cmd := &cobra.Command{Use: "image"}
	f.define(cmd)
	for i, argument := range arguments { // results lie in the folder, too
		if i > 0 && arguments[i-1] == "-o" {
			arguments[i] = dir + string(filepath.Separator) + argument
		}
	}
	if err := cmd.ParseFlags(arguments); err != nil {
		t.Fatal(err)
	}
	return f.rendering(filepath.Join(dir, scene))
}

func TestImageRequests(t *testing.T) {
	t.Parallel()
	dir := sceneFolder(t)
	for _, c := range []struct {
		scene     string
		arguments []string
		want      string
	}{
		{"1cbs.cif", []string{"-o", "fig.png"},
			`{"jobType":"molecular","jobName":"1 picture of 1cbs.cif with molstar","parameters":{"ImageFormat":"PNG"},` +
				`"metadata":{"renderEngine":"molstar"},"recovery":{"mode":"standard"}}`},
		{"one.mvsj", []string{"-o", "fig.JPG", "--engine", "cycles", "--size", "3840X2160", "--samples", "256", "--background",
			"#ffffff", "--device", "optix", "--name", "Fig. 1"},
			`{"jobType":"molecular","jobName":"Fig. 1","parameters":{"Background":"#ffffff","Device":"optix","ImageFormat":"JPEG"},` +
				`"metadata":{"renderEngine":"cycles","resolution":"3840x2160","samples":256},"recovery":{"mode":"standard"}}`},
		{"one.mvsx", []string{"--detach", "--transparent", "--outline", "--no-ambient-occlusion", "--format", "png"},
			`{"jobType":"molecular","jobName":"1 picture of one.mvsx with molstar","parameters":{"AmbientOcclusion":"false","ImageFormat":"PNG","Outline":"true","Transparent":"true"},` +
				`"metadata":{"renderEngine":"molstar"},"recovery":{"mode":"standard"}}`},
		{"one.mvsj", []string{"-o", "fig.png", "--engine", "cycles", "--floor", "shadow", "--depth-cue=false", "--no-caps",
			"--no-ambient-occlusion"},
			`{"jobType":"molecular","jobName":"1 picture of one.mvsj with cycles","parameters":{"AmbientOcclusion":"false","Caps":"false","DepthCue":"false",` +
				`"Floor":"shadow","ImageFormat":"PNG"},"metadata":{"renderEngine":"cycles"},"recovery":{"mode":"standard"}}`},
		{"1cbs.cif", []string{"-o", "turn.webm", "--turntable", "60", "--fps", "30", "--transparent", "--resumable"},
			`{"jobType":"molecular","jobName":"60 frames of 1cbs.cif with molstar","parameters":{"Animation":"turntable","Transparent":"true","TurntableFrames":"60","Video":"webm"},` +
				`"metadata":{"renderEngine":"molstar","fps":30},"recovery":{"mode":"resumable"}}`},
		{"1cbs.cif", []string{"-o", "still.png", "--turntable", "60", "--frames", "15"},
			`{"jobType":"molecular","jobName":"1 picture of 1cbs.cif with molstar","parameters":{"Animation":"turntable","Frames":"15","ImageFormat":"PNG","TurntableFrames":"60","Video":"none"},` +
				`"metadata":{"renderEngine":"molstar"},"recovery":{"mode":"standard"}}`},
		{"three.mvsj", []string{"-o", "states/", "--frames", "1-3:2"},
			`{"jobType":"molecular","jobName":"2 frames of three.mvsj with molstar","parameters":{"Frames":"1,3"},"metadata":{"renderEngine":"molstar"},"recovery":{"mode":"standard"}}`},
		{"moving.mvsj", []string{"-o", "film.mp4", "--timeline", "--fps", "12.5"},
			`{"jobType":"molecular","jobName":"frames of moving.mvsj with molstar","parameters":{"Animation":"timeline","Video":"mp4"},` +
				`"metadata":{"renderEngine":"molstar","fps":12.5},"recovery":{"mode":"standard"}}`},
		{"moving.mvsj", []string{"-o", "out", "--transparent", "--timeline"},
			`{"jobType":"molecular","jobName":"frames of moving.mvsj with molstar","parameters":{"Animation":"timeline","Transparent":"true","Video":"webm"},` +
				`"metadata":{"renderEngine":"molstar"},"recovery":{"mode":"standard"}}`},
		{"three.mvsj", []string{"--estimate"},
			`{"jobType":"molecular","jobName":"3 frames of three.mvsj with molstar","parameters":{"Frames":"1-3"},"metadata":{"renderEngine":"molstar"},"recovery":{"mode":"standard"}}`},
	} {
		_, r, err := imageOf(t, dir, c.scene, slices.Clone(c.arguments)...)
		if err != nil {
			t.Errorf("%s %q: %v", c.scene, c.arguments, err)
			continue
		}
		wantRequest(t, r.request, c.want)
	}
}

// wantRequest wants this text, and the service to read it to the last member, as a submission and as an estimate.
func wantRequest(t *testing.T, request renderRequest, want string) {
	t.Helper()
	text, err := json.Marshal(request)
	if err != nil || string(text) != want {
		t.Errorf("got\n%s, %v; want\n%s", text, err, want)
	}
	strictly(t, text, new(jobs.SubmitRequest))
	quoted, err := json.Marshal(request.quoted())
	if err != nil {
		t.Fatal(err)
	}
	strictly(t, quoted, new(jobs.EstimateRequest))
}

func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Errorf("the service does not read %s: %v", text, err)
	}
}

func TestImageRefused(t *testing.T) {
	t.Parallel()
	dir := sceneFolder(t)
	writeFiles(t, dir, map[string]string{"taken": "x", "elsewhere/other.cif": "data_x\n", "fig.mvsj": "{}", "text.mvsj": "no",
		"old.mvsx": "no archive", "new.blend": "BLENDER"})
	writeArchive(t, filepath.Join(dir, "hollow.mvsx"), map[string]string{"other.json": "{}"})
	for _, c := range []struct {
		scene     string
		arguments string // separated by blanks
		code      int
		says      string
	}{
		{"1cbs.cif", "", ExitUsage, "-o is missing"},
		{"1cbs.tiff", "-o a.png", ExitUsage, "must be a scene (.mvsj, .mvsx) or a structure (.bcif, .cif"},
		{"new.blend", "-o a.png", ExitUsage, "molfabric render"},
		{"gone.cif", "-o a.png", ExitInvalid, "gone.cif"},
		{"1cbs.cif", "-o a.gif", ExitUsage, "a picture ends in .png"},
		{"1cbs.cif", "-o a.exr", ExitUsage, "add --engine cycles"},
		{"1cbs.cif", "-o a.png --format jpeg", ExitUsage, "the file's extension says the format"},
		{"1cbs.cif", "-o a.png --format tiff", ExitUsage, "must be PNG, JPEG or EXR"},
		{"1cbs.cif", "-o a.jpg --transparent", ExitUsage, "JPEG has no transparency"},
		{"1cbs.cif", "-o a.mp4 --turntable 48 --transparent", ExitUsage, "MP4 has no transparency"},
		{"1cbs.cif", "-o a.mp4", ExitUsage, "at least two frames"},
		{"1cbs.cif", "-o a.png --turntable 48", ExitUsage, "is one picture"},
		{"three.mvsj", "-o a.png", ExitUsage, "is one picture"},
		{"moving.mvsj", "-o a.png", ExitUsage, "is one picture"},
		{"1cbs.cif", "-o folder/", ExitUsage, "one frame makes one file"},
		{"three.mvsj", "-o taken", ExitUsage, "is a file, no folder"},
		{"1cbs.cif", "-o taken/a.png", ExitUsage, "is a file, no folder"},
		{"1cbs.cif", "-o a.mp4 --turntable 48 --video webm", ExitUsage, "exclude each other"},
		{"1cbs.cif", "-o a.png --video mp4", ExitUsage, "at least two frames"},
		{"1cbs.cif", "-o a.png --video gif", ExitUsage, "must be mp4, webm or none"},
		{"1cbs.cif", "-o a.png --fps 24", ExitUsage, "--fps belongs to a film"},
		{"1cbs.cif", "-o a.png --size 4k", ExitUsage, "WIDTHxHEIGHT"},
		{"1cbs.cif", "-o a.png --size 9000x100", ExitUsage, "16 to 8192 pixels"},
		{"1cbs.cif", "-o a.png --samples 64", ExitUsage, "add --engine cycles"},
		{"1cbs.cif", "-o a.png --engine cycles --samples 0", ExitUsage, "--samples 0: must be 1"},
		{"1cbs.cif", "-o a.png --engine cycles --device metal", ExitUsage, "must be cpu, cuda, optix or hip"},
		{"1cbs.cif", "-o a.png --engine cycles --outline", ExitUsage, "belongs to molstar"},
		{"1cbs.cif", "-o a.png --floor shadow", ExitUsage, "--engine cycles"},
		{"1cbs.cif", "-o a.png --engine cycles --floor marble", ExitUsage, "none or shadow"},
		{"1cbs.cif", "-o a.png --engine eevee", ExitUsage, "must be molstar or cycles"},
		{"1cbs.cif", "-o a.png --background white", ExitUsage, "#rrggbb"},
		{"1cbs.cif", "-o a.png --background #ffffff --transparent", ExitUsage, "exclude each other"},
		{"1cbs.cif", "-o a.mp4 --turntable 1", ExitUsage, "2 to 3600"},
		{"three.mvsj", "-o a.mp4 --turntable 48 --states", ExitUsage, "exclude each other"},
		{"1cbs.cif", "-o a.mp4 --timeline", ExitUsage, "need a scene"},
		{"1cbs.cif", "-o a.png --frames 7", ExitUsage, "makes one frame"},
		{"three.mvsj", "-o out --frames 1-4", ExitUsage, "there are 3 frames"},
		{"three.mvsj", "-o out --frames 0-2", ExitUsage, "counted from 1"},
		{"three.mvsj", "-o out --frames 1..2", ExitUsage, "write frames like 1-48"},
		{"three.mvsj", "--detach -o out", ExitUsage, "exclude each other"},
		{"1cbs.cif", "-o a.png --asset elsewhere/other.cif", ExitUsage, "a structure refers to no other files"},
		{"fig.mvsj", "-o a.png", ExitInvalid, "neither root nor snapshots"},
		{"text.mvsj", "-o a.png", ExitInvalid, "no MolViewSpec document"},
		{"old.mvsx", "-o a.png", ExitInvalid, "no zip archive"},
		{"hollow.mvsx", "-o a.png", ExitInvalid, "holds no index.mvsj"},
	} {
		_, _, err := imageOf(t, dir, c.scene, strings.Fields(c.arguments)...)
		if ExitCode(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: got %v (%d), want %d saying %q", c.scene, c.arguments, err, ExitCode(err), c.code, c.says)
		}
	}
}

func TestSceneReferences(t *testing.T) {
	t.Parallel()
	dir := sceneFolder(t)
	scene, r, err := imageOf(t, dir, "one.mvsj", "-o", "a.png")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range append([]packedFile{r.pack.scene}, r.pack.assets...) {
		got = append(got, file.logical)
	}
	if want := []string{"one.mvsj", "1cbs.cif", "colours/domains.json"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := scene.named(r.pack), "one.mvsj refers to 1cbs.cif, colours/domains.json."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, r, err := imageOf(t, dir, "one.mvsx", "-o", "a.png"); err != nil || len(r.pack.assets) > 0 {
		t.Errorf("an archive brings its files: got %+v, %v", r.pack, err)
	}
	if err := os.Rename(filepath.Join(dir, "1cbs.cif"), filepath.Join(dir, "colours", "1cbs.cif")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := imageOf(t, dir, "one.mvsj", "-o", "a.png"); ExitCode(err) != ExitInvalid ||
		!strings.Contains(err.Error(), `refers to "1cbs.cif"`) {
		t.Errorf("a file that is not there: got %v", err)
	}
	_, r, err = imageOf(t, dir, "one.mvsj", "-o", "a.png", "--asset", filepath.Join(dir, "colours", "1cbs.cif"))
	if err != nil || r.pack.assets[0].logical != "1cbs.cif" || r.pack.assets[0].path != filepath.Join(dir, "colours", "1cbs.cif") {
		t.Errorf("a file that lies elsewhere: got %+v, %v", r.pack, err)
	}
	if _, _, err := imageOf(t, dir, "three.mvsj", "-o", "out", "--asset",
		filepath.Join(dir, "one.mvsj")); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "refers to no file called") {
		t.Errorf("a file that nothing refers to: got %v", err)
	}
}

// TestForeignReferences: what would lead a renderer, or this program, to another place is refused with its name.
func TestForeignReferences(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"https://www.ebi.ac.uk/pdbe/entry-files/1cbs.bcif?x=1": `write "1cbs.bcif" in its place`,
		"ftp://example.org/a.cif":                              "no network",
		"file:///etc/passwd":                                   "beside or below",
		"/etc/passwd":                                          "beside or below",
		"../../../../etc/passwd":                               "beside or below",
		"a/../../b.cif":                                        "beside or below",
		`..\b.cif`:                                             "beside or below",
		".ssh/id_rsa":                                          "hidden",
		"data/.env":                                            "hidden",
		"":                                                     "no name of a file",
		".":                                                    "no name of a file",
	} {
		s := molecularScene{path: "scene.mvsj"}
		if err := s.refer([]string{address}, nil); ExitCode(err) != ExitInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want a refusal saying %q", address, err, says)
		}
	}
	s := molecularScene{path: "scene.mvsj"}
	if err := s.refer([]string{"data:text/plain,x", "arcp://uuid,1/a.cif", "./b.cif", "in/c.cif"},
		map[string]bool{"b.cif": true}); err != nil || !slices.Equal(s.references, []string{"in/c.cif"}) {
		t.Errorf("got %q, %v", s.references, err)
	}
}

func FuzzScene(f *testing.F) {
	for _, text := range []string{oneState, threeStates, moving, "{}", "[]", `{"root":{"params":{"url":3}}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := molecularScene{path: "scene.mvsj"}
		if err := s.read(strings.NewReader(text), nil); err != nil && ExitCode(err) != ExitInvalid {
			t.Errorf("%q: got %v, want a refusal of the input", text, err)
		}
		for _, reference := range s.references {
			if !filepath.IsLocal(filepath.FromSlash(reference)) && filepath.Clean(reference) != "." {
				t.Errorf("%q: would send %q", text, reference)
			}
		}
	})
}
