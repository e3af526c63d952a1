package docking_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func (l *lab) keyOfArtifact(artifact string) string {
	l.t.Helper()
	var key string
	if err := l.DB.GetContext(l.t.Context(), &key, `SELECT storage_key FROM artifacts WHERE id = $1`, artifact); err != nil {
		l.t.Fatal(err)
	}
	return key
}

func TestArtifactsAreVerified(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	pose := get[contract.DockingPose](c, "/poses/"+d.poses[0][1])
	if sdf := pose.Artifacts.SDF; sdf == nil || sdf.Record != 2 || sdf.Verification.Status != "PENDING" ||
		sdf.Schema != "service.docking.artifact/v1" || pose.Artifacts.PDBQT != nil {
		t.Errorf("the pose's files: %+v", pose.Artifacts)
	}
	sound := get[contract.DockingArtifact](c, "/artifacts/"+d.sdf[0])
	if sound.Verification.Status != "VERIFIED" || sound.Verification.VerifiedAt == nil || sound.Format != "sdf" ||
		sound.Name != "poses/00001.sdf" || sound.JobID != d.job {
		t.Errorf("got %+v", sound)
	}
	if again := get[contract.DockingPose](c, "/poses/"+d.poses[0][0]); again.Artifacts.SDF.Verification.Status != "VERIFIED" {
		t.Errorf("what was seen is not kept: %+v", again.Artifacts.SDF)
	}
	if _, err := l.objects.Put(t.Context(), l.keyOfArtifact(d.sdf[0]), strings.NewReader(strings.Repeat("x", int(sound.ByteSize))),
		"text/plain", ""); err != nil {
		t.Fatal(err)
	}
	if soon := get[contract.DockingArtifact](c, "/artifacts/"+d.sdf[0]); soon.Verification != sound.Verification &&
		!soon.Verification.VerifiedAt.Equal(*sound.Verification.VerifiedAt) {
		t.Errorf("looked again within the hour: %+v", soon.Verification)
	}
	if err := l.objects.Delete(t.Context(), l.keyOfArtifact(d.sdf[1])); err != nil {
		t.Fatal(err)
	}
	l.exec(`UPDATE artifacts SET byte_size = byte_size + 1 WHERE id = $1`, d.sdf[2])
	l.ahead.Store(int64(61 * time.Minute))
	for i, what := range []string{"other bytes", "gone", "another size"} {
		if got := get[contract.DockingArtifact](c, "/artifacts/"+d.sdf[i]); got.Verification.Status != "FAILED" ||
			got.Verification.VerifiedAt == nil {
			t.Errorf("%s: got %+v", what, got.Verification)
		}
		want(t, what, c.Send("GET", base+"/artifacts/"+d.sdf[i]+"/download", ""), 422, fault.ChecksumMismatch, "artifactId")
	}
	if _, err := l.objects.Put(t.Context(), l.keyOfArtifact(d.sdf[0]), strings.NewReader(sdfOf(screen()[0])), "text/plain",
		""); err != nil {
		t.Fatal(err)
	}
	l.ahead.Store(int64(3 * time.Hour))
	if got := get[contract.DockingArtifact](c, "/artifacts/"+d.sdf[0]); got.Verification.Status != "VERIFIED" {
		t.Errorf("put right: got %+v", got.Verification)
	}
}

// A store that keeps no digest of a file, as of one put in parts, has it read.
func TestAFileWithoutADigestIsRead(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	for i, content := range []string{sdfOf(screen()[0]), strings.Repeat("x", len(sdfOf(screen()[1])))} {
		key := l.keyOfArtifact(d.sdf[i])
		handle, err := l.objects.StartMultipart(t.Context(), key, "text/plain", false)
		if err != nil {
			t.Fatal(err)
		}
		address, headers, err := l.objects.PresignPart(t.Context(), key, handle, 1, int64(len(content)), "", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%v %v", response, err)
		}
		response.Body.Close()
		parts, err := l.objects.Parts(t.Context(), key, handle)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.objects.CompleteMultipart(t.Context(), key, handle, parts); err != nil {
			t.Fatal(err)
		}
		if info, err := l.objects.Head(t.Context(), key); err != nil || info.SHA256 != "" {
			t.Fatalf("the store keeps a digest: %+v, %v", info, err)
		}
		wanted := []string{"VERIFIED", "FAILED"}[i]
		if got := get[contract.DockingArtifact](c, "/artifacts/"+d.sdf[i]); got.Verification.Status != wanted {
			t.Errorf("file %d: got %+v, want %s", i, got.Verification, wanted)
		}
	}
}

// fetched is the content of a signed address.
func fetched(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || !strings.Contains(response.Header.Get("Content-Disposition"), "00001.sdf") {
		t.Fatalf("got %d %v %s, %v", response.StatusCode, response.Header, text, err)
	}
	return string(text)
}

func TestDownload(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	made := get[contract.DockingDownload](c, "/artifacts/"+d.sdf[0]+"/download")
	if text := fetched(t, made.URL); text != sdfOf(screen()[0]) || made.Artifact.Verification.Status != "VERIFIED" ||
		time.Until(made.ExpiresAt) > 15*time.Minute {
		t.Errorf("got %s, %+v", text, made)
	}
	led := c.Send("GET", base+"/artifacts/"+d.sdf[0]+"/download?redirect=true", "")
	if led.StatusCode != 302 || fetched(t, led.Header.Get("Location")) != sdfOf(screen()[0]) {
		t.Errorf("redirect: got %d %v", led.StatusCode, led.Header)
	}
	hidden := l.file(c.AccountID, &d, "ligands.json", "json", "intermediate", "{}")
	want(t, "an intermediate file", c.Send("GET", base+"/artifacts/"+hidden, ""), 404, fault.NotFound, "artifactId")
	report := l.file(c.AccountID, &d, "report.html", "html", "result", "<p>")
	if got := get[contract.DockingArtifact](c, "/artifacts/"+report); got.Format != "html" || got.Role != "result" {
		t.Errorf("got %+v", got)
	}
	l.exec(`DELETE FROM docking_runs WHERE id = $1`, d.run)
	want(t, "a file of no docking", c.Send("GET", base+"/artifacts/"+report, ""), 404, fault.NotFound, "artifactId")
}
