package e2e

import (
	"encoding/csv"
	"encoding/json"
	"image/color"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	goldenRaster = "pocket-raster.png"
	goldenTraced = "pocket-traced.png"

	widthPixels, heightPixels = 320, 180
	small                     = "320x180"
)

// needRenderers skips a test where what set-up installs for rendering is missing.
func needRenderers(t *testing.T) {
	t.Helper()
	share := filepath.Join(filepath.Dir(filepath.Dir(enginestest.Python(t))), "share", "molfabric")
	for _, folder := range []string{"viewer", "blender"} {
		if _, err := os.Stat(filepath.Join(share, folder)); err != nil {
			enginestest.Skip(t, "there is no "+folder+" beside MOLFABRIC_PYTHON; set-up installs it")
		}
	}
	for _, program := range []string{"chromium", "ffprobe"} {
		if _, err := exec.LookPath(program); err != nil {
			enginestest.Skip(t, program+" is not installed")
		}
	}
}

// blends makes the scenes of testdata/scenes.py and returns their folder.
func blends(t *testing.T) string {
	t.Helper()
	python, folder := enginestest.Python(t), t.TempDir()
	script := exec.CommandContext(t.Context(), python, "-B", "testdata/scenes.py", folder)
	script.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(filepath.Dir(filepath.Dir(python)), "share", "molfabric",
		"blender"))
	if output, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return folder
}

// TestRendering shows pictures, films and frames as their users meet them, on one system where Blender is software with a licence.
func TestRendering(t *testing.T) {
	t.Parallel()
	needRenderers(t)
	folder := blends(t)
	s := start(t, "MOLFABRIC_LIMIT_CREDENTIAL=100000", "MOLFABRIC_SLOTS=4", "MOLFABRIC_PRICES="+licensedBlender(t))
	for name, test := range map[string]func(*chemist){
		"tiers": testTiers, "refused scenes": testRefusedScenes, "turntable": testTurntable,
		"ranges":  func(c *chemist) { testRanges(c, folder) },
		"known":   func(c *chemist) { testKnownFrames(c, folder) },
		"foreign": func(c *chemist) { testForeignScenes(c, folder) },
		"seats":   func(c *chemist) { testRenderSeats(c, folder) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(s.chemist(t))
		})
	}
	t.Run("command line", func(t *testing.T) {
		t.Parallel()
		shared := *s
		shared.t = t
		testRenderingCommands(shared.signIn(), folder)
	})
}

// node is a node of a MolViewSpec document.
func node(kind string, params map[string]any, children ...map[string]any) map[string]any {
	return map[string]any{"kind": kind, "params": params, "children": children}
}

// pocketScene shows the pocket of HSP90 as blue balls and its ligand as orange balls and sticks, from where the pocket is open. It
// refers to the structure as url.
func pocketScene(t *testing.T, url string) string {
	t.Helper()
	part := func(selector, representation, colour string) map[string]any {
		return node("component", map[string]any{"selector": selector},
			node("representation", map[string]any{"type": representation}, node("color", map[string]any{"color": colour})))
	}
	structure := node("structure", map[string]any{"type": "model"}, part("polymer", "spacefill", "#4477cc"),
		part("ligand", "ball_and_stick", "#ee7711"))
	camera := node("camera", map[string]any{"target": []float64{2.6, 12.7, 24.8}, "position": []float64{0.3, -27.2, 21.9},
		"up": []float64{0, 0, 1}})
	root := node("root", map[string]any{}, node("download", map[string]any{"url": url},
		node("parse", map[string]any{"format": "pdb"}, structure)), camera)
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"version": "1", "timestamp": "2026-01-01T00:00:00Z"},
		"root": root})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// upload stores a file and returns its key.
func (c *chemist) upload(name, content string) string {
	c.t.Helper()
	file, err := c.api.Upload(c.t.Context(), name, strings.NewReader(content), int64(len(content)))
	if err != nil {
		c.t.Fatal(err)
	}
	return file.StorageKey
}

