package scheduler

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// hasLicenseServer reports whether a server of the account provides a licence.
func hasLicenseServer(ctx context.Context, db *sqlx.DB, accountID, licenseKey string) (bool, error) {
	if accountID == "" {
		return false, nil
	}
	var has bool
	err := db.GetContext(ctx, &has, `SELECT EXISTS (SELECT FROM license_servers
		WHERE account_id = $1 AND license_key = $2 AND enabled AND enforcement <> 'DISABLED')`, accountID, licenseKey)
	if err != nil {
		return false, fmt.Errorf("look for a licence server: %w", err)
	}
	return has, nil
}

// licenseUse is how the seats of a licence stand.
type licenseUse struct {
	licenseRef
	Seats int64         `db:"seats"`  // of all enabled servers; 0 without any
	InUse int64         `db:"in_use"` // tasks of the account that are queued or run
	Free  sql.NullInt64 `db:"free"`   // tasks that may start; null when the servers merely advise
}

// lockLicenseServers keeps seats from being given twice, and the servers from being changed, until the transaction ends. The
// order of their ids keeps two transactions from waiting for each other.
func lockLicenseServers(ctx context.Context, tx *sqlx.Tx, refs []licenseRef) error {
	accounts, keys := columnsOf(refs)
	_, err := tx.ExecContext(ctx, `SELECT FROM license_servers l
		WHERE (l.account_id, l.license_key) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY l.id FOR NO KEY UPDATE`,
		pq.Array(accounts), pq.Array(keys))
	if err != nil {
		return fmt.Errorf("lock licence servers: %w", err)
	}
	return nil
}

func readLicenseUses(ctx context.Context, tx *sqlx.Tx, refs []licenseRef) (map[licenseRef]licenseUse, error) {
	accounts, keys := columnsOf(refs)
	var rows []licenseUse
	err := tx.SelectContext(ctx, &rows, `SELECT r.account_id, r.license_key, u.seats, u.in_use, u.free
		FROM unnest($1::text[], $2::text[]) AS r (account_id, license_key), LATERAL license_use(r.account_id, r.license_key) u`,
		pq.Array(accounts), pq.Array(keys))
	if err != nil {
		return nil, fmt.Errorf("count licence seats: %w", err)
	}
	out := make(map[licenseRef]licenseUse, len(rows))
	for _, r := range rows {
		out[r.licenseRef] = r
	}
	return out, nil
}

func columnsOf(refs []licenseRef) (accounts, keys []string) {
	for _, r := range refs {
		accounts, keys = append(accounts, r.AccountID), append(keys, r.Key)
	}
	return accounts, keys
}
