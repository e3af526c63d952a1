package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// countEnds counts the jobs that have not ended, and those that have ended other than well.
func countEnds(ctx context.Context, db *sqlx.DB, jobs []string) (open, failed int, err error) {
	err = db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE finished_at IS NULL), count(*) FILTER (WHERE finished_at IS NOT
		NULL AND status <> 'COMPLETED')
		FROM jobs WHERE id = ANY($1)`, pq.Array(jobs)).Scan(&open, &failed)
	if err != nil {
		return 0, 0, fmt.Errorf("count the jobs that have ended: %w", err)
	}
	return open, failed, nil
}

// commitTimes are when the tasks of jobs were accepted (the job's commit), and when they were last dispatched.
type commitTimes struct {
	Accepted   time.Time `db:"created_at"`
	Dispatched time.Time `db:"queued_at"`
}

// readCommits reads the commits of the tasks of jobs that have ended, by the tasks' ids.
func readCommits(ctx context.Context, db *sqlx.DB, jobs []string) (map[string]commitTimes, error) {
	var rows []struct {
		ID string `db:"id"`
		commitTimes
	}
	err := db.SelectContext(ctx, &rows, `SELECT t.id, j.created_at, t.queued_at FROM tasks t JOIN jobs j ON j.id = t.job_id
		WHERE t.job_id = ANY($1) AND t.queued_at IS NOT NULL`, pq.Array(jobs))
	if err != nil {
		return nil, fmt.Errorf("read when %d jobs were accepted: %w", len(jobs), err)
	}
	commits := make(map[string]commitTimes, len(rows))
	for _, r := range rows {
		commits[r.ID] = r.commitTimes
	}
	return commits, nil
}

// storeCounters are what Postgres has counted of this database, and where its log stands.
type storeCounters struct {
	Transactions int64 `db:"transactions"`
	WALBytes     int64 `db:"wal_bytes"`
	Bytes        int64 `db:"bytes"`
}

// readCounters reads the counters. What a session has counted is published within a second of its end of work.
func readCounters(ctx context.Context, db *sqlx.DB) (storeCounters, error) {
	var c storeCounters
	err := db.GetContext(ctx, &c, `SELECT xact_commit AS transactions, pg_wal_lsn_diff(pg_current_wal_insert_lsn(),
		'0/0')::bigint AS wal_bytes,
		pg_database_size(current_database()) AS bytes FROM pg_stat_database WHERE datname = current_database()`)
	if err != nil {
		return c, fmt.Errorf("read the counters of Postgres: %w", err)
	}
	return c, nil
}
