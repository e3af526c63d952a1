package chaos

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/id"
)

const (
	// webhookSecret signs the payment provider's events.
	webhookSecret = "whsec_chaos"
	// tier is what is bought.
	tier = "topup-50"
	// repeatedEvents is how often each event comes.
	repeatedEvents = 15
	// staleEvent is the age of an event that is refused: older than the five minutes that Stripe's own libraries allow.
	staleEvent = 10 * time.Minute
	// tillTimeout bounds a request to the till.
	tillTimeout = 10 * time.Second
)

// till stands for the payment provider, which cannot be reached from here: it opens checkouts, and its events are signed as
// Stripe's.
type till struct {
	server *http.Server
	url    string
	served sync.WaitGroup
}

// openTill listens on a free port of loopback.
func openTill() (*till, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a till: %w", err)
	}
	t := &till{url: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/checkout/sessions", func(answer http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // what was ordered stands in the payments
		answer.Header().Set("Content-Type", jsonMedia)
		fmt.Fprintf(answer, `{"id":%q,"object":"checkout.session","url":"https://checkout.example.org/pay"}`, id.New("cs_test_"))
	})
	t.server = &http.Server{Handler: mux, ReadTimeout: tillTimeout, WriteTimeout: tillTimeout}
	t.served.Go(func() { _ = t.server.Serve(listener) }) // it always ends with an error
	return t, nil
}

func (t *till) close() {
	_ = t.server.Close()
	t.served.Wait()
}

// env makes APIs sell through the till.
func (t *till) env() []string {
	return []string{"STRIPE_SECRET_KEY=sk_test_chaos", "STRIPE_WEBHOOK_SECRET=" + webhookSecret, "STRIPE_API_URL=" + t.url}
}

// event is a signed message of the payment provider.
type event struct {
	body   []byte
	secret string
	at     time.Time
}

// checkoutEvent tells of a payment's checkout.
func checkoutEvent(kind string, account *Account, p payment, status string) event {
	return newEvent(kind, map[string]any{"id": p.CheckoutID, "object": "checkout.session", "amount_total": p.PricePence,
		"currency": "gbp", "payment_status": status, "metadata": ownersOf(account, p)})
}

// refundEvent tells that so much of a payment has been given back, in pence.
func refundEvent(account *Account, p payment, pence int64) event {
	return newEvent("charge.refunded", map[string]any{"id": "ch_1", "object": "charge", "amount_refunded": pence, "currency": "gbp",
		"metadata": ownersOf(account, p)})
}

func ownersOf(account *Account, p payment) map[string]any {
	return map[string]any{"molfabric_payment": p.ID, "molfabric_account": account.ID}
}

func newEvent(kind string, object map[string]any) event {
	return event{secret: webhookSecret, at: time.Now(), body: encode(map[string]any{"id": id.New("evt_"), "object": "event",
		"type": kind, "api_version": "2020-08-27", "created": time.Now().Unix(), "livemode": false, "pending_webhooks": 1,
		"data": map[string]any{"object": object}})}
}

