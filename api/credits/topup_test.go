package credits_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/credits"
	"github.com/molfabric/molfabric/internal/id"
)

// listener hears what is said to Stripe, and passes it on.
type listener struct {
	*httptest.Server
	orders chan order
}

// order is a request to Stripe.
type order struct {
	path string
	key  string // idempotency key
	form url.Values
}

func listen(t *testing.T, provider string) *listener {
	t.Helper()
	target, err := url.Parse(provider)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{orders: make(chan order, 16)}
	pass := httputil.NewSingleHostReverseProxy(target)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		form, errForm := url.ParseQuery(string(text))
		if err != nil || errForm != nil {
			t.Errorf("read a request to Stripe: %v %v", err, errForm)
		}
		l.orders <- order{r.URL.Path, r.Header.Get("Idempotency-Key"), form}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// next is the oldest request that has not been looked at.
func (l *listener) next(t *testing.T) order {
	t.Helper()
	select {
	case o := <-l.orders:
		return o
	case <-time.After(apitest.Patience):
		t.Fatal("Stripe was not called")
		return order{}
	}
}

func TestTopUpOpensACheckout(t *testing.T) {
	t.Parallel()
	stripe := listen(t, stripeMock(t))
	s := open(t, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: stripe.URL})
	browser := s.SignUp()
	keys := map[string]bool{}
	for _, tt := range []struct{ tier, more, pence, success, cancel, title string }{
		{"topup-10", "", "1000", publicURL + "/dashboard?topup=success", publicURL + "/dashboard?topup=cancelled", "£10.00"},
		{"topup-50", `,"successUrl":"` + friend + `/paid?id={CHECKOUT_SESSION_ID}"`, "5000",
			friend + "/paid?id={CHECKOUT_SESSION_ID}", publicURL + "/dashboard?topup=cancelled", "£52.50, with a bonus of £2.50"},
		{"topup-200", `,"cancelUrl":"` + publicURL + `"`, "20000", publicURL + "/dashboard?topup=success", publicURL, "£220.00"},
		{"topup-500", "", "50000", publicURL + "/dashboard?topup=success", publicURL + "/dashboard?topup=cancelled", "£575.00"},
	} {
		got := topUp(browser, fmt.Sprintf(`{"tierId":%q%s}`, tt.tier, tt.more))
		var opened map[string]string
		if err := json.Unmarshal([]byte(got.Text), &opened); err != nil || got.StatusCode != 200 || opened["tierId"] != tt.tier ||
			!strings.HasPrefix(opened["url"], "https://checkout.stripe.com/") || len(opened) != 2 {
			t.Fatalf("%s: %d %s", tt.tier, got.StatusCode, got.Text)
		}
		o := stripe.next(t)
		payment := o.form.Get("client_reference_id")
		for member, want := range map[string]string{
			"mode": "payment", "line_items[0][price_data][unit_amount]": tt.pence, "line_items[0][price_data][currency]": "gbp",
			"line_items[0][quantity]": "1", "success_url": tt.success, "cancel_url": tt.cancel,
			"adaptive_pricing[enabled]": "false", "metadata[molfabric_payment]": payment,
			"metadata[molfabric_account]": browser.AccountID, "metadata[molfabric_tier]": tt.tier,
			"payment_intent_data[metadata][molfabric_payment]": payment,
			"payment_intent_data[metadata][molfabric_account]": browser.AccountID,
		} {
			if o.form.Get(member) != want {
				t.Errorf("%s: %s is %q, want %q", tt.tier, member, o.form.Get(member), want)
			}
		}
		if o.path != "/v1/checkout/sessions" || o.key != payment || keys[o.key] || !strings.HasPrefix(payment, "pay_") {
			t.Errorf("%s: %s with idempotency key %q for payment %q", tt.tier, o.path, o.key, payment)
		}
		if name := o.form.Get("line_items[0][price_data][product_data][name]"); !strings.Contains(name, tt.title) {
			t.Errorf("%s: the checkout is called %q", tt.tier, name)
		}
		if email := o.form.Get("customer_email"); !strings.HasSuffix(email, "@example.org") {
			t.Errorf("%s: receipts go to %q", tt.tier, email)
		}
		keys[o.key] = true
		var stored struct {
			Account string `db:"account_id"`
			Status  string `db:"status"`
			Pence   string `db:"price_pence"`
			Open    bool   `db:"open"`
		}
		err := s.DB.GetContext(t.Context(), &stored, `SELECT account_id, status, price_pence, checkout_id LIKE 'cs_test_%' AS open
			FROM payments WHERE id = $1`, payment)
		if err != nil || stored.Account != browser.AccountID || stored.Status != "pending" || stored.Pence != tt.pence ||
			!stored.Open {
			t.Errorf("%s: stored %+v, %v", tt.tier, stored, err)
		}
	}
	if got := s.wallet(browser); got != 0 {
		t.Errorf("asking for a checkout has credited %d", got)
	}
}

