package credits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

// maxEventBytes bounds an event: a checkout or a charge with all its members has some 10 KB.
const maxEventBytes = 256 << 10

// checkoutObject is what we read of an event's checkout. The provider's own types follow one version of its API; these members
// are the same in all, so an endpoint that was registered with another version works too.
type checkoutObject struct {
	ID            string            `json:"id"`
	AmountTotal   int64             `json:"amount_total"` // pence
	Currency      string            `json:"currency"`
	PaymentStatus string            `json:"payment_status"`
	Metadata      map[string]string `json:"metadata"`
}

// chargeObject is what we read of an event's charge.
type chargeObject struct {
	AmountRefunded int64             `json:"amount_refunded"` // pence, the sum of all refunds so far
	Currency       string            `json:"currency"`
	Metadata       map[string]string `json:"metadata"` // the payment's
}

// Receive takes an event as the provider has sent and signed it. Whatever will be no better the next time is accepted, lest the
// provider repeat it for days: events of other kinds, of payments that are not ours, or that contradict their payment, which the
// log tells as an error. Errors: fault.Validation when it is not signed by the provider within the last five minutes.
func (s *Service) Receive(ctx context.Context, body []byte, signature string) error {
	if s.Payments.WebhookSecret == "" { // anybody can sign with an empty secret
		return refusedSignature()
	}
	signed, err := webhook.ConstructEventWithOptions(body, signature, s.Payments.WebhookSecret,
		webhook.ConstructEventOptions{Tolerance: webhook.DefaultTolerance, IgnoreAPIVersionMismatch: true})
	if err != nil {
		s.Log.Warn("a payment event was refused", "error", err)
		return refusedSignature()
	}
	event, ours, err := read(signed)
	if err != nil || !ours {
		return err
	}
	var receipt billing.Receipt
	ctx = tenant.Everyone(ctx, "the provider names the payment, and the payment its account")
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if receipt, err = s.Ledger.ApplyPayment(ctx, tx, event, s.now()); err != nil {
			return err
		}
		return s.write(ctx, tx, event, receipt)
	})
	if errors.Is(err, billing.ErrNoPayment) {
		s.Log.Error("a payment event names a payment that is not stored here", "event_id", event.ID, "payment_id", event.PaymentID)
		return nil
	}
	if err != nil {
		return err
	}
	s.report(event, receipt)
	return nil
}

// write adds what moved money, or was refused, to the audit log.
func (s *Service) write(ctx context.Context, tx *sqlx.Tx, e billing.PaymentEvent, r billing.Receipt) error {
	line := auditlog.Line{At: s.now(), AccountID: r.Payment.AccountID, Actor: auditlog.Provider}
	switch r.Outcome {
	case billing.OutcomeCredited:
		line.Event, line.Detail = auditlog.PaymentCredited, billing.Display(r.Payment.PricePence+r.Payment.BonusPence)+", payment "+
			r.Payment.ID
	case billing.OutcomeReclaimed:
		line.Event, line.Detail = auditlog.PaymentReclaimed, billing.Display(r.Payment.ReclaimedPence)+" so far, payment "+
			r.Payment.ID
	case billing.OutcomeRefused:
		line.Event, line.Detail = auditlog.PaymentRefused, "payment "+r.Payment.ID+", event "+e.ID+": "+r.Objection
	default:
		return nil
	}
	return auditlog.Write(ctx, tx, line)
}

func refusedSignature() error {
	return fault.New(fault.Validation, "the body is not signed by the payment provider")
}

// report logs what an event came to: a refusal and a shortfall are for an operator to look at.
func (s *Service) report(e billing.PaymentEvent, r billing.Receipt) {
	log := s.Log.With("event_id", e.ID, "kind", e.Kind, "payment_id", r.Payment.ID, "account_id", r.Payment.AccountID, "outcome",
		r.Outcome)
	switch {
	case r.Outcome == billing.OutcomeRefused:
		log.Error("a payment event contradicts its payment: nothing was credited", "reason", r.Objection)
	case r.MissingPence > 0:
		log.Warn("a refund was not covered by the wallet", "missing_pence", r.MissingPence)
	default:
		log.Info("payment event")
	}
}

// read translates an event; ours is false for what does not concern us. Errors: fault.Validation when the object cannot be read.
func read(signed stripe.Event) (event billing.PaymentEvent, ours bool, err error) {
	event.ID = signed.ID
	switch signed.Type {
	case stripe.EventTypeCheckoutSessionCompleted, stripe.EventTypeCheckoutSessionAsyncPaymentSucceeded:
		event.Kind = billing.KindPaid
	case stripe.EventTypeCheckoutSessionExpired:
		event.Kind = billing.KindExpired
	case stripe.EventTypeCheckoutSessionAsyncPaymentFailed:
		event.Kind = billing.KindFailed
	case stripe.EventTypeChargeRefunded:
		event.Kind = billing.KindRefunded
	default:
		return event, false, nil
	}
	if signed.Data == nil || signed.ID == "" {
		return event, false, fault.New(fault.Validation, "data: an event of this type has an id and an object")
	}
	if event.Kind == billing.KindRefunded {
		return readCharge(event, signed.Data.Raw)
	}
	return readCheckout(event, signed.Data.Raw)
}

func readCheckout(event billing.PaymentEvent, raw json.RawMessage) (billing.PaymentEvent, bool, error) {
	var checkout checkoutObject
	if err := json.Unmarshal(raw, &checkout); err != nil {
		return event, false, unreadable(err)
	}
	event.CheckoutID, event.Pence, event.Currency = checkout.ID, checkout.AmountTotal, strings.ToUpper(checkout.Currency)
	// Completed and unpaid: the money is on its way, and another event tells whether it has come.
	waiting := event.Kind == billing.KindPaid && checkout.PaymentStatus == string(stripe.CheckoutSessionPaymentStatusUnpaid)
	ours := named(&event, checkout.Metadata)
	return event, ours && !waiting, nil
}

func readCharge(event billing.PaymentEvent, raw json.RawMessage) (billing.PaymentEvent, bool, error) {
	var charge chargeObject
	if err := json.Unmarshal(raw, &charge); err != nil {
		return event, false, unreadable(err)
	}
	event.Pence, event.Currency = charge.AmountRefunded, strings.ToUpper(charge.Currency)
	ours := named(&event, charge.Metadata)
	return event, ours, nil
}

// named reads whose payment an event is about; false when it is none of ours, as with other sales of the same company.
func named(event *billing.PaymentEvent, metadata map[string]string) bool {
	event.PaymentID, event.AccountID = metadata[paymentMetadata], metadata[accountMetadata]
	return event.PaymentID != ""
}

func unreadable(err error) error {
	return fault.Wrap(fmt.Errorf("read a payment event: %w", err), fault.Validation,
		"data.object: cannot be read as what the event's type says")
}
