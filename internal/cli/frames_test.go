package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// farm answers like a service that renders two frames, one of which it has finished when its events begin; the other fails.
type farm struct {
	t    *testing.T
	base string

	mu      sync.Mutex
	stored  map[string]string // uploads by their places
	request renderRequest
	ended   bool
	fetched chan string // names of files that were downloaded
}

func newFarm(t *testing.T) *farm {
	t.Helper()
	f := &farm{t: t, stored: map[string]string{}, fetched: make(chan string, 100)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.base = server.URL
	return f
}

const frameTable = "frame,file,seconds,cpu_seconds,byte_size,sha256,resumed,tries\n1,frame_0001.png,3.25,6.5,7,aa,false,2\n"

// files are what the rendering has left, by name.
var farmFiles = map[string]string{"frame_0001.png": "frame 1", framesTable: frameTable, "contact-sheet.jpg": "sheet",
	"film.mp4": "film", "frames.json": "{}"}

func (f *farm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	switch {
	case path == "/jobs/upload-url":
		f.ticket(w, r)
	case strings.HasPrefix(path, "/store/"):
		text, _ := io.ReadAll(r.Body)
		f.stored[strings.TrimPrefix(path, "/store/")] = string(text)
	case path == "/jobs/submit":
		if err := json.NewDecoder(r.Body).Decode(&f.request); err != nil {
			f.t.Error(err)
		}
		fmt.Fprint(w, `{"jobId":"job_1","jobType":"render","estimatedCost":0.12,"currency":"GBP","status":"SUBMITTED"}`)
	case path == "/jobs/job_1/status":
		f.status(w)
	case path == "/jobs/job_1/outputs":
		f.outputs(w, r.URL.Query().Get("role"))
	case path == "/jobs/job_1/tasks":
		fmt.Fprint(w, `{"tasks":[{"name":"frames-00000","stage":"render","status":"SUCCEEDED","itemFailureCount":1,
			"itemFailures":[{"item":"2","label":"frame 2","step":"render","message":"the image is blank"}]}]}`)
	case path == "/jobs/job_1/events":
		f.mu.Unlock()
		f.events(w)
		f.mu.Lock()
	case strings.HasPrefix(path, "/files/"):
		name := strings.TrimPrefix(path, "/files/")
		fmt.Fprint(w, farmFiles[name])
		f.fetched <- name
	case path == "/preview":
		fmt.Fprint(w, "newest frame")
		f.fetched <- previewFile
	default:
		http.NotFound(w, r)
	}
}

func (f *farm) ticket(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Filename, ProjectID, LogicalPath string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		f.t.Error(err)
	}
	key := first(asked.LogicalPath, asked.Filename)
	if (asked.ProjectID == "") != (asked.LogicalPath == "") {
		f.t.Errorf("a place in a project is %+v", asked)
	}
	fmt.Fprintf(w, `{"uploadUrl":%q,"s3Key":%q,"method":"PUT"}`, f.base+"/store/"+key, "a/"+key)
}

func (f *farm) status(w io.Writer) {
	status, done := `"RUNNING","terminal":false`, 1
	if f.ended {
		status = `"COMPLETED_WITH_FAILURES","terminal":true`
	}
	fmt.Fprintf(w, `{"jobId":"job_1","jobType":"render","status":%s,"progress":{"percent":50,"framesDone":%d,"framesTotal":2},"preview":{"url":%q},
		"cost":{"estimated":0.12,"held":0.2,"accrued":0.04,"final":0.05,"currency":"GBP"},"createdAt":"2026-11-21T08:00:00Z"}`, status, done, f.base+"/preview?signature=1")
}

func (f *farm) outputs(w io.Writer, role string) {
	var entries []string
	for name, text := range farmFiles {
		kind := "result"
		if name == "frame_0001.png" {
			kind = "frame"
		}
		if role != "" && kind != role || !f.ended && kind != "frame" {
			continue
		}
		digest, _ := client.Digest(strings.NewReader(text))
		entries = append(entries, fmt.Sprintf(`{"artifactId":%q,"name":%q,"role":%q,"sha256":%q,"byteSize":%d,"url":%q}`, name,
			name, kind, digest, len(text), f.base+"/files/"+name))
	}
	fmt.Fprintf(w, `{"jobId":"job_1","outputs":[%s],"nextCursor":null}`, strings.Join(entries, ","))
}

