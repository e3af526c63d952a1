package searches

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/list"
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
	limit := cmp.Or(query.Limit, maxQueryRows)
	text := table{list.Table{MediaType: list.CSV}}
	if err := text.Row(queryColumns...); err != nil {
		return nil, err
	}
	rows := list.Rows[queryRow, place]{
		From: l.from, Limit: limit, Page: exportPage, At: queryRow.place,
		Read: func(ctx context.Context, from *place, n int) ([]queryRow, error) {
			return s.store.queries(ctx, accountID, jobID, l.filter, l.order, from, n)
		},
		Write: func(_ context.Context, rows []queryRow) ([]byte, error) {
			for _, row := range rows {
				if err := text.query(row.view(jobID)); err != nil {
					return nil, err
				}
			}
			return text.Take(), nil
		},
	}
	return s.exports.Begin(ctx, accountID, list.Export{MediaType: list.CSV, Filename: "blast-queries.csv",
		Header: list.CountedHeader(total, limit), Next: rows.Next})
}

// exportHits answers with hits as a table, a row an alignment. Errors: those of Hits.
func (s *Service) exportHits(
	ctx context.Context, accountID, jobID string, index int, query HitsQuery, mediaType string,
) (*huma.StreamResponse, error) {
	l, err := s.hitListOf(ctx, accountID, jobID, index, query)
	if err != nil {
		return nil, err
	}
	text := table{list.Table{MediaType: mediaType}}
	head := append([]string(nil), hitColumns...)
	filename := "blast-hits.csv"
	if mediaType == list.TSV {
		head[0], filename = "# "+head[0], "blast-hits.tsv"
	}
	if err := text.Row(head...); err != nil {
		return nil, err
	}
	w := s.walkFrom(l.queries, l.filter, l.from)
	vary := map[string]string{"Vary": "Accept"}
	left, ended := cmp.Or(query.Limit, maxHitRows), false
	return s.exports.Begin(ctx, accountID, list.Export{MediaType: mediaType, Filename: filename, Header: vary, Close: w.close,
		Next: func(ctx context.Context) ([]byte, error) {
			if ended {
				return nil, io.EOF
			}
			for scanned := 0; left > 0 && text.Len() < pieceBytes && scanned < maxScanBytes; {
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
			return text.Take(), nil
		}})
}
