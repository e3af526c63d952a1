// Package searches is the API group of sequence searches: what BLAST jobs have found, for their owner to find again in a year. It
// shows what the scheduler has stored and changes none of it. Hits are read from the object store where the search's tasks have
// left them, line by line, so that a page costs the same of a small search and of a large one. A search is submitted as a job, and
// its databases are another group's.
package searches

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path"
	"regexp"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

const (
	// maxReaders bounds the pages of hits that this process makes at once: each may hold a page and a very long hit.
	maxReaders = 32
	// maxAccountReaders bounds those of one account.
	maxAccountReaders = 8
	// downloadLifetime is how long an address of a file is good: long enough to begin a download, short enough that a leaked one
	// is soon worthless.
	downloadLifetime = 15 * time.Minute
	// maxArtifacts bounds the files that a search names; the engine leaves four.
	maxArtifacts = 20
)

// Deps is what a Service needs; all are required.
type Deps struct {
	DB      *sqlx.DB
	Objects *object.Store
	Log     *slog.Logger
	Now     func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	deps    Deps
	store   store
	readers *throttle.Slots
	exports *list.Exports
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	return &Service{
		deps: deps, store: store{db: deps.DB}, readers: throttle.NewSlots("pages of hits", maxReaders, maxAccountReaders),
		exports: list.NewExports(deps.Log),
	}
}

// Searches reads a page of the account's searches, newest first. Errors: fault.InvalidCursor.
func (s *Service) Searches(ctx context.Context, accountID string, query SearchQuery) (contract.BlastSearchList, error) {
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.BlastSearchList{}, err
	}
	filter := searchFilter{Program: query.Program, Database: query.Database, Statuses: query.Status}
	rows, err := s.store.searches(ctx, accountID, filter, from, query.Limit+1)
	if err != nil {
		return contract.BlastSearchList{}, err
	}
	rows, next := list.Cut(rows, query.Limit, searchRow.position)
	page := contract.BlastSearchList{Searches: make([]contract.BlastSearch, len(rows)), NextCursor: next}
	for i, row := range rows {
		if page.Searches[i], err = row.view(); err != nil {
			return contract.BlastSearchList{}, err
		}
	}
	return page, nil
}

// Search reads one of the account's searches, with the files of the whole once it has ended. Errors: fault.NotFound.
func (s *Service) Search(ctx context.Context, accountID, jobID string) (contract.BlastSearch, error) {
	row, err := s.find(ctx, accountID, jobID)
	if err != nil {
		return contract.BlastSearch{}, err
	}
	view, err := row.view()
	if err != nil || !row.Status.Terminal() {
		return view, err
	}
	view.Artifacts, err = s.artifacts(ctx, accountID, jobID)
	return view, err
}

// artifacts are the files of a whole search with addresses to fetch them from.
func (s *Service) artifacts(ctx context.Context, accountID, jobID string) ([]contract.BlastArtifact, error) {
	roles := []string{string(engines.RoleResult), string(engines.RoleProvenance)}
	rows, err := s.store.artifacts(ctx, accountID, jobID, roles, maxArtifacts)
	if err != nil {
		return nil, err
	}
	files := make([]contract.BlastArtifact, len(rows))
	for i, row := range rows {
		url, err := s.deps.Objects.PresignGet(ctx, row.StorageKey, path.Base(row.Name), downloadLifetime)
		if err != nil {
			return nil, fmt.Errorf("signing artifact %s: %w", row.ID, err)
		}
		files[i] = contract.BlastArtifact{
			ArtifactID: row.ID, Name: row.Name, Role: row.Role, SHA256: row.SHA256, ByteSize: row.ByteSize,
			MediaType: row.MediaType, Format: row.Format, URL: url,
			ExpiresAt: s.deps.Now().UTC().Add(downloadLifetime).Truncate(time.Second),
		}
	}
	return files, nil
}

// queryList is what a query for a search's queries comes to.
type queryList struct {
	filter queryFilter
	order  order
	bound  list.Bound
	from   *place
}

func (s *Service) queryListOf(ctx context.Context, accountID, jobID string, query QueriesQuery) (l queryList, err error) {
	l.filter = queryFilter{Statuses: query.Status, MinHits: query.MinHits, MaxEvalue: query.MaxEvalue.OrNil(), Text: query.Q}
	if err := finite("maxEvalue", l.filter.MaxEvalue); err != nil {
		return l, err
	}
	l.order = sorts[query.Sort]
	l.bound = list.Bind("queries", jobID, query.Sort, l.filter)
	if l.from, err = list.ReadBound[place](query.Cursor, l.bound); err != nil {
		return l, err
	}
	_, err = s.find(ctx, accountID, jobID)
	return l, err
}

// Queries reads a page of a search's queries. Errors: fault.NotFound, fault.Validation, fault.InvalidCursor.
func (s *Service) Queries(ctx context.Context, accountID, jobID string, query QueriesQuery) (contract.BlastQueryList, error) {
	l, err := s.queryListOf(ctx, accountID, jobID, query)
	if err != nil {
		return contract.BlastQueryList{}, err
	}
	limit, err := list.PageLimit(query.Limit, maxQueryRows, "as a table")
	if err != nil {
		return contract.BlastQueryList{}, err
	}
	rows, err := s.store.queries(ctx, accountID, jobID, l.filter, l.order, l.from, limit+1)
	if err != nil {
		return contract.BlastQueryList{}, err
	}
	rows, next := list.Cut(rows, limit, func(r queryRow) place {
		at := r.place()
		at.Bound = l.bound
		return at
	})
	page := contract.BlastQueryList{Queries: make([]contract.BlastQuery, len(rows)), NextCursor: next}
	for i, row := range rows {
		page.Queries[i] = row.view(jobID)
	}
	return page, nil
}

// Query reads one query of a search. Errors: fault.NotFound.
func (s *Service) Query(ctx context.Context, accountID, jobID string, index int) (contract.BlastQuery, error) {
	if _, err := s.find(ctx, accountID, jobID); err != nil {
		return contract.BlastQuery{}, err
	}
	row, known, err := s.store.query(ctx, accountID, jobID, index)
	if err == nil && !known {
		err = noQuery()
	}
	return row.view(jobID), err
}

var jobForm = regexp.MustCompile(`^job_[0-9a-f]{32}$`)

// find finds a search. Errors: fault.NotFound for one that another account has, for an unknown one, and for what cannot be an id.
func (s *Service) find(ctx context.Context, accountID, jobID string) (searchRow, error) {
	if !jobForm.MatchString(jobID) {
		return searchRow{}, noSearch()
	}
	return s.store.search(ctx, accountID, jobID)
}

func noSearch() error { return fault.New(fault.NotFound, "jobId: there is no such search") }

func noQuery() error {
	return fault.New(fault.NotFound, "index: the search has no such query, or has not read it yet; GET …/queries lists those "+
		"that there are")
}

// finite refuses what no comparison can use.
func finite(name string, bound *float64) error {
	if bound != nil && (math.IsNaN(*bound) || math.IsInf(*bound, 0)) {
		return fault.New(fault.Validation, "%s: expected a number", name)
	}
	return nil
}

// decode reads a document of a row.
func decode(text json.RawMessage, into any, what string) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the %s: %w", what, err)
	}
	return nil
}
