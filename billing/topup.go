package billing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// paymentIDPrefix begins the id of a payment.
const paymentIDPrefix = "pay_"

// ErrNoPayment means that an event names a payment which was never begun here.
var ErrNoPayment = errors.New("no such payment")

// PaymentStatus is how far a payment has come. Paid is final; the others become paid when the money arrives after all.
type PaymentStatus string

// The states of a payment.
const (
	PaymentPending PaymentStatus = "pending"
	PaymentPaid    PaymentStatus = "paid"
	PaymentExpired PaymentStatus = "expired"
	PaymentFailed  PaymentStatus = "failed"
)

// Payment is a purchase of credit.
type Payment struct {
	ID             string        `db:"id"`
	AccountID      string        `db:"account_id"`
	TierID         string        `db:"tier_id"`
	PricePence     int64         `db:"price_pence"`
	BonusPence     int64         `db:"bonus_pence"`
	Status         PaymentStatus `db:"status"`
	CheckoutID     string        `db:"checkout_id"`     // the provider's; "" until it has answered
	RefundedPence  int64         `db:"refunded_pence"`  // what the payer got back so far
	ReclaimedPence int64         `db:"reclaimed_pence"` // what the wallet gave back for it
}

// PaymentKind is what the provider tells of a payment.
type PaymentKind string

// The kinds of a payment event.
const (
	KindPaid     PaymentKind = "paid"
	KindExpired  PaymentKind = "expired"
	KindFailed   PaymentKind = "failed"
	KindRefunded PaymentKind = "refunded"
)

// PaymentEvent is one piece of news from the payment provider, whose origin the caller has verified.
type PaymentEvent struct {
	ID         string // the provider's: a repeat has the same
	Kind       PaymentKind
	PaymentID  string
	AccountID  string // whose payment the provider was told it is
	CheckoutID string // "" with a refund
	Pence      int64  // what was paid, or all that has been refunded so far
	Currency   string // ISO 4217, in capitals
}

// PaymentOutcome is what an event came to.
type PaymentOutcome string

// The outcomes of an event.
const (
	OutcomeCredited  PaymentOutcome = "credited"
	OutcomeReclaimed PaymentOutcome = "reclaimed" // a refund has been taken from the wallet, as far as it went
	OutcomeNoted     PaymentOutcome = "noted"     // no money has moved
	OutcomeRefused   PaymentOutcome = "refused"   // it contradicts the payment; nothing but the refusal is stored
	OutcomeRepeated  PaymentOutcome = "repeated"  // it was here before
)

// Receipt is the answer to an event.
type Receipt struct {
	Payment      Payment // after the event
	Outcome      PaymentOutcome
	Objection    string // why it was refused; "" otherwise
	MissingPence int64  // what a refund should have taken from the wallet and did not find there
}

// BeginPayment stores a pending payment for a tier of the price book. It comes before the provider is asked for anything, so that
// no money can arrive that nobody expects. Errors: fault.UnknownTier.
func (l *Ledger) BeginPayment(ctx context.Context, tx *sqlx.Tx, accountID, tierID string, now time.Time) (Payment, error) {
	tier, err := l.book.Tier(tierID)
	if err != nil {
		return Payment{}, err
	}
	p := Payment{
		ID: l.newID(paymentIDPrefix), AccountID: accountID, TierID: tierID, Status: PaymentPending,
		PricePence: tier.PricePence, BonusPence: tier.BonusPence,
	}
	return p, insertPayment(ctx, tx, p, now)
}

// NoteCheckout stores which checkout of the provider belongs to a payment, unless an event has told it before.
func (l *Ledger) NoteCheckout(ctx context.Context, tx *sqlx.Tx, paymentID, checkoutID string, now time.Time) error {
	return updateCheckout(ctx, tx, paymentID, checkoutID, now)
}

// ApplyPayment takes news from the provider into account, in whatever order and however often it comes: a payment is credited
// once, with its bonus, and each refund is taken back once. A refund takes from the wallet what was refunded and the same part of
// the bonus, as far as that is available: credit that jobs have used or hold is not pursued, and the wallet never goes below
// zero. Errors: ErrNoPayment.
func (l *Ledger) ApplyPayment(ctx context.Context, tx *sqlx.Tx, e PaymentEvent, now time.Time) (Receipt, error) {
	// The payment's lock keeps other deliveries for it waiting until this one is decided.
	p, err := lockPayment(ctx, tx, e.PaymentID)
	if errors.Is(err, sql.ErrNoRows) {
		return Receipt{}, fmt.Errorf("event %s for %q: %w", e.ID, e.PaymentID, ErrNoPayment)
	}
	if err != nil {
		return Receipt{}, err
	}
	objection := p.objection(e, l.book.Currency)
	after, outcome := p, OutcomeRefused
	if objection == "" {
		after, outcome = p.after(e)
	}
	fresh, err := insertPaymentEvent(ctx, tx, e, outcome, now)
	if err != nil || !fresh {
		return Receipt{Payment: p, Outcome: OutcomeRepeated}, err
	}
	missing, err := l.movePayment(ctx, tx, p, &after, now)
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Payment: after, Outcome: outcome, Objection: objection, MissingPence: missing}
	return receipt, updatePayment(ctx, tx, after, now)
}

