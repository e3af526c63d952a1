package list

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/throttle"
)

const (
	// writeTimeout is how long a client may leave what was sent unread.
	writeTimeout = 30 * time.Second
	// MaxAge ends an export that its client reads too slowly.
	MaxAge = 15 * time.Minute
	// maxOfAccount bounds the exports of one account that run at once.
	maxOfAccount = 4
	// maxAtOnce bounds those of one kind in this process; each holds a page, of structures some megabytes.
	maxAtOnce = 32
)

// Exports bounds the exports of one kind that run at once. Each runs in a goroutine of the HTTP server, whose shutdown ends its
// context. It is safe for concurrent use.
type Exports struct {
	log   *slog.Logger
	slots *throttle.Slots
}

// NewExports returns Exports of which none runs.
func NewExports(log *slog.Logger) *Exports {
	return &Exports{log: log, slots: throttle.NewSlots("exports", maxAtOnce, maxOfAccount)}
}

// Export is an answer that is too long for one piece of memory: a table or another file that is made and sent piece by piece.
type Export struct {
	MediaType, Filename string
	Header              map[string]string // beside what every export has
	// Next makes the next piece; io.EOF after the last. It is called by one goroutine at a time.
	Next func(ctx context.Context) ([]byte, error)
	// Close lets go of what Next holds, once, when nobody calls it any more; nil when it holds nothing.
	Close func()
}

// Begin makes the first piece, while a failure can still be told, and returns the answer that sends it and the rest. Errors: those
// of Next, fault.RateLimited, fault.ProviderUnavailable.
func (e *Exports) Begin(ctx context.Context, accountID string, x Export) (*huma.StreamResponse, error) {
	release, err := e.slots.Take(accountID)
	if err != nil {
		if x.Close != nil {
			x.Close()
		}
		return nil, err
	}
	if x.Close != nil {
		taken := release
		release = func() { x.Close(); taken() }
	}
	first, err := x.Next(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		release()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", x.MediaType)
		out.SetHeader("Content-Disposition", `attachment; filename="`+x.Filename+`"`)
		for name, value := range x.Header {
			out.SetHeader(name, value)
		}
		out.SetHeader("Connection", "close") // a write deadline is left on the connection
		out.SetStatus(http.StatusOK)
		streamer, ok := out.(interface{ StreamBody(func(io.Writer)) })
		if !ok || out.Method() == http.MethodHead {
			release()
			return
		}
		request := out.Context()
		streamer.StreamBody(func(w io.Writer) {
			defer release()
			e.run(request, w, first, x)
		})
	}}, nil
}

// run sends all pieces. When one cannot be made it breaks the connection, so that nobody takes what came for the whole.
func (e *Exports) run(ctx context.Context, out io.Writer, piece []byte, x Export) {
	ctx, cancel := context.WithTimeout(ctx, MaxAge)
	defer cancel()
	var err error
	for err == nil {
		if !Send(out, piece) {
			return
		}
		piece, err = x.Next(ctx)
	}
	if errors.Is(err, io.EOF) {
		return
	}
	e.log.Warn("export ended early", "file", x.Filename, "error", err)
	if deadliner, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = deadliner.SetWriteDeadline(time.Unix(1, 0)) // the end of the body cannot be written any more
	}
}

// Send writes and flushes, and reports whether the client is still there.
func Send(out io.Writer, text []byte) bool {
	if deadliner, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		if deadliner.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
			return false
		}
	}
	if _, err := out.Write(text); err != nil {
		return false
	}
	if flusher, ok := out.(http.Flusher); ok {
		flusher.Flush()
	}
	_, err := out.Write(nil) // the flush tells nobody, but the buffer remembers that it failed
	return err == nil
}

// CountedHeader is what the export of a list says of it: how many entries there are, and whether they are more than it may have.
func CountedHeader(total, limit int) map[string]string {
	return map[string]string{"Vary": "Accept", "X-Total-Count": strconv.Itoa(total),
		"X-Truncated": strconv.FormatBool(total > limit)}
}

// Rows makes the pieces of an export of rows that are read page by page.
type Rows[R, P any] struct {
	Head  []byte // before everything
	From  *P     // place of the row before the first; nil is the beginning
	Limit int    // rows in all
	Page  int    // rows that are in memory at once
	Read  func(ctx context.Context, from *P, n int) ([]R, error)
	At    func(R) P
	Write func(ctx context.Context, rows []R) ([]byte, error)
	ended bool
}

// Next is that of an Export.
func (r *Rows[R, P]) Next(ctx context.Context) ([]byte, error) {
	if r.ended {
		return nil, io.EOF
	}
	n := min(r.Limit, r.Page)
	rows, err := r.Read(ctx, r.From, n)
	if err != nil {
		return nil, err
	}
	r.Limit -= len(rows)
	r.ended = r.Limit == 0 || len(rows) < n
	if len(rows) > 0 {
		last := r.At(rows[len(rows)-1])
		r.From = &last
	}
	text, err := r.Write(ctx, rows)
	if err != nil {
		return nil, err
	}
	text = append(r.Head, text...)
	r.Head = nil
	return text, nil
}
