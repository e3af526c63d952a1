package billing

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"
)

func insertPayment(ctx context.Context, tx *sqlx.Tx, p Payment, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO payments (id, account_id, tier_id, price_pence, bonus_pence, status, created_at,
		updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`, p.ID, p.AccountID, p.TierID, p.PricePence, p.BonusPence, p.Status, now)
	return wrap(err, "begin payment of %s", p.AccountID)
}

// lockPayment reads a payment and keeps other events for it away until the transaction ends. Errors: sql.ErrNoRows.
func lockPayment(ctx context.Context, tx *sqlx.Tx, paymentID string) (Payment, error) {
	var p Payment
	err := tx.GetContext(ctx, &p, `SELECT id, account_id, tier_id, price_pence, bonus_pence, status, coalesce(checkout_id,
		'') AS checkout_id,
			refunded_pence, reclaimed_pence
		FROM payments WHERE id = $1 FOR NO KEY UPDATE`, paymentID)
	return p, wrap(err, "lock payment %q", paymentID)
}

func updateCheckout(ctx context.Context, tx *sqlx.Tx, paymentID, checkoutID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE payments SET checkout_id = $2, updated_at = $3 WHERE id = $1 AND checkout_id IS NULL`,
		paymentID, checkoutID, now)
	return wrap(err, "note checkout of %s", paymentID)
}

func updatePayment(ctx context.Context, tx *sqlx.Tx, p Payment, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE payments SET status = $2, checkout_id = nullif($3, ''), refunded_pence = $4,
		reclaimed_pence = $5,
		updated_at = $6 WHERE id = $1`, p.ID, p.Status, p.CheckoutID, p.RefundedPence, p.ReclaimedPence, now)
	return wrap(err, "update payment %s", p.ID)
}

// insertPaymentEvent reports false when the event was here before.
func insertPaymentEvent(ctx context.Context, tx *sqlx.Tx, e PaymentEvent, outcome PaymentOutcome, now time.Time) (bool, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO payment_events (id, payment_id, kind, outcome, received_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO NOTHING`, e.ID, e.PaymentID, e.Kind, outcome, now)
	return changed(result, wrap(err, "store payment event %s", e.ID))
}
