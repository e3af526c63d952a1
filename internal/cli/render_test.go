package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// blend are the first bytes of a Blender scene.
const blend = "BLENDER-v405"

// projectFolder holds a project with all that can lie in one.
func projectFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"shots/010.blend": blend, "shots/020.blend": blend, "textures/wood.png": "png", "textures/deep/grain.exr": "exr",
		"textures/nothing.png": "", ".git/config": "x", "textures/.DS_Store": "x", "out/frame_0001.png": "png",
		"text.blend": "no scene", "scene.max": "x",
	})
	return dir
}

// renderOf reads a command line of `render` for a scene in the folder.
func renderOf(t *testing.T, dir, scene string, arguments ...string) (rendering, error) {
	t.Helper()
	var f renderFlags
	cmd := &cobra.Command{Use: "render"}
	f.define(cmd)
	for i := range arguments { // files lie in the folder, too
		if i > 0 && slices.Contains([]string{"-o", "--asset", "--project"}, arguments[i-1]) {
			arguments[i] = filepath.Join(dir, arguments[i])
		}
	}
	if err := cmd.ParseFlags(arguments); err != nil {
		t.Fatal(err)
	}
	return f.rendering(filepath.Join(dir, scene))
}

func TestRenderRequests(t *testing.T) {
	t.Parallel()
	dir := projectFolder(t)
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{nil,
			`{"jobType":"render","jobName":"1 frame of 010.blend","outputFormat":"PNG","metadata":{},"recovery":{"mode":"standard"}}`},
		{[]string{"--frames", "1-48", "--video", "mp4", "--fps", "25", "--resumable", "-o", "new/out"},
			`{"jobType":"render","jobName":"48 frames of 010.blend","frameStart":1,"frameEnd":48,"outputFormat":"PNG","parameters":{"Video":"mp4"},` +
				`"metadata":{"fps":25},"recovery":{"mode":"resumable"}}`},
		{[]string{"--frames", "1-100:10", "--format", "exr", "--size", "960x540", "--samples", "32", "--software", "cycles",
			"--frame-minutes", "2.5"},
			`{"jobType":"render","jobName":"10 frames of 010.blend","frameStart":1,"frameEnd":91,"frameStep":10,"outputFormat":"EXR",` +
				`"metadata":{"software":"cycles","resolution":"960x540","samples":32,"renderTimeMinutes":2.5},"recovery":{"mode":"standard"}}`},
		{[]string{"--frames", "1-3", "--frames", "10,20", "--frames=-5--4", "--camera", "Close up", "--device", "cuda",
			"--denoise=false", "--name", "Test"},
			`{"jobType":"render","jobName":"Test","outputFormat":"PNG","parameters":{"Camera":"Close up","Denoise":"false","Device":"cuda","Frames":"-5--4,1-3,10,20"},` +
				`"metadata":{},"recovery":{"mode":"standard"}}`},
	} {
		r, err := renderOf(t, dir, "shots/010.blend", slices.Clone(c.arguments)...)
		if err != nil {
			t.Errorf("%q: %v", c.arguments, err)
			continue
		}
		wantRequest(t, r.request, c.want)
	}
}

