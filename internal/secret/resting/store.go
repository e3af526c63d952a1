package resting

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
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
	} {
		rest := Rest{Kind: one.kind}
		if err := db.GetContext(ctx, &rest, one.query, one.args...); err != nil {
			return nil, fmt.Errorf("count %s: %w", one.kind, err)
		}
		rests = append(rests, rest)
	}
	return rests, nil
}
