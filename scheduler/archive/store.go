package archive

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
)

// stepLock is the advisory lock of the one instance that is at work in a schema; it goes with the transaction.
const stepLock = `hashtextextended('molfabric archive ' || current_schema(), 0)`

type store struct{ db *sqlx.DB }

// step is what one transaction has done.
type step struct {
	cursor  int64            // the last event that need not be looked at again
	removed map[string]int64 // rows, by table
	last    bool             // what follows is not old enough yet
	busy    bool             // another instance is at work
}

// seen is an event as far as it matters here.
type seen struct {
	ID     int64          `db:"id"`
	JobID  string         `db:"job_id"`
	At     time.Time      `db:"at"`
	Status sql.NullString `db:"status"` // that the job moved to; null in events of any other kind
}

// step looks at the next events in their order, up to a limit, and removes what led to those that are the end of a job before a
// moment. The end itself stays, and whoever asks for the job's events gets that. A job that was run again afterwards loses the
// events of the earlier run alone. No more than limit events are removed: what is left over is for another step from the same
// cursor.
func (s store) step(ctx context.Context, cursor int64, before time.Time, limit int) (done step, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		done = step{cursor: cursor, removed: map[string]int64{}}
		var won bool
		if err := tx.GetContext(ctx, &won, `SELECT pg_try_advisory_xact_lock(`+stepLock+`)`); err != nil {
			return fmt.Errorf("ask for the archive's lock: %w", err)
		}
		if done.busy = !won; done.busy {
			return nil
		}
		var events []seen
		err := tx.SelectContext(ctx, &events, `SELECT id, job_id, at, CASE WHEN kind = 'status' THEN body ->> 'status' END AS status
			FROM job_events WHERE id > $1 ORDER BY id LIMIT $2`, cursor, limit)
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		done.last = len(events) < limit
		ends := map[string]int64{}
		next := cursor
		for _, e := range events {
			if !e.At.Before(before) {
				done.last = true
				break
			}
			if job.Status(e.Status.String).Terminal() {
				ends[e.JobID] = e.ID
			}
			next = e.ID
		}
		if len(ends) > 0 {
			all, err := removeBefore(ctx, tx, ends, before, limit, done.removed)
			if err != nil {
				return err
			}
			if !all {
				next, done.last = cursor, false
			}
		}
		done.cursor = next
		return nil
	})
	return done, err
}

// removeBefore removes the events of jobs before the given ones, up to a limit, and what else is only about the jobs' running. It
// reports false when there may be more events.
func removeBefore(
	ctx context.Context, tx *sqlx.Tx, ends map[string]int64, before time.Time, limit int, removed map[string]int64,
) (all bool, err error) {
	var jobs []string
	var events []int64
	for jobID, event := range ends {
		jobs, events = append(jobs, jobID), append(events, event)
	}
	for _, statement := range []struct {
		table, text string
		args        []any
	}{
		{"job_events", `DELETE FROM job_events WHERE id = ANY (ARRAY(
			SELECT e.id FROM unnest($1::text[], $2::bigint[]) AS ended (job_id, event) JOIN job_events e ON e.job_id = ended.job_id
			AND e.id < ended.event LIMIT $3))`,
			[]any{pq.Array(jobs), pq.Array(events), limit}},
		{"worker_faults", `DELETE FROM worker_faults WHERE job_id = ANY ($1) AND at < $2`, []any{pq.Array(jobs), before}},
	} {
		done, err := tx.ExecContext(ctx, statement.text, statement.args...)
		if err != nil {
			return false, fmt.Errorf("remove from %s: %w", statement.table, err)
		}
		if removed[statement.table], err = done.RowsAffected(); err != nil {
			return false, err
		}
	}
	return removed["job_events"] < int64(limit), nil
}
