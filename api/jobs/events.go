package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/export"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// eventPoll is how often an open stream looks for news: quick enough for a progress bar, one index look-up each.
	eventPoll = 250 * time.Millisecond
	// eventHeartbeat keeps proxies from closing a quiet stream, and finds out that a client has gone.
	eventHeartbeat = 15 * time.Second
	// eventRecheck is how often the credential of a stream is looked at again, so that a revoked key and an ended session see
	// nothing more after five seconds, of which a verified key may be believed for one.
	eventRecheck = 3 * time.Second
	// maxStreamAge ends a stream that lasts longer, so that no credential is honoured for ever; clients come back by themselves.
	maxStreamAge = time.Hour
	// eventBatch bounds the events read at once.
	eventBatch = 200
	// maxAccountStreams bounds the open streams of one account: a screen full of watched jobs.
	maxAccountStreams = 32
	// maxAddressStreams bounds those of one network address, with however many accounts: eight accounts that watch all they may,
	// and a quarter of the process.
	maxAddressStreams = 256
	// maxStreams bounds the open streams of this process, at four look-ups a second each.
	maxStreams = 1000
	// eventRetryMs is how long a client waits before it comes back.
	eventRetryMs = 1000
)

// Events of a job's stream. Each message's id is its place in the log; a client that comes back with Last-Event-ID gets
// what it missed.
type (
	// StatusEvent is a change of the job's state. The stream ends after a terminal one, which is the last of the log until the
	// job is retried.
	StatusEvent struct {
		Status   string `json:"status" doc:"The state that the job has now."`
		Reason   string `json:"reason" doc:"Why; empty where there is nothing to say."`
		Terminal bool   `json:"terminal" doc:"Whether the job ended in this state. False for the end of a run that has been followed by a retry."`
	}
	// ProgressEvent tells how far the job is.
	ProgressEvent struct {
		Percent float64 `json:"percent" minimum:"0" maximum:"100"`
		Message string  `json:"message" doc:"What is being done, for people."`
	}
	// TaskEvent is a change of one task's state.
	TaskEvent struct {
		TaskIndex int        `json:"taskIndex" doc:"Position of the task in the job."`
		Stage     string     `json:"stage" doc:"Stage of the task."`
		Name      string     `json:"name" doc:"Name of the task."`
		Status    string     `json:"status" enum:"PENDING,QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED"`
		Attempt   int        `json:"attempt" doc:"Number of the attempt, from 1."`
		Error     *TaskError `json:"error,omitempty" doc:"Why the task failed."`
	}
	// TaskError is why a task failed.
	TaskError struct {
		Class   string            `json:"class" enum:"USER_INPUT,EXECUTOR,SYSTEM,TIMEOUT,LICENSE,COST_LIMIT" doc:"Who is at fault."`
		Code    string            `json:"code" doc:"Machine-readable reason."`
		Message string            `json:"message" doc:"What was wrong, and the next step."`
		Items   []TaskItemFailure `json:"items,omitempty" doc:"The items of the task that were at fault, where the engine names them."`
	}
)

// terminal reports whether a run of the job ended with this event.
func (e event) terminal() bool {
	var body StatusEvent
	return e.Kind == "status" && json.Unmarshal(e.Body, &body) == nil && job.Status(body.Status).Terminal()
}

// followed is the end of a run that a retry has followed: the job did not end with it.
func (e event) followed() (event, error) {
	var body StatusEvent
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return event{}, fmt.Errorf("reading event %d: %w", e.ID, err)
	}
	body.Terminal = false
	text, err := json.Marshal(body)
	e.Body = text
	return e, err
}

// message is the event as a server-sent one (WHATWG HTML, section 9.2.5). The body is jsonb and therefore one line.
func (e event) message() []byte {
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, e.Body)
}

// lastEventID reads the header of a client that comes back; 0 for one that comes first.
func lastEventID(header string) (int64, error) {
	if header == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(header, 10, 64)
	if err != nil || id < 0 {
		return 0, fault.New(fault.Validation, "the header Last-Event-ID: send the id of the last event unchanged, or leave it out")
	}
	return id, nil
}

// streams bounds the open event streams of a process. Each runs in a goroutine of the HTTP server, which waits for it and
// whose shutdown ends the context of every request.
type streams struct {
	store store
	log   *slog.Logger
	slots *throttle.Slots

	poll, heartbeat, recheck, maxAge time.Duration
}

