package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
)

// FilesLock is the advisory lock of the files of an account, $1: jobs that come to read some share it, and whoever
// deletes files has it alone. It is taken after the locks of jobs and of money, and who has it waits for neither.
const FilesLock = `hashtextextended('molfabric files ' || current_schema() || ' ' || $1, 0)`

// ownInputs are the keys of the account's own files that a job reads, in their order and each once.
func (n NewJob) ownInputs() []string {
	own, keys := "accounts/"+n.Submission.AccountID+"/", []string{}
	add := func(file engines.Object) {
		if strings.HasPrefix(file.StorageKey, own) {
			keys = append(keys, file.StorageKey)
		}
	}
	add(n.Submission.SceneFile)
	for _, file := range n.Submission.Attachments {
		add(file)
	}
	for _, shard := range n.Plan {
		for _, input := range shard.Inputs {
			if input.Object != nil {
				add(*input.Object)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// shareFiles keeps the account's files from being deleted until the transaction ends, where a job reads any.
func shareFiles(ctx context.Context, tx *sqlx.Tx, accountID string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock_shared(`+FilesLock+`)`, accountID); err != nil {
		return fmt.Errorf("share the files of %s: %w", accountID, err)
	}
	return nil
}

// insertInputs records which files a job reads. One that is being deleted had been found a moment ago: its deletion is
// written down. Errors: fault.ArtifactNotFound.
func insertInputs(ctx context.Context, tx *sqlx.Tx, jobID, accountID string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	var gone string
	err := tx.GetContext(ctx, &gone, `
WITH asked AS (SELECT unnest($3::text[]) AS key), recorded AS (
    INSERT INTO job_inputs (job_id, account_id, storage_key) SELECT $1, $2, key FROM asked
)
SELECT key FROM asked WHERE EXISTS (SELECT FROM removals WHERE prefix IN (
    key, 'accounts/' || $2 || '/', substring(key from '^accounts/[^/]+/(?:jobs|uploads/projects|uploads)/[^/]+/'))) LIMIT 1`,
		jobID, accountID, pq.Array(keys))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("record the inputs of %s: %w", jobID, err)
	}
	return fault.New(fault.ArtifactNotFound, "the stored file %s was deleted a moment ago; upload it again, or name another", gone)
}

func (tx postgresTx) LostInput(ctx context.Context, jobID string) (string, error) {
	var key string
	err := tx.GetContext(ctx, &key, `SELECT storage_key FROM job_inputs WHERE job_id = $1 AND lost_at IS NOT NULL ORDER BY 1
		LIMIT 1`, jobID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for lost inputs of %s: %w", jobID, err)
	}
	return key, nil
}
