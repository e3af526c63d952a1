package searches

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

const (
	// queriesAtOnce is how many queries' places are read from the database at once.
	queriesAtOnce = 200
	// maxPageBytes ends a page whose hits are very long: ten thousand columns a hit fit into a hundred of them.
	maxPageBytes = 8 << 20
	// maxShownBytes is the longest line of a hit whose alignments a page shows: two transcripts of half a million bases.
	maxShownBytes = 4 << 20
	// maxScanBytes ends a page whose filters let little through, so that one request never reads a whole search. The store sends
	// that much in about a second.
	maxScanBytes = 64 << 20
	// readBytes is the buffer of a reader of hits.
	readBytes = 64 << 10
)

// hitFilter narrows hits to those with an alignment that fits. Nil members filter nothing.
type hitFilter struct {
	MaxEvalue   *float64
	MinIdentity *float64 // percent of the alignment's columns
}

// apply keeps the alignments that fit; false when there is none.
func (f hitFilter) apply(hit *blast.Hit) bool {
	kept := hit.HSPs[:0]
	for _, hsp := range hit.HSPs {
		if f.MaxEvalue != nil && hsp.Evalue > *f.MaxEvalue || f.MinIdentity != nil && identityPercent(hsp) < *f.MinIdentity {
			continue
		}
		kept = append(kept, hsp)
	}
	hit.HSPs = kept
	return len(kept) > 0
}

// source gives the queries with hits from an index on, in the order of the file; fewer than asked for are the last.
type source func(ctx context.Context, from, limit int) ([]queryRow, error)

// sourceOf is one query alone.
func sourceOf(row queryRow) source {
	return func(_ context.Context, from, _ int) ([]queryRow, error) {
		if row.Index < from || row.Hits == 0 {
			return nil, nil
		}
		return []queryRow{row}, nil
	}
}

// found is a hit that was read, of its query.
type found struct {
	blast.Hit
	of    queryRow
	bytes int  // of its line
	fits  bool // an alignment passes the filter; HSPs holds those that do
}

// walk reads hits in the order of the queries, best first, one line after another: it holds one hit at a time, however large the
// search. It is used by one goroutine at a time; close lets go of what is open.
type walk struct {
	service *Service
	queries source
	filter  hitFilter

	rows []queryRow // still to be read; the first is the current one
	next int        // index from which on queries are read when there are no more rows
	last bool       // there are no queries behind rows
	rank int        // of the current query's hit that was read last
	skip int        // rank up to which hits of the first query are passed over

	body   io.ReadCloser // nil when nothing is open
	lines  *bufio.Reader
	left   int64 // bytes of the current query's lines that have not been read
	opened int   // rows whose lines the body holds, the current one included
}

// walkFrom begins behind a place; nil is the beginning.
func (s *Service) walkFrom(queries source, filter hitFilter, from *place) *walk {
	w := &walk{service: s, queries: queries, filter: filter}
	if from != nil {
		w.next, w.skip = from.Index, from.Rank
	}
	return w
}

func (w *walk) close() {
	if w.body != nil {
		_ = w.body.Close() // only read
		w.body = nil
	}
}

// read reads the next hit; io.EOF after the last. Errors: fault.ChecksumMismatch for hits that are gone or are other bytes, those
// of the object store when it is away, and those of the database.
func (w *walk) read(ctx context.Context) (found, error) {
	for {
		if err := w.advance(ctx); err != nil {
			return found{}, err
		}
		row := w.rows[0]
		hit, size, err := w.hit(row)
		if err != nil {
			return found{}, err
		}
		if w.rank++; w.rank <= w.skip {
			continue
		}
		fits := w.filter.apply(&hit)
		return found{Hit: hit, of: row, bytes: size, fits: fits}, nil
	}
}

