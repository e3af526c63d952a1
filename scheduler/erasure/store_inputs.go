package erasure

import (
	"context"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/scheduler"
)

// recorded is a job and the files that its request names.
type recorded struct {
	jobID, accountID string
	keys             []string
}

// selectUnrecorded locks jobs whose inputs are not recorded, in the order of their ids: of one account, or of all for "", and then
// those that nobody else has locked. The requests are read one by one. Of a job whose files were deleted nothing is to be recorded.
func selectUnrecorded(ctx context.Context, tx *sqlx.Tx, accountID string, limit int) (found []recorded, err error) {
	query, args := `ORDER BY account_id, id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED`, []any{limit}
	if accountID != "" {
		query, args = `AND account_id = $2 ORDER BY id LIMIT $1 FOR NO KEY UPDATE`, append(args, accountID)
	}
	rows, err := tx.QueryContext(ctx, `SELECT id, account_id, CASE WHEN files_deleted_at IS NULL THEN `+scheduler.RequestText+
		` ELSE '' END FROM jobs WHERE NOT inputs_recorded `+query, args...)
	if err != nil {
		return nil, wrap(err, "look for jobs whose inputs are not recorded")
	}
	defer rows.Close()
	for rows.Next() {
		var job recorded
		var request string
		if err := rows.Scan(&job.jobID, &job.accountID, &request); err != nil {
			return nil, wrap(err, "read the request of an earlier job")
		}
		job.keys = namedFiles(request, job.accountID)
		found = append(found, job)
	}
	return found, wrap(rows.Err(), "read the requests of earlier jobs")
}

// insertRecorded records what jobs read. A file that was deleted before with the job that had made it is lost.
func insertRecorded(ctx context.Context, tx *sqlx.Tx, batch []recorded) error {
	if len(batch) == 0 {
		return nil
	}
	var all, jobIDs, accountIDs, keys []string
	for _, job := range batch {
		all = append(all, job.jobID)
		for _, key := range job.keys {
			jobIDs, accountIDs, keys = append(jobIDs, job.jobID), append(accountIDs, job.accountID), append(keys, key)
		}
	}
	_, err := tx.ExecContext(ctx, `
INSERT INTO job_inputs (job_id, account_id, storage_key, lost_at)
SELECT n.job_id, n.account_id, n.key, (SELECT files_deleted_at FROM jobs made
    WHERE made.id = substring(n.key from '^accounts/[^/]+/jobs/([^/]+)/') AND made.account_id = n.account_id)
FROM unnest($1::text[], $2::text[], $3::text[]) AS n (job_id, account_id, key)
ON CONFLICT DO NOTHING`, pq.Array(jobIDs), pq.Array(accountIDs), pq.Array(keys))
	if err != nil {
		return wrap(err, "record the inputs of %d earlier jobs", len(batch))
	}
	_, err = tx.ExecContext(ctx, `UPDATE jobs SET inputs_recorded = true WHERE id = ANY($1)`, pq.Array(all))
	return wrap(err, "note that the inputs of %d earlier jobs are recorded", len(batch))
}

// hasUnrecorded tells whether there are jobs of the account whose inputs are not recorded. It asks for the first of them, which an
// index has: Postgres would look for any by reading all jobs.
func hasUnrecorded(ctx context.Context, tx *sqlx.Tx, accountID string) (bool, error) {
	var first []string
	err := tx.SelectContext(ctx, &first, `SELECT id FROM jobs WHERE account_id = $1 AND NOT inputs_recorded ORDER BY id LIMIT 1`,
		accountID)
	return len(first) > 0, wrap(err, "look for jobs of %s whose inputs are not recorded", accountID)
}
