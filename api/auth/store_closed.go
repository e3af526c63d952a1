package auth

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/postgres"
)

// insertClosedAddress keeps that an address has had its free credit. mac is that of the address under the secret with an id.
func insertClosedAddress(ctx context.Context, tx *sqlx.Tx, mac postgres.Bytes, secretID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO closed_addresses (address_hmac, secret_id, closed_at) VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, mac, secretID, now)
	return wrap(err, "keep that an address has had its credit")
}

// isClosedAddress tells whether an account of the address was closed that had got its free credit. macs are those of the address
// under every known secret.
func isClosedAddress(ctx context.Context, tx *sqlx.Tx, macs [][]byte) (had bool, err error) {
	err = tx.GetContext(ctx, &had, `SELECT EXISTS (SELECT FROM closed_addresses WHERE address_hmac = ANY ($1))`,
		pq.ByteaArray(macs))
	return had, wrap(err, "look whether an address has had its credit")
}
