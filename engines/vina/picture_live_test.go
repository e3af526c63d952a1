package vina

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/viewer"
	"github.com/molfabric/molfabric/internal/molviewspec"
)

// The pictures of the tests: smaller than those of jobs, and of the same shape.
const pictureWidth, pictureHeight = 480, 300

func pictureRequest(tier string) map[string]any {
	return map[string]any{"program": programPicture, "picture": tier, "rankBy": rankByVina, "widthPixels": pictureWidth,
		"heightPixels": pictureHeight, "smaller": 0.5, "samples": 2, "threads": 2}
}

// pictureInputs are those of the ranking's test, whose best ligand is aspirin in a peptide.
func pictureInputs(t *testing.T) map[string]string {
	t.Helper()
	inputs := rankInputs(t)
	for _, name := range []string{"redock/redock/redock.json", "analysed/analyse-0001/.analysis.part", "receptor.json"} {
		delete(inputs, name)
	}
	inputs["serials.json"] = `{"schema":"molfabric.docking.serials/v1","serials":{},"renamed":{}}`
	return inputs
}

// analysedAs changes the record of the best ligand in the analysis.
func analysedAs(t *testing.T, inputs map[string]string, change func(ligand map[string]any)) {
	t.Helper()
	const name = "analysed/analyse-0000/analysis.json"
	var document map[string]any
	if err := json.Unmarshal([]byte(inputs[name]), &document); err != nil {
		t.Fatal(err)
	}
	for _, ligand := range document["ligands"].([]any) {
		if ligand := ligand.(map[string]any); ligand["ligandId"] == "aspirin" {
			change(ligand)
		}
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	inputs[name] = string(text)
}

// withNative adds the native ligand in its crystal pose, and docked again: aspirin stands for both.
func withNative(t *testing.T, inputs map[string]string) {
	t.Helper()
	analysedAs(t, inputs, func(ligand map[string]any) {
		sdf, _ := ligand["bestSdf"].(string)
		block, _, _ := strings.Cut(sdf, "M  END")
		native, err := json.Marshal(map[string]string{"componentId": "AIN", "molblock": block + "M  END\n"})
		if err != nil {
			t.Fatal(err)
		}
		inputs["native.json"], inputs["redocked.sdf"] = string(native), sdf
	})
}

// toldPictures is what the tests read of picture.json.
type toldPictures struct {
	Tier   string
	Notes  []string
	Images map[string]struct{ File string }
	Seen   *struct {
		LigandID string
		Crystal  bool
		Contacts []struct {
			Name, Residue    string
			DistanceAngstrom float64
		}
	}
	Programs map[string]string
}

// drawnIn runs the task and returns its folder, and what it tells. Whatever it tells must be fit to be collected.
func drawnIn(t *testing.T, tier string, inputs map[string]string) (string, toldPictures, []engines.Artifact) {
	t.Helper()
	dir, _, failure := runTask(t, programPicture, pictureRequest(tier), inputs)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	var told toldPictures
	readTaskJSON(t, dir, "out/picture.json", &told)
	params, err := json.Marshal(pictureRequest(tier))
	if err != nil {
		t.Fatal(err)
	}
	result, err := New().Collect(engines.Shard{Name: shardPicture, Params: params}, engines.Dir(dir))
	if err != nil {
		t.Fatalf("what was drawn cannot be collected: %v", err)
	}
	return dir, told, result.Artifacts
}

// needsViewer skips a test where the page that draws is not built.
func needsViewer(t *testing.T) {
	t.Helper()
	prefix := filepath.Dir(filepath.Dir(enginestest.Python(t)))
	if _, err := os.Stat(filepath.Join(prefix, viewer.PageFolder, "viewer.js")); err != nil {
		enginestest.Skip(t, "build the viewer's page (engines/render/viewer/build.sh) into the scientific Python's "+
			viewer.PageFolder)
	}
}

// TestPictureIsDrawn draws the best pose, the box and the native ligand's two poses, twice to the byte, and puts them into the
// report.
func TestPictureIsDrawn(t *testing.T) {
	t.Parallel()
	needsViewer(t)
	inputs := pictureInputs(t)
	withNative(t, inputs)
	dir, told, artifacts := drawnIn(t, PictureMolstar, inputs)
	if told.Tier != PictureMolstar || len(told.Notes) != 0 || told.Seen == nil || told.Seen.LigandID != "aspirin" ||
		told.Seen.Crystal || told.Programs["molstar"] == "" {
		t.Fatalf("got %+v", told)
	}
	if c := told.Seen.Contacts; len(c) != 2 || c[0].Name != "π stacking" || c[0].Residue != "TRP 5" ||
		c[0].DistanceAngstrom != 4.12 || c[1].Name != "hydrophobic contact" {
		t.Errorf("the picture tells of the contacts %+v", c)
	}
	roles := map[string]engines.Role{}
	for _, artifact := range artifacts {
		roles[artifact.Name] = artifact.Role
	}
	for name, role := range map[string]engines.Role{
		outputBestPNG: engines.RolePreview, outputBoxPNG: engines.RoleResult, outputScene: engines.RoleResult,
		"best.webp": engines.RoleIntermediate, "box.webp": engines.RoleIntermediate, "redock.webp": engines.RoleIntermediate,
	} {
		if roles[name] != role {
			t.Errorf("%s is a file of the role %q, want %q", name, roles[name], role)
		}
	}
	best := decodedPNG(t, dir, outputBestPNG, pictureWidth, pictureHeight)
	box := decodedPNG(t, dir, outputBoxPNG, pictureWidth/2, pictureHeight/2)
	for name, of := range map[string]struct {
		shown image.Image
		is    func(c color.NRGBA) bool
		least float64
	}{
		"the pose in green": {best, func(c color.NRGBA) bool { return int(c.G) > int(c.R)+50 && int(c.G) > int(c.B)+30 }, 0.003},
		"white paper":       {best, func(c color.NRGBA) bool { return c.R == 255 && c.G == 255 && c.B == 255 }, 0.3},
		"the box in blue":   {box, func(c color.NRGBA) bool { return int(c.B) > int(c.R)+60 }, 0.01},
		"the pose in the whole, too,": {box, func(c color.NRGBA) bool { return int(c.G) > int(c.R)+50 && int(c.G) > int(c.B)+30 },
			0.005},
	} {
		if part := shareOf(of.shown, of.is); part < of.least {
			t.Errorf("%s is seen in %.2f %% of the picture, want at least %.2f %%", name, 100*part, 100*of.least)
		}
	}
	t.Run("again", func(t *testing.T) {
		again, _, _ := drawnIn(t, PictureMolstar, inputs)
		for _, artifact := range artifacts {
			if readText(t, filepath.Join(dir, "out", artifact.Name)) != readText(t, filepath.Join(again, "out", artifact.Name)) {
				t.Errorf("%s differs between two runs", artifact.Name)
			}
		}
	})
	t.Run("report", func(t *testing.T) { checkReportPictures(t, dir) })
}

// checkReportPictures ranks the job whose pictures were drawn.
func checkReportPictures(t *testing.T, drawn string) {
	t.Helper()
	inputs := rankInputs(t)
	for _, name := range append([]string{outputPicture}, reportImages...) {
		inputs["picture/"+name] = readText(t, filepath.Join(drawn, "out", name))
	}
	request := rankRequest(5)
	request["picture"] = PictureMolstar
	dir, _, failure := runTask(t, programRank, request, inputs)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	page := readText(t, filepath.Join(dir, "out/report.html"))
	for _, image := range reportImages {
		content := base64.StdEncoding.EncodeToString([]byte(readText(t, filepath.Join(drawn, "out", image))))
		if !strings.Contains(page, `<img src="data:image/webp;base64,`+content+`"`) {
			t.Errorf("the report does not show %s", image)
		}
	}
	for _, wanted := range []string{
		`alt="The best pose of Aspirin in its site: π stacking with TRP 5, 4.1 Å; hydrophobic contact with TRP 5."`,
		"img-src data:", "Drawn with Mol* 5", `<h2 id="pose">`, `width="480" height="300"`, "docked again (green)",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the report lacks %q", wanted)
		}
	}
	var document struct {
		Methods  string
		Programs map[string]string
	}
	readTaskJSON(t, dir, "out/provenance.json", &document)
	if document.Programs["molstar"] == "" || !strings.Contains(document.Methods, "Pictures were drawn with Mol*") {
		t.Errorf("the provenance does not tell who drew: %v, %s", document.Programs, document.Methods)
	}
}

