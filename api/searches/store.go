package searches

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// store reads the tables that the scheduler writes. Every query names the account, so that what another tenant has is as if
// absent.
type store struct{ db *sqlx.DB }

type searchRow struct {
	JobID              string          `db:"job_id"`
	JobName            string          `db:"job_name"`
	Program            string          `db:"program"`
	Version            sql.NullString  `db:"program_version"`
	Status             job.Status      `db:"status"`
	DatabaseName       string          `db:"database_name"`
	DatabaseVersion    string          `db:"database_version"`
	DatabaseType       string          `db:"database_type"`
	DatabaseReleasedOn string          `db:"database_released_on"`
	DatabaseChecksum   string          `db:"database_checksum"`
	DatabaseSequences  int64           `db:"database_sequences"`
	DatabaseResidues   int64           `db:"database_residues"`
	Parameters         json.RawMessage `db:"parameters"`
	QueryCount         sql.Null[int]   `db:"query_count"`
	CompletedCount     int             `db:"completed_count"`
	FailedCount        int             `db:"failed_count"`
	HitCount           int64           `db:"hit_count"`
	CreatedAt          time.Time       `db:"created_at"`
	StartedAt          sql.NullTime    `db:"started_at"`
	FinishedAt         sql.NullTime    `db:"finished_at"`
}

func (r searchRow) position() list.Position { return list.Position{At: r.CreatedAt, ID: r.JobID} }

// newest sorts searches.
var newest = list.Newest("x.created_at", "x.job_id")

// searchFilter narrows the list of searches. Zero members filter nothing.
type searchFilter struct {
	Program, Database string
	Statuses          []string
}

// searches reads up to limit searches behind a position, newest first.
func (s store) searches(
	ctx context.Context, accountID string, f searchFilter, from *list.Position, limit int,
) ([]searchRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Equal("x.program", f.Program)
	c.Equal("x.database_name", f.Database)
	c.In("j.status", f.Statuses)
	c.Behind(newest, from.Values()...)
	return s.selectSearches(ctx, c, limit)
}

// search reads one search. Errors: fault.NotFound, fault.FilesDeleted.
func (s store) search(ctx context.Context, accountID, jobID string) (searchRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.job_id = ?", jobID)
	rows, err := s.selectSearches(ctx, c, 1)
	switch {
	case err != nil:
		return searchRow{}, err
	case len(rows) == 0:
		return searchRow{}, s.orDeleted(ctx, accountID, jobID)
	}
	return rows[0], nil
}

// orDeleted is why a search was not found: it is deleted, or there is none.
func (s store) orDeleted(ctx context.Context, accountID, jobID string) error {
	var at time.Time
	err := s.db.GetContext(ctx, &at, `SELECT files_deleted_at FROM jobs WHERE account_id = $1 AND id = $2
		AND files_deleted_at IS NOT NULL
		AND simulator = ANY($3)`, accountID, jobID, pq.Array([]string{blast.IDProtein, blast.IDNucleotide}))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return noSearch()
	case err != nil:
		return wrap(err, "looking for a deleted search")
	}
	return erasure.Gone(at)
}

func (s store) selectSearches(ctx context.Context, c *list.Conditions, limit int) ([]searchRow, error) {
	var rows []searchRow
	err := s.db.SelectContext(ctx, &rows, `SELECT x.job_id, j.job_name, x.program, x.program_version, j.status, x.database_name,
		x.database_version, x.database_type,
    x.database_released_on, x.database_checksum, x.database_sequences, x.database_residues, x.parameters, x.query_count,
    x.completed_count, x.failed_count,
    x.hit_count, x.created_at, j.started_at, j.finished_at
FROM searches x JOIN jobs j ON j.id = x.job_id WHERE `+c.String()+` ORDER BY `+newest.By()+` LIMIT `+c.Arg(limit), c.Args...)
	return rows, wrap(err, "reading searches")
}

type queryRow struct {
	Index            int               `db:"query_index"`
	QueryID          sql.NullString    `db:"query_id"`
	Title            sql.NullString    `db:"title"`
	Length           sql.Null[int64]   `db:"length"`
	Status           string            `db:"status"`
	FailureStep      sql.NullString    `db:"failure_step"`
	Error            sql.NullString    `db:"error"`
	Hits             int               `db:"hit_count"`
	BestEvalue       sql.Null[float64] `db:"best_evalue"`
	BestBitScore     sql.Null[float64] `db:"best_bit_score"`
	BestSubjectID    sql.NullString    `db:"best_subject_id"`
	BestSubjectTitle sql.NullString    `db:"best_subject_title"`
	HitsKey          sql.NullString    `db:"hits_key"`
	HitsOffset       int64             `db:"hits_offset"`
	HitsBytes        int64             `db:"hits_bytes"`
	SortKey          float64           `db:"sort_key"`
}

