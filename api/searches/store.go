package searches

import (
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

	"github.com/molfabric/molfabric/api/page"
)

// store reads the tables that the scheduler writes. Every query names the account, so that what another tenant has is as if
// absent.
type store struct{ db *sqlx.DB }

// conditions are the parts of a WHERE clause and their arguments.
type conditions struct {
	where []string
	args  []any
}

// owned begins with what is the account's.
func owned(accountID string) *conditions {
	c := &conditions{}
	c.add("x.account_id = ?", accountID)
	return c
}

// add adds a condition; each ? stands for the next of the values.
func (c *conditions) add(condition string, values ...any) {
	for _, value := range values {
		condition = strings.Replace(condition, "?", c.arg(value), 1)
	}
	c.where = append(c.where, condition)
}

// arg adds an argument and returns its place.
func (c *conditions) arg(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

func (c *conditions) String() string { return strings.Join(c.where, " AND ") }

type searchRow struct {
	JobID              string          `db:"job_id"`
	JobName            string          `db:"job_name"`
	Program            string          `db:"program"`
	Version            sql.NullString  `db:"program_version"`
	Status             string          `db:"status"`
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

func (r searchRow) position() page.Position { return page.Position{At: r.CreatedAt, ID: r.JobID} }

// searchFilter narrows the list of searches. Zero members filter nothing.
type searchFilter struct {
	Program, Database string
	Statuses          []string
}

// searches reads up to limit searches behind a position, newest first.
func (s store) searches(ctx context.Context, accountID string, f searchFilter, from *page.Position, limit int) ([]searchRow, error) {
	c := owned(accountID)
	if f.Program != "" {
		c.add("x.program = ?", f.Program)
	}
	if f.Database != "" {
		c.add("x.database_name = ?", f.Database)
	}
	if len(f.Statuses) > 0 {
		c.add("j.status = ANY(?)", pq.Array(f.Statuses))
	}
	if from != nil {
		c.add("(x.created_at, x.job_id) < (?, ?)", from.At, from.ID)
	}
	return s.selectSearches(ctx, c, limit)
}

// search reads one search. Errors: fault.NotFound.
func (s store) search(ctx context.Context, accountID, jobID string) (searchRow, error) {
	c := owned(accountID)
	c.add("x.job_id = ?", jobID)
	rows, err := s.selectSearches(ctx, c, 1)
	switch {
	case err != nil:
		return searchRow{}, err
	case len(rows) == 0:
		return searchRow{}, noSearch()
	}
	return rows[0], nil
}

func (s store) selectSearches(ctx context.Context, c *conditions, limit int) ([]searchRow, error) {
	var rows []searchRow
	err := s.db.SelectContext(ctx, &rows, `SELECT x.job_id, j.job_name, x.program, x.program_version, j.status, x.database_name, x.database_version, x.database_type,
    x.database_released_on, x.database_checksum, x.database_sequences, x.database_residues, x.parameters, x.query_count, x.completed_count, x.failed_count,
    x.hit_count, x.created_at, j.started_at, j.finished_at
FROM searches x JOIN jobs j ON j.id = x.job_id WHERE `+c.String()+` ORDER BY x.created_at DESC, x.job_id DESC LIMIT `+c.arg(limit), c.args...)
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

func (f queryFilter) narrow(c *conditions) {
	if len(f.Statuses) > 0 {
		c.add("x.status = ANY(?)", pq.Array(f.Statuses))
	}
	if f.MinHits > 0 {
		c.add("x.hit_count >= ?", f.MinHits)
	}
	if f.MaxEvalue != nil {
		c.add("x.best_evalue <= ?", *f.MaxEvalue)
	}
	if f.Text != "" {
		text := c.arg(f.Text)
		var columns []string
		for _, column := range []string{"query_id", "title", "best_subject_id", "best_subject_title"} {
			columns = append(columns, "position(lower("+text+") in lower(x."+column+")) > 0")
		}
		c.add("(" + strings.Join(columns, " OR ") + ")")
	}
}

// queries reads up to limit queries of a search behind a place of an order.
func (s store) queries(ctx context.Context, accountID, jobID string, f queryFilter, o order, from *place, limit int) ([]queryRow, error) {
	c := owned(accountID)
	c.add("x.job_id = ?", jobID)
	f.narrow(c)
	key, direction, sign := "0::float8", " ASC", ">"
	if o.key != "" {
		key = o.key
	}
	if o.descending {
		direction, sign = " DESC", "<"
	}
	switch {
	case from != nil && o.key == "":
		c.add("x.query_index "+sign+" ?", from.Index)
	case from != nil:
		c.add("("+key+", x.query_index) "+sign+" (?::float8, ?::int)", from.figure(), from.Index)
	}
	by := "x.query_index" + direction
	if o.key != "" {
		by = key + direction + ", " + by
	}
	return s.selectQueries(ctx, c, key, by, limit)
}

// query reads one query of a search. found is false when the search has none of this index, or none yet.
func (s store) query(ctx context.Context, accountID, jobID string, index int) (row queryRow, found bool, err error) {
	c := owned(accountID)
	c.add("x.job_id = ? AND x.query_index = ?", jobID, index)
	rows, err := s.selectQueries(ctx, c, "0::float8", "x.query_index", 1)
	if err != nil || len(rows) == 0 {
		return queryRow{}, false, err
	}
	return rows[0], true, nil
}

// found reads up to limit queries with hits from an index on, in the order of the file; of those that have a better expectation value
// than maxEvalue, where it is not nil.
func (s store) found(ctx context.Context, accountID, jobID string, maxEvalue *float64, from, limit int) ([]queryRow, error) {
	c := owned(accountID)
	c.add("x.job_id = ? AND x.query_index >= ? AND x.hit_count > 0", jobID, min(from, math.MaxInt32))
	queryFilter{MaxEvalue: maxEvalue}.narrow(c)
	return s.selectQueries(ctx, c, "0::float8", "x.query_index", limit)
}

func (s store) selectQueries(ctx context.Context, c *conditions, key, by string, limit int) ([]queryRow, error) {
	var rows []queryRow
	err := s.db.SelectContext(ctx, &rows, `SELECT x.query_index, x.query_id, x.title, x.length, x.status, x.failure_step, x.error, x.hit_count, x.best_evalue,
    x.best_bit_score, x.best_subject_id, x.best_subject_title, x.hits_key, coalesce(x.hits_offset, 0) AS hits_offset, coalesce(x.hits_bytes, 0) AS hits_bytes,
    `+key+` AS sort_key
FROM search_queries x WHERE `+c.String()+` ORDER BY `+by+` LIMIT `+c.arg(limit), c.args...)
	return rows, wrap(err, "reading queries of a search")
}

// countQueries counts what queries lists.
func (s store) countQueries(ctx context.Context, accountID, jobID string, f queryFilter) (count int, err error) {
	c := owned(accountID)
	c.add("x.job_id = ?", jobID)
	f.narrow(c)
	err = s.db.GetContext(ctx, &count, `SELECT count(*) FROM search_queries x WHERE `+c.String(), c.args...)
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
