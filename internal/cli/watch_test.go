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
)

// silentServer answers a job that runs and a stream that says one thing and then nothing.
func silentServer(t *testing.T, listening chan<- struct{}) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			_, _ = io.WriteString(w, `{"jobId":"job_1","status":"RUNNING","progress":{"percent":10,"message":"docking"},"createdAt":"2026-11-21T08:00:00Z"}`)
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

func TestCourse(t *testing.T) {
	t.Parallel()
	running := client.Job{}
	running.Progress.Message, running.Progress.Tasks.Total = "waiting for a free worker", 3
	c := courseOf(running)
	steps := []struct{ kind, data, want string }{
		{"status", `{"status":"QUEUED"}`, "waiting for a free worker"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"RUNNING"}`, "prepare, 0 of 3 tasks done"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"SUCCEEDED"}`, "prepare, 1 of 3 tasks done"},
		{"task", `{"taskIndex":1,"stage":"dock","status":"RUNNING"}`, "dock, 1 of 3 tasks done"},
		{"progress", `{"percent":40,"message":"docking imatinib"}`, "dock, 1 of 3 tasks done · docking imatinib"},
		{"task", `{"taskIndex":0,"stage":"prepare","status":"PENDING"}`, "dock, 0 of 3 tasks done · docking imatinib"},
		{"new kind", `[]`, "dock, 0 of 3 tasks done · docking imatinib"},
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