// advance makes the first row one whose next hit can be read. Errors: io.EOF, and those of read.
func (w *walk) advance(ctx context.Context) error {
	for len(w.rows) > 0 && w.rank == w.rows[0].Hits {
		if w.left != 0 {
			return broken(w.rows[0], errors.New("there are more lines than hits"))
		}
		w.rows, w.rank, w.skip = w.rows[1:], 0, 0
		if w.opened--; w.opened == 0 {
			w.close()
		} else {
			w.left = w.rows[0].HitsBytes
		}
	}
	if len(w.rows) == 0 {
		if err := w.fetch(ctx); err != nil {
			return err
		}
	}
	if w.body != nil {
		return nil
	}
	return w.open(ctx)
}

// fetch reads the next rows.
func (w *walk) fetch(ctx context.Context) error {
	if w.last {
		return io.EOF
	}
	rows, err := w.queries(ctx, w.next, queriesAtOnce)
	if err != nil {
		return err
	}
	w.last = len(rows) < queriesAtOnce
	if len(rows) == 0 {
		return io.EOF
	}
	at := w.next
	w.rows, w.next = rows, rows[len(rows)-1].Index+1
	switch {
	case rows[0].Index != at:
		w.skip = 0 // the query that a place named has no hits any more
	case w.skip >= rows[0].Hits:
		w.rows, w.skip = rows[1:], 0 // the place was behind its last one
	}
	if len(w.rows) == 0 {
		return w.fetch(ctx)
	}
	return nil
}

// more tells whether there are hits behind the last one that was read. It reads none: what is broken there is the next page's to
// say.
func (w *walk) more(ctx context.Context) (bool, error) {
	if w.rank < w.rows[0].Hits || len(w.rows) > 1 {
		return true, nil
	}
	if w.last {
		return false, nil
	}
	rows, err := w.queries(ctx, w.next, 1)
	return len(rows) > 0, err
}

// open opens the lines of the first row, and of those behind it that lie next to it in the same file.
func (w *walk) open(ctx context.Context) error {
	first := w.rows[0]
	if !first.HitsKey.Valid || first.HitsBytes < 1 {
		return broken(first, errors.New("nobody has said where they lie"))
	}
	size := first.HitsBytes
	w.opened = 1
	for _, row := range w.rows[1:] {
		if row.HitsKey != first.HitsKey || row.HitsOffset != first.HitsOffset+size {
			break
		}
		size += row.HitsBytes
		w.opened++
	}
	body, err := w.service.deps.Objects.GetRange(ctx, first.HitsKey.String, first.HitsOffset, size)
	var short *object.MismatchError
	switch {
	case errors.Is(err, object.ErrNotFound), errors.As(err, &short):
		w.service.deps.Log.Warn("hits of a search are gone", "key", first.HitsKey.String, "error", err)
		return broken(first, err)
	case err != nil:
		return fmt.Errorf("reading hits: %w", err)
	}
	w.body, w.left = body, first.HitsBytes
	if w.lines == nil {
		w.lines = bufio.NewReaderSize(body, readBytes)
	} else {
		w.lines.Reset(body)
	}
	return nil
}

// hit reads a line of the current query, and how long it is.
func (w *walk) hit(row queryRow) (blast.Hit, int, error) {
	line, err := nextLine(w.lines, min(w.left, blast.MaxHitBytes))
	if errors.Is(err, errNoLine) || errors.Is(err, io.EOF) {
		return blast.Hit{}, 0, broken(row, errNoLine)
	}
	if err != nil {
		return blast.Hit{}, 0, fmt.Errorf("reading hits: %w", err)
	}
	w.left -= int64(len(line))
	hit, err := blast.ReadHit(line)
	if err == nil && (hit.QueryIndex != row.Index || hit.Rank != w.rank+1) {
		err = fmt.Errorf("hit %d of query %d lies where hit %d should", hit.Rank, hit.QueryIndex, w.rank+1)
	}
	if err != nil {
		return blast.Hit{}, 0, broken(row, err)
	}
	return hit, len(line), nil
}

// errNoLine says that no line of the bytes that a query has ends within them.
var errNoLine = errors.New("a line does not end where it should")