// movePayment enters what lies between two states of a payment. It notes in the new one what a refund took.
func (l *Ledger) movePayment(
	ctx context.Context, tx *sqlx.Tx, before Payment, after *Payment, now time.Time,
) (missingPence int64, err error) {
	if after.Status != PaymentPaid {
		return 0, nil // a refund that is told before its payment waits for it
	}
	refunded := before.RefundedPence
	if before.Status != PaymentPaid {
		refunded = 0
		for _, c := range after.credits() {
			if _, err := l.Credit(ctx, tx, c, now); err != nil {
				return 0, err
			}
		}
	}
	due := after.reclaimable(after.RefundedPence) - after.reclaimable(refunded)
	if due == 0 {
		return 0, nil
	}
	taken, err := l.reclaim(ctx, tx, *after, due, now)
	after.ReclaimedPence += taken
	return due - taken, err
}

// reclaim takes due pence from the wallet, or what is available of them.
func (l *Ledger) reclaim(ctx context.Context, tx *sqlx.Tx, p Payment, duePence int64, now time.Time) (takenPence int64, err error) {
	// Between the look and the taking nobody may spend it.
	if err := l.LockAccounts(ctx, tx, p.AccountID); err != nil {
		return 0, err
	}
	balance, err := l.Balance(ctx, tx, p.AccountID, now)
	if err != nil {
		return 0, err
	}
	takenPence = min(duePence, balance.WalletAvailablePence)
	if takenPence == 0 {
		return 0, nil
	}
	_, err = l.Credit(ctx, tx, CreditRequest{
		AccountID: p.AccountID, Type: EntryAdjustment, Bucket: Wallet, Pence: -takenPence,
		UniqueKey:   fmt.Sprintf("payment:%s:refunded:%d", p.ID, p.RefundedPence),
		Description: fmt.Sprintf("Refund of a top-up: %s of %s paid back", Display(p.RefundedPence), Display(p.PricePence)),
	}, now)
	return takenPence, err
}

// credits are what a payment brings, once.
func (p Payment) credits() []CreditRequest {
	credits := []CreditRequest{{
		AccountID: p.AccountID, Type: EntryTopUp, Bucket: Wallet, Pence: p.PricePence,
		UniqueKey: "payment:" + p.ID, Description: "Top-up of " + Display(p.PricePence),
	}}
	if p.BonusPence > 0 {
		credits = append(credits, CreditRequest{
			AccountID: p.AccountID, Type: EntryBonus, Bucket: Wallet, Pence: p.BonusPence,
			UniqueKey: "payment:" + p.ID + ":bonus", Description: "Bonus for a top-up of " + Display(p.PricePence),
		})
	}
	return credits
}

// reclaimable is what a refund of so much takes back: itself and the same part of the bonus, rounded up to a penny. Without the
// latter, buying and giving back would be a source of credit.
func (p Payment) reclaimable(refundedPence int64) int64 {
	return refundedPence + (p.BonusPence*refundedPence+p.PricePence-1)/p.PricePence
}

// objection says how an event contradicts its payment, or "".
func (p Payment) objection(e PaymentEvent, currency string) string {
	switch {
	case e.AccountID != p.AccountID:
		return "it names another account"
	case e.CheckoutID != "" && p.CheckoutID != "" && e.CheckoutID != p.CheckoutID:
		return "it names another checkout"
	case (e.Kind == KindPaid || e.Kind == KindRefunded) && e.Currency != currency:
		return fmt.Sprintf("it is in %q and not in %s", e.Currency, currency)
	case e.Kind == KindPaid && e.Pence != p.PricePence:
		return fmt.Sprintf("%d pence were paid and the price is %d", e.Pence, p.PricePence)
	case e.Kind == KindRefunded && (e.Pence < 1 || e.Pence > p.PricePence):
		return fmt.Sprintf("%d pence were refunded of a price of %d", e.Pence, p.PricePence)
	default:
		return ""
	}
}

// after is the payment after an event that it has no objection to, whatever order events arrive in: what was paid stays paid, and
// of two refunds the larger sum is the later one.
func (p Payment) after(e PaymentEvent) (Payment, PaymentOutcome) {
	outcome := OutcomeNoted
	if e.CheckoutID != "" {
		p.CheckoutID = e.CheckoutID
	}
	switch {
	case e.Kind == KindRefunded && e.Pence > p.RefundedPence:
		p.RefundedPence = e.Pence
		if p.Status == PaymentPaid {
			outcome = OutcomeReclaimed
		}
	case p.Status == PaymentPaid:
	case e.Kind == KindPaid:
		p.Status, outcome = PaymentPaid, OutcomeCredited
	case e.Kind == KindExpired:
		p.Status = PaymentExpired
	case e.Kind == KindFailed:
		p.Status = PaymentFailed
	}
	return p, outcome
}
