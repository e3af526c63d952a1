package billing_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
)

// modelPayment is a payment kept by the plainest rules: paid or not, and the largest refund told.
type modelPayment struct {
	billing.Payment
	paid     bool
	refunded int64
}

// till is the machine under test: payments of one account, its wallet, and every event that was ever sent.
type till struct {
	b        *bench
	account  string
	now      time.Time
	wallet   int64 // as the model has it; jobs spend from it
	credited int64
	payments []*modelPayment
	sent     []billing.PaymentEvent
}

// TestDeliveriesCreditOnce sends news of payments in any order, doubled, late, false and between jobs that spend, and holds
// the wallet against the model after every step.
func TestDeliveriesCreditOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		account, err := b.open(midMarch)
		if err != nil {
			rt.Fatal(err)
		}
		w := &till{b: b, account: account, now: midMarch}
		w.spend(rt, freePence) // the month's credit, so that jobs use the wallet
		w.Begin(rt)
		rt.Repeat(rapid.StateMachineActions(w))
		violations, err := b.ledger.Audit(t.Context(), b.db)
		if err != nil || len(violations) > 0 {
			rt.Fatalf("audit: %v %v", violations, err)
		}
	})
}

// Begin starts a payment.
func (w *till) Begin(t *rapid.T) {
	if len(w.payments) == 4 {
		t.Skip("enough payments")
	}
	tier := rapid.SampledFrom(contract.TierIDs).Draw(t, "tier")
	w.payments = append(w.payments, &modelPayment{Payment: w.begin(t, tier)})
}

// Tell sends a true event of any kind, whatever was told before.
func (w *till) Tell(t *rapid.T) {
	p := rapid.SampledFrom(w.payments).Draw(t, "payment")
	kind := rapid.SampledFrom([]billing.PaymentKind{billing.KindPaid, billing.KindPaid, billing.KindExpired, billing.KindFailed,
		billing.KindRefunded}).Draw(t, "kind")
	e := news(p.Payment, kind, p.PricePence)
	if kind == billing.KindRefunded {
		e.Pence = rapid.Int64Range(1, p.PricePence).Draw(t, "refunded")
	}
	w.send(t, e)
	before := p.due()
	switch kind {
	case billing.KindPaid:
		if !p.paid {
			w.wallet += p.PricePence + p.BonusPence
			w.credited += p.PricePence + p.BonusPence
		}
		p.paid = true
	case billing.KindRefunded:
		p.refunded = max(p.refunded, e.Pence)
	}
	w.wallet -= min(p.due()-before, w.wallet)
}

// due is all that refunds should have taken so far: themselves and their part of the bonus, rounded up.
func (p *modelPayment) due() int64 {
	if !p.paid {
		return 0
	}
	bonus := p.BonusPence * p.refunded
	whole := bonus / p.PricePence
	if bonus%p.PricePence > 0 {
		whole++
	}
	return p.refunded + whole
}

// Repeat sends an old event again.
func (w *till) Repeat(t *rapid.T) {
	if len(w.sent) == 0 {
		t.Skip("nothing was sent")
	}
	e := rapid.SampledFrom(w.sent).Draw(t, "event")
	if r, err := w.b.apply(e, w.now); err != nil || r.Outcome != billing.OutcomeRepeated {
		t.Fatalf("%+v again: got %+v, %v", e, r, err)
	}
}

// Lie sends a payment of another sum.
func (w *till) Lie(t *rapid.T) {
	p := rapid.SampledFrom(w.payments).Draw(t, "payment")
	e := news(p.Payment, billing.KindPaid, p.PricePence+rapid.SampledFrom([]int64{-1, 1, 100_000}).Draw(t, "off by"))
	if r, err := w.b.apply(e, w.now); err != nil || r.Outcome != billing.OutcomeRefused {
		t.Fatalf("%+v: got %+v, %v", e, r, err)
	}
}

// Spend lets a job use a part of the wallet.
func (w *till) Spend(t *rapid.T) {
	if w.wallet == 0 {
		t.Skip("nothing to spend")
	}
	pence := rapid.Int64Range(1, w.wallet).Draw(t, "pence")
	w.spend(t, pence)
	w.wallet -= pence
}

func (w *till) begin(t *rapid.T, tier string) billing.Payment {
	p, err := w.b.beginPayment(w.account, tier)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *till) spend(t *rapid.T, pence int64) {
	job := id.New("job_")
	if err := w.b.hold(w.account, job, pence, w.now); err != nil {
		t.Fatal(err)
	}
	if _, err := w.b.settle(job, pence, w.now); err != nil {
		t.Fatal(err)
	}
}

func (w *till) send(t *rapid.T, e billing.PaymentEvent) {
	if _, err := w.b.apply(e, w.now); err != nil {
		t.Fatal(err)
	}
	w.sent = append(w.sent, e)
}

// Check compares the wallet, and all that was ever credited, with the model's.
func (w *till) Check(t *rapid.T) {
	got, err := w.b.ledger.Balance(t.Context(), w.b.db, w.account, w.now)
	if err != nil {
		t.Fatal(err)
	}
	gotLine := fmt.Sprint(got.WalletPence, got.TotalCreditedPence)
	if wantLine := fmt.Sprint(w.wallet, w.credited+freePence); gotLine != wantLine {
		t.Fatalf("wallet and credited: got %s, want %s", gotLine, wantLine)
	}
}
