package scheduler

import (
	"context"
	"fmt"

	"github.com/lib/pq"
)

func (db postgresStore) HasLicenseServer(ctx context.Context, accountID, licenseKey string) (bool, error) {
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

// LockLicenseServers locks in the order of their ids, which keeps two transactions from waiting for each other.
func (tx postgresTx) LockLicenseServers(ctx context.Context, refs []LicenseRef) error {
	accounts, keys := columnsOf(refs)
	_, err := tx.ExecContext(ctx, `SELECT FROM license_servers l
		WHERE (l.account_id, l.license_key) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY l.id FOR NO KEY UPDATE`,
		pq.Array(accounts), pq.Array(keys))
	if err != nil {
		return fmt.Errorf("lock licence servers: %w", err)
	}
	return nil
}

func (tx postgresTx) LicenseUses(ctx context.Context, refs []LicenseRef) (map[LicenseRef]LicenseUse, error) {
	accounts, keys := columnsOf(refs)
	var rows []LicenseUse
	err := tx.SelectContext(ctx, &rows, `SELECT r.account_id, r.license_key, u.seats, u.in_use, u.free
		FROM unnest($1::text[], $2::text[]) AS r (account_id, license_key), LATERAL license_use(r.account_id, r.license_key) u`,
		pq.Array(accounts), pq.Array(keys))
	if err != nil {
		return nil, fmt.Errorf("count licence seats: %w", err)
	}
	out := make(map[LicenseRef]LicenseUse, len(rows))
	for _, r := range rows {
		out[r.LicenseRef] = r
	}
	return out, nil
}

func columnsOf(refs []LicenseRef) (accounts, keys []string) {
	for _, r := range refs {
		accounts, keys = append(accounts, r.AccountID), append(keys, r.Key)
	}
	return accounts, keys
}
