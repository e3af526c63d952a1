package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/internal/job"
)

const blastPath = "/v1/molecular/blast"

// SequenceDatabase is a BLAST database of the deployment.
type SequenceDatabase struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	ReleasedOn string `json:"releasedOn"` // YYYY-MM-DD
	Type       string `json:"type"`       // prot or nucl
	Checksum   string `json:"checksum"`
	Title      string `json:"title"`
	Sequences  int64  `json:"sequences"`
	Residues   int64  `json:"residues"` // bases of a nucleotide database
	ByteSize   int64  `json:"byteSize"` // of its files
}

// SequenceDatabases are those of the deployment, by name and then from the newest release to the oldest.
type SequenceDatabases struct {
	Document
	Databases []SequenceDatabase `json:"databases"`
}

// BlastSearch is one search job. What is nil is not known yet.
type BlastSearch struct {
	Document
	JobID    string           `json:"jobId"`
	Program  string           `json:"program"` // blastp or blastn
	Version  *string          `json:"version"` // of BLAST+
	Status   job.Status       `json:"status"`
	Database SequenceDatabase `json:"database"` // without title and size
	Counts   struct {
		Queries   *int  `json:"queries"`
		Completed int   `json:"completed"`
		Failed    int   `json:"failed"`
		Hits      int64 `json:"hits"`
	} `json:"counts"` // so far
	CreatedAt time.Time `json:"createdAt"`
}

// BlastQuery is one query of a search, with its best hit.
type BlastQuery struct {
	Index            int      `json:"index"` // its place in the file, from 0
	QueryID          *string  `json:"queryId"`
	Title            *string  `json:"title"`
	Length           *int64   `json:"length"`
	Status           string   `json:"status"` // PENDING, SEARCHING, COMPLETED or FAILED
	FailureStep      *string  `json:"failureStep"`
	Error            *string  `json:"error"`
	Hits             int      `json:"hits"`
	BestEvalue       *float64 `json:"bestEvalue"`
	BestBitScore     *float64 `json:"bestBitScore"`
	BestSubjectID    *string  `json:"bestSubjectId"`
	BestSubjectTitle *string  `json:"bestSubjectTitle"`
}

// BlastQueries is a page of a search's queries.
type BlastQueries struct {
	Document
	Queries    []BlastQuery `json:"queries"`
	NextCursor *string      `json:"nextCursor"`
}

// QueryFilter narrows and sorts a list of queries; zero values do not.
type QueryFilter struct {
	Page
	Status []string
	Text   string // part of an id or a title, of the query's or its best hit's
	Sort   string // as the API names it: index, evalue, hits, length; a minus turns it around
}

// BlastHSP is a local alignment. Positions count from 1 and include both ends.
type BlastHSP struct {
	BitScore         float64 `json:"bitScore"`
	RawScore         int     `json:"rawScore"`
	Evalue           float64 `json:"evalue"`
	Identities       int     `json:"identities"`
	IdentityPercent  float64 `json:"identityPercent"`
	Positives        int     `json:"positives"`
	Gaps             int     `json:"gaps"`
	AlignmentLength  int     `json:"alignmentLength"`
	QueryFrom        int64   `json:"queryFrom"`
	QueryTo          int64   `json:"queryTo"`
	SubjectFrom      int64   `json:"subjectFrom"` // greater than SubjectTo on the minus strand
	SubjectTo        int64   `json:"subjectTo"`
	QueryStrand      *string `json:"queryStrand"` // nil for proteins
	SubjectStrand    *string `json:"subjectStrand"`
	QueryAlignment   string  `json:"queryAlignment"`
	SubjectAlignment string  `json:"subjectAlignment"`
	Midline          string  `json:"midline"`
}

// BlastHit is a database sequence that a query has found.
type BlastHit struct {
	QueryIndex           int        `json:"queryIndex"`
	QueryID              string     `json:"queryId"`
	Rank                 int        `json:"rank"` // among the query's hits, from 1
	SubjectID            string     `json:"subjectId"`
	SubjectTitle         string     `json:"subjectTitle"`
	SubjectLength        int64      `json:"subjectLength"`
	QueryCoveragePercent float64    `json:"queryCoveragePercent"`
	AlignmentsOmitted    bool       `json:"alignmentsOmitted"` // the three lines of each alignment are empty
	HSPs                 []BlastHSP `json:"hsps"`              // at least one, best first
}

// BlastHits is a page of hits, in the order of the queries and best first.
type BlastHits struct {
	Document
	Hits       []BlastHit `json:"hits"`
	NextCursor *string    `json:"nextCursor"`
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
func (c *Client) SequenceDatabases(ctx context.Context, kind string) (SequenceDatabases, error) {
	query := url.Values{}
	if kind != "" {
		query.Set("type", kind)
	}
	var databases SequenceDatabases
	err := c.do(ctx, call{method: http.MethodGet, path: blastPath + "/databases", query: query, into: &databases})
	return databases, err
}

// BlastSearch reads a search, by the id of its job.
func (c *Client) BlastSearch(ctx context.Context, jobID string) (BlastSearch, error) {
	var search BlastSearch
	err := c.do(ctx, call{method: http.MethodGet, path: searchPath(jobID, ""), into: &search})
	return search, err
}

// BlastQueries reads a page of a search's queries.
func (c *Client) BlastQueries(ctx context.Context, jobID string, filter QueryFilter) (BlastQueries, error) {
	query := filter.query()
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	for name, value := range map[string]string{"q": filter.Text, "sort": filter.Sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var queries BlastQueries
	err := c.do(ctx, call{method: http.MethodGet, path: searchPath(jobID, "/queries"), query: query, into: &queries})
	return queries, err
}

// BlastHits reads a page of a search's hits.
func (c *Client) BlastHits(ctx context.Context, jobID string, filter HitFilter) (BlastHits, error) {
	var hits BlastHits
	asked := filter.call(jobID)
	asked.into = &hits
	err := c.do(ctx, asked)
	return hits, err
}

// ExportHits writes hits in the twelve columns of BLAST's tabular format to the file at destination, as MediaTSV or MediaCSV. The file
// appears under its name only when it is whole. The filter's Limit may be up to 1,000,000; 0 means that.
func (c *Client) ExportHits(ctx context.Context, jobID string, filter HitFilter, mediaType, destination string) error {
	asked := filter.call(jobID)
	asked.header = map[string]string{"Accept": mediaType}
	return c.save(ctx, asked, destination)
}

func searchPath(jobID, rest string) string {
	return blastPath + "/searches/" + url.PathEscape(jobID) + rest
}
