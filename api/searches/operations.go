package searches

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
)

// base is where the operations lie.
const base = "/v1/molecular/blast/searches"

const (
	searchesText = "Sequence searches of the account, newest first: one for each job of blastp or blastn."
	searchText   = "One search: program, database, parameters and counts; once it has ended, the files of the whole with " +
		"short-lived addresses."
	queriesText = "Queries of a search with their best hits, in the order of the file unless sort says otherwise. A query has " +
		"its row as soon as it is known. Accept: text/csv gets the same list as a table, whole up to limit. " + cellText
	queryHits = "Hits of a query with their alignments, best first. " + hitsTableText
	allHits   = "Hits of all queries in the order of the file, each query's best first; while the job runs, of those that were " +
		"searched so far. " + hitsTableText
	hitsTable = "Accept: text/csv or text/tab-separated-values gets the twelve columns of BLAST's tabular format, a row an " +
		"alignment, with the same filters, whole up to limit; hits.tsv of the job's outputs holds all. "

	hitsTableText = hitsTable + "Of a filtered list a page may have fewer hits than limit, even none, and still name the next " +
		"one. Hits whose stored bytes are gone are 422. " + breakText
	cellText  = "X-Total-Count tells how many entries there are, X-Truncated whether the answer stops before the last. " + breakText
	breakText = "In CSV, a cell that a spreadsheet would take for a formula begins with an apostrophe. A table that cannot go on " +
		"breaks the connection."
)

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	huma.Register(api, read("list-blast-searches", "", "List sequence searches", searchesText), s.listSearches)
	huma.Register(api, readOne("get-blast-search", "/{jobId}", "Read a sequence search", searchText), s.getSearch)
	queries := readOne("list-blast-search-queries", "/{jobId}/queries", "List a search's queries", queriesText)
	huma.Register(api, list.Documented[contract.BlastQueryList](api, queries, "CSV", list.CSV), s.listQueries(api))
	huma.Register(api, readOne("get-blast-search-query", "/{jobId}/queries/{index}", "Read a search's query",
		"One query with its best hit."), s.getQuery)
	hits := unsound(readOne("list-blast-query-hits", "/{jobId}/queries/{index}/hits", "List a query's hits", queryHits))
	huma.Register(api, list.Documented[contract.BlastHitList](api, hits, "", list.CSV, list.TSV), s.listQueryHits(api))
	all := unsound(readOne("list-blast-search-hits", "/{jobId}/hits", "List a search's hits", allHits))
	huma.Register(api, list.Documented[contract.BlastHitList](api, all, "", list.CSV, list.TSV), s.listHits(api))
}

func read(id, path, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: base + path, Summary: summary, Description: text,
		Tags: []string{"Sequence search"},
	}, access.Rule{Scope: access.JobsRead})
}

// readOne is read for what belongs to one search, whose owner may have had it deleted.
func readOne(id, path, summary, text string) huma.Operation {
	op := read(id, path, summary, text)
	op.Errors = []int{http.StatusGone}
	return op
}

// unsound documents that the stored hits may be other bytes than they were.
func unsound(op huma.Operation) huma.Operation {
	op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
	return op
}

// heldInJSON is inJSON of a page that may be large: release is called when all of it has been sent, or never will be. A small one
// is not worth a connection of its own.
func heldInJSON(api huma.API, body any, release func()) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(out huma.Context) {
		handedOn := false
		defer func() {
			if !handedOn {
				release()
			}
		}()
		var text bytes.Buffer
		if err := api.Marshal(&text, list.JSON, body); err != nil {
			panic(err) // as above
		}
		out.SetHeader("Content-Type", list.JSON)
		out.SetHeader("Vary", "Accept")
		out.SetStatus(http.StatusOK)
		streamer, ok := out.(interface{ StreamBody(func(io.Writer)) })
		if text.Len() <= pieceBytes || !ok || out.Method() == http.MethodHead {
			_, _ = out.BodyWriter().Write(text.Bytes()) // into memory
			return
		}
		out.SetHeader("Connection", "close") // a write deadline is left on the connection
		handedOn = true
		streamer.StreamBody(func(w io.Writer) {
			defer release()
			for text.Len() > 0 && list.Send(w, text.Next(pieceBytes)) {
			}
		})
	}}
}

// OfSearch names a search in an address.
type OfSearch struct {
	JobID string `path:"jobId" doc:"Id of the job that searches."`
}

// OfQuery names a query of a search in an address.
type OfQuery struct {
	OfSearch
	Index int `path:"index" minimum:"0" maximum:"2147483647" doc:"Place of the query in the file, from 0."`
}

func (s *Service) listSearches(ctx context.Context, in *SearchQuery) (*wire.Answer[contract.BlastSearchList], error) {
	return wire.Answered(s.Searches(ctx, access.From(ctx).AccountID, *in))
}

func (s *Service) getSearch(ctx context.Context, in *OfSearch) (*wire.Answer[contract.BlastSearch], error) {
	return wire.Answered(s.Search(ctx, access.From(ctx).AccountID, in.JobID))
}

func (s *Service) getQuery(ctx context.Context, in *OfQuery) (*wire.Answer[contract.BlastQuery], error) {
	return wire.Answered(s.Query(ctx, access.From(ctx).AccountID, in.JobID, in.Index))
}

type queriesInput struct {
	OfSearch
	QueriesQuery
}

func (s *Service) listQueries(api huma.API) func(context.Context, *queriesInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *queriesInput) (*huma.StreamResponse, error) {
		accountID := access.From(ctx).AccountID
		if list.Negotiate(in.Accept, list.CSV) == list.CSV {
			return s.exportQueries(ctx, accountID, in.JobID, in.QueriesQuery)
		}
		page, err := s.Queries(ctx, accountID, in.JobID, in.QueriesQuery)
		return list.InJSON(api, page, err)
	}
}

type queryHitsInput struct {
	OfQuery
	HitsQuery
}

func (s *Service) listQueryHits(api huma.API) func(context.Context, *queryHitsInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *queryHitsInput) (*huma.StreamResponse, error) {
		return s.answerHits(ctx, api, in.JobID, in.Index, in.HitsQuery)
	}
}

type hitsInput struct {
	OfSearch
	HitsQuery
}

func (s *Service) listHits(api huma.API) func(context.Context, *hitsInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *hitsInput) (*huma.StreamResponse, error) {
		return s.answerHits(ctx, api, in.JobID, allQueries, in.HitsQuery)
	}
}

func (s *Service) answerHits(
	ctx context.Context, api huma.API, jobID string, index int, query HitsQuery,
) (*huma.StreamResponse, error) {
	accountID := access.From(ctx).AccountID
	if mediaType := list.Negotiate(query.Accept, list.CSV, list.TSV); mediaType != list.JSON {
		return s.exportHits(ctx, accountID, jobID, index, query, mediaType)
	}
	page, release, err := s.Hits(ctx, accountID, jobID, index, query)
	if err != nil {
		return nil, err
	}
	return heldInJSON(api, page, release), nil
}