// shown is a request for a small picture of a scene that needs one structure, by an engine.
func shown(scene, structure, engine string, parameters map[string]string) map[string]any {
	if parameters == nil {
		parameters = map[string]string{}
	}
	return map[string]any{
		"jobType": "molecular", "jobName": "pocket", "sceneFile": scene, "attachments": []string{structure},
		"parameters": parameters, "metadata": map[string]any{"resolution": small, "renderEngine": engine, "samples": 8, "fps": 8},
	}
}

// pocketPicture uploads the pocket and a scene of it, and returns requests for pictures of it.
func (c *chemist) pocketPicture() func(engine string, parameters map[string]string) map[string]any {
	c.t.Helper()
	structure, scene := c.pocket(), c.upload("scene.mvsj", pocketScene(c.t, filepath.Base(hsp90Pocket)))
	return func(engine string, parameters map[string]string) map[string]any {
		return shown(scene, structure, engine, parameters)
	}
}

// rendered waits for a rendering to succeed, and expects its bill.
func (c *chemist) rendered(jobID string) contract.Job {
	c.t.Helper()
	ended := c.await(c.api, jobID)
	if ended.Status != job.Completed {
		c.t.Fatalf("job %s ended as %s: %+v", jobID, ended.Status, ended.Error)
	}
	done, total := ended.Progress.FramesDone, ended.Progress.FramesTotal
	if done == nil || total == nil || *done != *total || *total == 0 {
		c.t.Errorf("at its end job %s has rendered %v of %v frames", jobID, done, total)
	}
	c.checkBill(ended)
	return ended
}

// checkBill expects an end of the bill, and nothing held any more.
func (c *chemist) checkBill(ended contract.Job) {
	c.t.Helper()
	if ended.Cost.Final == nil || ended.Cost.Held != "0.00" {
		c.t.Fatalf("the bill is %+v", ended.Cost)
	}
	if final, err := ended.Cost.Final.Float64(); err != nil || final <= 0 {
		c.t.Errorf("the bill is %v (%v)", final, err)
	}
}

// files are the outputs of a job by role, in the order of their names; names are unique in a rendering.
func (c *chemist) files(jobID string) (byRole map[string][]contract.Output) {
	c.t.Helper()
	all, err := c.api.AllOutputs(c.t.Context(), jobID)
	if err != nil || !all.Body.Complete {
		c.t.Fatalf("the outputs of %s are not complete (%v)", jobID, err)
	}
	byRole, seen := map[string][]contract.Output{}, map[string]bool{}
	for _, o := range all.Body.Outputs {
		if seen[o.Name] && o.Role != "preview" || o.ByteSize == 0 {
			c.t.Errorf("output %s is there twice, or empty", o.Name)
		}
		seen[o.Name] = true
		byRole[o.Role] = append(byRole[o.Role], o)
	}
	for _, files := range byRole {
		slices.SortFunc(files, func(a, b contract.Output) int { return strings.Compare(a.Name, b.Name) })
	}
	return byRole
}

// checkPictures expects pictures of exactly these frames, each once, in files with this ending.
func (c *chemist) checkPictures(jobID, ending string, want ...int64) {
	c.t.Helper()
	var got []int64
	for _, o := range c.files(jobID)["frame"] {
		if o.Frame == nil || !strings.HasSuffix(o.Name, ending) {
			c.t.Fatalf("a frame is %+v, want a number and a name that ends in %s", o, ending)
		}
		got = append(got, *o.Frame)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		c.t.Errorf("job %s has pictures of the frames %v, want %v", jobID, got, want)
	}
}

// frameRow is a line of frames.csv.
type frameRow struct {
	frame      int64
	cpuSeconds float64
	resumed    bool
	tries      int
}

// frameTable reads frames.csv.
func (c *chemist) frameTable(jobID string) (rows []frameRow) {
	c.t.Helper()
	records, err := csv.NewReader(strings.NewReader(string(output(c.t, c.api, jobID, "frames.csv")))).ReadAll()
	if err != nil || strings.Join(records[0], ",") != "frame,file,seconds,cpu_seconds,byte_size,sha256,resumed,tries" {
		c.t.Fatalf("frames.csv is %v (%v)", records, err)
	}
	for _, record := range records[1:] {
		frame, errFrame := strconv.ParseInt(record[0], 10, 64)
		cpuSeconds, errSeconds := strconv.ParseFloat(record[3], 64)
		tries, errTries := strconv.Atoi(record[7])
		if errFrame != nil || errSeconds != nil || errTries != nil {
			c.t.Fatalf("a line of frames.csv is %v", record)
		}
		rows = append(rows, frameRow{frame, cpuSeconds, record[6] == "true", tries})
	}
	return rows
}

