package api_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/internal/fault"
)

// appPages are addresses of the app, among them those that mails, answers of the API and the flow of OpenID lead to.
var appPages = []string{
	"/sign-in?next=%2F", "/sign-up", "/jobs/job_1", "/studio?dockingBatch=x", "/studio?dockingRun=x", "/studio?dockingResult=x",
	"/studio?dockingPose=x", "/studio?project=x&revision=1", "/projects/x", "/shared/x", "/credits?topup=success",
}

// TestTheAppStandsAtItsAddresses and everything else answers as without it.
func TestTheAppStandsAtItsAddresses(t *testing.T) {
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
	b := open(t, apitest.Unhurried, func(deps *api.Deps) { deps.App = app }).Browser()
	for _, path := range append([]string{"/"}, appPages...) {
		if got := b.Send("GET", path, "", "Accept", "text/html"); got.StatusCode != 200 || got.Text != page ||
			!strings.Contains(got.Header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: got %d %v %s", path, got.StatusCode, got.Header, got.Text)
		}
	}
	for from, want := range map[string]string{
		"/studio/searches/job_1": "/searches/job_1", "/studio/searches/job_1/queries/4": "/searches/job_1/queries/4",
		"/dashboard?topup=cancelled": "/credits?topup=cancelled",
	} {
		if got := b.Send("GET", from, "", "Accept", "text/html"); got.StatusCode != 302 || got.Header.Get("Location") != want {
			t.Errorf("%s: got %d to %q, want %q", from, got.StatusCode, got.Header.Get("Location"), want)
		}
	}
	share := b.Send("GET", "/shared/x", "", "Accept", "text/html").Header
	if share.Get("Referrer-Policy") != "no-referrer" || share.Get("X-Robots-Tag") != "noindex" ||
		share.Get("Cache-Control") != "no-store" || share.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page of a share has the headers %v", share)
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
	for _, path := range []string{"/jobs/job_1", "/sign-in", "/shared/x"} { // a page takes no form
		wantFailure(t, b.Send("POST", path, "", "Accept", "text/html"), 405, fault.MethodNotAllowed, "")
	}
}

// TestAProgramWithoutTheApp tells people so at the app's addresses; everything else is as with it.
func TestAProgramWithoutTheApp(t *testing.T) {
	t.Parallel()
	b := open(t, apitest.Unhurried).Browser()
	for _, path := range append([]string{"/studio/searches/job_1", "/nowhere"}, appPages...) {
		got := b.Send("GET", path, "", "Accept", "text/html")
		if got.StatusCode != 404 || !strings.Contains(got.Text, "built without the web app") ||
			!strings.Contains(got.Text, "`make web build`") || got.Header.Get("Cache-Control") != "no-store" ||
			got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: got %d %v %s", path, got.StatusCode, got.Header, got.Text)
		}
		wantFailure(t, b.Send("GET", path, "", "Accept", "application/json"), 404, fault.NotFound, "no such address")
	}
	wantFailure(t, b.Send("GET", "/api/v1/nowhere", "", "Accept", "text/html"), 404, fault.NotFound, "")
	for path, status := range map[string]int{
		"/": 302, "/docs": 200, "/verify-email?token=x": 200, "/healthz": 200, "/dashboard?topup=success": 200,
	} {
		if got := b.Send("GET", path, "", "Accept", "text/html"); got.StatusCode != status {
			t.Errorf("%s: got %d %s", path, got.StatusCode, got.Text)
		}
	}
}
