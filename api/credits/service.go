// Package credits shows an account its balance and its ledger, sends a browser to the payment provider's checkout and takes the
// provider's news of payments. It moves no money itself: that is the billing room's, and so are amounts and bonuses.
package credits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stripe/stripe-go/v85"

	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
)

// Where the browser comes back to when a request names no other page of ours.
const (
	successPage = "/dashboard?topup=success"
	cancelPage  = "/dashboard?topup=cancelled"
)

// checkoutLimit is how often an account may open a checkout. Somebody whose card is refused tries a few times; each try is a row
// that stays and a call of the provider, which counts them for all accounts together.
var checkoutLimit = throttle.Limit{Rate: 30, Period: time.Hour, Burst: 20}

// Payments is the payment provider. The zero value sells nothing.
type Payments struct {
	SecretKey     string // of the provider's API
	WebhookSecret string // under which the provider signs its events; required with SecretKey
	APIURL        string // another address than the provider's own; "" is the latter
}

// Deps are the parts of the service. Every field is required unless it says otherwise.
type Deps struct {
	DB      *sqlx.DB
	Ledger  *billing.Ledger
	Limiter *throttle.Limiter
	Log     *slog.Logger
	Now     func() time.Time
	// PublicURL is how browsers reach the service, "https://app.example.org". Required with Payments.SecretKey.
	PublicURL string
	Origins   []string // further origins that a checkout may lead back to; may be empty
	Payments  Payments
}

// Service is safe for concurrent use.
type Service struct {
	Deps
	stripe *stripe.Client // nil without a secret key
	home   string         // origin of PublicURL, or ""
}

// New returns the service. Payments that could be taken but never be credited are an error.
func New(deps Deps) (*Service, error) {
	s := &Service{Deps: deps}
	if deps.PublicURL != "" {
		parsed, err := url.Parse(deps.PublicURL)
		if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
			return nil, fmt.Errorf("credits: public URL %q: want the form https://app.example.org", deps.PublicURL)
		}
		s.home = parsed.Scheme + "://" + parsed.Host
	}
	if deps.Payments.SecretKey == "" {
		return s, nil
	}
	switch {
	case deps.Payments.WebhookSecret == "":
		return nil, errors.New("credits: a secret key of the payment provider needs the webhook's secret beside it: payments " +
			"would be taken and never credited")
	case s.home == "":
		return nil, errors.New("credits: a secret key of the payment provider needs the service's public URL beside it: " +
			"checkouts lead back there")
	}
	var err error
	s.stripe, err = newStripe(deps.Payments)
	return s, err
}

// Balance is what the account owns now.
func (s *Service) Balance(ctx context.Context, accountID string) (contract.Balance, error) {
	balance, err := s.Ledger.Balance(ctx, s.DB, accountID, s.now())
	if err != nil {
		return contract.Balance{}, err
	}
	return balanceOf(balance), nil
}

// Transactions is a page of the account's ledger.
func (s *Service) Transactions(ctx context.Context, accountID string, filter billing.Filter) (contract.TransactionList, error) {
	page, err := s.Ledger.Transactions(ctx, s.DB, accountID, filter)
	if err != nil {
		return contract.TransactionList{}, err
	}
	return pageOf(page), nil
}

// TopUp opens a checkout. Nothing is credited: the provider's event does that. Errors: fault.UnknownTier, fault.Validation for a
// page that is not ours, fault.NoPaymentMethod, fault.ProviderUnavailable, throttle.Exceeded.
func (s *Service) TopUp(ctx context.Context, accountID string, r contract.TopUpRequest) (contract.TopUpResponse, error) {
	if err := billing.CheckTier(string(r.TierID)); err != nil {
		return contract.TopUpResponse{}, err
	}
	success, err := s.landing("successUrl", r.SuccessURL, successPage)
	if err != nil {
		return contract.TopUpResponse{}, err
	}
	cancel, err := s.landing("cancelUrl", r.CancelURL, cancelPage)
	if err != nil {
		return contract.TopUpResponse{}, err
	}
	if s.stripe == nil {
		// No 503: clients take that for a passing trouble and try again, here for ever.
		return contract.TopUpResponse{}, fault.New(fault.NoPaymentMethod, "payments are not configured in this deployment: ask "+
			"its operator for credit")
	}
	if verdict := s.Limiter.Take(ctx, "checkout:"+accountID, checkoutLimit); !verdict.Allowed {
		return contract.TopUpResponse{}, verdict.Exceeded("too many checkouts")
	}
	payment, email, err := s.begin(ctx, accountID, string(r.TierID))
	if err != nil {
		return contract.TopUpResponse{}, err
	}
	checkout, err := s.openCheckout(ctx, order{Payment: payment, email: email, successURL: success, cancelURL: cancel})
	if err != nil {
		return contract.TopUpResponse{}, err
	}
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		return s.Ledger.NoteCheckout(ctx, tx, payment.ID, checkout.ID, s.now())
	})
	return contract.TopUpResponse{URL: checkout.URL, TierID: r.TierID}, err
}

// begin stores the payment that the provider will be asked for.
func (s *Service) begin(ctx context.Context, accountID, tierID string) (payment billing.Payment, email string, err error) {
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if email, err = selectEmail(ctx, tx, accountID); err != nil {
			return err
		}
		payment, err = s.Ledger.BeginPayment(ctx, tx, accountID, tierID, s.now())
		return err
	})
	return payment, email, err
}

// landing is the page that a checkout leads back to: the one asked for, if it is ours, or the default. A checkout that leads
// anywhere would lend the provider's good name to a stranger's page.
func (s *Service) landing(member, asked, otherwise string) (string, error) {
	if asked == "" {
		return s.home + otherwise, nil
	}
	if _, err := url.Parse(asked); err == nil && !strings.ContainsRune(asked, '\\') {
		for _, origin := range append([]string{s.home}, s.Origins...) {
			if origin != "" && inside(asked, origin) {
				return asked, nil
			}
		}
	}
	return "", fault.New(fault.Validation, "%s: must be a page of this service or of one of its configured origins, with its "+
		"scheme and host", member)
}

// inside tells whether an address lies in an origin such as "https://app.example.org": what follows the latter's text must end the
// host, or "https://app.example.org.evil.test" and "https://app.example.org@evil.test" would lie in it too.
func inside(address, origin string) bool {
	if len(address) < len(origin) || !strings.EqualFold(address[:len(origin)], origin) {
		return false
	}
	rest := address[len(origin):]
	return rest == "" || strings.ContainsRune("/?#", rune(rest[0]))
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }
