package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/contract"
)

const dockingPath = "/v1/molecular/docking"

// RunFilter narrows a list of runs; zero values do not.
type RunFilter struct {
	Page
	JobID  string
	Status []string
}

// ResultFilter narrows and sorts a list of results; zero values do not.
type ResultFilter struct {
	Page
	Status       []string
	MaxScore     *float64 // kcal/mol
	Interactions []string // chain:residueName:residue:type, each part perhaps "*"; all are asked for
	LigandID     string   // as the submission gave it
	Text         string   // part of a label or of a ligand's id
	PassedChecks *bool
	Sort         string // as the API names it: score, -score, ligandEfficiency, cnnScore, index, label, createdAt …
}

func (f ResultFilter) query() url.Values {
	query := f.Page.query()
	for _, status := range f.Status {
		query.Add("status", status)
	}
	for _, interaction := range f.Interactions {
		query.Add("interaction", interaction)
	}
	if f.MaxScore != nil {
		query.Set("maxScore", strconv.FormatFloat(*f.MaxScore, 'g', -1, 64))
	}
	if f.LigandID != "" {
		query.Set("ligandId", f.LigandID)
	}
	if f.Text != "" {
		query.Set("q", f.Text)
	}
	if f.PassedChecks != nil {
		query.Set("passedChecks", strconv.FormatBool(*f.PassedChecks))
	}
	if f.Sort != "" {
		query.Set("sort", f.Sort)
	}
	return query
}

// DockingRuns reads a page of the account's runs.
func (c *Client) DockingRuns(ctx context.Context, filter RunFilter) (Answer[contract.DockingRunList], error) {
	query := filter.query()
	if filter.JobID != "" {
		query.Set("jobId", filter.JobID)
	}
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	return ask[contract.DockingRunList](ctx, c, call{method: http.MethodGet, path: dockingPath + "/runs", query: query})
}

// DockingRun reads a run, by its id or by the name that its submission gave it.
func (c *Client) DockingRun(ctx context.Context, runID string) (Answer[contract.DockingRun], error) {
	return ask[contract.DockingRun](ctx, c, call{method: http.MethodGet, path: runPath(runID, "")})
}

// RunOfJob finds the run of a docking job; found is false for a job that has none, or none yet.
func (c *Client) RunOfJob(ctx context.Context, jobID string) (run contract.DockingRun, found bool, err error) {
	runs, err := c.DockingRuns(ctx, RunFilter{Page: Page{Limit: 1}, JobID: jobID})
	if err != nil {
		return contract.DockingRun{}, false, err
	}
	for _, run := range runs.Body.Runs {
		if run.JobID == jobID {
			return run, true, nil
		}
	}
	return contract.DockingRun{}, false, nil
}

// DockingResults reads a page of a run's results.
func (c *Client) DockingResults(
	ctx context.Context, runID string, filter ResultFilter,
) (Answer[contract.DockingResultList], error) {
	return ask[contract.DockingResultList](ctx, c, call{
		method: http.MethodGet, path: runPath(runID, "/results"), query: filter.query(),
	})
}

// AllDockingResults reads every page of a run's results as one.
func (c *Client) AllDockingResults(ctx context.Context, runID string, filter ResultFilter) ([]contract.DockingResult, error) {
	var all []contract.DockingResult
	for filter.Limit = contract.MaxPage; ; {
		page, err := c.DockingResults(ctx, runID, filter)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Body.Results...)
		if page.Body.NextCursor == nil {
			return all, nil
		}
		filter.Cursor = *page.Body.NextCursor
	}
}

// The media types that ExportResults knows.
const (
	MediaCSV = "text/csv"
	MediaSDF = "chemical/x-mdl-sdfile"
)

// ExportResults writes a run's results to the file at destination, as a table (MediaCSV) or as structures (MediaSDF). The file
// appears under its name only when it is whole. The filter's Limit may be up to 10,000; 0 means all.
func (c *Client) ExportResults(ctx context.Context, runID string, filter ResultFilter, mediaType, destination string) error {
	return c.saveAnswer(ctx, call{
		method: http.MethodGet, path: runPath(runID, "/results"), query: filter.query(),
		header: map[string]string{"Accept": mediaType},
	}, destination)
}

// Bundle writes a run's provenance bundle, a zip of an RO-Crate, to the file at destination, which appears under its name only
// when it is whole.
func (c *Client) Bundle(ctx context.Context, runID, destination string) error {
	return c.saveAnswer(ctx, call{method: http.MethodGet, path: runPath(runID, "/bundle"),
		header: map[string]string{"Accept": "application/zip"}}, destination)
}

// DockingPoses reads a page of a result's poses.
func (c *Client) DockingPoses(ctx context.Context, resultID string, page Page) (Answer[contract.DockingPoseList], error) {
	path := dockingPath + "/results/" + url.PathEscape(resultID) + "/poses"
	return ask[contract.DockingPoseList](ctx, c, call{method: http.MethodGet, path: path, query: page.query()})
}

// Interactions reads the contacts of a pose; types narrows them to these, none of them does not.
func (c *Client) Interactions(ctx context.Context, poseID string, types []string) (Answer[contract.DockingInteractions], error) {
	query := url.Values{}
	for _, kind := range types {
		query.Add("type", kind)
	}
	path := dockingPath + "/poses/" + url.PathEscape(poseID) + "/interactions"
	return ask[contract.DockingInteractions](ctx, c, call{method: http.MethodGet, path: path, query: query})
}

// ResolveLigand looks a name, a synonym or a component id up.
func (c *Client) ResolveLigand(ctx context.Context, query string) (Answer[contract.LigandCandidates], error) {
	return ask[contract.LigandCandidates](ctx, c, call{
		method: http.MethodPost, path: dockingPath + "/ligands/resolve", body: map[string]string{"query": query}, idempotent: true,
	})
}

// Reproduce submits a run again with its inputs and its seed pinned. It repeats itself safely under a key of its own.
func (c *Client) Reproduce(ctx context.Context, runID string) (Answer[contract.DockingReproduceResponse], error) {
	return ask[contract.DockingReproduceResponse](ctx, c, call{
		method: http.MethodPost, path: runPath(runID, "/reproduce"), idempotent: true,
		header: map[string]string{"Idempotency-Key": uuid.NewString()},
	})
}

func runPath(runID, rest string) string { return dockingPath + "/runs/" + url.PathEscape(runID) + rest }