func newStreams(store store, log *slog.Logger) *streams {
	return &streams{
		store: store, log: log, slots: throttle.NewSlots("event streams", maxStreams, maxAccountStreams).OfAddress(maxAddressStreams),
		poll: eventPoll, heartbeat: eventHeartbeat, recheck: eventRecheck, maxAge: maxStreamAge,
	}
}

// Watcher is one client of one job's events.
type Watcher struct {
	accountID, jobID string
	after            int64 // id of the last event that the client has
	release          func()
}

// respond turns the response into the watcher's stream. Fiber calls back from a goroutine that outlives the handler; it ends
// with the job, the client, the server, the credential, or maxAge.
func (s *streams) respond(w Watcher) func(huma.Context) {
	return func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("X-Accel-Buffering", "no")
		ctx.SetHeader("Connection", "close") // a write deadline is left on the connection
		ctx.SetStatus(http.StatusOK)
		streamer, ok := ctx.(interface{ StreamBody(func(io.Writer)) })
		if !ok || ctx.Method() == http.MethodHead {
			w.release()
			return
		}
		request := ctx.Context()
		streamer.StreamBody(func(out io.Writer) {
			defer w.release()
			s.run(request, out, w)
		})
	}
}

// atOnce is a moment that has come: a stream with more to send looks at its ends too.
var atOnce = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// run sends events until one of the ends that respond names.
func (s *streams) run(ctx context.Context, out io.Writer, w Watcher) {
	poll, heartbeat, recheck := time.NewTicker(s.poll), time.NewTicker(s.heartbeat), time.NewTicker(s.recheck)
	defer poll.Stop()
	defer heartbeat.Stop()
	defer recheck.Stop()
	age := time.NewTimer(s.maxAge)
	defer age.Stop()
	if !export.Send(out, fmt.Appendf(nil, "retry: %d\n\n", eventRetryMs)) {
		return
	}
	for {
		more, goOn := s.news(ctx, out, &w)
		if !goOn {
			return
		}
		next := poll.C
		if more {
			next = atOnce
		}
		select {
		case <-next:
		case <-heartbeat.C:
			if !s.beat(ctx, out, w) {
				return
			}
		case <-recheck.C:
			if err := access.Recheck(ctx); err != nil {
				s.logEnd(ctx, w, err)
				return
			}
		case <-age.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// news sends what has happened since the last look. more says that there may be further events at once; goOn is false after
// the event that ended the job, and when the store or the client is away.
func (s *streams) news(ctx context.Context, out io.Writer, w *Watcher) (more, goOn bool) {
	events, err := s.store.events(ctx, w.accountID, w.jobID, w.after, eventBatch)
	if err != nil {
		s.logEnd(ctx, *w, err)
		return false, false
	}
	checked := time.Now()
	for _, e := range events {
		if time.Since(checked) >= s.recheck { // its reader is slow
			if err := access.Recheck(ctx); err != nil {
				s.logEnd(ctx, *w, err)
				return false, false
			}
			checked = time.Now()
		}
		w.after = e.ID
		last := e.terminal()
		if last {
			if e, last, err = s.end(ctx, *w, e); err != nil {
				s.logEnd(ctx, *w, err)
				return false, false
			}
		}
		if !export.Send(out, e.message()) || last {
			return false, false
		}
	}
	return len(events) == eventBatch, true
}

// end looks whether the job ended with a terminal event, or was retried since, and returns the event as it is to be told.
func (s *streams) end(ctx context.Context, w Watcher, e event) (event, bool, error) {
	last, err := s.ended(ctx, w)
	if err != nil || last {
		return e, last, err
	}
	e, err = e.followed()
	return e, false, err
}

// beat writes a comment. It reports false when the client has gone, or when the job has ended and all was sent: that is so
// for a client that comes back after the end.
func (s *streams) beat(ctx context.Context, out io.Writer, w Watcher) bool {
	if !export.Send(out, []byte(": heartbeat\n\n")) {
		return false
	}
	ended, err := s.ended(ctx, w)
	if err != nil {
		s.logEnd(ctx, w, err)
	}
	return err == nil && !ended
}

// ended reports whether the job has ended and the client has every event of it.
func (s *streams) ended(ctx context.Context, w Watcher) (bool, error) {
	status, err := s.store.status(ctx, w.accountID, w.jobID)
	if err != nil || !job.Status(status).Terminal() {
		return false, err
	}
	rest, err := s.store.events(ctx, w.accountID, w.jobID, w.after, 1)
	return len(rest) == 0, err
}

func (s *streams) logEnd(ctx context.Context, w Watcher, err error) {
	if ctx.Err() == nil {
		s.log.Warn("event stream ended early", "job", w.jobID, "account", w.accountID, "error", err)
	}
}
