package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// stream sends text and closes the connection in the middle of it.
func stream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// silent keeps the connection open without a word until the client leaves.
func silent(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func collect(t *testing.T, c *Client, after string) (ids []string, err error) {
	t.Helper()
	err = c.Events(t.Context(), "job_1", after, func(e Event) error {
		ids = append(ids, e.ID)
		return nil
	})
	return ids, err
}

const lastEvent = "id: 9\nevent: status\ndata: {\"status\":\"COMPLETED\",\"terminal\":true}\n\n"

func TestEventsResumeAfterACut(t *testing.T) {
	t.Parallel()
	b := newBreaker(t,
		stream("retry: 1000\n\nid: 1\nevent: progress\ndata: {\"percent\":1}\n\nid: 4\nevent: task\ndata: {}\n\nid: "+
			"5\nevent: progr"),
		answer(503, `{"error":"away","code":"PROVIDER_UNAVAILABLE"}`, "Retry-After", "2"),
		stream(": heartbeat\n\n"),
		stream("id: 7\nevent: status\ndata: {\"status\":\"RUNNING\",\"terminal\":false}\n\n"+lastEvent+"id: 10\ndata: {}\n\n"),
	)
	c, waits := newClient(t, b.URL, Options{APIKey: "svc_live_x"})
	ids, err := collect(t, c, "")
	if want := []string{"1", "4", "7", "9"}; err != nil || !slices.Equal(ids, want) {
		t.Fatalf("got %v, %v; want %v", ids, err, want)
	}
	for i, want := range []string{"", "4", "4", "4"} {
		if got := b.received()[i].header.Get("Last-Event-ID"); got != want {
			t.Errorf("connection %d: got Last-Event-ID %q, want %q", i, got, want)
		}
	}
	if (*waits)[0] != time.Second {
		t.Errorf("first wait: got %v, want the stream's own second", (*waits)[0])
	}
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		answers []http.HandlerFunc
		tries   int
		silence time.Duration // that the client bears; long wherever the machine may be slow
		check   func(error) bool
	}{
		{"nothing more to come", []http.HandlerFunc{answer(204, "")}, 1, time.Minute, func(err error) bool { return err == nil }},
		{"unknown job", []http.HandlerFunc{answer(404, `{"error":"no such job","code":"NOT_FOUND"}`)}, 1, time.Minute,
			func(err error) bool { return CodeOf(err) == fault.NotFound }},
		{"barren for ever", []http.HandlerFunc{stream("retry: 1\n\n")}, maxBarrenConnections, time.Minute, isNetwork},
		{"a silent connection is left", []http.HandlerFunc{silent, stream(lastEvent)}, 2, 50 * time.Millisecond,
			func(err error) bool { return err == nil }},
		{"an event too large", []http.HandlerFunc{stream("data: " + string(make([]byte, maxEventBytes+1)))}, 1, time.Minute,
			func(err error) bool { return errors.Is(err, errEventTooLarge) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBreaker(t, test.answers...)
			c, _ := newClient(t, b.URL, Options{})
			c.silence = test.silence
			if _, err := collect(t, c, "3"); !test.check(err) {
				t.Errorf("got %v", err)
			}
			if got := len(b.received()); got < test.tries {
				t.Errorf("got %d connections, want %d", got, test.tries)
			}
		})
	}
}

func TestEventsStopWithTheirReader(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, stream(lastEvent))
	c, _ := newClient(t, b.URL, Options{})
	enough := errors.New("enough")
	if err := c.Events(t.Context(), "job_1", "", func(Event) error { return enough }); !errors.Is(err, enough) ||
		len(b.received()) != 1 {
		t.Errorf("got %v after %d connections, want the reader's own error after 1", err, len(b.received()))
	}
	open := newBreaker(t, silent)
	c, _ = newClient(t, open.URL, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Events(ctx, "job_1", "", func(Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) ||
		isNetwork(err) {
		t.Errorf("got %v, want the context's end", err)
	}
}
