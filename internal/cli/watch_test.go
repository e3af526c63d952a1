package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// silentServer answers a job that runs and a stream that says one thing and then nothing.
func silentServer(t *testing.T, listening chan<- struct{}) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			_,
				_ = io.WriteString(w,
				`{"jobId":"job_1","status":"RUNNING","progress":{"percent":10,"message":"docking"},"createdAt":"2026-11-21T08:00:00Z"}`)
			return
		}
		_, _ = io.WriteString(w, "id: 1\nevent: progress\ndata: {\"percent\":20,\"message\":\"docking imatinib\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		listening <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server
}

func TestInterruptedWatchExplainsItself(t *testing.T) {
	t.Parallel()
	listening := make(chan struct{}, 1)
	api, err := client.New(client.Options{Server: silentServer(t, listening).URL, APIKey: "svc_live_x"})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	var out, remarks bytes.Buffer
	inv := &invocation{api: api, out: &out, err: &remarks, now: time.Now}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-listening
		cancel()
	}()
	err = inv.watch(ctx, "job_1", defaultTop)
	if !errors.Is(err, errInterrupted) || ExitCode(err) != ExitInterrupted {
		t.Errorf("got %v, want the interruption", err)
	}
	for _, want := range []string{"the job goes on", "molfabric watch job_1", "molfabric cancel job_1"} {
		if !strings.Contains(remarks.String(), want) {
			t.Errorf("said %q, want %q in it", remarks.String(), want)
		}
	}
	if out.Len() != 0 {
		t.Errorf("standard output: got %q, want nothing", out.String())
	}
}

// TestWatchGoesOnWithARetriedJob: a job is retried between the end of its run and the look at it.
func TestWatchGoesOnWithARetriedJob(t *testing.T) {
	t.Parallel()
	var streams, looks int // requests come one after the other
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			if streams++; streams == 1 {
				_, _ = io.WriteString(w, "id: 1\nevent: status\ndata: {\"status\":\"CANCELLED\",\"terminal\":false}\n\nid: "+
					"2\nevent: status\ndata: {\"status\":\"FAILED\",\"terminal\":true}\n\n")
				return
			}
			if got := r.Header.Get("Last-Event-ID"); got != "2" {
				t.Errorf("second stream: got Last-Event-ID %q, want 2", got)
			}
			_, _ = io.WriteString(w, "id: 5\nevent: status\ndata: {\"status\":\"COMPLETED\",\"terminal\":true}\n\n")
			return
		}
		status := `"RUNNING","terminal":false`
		if looks++; looks == 3 {
			status = `"COMPLETED","terminal":true`
		}
		_, _ = io.WriteString(w, `{"jobId":"job_1","createdAt":"2026-11-21T08:00:00Z","status":`+status+`}`)
	}))
	defer server.Close()
	api, err := client.New(client.Options{Server: server.URL, APIKey: "svc_live_x"})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	var ids []string
	inv := &invocation{api: api, out: io.Discard, err: io.Discard, now: time.Now}
	j, err := inv.follow(t.Context(), "job_1", func(e client.Event) error {
		ids = append(ids, e.ID)
		return nil
	})
	if err != nil || j.Body.Status != "COMPLETED" || strings.Join(ids, " ") != "1 2 5" {
		t.Errorf("got %s after events %v, %v; want COMPLETED after 1, 2 and 5", j.Body.Status, ids, err)
	}
}

func TestCourse(t *testing.T) {
	t.Parallel()
	running := contract.Job{}
	running.Progress.Message, running.Progress.Tasks.Total = "waiting for a free worker", 3
	c := courseOf(running)
	steps := []struct{ kind, data, want string }{
		{"status", `{"status":"QUEUED"}`, "waiting for a free worker"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"RUNNING"}`, "prepare, 0 of 3 tasks done"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"SUCCEEDED"}`, "prepare, 1 of 3 tasks done"},
		{"task", `{"taskIndex":1,"stage":"dock","status":"RUNNING"}`, "dock, 1 of 3 tasks done"},
		{"progress", `{"percent":40,"message":"docking imatinib"}`, "dock, 1 of 3 tasks done · docking imatinib"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"PENDING"}`, "dock, 0 of 3 tasks done · docking imatinib"},
		{"status", `{"status":"FAILED","terminal":false}`, "dock, 0 of 3 tasks done · docking imatinib"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"SUCCEEDED"}`, "dock, 1 of 3 tasks done · docking imatinib"},
		{"task", `{"taskIndex":1,"stage":"dock","status":"FAILED"}`, "dock, 2 of 3 tasks done · docking imatinib"},
		{"status", `{"status":"SUBMITTED","reason":"retried: 2 of 3 tasks run again"}`, "retried: 2 of 3 tasks run again"},
		{"task", `{"taskIndex":2,"stage":"dock","status":"RUNNING"}`, "dock, 1 of 3 tasks done"},
		{"new kind", `[]`, "dock, 1 of 3 tasks done"},
	}
	for _, step := range steps {
		c.take(client.Event{Kind: step.kind, Data: []byte(step.data)})
		if got := c.text(); got != step.want {
			t.Errorf("after %s %s: got %q, want %q", step.kind, step.data, got, step.want)
		}
	}
	if c.percent != 40 {
		t.Errorf("got %v %%, want 40", c.percent)
	}
}
