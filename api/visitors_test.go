package api_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/fault"
)

// private adds a page that says whose it is.
func private(deps *api.Deps) {
	apitest.Unhurried(deps)
	deps.Private = []api.PrivatePage{func(app *fiber.App, signedIn fiber.Handler) {
		app.Get("/private", signedIn, func(c *fiber.Ctx) error { return c.SendString(access.From(c.UserContext()).AccountID) })
	}}
}

const form = "application/x-www-form-urlencoded"

// TestVisitorsSignInAndComeBack goes the way of a browser without scripts.
func TestVisitorsSignInAndComeBack(t *testing.T) {
	t.Parallel()
	d := open(t, private)
	accountID := d.SignUp().AccountID
	var email string
	if err := d.DB.GetContext(t.Context(), &email, `SELECT email FROM accounts WHERE id = $1`, accountID); err != nil {
		t.Fatal(err)
	}
	b := d.Browser()
	led := b.Send("GET", "/private?a=b&c=ä", "")
	address := led.Header.Get("Location")
	if led.StatusCode != 303 || !strings.HasPrefix(address, "/sign-in?next=%2Fprivate") ||
		led.Header.Get("WWW-Authenticate") != "" {
		t.Fatalf("a visitor: got %d %v", led.StatusCode, led.Header)
	}
	page := b.Send("GET", address, "")
	if page.StatusCode != 200 || !strings.Contains(page.Text, `name="next" value="/private?a=b&amp;c=`) ||
		strings.Contains(page.Text, "/oidc/") ||
		!strings.Contains(page.Header.Get("Content-Security-Policy"), "form-action 'self'") ||
		page.Header.Get("Referrer-Policy") != "same-origin" {
		t.Fatalf("the page: got %d %v %s", page.StatusCode, page.Header, page.Text)
	}
	fields := url.Values{"email": {email}, "password": {"wrong <b>"}, "next": {"/private?a=b"}}
	if got := b.Send("POST", "/sign-in", fields.Encode(), "Content-Type", form, "Origin", d.Base); got.StatusCode != 401 ||
		!strings.Contains(got.Text, "No account has this email") ||
		!strings.Contains(got.Text, email) || strings.Contains(got.Text, "<b>") || len(got.Header["Set-Cookie"]) > 0 {
		t.Errorf("a wrong password: got %d %s", got.StatusCode, got.Text)
	}
	fields.Set("password", "correct horse")
	wantFailure(t, b.Send("POST", "/sign-in", fields.Encode(), "Content-Type", form, "Origin", "https://evil.example"), 403,
		fault.CSRFRejected, "")
	got := b.Send("POST", "/sign-in", fields.Encode(), "Content-Type", form, "Origin", d.Base)
	if cookie := got.Header.Get("Set-Cookie"); got.StatusCode != 303 || got.Header.Get("Location") != "/private?a=b" ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Fatalf("got %d %v", got.StatusCode, got.Header)
	}
	if got := b.Send("GET", "/private?a=b", ""); got.StatusCode != 200 || got.Text != accountID {
		t.Errorf("signed in: got %d %s, want %s", got.StatusCode, got.Text, accountID)
	}
}

// TestTheSignInPageTellsOfALock to whoever has the password, and to nobody else.
func TestTheSignInPageTellsOfALock(t *testing.T) {
	t.Parallel()
	d := open(t, private)
	accountID := d.SignUp().AccountID
	var email string
	if err := d.DB.GetContext(t.Context(), &email, `SELECT email FROM accounts WHERE id = $1`, accountID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.DB.ExecContext(t.Context(), `UPDATE accounts SET locked_at = now(), locked_because = 'mines coins'
		WHERE id = $1`, accountID); err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]string{
		"correct horse": "This account is locked. Ask whoever runs this deployment.",
		"wrong horse":   "No account has this email with this password.",
	} {
		fields := url.Values{"email": {email}, "password": {password}}.Encode()
		got := d.Browser().Send("POST", "/sign-in", fields, "Content-Type", form, "Origin", d.Base)
		if got.StatusCode != 401 || !strings.Contains(got.Text, want) || strings.Contains(got.Text, "mines coins") ||
			len(got.Header["Set-Cookie"]) > 0 {
			t.Errorf("%s: got %d %s, want %q", password, got.StatusCode, got.Text, want)
		}
	}
}

func TestSignInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	d := open(t, private)
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)", ""} {
		page := d.Browser().Send("GET", "/sign-in?next="+url.QueryEscape(next), "")
		if page.StatusCode != 200 || !strings.Contains(page.Text, `name="next" value="/"`) {
			t.Errorf("%q: got %d %s", next, page.StatusCode, page.Text)
		}
	}
	for body, code := range map[string]fault.Code{
		"email=%zz": fault.Validation, "email=%ff": fault.Validation, "email=" + strings.Repeat("a", 17<<10): fault.PayloadTooLarge,
	} {
		got := d.Browser().Send("POST", "/sign-in", body, "Content-Type", form, "Origin", d.Base)
		wantFailure(t, got, map[fault.Code]int{fault.Validation: 400, fault.PayloadTooLarge: 413}[code], code, "")
	}
	if got := d.Browser().Send("POST", "/sign-in", "", "Content-Type", form, "Origin", d.Base); got.StatusCode != 401 {
		t.Errorf("an empty form: got %d %s", got.StatusCode, got.Text)
	}
}
