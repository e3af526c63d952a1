package docking

import (
	"context"
	"math"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/export"
	"github.com/molfabric/molfabric/internal/fault"
)

// scope is the list that results are read from: all of the account, or those of one run or batch.
type scope struct {
	runID, batchID string
	sort           string // when the query names none
}

// list is what a query for results comes to.
type list struct {
	filter resultFilter
	order  order
	bound  string
	from   *place
}

// listOf reads a query. Errors: fault.Validation, fault.InvalidCursor.
func listOf(of scope, query ResultQuery) (l list, err error) {
	patterns, err := patternsOf(query.Interaction)
	if err != nil {
		return l, err
	}
	l.filter = resultFilter{
		RunID: of.runID, BatchID: of.batchID, FailureStage: query.FailureStage, LigandID: query.LigandID, Text: query.Q, InChIKey: query.InChIKey,
		Statuses: query.Status, MaxScore: query.MaxScore.orNil(), MinLigandEfficiency: query.MinLigandEfficiency.orNil(),
		Interactions: patterns, PassedChecks: query.PassedChecks.orNil(),
	}
	for name, bound := range map[string]*float64{"maxScore": l.filter.MaxScore, "minLigandEfficiency": l.filter.MinLigandEfficiency} {
		if bound != nil && math.IsNaN(*bound) {
			return l, fault.New(fault.Validation, "%s: expected a number", name)
		}
	}
	sort := query.Sort
	if sort == "" {
		sort = of.sort
	}
	l.order = sorts[sort]
	l.bound = binding("results", sort, l.filter)
	l.from, err = l.order.read(query.Cursor, l.bound)
	return l, err
}

// Results reads a page of results of the account, of a run or of a batch. Errors: fault.Validation, fault.InvalidCursor.
func (s *Service) Results(ctx context.Context, accountID string, of scope, query ResultQuery) (DockingResultList, error) {
	l, err := listOf(of, query)
	if err != nil {
		return DockingResultList{}, err
	}
	limit, err := query.pageLimit()
	if err != nil {
		return DockingResultList{}, err
	}
	rows, err := s.store.results(ctx, accountID, l.filter, l.order, l.from, limit+1)
	if err != nil {
		return DockingResultList{}, err
	}
	rows, next := cut(rows, limit, l.bound, resultRow.place)
	answer := DockingResultList{NextCursor: next}
	answer.Results, err = viewAll(rows, resultRow.view)
	return answer, err
}

// Result reads one of the account's results. Errors: fault.NotFound.
func (s *Service) Result(ctx context.Context, accountID, id string) (DockingResult, error) {
	if err := checkID("result_", "result", id); err != nil {
		return DockingResult{}, err
	}
	row, err := s.store.result(ctx, accountID, id)
	if err != nil {
		return DockingResult{}, err
	}
	return row.view()
}

// exportResults answers with a list of results as a table or as structures. Errors: those of Results, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) exportResults(ctx context.Context, accountID string, of scope, query ResultQuery, mediaType string) (*huma.StreamResponse, error) {
	l, err := listOf(of, query)
	if err != nil {
		return nil, err
	}
	x, limit := export.Export{MediaType: mediaType, Filename: "docking-results.csv"}, query.exportLimit()
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
	x.Header = listHeader(total, limit)
	read := func(ctx context.Context, from *place, n int) ([]resultRow, error) {
		return s.store.results(ctx, accountID, l.filter, l.order, from, n)
	}
	x.Next = inPages(head, l.from, limit, read, resultRow.place, write)
	return s.exports.Begin(ctx, accountID, x)
}

// pageLimit is the limit of a page. Errors: fault.Validation for one that only an export may have.
func (e Exportable) pageLimit() (int, error) {
	switch {
	case e.Limit == 0:
		return defaultListLimit, nil
	case e.Limit > maxListLimit:
		return 0, fault.New(fault.Validation, "limit: expected 1 to %d; only an answer in CSV or SDF (header Accept) may have up to %d entries", maxListLimit, maxExportLimit)
	}
	return e.Limit, nil
}

// exportLimit is the limit of an export.
func (e Exportable) exportLimit() int {
	if e.Limit == 0 {
		return maxExportLimit
	}
	return e.Limit
}
