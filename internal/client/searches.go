package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/molfabric/molfabric/internal/contract"
)

const blastPath = "/v1/molecular/blast"

// QueryFilter narrows and sorts a list of queries; zero values do not.
type QueryFilter struct {
	Page
	Status []string
	Text   string // part of an id or a title, of the query's or its best hit's
	Sort   string // as the API names it: index, evalue, hits, length; a minus turns it around
}

// HitFilter narrows a list of hits; zero values do not.
type HitFilter struct {
	Page
	Query       *int // the place of one query; nil for all
	MaxEvalue   *float64
	MinIdentity *float64 // percent
}

func (f HitFilter) call(jobID string) call {
	query := f.Page.query()
	for name, bound := range map[string]*float64{"maxEvalue": f.MaxEvalue, "minIdentity": f.MinIdentity} {
		if bound != nil {
			query.Set(name, strconv.FormatFloat(*bound, 'g', -1, 64))
		}
	}
	path := searchPath(jobID, "/hits")
	if f.Query != nil {
		path = searchPath(jobID, "/queries/"+strconv.Itoa(*f.Query)+"/hits")
	}
	return call{method: http.MethodGet, path: path, query: query}
}

// MediaTSV is a media type that ExportHits knows beside MediaCSV.
const MediaTSV = "text/tab-separated-values"

// SequenceDatabases lists the databases that can be searched; of a type, prot or nucl, unless it is "". It needs no credential.
func (c *Client) SequenceDatabases(ctx context.Context, kind string) (Answer[contract.DatabaseList], error) {
	query := url.Values{}
	if kind != "" {
		query.Set("type", kind)
	}
	return ask[contract.DatabaseList](ctx, c, call{method: http.MethodGet, path: blastPath + "/databases", query: query})
}

// BlastSearch reads a search, by the id of its job.
func (c *Client) BlastSearch(ctx context.Context, jobID string) (Answer[contract.BlastSearch], error) {
	return ask[contract.BlastSearch](ctx, c, call{method: http.MethodGet, path: searchPath(jobID, "")})
}

// BlastQueries reads a page of a search's queries.
func (c *Client) BlastQueries(ctx context.Context, jobID string, filter QueryFilter) (Answer[contract.BlastQueryList], error) {
	query := filter.query()
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	for name, value := range map[string]string{"q": filter.Text, "sort": filter.Sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return ask[contract.BlastQueryList](ctx, c, call{method: http.MethodGet, path: searchPath(jobID, "/queries"), query: query})
}

// BlastHits reads a page of a search's hits.
func (c *Client) BlastHits(ctx context.Context, jobID string, filter HitFilter) (Answer[contract.BlastHitList], error) {
	return ask[contract.BlastHitList](ctx, c, filter.call(jobID))
}

// ExportHits writes hits in the twelve columns of BLAST's tabular format to the file at destination, as MediaTSV or MediaCSV. The
// file appears under its name only when it is whole. The filter's Limit may be up to 1,000,000; 0 means that.
func (c *Client) ExportHits(ctx context.Context, jobID string, filter HitFilter, mediaType, destination string) error {
	asked := filter.call(jobID)
	asked.header = map[string]string{"Accept": mediaType}
	return c.saveAnswer(ctx, asked, destination)
}

func searchPath(jobID, rest string) string {
	return blastPath + "/searches/" + url.PathEscape(jobID) + rest
}
