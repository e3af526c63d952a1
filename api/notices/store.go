package notices

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/news"
	"github.com/molfabric/molfabric/internal/postgres"
)

// States of a notice.
const (
	pending = "PENDING"
	sent    = "SENT"
	failed  = "FAILED"
)

type store struct{ db *sqlx.DB }

// settingsRow is what an account wants to be told, and where.
type settingsRow struct {
	Events         pq.StringArray `db:"events"`
	LowCreditPence int64          `db:"low_credit_pence"`
	Email          string         `db:"email"`
	EmailVerified  bool           `db:"email_verified"`
}

// settings reads an account's settings, or those that it begins with. Errors: sql.ErrNoRows when there is no account.
func (s store) settings(ctx context.Context, accountID string) (found settingsRow, err error) {
	err = s.db.GetContext(ctx, &found, `SELECT coalesce(n.events, $2) AS events,
			coalesce(n.low_credit_pence, $3) AS low_credit_pence, a.email, a.email_verified_at IS NOT NULL AS email_verified
		FROM accounts a LEFT JOIN notice_settings n ON n.account_id = a.id WHERE a.id = $1`,
		accountID, pq.StringArray(usualEvents), usualLowCredit)
	return found, wrap(err, "reading the notices of %s", accountID)
}

// replace changes an account's settings. Who asks for more is told what happens from now on, and what waits of the rest is let go.
func (s store) replace(ctx context.Context, accountID string, events []string, lowCreditPence int64, now time.Time) error {
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO notice_settings AS n (account_id, events, low_credit_pence, since)
			VALUES ($1, $2, $3, $4)
			ON CONFLICT (account_id) DO UPDATE SET events = $2, low_credit_pence = $3,
				since = CASE WHEN n.events @> $2 THEN n.since ELSE $4 END,
				credit_low_at = CASE WHEN n.low_credit_pence = $3 THEN n.credit_low_at END`,
			accountID, pq.StringArray(events), lowCreditPence, now)
		if err != nil {
			return wrap(err, "changing the notices of %s", accountID)
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM notices WHERE account_id = $1 AND state = '`+pending+`' AND event <> ALL ($2)`,
			accountID, pq.StringArray(events))
		return wrap(err, "letting go of notices of %s", accountID)
	})
}

// begin writes the usual settings down for accounts that mails reach and that have none. Credit that is low already is no news.
func (s store) begin(ctx context.Context, now time.Time, limit int) error {
	_, err := s.db.ExecContext(ctx, `
INSERT INTO notice_settings (account_id, events, low_credit_pence, credit_low_at, since)
SELECT a.id, $2::text[], $3::bigint,
	CASE WHEN c.wallet_pence - c.wallet_held_pence + c.monthly_pence - c.monthly_held_pence < $3::bigint THEN $1::timestamptz END,
	$1::timestamptz
FROM accounts a LEFT JOIN credit_accounts c ON c.account_id = a.id
WHERE a.email_verified_at IS NOT NULL AND a.closed_at IS NULL
	AND NOT EXISTS (SELECT FROM notice_settings n WHERE n.account_id = a.id)
LIMIT $4 FOR SHARE OF a SKIP LOCKED
ON CONFLICT (account_id) DO NOTHING`, now, pq.StringArray(usualEvents), usualLowCredit, limit)
	return wrap(err, "writing usual settings of notices down")
}

// lane is how accounts are told by mail.
var lane = news.Lane{Readers: "notice_settings", ID: "account_id", Enabled: "true", Written: "notices", Reader: "account_id"}

