package searches

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
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

	studioTemplate = template.Must(template.New("studio").Funcs(studioWords).Parse(studioHTML))
	// studioPolicy lets the page's own style in and nothing else: no script runs, whatever a sequence is called.
	studioPolicy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", styleDigest())
)

func styleDigest() string {
	sum := sha256.Sum256([]byte(studioCSS))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Mount adds the pages that uiLinks lead to. signedIn comes before them: it lets browsers with a session through and puts whose it
// is into the request's context.
func (s *Service) Mount(app *fiber.App, signedIn fiber.Handler) {
	app.Get(studioPath, signedIn, s.studioOf(s.studioHome))
	app.Get(studioPath+"/:jobId", signedIn, s.studioOf(s.studioSearch))
	app.Get(studioPath+"/:jobId/queries/:index", signedIn, s.studioOf(s.studioQuery))
}

// studioPage is what a page shows: one subject, or a message in its place.
type studioPage struct {
	Title   string
	Style   template.CSS
	Refresh int // seconds; 0 for never
	Up      []studioLink
	Message string
	Home    *BlastSearchList
	Search  *studioSearch
	Query   *studioQuery
	release func() // lets go of what the page took to be made; nil when that is nothing
}

type studioLink struct{ Name, URL string }

// studioSearch is the page of a search.
type studioSearch struct {
	Search  BlastSearch
	Queries []BlastQuery
	Sort    string
	More    string // address of the next page of queries; "" on the last
}

// Ended counts the queries with an outcome.
func (p studioSearch) Ended() int { return p.Search.Counts.Completed + p.Search.Counts.Failed }

// studioQuery is the page of a query.
type studioQuery struct {
	Query BlastQuery
	Hits  []studioHit
	More  string // address of the next page of hits; "" on the last
	Gone  string // why the hits cannot be shown; "" when they can
}

// studioOf answers with a page. What another account has, and what nobody has, is one page; a link that cannot be read is another.
func (s *Service) studioOf(page func(context.Context, string, *fiber.Ctx) (studioPage, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		view, err := page(c.UserContext(), access.From(c.UserContext()).AccountID, c)
		if view.release != nil {
			defer view.release()
		}
		status := http.StatusOK
		switch {
		case fault.Is(err, fault.NotFound):
			status = http.StatusNotFound
			view = studioPage{Title: "Not found", Message: "There is nothing of that name in your account. Are you signed in to the right one?"}
		case fault.Is(err, fault.Validation), fault.Is(err, fault.InvalidCursor):
			status = http.StatusBadRequest
			view = studioPage{Title: "This link cannot be read", Message: "Use the link as it stands in the answer of the API, unchanged."}
		case err != nil:
			return err
		}
		view.Style = template.CSS(studioCSS) //nolint:gosec // G203: the file beside this one
		var text bytes.Buffer
		if err := studioTemplate.Execute(&text, view); err != nil {
			return fmt.Errorf("write the studio: %w", err)
		}
		c.Set(fiber.HeaderContentSecurityPolicy, studioPolicy)
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.Status(status).Send(text.Bytes())
	}
}

func (s *Service) studioHome(ctx context.Context, accountID string, _ *fiber.Ctx) (studioPage, error) {
	list, err := s.Searches(ctx, accountID, SearchQuery{Query: page.Query{Limit: homeSearches}})
	return studioPage{Title: "Sequence searches", Home: &list}, err
}

func (s *Service) studioSearch(ctx context.Context, accountID string, c *fiber.Ctx) (studioPage, error) {
	search, err := s.Search(ctx, accountID, c.Params("jobId"))
	if err != nil {
		return studioPage{}, err
	}
	query := QueriesQuery{Limit: pageQueries, Cursor: c.Query("cursor"), Sort: c.Query("sort", "index")}
	if _, known := sorts[query.Sort]; !known {
		return studioPage{}, fault.New(fault.Validation, "sort: the page knows no such order")
	}
	list, err := s.Queries(ctx, accountID, search.JobID, query)
	if err != nil {
		return studioPage{}, err
	}
	view := studioSearch{Search: search, Queries: list.Queries, Sort: query.Sort}
	if list.NextCursor != nil {
		view.More = search.UILinks.Studio + "?" + url.Values{"sort": {query.Sort}, "cursor": {*list.NextCursor}}.Encode()
	}
	shown := studioPage{Title: search.Program + " against " + search.Database.Name, Search: &view}
	if !job.Status(search.Status).Terminal() && query.Cursor == "" { // what somebody reads through does not move
		shown.Refresh = refreshSeconds
	}
	return shown, nil
}

func (s *Service) studioQuery(ctx context.Context, accountID string, c *fiber.Ctx) (studioPage, error) {
	index, err := strconv.ParseInt(c.Params("index"), 10, 32)
	if err != nil || index < 0 {
		return studioPage{}, noQuery()
	}
	jobID := c.Params("jobId")
	query, err := s.Query(ctx, accountID, jobID, int(index))
	if err != nil {
		return studioPage{}, err
	}
	view := studioQuery{Query: query}
	list, release, err := s.Hits(ctx, accountID, jobID, query.Index, HitsQuery{Limit: pageHits, Cursor: c.Query("cursor")})
	switch {
	case fault.Is(err, fault.ChecksumMismatch):
		view.Gone = "The stored hits of this query are gone, or are not what the search has written. Submit the search again."
	case err != nil:
		return studioPage{}, err
	}
	for _, hit := range list.Hits {
		view.Hits = append(view.Hits, studioHit{BlastHit: hit, length: query.Length})
	}
	if list.NextCursor != nil {
		view.More = query.UILinks.Studio + "?" + url.Values{"cursor": {*list.NextCursor}}.Encode()
	}
	return studioPage{Title: nameOf(query), Query: &view, Up: []studioLink{{"search", linkTo(jobID)}}, release: release}, nil
}
