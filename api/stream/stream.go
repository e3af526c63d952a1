// Package stream sends what happens to clients as server-sent events (WHATWG HTML, section 9.2), as long as they listen, their
// credential is good, and the server runs. What happens is a Feed's knowledge.
package stream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// poll is how often an open stream looks for news: quick enough for a progress bar, one index look-up each.
	poll = 250 * time.Millisecond
	// heartbeat keeps proxies from closing a quiet stream, and finds out that a client has gone.
	heartbeat = 15 * time.Second
	// recheck is how often the credential of a stream is looked at again, so that a revoked key and an ended session see
	// nothing more after five seconds, of which a verified key may be believed for one.
	recheck = 3 * time.Second
	// maxAge ends a stream that lasts longer, so that no credential is honoured for ever; clients come back by themselves.
	maxAge = time.Hour
	// MaxAccount bounds the open streams of one account: a screen full of watched jobs.
	MaxAccount = 32
	// MaxAddress bounds those of one network address, with however many accounts: eight accounts that watch all they may,
	// and a quarter of the process.
	MaxAddress = 256
	// maxAll bounds the open streams of this process, at four look-ups a second each.
	maxAll = 1000
	// retryMs is how long a client waits before it comes back.
	retryMs = 1000
)

// Message is something that happened. No body holds a line break, as jsonb does not. One without a kind tells nothing but the place
// that a client comes back to, which clients note and do not show.
type Message struct {
	ID   int64
	Kind string
	Body []byte
	Last bool // nothing comes after it
}

func (m Message) text() []byte {
	if m.Kind == "" {
		return fmt.Appendf(nil, "id: %d\n\n", m.ID)
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", m.ID, m.Kind, m.Body)
}

// Feed is what one client listens to. It remembers what it has given out.
type Feed interface {
	// News is what has happened since it was last asked, a batch of it; more says that there may be further news at once.
	News(ctx context.Context) (news []Message, more bool, err error)
	// Ended tells whether nothing will happen any more and the client has all of it.
	Ended(ctx context.Context) (bool, error)
}

// Streams bounds the open streams of a process. Each runs in a goroutine of the HTTP server, which waits for it and whose shutdown
// ends the context of every request.
type Streams struct {
	Slots *throttle.Slots
	// The times may be set before the first stream; tests do.
	Poll, Heartbeat, Recheck, MaxAge time.Duration
	log                              *slog.Logger
}

// New returns Streams. It starts nothing.
func New(log *slog.Logger) *Streams {
	return &Streams{log: log, Slots: throttle.NewSlots("event streams", maxAll, MaxAccount).OfAddress(MaxAddress),
		Poll: poll, Heartbeat: heartbeat, Recheck: recheck, MaxAge: maxAge}
}

// LastEventID reads the header of a client that comes back; 0 for one that comes first. Errors: fault.Validation.
func LastEventID(header string) (int64, error) {
	if header == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(header, 10, 64)
	if err != nil || id < 0 {
		return 0, fault.New(fault.Validation, "the header Last-Event-ID: send the id of the last event unchanged, or leave it out")
	}
	return id, nil
}

// Respond turns the response into a stream of the feed; release is called when it ends. Fiber calls back from a goroutine that
// outlives the handler. about tells the log what ended early.
func (s *Streams) Respond(feed Feed, release func(), about ...any) func(huma.Context) {
	return func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("X-Accel-Buffering", "no")
		ctx.SetHeader("Connection", "close") // a write deadline is left on the connection
		ctx.SetStatus(http.StatusOK)
		streamer, ok := ctx.(interface{ StreamBody(func(io.Writer)) })
		if !ok || ctx.Method() == http.MethodHead {
			release()
			return
		}
		request := ctx.Context()
		streamer.StreamBody(func(out io.Writer) {
			defer release()
			if err := s.run(request, out, feed); err != nil && request.Err() == nil {
				s.log.Warn("event stream ended early", append(about, "error", err)...)
			}
		})
	}
}

// atOnce is a moment that has come: a stream with more to send looks at its ends too.
var atOnce = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// run sends events until the feed, the client, the credential or the server ends, or maxAge has passed.
func (s *Streams) run(ctx context.Context, out io.Writer, feed Feed) error {
	poll, heartbeat, recheck := time.NewTicker(s.Poll), time.NewTicker(s.Heartbeat), time.NewTicker(s.Recheck)
	defer poll.Stop()
	defer heartbeat.Stop()
	defer recheck.Stop()
	age := time.NewTimer(s.MaxAge)
	defer age.Stop()
	if !list.Send(out, fmt.Appendf(nil, "retry: %d\n\n", retryMs)) {
		return nil
	}
	for {
		more, goOn, err := s.news(ctx, out, feed)
		if err != nil || !goOn {
			return err
		}
		next := poll.C
		if more {
			next = atOnce
		}
		select {
		case <-next:
		case <-heartbeat.C:
			if goOn, err := beat(ctx, out, feed); err != nil || !goOn {
				return err
			}
		case <-recheck.C:
			if err := access.Recheck(ctx); err != nil {
				return err
			}
		case <-age.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// news sends what has happened since the last look. more says that there may be further events at once; goOn is false after
// the last one, and when the client is away.
func (s *Streams) news(ctx context.Context, out io.Writer, feed Feed) (more, goOn bool, err error) {
	news, more, err := feed.News(ctx)
	if err != nil {
		return false, false, err
	}
	checked := time.Now()
	for _, message := range news {
		if time.Since(checked) >= s.Recheck { // its reader is slow
			if err := access.Recheck(ctx); err != nil {
				return false, false, err
			}
			checked = time.Now()
		}
		if !list.Send(out, message.text()) || message.Last {
			return false, false, nil
		}
	}
	return more, true, nil
}

// beat writes a comment. It reports false when the client has gone, or when all has ended and was sent: that is so for a client
// that comes back after the end.
func beat(ctx context.Context, out io.Writer, feed Feed) (goOn bool, err error) {
	if !list.Send(out, []byte(": heartbeat\n\n")) {
		return false, nil
	}
	ended, err := feed.Ended(ctx)
	if err != nil {
		return false, err
	}
	return !ended, nil
}
