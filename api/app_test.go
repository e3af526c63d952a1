package api_test

import (
	"bytes"
	"compress/gzip"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/internal/fault"
)

// TestTheAppStandsBeforeTheOldPages at the addresses that it has, and everything else answers as without it.
func TestTheAppStandsBeforeTheOldPages(t *testing.T) {
	t.Parallel()
	const page = "the app"
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(page)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	app, err := web.New(fstest.MapFS{"index.html.gz": {Data: packed.Bytes()}}, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, func(deps *api.Deps) {
		apitest.Unhurried(deps)
		deps.App = app
		deps.Private = []api.PrivatePage{func(app *fiber.App, signedIn fiber.Handler) {
			app.Get("/studio", signedIn, func(c *fiber.Ctx) error { return c.SendString("the old page") })
			app.Get("/private", signedIn, func(c *fiber.Ctx) error { return c.SendString("private") })
		}}
	})
	accountID := d.SignUp().AccountID
	var email string
	if err := d.DB.GetContext(t.Context(), &email, `SELECT email FROM accounts WHERE id = $1`, accountID); err != nil {
		t.Fatal(err)
	}
	b := d.Browser()
	for _, path := range []string{"/", "/sign-in?next=%2F", "/studio?dockingRun=x", "/jobs/job_1"} {
		if got := b.Send("GET", path, "", "Accept", "text/html"); got.StatusCode != 200 || got.Text != page ||
			!strings.Contains(got.Header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: got %d %v %s", path, got.StatusCode, got.Header, got.Text)
		}
	}
	for _, path := range []string{"/docs", "/verify-email?token=x", "/healthz"} {
		if got := b.Send("GET", path, "", "Accept", "text/html"); got.StatusCode != 200 || got.Text == page {
			t.Errorf("%s: got %d %s", path, got.StatusCode, got.Text)
		}
	}
	if got := b.Send("GET", "/nowhere", "", "Accept", "text/html"); got.StatusCode != 404 || got.Text != page {
		t.Errorf("nowhere, for people: got %d %s", got.StatusCode, got.Text)
	}
	wantFailure(t, b.Send("GET", "/nowhere", "", "Accept", "application/json"), 404, fault.NotFound, "")
	wantFailure(t, b.Send("GET", "/api/v1/nowhere", "", "Accept", "text/html"), 404, fault.NotFound, "")
	wantFailure(t, b.Send("POST", "/jobs/job_1", "", "Accept", "text/html"), 405, fault.MethodNotAllowed, "")

	fields := url.Values{"email": {email}, "password": {"correct horse"}, "next": {"/private"}}.Encode()
	if got := b.Send("POST", "/sign-in", fields, "Content-Type", form, "Origin", d.Base); got.StatusCode != 303 ||
		got.Header.Get("Location") != "/private" {
		t.Errorf("the form of the old page: got %d %s", got.StatusCode, got.Text)
	}
	if got := b.Send("GET", "/private", ""); got.Text != "private" {
		t.Errorf("signed in: got %d %s", got.StatusCode, got.Text)
	}
}
