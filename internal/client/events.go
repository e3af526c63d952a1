package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// streamSilence is when a stream without a byte is taken for dead: three of the server's heartbeats.
	streamSilence = 45 * time.Second
	// maxBarrenConnections bounds the connections in a row that bring nothing; with the waits between, about a minute.
	maxBarrenConnections = 15
)

// The kinds of an Event.
const (
	EventStatus   = "status"
	EventProgress = "progress"
	EventTask     = "task"
)

// Event is one thing that happened to a job. Unknown kinds are to be ignored.
type Event struct {
	ID   string          `json:"id"`
	Kind string          `json:"event"`
	Data json.RawMessage `json:"data"`
}

// Events calls handle for every event of a job after the one called after ("" for all), in order and each once, and returns
// nil when the job has ended. A stream that breaks is taken up where it broke. Errors: handle's own, the context's, *Error
// where the server refuses, and *NetworkError when it stays away.
func (c *Client) Events(ctx context.Context, jobID, after string, handle func(Event) error) error {
	w := &watch{client: c, jobID: jobID, after: after, handle: handle}
	for barren := 0; ; {
		w.alive, w.retry = false, firstWait
		err := w.connect(ctx)
		if w.ended {
			return nil
		}
		if barren++; w.alive {
			barren = 0
		}
		if w.handled != nil {
			return w.handled
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if barren == maxBarrenConnections || err != nil && !retryable(err, true) {
			return err
		}
		delay, ok := pause(err, max(barren, 1), c.jitter())
		if !ok {
			return err
		}
		if err := c.wait(ctx, max(delay, w.retry)); err != nil {
			return err
		}
	}
}

// watch is one reader of one job's events, over as many connections as it takes.
type watch struct {
	client  *Client
	jobID   string
	after   string
	handle  func(Event) error
	handled error // what handle has refused with
	ended   bool
	alive   bool          // the connection has brought something
	retry   time.Duration // the wait that the stream asks for
}

var errStreamClosed = errors.New("the event stream was closed")

// connect reads one connection until it ends.
func (w *watch) connect(ctx context.Context) error {
	connection, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(w.client.silence, cancel)
	defer quiet.Stop()
	request, err := w.client.request(connection, call{method: http.MethodGet, path: jobPath(w.jobID, "/events")}, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	if w.after != "" {
		request.Header.Set("Last-Event-ID", w.after)
	}
	answer, err := w.client.api.Do(request)
	if err != nil {
		return w.client.network(ctx, err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		w.ended = true
		return nil
	default:
		return refusal(answer)
	}
	sign := func() {
		w.alive = true
		quiet.Reset(w.client.silence)
	}
	return w.read(ctx, newMessageReader(answer.Body), sign)
}

func (w *watch) read(ctx context.Context, messages *messageReader, sign func()) error {
	for {
		m, err := messages.next(sign)
		if errors.Is(err, errEventTooLarge) {
			return err
		}
		if err != nil {
			return w.client.network(ctx, errStreamClosed)
		}
		sign()
		if m.Retry > 0 {
			w.retry = m.Retry
		}
		if err := w.take(m); err != nil {
			w.handled = err
			return err
		}
		if w.ended {
			return nil
		}
	}
}

// take hands one event on and remembers its place.
func (w *watch) take(m message) error {
	if !json.Valid([]byte(m.Data)) {
		return fmt.Errorf("event %s of job %s is no JSON", m.ID, w.jobID)
	}
	event := Event{ID: m.ID, Kind: m.Kind, Data: json.RawMessage(m.Data)}
	if err := w.handle(event); err != nil {
		return err
	}
	w.after = m.ID
	var status contract.StatusEvent
	w.ended = event.Kind == EventStatus && json.Unmarshal(event.Data, &status) == nil && status.Terminal
	return nil
}
