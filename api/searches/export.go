package searches

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
	// exportPage is how many queries of a table are in memory at once.
	exportPage = 500
	// pieceBytes is about how much of a table of hits is sent at once.
	pieceBytes = 256 << 10
	// exportWriteTimeout is how long a client may leave what was sent unread.
	exportWriteTimeout = 30 * time.Second
	// maxExportAge ends a table that its client reads too slowly.
	maxExportAge = 15 * time.Minute
	// maxAccountExports bounds the tables of one account that are written at once.
	maxAccountExports = 4
	// maxExports bounds those of this process.
	maxExports = 32
)

// exports bounds the tables that are written at once. Each is written in a goroutine of the HTTP server, whose shutdown ends its
// context.
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
	// header is set beside what every export has.
	header map[string]string
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
		out.SetHeader("Vary", "Accept")
		for name, value := range x.header {
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

// exportQueries answers with a list of queries as a table. Errors: those of Queries, fault.RateLimited.
func (s *Service) exportQueries(ctx context.Context, accountID, jobID string, query QueriesQuery) (*huma.StreamResponse, error) {
	l, err := s.queryListOf(ctx, accountID, jobID, query)
	if err != nil {
		return nil, err
	}
	total, err := s.store.countQueries(ctx, accountID, jobID, l.filter)
	if err != nil {
		return nil, err
	}
	limit := tableLimit(query.Limit, maxQueryRows)
	text := &table{mediaType: typeCSV}
	if err := text.row(queryColumns...); err != nil {
		return nil, err
	}
	left, ended := limit, false
	return s.exports.begin(ctx, accountID, export{
		mediaType: typeCSV, filename: "blast-queries.csv",
		header: map[string]string{"X-Total-Count": strconv.Itoa(total), "X-Truncated": strconv.FormatBool(total > limit)},
		next: func(ctx context.Context) ([]byte, error) {
			if ended {
				return nil, io.EOF
			}
			n := min(left, exportPage)
			rows, err := s.store.queries(ctx, accountID, jobID, l.filter, l.order, l.from, n)
			if err != nil {
				return nil, err
			}
			for _, row := range rows {
				if err := text.query(row.view(jobID)); err != nil {
					return nil, err
				}
				at := row.place(l.bound)
				l.from = &at
			}
			left -= len(rows)
			ended = left == 0 || len(rows) < n
			return text.take(), nil
		},
	})
}

// exportHits answers with hits as a table, a row an alignment. Errors: those of Hits.
func (s *Service) exportHits(ctx context.Context, accountID, jobID string, index int, query HitsQuery, mediaType string) (*huma.StreamResponse, error) {
	l, err := s.hitListOf(ctx, accountID, jobID, index, query)
	if err != nil {
		return nil, err
	}
	text := &table{mediaType: mediaType}
	head := append([]string(nil), hitColumns...)
	filename := "blast-hits.csv"
	if mediaType == typeTSV {
		head[0], filename = "# "+head[0], "blast-hits.tsv"
	}
	if err := text.row(head...); err != nil {
		return nil, err
	}
	w := s.walkFrom(l.queries, l.filter, l.from)
	left, ended := tableLimit(query.Limit, maxHitRows), false
	return s.exports.begin(ctx, accountID, export{mediaType: mediaType, filename: filename, close: w.close, next: func(ctx context.Context) ([]byte, error) {
		if ended {
			return nil, io.EOF
		}
		for scanned := 0; left > 0 && text.text.Len() < pieceBytes && scanned < maxScanBytes; {
			hit, err := w.read(ctx)
			if errors.Is(err, io.EOF) {
				left = 0
				break
			}
			if err != nil {
				return nil, err
			}
			scanned += hit.bytes
			if !hit.fits {
				continue
			}
			if err := text.hit(hit.Hit); err != nil {
				return nil, err
			}
			left--
		}
		ended = left == 0
		return text.take(), nil
	}})
}