// nextLine reads a line with its end, of at most so many bytes. Errors: errNoLine, io.EOF, and those of the reader.
func nextLine(in *bufio.Reader, most int64) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if int64(len(line)+len(part)) > most {
			return nil, errNoLine
		}
		if err == nil && line == nil {
			return part, nil // good until the next line is read
		}
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// broken is the answer for hits that are not what was stored.
func broken(row queryRow, cause error) error {
	return fault.Wrap(cause, fault.ChecksumMismatch, "queries[%d]: its stored hits are gone, or are not what the search has "+
		"written; submit the search again", row.Index)
}

// allQueries stands for the index of a query.
const allQueries = -1

// Hits reads a page of hits of one query, or of all (allQueries). The caller calls release once, when it has let go of the page;
// after an error it is nil. Errors: fault.NotFound, fault.Validation, fault.InvalidCursor, fault.RateLimited, and those of a walk.
func (s *Service) Hits(
	ctx context.Context, accountID, jobID string, index int, query HitsQuery,
) (page contract.BlastHitList, release func(), err error) {
	l, err := s.hitListOf(ctx, accountID, jobID, index, query)
	if err != nil {
		return contract.BlastHitList{}, nil, err
	}
	limit, err := list.PageLimit(query.Limit, maxHitRows, "as a table")
	if err != nil {
		return contract.BlastHitList{}, nil, err
	}
	release, err = s.readers.Take(accountID)
	if err != nil {
		return contract.BlastHitList{}, nil, err
	}
	w := s.walkFrom(l.queries, l.filter, l.from)
	defer w.close()
	if page, err = l.page(ctx, w, limit); err != nil {
		release()
		return contract.BlastHitList{}, nil, err
	}
	return page, release, nil
}

// hitList is what a query for hits comes to.
type hitList struct {
	queries source
	filter  hitFilter
	bound   list.Bound
	from    *place
}

func (s *Service) hitListOf(ctx context.Context, accountID, jobID string, index int, query HitsQuery) (l hitList, err error) {
	l.filter = hitFilter{MaxEvalue: query.MaxEvalue.OrNil(), MinIdentity: query.MinIdentity.OrNil()}
	if err := finite("maxEvalue", l.filter.MaxEvalue); err != nil {
		return l, err
	}
	if err := finite("minIdentity", l.filter.MinIdentity); err != nil {
		return l, err
	}
	l.bound = list.Bind("hits", jobID, index, l.filter)
	if l.from, err = list.ReadBound[place](query.Cursor, l.bound); err != nil {
		return l, err
	}
	if _, err := s.find(ctx, accountID, jobID); err != nil {
		return l, err
	}
	if index == allQueries {
		l.queries = func(ctx context.Context, from, limit int) ([]queryRow, error) {
			return s.store.found(ctx, accountID, jobID, l.filter.MaxEvalue, from, limit)
		}
		return l, nil
	}
	row, known, err := s.store.query(ctx, accountID, jobID, index)
	if err != nil {
		return l, err
	}
	if !known {
		return l, noQuery()
	}
	l.queries = sourceOf(row)
	return l, nil
}

// page reads hits until there are enough of them, or enough has been read for one answer.
func (l hitList) page(ctx context.Context, w *walk, limit int) (contract.BlastHitList, error) {
	page := contract.BlastHitList{Hits: []contract.BlastHit{}}
	for kept, scanned := 0, 0; ; {
		hit, err := w.read(ctx)
		if errors.Is(err, io.EOF) {
			return page, nil
		}
		if err != nil {
			return contract.BlastHitList{}, err
		}
		if scanned += hit.bytes; hit.fits {
			kept += hit.bytes
			page.Hits = append(page.Hits, hit.view())
		}
		if len(page.Hits) < limit && kept < maxPageBytes && scanned < maxScanBytes {
			continue
		}
		more, err := w.more(ctx)
		if err == nil && more {
			page.NextCursor = list.Cursor(place{Bound: l.bound, Index: hit.QueryIndex, Rank: hit.Rank})
		}
		return page, err
	}
}
