package credits_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/credits"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
)

// till is a shop with one payment that has been begun, whose checkout is known by what Stripe was told.
type till struct {
	*shop
	payment string
	browser *apitest.Caller
	stripe  *listener
}

func openTill(t *testing.T, tier string) *till {
	t.Helper()
	stripe := listen(t, stripeMock(t))
	s := open(t, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: stripe.URL})
	browser := s.SignUp()
	c := &till{shop: s, browser: browser, stripe: stripe}
	c.payment = c.order(tier)
	return c
}

// order begins a payment and returns its id.
func (c *till) order(tier string) string {
	c.t.Helper()
	if got := topUp(c.browser, `{"tierId":"`+tier+`"}`); got.StatusCode != 200 {
		c.t.Fatalf("top-up: %d %s", got.StatusCode, got.Text)
	}
	return (<-c.stripe.orders).form.Get("client_reference_id")
}

// members of an event's object.
type members map[string]any

// checkout is an event about a checkout as Stripe sends it: the object is what the mock answers for it, nulls and all.
func (c *till) checkout(kind, payment string, change members) string {
	c.t.Helper()
	var stored string
	if err := c.DB.GetContext(c.t.Context(), &stored, `SELECT checkout_id FROM payments WHERE id = $1`, payment); err != nil {
		c.t.Fatal(err)
	}
	object := c.ask("/v1/checkout/sessions/" + stored)
	for name, value := range (members{
		"id": stored, "object": "checkout.session", "client_reference_id": payment, "currency": "gbp", "payment_status": "paid",
		"metadata": members{"molfabric_payment": payment, "molfabric_account": c.browser.AccountID},
	}) {
		object[name] = value
	}
	return event(kind, object, change)
}

// charge is an event about a charge.
func (c *till) charge(kind, payment string, change members) string {
	c.t.Helper()
	object := c.ask("/v1/charges/ch_1")
	object["currency"], object["metadata"] = "gbp", members{"molfabric_payment": payment, "molfabric_account": c.browser.AccountID}
	return event(kind, object, change)
}

// ask reads an object of Stripe's own making.
func (c *till) ask(path string) members {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.stripe.URL+path, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secretKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	<-c.stripe.orders
	object := members{}
	if err := json.NewDecoder(response.Body).Decode(&object); err != nil || response.StatusCode != 200 {
		c.t.Fatalf("%s: %d, %v", path, response.StatusCode, err)
	}
	return object
}

func event(kind string, object, change members) string {
	for name, value := range change {
		object[name] = value
	}
	text, err := json.MarshalIndent(members{
		"id": id.New("evt_"), "object": "event", "type": kind, "api_version": "2020-08-27", "created": time.Now().Unix(),
		"livemode": false, "pending_webhooks": 1, "request": members{"id": nil, "idempotency_key": nil},
		"data": members{"object": object},
	}, "", "  ")
	if err != nil {
		panic(err) // the members of a test are JSON
	}
	return string(text) + "\n" // the bytes are signed as they are
}

// deliver sends a body signed by Stripe's own scheme, and returns the status.
func (s *shop) deliver(body string) int {
	s.t.Helper()
	got := s.Anonymous().Send("POST", "/api/v1/webhooks/stripe", body, signed(body, webhookSecret, time.Now())...)
	if got.StatusCode == 200 && got.Text != "{\"received\":true}\n" {
		s.t.Errorf("got %q", got.Text)
	}
	return got.StatusCode
}

func (s *shop) wantStatus(body string, want int) {
	s.t.Helper()
	if got := s.deliver(body); got != want {
		s.t.Errorf("got %d, want %d, for %s", got, want, body)
	}
}

// signed is the header of a delivery.
func signed(body, secret string, at time.Time) []string {
	payload := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(body), Secret: secret, Timestamp: at})
	return []string{"Stripe-Signature", payload.Header, "Content-Type", "application/json; charset=utf-8"}
}

