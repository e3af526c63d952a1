package searches

import (
	"context"
	_ "embed"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// studioPath is where the group's pages are served.
	studioPath = "/studio/searches"
	// refreshSeconds is how often a page of a search that runs is read again.
	refreshSeconds = 5
	// homeSearches is how many searches the first page lists.
	homeSearches = 20
	// pageQueries is how many queries a page lists.
	pageQueries = 50
	// pageHits is how many hits a page shows with their alignments.
	pageHits = 25
)

var (
	//go:embed studio/studio.html
	studioHTML string
	//go:embed studio/studio.css
	studioCSS string

	studioPages = page.New(page.Source{HTML: studioHTML, CSS: studioCSS, Words: studioWords,
		Home: page.Link{Name: "searches", URL: studioPath}})
)

// Mount adds the pages that uiLinks lead to. signedIn comes before them: it lets browsers with a session through and puts whose it
// is into the request's context.
func (s *Service) Mount(app *fiber.App, signedIn fiber.Handler) {
	app.Get(studioPath, signedIn, s.studioOf(s.studioHome))
	app.Get(studioPath+"/:jobId", signedIn, s.studioOf(s.studioSearch))
	app.Get(studioPath+"/:jobId/queries/:index", signedIn, s.studioQuery)
}

// studioBody is what a page shows: one of these.
type studioBody struct {
	Home   *contract.BlastSearchList
	Search *studioSearch
	Query  *studioQuery
}

// studioSearch is the page of a search.
type studioSearch struct {
	Search  contract.BlastSearch
	Queries []contract.BlastQuery
	Sort    string
	More    string // address of the next page of queries; "" on the last
}

// Ended counts the queries with an outcome.
func (p studioSearch) Ended() int { return p.Search.Counts.Completed + p.Search.Counts.Failed }

// studioQuery is the page of a query.
type studioQuery struct {
	Query contract.BlastQuery
	Hits  []studioHit
	More  string // address of the next page of hits; "" on the last
	Gone  string // why the hits cannot be shown; "" when they can
}

// studioOf answers with a page of the caller's account.
func (s *Service) studioOf(view func(context.Context, string, *fiber.Ctx) (page.View, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		shown, err := view(c.UserContext(), access.From(c.UserContext()).AccountID, c)
		return studioPages.SendOr(c, shown, err)
	}
}

func (s *Service) studioHome(ctx context.Context, accountID string, _ *fiber.Ctx) (page.View, error) {
	searches, err := s.Searches(ctx, accountID, SearchQuery{Query: list.Query{Limit: homeSearches}})
	return page.View{Title: "Sequence searches", Body: studioBody{Home: &searches}}, err
}

func (s *Service) studioSearch(ctx context.Context, accountID string, c *fiber.Ctx) (page.View, error) {
	search, err := s.Search(ctx, accountID, c.Params("jobId"))
	if err != nil {
		return page.View{}, err
	}
	query := QueriesQuery{Limit: pageQueries, Cursor: c.Query("cursor"), Sort: c.Query("sort", "index")}
	if _, known := sorts[query.Sort]; !known {
		return page.View{}, fault.New(fault.Validation, "sort: the page knows no such order")
	}
	list, err := s.Queries(ctx, accountID, search.JobID, query)
	if err != nil {
		return page.View{}, err
	}
	view := studioSearch{Search: search, Queries: list.Queries, Sort: query.Sort}
	if list.NextCursor != nil {
		view.More = search.UILinks.Studio + "?" + url.Values{"sort": {query.Sort}, "cursor": {*list.NextCursor}}.Encode()
	}
	shown := page.View{Title: search.Program + " against " + search.Database.Name, Body: studioBody{Search: &view}}
	if !search.Status.Terminal() && query.Cursor == "" { // what somebody reads through does not move
		shown.Refresh = refreshSeconds
	}
	return shown, nil
}

func (s *Service) studioQuery(c *fiber.Ctx) error {
	view, release, err := s.queryPage(c.UserContext(), access.From(c.UserContext()).AccountID, c)
	if release != nil {
		defer release()
	}
	return studioPages.SendOr(c, view, err)
}

// queryPage is the page of a query. The caller calls release, where there is one, when the page was sent.
func (s *Service) queryPage(ctx context.Context, accountID string, c *fiber.Ctx) (shown page.View, release func(), err error) {
	index, err := strconv.ParseInt(c.Params("index"), 10, 32)
	if err != nil || index < 0 {
		return page.View{}, nil, noQuery()
	}
	jobID := c.Params("jobId")
	query, err := s.Query(ctx, accountID, jobID, int(index))
	if err != nil {
		return page.View{}, nil, err
	}
	view := studioQuery{Query: query}
	hits, release, err := s.Hits(ctx, accountID, jobID, query.Index, HitsQuery{Limit: pageHits, Cursor: c.Query("cursor")})
	switch {
	case fault.Is(err, fault.ChecksumMismatch):
		view.Gone = "The stored hits of this query are gone, or are not what the search has written. Submit the search again."
	case err != nil:
		return page.View{}, nil, err
	}
	for _, hit := range hits.Hits {
		view.Hits = append(view.Hits, studioHit{BlastHit: hit, length: query.Length})
	}
	if hits.NextCursor != nil {
		view.More = query.UILinks.Studio + "?" + url.Values{"cursor": {*hits.NextCursor}}.Encode()
	}
	return page.View{Title: nameOf(query), Up: []page.Link{{Name: "search", URL: linkTo(jobID)}}, Body: studioBody{Query: &view}},
		release, nil
}
