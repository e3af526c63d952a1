package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/postgres"
)

const columns = `id, name, environment, scopes, prefix, last4, created_at AS CreatedAt, last_used_at AS LastUsedAt,
	expires_at AS ExpiresAt, revoked_at AS RevokedAt`

// validKey is a key that may be used, with its account's plan.
type validKey struct {
	ID          string         `db:"id"`
	Environment string         `db:"environment"`
	Scopes      pq.StringArray `db:"scopes"`
	LastUsedAt  *time.Time     `db:"last_used_at"`
	ExpiresAt   *time.Time     `db:"expires_at"`
	AccountID   string         `db:"account_id"`
	Plan        string         `db:"plan"`
	Locked      bool           `db:"locked"`
}

// digest is what is stored of a key, and the id of the secret that it was made under.
type digest struct {
	Bytes    postgres.Bytes
	SecretID string
}

// countLive also keeps other creations of the account waiting until the transaction ends.
func countLive(ctx context.Context, tx *sqlx.Tx, accountID string, now time.Time) (int, error) {
	if _, err := tx.ExecContext(ctx, `SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE`, accountID); err != nil {
		return 0, wrap(err, "lock account")
	}
	var live int
	err := tx.GetContext(ctx, &live, `SELECT count(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL
		AND (expires_at IS NULL OR expires_at > $2)`, accountID, now)
	return live, wrap(err, "count keys")
}

func insert(ctx context.Context, tx *sqlx.Tx, accountID string, k contract.Key, sealed digest, discoverySource string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO api_keys
		(id, account_id, name, environment, scopes, prefix, last4, secret_hmac, created_at, expires_at, discovery_source, secret_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, nullif($11, ''), $12)`,
		k.ID, accountID, k.Name, k.Environment, pq.StringArray(k.Scopes), k.Prefix, k.Last4, sealed.Bytes, k.CreatedAt, k.ExpiresAt,
		discoverySource, sealed.SecretID)
	return wrap(err, "store key")
}

// selectAll returns the newest limit keys, newest first; one that still works is not left out for one that does not.
func selectAll(ctx context.Context, db *sqlx.DB, accountID string, now time.Time, limit int) ([]contract.Key, error) {
	var found []struct {
		contract.Key
		Scopes pq.StringArray
	}
	err := db.SelectContext(ctx, &found, `SELECT `+columns+` FROM (
			SELECT * FROM api_keys WHERE account_id = $1
			ORDER BY revoked_at IS NOT NULL OR coalesce(expires_at <= $2, false), created_at DESC, id DESC LIMIT $3
		) kept ORDER BY created_at DESC, id DESC`, accountID, now, limit)
	keys := make([]contract.Key, len(found))
	for i, k := range found {
		k.Key.Scopes = k.Scopes
		keys[i] = inUTC(k.Key)
	}
	return keys, wrap(err, "list keys")
}

// selectValid finds the key with one of the digests that may be used now. Errors: sql.ErrNoRows.
func selectValid(ctx context.Context, db *sqlx.DB, sealed [][]byte, now time.Time) (validKey, error) {
	var k validKey
	err := db.GetContext(ctx, &k, `SELECT k.id, k.environment, k.scopes, k.last_used_at, k.expires_at, k.account_id, a.plan,
		a.locked_at IS NOT NULL AS locked
		FROM api_keys k JOIN accounts a ON a.id = k.account_id
		WHERE k.secret_hmac = ANY($1) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)`, pq.Array(sealed), now)
	return k, wrap(err, "read key")
}

// touch notes a use, unless another instance has noted one since before, and with it the key's digest: one that was made under an
// earlier secret gives way to that of the sealing one. Where instances differ over which that is, the last to note a use is as
// right.
func touch(ctx context.Context, db *sqlx.DB, keyID string, sealed digest, now, before time.Time) error {
	_, err := db.ExecContext(ctx, `UPDATE api_keys SET last_used_at = $2, secret_hmac = $4, secret_id = $5
		WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)`, keyID, now, before, sealed.Bytes, sealed.SecretID)
	return wrap(err, "note the use of a key")
}

// revoke returns when the key was revoked first. Errors: sql.ErrNoRows.
func revoke(ctx context.Context, tx *sqlx.Tx, accountID, keyID string, now time.Time) (time.Time, error) {
	var at time.Time
	err := tx.GetContext(ctx, &at, `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3) WHERE id = $1 AND account_id = $2
		RETURNING revoked_at`, keyID, accountID, now)
	return at.UTC(), wrap(err, "revoke key")
}

// noteNetwork writes down that a key was used from a network, and lets go of the networks beyond the newest keep. Errors:
// sql.ErrNoRows when the key is gone or revoked.
func noteNetwork(ctx context.Context, tx *sqlx.Tx, accountID, keyID, network string, now time.Time, keep int) error {
	var locked string // or two first uses at once would both find no other
	err := tx.GetContext(ctx, &locked, `SELECT id FROM api_keys WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL
		FOR NO KEY UPDATE`, keyID, accountID)
	if err != nil {
		return wrap(err, "lock key")
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO api_key_networks (key_id, network, account_id, news, first_seen_at, last_seen_at)
		VALUES ($1, $2, $3, EXISTS (SELECT FROM api_key_networks WHERE key_id = $1), $4, $4)
		ON CONFLICT (key_id, network) DO UPDATE SET last_seen_at = greatest(api_key_networks.last_seen_at, $4)`,
		keyID, network, accountID, now)
	if err != nil {
		return wrap(err, "note the network of a key")
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM api_key_networks WHERE key_id = $1 AND network IN (
		SELECT network FROM api_key_networks WHERE key_id = $1 ORDER BY last_seen_at DESC, place DESC OFFSET $2)`, keyID, keep)
	return wrap(err, "forget networks of a key")
}

func forgetNetworks(ctx context.Context, tx *sqlx.Tx, accountID, keyID string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM api_key_networks WHERE key_id = $1 AND account_id = $2`, keyID, accountID)
	return wrap(err, "forget the networks of a key")
}

func inUTC(k contract.Key) contract.Key {
	k.CreatedAt = k.CreatedAt.UTC()
	for _, at := range []*time.Time{k.LastUsedAt, k.ExpiresAt, k.RevokedAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return k
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
