package resting

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/secret"
)

// selectRests counts what is good now; keys that were used since then count as in use.
func selectRests(ctx context.Context, db *sqlx.DB, sealing string, now, since time.Time) ([]Rest, error) {
	const (
		elsewhere = `count(*) FILTER (WHERE secret_id IS DISTINCT FROM $1)`
		counts    = `count(*) FILTER (WHERE secret_id = $1) AS sealing, ` + elsewhere + ` AS earlier, `
	)
	var rests []Rest
	for _, one := range []struct {
		kind, query string
		args        []any
	}{
		{Keys, `SELECT ` + counts + `count(*) FILTER (WHERE secret_id IS DISTINCT FROM $1 AND coalesce(last_used_at, created_at) >= $3) AS lately
			FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, []any{sealing, now, since}},
		{Licences, `SELECT ` + counts + elsewhere + ` AS lately FROM license_servers WHERE secret_sealed IS NOT NULL`,
			[]any{sealing}},
		{Shares, `SELECT ` + counts + elsewhere + ` AS lately FROM project_shares WHERE revoked_at IS NULL`, []any{sealing}},
		{Addresses, `SELECT ` + counts + elsewhere + ` AS lately FROM closed_addresses`, []any{sealing}},
		{Webhooks, `SELECT ` + counts + elsewhere + ` AS lately FROM webhooks`, []any{sealing}},
	} {
		rest := Rest{Kind: one.kind}
		if err := db.GetContext(ctx, &rest, one.query, one.args...); err != nil {
			return nil, fmt.Errorf("count %s: %w", one.kind, err)
		}
		rests = append(rests, rest)
	}
	return rests, nil
}

// sealed is a secret as it is stored, in the columns secret_sealed and secret_id of its table.
type sealed struct {
	ID     string         `db:"id"`
	Sealed postgres.Bytes `db:"secret_sealed"`
}

// sealedKind is a table with sealed secrets.
type sealedKind struct{ table, purpose string }

var sealedKinds = []sealedKind{{"license_servers", secret.LicenceServers}, {"webhooks", secret.Webhooks}}

// elsewhere locks secrets that do not rest on the named one, in the order of their ids.
func (k sealedKind) elsewhere(ctx context.Context, tx *sqlx.Tx, secretID, after string, limit int) ([]sealed, error) {
	var found []sealed
	err := tx.SelectContext(ctx, &found, `SELECT id, secret_sealed FROM `+k.table+` WHERE secret_sealed IS NOT NULL
		AND secret_id IS DISTINCT FROM $1 AND id > $2 ORDER BY id LIMIT $3 FOR UPDATE`, secretID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read sealed secrets: %w", err)
	}
	return found, nil
}

func (k sealedKind) store(ctx context.Context, tx *sqlx.Tx, one sealed, secretID string) error {
	_, err := tx.ExecContext(ctx, `UPDATE `+k.table+` SET secret_sealed = $2, secret_id = $3 WHERE id = $1`, one.ID, one.Sealed,
		secretID)
	if err != nil {
		return fmt.Errorf("store a sealed secret: %w", err)
	}
	return nil
}