// TestPictureIsTraced renders the pose with Cycles, and the box with Mol* as ever.
func TestPictureIsTraced(t *testing.T) {
	t.Parallel()
	needsViewer(t)
	dir, told, _ := drawnIn(t, PictureCycles, pictureInputs(t))
	if told.Tier != PictureCycles || len(told.Notes) != 0 || told.Programs["blender"] == "" || told.Programs["molstar"] == "" {
		t.Fatalf("got %+v", told)
	}
	best := decodedPNG(t, dir, outputBestPNG, pictureWidth, pictureHeight)
	decodedPNG(t, dir, outputBoxPNG, pictureWidth/2, pictureHeight/2)
	if part := shareOf(best, func(c color.NRGBA) bool { return int(c.G) > int(c.R)+50 && int(c.G) > int(c.B)+30 }); part < 0.003 {
		t.Errorf("the pose is seen in %.2f %% of the picture", 100*part)
	}
}

// TestPictureScene looks at the scene without drawing it: earlier attempts at the task have died, so that this one does without.
func TestPictureScene(t *testing.T) {
	t.Parallel()
	inputs := pictureInputs(t)
	withNative(t, inputs)
	analysedAs(t, inputs, func(ligand map[string]any) {
		ligand["poses"].([]any)[0].(map[string]any)["referenceRmsdAngstrom"] = 0.8
	})
	inputs["resume/begun-1"], inputs["resume/begun-2"] = "", ""
	dir, told, artifacts := drawnIn(t, PictureMolstar, inputs)
	if told.Tier != "" || len(told.Notes) != 1 || !strings.Contains(told.Notes[0], "earlier attempts") || told.Seen == nil ||
		!told.Seen.Crystal {
		t.Errorf("got %+v, want no picture, and why", told)
	}
	if !slices.ContainsFunc(artifacts, func(a engines.Artifact) bool { return a.Name == outputScene }) {
		t.Errorf("got %+v, want the scene", artifacts)
	}
	scene := readText(t, filepath.Join(dir, "out", outputScene))
	parsed, err := molviewspec.ParseArchive(strings.NewReader(scene), int64(len(scene)))
	if err != nil || len(parsed.States) != 1 {
		t.Fatalf("the scene is none that can be rendered: %v", err)
	}
	archive, err := zip.NewReader(strings.NewReader(scene), int64(len(scene)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name)
	}
	if want := []string{"index.mvsj", "receptor.pdb", "pose.sdf", "crystal.sdf"}; !slices.Equal(names, want) {
		t.Errorf("the scene brings %v, want %v", names, want)
	}
	index := readZipped(t, archive, "index.mvsj")
	for _, wanted := range []string{`"text": "TRP 5"`, `"text": "4.1 Å"`, `"kind": "tube"`, `"kind": "camera"`,
		`"title": "Best pose of Aspirin"`, `"auth_seq_id": 5`} {
		if !strings.Contains(index, wanted) {
			t.Errorf("the scene lacks %q", wanted)
		}
	}
}