// events says that a frame is finished, and ends only when that frame and the preview have been fetched.
func (f *farm) events(w http.ResponseWriter) {
	fmt.Fprint(w, "id: 1\nevent: progress\ndata: {\"percent\":50,\"message\":\"frame 1 of 2\"}\n\n")
	_ = http.NewResponseController(w).Flush()
	for missing := map[string]bool{"frame_0001.png": true, previewFile: true}; len(missing) > 0; {
		select {
		case name := <-f.fetched:
			delete(missing, name)
		case <-time.After(time.Minute):
			f.t.Error("nobody fetches the finished frame and the preview")
			return
		}
	}
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	fmt.Fprint(w, "id: 2\nevent: status\ndata: {\"status\":\"COMPLETED_WITH_FAILURES\",\"terminal\":true}\n\n")
}

// invocation talks to the farm.
func (f *farm) invocation(out, remarks io.Writer) *invocation {
	api, err := client.New(client.Options{Server: f.base, APIKey: "svc_live_x"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(api.Close)
	return &invocation{api: api, out: out, err: remarks, now: time.Now}
}

// TestRenderFollowsFrames renders from the scene to the files: a frame and the preview are there before the job has ended.
func TestRenderFollowsFrames(t *testing.T) {
	t.Parallel()
	f, dir := newFarm(t), projectFolder(t)
	r, err := renderOf(t, dir, "shots/010.blend", "--frames", "1-2", "--asset", "textures", "-o", "new/out", "--video", "mp4")
	if err != nil {
		t.Fatal(err)
	}
	var out, remarks bytes.Buffer
	err = f.invocation(&out, &remarks).render(t.Context(), r)
	if ExitCode(err) != ExitPartlyFailed || !strings.Contains(err.Error(), "1 of 2 frames without a picture") {
		t.Errorf("got %v (%d), want a rendering that has partly failed", err, ExitCode(err))
	}
	folder := filepath.Join(dir, "new", "out")
	for name, want := range map[string]string{
		"frame_0001.png": "frame 1", "film.mp4": "film", "contact-sheet.jpg": "sheet", framesTable: frameTable,
		previewFile: "newest frame",
	} {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	for place, want := range map[string]string{"shots/010.blend": blend, "textures/wood.png": "png",
		"textures/deep/grain.exr": "exr"} {
		if f.stored[place] != want {
			t.Errorf("%s was sent as %q, want %q", place, f.stored[place], want)
		}
	}
	if got := fmt.Sprint(f.request.SceneFile, f.request.Attachments); got != "a/shots/010.blend[a/textures/deep/grain.exr "+
		"a/textures/wood.png]" {
		t.Errorf("submitted %s", got)
	}
	for _, want := range []string{"Job job_1 is submitted; it is expected to cost £0.12", "frame 2: the image is blank (render)",
		"3.2 (frame 1)", "charged £0.05", "film.mp4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed\n%s\nwant %q in it", out.String(), want)
		}
	}
	for _, want := range []string{"Sending shots/010.blend and 2 files", previewFile + " shows the newest frame", "1 of 2 frames"} {
		if !strings.Contains(remarks.String(), want) {
			t.Errorf("said\n%s\nwant %q in it", remarks.String(), want)
		}
	}
}

func TestFetchOneFile(t *testing.T) {
	t.Parallel()
	f := newFarm(t)
	f.ended = true
	inv := f.invocation(io.Discard, io.Discard)
	outputs, err := inv.api.AllOutputs(t.Context(), "job_1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"turn.preview.jpg": "newest frame"})
	for name, want := range map[string]string{"fig.png": "frame 1", "turn.mp4": "film"} {
		target, err := parseTarget(filepath.Join(dir, "deep", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := inv.fetchRendered(t.Context(), contract.Job{JobID: "job_1"}, outputs.Body.Outputs, target); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	if there(dir, "turn.preview.jpg") {
		t.Error("the preview of a film that is there was kept")
	}
	none, err := parseTarget(filepath.Join(dir, "none.webm"))
	if err != nil {
		t.Fatal(err)
	}
	if err := inv.fetchRendered(t.Context(), contract.Job{}, outputs.Body.Outputs, none); err != nil || there(dir, "none.webm") {
		t.Errorf("a film that was not made: got %v", err)
	}
}

func TestFirstFrame(t *testing.T) {
	t.Parallel()
	frame := func(name string, number int64) contract.Output {
		return contract.Output{Name: name, Role: client.RoleFrame, Frame: &number}
	}
	if got := firstFrame([]contract.Output{{Name: "x", Role: "result"}, frame("b", 2), frame("a", -1)}); got == nil ||
		got.Name != "a" {
		t.Errorf("got %+v, want the frame of the lowest number", got)
	}
	if got := firstFrame([]contract.Output{{Name: "x", Role: "result"}}); got != nil {
		t.Errorf("got %+v, want none", got)
	}
}

func TestFrameProgress(t *testing.T) {
	t.Parallel()
	c := newTicker()
	p := newFrameProgress(contract.Job{Progress: contract.Progress{Message: "waiting"}}, noDisplay{}, c.now)
	if got := p.text(); got != "waiting" {
		t.Errorf("before frames are counted: got %q", got)
	}
	at := func(done, total int64) string {
		p.count(contract.Progress{FramesDone: &done, FramesTotal: &total})
		return p.text()
	}
	if got, want := at(4, 48), "4 of 48 frames · waiting"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.pass(10 * time.Second)
	if got, want := at(8, 48), "8 of 48 frames, 2.5 s a frame · waiting"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := at(44, 48), "44 of 48 frames, 4.0 frames a second · waiting"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.take(client.Event{Kind: client.EventTask, Data: json.RawMessage(`{"taskIndex":0,"stage":"render","status":"RUNNING"}`)})
	if got, want := at(1, 48), "1 of 48 frames · render, 0 of 0 tasks done"; got != want {
		t.Errorf("a retry: got %q, want %q", got, want)
	}
}

func TestFrameSummaries(t *testing.T) {
	t.Parallel()
	costs, err := readFrameTable([]byte(
		"frame,file,seconds,cpu_seconds,byte_size,sha256,resumed,tries\n1,a,3,6,7,aa,true,1\n2,b,5,10,7,aa,false,2\n-3,c,4,8,7,aa,False,1\n"))
	if err != nil || len(costs) != 3 {
		t.Fatalf("got %+v, %v", costs, err)
	}
	price := contract.Pounds("0.06")
	cost := contract.Cost{Estimated: "0.07", Held: "0.10", Accrued: "0.06", Final: &price, Currency: "GBP"}
	failures := []frameFailure{{"frame 4", "render", "the image is blank"}, {"1 more frame of frames-00001", "", ""}}
	var w bytes.Buffer
	for _, s := range []summary{
		{job: contract.Job{Status: job.Completed, Cost: cost}, pictures: 3, costs: costs},
		{job: contract.Job{JobID: "job_1", Status: job.CompletedWithFailures, Cost: cost,
			Progress: contract.Progress{FramesTotal: ref[int64](5)}}, pictures: 3, costs: costs, failures: failures},
		{job: contract.Job{Status: job.Failed, Cost: cost}, failures: failures[:1]},
	} {
		detail, err := s.print(&w)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&w, "→ %s%s\n", detail, eachFrame(s.job.Cost, s.pictures))
	}
	golden(t, "frames.txt", w.String())
	for _, text := range []string{"frame\nx\n", "frame,file\n1\n", "\"", ""} {
		if costs, err := readFrameTable([]byte(text)); err == nil && len(costs) > 0 {
			t.Errorf("%q: got %+v", text, costs)
		}
	}
}

// TestInterruptedUpload: nothing is submitted when the files have not arrived.
func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	f, dir := newFarm(t), projectFolder(t)
	r, err := renderOf(t, dir, "shots/010.blend", "--project", ".")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var remarks bytes.Buffer
	if err := f.invocation(io.Discard, &remarks).render(ctx, r); ExitCode(err) != ExitInterrupted || f.request.JobType != "" ||
		!strings.Contains(remarks.String(), "nothing was submitted") {
		t.Errorf("got %v with %q and the request %+v", err, remarks.String(), f.request)
	}
}
