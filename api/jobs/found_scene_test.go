package jobs

import (
	"archive/zip"
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
)

// stored gives an account a stored file with content, whose key ends in name.
func (d *desk) stored(caller access.Principal, name, content string) (key string) {
	d.t.Helper()
	key = object.UploadsOf(caller.AccountID) + id.New("upl_") + "/" + name
	if strings.Contains(name, "/") { // a file of a project package
		key = object.UploadsOf(caller.AccountID) + "projects/7d444840-9dc0-11d1-b245-5ffdce74fad2/" + name
	}
	if _, err := d.deps.Objects.Put(d.t.Context(), key, strings.NewReader(content), "application/octet-stream", ""); err != nil {
		d.t.Fatal(err)
	}
	d.file(caller, key, int64(len(content)), "")
	return key
}

// sceneTo is a scene that downloads these addresses.
func sceneTo(urls ...string) string {
	var nodes []string
	for _, url := range urls {
		nodes = append(nodes, `{"kind":"download","params":{"url":"`+url+
			`"},"children":[{"kind":"parse","params":{"format":"mmcif"}}]}`)
	}
	return `{"metadata":{"version":"1","timestamp":"2026-01-01T00:00:00Z"},"root":{"kind":"root","children":[` +
		strings.Join(nodes, ",") + `]}}`
}

func TestScenes(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, false, listOf(all)...)
	caller := d.account()
	structure, other := d.stored(caller, "1cbs.cif", "data_1CBS"), d.stored(caller, "1crn.cif", "data_1CRN")
	twin := d.stored(caller, "1cbs.cif", "data_TWIN")
	packed := d.stored(caller, "models/1cbs.cif", "data_1CBS")
	mvsj := func(urls ...string) string { return d.stored(caller, "scene.mvsj", sceneTo(urls...)) }
	for _, c := range []struct {
		name, scene string
		attachments []string
		want        string // references as url=key, joined by spaces; a fault's text where code is set
		code        fault.Code
	}{
		{"by file name", mvsj("1cbs.cif", "./1crn.cif"), []string{structure, other}, "1cbs.cif=" + structure + " ./1crn.cif=" +
			other, ""},
		{"by key", mvsj(structure), []string{structure, twin}, structure + "=" + structure, ""},
		{"in a package", d.stored(caller, "scenes/a.mvsj", sceneTo("../models/1cbs.cif")), []string{packed, structure},
			"../models/1cbs.cif=" + packed, ""},
		{"none", mvsj("1cbs.cif"), nil, `"1cbs.cif", and no attachment`, fault.ArtifactNotFound},
		{"two", mvsj("1cbs.cif"), []string{structure, twin}, "2 attachments", fault.Validation},
		{"remote", mvsj("https://example.org/1cbs.cif"), []string{structure}, `"https://example.org/1cbs.cif"`, fault.Validation},
		{"file", mvsj("file:///etc/passwd"), []string{structure}, `"file:///etc/passwd"`, fault.Validation},
		{"absolute", mvsj("/etc/passwd"), []string{structure}, `"/etc/passwd"`, fault.Validation},
		{"outside", mvsj("../../../etc/passwd"), []string{structure}, `"../../../etc/passwd"`, fault.Validation},
		{"outside a package", d.stored(caller, "scenes/b.mvsj", sceneTo("../../models/1cbs.cif")), []string{packed}, "leads out",
			fault.Validation},
		{"invalid", d.stored(caller, "bad.mvsj", strings.Replace(sceneTo("1cbs.cif"), "mmcif", "word", 1)), []string{structure},
			"format", fault.Validation},
		{"no scene", d.stored(caller, "notes", "hello"), nil, "MolViewSpec scene", fault.Validation},
		{"gone", func() string { d.file(caller, "gone.mvsj", 10, ""); return "gone.mvsj" }(), nil, "gone", fault.SceneNotFound},
	} {
		receipt, err := d.Submit(access.With(t.Context(), caller), caller, "",
			SubmitRequest{JobType: ref(engines.JobTypeMolecular), SceneFile: c.scene, Attachments: c.attachments})
		if c.code != "" {
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %s with %q", c.name, err, c.code, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		scene := all["molstar"].request().Found.Scene
		for _, r := range scene.References {
			got = append(got, r.URL+"="+r.Object.StorageKey)
		}
		if joined := strings.Join(got, " "); joined != c.want || scene.Format != engines.SceneMVSJ || len(scene.States) != 1 {
			t.Errorf("%s: job %s has the scene %+v, want %s", c.name, receipt.JobID, scene, c.want)
		}
	}
}

