package docking

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
	// exportPage is how many rows of an export are in memory at once; of structures, the records of as many poses.
	exportPage = 250
	// exportWriteTimeout is how long a client may leave what was sent unread.
	exportWriteTimeout = 30 * time.Second
	// maxExportAge ends an export that its client reads too slowly.
	maxExportAge = 15 * time.Minute
	// maxAccountExports bounds the exports of one account that run at once.
	maxAccountExports = 4
	// maxExports bounds those of this process; each holds a page of structures, some megabytes.
	maxExports = 32
)

// exports bounds the exports that run at once. Each runs in a goroutine of the HTTP server, whose shutdown ends its context.
type exports struct {
	log   *slog.Logger
	slots *throttle.Slots
}

func newExports(log *slog.Logger) *exports {
	return &exports{log: log, slots: throttle.NewSlots("exports", maxExports, maxAccountExports)}
}

// export is an answer that is written piece by piece.
type export struct {
	mediaType, filename string
	total, limit        int // of a list; 0 when it is none
	// next makes the next piece; io.EOF after the last. It is called by one goroutine at a time.
	next func(ctx context.Context) ([]byte, error)
	// close lets go of what next holds, once, when nobody calls it any more; nil when it holds nothing.
	close func()
}

// begin makes the first piece, while a failure can still be told, and returns the answer that sends it and the rest.
func (e *exports) begin(ctx context.Context, accountID string, x export) (*huma.StreamResponse, error) {
	release, err := e.slots.Take(accountID)
	if err != nil {
		return nil, err
	}
	if x.close != nil {
		taken := release
		release = func() { x.close(); taken() }
	}
	first, err := x.next(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		release()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", x.mediaType)
		out.SetHeader("Content-Disposition", `attachment; filename="`+x.filename+`"`)
		if x.limit > 0 {
			out.SetHeader("Vary", "Accept")
			out.SetHeader("X-Total-Count", strconv.Itoa(x.total))
			out.SetHeader("X-Truncated", strconv.FormatBool(x.total > x.limit))
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
func (e *exports) run(ctx context.Context, out io.Writer, piece []byte, x export) {
	ctx, cancel := context.WithTimeout(ctx, maxExportAge)
	defer cancel()
	var err error
	for err == nil {
		if !send(out, piece) {
			return
		}
		piece, err = x.next(ctx)
	}
	if errors.Is(err, io.EOF) {
		return
	}
	e.log.Warn("export ended early", "file", x.filename, "error", err)
	if deadliner, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = deadliner.SetWriteDeadline(time.Unix(1, 0)) // the end of the body cannot be written any more
	}
}

// send writes and flushes, and reports whether the client is still there.
func send(out io.Writer, text []byte) bool {
	if deadliner, ok := out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		if deadliner.SetWriteDeadline(time.Now().Add(exportWriteTimeout)) != nil {
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

// inPages makes pieces of rows that are read page by page, at most limit in all. read reads up to n rows behind a place, write
// turns them into text, at tells a row's place. head comes before everything.
func inPages[R any](head []byte, from *place, limit int, read func(context.Context, *place, int) ([]R, error),
	at func(R) place, write func(context.Context, []R) ([]byte, error),
) func(context.Context) ([]byte, error) {
	left, ended := limit, false
	return func(ctx context.Context) ([]byte, error) {
		if ended {
			return nil, io.EOF
		}
		n := min(left, exportPage)
		rows, err := read(ctx, from, n)
		if err != nil {
			return nil, err
		}
		left -= len(rows)
		ended = left == 0 || len(rows) < n
		if len(rows) > 0 {
			last := at(rows[len(rows)-1])
			from = &last
		}
		text, err := write(ctx, rows)
		if err != nil {
			return nil, err
		}
		text = append(head, text...)
		head = nil
		return text, nil
	}
}
