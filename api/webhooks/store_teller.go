package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/news"
	"github.com/molfabric/molfabric/internal/postgres"
)

// States of a message.
const (
	pending   = "PENDING"
	delivered = "DELIVERED"
	failed    = "FAILED"
)

// lane is how webhooks are told.
var lane = news.Lane{Readers: "webhooks", ID: "id", Enabled: "w.enabled", Written: "webhook_deliveries", Reader: "webhook_id"}

// noteNews writes down what has happened since a moment and what webhooks have not been told.
func (s store) noteNews(ctx context.Context, since, now time.Time) error {
	note := func(ctx context.Context, db sqlx.ExecerContext, one news.Item) error {
		return s.note(ctx, db, one, now)
	}
	if err := lane.Happened(ctx, s.db, since, note); err != nil {
		return err
	}
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error { return lane.LowCredit(ctx, tx, now, note) })
}

func (s store) note(ctx context.Context, db sqlx.ExecerContext, one news.Item, now time.Time) error {
	body, err := one.Message.Body()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO webhook_deliveries (webhook_id, id, account_id, event, subject, body, state, next_at,
		created_at)
		SELECT w.id, $2, w.account_id, $4, $5, $6, '`+pending+`', $7, $7 FROM webhooks w WHERE w.id = $1 AND w.account_id = $3
		ON CONFLICT (webhook_id, id) DO NOTHING`, one.Reader, one.ID, one.AccountID, one.Message.Type, one.Subject,
		postgres.Bytes(body), now)
	if err != nil {
		return fmt.Errorf("writing down a message to webhook %s: %w", one.Reader, err)
	}
	return nil
}

// message is one that is sent now.
type message struct {
	WebhookID string         `db:"webhook_id"`
	ID        string         `db:"id"`
	AccountID string         `db:"account_id"`
	Body      postgres.Bytes `db:"body"`
	Attempts  int            `db:"attempts"` // with this one
	CreatedAt time.Time      `db:"created_at"`
	URL       string         `db:"url"`
	Sealed    postgres.Bytes `db:"secret_sealed"`
}

// claim takes messages that are due, for a while: a few of each webhook, so that a slow one keeps nobody waiting, and of one
// subject the first that waits.
func (s store) claim(ctx context.Context, now time.Time, lease time.Duration) ([]message, error) {
	var found []message
	err := s.db.SelectContext(ctx, &found, `
WITH due AS (
	SELECT p.webhook_id, p.id
	FROM (SELECT DISTINCT webhook_id FROM webhook_deliveries WHERE state = '`+pending+`' AND next_at <= $1) h
	JOIN webhooks w ON w.id = h.webhook_id AND w.enabled
	CROSS JOIN LATERAL (
		SELECT q.webhook_id, q.id FROM webhook_deliveries q
		WHERE q.webhook_id = w.id AND q.state = '`+pending+`' AND q.next_at <= $1 AND NOT EXISTS (
			SELECT FROM webhook_deliveries e WHERE e.webhook_id = q.webhook_id AND e.subject = q.subject AND e.subject <> ''
				AND e.state = '`+pending+`' AND e.place < q.place)
		ORDER BY q.place LIMIT $3 FOR UPDATE SKIP LOCKED
	) p LIMIT $4
)
UPDATE webhook_deliveries d SET attempts = d.attempts + 1, next_at = $2 FROM due, webhooks w
WHERE d.webhook_id = due.webhook_id AND d.id = due.id AND w.id = d.webhook_id
RETURNING d.webhook_id, d.id, d.account_id, d.body, d.attempts, d.created_at, w.url, w.secret_sealed`,
		now, now.Add(lease), maxAtOnce, maxSending)
	if err != nil {
		return nil, fmt.Errorf("taking messages that are due: %w", err)
	}
	return found, nil
}

// outcome is what came of a sending.
type outcome struct {
	state   string
	status  int // 0 where no answer came
	problem string
	at      time.Time
	next    time.Time // of a pending one
}

// record keeps what came of a sending. A webhook that a message was given up of is disabled when nothing has reached it since the
// message was made.
func (s store) record(ctx context.Context, m message, came outcome) (disabled bool, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		disabled = false
		_, err := tx.ExecContext(ctx, `UPDATE webhook_deliveries SET state = $3, last_status = $4, last_error = $5,
			next_at = CASE WHEN $3 = '`+pending+`' THEN $6 ELSE next_at END,
			delivered_at = CASE WHEN $3 = '`+delivered+`' THEN $7::timestamptz END
			WHERE webhook_id = $1 AND id = $2 AND attempts = $8`,
			m.WebhookID, m.ID, came.state, came.status, came.problem, came.next, came.at, m.Attempts)
		if err != nil || came.state != failed {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE webhooks SET enabled = false, disabled_reason = $3
			WHERE id = $1 AND enabled AND NOT EXISTS (
				SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND delivered_at > $2)`,
			m.WebhookID, m.CreatedAt,
			"no message has arrived since "+m.CreatedAt.UTC().Format(time.RFC3339)+"; at last "+came.problem)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		disabled = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("keeping what came of message %s: %w", m.ID, err)
	}
	return disabled, nil
}

// tidy removes messages that were made before a moment and are no longer sent.
func (s store) tidy(ctx context.Context, before time.Time) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM webhook_deliveries WHERE created_at < $1 AND state <> '`+pending+`'`,
		before); err != nil {
		return fmt.Errorf("removing old messages: %w", err)
	}
	return nil
}