func TestRenderRefused(t *testing.T) {
	t.Parallel()
	dir := projectFolder(t)
	if err := os.Symlink(filepath.Join(dir, "textures", "wood.png"), filepath.Join(dir, "shots", "link.png")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scene     string
		arguments string // separated by blanks
		code      int
		says      string
	}{
		{"scene.max", "", ExitUsage, "takes .blend scenes"},
		{"text.blend", "", ExitInvalid, "is no Blender scene"},
		{"gone.blend", "", ExitInvalid, "gone.blend"},
		{"shots/010.blend", "--frames 10-1", ExitUsage, "negative step"},
		{"shots/010.blend", "--frames 1-5 --frames 5", ExitUsage, "overlap"},
		{"shots/010.blend", "--frames 1-200000", ExitUsage, "at most 100000"},
		{"shots/010.blend", "--frames 1-2 --format TIFF", ExitUsage, "must be PNG, JPEG or EXR"},
		{"shots/010.blend", "--size 1920", ExitUsage, "WIDTHxHEIGHT"},
		{"shots/010.blend", "--samples -1", ExitUsage, "--samples -1"},
		{"shots/010.blend", "--device tpu", ExitUsage, "cpu, cuda, optix or hip"},
		{"shots/010.blend", "--video mp4", ExitUsage, "at least two frames"},
		{"shots/010.blend", "--frames 1-2 --video avi", ExitUsage, "mp4, webm or none"},
		{"shots/010.blend", "--frames 1-2 --fps 24", ExitUsage, "--fps belongs to a film"},
		{"shots/010.blend", "--frames 1-2 --video mp4 --fps 0", ExitUsage, "--fps 0"},
		{"shots/010.blend", "--frame-minutes 0", ExitUsage, "--frame-minutes 0"},
		{"shots/010.blend", "--camera " + strings.Repeat("x", 256), ExitUsage, "255 bytes"},
		{"shots/010.blend", "--project . --asset textures", ExitUsage, "exclude each other"},
		{"shots/010.blend", "--project textures", ExitUsage, "does not lie in it"},
		{"shots/010.blend", "--project gone", ExitInvalid, "gone"},
		{"shots/010.blend", "--project .", ExitInvalid, "link.png: is a link"},
		{"shots/010.blend", "--asset gone.png", ExitInvalid, "gone.png"},
		{"shots/010.blend", "--asset textures/nothing.png", ExitInvalid, "is empty"},
		{"shots/010.blend", "-o text.blend", ExitUsage, "is a file, no folder"},
		{"shots/010.blend", "-o out --estimate", ExitUsage, "exclude each other"},
		{"shots/010.blend", "--watch --detach", ExitUsage, "exclude each other"},
	} {
		_, err := renderOf(t, dir, c.scene, strings.Fields(c.arguments)...)
		if ExitCode(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: got %v (%d), want %d saying %q", c.scene, c.arguments, err, ExitCode(err), c.code, c.says)
		}
	}
}

// TestPackages: every file keeps its place relative to the scene.
func TestPackages(t *testing.T) {
	t.Parallel()
	dir := projectFolder(t)
	for _, c := range []struct {
		arguments []string
		want      []string // the scene first
		text      string
	}{
		{nil, []string{"010.blend"}, "010.blend"},
		{[]string{"--project", ".", "-o", "out"}, []string{"shots/010.blend", "scene.max", "shots/020.blend", "text.blend",
			"textures/deep/grain.exr", "textures/wood.png"},
			"shots/010.blend and 5 files, 39 B in all; left out: 2 hidden ones, 1 empty one"},
		{[]string{"--project", "shots"}, []string{"010.blend", "020.blend"}, "010.blend and 1 file, 24 B in all"},
		{[]string{"--asset", "textures", "--asset", "textures/wood.png"},
			[]string{"shots/010.blend", "textures/deep/grain.exr", "textures/wood.png"},
			"shots/010.blend and 2 files, 18 B in all; left out: 1 hidden one, 1 empty one"},
		{[]string{"--asset", "shots/020.blend", "--asset", "shots/010.blend"}, []string{"010.blend", "020.blend"},
			"010.blend and 1 file, 24 B in all"},
	} {
		r, err := renderOf(t, dir, "shots/010.blend", slices.Clone(c.arguments)...)
		if err != nil {
			t.Errorf("%q: %v", c.arguments, err)
			continue
		}
		got := []string{r.pack.scene.logical}
		for _, asset := range r.pack.assets {
			got = append(got, asset.logical)
		}
		if !slices.Equal(got, c.want) || r.pack.text() != c.text {
			t.Errorf("%q: got %q, %q; want %q, %q", c.arguments, got, r.pack.text(), c.want, c.text)
		}
	}
}

func TestWrongPlaces(t *testing.T) {
	t.Parallel()
	for place, says := range map[string]string{
		"a/b.png": "", strings.Repeat("a", 256): "255 bytes", strings.Repeat("abc/", 200) + "d": "800 bytes", "a\nb": "control",
		`a\b`: "backslash", "a\xff": "UTF-8",
	} {
		if got := wrongPlace(place); (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("%.20q: got %q, want %q", place, got, says)
		}
	}
}

func TestCommonFolder(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"/a/b", "/a/b", "/a/b"}, {"/a/b", "/a/b/c", "/a/b"}, {"/a/b/c", "/a/b", "/a/b"}, {"/a/b", "/a/bc", "/a"},
		{"/a", "/b", "/"},
	} {
		if got := commonFolder(c[0], c[1]); got != c[2] {
			t.Errorf("%s and %s: got %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
