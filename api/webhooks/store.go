package webhooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/postgres"
)

type store struct{ db *sqlx.DB }

// row is a webhook as it is stored.
type row struct {
	ID             string         `db:"id"`
	AccountID      string         `db:"account_id"`
	URL            string         `db:"url"`
	Description    string         `db:"description"`
	Events         pq.StringArray `db:"events"`
	LowCreditPence int64          `db:"low_credit_pence"`
	Enabled        bool           `db:"enabled"`
	DisabledReason string         `db:"disabled_reason"`
	Sealed         postgres.Bytes `db:"secret_sealed"`
	SecretID       string         `db:"secret_id"`
	Since          time.Time      `db:"since"`
	CreatedAt      time.Time      `db:"created_at"`
}

func (r row) view() contract.Webhook {
	return contract.Webhook{ID: r.ID, URL: r.URL, Description: r.Description, Events: r.Events, LowCreditPence: r.LowCreditPence,
		Enabled: r.Enabled, DisabledReason: r.DisabledReason, CreatedAt: r.CreatedAt.UTC()}
}

// with shows the secret too.
func (r row) with(key string) contract.Webhook {
	found := r.view()
	found.Secret = key
	return found
}

const columns = `id, account_id, url, description, events, low_credit_pence, enabled, disabled_reason, since, created_at`

func (s store) all(ctx context.Context, accountID string, limit int) ([]row, error) {
	var rows []row
	err := s.db.SelectContext(ctx, &rows, `SELECT `+columns+` FROM webhooks WHERE account_id = $1 ORDER BY created_at DESC, id DESC
		LIMIT $2`, accountID, limit)
	return rows, wrap(err, "listing webhooks")
}

// one reads a webhook of the account. Errors: sql.ErrNoRows.
func (s store) one(ctx context.Context, accountID, webhookID string) (found row, err error) {
	err = s.db.GetContext(ctx, &found, `SELECT `+columns+` FROM webhooks WHERE id = $1 AND account_id = $2`, webhookID, accountID)
	return found, wrap(err, "reading webhook %s", webhookID)
}

// count also keeps other additions of the account waiting until the transaction ends.
func (s store) count(ctx context.Context, tx *sqlx.Tx, accountID string) (n int, err error) {
	if _, err := tx.ExecContext(ctx, `SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE`, accountID); err != nil {
		return 0, wrap(err, "locking an account")
	}
	err = tx.GetContext(ctx, &n, `SELECT count(*) FROM webhooks WHERE account_id = $1`, accountID)
	return n, wrap(err, "counting webhooks")
}

func (s store) insert(ctx context.Context, tx *sqlx.Tx, r row) error {
	_, err := tx.NamedExecContext(ctx, `INSERT INTO webhooks (id, account_id, url, description, events, low_credit_pence, enabled,
		secret_sealed, secret_id, since, created_at)
		VALUES (:id, :account_id, :url, :description, :events, :low_credit_pence, :enabled, :secret_sealed, :secret_id, :since,
		:created_at)`, r)
	return wrap(err, "storing a webhook")
}

// update replaces what an owner writes. One that is enabled again, or asks for more, begins anew. Errors: sql.ErrNoRows.
func (s store) update(ctx context.Context, r row) (changed row, err error) {
	err = s.db.GetContext(ctx, &changed, `UPDATE webhooks SET url = $3, description = $4, events = $5, low_credit_pence = $6,
			enabled = $7, disabled_reason = CASE WHEN $7 THEN '' ELSE disabled_reason END,
			since = CASE WHEN $7 AND NOT enabled OR NOT events @> $5 THEN $8 ELSE since END,
			credit_low_at = CASE WHEN low_credit_pence = $6 THEN credit_low_at END
		WHERE id = $1 AND account_id = $2 RETURNING `+columns,
		r.ID, r.AccountID, r.URL, r.Description, r.Events, r.LowCreditPence, r.Enabled, r.Since)
	return changed, wrap(err, "changing webhook %s", r.ID)
}