// checkTable expects a line of each of these frames, all rendered at the first try.
func (c *chemist) checkTable(jobID string, want ...int64) {
	c.t.Helper()
	var got []int64
	for _, row := range c.frameTable(jobID) {
		if row.resumed || row.tries != 1 || row.cpuSeconds <= 0 {
			c.t.Errorf("the table says of a frame: %+v", row)
		}
		got = append(got, row.frame)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("the table has the frames %v, want %v", got, want)
	}
}

// testTiers draws one scene in both tiers: with its background for the golden pictures, and without for the silhouettes.
func testTiers(c *chemist) {
	request := c.pocketPicture()
	pictures := map[string]string{}
	for name, engine := range map[string]string{goldenRaster: "molstar", goldenTraced: "cycles"} {
		pictures[name] = c.simulate(request(engine, nil))
		pictures["no "+name] = c.simulate(request(engine, map[string]string{"Transparent": "true", "Outline": "false",
			"AmbientOcclusion": "false"}))
	}
	for _, jobID := range slices.Sorted(maps.Values(pictures)) {
		c.checkStill(c.rendered(jobID))
	}
	const frame = "frame_0001.png"
	for _, name := range []string{goldenRaster, goldenTraced} {
		opaque := c.picture(pictures[name], frame)
		c.sized(opaque, widthPixels, heightPixels)
		if through := share(opaque, func(p color.NRGBA) bool { return p.A < 255 }); through > 0 {
			c.t.Errorf("%s: %.1f %% of the picture are transparent", name, 100*through)
		}
		for colour, is := range map[string]func(color.NRGBA) bool{
			"blue":   func(p color.NRGBA) bool { return int(p.B) > int(p.R)+40 },
			"orange": func(p color.NRGBA) bool { return int(p.R) > int(p.B)+40 },
		} {
			if part := share(opaque, is); part < 0.005 {
				c.t.Errorf("%s: %.1f %% of the picture are %s", name, 100*part, colour)
			}
		}
		checkGolden(c.t, name, opaque)
	}
	raster, traced := c.picture(pictures["no "+goldenRaster], frame), c.picture(pictures["no "+goldenTraced], frame)
	common := overlap(raster, traced)
	c.t.Logf("the silhouettes of both tiers have %.3f in common", common)
	if through := share(raster, solid); through < 0.05 || through > 0.95 || common < 0.95 {
		c.t.Errorf("%.2f of the raster picture are solid, and the silhouettes have %.3f in common; want at least 0.95", through,
			common)
	}
	chargedOnce(c.t, c.api, pictures[goldenRaster])
}

// checkStill expects of a picture its file, its preview in the status, and how it came to be.
func (c *chemist) checkStill(ended contract.Job) {
	c.t.Helper()
	files := c.files(ended.JobID)
	if len(files["frame"]) != 1 || len(files["preview"]) != 1 || len(files["result"]) != 1 || files["frame"][0].Frame == nil ||
		*files["frame"][0].Frame != 1 {
		c.t.Errorf("the outputs are %+v, want a frame, its preview and its statistics", files)
	}
	if ended.Preview == nil {
		c.t.Fatal("the status has no preview")
	}
	if err := c.api.DownloadPreview(c.t.Context(), *ended.Preview, filepath.Join(c.t.TempDir(), "preview.jpg")); err != nil {
		c.t.Errorf("the preview: %v", err)
	}
	record, err := c.api.Provenance(c.t.Context(), ended.JobID)
	if err != nil {
		c.t.Fatal(err)
	}
	if len(record.Body.Engine.Programs[map[string]string{"molstar": "molstar", "cycles": "blender"}[record.Body.Engine.ID]]) != 1 ||
		record.Body.Counts.Inputs != 2 {
		c.t.Errorf("the record names %+v and %+v", record.Body.Engine, record.Body.Counts)
	}
}