// TestPictureIsMissing wants the report without pictures, and why, where there is nothing to draw or nobody to draw it.
func TestPictureIsMissing(t *testing.T) {
	t.Parallel()
	t.Run("bonds", func(t *testing.T) {
		t.Parallel()
		inputs := pictureInputs(t)
		analysedAs(t, inputs, func(ligand map[string]any) { ligand["bestSdf"] = nil })
		_, told, artifacts := drawnIn(t, PictureMolstar, inputs)
		if told.Tier != "" || len(told.Notes) != 1 || !strings.Contains(told.Notes[0], "does not say its bonds") ||
			len(artifacts) != 1 {
			t.Errorf("got %+v and %+v", told, artifacts)
		}
	})
	t.Run("receptor", func(t *testing.T) {
		t.Parallel()
		inputs := pictureInputs(t)
		inputs["receptor.pdb"] = "ATOM      1  N   GLY A   x      what is this\n"
		_, told, _ := drawnIn(t, PictureMolstar, inputs)
		if told.Tier != "" || len(told.Notes) != 1 || !strings.Contains(told.Notes[0], "could not be made") {
			t.Errorf("got %+v", told)
		}
	})
	t.Run("renderer", func(t *testing.T) {
		t.Parallel()
		bare := bareInterpreter(t)
		dir, _, failure := runTask(t, programPicture, pictureRequest(PictureCycles), map[string]string{})
		if failure != nil {
			t.Fatalf("got the failure %+v", failure)
		}
		for name, content := range pictureInputs(t) {
			writeTaskFile(t, dir, "in/"+name, content)
		}
		command := exec.CommandContext(t.Context(), bare, "-B", "program/"+programPicture)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		var told toldPictures
		readTaskJSON(t, dir, "out/picture.json", &told)
		if told.Tier != "" || len(told.Notes) != 1 || !strings.Contains(told.Notes[0], "page is missing on the worker") {
			t.Errorf("got %+v, want to be told that the viewer's page is missing", told)
		}
	})
	t.Run("report", func(t *testing.T) {
		t.Parallel()
		inputs := rankInputs(t)
		inputs["picture/picture.json"] =
			`{"schema":"molfabric.docking.picture/v1","tier":null,"notes":["No picture was drawn: <i>why</i>."],"images":{},"seen":null,"programs":{}}`
		request := rankRequest(5)
		request["picture"] = PictureMolstar
		for _, want := range []string{"No picture was drawn: &lt;i&gt;why&lt;/i&gt;.", "its task did not finish"} {
			dir, _, failure := runTask(t, programRank, request, inputs)
			if failure != nil {
				t.Fatalf("got the failure %+v", failure)
			}
			if page := readText(t, filepath.Join(dir, "out/report.html")); !strings.Contains(page, want) ||
				strings.Contains(page, "<img") {
				t.Errorf("the report lacks %q, or shows a picture", want)
			}
			delete(inputs, "picture/picture.json")
		}
	})
}