// TestDocumentedScenes submits scenes of the documentation; those of CRABP-II refer to 1cbs.cif, that of the kinase does not.
func TestDocumentedScenes(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, false, listOf(all)...)
	caller := d.account()
	structure := d.stored(caller, "1cbs.cif", "data_1CBS")
	for name, want := range map[string]string{"crabp2.mvsj": "", "crabp2-surface.mvsj": "", "pka.mvsj": "1ATP.pdb"} {
		text, err := os.ReadFile("../../doc/scenes/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Submit(access.With(t.Context(), caller), caller, "", SubmitRequest{
			JobType: ref(engines.JobTypeMolecular), SceneFile: d.stored(caller, name, string(text)),
			Attachments: []string{structure},
		})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestSceneArchive reads an archive through ranges of the store: what is packed in it needs no attachment.
func TestSceneArchive(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, false, listOf(all)...)
	caller := d.account()
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for name, content := range map[string]string{"index.mvsj": sceneTo("1cbs.cif"),
		"1cbs.cif": strings.Repeat("data_1CBS\n", 10_000)} {
		file, err := writer.Create(name)
		if err == nil {
			_, err = file.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := d.Submit(access.With(t.Context(), caller), caller, "", SubmitRequest{JobType: ref(engines.JobTypeMolecular),
		SceneFile: d.stored(caller, "scene.mvsx", archive.String())})
	if scene := all["molstar"].request().Found.Scene; err != nil || scene.Format != engines.SceneMVSX ||
		len(scene.References) != 0 {
		t.Errorf("got %+v, %v", scene, err)
	}
}

func TestSceneFormats(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, false, listOf(all)...)
	caller := d.account()
	for name, want := range map[string]string{"a.CIF": "mmcif", "a.pdb": "pdb", "a.mol": "sdf", "a.bcif": "bcif", "plain": "pdb"} {
		_, err := d.Submit(access.With(t.Context(), caller), caller, "",
			SubmitRequest{JobType: ref(engines.JobTypeMolecular), SceneFile: d.stored(caller, name, "ATOM      1  N")})
		if scene := all["molstar"].request().Found.Scene; err != nil || scene.Format != want || len(scene.States) != 1 {
			t.Errorf("%s: got %+v, %v; want %s", name, scene, err, want)
		}
	}
}

func TestFramesOfJob(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	d.exec(`UPDATE jobs SET job_type = 'render' WHERE id = $1`, jobID)
	tasks := d.taskIDs(jobID)
	d.exec(`UPDATE tasks SET items = 4, stage = 'render' WHERE job_id = $1 AND id = ANY($2::text[])`, jobID,
		"{"+strings.Join(tasks[:3], ",")+"}")
	d.exec(`UPDATE tasks SET status = 'SUCCEEDED' WHERE id = $1`, tasks[0])
	d.exec(`INSERT INTO task_details (task_id, item_failures) VALUES ($1, '[{"item":"2"}]')`, tasks[0])
	d.exec(`UPDATE tasks SET status = 'RUNNING', progress = 0.55 WHERE id = $1`, tasks[1])
	d.exec(`INSERT INTO task_checkpoints (task_id, name, storage_key, sha256, byte_size, attempt, at)
		VALUES ($1, 'checkpoint/preview.jpg', 'k/live.jpg', $2, 7, 1, now() + interval '1 hour')`, tasks[1], strings.Repeat("d", 64))
	frame := d.made(caller, tasks[0], "frame_0003.png", "frame")
	d.exec(`UPDATE artifacts SET frame = 3 WHERE id = $1`, frame)
	d.made(caller, tasks[0], "preview.jpg", "preview")
	_, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/status", "")
	view := decoded[contract.Job](t, text)
	if p := view.Progress; p.FramesDone == nil || *p.FramesDone != 5 || *p.FramesTotal != 12 {
		t.Errorf("got %+v, want 5 of 12 frames: one has failed, and two of the running task are done", p)
	}
	if view.Preview == nil || !strings.Contains(view.Preview.URL, "live.jpg") {
		t.Errorf("got the preview %+v, want that of the running task", view.Preview)
	}
	_, text = d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/outputs?role=frame", "")
	if files := decoded[contract.Outputs](t, text).Outputs; len(files) != 1 || files[0].Frame == nil || *files[0].Frame != 3 {
		t.Errorf("got %+v, want frame 3", files)
	}
}
