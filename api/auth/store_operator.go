package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// stateQuery asks for the account with exactly an id or address, or for those whose id, address or name holds a text.
type stateQuery struct {
	Exactly, Text string
	Now           time.Time
	Limit         int
}

func selectStates(ctx context.Context, db sqlx.QueryerContext, q stateQuery) ([]AccountState, error) {
	states := []AccountState{}
	err := sqlx.SelectContext(ctx, db, &states, `SELECT a.id AS AccountID, a.email, a.name, a.plan, a.created_at AS CreatedAt,
			a.email_verified_at AS proved_at,
			a.locked_at, a.locked_because, a.closed_at, a.password_hash IS NOT NULL AS has_password,
			(SELECT count(*) FROM account_identities i WHERE i.account_id = a.id) AS identities,
			(SELECT count(*) FROM sessions s WHERE s.account_id = a.id AND s.expires_at > $3) AS sessions,
			(SELECT count(*) FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL
				AND (k.expires_at IS NULL OR k.expires_at > $3)) AS keys,
			(SELECT count(*) FROM jobs j WHERE j.account_id = a.id) AS jobs,
			(SELECT count(*) FROM jobs j WHERE j.account_id = a.id AND j.finished_at IS NULL) AS jobs_not_ended,
			coalesce(c.wallet_pence + c.monthly_pence - c.wallet_held_pence - c.monthly_held_pence, 0) AS available_pence,
			coalesce(c.wallet_held_pence + c.monthly_held_pence, 0) AS held_pence
		FROM accounts a LEFT JOIN credit_accounts c ON c.account_id = a.id
		WHERE ($1 = '' OR a.id = $1 OR lower(a.email) = lower($1))
			AND (strpos(lower(a.email || ' ' || a.name), lower($2)) > 0 OR strpos(a.id, $2) > 0 OR $2 = '')
		ORDER BY a.created_at DESC, a.id LIMIT $4`, q.Exactly, q.Text, q.Now, q.Limit)
	for i := range states {
		states[i].CreatedAt = states[i].CreatedAt.UTC()
	}
	return states, wrap(err, "read accounts")
}

func setLock(ctx context.Context, tx *sqlx.Tx, accountID string, now time.Time, reason string) error {
	return changeAccount(ctx, tx, "lock", `UPDATE accounts SET locked_at = coalesce(locked_at, $2), locked_because = $3
		WHERE id = $1 AND closed_at IS NULL`,
		accountID, now, reason)
}

func clearLock(ctx context.Context, tx *sqlx.Tx, accountID string) error {
	return changeAccount(ctx, tx, "unlock", `UPDATE accounts SET locked_at = NULL, locked_because = NULL
		WHERE id = $1 AND closed_at IS NULL`, accountID)
}

func setPassword(ctx context.Context, tx *sqlx.Tx, accountID, hash string) error {
	return changeAccount(ctx, tx, "set the password of", `UPDATE accounts SET password_hash = $2
		WHERE id = $1 AND closed_at IS NULL`, accountID, hash)
}

// changeAccount changes one account. Errors: ErrNoAccount, also of one that was closed meanwhile.
func changeAccount(ctx context.Context, tx *sqlx.Tx, doing, statement string, args ...any) error {
	done, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return wrap(err, doing+" an account")
	}
	if changed, err := done.RowsAffected(); err != nil || changed != 1 {
		return fmt.Errorf("%s an account: %w", doing, ErrNoAccount)
	}
	return nil
}

// deleteSessions ends all sessions of an account, and returns how many there were.
func deleteSessions(ctx context.Context, tx *sqlx.Tx, accountID string) (int64, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE account_id = $1`, accountID)
	if err != nil {
		return 0, wrap(err, "end sessions")
	}
	ended, err := done.RowsAffected()
	return ended, wrap(err, "end sessions")
}