// reseal stores a new secret. Errors: sql.ErrNoRows.
func (s store) reseal(ctx context.Context, r row) (changed row, err error) {
	err = s.db.GetContext(ctx, &changed, `UPDATE webhooks SET secret_sealed = $3, secret_id = $4
		WHERE id = $1 AND account_id = $2 RETURNING `+columns, r.ID, r.AccountID, r.Sealed, r.SecretID)
	return changed, wrap(err, "storing the secret of webhook %s", r.ID)
}

// remove deletes a webhook of the account. Errors: sql.ErrNoRows.
func (s store) remove(ctx context.Context, accountID, webhookID string) error {
	done, err := s.db.ExecContext(ctx, `DELETE FROM webhooks WHERE id = $1 AND account_id = $2`, webhookID, accountID)
	if err != nil {
		return wrap(err, "removing webhook %s", webhookID)
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return wrap(err, "removing webhook %s", webhookID)
}

// deliveryRow is a message as it is stored.
type deliveryRow struct {
	ID          string         `db:"id"`
	Event       string         `db:"event"`
	Subject     string         `db:"subject"`
	Body        postgres.Bytes `db:"body"`
	State       string         `db:"state"`
	Attempts    int            `db:"attempts"`
	NextAt      time.Time      `db:"next_at"`
	LastStatus  int            `db:"last_status"`
	LastError   string         `db:"last_error"`
	CreatedAt   time.Time      `db:"created_at"`
	DeliveredAt *time.Time     `db:"delivered_at"`
}

func (r deliveryRow) view() contract.WebhookDelivery {
	found := contract.WebhookDelivery{ID: r.ID, Event: r.Event, Subject: r.Subject, State: r.State, Attempts: r.Attempts,
		LastStatus: r.LastStatus, LastError: r.LastError, CreatedAt: r.CreatedAt.UTC(), Body: json.RawMessage(r.Body)}
	if r.State == pending {
		next := r.NextAt.UTC()
		found.NextAt = &next
	}
	if r.DeliveredAt != nil {
		at := r.DeliveredAt.UTC()
		found.DeliveredAt = &at
	}
	return found
}

const deliveryColumns = `id, event, subject, body, state, attempts, next_at, last_status, last_error, created_at, delivered_at`

func (s store) deliveries(ctx context.Context, accountID, webhookID string, limit int) ([]deliveryRow, error) {
	var rows []deliveryRow
	err := s.db.SelectContext(ctx, &rows, `SELECT `+deliveryColumns+` FROM webhook_deliveries
		WHERE webhook_id = $1 AND account_id = $2 ORDER BY place DESC LIMIT $3`, webhookID, accountID, limit)
	return rows, wrap(err, "listing messages to webhook %s", webhookID)
}

// addTest writes a message down. Errors: sql.ErrNoRows.
func (s store) addTest(
	ctx context.Context, accountID, webhookID, messageID string, body []byte, now time.Time,
) (made deliveryRow, err error) {
	err = s.db.GetContext(ctx, &made, `INSERT INTO webhook_deliveries (webhook_id, id, account_id, event, subject, body, state,
		next_at, created_at)
		SELECT id, $3, account_id, $4, '', $5, '`+pending+`', $6, $6 FROM webhooks WHERE id = $1 AND account_id = $2
		RETURNING `+deliveryColumns, webhookID, accountID, messageID, contract.EventWebhookTest, postgres.Bytes(body), now)
	return made, wrap(err, "writing down a message to webhook %s", webhookID)
}

// replay has a message sent as one that never was. Errors: sql.ErrNoRows.
func (s store) replay(ctx context.Context, accountID, webhookID, messageID string, now time.Time) (again deliveryRow, err error) {
	err = s.db.GetContext(ctx, &again, `UPDATE webhook_deliveries SET state = '`+pending+`', attempts = 0, next_at = $4,
		delivered_at = NULL WHERE webhook_id = $1 AND account_id = $2 AND id = $3 RETURNING `+deliveryColumns,
		webhookID, accountID, messageID, now)
	return again, wrap(err, "sending message %s again", messageID)
}