// noteNews writes down what has happened since a moment and what accounts have not been told.
func (s store) noteNews(ctx context.Context, since, now time.Time) error {
	note := func(ctx context.Context, db sqlx.ExecerContext, one news.Item) error {
		body, err := one.Message.Body()
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, `INSERT INTO notices (account_id, id, event, subject, body, state, next_at, created_at)
			SELECT account_id, $2, $3, $4, $5, '`+pending+`', $6, $6 FROM notice_settings WHERE account_id = $1
			ON CONFLICT (account_id, id) DO NOTHING`,
			one.AccountID, one.ID, one.Message.Type, one.Subject, postgres.Bytes(body), now)
		return wrap(err, "writing down a notice to %s", one.AccountID)
	}
	if err := lane.Happened(ctx, s.db, since, note); err != nil {
		return err
	}
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error { return lane.LowCredit(ctx, tx, now, note) })
}

// notice is something that is mailed now, and to whom.
type notice struct {
	AccountID string         `db:"account_id"`
	ID        string         `db:"id"`
	Event     string         `db:"event"`
	Place     int64          `db:"place"`
	Body      postgres.Bytes `db:"body"`
	Attempts  int            `db:"attempts"` // with this one
	CreatedAt time.Time      `db:"created_at"`
	Email     string         `db:"email"`
	Reachable bool           `db:"reachable"` // the address is proved, and the account neither closed nor locked
}

// claim takes notices that are due, for a while: of a few accounts and events, and of each of them what goes into one mail. One
// of a subject waits while an earlier one does, or is on its way.
func (s store) claim(ctx context.Context, now time.Time, lease time.Duration) ([]notice, error) {
	var found []notice
	err := s.db.SelectContext(ctx, &found, `
WITH due AS (
	SELECT p.account_id, p.id
	FROM (SELECT DISTINCT account_id, event FROM notices WHERE state = '`+pending+`' AND next_at <= $1 LIMIT $4) h
	CROSS JOIN LATERAL (
		SELECT q.account_id, q.id FROM notices q
		WHERE q.account_id = h.account_id AND q.event = h.event AND q.state = '`+pending+`' AND q.next_at <= $1 AND NOT EXISTS (
			SELECT FROM notices e WHERE e.account_id = q.account_id AND e.subject = q.subject AND e.subject <> ''
				AND e.state = '`+pending+`' AND e.next_at > $1 AND e.place < q.place)
		ORDER BY q.place LIMIT $3 FOR UPDATE SKIP LOCKED
	) p
)
UPDATE notices n SET attempts = n.attempts + 1, next_at = $2 FROM due, accounts a
WHERE n.account_id = due.account_id AND n.id = due.id AND a.id = n.account_id
RETURNING n.account_id, n.id, n.event, n.place, n.body, n.attempts, n.created_at, a.email,
	a.email_verified_at IS NOT NULL AND a.closed_at IS NULL AND a.locked_at IS NULL AS reachable`,
		now, now.Add(lease), maxTogether, maxAtOnce)
	return found, wrap(err, "taking notices that are due")
}

// outcome is what came of a notice's sending.
type outcome struct {
	notice
	state   string
	problem string
	next    time.Time // of a pending one
	undo    int       // how many tries do not count
}

// record keeps what came of sendings, unless somebody else has taken them meanwhile.
func (s store) record(ctx context.Context, came []outcome, now time.Time) error {
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		for _, one := range came {
			_, err := tx.ExecContext(ctx, `UPDATE notices SET state = $3, last_error = $4, attempts = attempts - $5,
					next_at = CASE WHEN $3 = '`+pending+`' THEN $6 ELSE next_at END,
					sent_at = CASE WHEN $3 = '`+sent+`' THEN $7::timestamptz END
				WHERE account_id = $1 AND id = $2 AND state = '`+pending+`' AND attempts = $8`,
				one.AccountID, one.ID, one.state, one.problem, one.undo, one.next, now, one.Attempts)
			if err != nil {
				return wrap(err, "keeping what came of notice %s", one.ID)
			}
		}
		return nil
	})
}

// tidy removes notices that were made before a moment.
func (s store) tidy(ctx context.Context, before time.Time) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM notices WHERE created_at < $1`, before)
	return wrap(err, "removing old notices")
}