// queryFilter narrows lists of queries. Zero members filter nothing.
type queryFilter struct {
	Statuses  []string
	MinHits   int
	MaxEvalue *float64
	Text      string
}

func (f queryFilter) narrow(c *list.Conditions) {
	c.In("x.status", f.Statuses)
	if f.MinHits > 0 {
		c.Add("x.hit_count >= ?", f.MinHits)
	}
	c.AtMost("x.best_evalue", f.MaxEvalue)
	if f.Text != "" {
		text := c.Arg(f.Text)
		var columns []string
		for _, column := range []string{"query_id", "title", "best_subject_id", "best_subject_title"} {
			columns = append(columns, "position(lower("+text+") in lower(x."+column+")) > 0")
		}
		c.Add("(" + strings.Join(columns, " OR ") + ")")
	}
}

// queries reads up to limit queries of a search behind a place of an order.
func (s store) queries(
	ctx context.Context, accountID, jobID string, f queryFilter, o order, from *place, limit int,
) ([]queryRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.job_id = ?", jobID)
	f.narrow(c)
	o.behind(c, from)
	return s.selectQueries(ctx, c, o, limit)
}

// query reads one query of a search. found is false when the search has none of this index, or none yet.
func (s store) query(ctx context.Context, accountID, jobID string, index int) (row queryRow, found bool, err error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.job_id = ? AND x.query_index = ?", jobID, index)
	rows, err := s.selectQueries(ctx, c, order{}, 1)
	if err != nil || len(rows) == 0 {
		return queryRow{}, false, err
	}
	return rows[0], true, nil
}

// found reads up to limit queries with hits from an index on, in the order of the file; of those that have a better expectation
// value than maxEvalue, where it is not nil.
func (s store) found(ctx context.Context, accountID, jobID string, maxEvalue *float64, from, limit int) ([]queryRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.job_id = ? AND x.query_index >= ? AND x.hit_count > 0", jobID, min(from, math.MaxInt32))
	queryFilter{MaxEvalue: maxEvalue}.narrow(c)
	return s.selectQueries(ctx, c, order{}, limit)
}

func (s store) selectQueries(ctx context.Context, c *list.Conditions, o order, limit int) ([]queryRow, error) {
	var rows []queryRow
	err := s.db.SelectContext(ctx, &rows, `SELECT x.query_index, x.query_id, x.title, x.length, x.status, x.failure_step, x.error,
		x.hit_count, x.best_evalue,
    x.best_bit_score, x.best_subject_id, x.best_subject_title, x.hits_key, coalesce(x.hits_offset, 0) AS hits_offset,
    coalesce(x.hits_bytes, 0) AS hits_bytes,
    `+cmp.Or(o.key, "0::float8")+` AS sort_key
FROM search_queries x WHERE `+c.String()+` ORDER BY `+o.columns().By()+` LIMIT `+c.Arg(limit), c.Args...)
	return rows, wrap(err, "reading queries of a search")
}

// countQueries counts what queries lists.
func (s store) countQueries(ctx context.Context, accountID, jobID string, f queryFilter) (count int, err error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.job_id = ?", jobID)
	f.narrow(c)
	err = s.db.GetContext(ctx, &count, `SELECT count(*) FROM search_queries x WHERE `+c.String(), c.Args...)
	return count, wrap(err, "counting queries of a search")
}

type artifactRow struct {
	ID         string `db:"id"`
	Name       string `db:"name"`
	Role       string `db:"role"`
	StorageKey string `db:"storage_key"`
	SHA256     string `db:"sha256"`
	ByteSize   int64  `db:"byte_size"`
	MediaType  string `db:"media_type"`
	Format     string `db:"format"`
}

// artifacts reads the files of a search's last stage but logs, and what one stage leaves for the next, by name.
func (s store) artifacts(ctx context.Context, accountID, jobID string, roles []string, limit int) ([]artifactRow, error) {
	var rows []artifactRow
	err := s.db.SelectContext(ctx, &rows, `SELECT a.id, a.name, a.role, a.storage_key, a.sha256, a.byte_size, a.media_type, a.format
FROM artifacts a JOIN tasks t ON t.id = a.task_id JOIN jobs j ON j.id = a.job_id
WHERE a.account_id = $1 AND a.job_id = $2 AND a.role = ANY($3) AND t.stage_index = j.stage_count - 1 ORDER BY a.name LIMIT $4`,
		accountID, jobID, pq.Array(roles), limit)
	return rows, wrap(err, "reading the files of a search")
}

func wrap(err error, doing string) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