func TestTopUpIsChecked(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: nowhere(t)})
	browser := s.SignUp()
	for _, tt := range []struct{ body, code, message string }{
		{`{}`, "VALIDATION_ERROR", "tierId: is required"},
		{`{"tierId":10}`, "VALIDATION_ERROR", "tierId: expected string"},
		{`{"tierId":null}`, "VALIDATION_ERROR", "tierId"},
		{`{"tierId":"topup-10","amount":1}`, "VALIDATION_ERROR", "amount: is not a member"},
		{`{"tierId":""}`, "UNKNOWN_TIER", "tierId: must be one of"},
		{`{"tierId":"topup-11"}`, "UNKNOWN_TIER", `"topup-10", "topup-50", "topup-200", "topup-500"`},
		{`{"tierId":"topup-10","successUrl":""}`, "VALIDATION_ERROR", "successUrl: expected length >= 1"},
		{`{"tierId":"topup-10","successUrl":"` + publicURL + "/" + strings.Repeat("x", 2048) + `"}`, "VALIDATION_ERROR",
			"successUrl: expected length <= 2048"},
	} {
		wantRefusal(t, topUp(browser, tt.body), 400, tt.code, tt.message)
	}
	for _, page := range []string{
		"https://evil.test/", publicURL + ".evil.test/", publicURL + "@evil.test/", publicURL + ":444/",
		"http://app.molfabric.test/",
		"/dashboard", "//app.molfabric.test/", "javascript:alert(1)", `https://app.molfabric.test\\@evil.test/`,
		"app.molfabric.test",
		"https://user@app.molfabric.test/", publicURL + "/%zz", "https://studio.example.organic/",
	} {
		for _, member := range []string{"successUrl", "cancelUrl"} {
			got := topUp(browser, fmt.Sprintf(`{"tierId":"topup-10",%q:"%s"}`, member, page))
			wantRefusal(t, got, 400, "VALIDATION_ERROR", member+": ")
		}
	}
	var payments int
	if err := s.DB.GetContext(t.Context(), &payments, `SELECT count(*) FROM payments`); err != nil || payments != 0 {
		t.Errorf("refused requests have left %d payments, %v", payments, err)
	}
}

func TestCheckoutsAreLimited(t *testing.T) {
	t.Parallel()
	refusing := failing(t, 400) // the limit counts what is asked for, not what comes of it
	s := open(t, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: refusing})
	browser := s.SignUp()
	for range 20 {
		if got := topUp(browser, `{"tierId":"topup-10"}`); got.StatusCode != 500 {
			t.Fatalf("within the limit: %d %s", got.StatusCode, got.Text)
		}
	}
	got := topUp(browser, `{"tierId":"topup-10"}`)
	wantRefusal(t, got, 429, "RATE_LIMITED", "too many checkouts")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	another := s.SignUp()
	if got := topUp(another, `{"tierId":"topup-10"}`); got.StatusCode != 500 {
		t.Errorf("another account: %d %s", got.StatusCode, got.Text)
	}
	wantSecret(t, s, got)
}