func TestPaymentReachesTheWallet(t *testing.T) {
	t.Parallel()
	c := openTill(t, "topup-50")
	paid := c.checkout("checkout.session.completed", c.payment, members{"amount_total": 5000})
	if !strings.Contains(paid, "null") {
		t.Error("the event has no nulls, as Stripe's have")
	}
	for range 3 {
		c.wantStatus(paid, 200)
	}
	// The same payment by another event, and one that comes too late.
	c.wantStatus(c.checkout("checkout.session.async_payment_succeeded", c.payment, members{"amount_total": 5000}), 200)
	c.wantStatus(c.checkout("checkout.session.expired", c.payment, nil), 200)
	if got := c.wallet(c.browser); got != 5250 {
		t.Errorf("wallet holds %d, want 5250", got)
	}
	got := c.browser.Send("GET", "/api/v1/credits/transactions?limit=2", "")
	var list struct{ Transactions []contract.Transaction }
	if err := json.Unmarshal([]byte(got.Text), &list); err != nil || len(list.Transactions) != 2 ||
		list.Transactions[0].Type != "bonus" ||
		list.Transactions[0].AmountCents != 250 || list.Transactions[1].Type != "top_up" ||
		list.Transactions[1].AmountCents != 5000 || list.Transactions[1].Status != "settled" {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	c.wantClean()
}

func TestMoneyThatTakesDays(t *testing.T) {
	t.Parallel()
	c := openTill(t, "topup-10")
	c.wantStatus(c.checkout("checkout.session.completed", c.payment, members{"amount_total": 1000, "payment_status": "unpaid"}),
		200)
	if got := c.wallet(c.browser); got != 0 {
		t.Errorf("before the money has come: wallet holds %d", got)
	}
	c.wantStatus(c.checkout("checkout.session.async_payment_succeeded", c.payment, members{"amount_total": 1000}), 200)
	if got := c.wallet(c.browser); got != 1000 {
		t.Errorf("wallet holds %d, want 1000", got)
	}
	for kind, want := range map[string]string{"checkout.session.async_payment_failed": "failed",
		"checkout.session.expired": "expired"} {
		payment := c.order("topup-10")
		c.wantStatus(c.checkout(kind, payment, members{"amount_total": 1000, "payment_status": "unpaid"}), 200)
		var status string
		if err := c.DB.GetContext(t.Context(), &status, `SELECT status FROM payments WHERE id = $1`, payment); err != nil ||
			status != want {
			t.Errorf("after %s: %q, %v", kind, status, err)
		}
	}
	c.wantClean()
}

func TestRefundLeavesTheWallet(t *testing.T) {
	t.Parallel()
	c := openTill(t, "topup-50")
	// A refund of a fifth is told first, then the payment, then the whole refund, each twice.
	for _, body := range []string{
		c.charge("charge.refunded", c.payment, members{"amount_refunded": 1000}),
		c.checkout("checkout.session.completed", c.payment, members{"amount_total": 5000}),
	} {
		c.wantStatus(body, 200)
		c.wantStatus(body, 200)
	}
	if got := c.wallet(c.browser); got != 4200 {
		t.Errorf("a fifth refunded: wallet holds %d, want 4200", got)
	}
	whole := c.charge("charge.refunded", c.payment, members{"amount_refunded": 5000})
	c.wantStatus(whole, 200)
	c.wantStatus(whole, 200)
	if got := c.wallet(c.browser); got != 0 {
		t.Errorf("all refunded: wallet holds %d, want 0", got)
	}
	c.wantClean()
}

// TestEventsThatCreditNothing are signed, and either not ours or wrong. None is sent again for days: all get 200.
func TestEventsThatCreditNothing(t *testing.T) {
	t.Parallel()
	c := openTill(t, "topup-50")
	stranger := c.SignUp()
	const completed = "checkout.session.completed"
	for name, body := range map[string]string{
		"less":    c.checkout(completed, c.payment, members{"amount_total": 1}),
		"nothing": c.checkout(completed, c.payment, members{"amount_total": 0, "payment_status": "no_payment_required"}),
		"null":    c.checkout(completed, c.payment, members{"amount_total": nil}),
		"dollars": c.checkout(completed, c.payment, members{"amount_total": 5000, "currency": "usd"}),
		"another account": c.checkout(completed, c.payment, members{"amount_total": 5000,
			"metadata": members{"molfabric_payment": c.payment, "molfabric_account": stranger.AccountID}}),
		"unknown account": c.checkout(completed, c.payment, members{"amount_total": 5000,
			"metadata": members{"molfabric_payment": c.payment, "molfabric_account": "acct_x"}}),
		"unknown payment": c.checkout(completed, c.payment, members{"amount_total": 5000,
			"metadata": members{"molfabric_payment": "pay_x", "molfabric_account": c.browser.AccountID}}),
		"another checkout": c.checkout(completed, c.payment, members{"amount_total": 5000, "id": "cs_test_other"}),
		"another sale":     c.checkout(completed, c.payment, members{"amount_total": 5000, "metadata": members{}}),
		"no metadata":      c.checkout(completed, c.payment, members{"amount_total": 5000, "metadata": nil}),
		"another kind":     c.charge("charge.succeeded", c.payment, members{"amount": 5000}),
		"unheard of":       event("tax.form.updated", members{"object": "form"}, nil),
	} {
		if got := c.deliver(body); got != 200 {
			t.Errorf("%s: got %d", name, got)
		}
	}
	if got := c.wallet(c.browser); got != 0 {
		t.Errorf("wallet holds %d", got)
	}
	if got := strings.Count(c.Log.String(), "contradicts its payment"); got != 7 {
		t.Errorf("the log tells of %d contradictions, want 7", got)
	}
	c.wantClean()
}

// TestTheExampleIsTaken signs what the document shows.
func TestTheExampleIsTaken(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: nowhere(t)})
	example, err := os.ReadFile("../examples/receive-payment-event.json")
	if err != nil {
		t.Fatal(err)
	}
	s.wantStatus(string(example), 200)
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	c := openTill(t, "topup-50")
	body := c.checkout("checkout.session.completed", c.payment, members{"amount_total": 5000})
	now := time.Now()
	good := signed(body, webhookSecret, now)
	forged := strings.Replace(body, c.payment, "pay_other", 1)
	for name, tt := range map[string]struct {
		body   string
		header []string
	}{
		"another secret":      {body, signed(body, "whsec_other", time.Now())},
		"no secret":           {body, signed(body, "", time.Now())},
		"an old signature":    {body, signed(body, webhookSecret, time.Now().Add(-301*time.Second))},
		"another body":        {forged, good},
		"one space more":      {body + " ", good},
		"no time":             {body, []string{"Stripe-Signature", "v1=" + strings.Repeat("0", 64)}},
		"nonsense":            {body, []string{"Stripe-Signature", "nonsense"}},
		"an older scheme":     {body, []string{"Stripe-Signature", strings.Replace(good[1], "v1=", "v0=", 1)}},
		"signed, but no JSON": {"paid", signed("paid", webhookSecret, time.Now())},
		"signed, but a list":  {"[]", signed("[]", webhookSecret, time.Now())},
		"signed, but no data": {`{"id":"evt_1","object":"event","type":"checkout.session.completed"}`,
			signed(`{"id":"evt_1","object":"event","type":"checkout.session.completed"}`, webhookSecret, time.Now())},
	} {
		got := c.Anonymous().Send("POST", "/api/v1/webhooks/stripe", tt.body, tt.header...)
		if got.StatusCode != 400 || strings.Contains(got.Text, "whsec") || strings.Contains(got.Text, "timestamp") ||
			strings.Contains(got.Text, c.payment) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Text)
		}
	}
	wantRefusal(t, c.Anonymous().Send("POST", "/api/v1/webhooks/stripe", body), 400, "VALIDATION_ERROR", "Stripe-Signature")
	large := `{"id":"evt_1","pad":"` + strings.Repeat("x", 256<<10) + `"}`
	wantRefusal(t, c.Anonymous().Send("POST", "/api/v1/webhooks/stripe", large, signed(large, webhookSecret, time.Now())...), 413,
		"PAYLOAD_TOO_LARGE", "")
	if got := c.wallet(c.browser); got != 0 {
		t.Errorf("wallet holds %d", got)
	}
	// While a secret is being replaced, Stripe signs with both.
	_, own, _ := strings.Cut(good[1], ",")
	both := signed(body, "whsec_other", now)[1] + "," + own
	if got := c.Anonymous().Send("POST", "/api/v1/webhooks/stripe", body, "Stripe-Signature", both); got.StatusCode != 200 {
		t.Errorf("two signatures: %d %s", got.StatusCode, got.Text)
	}
	if got := c.wallet(c.browser); got != 5250 {
		t.Errorf("wallet holds %d, want 5250", got)
	}
}

