package searches

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/export"
)

// Media types that lists are answered in.
const (
	typeJSON = export.JSON
	typeCSV  = export.CSV
	typeTSV  = "text/tab-separated-values"
)

const (
	// exportPage is how many queries of a table are in memory at once.
	exportPage = 500
	// pieceBytes is about how much of a table of hits is sent at once.
	pieceBytes = 256 << 10
)

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
	return s.exports.Begin(ctx, accountID, export.Export{
		MediaType: typeCSV, Filename: "blast-queries.csv",
		Header: map[string]string{"Vary": "Accept", "X-Total-Count": strconv.Itoa(total), "X-Truncated": strconv.FormatBool(total > limit)},
		Next: func(ctx context.Context) ([]byte, error) {
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
	vary := map[string]string{"Vary": "Accept"}
	left, ended := tableLimit(query.Limit, maxHitRows), false
	return s.exports.Begin(ctx, accountID, export.Export{MediaType: mediaType, Filename: filename, Header: vary, Close: w.close, Next: func(ctx context.Context) ([]byte, error) {
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
