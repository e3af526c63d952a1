package credits

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// attemptTimeout bounds one call of the provider, which usually answers within a second.
	attemptTimeout = 8 * time.Second
	// providerRetries is how often the client repeats a call that failed for the network's or the provider's sake. The
	// idempotency key makes a repeat harmless.
	providerRetries = 1
	// providerPatience bounds all of it: a browser is waiting.
	providerPatience = 20 * time.Second
)

// Names of what we attach to a checkout and to its payment, from where every event brings it back.
const (
	paymentMetadata = "molfabric_payment"
	accountMetadata = "molfabric_account"
	tierMetadata    = "molfabric_tier"
)

// order is a payment on its way to the provider.
type order struct {
	billing.Payment
	email                 string
	successURL, cancelURL string
}

// newStripe returns the provider's client. It logs nothing by itself: its messages repeat parts of keys.
func newStripe(p Payments) (*stripe.Client, error) {
	config := &stripe.BackendConfig{
		HTTPClient:        &http.Client{Timeout: attemptTimeout},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		MaxNetworkRetries: stripe.Int64(providerRetries),
		EnableTelemetry:   stripe.Bool(false),
	}
	if p.APIURL != "" {
		if parsed, err := url.Parse(p.APIURL); err != nil || parsed.Host == "" {
			return nil, errors.New("credits: the address of the payment provider's API cannot be read")
		}
		config.URL = stripe.String(p.APIURL)
	}
	return stripe.NewClient(p.SecretKey, stripe.WithBackends(stripe.NewBackendsWithConfig(config))), nil
}

// openCheckout asks the provider for a page on which the order is paid. Errors: those of providerFault.
func (s *Service) openCheckout(ctx context.Context, o order) (*stripe.CheckoutSession, error) {
	ctx, cancel := context.WithTimeout(ctx, providerPatience)
	defer cancel()
	checkout, err := s.stripe.V1CheckoutSessions.Create(ctx, o.params())
	if err != nil {
		err = providerFault(err)
		if fault.Is(err, fault.NoPaymentMethod) { // for the operator: nobody else can do anything about it
			s.Log.Error("the payment provider refuses the deployment's key", "payment_id", o.ID, "error", err)
		}
		return nil, err
	}
	if checkout.ID == "" || checkout.URL == "" {
		return nil, fmt.Errorf("payment %s: the provider's checkout has no id or no address", o.ID)
	}
	return checkout, nil
}

func (o order) params() *stripe.CheckoutSessionCreateParams {
	metadata := map[string]string{paymentMetadata: o.ID, accountMetadata: o.AccountID, tierMetadata: o.TierID}
	params := &stripe.CheckoutSessionCreateParams{
		Mode:              stripe.String(stripe.CheckoutSessionModePayment),
		SuccessURL:        stripe.String(o.successURL),
		CancelURL:         stripe.String(o.cancelURL),
		ClientReferenceID: stripe.String(o.ID),
		CustomerEmail:     stripe.String(o.email),
		Metadata:          metadata,
		// A refund tells of the payment alone, not of the checkout, and may arrive before the latter's event.
		PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{Metadata: metadata},
		// Paid in another currency, neither the sum nor a refund could be held against the price.
		AdaptivePricing: &stripe.CheckoutSessionCreateAdaptivePricingParams{Enabled: stripe.Bool(false)},
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: stripe.Int64(1),
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: stripe.String(stripe.CurrencyGBP), UnitAmount: stripe.Int64(o.PricePence),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: stripe.String(o.title())},
			},
		}},
	}
	params.SetIdempotencyKey(o.ID)
	return params
}

// title is what the checkout shows: "molfabric credit £55.00, with a bonus of £5.00".
func (o order) title() string {
	title := "molfabric credit " + billing.Display(o.PricePence+o.BonusPence)
	if o.BonusPence > 0 {
		title += ", with a bonus of " + billing.Display(o.BonusPence)
	}
	return title
}

// providerFault is what a failed call means to the caller: fault.ProviderUnavailable when a repeat may help, and
// fault.NoPaymentMethod when the provider does not know the deployment's key; any other refusal is a fault of ours. The
// provider's own message is left out, because it may repeat the key.
func providerFault(err error) error {
	var refused *stripe.Error
	if !errors.As(err, &refused) {
		return fault.Wrap(err, fault.ProviderUnavailable, "the payment provider is away for the moment: try again")
	}
	reason := fmt.Errorf("the payment provider answered %d: type %s, code %s, param %s, request %s",
		refused.HTTPStatusCode, refused.Type, refused.Code, refused.Param, refused.RequestID)
	switch status := refused.HTTPStatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fault.Wrap(reason, fault.NoPaymentMethod, "payments do not work in this deployment: tell its operator; nothing "+
			"was charged")
	case status == http.StatusConflict || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return fault.Wrap(reason, fault.ProviderUnavailable, "the payment provider is away for the moment: try again")
	default:
		return reason
	}
}
