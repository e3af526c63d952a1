package docking

import (
	"cmp"
	"context"
	"math"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// scope is the list that results are read from: all of the account, or those of one run or batch.
type scope struct {
	runID, batchID string
	sort           string // when the query names none
}

// resultList is what a query for results comes to.
type resultList struct {
	filter resultFilter
	order  order
	bound  list.Bound
	from   *place
}

// listOf reads a query. Errors: fault.Validation, fault.InvalidCursor.
func listOf(of scope, query ResultQuery) (l resultList, err error) {
	patterns, err := patternsOf(query.Interaction)
	if err != nil {
		return l, err
	}
	l.filter = resultFilter{
		RunID: of.runID, BatchID: of.batchID, FailureStage: query.FailureStage, LigandID: query.LigandID, Text: query.Q,
		InChIKey: query.InChIKey, Statuses: query.Status, MaxScore: query.MaxScore.OrNil(),
		MinLigandEfficiency: query.MinLigandEfficiency.OrNil(), Interactions: patterns, PassedChecks: query.PassedChecks.OrNil(),
	}
	for name, bound := range map[string]*float64{"maxScore": l.filter.MaxScore,
		"minLigandEfficiency": l.filter.MinLigandEfficiency} {
		if bound != nil && math.IsNaN(*bound) {
			return l, fault.New(fault.Validation, "%s: expected a number", name)
		}
	}
	sort := query.Sort
	if sort == "" {
		sort = of.sort
	}
	l.order = sorts[sort]
	l.bound = list.Bind("results", sort, l.filter)
	l.from, err = l.order.read(query.Cursor, l.bound)
	return l, err
}

// Results reads a page of results of the account, of a run or of a batch. Errors: fault.Validation, fault.InvalidCursor.
func (s *Service) Results(ctx context.Context, accountID string, of scope, query ResultQuery) (contract.DockingResultList, error) {
	l, err := listOf(of, query)
	if err != nil {
		return contract.DockingResultList{}, err
	}
	limit, err := query.pageLimit()
	if err != nil {
		return contract.DockingResultList{}, err
	}
	rows, err := s.store.results(ctx, accountID, l.filter, l.order, l.from, limit+1)
	if err != nil {
		return contract.DockingResultList{}, err
	}
	rows, next := cut(rows, limit, l.bound, resultRow.place)
	answer := contract.DockingResultList{NextCursor: next}
	answer.Results, err = viewAll(rows, resultRow.view)
	return answer, err
}

// Result reads one of the account's results. Errors: fault.NotFound.
func (s *Service) Result(ctx context.Context, accountID, id string) (contract.DockingResult, error) {
	if err := checkID("result_", "result", id); err != nil {
		return contract.DockingResult{}, err
	}
	row, err := s.store.result(ctx, accountID, id)
	if err != nil {
		return contract.DockingResult{}, err
	}
	return row.view()
}

// exportResults answers with a list of results as a table or as structures. Errors: those of Results, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) exportResults(
	ctx context.Context, accountID string, of scope, query ResultQuery, mediaType string,
) (*huma.StreamResponse, error) {
	l, err := listOf(of, query)
	if err != nil {
		return nil, err
	}
	x, limit := list.Export{MediaType: mediaType, Filename: "docking-results.csv"}, cmp.Or(query.Limit, maxExportLimit)
	var head []byte
	write := func(_ context.Context, rows []resultRow) ([]byte, error) {
		views, err := viewAll(rows, resultRow.view)
		if err != nil {
			return nil, err
		}
		return table(resultColumns, views)
	}
	if mediaType == typeSDF {
		x.Filename, l.filter.WithPoses = "docking-results.sdf", true
		write = func(ctx context.Context, rows []resultRow) ([]byte, error) {
			return s.drawResults(ctx, accountID, rows)
		}
	} else if head, err = header(resultColumns); err != nil {
		return nil, err
	}
	total, err := s.store.countResults(ctx, accountID, l.filter)
	if err != nil {
		return nil, err
	}
	x.Header = list.CountedHeader(total, limit)
	rows := list.Rows[resultRow, place]{Head: head, From: l.from, Limit: limit, Page: exportPage, At: resultRow.place, Write: write,
		Read: func(ctx context.Context, from *place, n int) ([]resultRow, error) {
			return s.store.results(ctx, accountID, l.filter, l.order, from, n)
		}}
	x.Next = rows.Next
	return s.exports.Begin(ctx, accountID, x)
}