// testRefusedScenes submits scenes that a renderer must not open, and expects a refusal that names what is wrong.
func testRefusedScenes(c *chemist) {
	structure := c.pocket()
	for _, test := range []struct {
		name, scene string
		status      int
		code        fault.Code
		words       []string
	}{
		{"remote", pocketScene(c.t, "https://example.org/1cbs.cif"), http.StatusBadRequest, fault.Validation,
			[]string{"https://example.org/1cbs.cif"}},
		{"a local file", pocketScene(c.t, "file:///etc/passwd"), http.StatusBadRequest, fault.Validation,
			[]string{"file:///etc/passwd"}},
		{"a way out", pocketScene(c.t, "../../../etc/passwd"), http.StatusBadRequest, fault.Validation,
			[]string{"../../../etc/passwd"}},
		{"not attached", pocketScene(c.t, "other.pdb"), http.StatusUnprocessableEntity, fault.ArtifactNotFound,
			[]string{"other.pdb", "attachments"}},
		{"no such representation", strings.Replace(pocketScene(c.t, "pocket.pdb"), "spacefill", "oil_painting", 1),
			http.StatusBadRequest, fault.Validation, []string{"root.children[0].children[0].children[0].children[0].children[0]",
				"type", "oil_painting"}},
		{"no JSON", `{"root":`, http.StatusBadRequest, fault.Validation, []string{"not JSON"}},
	} {
		_, err := c.api.Submit(c.t.Context(), shown(c.upload("scene.mvsj", test.scene), structure, "molstar", nil), "")
		if client.StatusOf(err) != test.status || client.CodeOf(err) != test.code ||
			!strings.HasPrefix(err.Error(), "sceneFile: ") {
			c.t.Errorf("%s: got %v, want %d %s of sceneFile", test.name, err, test.status, test.code)
			continue
		}
		for _, word := range test.words {
			if !strings.Contains(err.Error(), word) {
				c.t.Errorf("%s: %v does not name %q", test.name, err, word)
			}
		}
	}
	jobs, err := c.api.Jobs(c.t.Context(), client.JobFilter{})
	if err != nil || len(jobs.Body.Jobs) > 0 {
		c.t.Errorf("refused scenes have left the jobs %+v (%v)", jobs.Body.Jobs, err)
	}
}

// testTurntable turns the scene once around in eight frames, and expects a film of exactly those.
func testTurntable(c *chemist) {
	const frames = 8
	jobID := c.simulate(c.pocketPicture()("molstar", map[string]string{"Animation": "turntable",
		"TurntableFrames": strconv.Itoa(frames), "Video": "mp4"}))
	ended := c.rendered(jobID)
	want := []int64{1, 2, 3, 4, 5, 6, 7, 8}
	c.checkPictures(jobID, ".png", want...)
	c.checkTable(jobID, want...)
	first, half := c.picture(jobID, "frame_0001.png"), c.picture(jobID, "frame_0005.png")
	if c.sized(half, widthPixels, heightPixels); distance(first, half) < maxDistance {
		c.t.Error("both sides look alike")
	}
	if *ended.Progress.FramesTotal != frames || ended.Preview == nil {
		c.t.Errorf("%d frames were asked for; the status is %+v", frames, ended)
	}
	var results []string
	for _, o := range c.files(jobID)["result"] {
		results = append(results, o.Name)
	}
	if !slices.Equal(results, []string{"contact-sheet.jpg", "film.mp4", "frames.csv"}) {
		c.t.Errorf("the results are %v", results)
	}
	film := filepath.Join(c.t.TempDir(), "film.mp4")
	if err := os.WriteFile(film, output(c.t, c.api, jobID, "film.mp4"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if got, want := probe(c.t, film), "320,180,8/1,8"; got != want {
		c.t.Errorf("the film is of %s, want %s (width, height, frames a second, frames)", got, want)
	}
	chargedOnce(c.t, c.api, jobID)
}

// probe decodes a film and says its width, height, frames a second and number of frames.
func probe(t *testing.T, film string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v",
		"-show_entries", "stream=width,height,r_frame_rate,nb_read_frames", "-of", "csv=p=0", film).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(said))
}
