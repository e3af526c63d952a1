package lookup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
)

// store reads what accounts have made before.
type store struct{ db *sqlx.DB }

// storedFile is a file that a task has left.
type storedFile struct {
	Name       string `db:"name"`
	StorageKey string `db:"storage_key"`
	SHA256     string `db:"sha256"`
	ByteSize   int64  `db:"byte_size"`
}

const preparationColumns = `cache_key, receptor_identity_sha256, preparation_sha256, toolchain_sha256, task_id`

// preparation reads one of the account's preparations of a receptor; ok is false when it has none with this key.
func (s store) preparation(ctx context.Context, accountID, cacheKey string) (found preparation, ok bool, err error) {
	err = s.db.GetContext(ctx, &found, `SELECT `+preparationColumns+
		` FROM docking_preparations WHERE account_id = $1 AND cache_key = $2`, accountID, cacheKey)
	return oneOrNone(found, err)
}

// newestPreparation reads the account's newest preparation of this receptor in this way, both as JSON. What only the
// receptor itself can tell of a preparation is left aside.
func (s store) newestPreparation(
	ctx context.Context, accountID string, identity, how []byte,
) (found preparation, ok bool, err error) {
	err = s.db.GetContext(ctx, &found, `
SELECT `+preparationColumns+` FROM docking_preparations
WHERE account_id = $1 AND identity = $2::jsonb AND preparation - 'componentSmiles' - 'leaveOut' = $3::jsonb
ORDER BY created_at DESC, cache_key LIMIT 1`, accountID, string(identity), string(how))
	return oneOrNone(found, err)
}

// forgetPreparation removes a preparation whose files are lost, unless it has been made anew meanwhile.
func (s store) forgetPreparation(ctx context.Context, accountID string, p preparation) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM docking_preparations WHERE account_id = $1 AND cache_key = $2 AND task_id = $3`,
		accountID, p.CacheKey, p.TaskID)
	if err != nil {
		return fmt.Errorf("forgetting a prepared receptor: %w", err)
	}
	return nil
}

func oneOrNone(found preparation, err error) (one preparation, ok bool, _ error) {
	if errors.Is(err, sql.ErrNoRows) {
		return preparation{}, false, nil
	}
	if err != nil {
		return preparation{}, false, fmt.Errorf("looking for a prepared receptor: %w", err)
	}
	return found, true, nil
}

// preparedFiles finds what a preparation has made, by name. Those of inputs of later stages are among them.
func (s store) preparedFiles(ctx context.Context, accountID, taskID string, names []string) (map[string]engines.Object, error) {
	var files []storedFile
	err := s.db.SelectContext(ctx, &files, `
SELECT name, storage_key, sha256, byte_size FROM artifacts WHERE account_id = $1 AND task_id = $2 AND name = ANY($3)
AND NOT verification_failed`,
		accountID, taskID, pq.Array(names))
	if err != nil {
		return nil, fmt.Errorf("looking for the files of a prepared receptor: %w", err)
	}
	found := make(map[string]engines.Object, len(files))
	for _, f := range files {
		found[f.Name] = engines.Object{StorageKey: f.StorageKey, SHA256: f.SHA256, ByteSize: f.ByteSize}
	}
	return found, nil
}

// outputs finds which of the keys are outputs of the account's jobs.
func (s store) outputs(ctx context.Context, accountID string, keys []string) (map[string]engines.Object, error) {
	var files []storedFile
	err := s.db.SelectContext(ctx, &files, `
SELECT storage_key, sha256, byte_size FROM artifacts WHERE account_id = $1 AND storage_key = ANY($2) AND role <> $3`,
		accountID, pq.Array(keys), string(engines.RoleIntermediate))
	if err != nil {
		return nil, fmt.Errorf("looking artifacts up: %w", err)
	}
	found := make(map[string]engines.Object, len(files))
	for _, f := range files {
		found[f.StorageKey] = engines.Object{StorageKey: f.StorageKey, SHA256: f.SHA256, ByteSize: f.ByteSize}
	}
	return found, nil
}

// freePlan is the plan of accounts that pay nothing.
const freePlan = "free"

// pays tells whether an account pays for its jobs: by its plan, or from money that it has put into its wallet.
func (s store) pays(ctx context.Context, accountID string) (pays bool, err error) {
	err = s.db.GetContext(ctx, &pays, `
SELECT a.plan <> $2 OR c.wallet_pence > 0 OR c.wallet_held_pence > 0
FROM accounts a JOIN credit_accounts c ON c.account_id = a.id WHERE a.id = $1`, accountID, freePlan)
	if err != nil {
		return false, fmt.Errorf("reading whether an account pays: %w", err)
	}
	return pays, nil
}
