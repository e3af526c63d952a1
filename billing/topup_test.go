package billing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

func (b *bench) beginPayment(accountID, tierID string) (p billing.Payment, err error) {
	err = b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		p, err = b.ledger.BeginPayment(ctx, tx, accountID, tierID, midMarch)
		return err
	})
	return p, err
}

func (b *bench) begin(t testing.TB, accountID, tierID string) billing.Payment {
	t.Helper()
	p, err := b.beginPayment(accountID, tierID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b *bench) apply(e billing.PaymentEvent, now time.Time) (r billing.Receipt, err error) {
	err = b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		r, err = b.ledger.ApplyPayment(ctx, tx, e, now)
		return err
	})
	return r, err
}

func (b *bench) mustApply(t testing.TB, e billing.PaymentEvent, want billing.PaymentOutcome) billing.Receipt {
	t.Helper()
	r, err := b.apply(e, midMarch)
	if err != nil || r.Outcome != want {
		t.Fatalf("%+v: got %+v, %v, want %s", e, r, err, want)
	}
	return r
}

// news is an event as the provider should tell it.
func news(p billing.Payment, kind billing.PaymentKind, pence int64) billing.PaymentEvent {
	e := billing.PaymentEvent{ID: id.New("evt_"), Kind: kind, PaymentID: p.ID, AccountID: p.AccountID, Pence: pence,
		Currency: "GBP"}
	if kind != billing.KindRefunded {
		e.CheckoutID = "cs_" + p.ID
	}
	return e
}

func TestPaymentIsCreditedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	p := b.begin(t, account, "topup-50")
	if got := b.balance(t, account, midMarch); got.WalletPence != 0 {
		t.Errorf("before the money has come the wallet holds %d", got.WalletPence)
	}
	paid := news(p, billing.KindPaid, 5000)
	b.mustApply(t, paid, billing.OutcomeCredited)
	b.mustApply(t, paid, billing.OutcomeRepeated)
	b.mustApply(t, news(p, billing.KindPaid, 5000), billing.OutcomeNoted) // the same payment, told by another event
	b.mustApply(t, news(p, billing.KindExpired, 0), billing.OutcomeNoted)
	page, err := b.ledger.Transactions(t.Context(), b.db, account, billing.Filter{})
	if want := []string{"bonus settled 250 5000→5250", "top_up settled 5000 0→5000",
		"monthly_grant settled 500 0→500"}; err != nil || fmt.Sprint(lines(page.Entries)) != fmt.Sprint(want) {
		t.Errorf("got %q, %v, want %q", lines(page.Entries), err, want)
	}
	if got := b.balance(t, account, midMarch); got.WalletPence != 5250 || got.TotalCreditedPence != 5750 ||
		got.AvailableDisplay != "£57.50" {
		t.Errorf("got %+v", got)
	}
	b.wantClean(t)
}

// TestMoneyThatArrivesLate: what was given up is credited all the same once it has been paid.
func TestMoneyThatArrivesLate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	for _, before := range []billing.PaymentKind{billing.KindExpired, billing.KindFailed} {
		p := b.begin(t, account, "topup-10")
		if r := b.mustApply(t, news(p, before, 0), billing.OutcomeNoted); string(r.Payment.Status) != string(before) {
			t.Errorf("after %s the payment is %s", before, r.Payment.Status)
		}
		b.mustApply(t, news(p, billing.KindPaid, 1000), billing.OutcomeCredited)
	}
	if got := b.balance(t, account, midMarch); got.WalletPence != 2000 {
		t.Errorf("wallet holds %d, want 2000", got.WalletPence)
	}
	b.wantClean(t)
}

func TestEventsThatContradictTheirPayment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account, other := b.mustOpen(t, midMarch), b.mustOpen(t, midMarch)
	p := b.begin(t, account, "topup-50")
	b.mustApply(t, news(p, billing.KindExpired, 0), billing.OutcomeNoted)
	for name, change := range map[string]func(*billing.PaymentEvent){
		"less":             func(e *billing.PaymentEvent) { e.Pence = 4999 },
		"more":             func(e *billing.PaymentEvent) { e.Pence = 5001 },
		"nothing":          func(e *billing.PaymentEvent) { e.Pence = 0 },
		"dollars":          func(e *billing.PaymentEvent) { e.Currency = "USD" },
		"another account":  func(e *billing.PaymentEvent) { e.AccountID = other },
		"no account":       func(e *billing.PaymentEvent) { e.AccountID = "" },
		"another checkout": func(e *billing.PaymentEvent) { e.CheckoutID = "cs_other" },
		"refund of too much": func(e *billing.PaymentEvent) {
			e.Kind, e.CheckoutID, e.Pence = billing.KindRefunded, "", 5001
		},
		"refund of nothing": func(e *billing.PaymentEvent) { e.Kind, e.CheckoutID, e.Pence = billing.KindRefunded, "", 0 },
	} {
		e := news(p, billing.KindPaid, 5000)
		change(&e)
		if r := b.mustApply(t, e, billing.OutcomeRefused); r.Objection == "" || r.Payment.Status != billing.PaymentExpired {
			t.Errorf("%s: got %+v", name, r)
		}
		b.mustApply(t, e, billing.OutcomeRepeated)
	}
	unknown := news(p, billing.KindPaid, 5000)
	unknown.PaymentID = "pay_unknown"
	if _, err := b.apply(unknown, midMarch); !errors.Is(err, billing.ErrNoPayment) {
		t.Errorf("an unknown payment: got %v, want ErrNoPayment", err)
	}
	for _, a := range []string{account, other} {
		if got := b.balance(t, a, midMarch); got.WalletPence != 0 {
			t.Errorf("%s was credited %d", a, got.WalletPence)
		}
	}
	b.mustApply(t, news(p, billing.KindPaid, 5000), billing.OutcomeCredited)
	b.wantClean(t)
}