// signature is the header in which the provider proves an event: a time, and the HMAC of the time and the body under the secret.
func (e event) signature() string {
	mac := hmac.New(sha256.New, []byte(e.secret))
	fmt.Fprintf(mac, "%d.%s", e.at.Unix(), e.body)
	return fmt.Sprintf("t=%d,v1=%s", e.at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// deliver sends an event to an API.
func (e event) deliver(ctx context.Context, api *Process) (Answer, error) {
	return caller{}.send(ctx, api, http.MethodPost, "/api/v1/webhooks/stripe", e.body, "Stripe-Signature", e.signature())
}

// order begins a payment.
func order(ctx context.Context, w *World, account *Account) (payment, error) {
	browser, err := account.browser(ctx, w.APIs()[0])
	if err != nil {
		return payment{}, err
	}
	defer browser.Close()
	if _, err := browser.TopUp(ctx, tier); err != nil {
		return payment{}, fmt.Errorf("top up: %w", err)
	}
	return newestPayment(ctx, w.db, account.ID)
}

// payBadly delivers events often, in any order and falsely; what is paid is credited once.
func (t *till) payBadly(ctx context.Context, w *World, rng *rand.Rand) error {
	return errors.Join(anyOrder(ctx, w, rng), falseEvents(ctx, w))
}

// anyOrder delivers all that can be told of one payment many times, in an order of chance, over all APIs at once: in the end it was
// paid once, and a fifth of it was given back.
func anyOrder(ctx context.Context, w *World, rng *rand.Rand) error {
	account, err := w.Account(ctx, 0)
	if err != nil {
		return err
	}
	p, err := order(ctx, w, account)
	if err != nil {
		return err
	}
	refunded := p.PricePence / 5
	events := []event{
		checkoutEvent("checkout.session.completed", account, p, "paid"),
		checkoutEvent("checkout.session.completed", account, p, "unpaid"),
		checkoutEvent("checkout.session.async_payment_succeeded", account, p, "paid"), refundEvent(account, p, refunded),
		refundEvent(account, p, refunded/2),
	}
	order := rng.Perm(len(events) * repeatedEvents)
	apis := w.APIs()
	err = atOnce(len(order), func(i int) error {
		answer, err := events[order[i]%len(events)].deliver(ctx, apis[i%len(apis)])
		if err != nil {
			return err
		}
		return answer.read(nil, http.StatusOK)
	})
	if err != nil {
		return err
	}
	// What comes when all is over changes nothing.
	for _, kind := range []string{"checkout.session.expired", "checkout.session.async_payment_failed"} {
		answer, err := checkoutEvent(kind, account, p, "unpaid").deliver(ctx, apis[0])
		if err == nil {
			err = answer.read(nil, http.StatusOK)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	w.Figure("payment_events_count", float64(len(order)))
	returned := refunded + p.BonusPence*refunded/p.PricePence
	return w.wasPaid(ctx, account, p.PricePence+p.BonusPence-returned, 1)
}

// wasPaid expects so much in an account that had nothing, and so many top-ups.
func (w *World) wasPaid(ctx context.Context, account *Account, pence int64, topUps int) error {
	balance, err := account.Client.Balance(ctx)
	if err != nil {
		return err
	}
	credited, err := creditsOf(ctx, w.db, account.ID, "top_up")
	if err == nil && (balance.Body.AvailableCents != pence || credited != topUps) {
		err = fmt.Errorf("%d pence are available after %d top-ups, want %d after %d", balance.Body.AvailableCents, credited, pence,
			topUps)
	}
	return err
}

// falseEvents delivers what the provider has not sent, or not to us.
func falseEvents(ctx context.Context, w *World) error {
	account, err := w.Account(ctx, 0)
	if err != nil {
		return err
	}
	p, err := order(ctx, w, account)
	if err != nil {
		return err
	}
	paid := checkoutEvent("checkout.session.completed", account, p, "paid")
	forged, old := paid, paid
	forged.secret, old.at = "whsec_other", time.Now().Add(-staleEvent)
	altered := paid.signature()
	for name, try := range map[string]func() (Answer, error){
		"signed by another": func() (Answer, error) { return forged.deliver(ctx, w.APIs()[0]) },
		"too old":           func() (Answer, error) { return old.deliver(ctx, w.APIs()[1]) },
		"altered after it was signed": func() (Answer, error) {
			return caller{}.send(ctx, w.APIs()[0], http.MethodPost, "/api/v1/webhooks/stripe", append([]byte(" "), paid.body...),
				"Stripe-Signature", altered)
		},
		"not signed": func() (Answer, error) {
			return caller{}.send(ctx, w.APIs()[0], http.MethodPost, "/api/v1/webhooks/stripe", paid.body)
		},
	} {
		answer, err := try()
		if err == nil {
			err = answer.refuses(http.StatusBadRequest, "VALIDATION_ERROR")
		}
		if err != nil {
			return fmt.Errorf("an event %s: %w", name, err)
		}
	}
	if err := w.contradicts(ctx, account, p); err != nil {
		return err
	}
	return w.wasPaid(ctx, account, 0, 0)
}

// contradicts delivers signed events that are not about this payment as it was ordered: taken, and without effect.
func (w *World) contradicts(ctx context.Context, account *Account, p payment) error {
	less, checkout, nobody := p, p, p
	less.PricePence--
	checkout.CheckoutID = "cs_test_other"
	nobody.ID = id.New("pay_")
	foreign := newEvent("checkout.session.completed", map[string]any{"id": p.CheckoutID, "object": "checkout.session",
		"amount_total": p.PricePence, "currency": "usd", "payment_status": "paid", "metadata": ownersOf(account, p)})
	for _, one := range []event{
		checkoutEvent("checkout.session.completed", account, less, "paid"),
		checkoutEvent("checkout.session.completed", account, checkout, "paid"),
		checkoutEvent("checkout.session.completed", account, nobody, "paid"),
		checkoutEvent("checkout.session.completed", &Account{ID: "acct_other"}, p, "paid"),
		foreign, newEvent("customer.created", map[string]any{"id": "cus_1"}),
	} {
		answer, err := one.deliver(ctx, w.APIs()[0])
		if err == nil {
			err = answer.read(nil, http.StatusOK)
		}
		if err != nil {
			return fmt.Errorf("an event that contradicts its payment: %w", err)
		}
	}
	return nil
}
