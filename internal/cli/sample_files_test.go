package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/receipt"
)

// uploadingServer takes uploads under here/<name>; it has one job, whose submission only its bundle holds.
func uploadingServer(t *testing.T, submission string) *client.Client {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch path := strings.TrimPrefix(r.URL.Path, "/api/v1"); {
		case path == "/jobs/upload-url":
			var asked contract.UploadURLRequest
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			answer = contract.UploadURLResponse{Method: http.MethodPut, UploadURL: server.URL + "/put",
				S3Key: "here/" + asked.Filename}
		case path == "/put":
			_, _ = io.Copy(io.Discard, r.Body)
			return
		case strings.HasSuffix(path, "/provenance"):
			answer = json.RawMessage(`{"request":{"content":null}}`)
		case path == "/molecular/docking/runs":
			answer = json.RawMessage(`{"runs":[{"runId":"run_1","jobId":"job_1"}]}`)
		case path == "/molecular/docking/runs/run_1/bundle":
			crate := zip.NewWriter(w)
			file, err := crate.Create(requestFile)
			if err == nil {
				_, err = io.WriteString(file, submission)
			}
			if err != nil || crate.Close() != nil {
				t.Error("the bundle cannot be written", err)
			}
			return
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	api, err := client.New(client.Options{Server: server.URL, APIKey: "svc"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api
}

func TestFilesOfASample(t *testing.T) {
	t.Parallel()
	const params = `"ligandLibrary":[{"ligandId":"a","source":{"artifact":{"storageKey":"k/a.sdf"}}},{"ligandId":"b",` +
		`"source":{"artifact":{"storageKey":"k/b.sdf"}}}]}}`
	const scene = `{"sceneFile":"k/scene.pdb","simulationParams":{` + params
	const entry = `{"sceneFile":"k/scene.pdb","simulationParams":{"receptorPdbId":"1IEP",` + params
	digest := func(text string) *receipt.Digest { return &receipt.Digest{SHA256: hexOf(text)} }
	for _, c := range []struct {
		what, request string
		scene         *receipt.Digest
		files         map[string]string
		there         bool
		keys, refusal string
	}{
		{"files under other names", scene, digest("receptor"), map[string]string{"x": "receptor", "sub/y": "ligand b"}, false,
			"k/b.sdf=here/b.sdf k/scene.pdb=here/scene.pdb", ""},
		{"a scene that nobody reads", entry, nil, map[string]string{"y": "ligand b"}, false,
			"k/b.sdf=here/b.sdf k/scene.pdb=here/" + sceneName, ""},
		{"a scene that nobody can check", scene, nil, map[string]string{"y": "ligand b"}, false, "", "states no SHA-256 of it"},
		{"a file of other bytes", scene, digest("receptor"), map[string]string{"x": "receptor", "y": "ligand B"}, false, "",
			"no file with the SHA-256 " + hexOf("ligand b") + ", which is that of the input k/b.sdf"},
		{"a server that has the job", scene, digest("receptor"), map[string]string{"y": "ligand b"}, true,
			"k/b.sdf=here/b.sdf k/scene.pdb=k/scene.pdb", ""},
	} {
		of := docked("t", "1", "2")
		of.Predicate.Inputs = []receipt.Input{{Name: "k/a.sdf", Digest: digest("ligand a")},
			{Name: "k/b.sdf", Digest: digest("ligand b")}, {Name: "k/scene.pdb", Digest: c.scene}}
		of.Predicate.Parameters.Digest.SHA256 = hexOf(c.request)
		parts, err := repeatable(of)
		if err != nil {
			t.Fatal(err)
		}
		n := &notary{t: t, dir: t.TempDir()}
		for name, text := range c.files {
			n.write(name, text)
		}
		if !c.there { // a server that has the job has the submission in its bundle
			n.write(requestFile, c.request)
		}
		inv := &invocation{api: uploadingServer(t, c.request), err: &bytes.Buffer{}}
		from := source{inv: inv, of: of, folder: n.dir, there: c.there}
		again, err := from.prepare(t.Context(), parts[1:])
		if c.refusal != "" {
			if ExitCode(err) != ExitInvalid || !strings.Contains(fmt.Sprint(err), c.refusal) {
				t.Errorf("%s: got %v, want a refusal with %s", c.what, err, c.refusal)
			}
			continue
		}
		got := fmt.Sprintf("k/b.sdf=%s k/scene.pdb=%s", again.keys["k/b.sdf"], again.keys["k/scene.pdb"])
		text, jsonErr := json.Marshal(again.request)
		if err != nil || jsonErr != nil || got != c.keys ||
			!strings.Contains(string(text), `"sceneFile":"`+again.keys["k/scene.pdb"]) ||
			strings.Contains(string(text), "k/a.sdf") || strings.Contains(string(text), "k/b.sdf") {
			t.Errorf("%s: got %s (%v) for %s\nwant %s", c.what, got, err, text, c.keys)
		}
	}
}
