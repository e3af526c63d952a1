package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
)

// database opens the running system's own Postgres, for what no API tells.
func (s *system) database() *sqlx.DB {
	s.t.Helper()
	running := decoded[struct{ Stores struct{ DatabaseURL string } }](s.t,
		[]byte(readText(s.t, filepath.Join(s.home, "running.json"))))
	db, err := postgres.Open(s.t.Context(), running.Stores.DatabaseURL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return db
}

// asks reads one value from a database.
func asks[T any](t *testing.T, db *sqlx.DB, query string, args ...any) (value T) {
	t.Helper()
	if err := db.GetContext(t.Context(), &value, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// blend uploads a scene of testdata/scenes.py.
func (c *chemist) blend(folder, name string) string {
	c.t.Helper()
	file, err := c.api.UploadFile(c.t.Context(), filepath.Join(folder, name+".blend"))
	if err != nil {
		c.t.Fatal(err)
	}
	return file.StorageKey
}

// artist is a request for frames of a .blend, as its scene has them; members are added to it.
func artist(scene string, members map[string]any) map[string]any {
	return with(map[string]any{"jobType": "render", "jobName": "cube", "sceneFile": scene}, members)
}

// testRanges asks for frames in each of the ways there are, and in each format.
func testRanges(c *chemist, folder string) {
	scene := c.blend(folder, "plain")
	tests := []struct {
		members map[string]any
		ending  string
		want    []int64
		jobID   string
	}{
		{members: map[string]any{"parameters": map[string]string{"Frames": "1-12:2,20"}, "outputFormat": "PNG",
			"metadata": map[string]any{"resolution": "96x54", "samples": 2}},
			ending: ".png", want: []int64{1, 3, 5, 7, 9, 11, 20}},
		{members: map[string]any{"frameStart": 2, "frameEnd": 9, "frameStep": 3, "outputFormat": "JPEG"}, ending: ".jpg",
			want: []int64{2, 5, 8}},
		{members: map[string]any{"parameters": map[string]string{"FrameRange": "-1-1:2"}, "outputFormat": "EXR"}, ending: ".exr",
			want: []int64{-1, 1}},
	}
	for i, test := range tests {
		tests[i].jobID = c.simulate(artist(scene, test.members))
	}
	for _, test := range tests {
		ended := c.rendered(test.jobID)
		c.checkPictures(test.jobID, test.ending, test.want...)
		c.checkTable(test.jobID, test.want...)
		if *ended.Progress.FramesTotal != int64(len(test.want)) {
			c.t.Errorf("%v: the status counts %d frames, want %d", test.members, *ended.Progress.FramesTotal, len(test.want))
		}
		if !slices.ContainsFunc(c.files(test.jobID)["result"],
			func(o contract.Output) bool { return o.Name == "contact-sheet.jpg" }) {
			c.t.Errorf("%v: there is no contact sheet", test.members)
		}
	}
	chargedOnce(c.t, c.api, tests[0].jobID)
	c.sized(c.picture(tests[0].jobID, "frame_0020.png"), 96, 54)
}

// testKnownFrames asks twice for a film of a molecule and for an artist's frames. The first job has learned what frames take, and
// still the second finds all of them made.
func testKnownFrames(c *chemist, folder string) {
	c.api = c.client(client.Options{Server: c.url, APIKey: c.key})
	film := c.pocketPicture()("molstar", map[string]string{"Animation": "turntable", "TurntableFrames": "4", "Video": "mp4"})
	frames := artist(c.blend(folder, "plain"), map[string]any{"frameStart": 1, "frameEnd": 5, "outputFormat": "PNG"})
	for name, request := range map[string]map[string]any{"film.mp4": film, "frame_0004.png": frames} {
		var jobs [2]contract.Job
		for i := range jobs {
			receipt, err := c.api.Submit(c.t.Context(), request, "")
			if err != nil {
				c.t.Fatal(err)
			}
			jobs[i] = c.await(c.api, receipt.Body.JobID)
			if done := jobs[i].Progress.FramesDone; jobs[i].Status != job.Completed || done == nil ||
				*done != *jobs[i].Progress.FramesTotal {
				c.t.Fatalf("%s, the %d. time: ended as %s with %v frames (%v)", name, i+1, jobs[i].Status, done, jobs[i].Error)
			}
			tasks, err := c.api.Tasks(c.t.Context(), receipt.Body.JobID, client.TaskFilter{})
			if err != nil {
				c.t.Fatal(err)
			}
			for _, task := range tasks.Body.Tasks {
				if task.Reused != (i == 1) {
					c.t.Errorf("%s, the %d. time: whether task %s was known: got %t", name, i+1, task.Name, task.Reused)
				}
			}
		}
		first, second := jobs[0], jobs[1]
		if !bytes.Equal(output(c.t, c.api, first.JobID, name), output(c.t, c.api, second.JobID, name)) {
			c.t.Errorf("%s is another one in the second job", name)
		}
		c.checkBill(first)
		if *second.Cost.Final != "0.00" {
			c.t.Errorf("%s: the second job has cost %v, want nothing", name, *second.Cost.Final)
		}
	}
}

// testForeignScenes renders a scene whose texture is missing, and one that brings scripts.
func testForeignScenes(c *chemist, folder string) {
	lacking := c.simulate(artist(c.blend(folder, "lacking"), map[string]any{"frameStart": 1, "frameEnd": 3}))
	plain := c.simulate(artist(c.blend(folder, "plain"), nil))
	scripted := c.simulate(artist(c.blend(folder, "scripted"), nil))
	c.failed(lacking, "MISSING_ASSETS", "oak", "//textures/oak.png")
	if files := c.files(lacking); len(files["frame"]) > 0 {
		c.t.Errorf("a scene without its texture has the frames %+v", files["frame"])
	}
	tasks, err := c.api.Tasks(c.t.Context(), lacking, client.TaskFilter{Stage: "render"})
	if err != nil || len(tasks.Body.Tasks) == 0 || slices.ContainsFunc(tasks.Body.Tasks,
		func(task contract.Task) bool { return task.Attempt > 0 }) {
		c.t.Errorf("rendering began without the texture: %+v (%v)", tasks.Body.Tasks, err)
	}
	c.rendered(plain)
	c.rendered(scripted)
	const frame = "frame_0001.png"
	if found := distance(c.picture(plain, frame), c.picture(scripted, frame)); found > maxDistance {
		c.t.Errorf("with its scripts the scene looks other than without, by %.2f: they have run", found)
	}
	document := decoded[struct{ Scripts json.RawMessage }](c.t, output(c.t, c.api, scripted, "scene.json"))
	for _, name := range []string{"paint.py", "driver of Cube"} {
		if !strings.Contains(string(document.Scripts), name) {
			c.t.Errorf("scene.json does not say that %s was left out: %s", name, document.Scripts)
		}
	}
	chargedOnce(c.t, c.api, lacking)
}

// licensedBlender is the price book with a licence for Blender, which costs nothing in truth.
func licensedBlender(t *testing.T) (path string) {
	t.Helper()
	const software = "\nsoftware:\n"
	book := readText(t, "../../billing/prices.yaml")
	if !strings.Contains(book, software) {
		t.Fatal("the price book names no software")
	}
	return writeText(t, "prices.yaml", strings.Replace(book, software,
		software+"  blender: { licenseName: Studio Blender, vendor: Studio, product: Blender, pencePerCoreHour: 6 }\n", 1))
}

// testRenderSeats renders three frames that could be rendered at once, with a licence of one seat.
func testRenderSeats(c *chemist, folder string) {
	visitor := c.client(client.Options{Server: c.url})
	if _, err := visitor.SignUp(c.t.Context(), id.New("u")+"@example.org", "correct horse battery staple", "Studio"); err != nil {
		c.t.Fatal(err)
	}
	key, err := visitor.CreateKey(c.t.Context(), contract.CreateRequest{Name: "test", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		c.t.Fatal(err)
	}
	c.api = c.client(client.Options{Server: c.url, APIKey: key.Body.Secret, NoReuse: true})
	if _, err := visitor.AddLicenseServer(c.t.Context(), contract.LicenseServerRequest{
		Name: "Studio", Vendor: "studio", Product: "Blender", Protocol: "custom", Host: "licences.example.org", Port: 27000,
		Seats: 1, // ENFORCED
	}); err != nil {
		c.t.Fatal(err)
	}
	members := map[string]any{"frameStart": 1, "frameEnd": 3, "metadata": map[string]any{"software": "Blender",
		"renderTimeMinutes": 2}}
	licensed := c.simulate(artist(c.blend(folder, "plain"), members))
	c.rendered(licensed)
	c.checkPictures(licensed, ".png", 1, 2, 3)
	db := c.database()
	if got := asks[string](c.t, db, `SELECT software || ' ' || license_key || ' ' || (SELECT count(*) FROM tasks
		WHERE job_id = j.id AND stage = 'render') FROM jobs j WHERE id = $1`, licensed); got != "blender studio/blender 3" {
		c.t.Errorf("software, licence and render tasks are %q", got)
	}
	const together = `SELECT count(*) FROM task_attempts a JOIN task_attempts b ON a.task_id < b.task_id
		AND a.started_at < b.finished_at AND b.started_at < a.finished_at
		WHERE a.task_id IN (SELECT id FROM tasks WHERE job_id = $1) AND b.task_id IN (SELECT id FROM tasks WHERE job_id = $1)`
	if n := asks[int](c.t, db, together, licensed); n > 0 {
		c.t.Errorf("%d pairs of tasks ran at once under one seat", n)
	}
	chargedOnce(c.t, c.api, licensed)
}

// testRenderingCommands makes a picture and renders frames as users do.
func testRenderingCommands(sh *shell, folder string) {
	structure, scene, remote := filepath.Join(sh.dir, filepath.Base(hsp90Pocket)), filepath.Join(sh.dir, "scene.mvsj"),
		filepath.Join(sh.dir, "remote.mvsj")
	for path, text := range map[string]string{
		structure: readText(sh.t, hsp90Pocket), scene: pocketScene(sh.t, filepath.Base(structure)),
		remote: pocketScene(sh.t, "https://example.org/1cbs.cif"),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			sh.t.Fatal(err)
		}
	}
	documented := filepath.Join(filepath.Dir(enginestest.Sample(sh.t, "1cbs.cif")), "crabp2.mvsj")
	if err := os.WriteFile(documented, []byte(readText(sh.t, "../../doc/scenes/crabp2.mvsj")), 0o600); err != nil {
		sh.t.Fatal(err)
	}
	for i, scene := range []string{scene, documented} {
		name := fmt.Sprintf("figure-%d.png", i)
		said, _ := sh.want(0, "", "image", scene, "--size", small, "-o", name)
		sh.contains(said, "Bill")
		sh.there(".", name)
	}
	_, refused := sh.want(5, "", "image", remote, "-o", "remote.png")
	sh.contains(refused, "https://example.org/1cbs.cif")

	said, _ := sh.want(0, "", "render", filepath.Join(folder, "plain.blend"), "--frames", "1-3", "--video", "mp4", "--fps", "8",
		"--out", "frames")
	sh.contains(said, "frames", "seconds a frame", "Bill")
	sh.there("frames", "frame_0001.png", "frame_0002.png", "frame_0003.png", "film.mp4", "contact-sheet.jpg", "frames.csv",
		"preview.jpg")
	if got, want := probe(sh.t, filepath.Join(sh.dir, "frames", "film.mp4")), "160,90,8/1,3"; got != want {
		sh.t.Errorf("the film is of %s, want %s (width, height, frames a second, frames)", got, want)
	}
	_, failed := sh.want(7, "", "render", filepath.Join(folder, "lacking.blend"), "--frames", "1", "--out", "none")
	sh.contains(failed, "MISSING_ASSETS", "oak")
	id := submittedJob.FindString(failed)
	if ended, err := sh.api().Job(sh.t.Context(), id); err != nil || ended.Body.Status != job.Failed {
		sh.t.Errorf("job %q: %v, %v", id, ended.Body.Status, err)
	}
}

// there expects files that are not empty in a folder of the user's.
func (sh *shell) there(folder string, names ...string) {
	sh.t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(sh.dir, folder, name)); err != nil || info.Size() == 0 {
			sh.t.Errorf("%s holds no %s", folder, name)
		}
	}
}