// TestWithoutAWebhookSecret: an empty secret is one that everybody knows.
func TestWithoutAWebhookSecret(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{})
	body := event("checkout.session.completed", members{}, nil)
	got := s.Anonymous().Send("POST", "/api/v1/webhooks/stripe", body, signed(body, "", time.Now())...)
	wantRefusal(t, got, 400, "VALIDATION_ERROR", "not signed by the payment provider")
}

// TestTwentyDeliveriesAtOnce are of two payments, by two events each.
func TestTwentyDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	c := openTill(t, "topup-200")
	second := c.order("topup-10")
	bodies := []string{
		c.checkout("checkout.session.completed", c.payment, members{"amount_total": 20000}),
		c.checkout("checkout.session.async_payment_succeeded", c.payment, members{"amount_total": 20000}),
		c.checkout("checkout.session.completed", second, members{"amount_total": 1000}),
		c.checkout("checkout.session.async_payment_succeeded", second, members{"amount_total": 1000}),
	}
	var all sync.WaitGroup
	for i := range 20 {
		body := bodies[i%len(bodies)]
		all.Go(func() {
			got, err := c.Anonymous().Try("POST", "/api/v1/webhooks/stripe", body, signed(body, webhookSecret, time.Now())...)
			if err != nil || got.StatusCode != 200 {
				t.Errorf("%d %s, %v", got.StatusCode, got.Text, err)
			}
		})
	}
	all.Wait()
	if got := c.wallet(c.browser); got != 22000+1000 {
		t.Errorf("wallet holds %d, want 23000", got)
	}
	c.wantClean()
}

// TestDocumentTellsTheTiers: the enum is in the document although the validator leaves it to the service.
func TestDocumentTellsTheTiers(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{})
	got := s.Anonymous().Send("GET", "/api/v1/openapi.json", "")
	var document struct {
		Paths      map[string]map[string]struct{ RequestBody json.RawMessage }
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
				Required   []string
			}
		}
	}
	if err := json.Unmarshal([]byte(got.Text), &document); err != nil {
		t.Fatal(err)
	}
	request := document.Components.Schemas["TopUpRequest"]
	var tier struct{ Enum []string }
	if err := json.Unmarshal(request.Properties["tierId"], &tier); err != nil || !slices.Equal(tier.Enum, contract.TierIDs) ||
		!slices.Equal(request.Required, []string{"tierId"}) {
		t.Errorf("got %v, %v", request, err)
	}
	body := string(document.Paths["/v1/webhooks/stripe"]["post"].RequestBody)
	if !strings.Contains(body, `"object"`) || strings.Contains(body, "binary") {
		t.Errorf("the webhook's body: %s", body)
	}
}
