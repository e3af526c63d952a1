package auditlog

import (
	"context"

	"github.com/jmoiron/sqlx"
)

func insert(ctx context.Context, tx *sqlx.Tx, l Line) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO audit_log (at, account_id, actor, event, detail, address)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		l.At.UTC(), l.AccountID, l.Actor, l.Event, l.Detail, l.Address)
	return err
}

// selectLines compares the beginning of an event's name: its names have no wildcards.
func selectLines(ctx context.Context, db sqlx.QueryerContext, f Filter) ([]Line, error) {
	lines := []Line{}
	err := sqlx.SelectContext(ctx, db, &lines, `SELECT id, at, account_id, actor, event, detail, address FROM (
			SELECT * FROM audit_log WHERE ($1 = '' OR account_id = $1) AND starts_with(event, $2) AND at >= $3 ORDER BY id DESC
			LIMIT $4
		) newest ORDER BY id`, f.AccountID, f.Event, f.Since.UTC(), f.Limit)
	for i := range lines {
		lines[i].At = lines[i].At.UTC()
	}
	return lines, err
}