func TestRefunds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	p := b.begin(t, account, "topup-50")
	b.mustApply(t, news(p, billing.KindPaid, 5000), billing.OutcomeCredited)
	half := news(p, billing.KindRefunded, 2500)
	b.mustApply(t, half, billing.OutcomeReclaimed)
	b.mustApply(t, half, billing.OutcomeRepeated)
	b.mustApply(t, news(p, billing.KindRefunded, 2500), billing.OutcomeNoted)
	b.mustApply(t, news(p, billing.KindRefunded, 1000), billing.OutcomeNoted) // an earlier one that arrives later
	if got := b.balance(t, account, midMarch); got.WalletPence != 2625 {
		t.Errorf("after half of it came back the wallet holds %d, want 2625", got.WalletPence)
	}
	// A job uses 600 of the wallet beside the month's 500, and holds 1000: 1025 are left of the other half.
	if err := b.hold(account, "job_used", 1100, midMarch); err != nil {
		t.Fatal(err)
	}
	if _, err := b.settle("job_used", 1100, midMarch); err != nil {
		t.Fatal(err)
	}
	if err := b.hold(account, "job_open", 1000, midMarch); err != nil {
		t.Fatal(err)
	}
	r := b.mustApply(t, news(p, billing.KindRefunded, 5000), billing.OutcomeReclaimed)
	if r.MissingPence != 1600 || r.Payment.ReclaimedPence != 2625+1025 {
		t.Errorf("got %+v, want 1600 missing and 3650 reclaimed", r)
	}
	if got := b.balance(t, account, midMarch); got.WalletPence != 1000 || got.AvailablePence != 0 {
		t.Errorf("got %+v", got)
	}
	page, err := b.ledger.Transactions(t.Context(), b.db, account, billing.Filter{Type: billing.EntryAdjustment})
	if err != nil || len(page.Entries) != 2 || !strings.Contains(page.Entries[0].Description, "£50.00 of £50.00") {
		t.Errorf("got %+v, %v", page.Entries, err)
	}
	b.wantClean(t)
}

// TestRefundBeforeItsPayment: the provider keeps no order.
func TestRefundBeforeItsPayment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	p := b.begin(t, account, "topup-50")
	b.mustApply(t, news(p, billing.KindRefunded, 2500), billing.OutcomeNoted)
	if r := b.mustApply(t, news(p, billing.KindPaid, 5000), billing.OutcomeCredited); r.Payment.ReclaimedPence != 2625 {
		t.Errorf("got %+v", r.Payment)
	}
	if got := b.balance(t, account, midMarch); got.WalletPence != 2625 {
		t.Errorf("wallet holds %d, want 2625", got.WalletPence)
	}
	b.wantClean(t)
}

func TestRaceOfDeliveries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	p := b.begin(t, account, "topup-200")
	one := news(p, billing.KindPaid, 20000)
	errs := race(20, func(i int) error {
		e := one
		if i%2 == 1 { // half of them as another event of the same payment
			e.ID = fmt.Sprintf("%s_%d", e.ID, i)
		}
		_, err := b.apply(e, midMarch)
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := b.balance(t, account, midMarch); got.WalletPence != 22000 {
		t.Errorf("wallet holds %d, want 22000", got.WalletPence)
	}
	b.wantClean(t)
}

func TestBeginPaymentRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	_, err := b.beginPayment(account, "topup-1")
	if !fault.Is(err, fault.UnknownTier) {
		t.Errorf("got %v, want %s", err, fault.UnknownTier)
	}
}

// TestCheckoutIsNotedOnce: the event may know it before the answer to our own call has come back.
func TestCheckoutIsNotedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.begin(t, b.mustOpen(t, midMarch), "topup-10")
	b.mustApply(t, news(p, billing.KindPaid, 1000), billing.OutcomeCredited)
	err := b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		return b.ledger.NoteCheckout(ctx, tx, p.ID, "cs_late", midMarch)
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := b.mustApply(t, news(p, billing.KindExpired, 0), billing.OutcomeNoted); r.Payment.CheckoutID != "cs_"+p.ID {
		t.Errorf("the checkout is now %q", r.Payment.CheckoutID)
	}
}