func TestTopUpNeedsASession(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{})
	browser := s.SignUp()
	got := browser.Send("POST", "/api/v1/keys", `{"name":"k","scopes":["credits:read"]}`)
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(got.Text), &made); err != nil {
		t.Fatal(err)
	}
	anyone := s.Anonymous()
	wantRefusal(t, anyone.Send("POST", "/api/v1/credits/topup", `{"tierId":"topup-10"}`, "Authorization", "Bearer "+made.Key), 403,
		"SESSION_REQUIRED", "")
	wantRefusal(t, topUp(anyone, `{"tierId":"topup-10"}`), 401, "UNAUTHORIZED", "")
	wantRefusal(t, browser.Send("POST", "/api/v1/credits/topup", `{"tierId":"topup-10"}`, "Origin", "https://evil.test"), 403,
		"CSRF_REJECTED", "")
}

func TestTopUpWithoutAProvider(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{})
	browser := s.SignUp()
	wantRefusal(t, topUp(browser, `{"tierId":"topup-10"}`), 402, "NO_PAYMENT_METHOD",
		"payments are not configured in this deployment")
	wantRefusal(t, topUp(browser, `{"tierId":"topup-1"}`), 400, "UNKNOWN_TIER", "")
}

func TestTopUpWhileTheProviderIsAway(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"nobody listens": nowhere(t), "it fails": failing(t, 500),
		"it is overrun": failing(t, 429)} {
		s := open(t, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: address})
		browser := s.SignUp()
		got := topUp(browser, `{"tierId":"topup-10"}`)
		wantRefusal(t, got, 503, "PROVIDER_UNAVAILABLE", "try again")
		if got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", name)
		}
		wantSecret(t, s, got)
	}
}

// TestProviderRefusesTheKey: Stripe, as its mock does, repeats the key in its message.
func TestProviderRefusesTheKey(t *testing.T) {
	t.Parallel()
	const wrong = "sk_wrong_" + "4eC39HqLyjWDarjtT1zdp7dc"
	s := open(t, credits.Payments{SecretKey: wrong, WebhookSecret: webhookSecret, APIURL: stripeMock(t)})
	browser := s.SignUp()
	got := topUp(browser, `{"tierId":"topup-10"}`)
	wantRefusal(t, got, 402, "NO_PAYMENT_METHOD", "tell its operator")
	if log := s.Log.String(); !strings.Contains(log, "refuses the deployment's key") {
		t.Errorf("the log does not tell the operator: %s", log)
	}
	wantSecret(t, s, got)
}

// wantSecret checks that neither an answer nor the log holds a secret.
func wantSecret(t *testing.T, s *shop, got apitest.Answer) {
	t.Helper()
	for _, secret := range []string{"4eC39HqLyjWDarjtT1zdp7dc", webhookSecret} {
		if strings.Contains(got.Text+s.Log.String(), secret) {
			t.Errorf("%q is in the answer %q or in the log", secret, got.Text)
		}
	}
}

func TestPaymentsThatCannotWorkAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		public   string
		payments credits.Payments
		want     string
	}{
		{publicURL, credits.Payments{SecretKey: secretKey}, "webhook's secret"},
		{"", credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret}, "public URL"},
		{"app.example.org", credits.Payments{}, "public URL"},
		{publicURL, credits.Payments{SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: "localhost"},
			"address of the payment provider"},
	} {
		_, err := credits.New(credits.Deps{PublicURL: tt.public, Payments: tt.payments})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%+v: got %v, want %q", tt, err, tt.want)
		}
	}
}

// nowhere is an address at which nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return "http://" + ln.Addr().String()
}

// failing is a provider in trouble.
func failing(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Request-Id", id.New("req_"))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"type":"api_error","message":"trouble with `+secretKey+`"}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