// bareInterpreter is a Python with the packages of the scientific one and without what set-up has built beside them.
func bareInterpreter(t *testing.T) string {
	t.Helper()
	python, folder := enginestest.Python(t), t.TempDir()
	packages, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print('\\n'.join(path for path in sys.path if "+
		"'site-packages' in path))").Output()
	if err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), python, "-m", "venv", "--without-pip", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	found, err := filepath.Glob(filepath.Join(folder, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the new Python has %v (%v)", found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], "shared.pth"), packages, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "bin", "python")
}

func decodedPNG(t *testing.T, dir, name string, width, height int) image.Image {
	t.Helper()
	shown, err := png.Decode(bytes.NewReader([]byte(readText(t, filepath.Join(dir, "out", name)))))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if size := shown.Bounds().Size(); size != image.Pt(width, height) {
		t.Errorf("%s is %v, want %d × %d", name, size, width, height)
	}
	return shown
}

// shareOf is the part of a picture's pixels that are as wanted.
func shareOf(shown image.Image, wanted func(color.NRGBA) bool) float64 {
	found, size := 0, shown.Bounds()
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			if pixel, ok := color.NRGBAModel.Convert(shown.At(x, y)).(color.NRGBA); ok && wanted(pixel) {
				found++
			}
		}
	}
	return float64(found) / float64(size.Dx()*size.Dy())
}

func readZipped(t *testing.T, archive *zip.Reader, name string) string {
	t.Helper()
	file, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(file); err != nil {
		t.Fatal(err)
	}
	return content.String()
}
