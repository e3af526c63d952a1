package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// publicURL is how the tests' browsers believe to reach the front door.
const publicURL = "https://molfabric.test"

// person is who signs in at the identity provider.
type person struct {
	Subject       string `json:"sub"`
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
	Name          string `json:"name"`
}

// issuer is a running identity provider (.ci/oidc).
type issuer struct {
	t   *testing.T
	url string
}

// startIssuer starts an identity provider that knows one client. The test's end stops it.
func startIssuer(t *testing.T) *issuer {
	t.Helper()
	program := filepath.Join("..", "bin", "tools", "oidc-provider")
	if _, err := os.Stat(program); err != nil {
		if serverstest.Required() {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: the identity provider is missing; build it with: make bin/tools/oidc-provider")
	}
	command := exec.Command(program, "-client-id", "molfabric", "-client-secret", "client secret", "-redirect",
		publicURL+"/api/v1/auth/oidc/callback")
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	// ends the reading below, should the program hang
	dog := time.AfterFunc(apitest.Patience, func() { _ = command.Process.Kill() })
	line, err := bufio.NewReader(output).ReadString('\n')
	dog.Stop()
	t.Cleanup(func() {
		_ = input.Close() // the program ends with its input
		if err := command.Wait(); err != nil {
			t.Errorf("the identity provider: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("the identity provider does not start: %v", err)
	}
	return &issuer{t: t, url: strings.TrimSpace(line)}
}

// set tells the provider something for the next sign-ins.
func (i *issuer) set(what string, value any) {
	i.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		i.t.Fatal(err)
	}
	response, err := http.Post(i.url+"/"+what, "application/json", strings.NewReader(string(text)))
	if err != nil {
		i.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		i.t.Fatalf("POST /%s: %s", what, response.Status)
	}
}

// openWith starts a front door that signs in with the provider.
func openWith(i *issuer, change ...func(*api.Deps)) *apitest.Door {
	i.t.Helper()
	return open(i.t, append([]func(*api.Deps){func(deps *api.Deps) {
		deps.Config.PublicURL = publicURL
		deps.Config.OIDC = auth.OIDC{Issuer: i.url, ClientID: "molfabric", ClientSecret: "client secret"}
	}}, change...)...)
}

// toProvider starts a sign-in and returns the path that the provider sends the browser back to.
func toProvider(t *testing.T, c *apitest.Caller, query string) string {
	t.Helper()
	started := c.Send("GET", "/api/v1/auth/oidc/start"+query, "")
	if started.StatusCode != http.StatusFound {
		t.Fatalf("start: %d %s", started.StatusCode, started.Text)
	}
	response, err := c.Client.Get(started.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	back, local := strings.CutPrefix(response.Header.Get("Location"), publicURL)
	if !local {
		t.Fatalf("the provider answers %s %s", response.Status, text)
	}
	return back
}

// whoAmI returns the account that a browser is signed in to.
func whoAmI(t *testing.T, c *apitest.Caller) (accountID, email, name string) {
	t.Helper()
	var session struct {
		Account struct{ AccountID, Email, Name string }
	}
	c.Send("GET", "/api/v1/auth/session", "").Decode(t, &session)
	return session.Account.AccountID, session.Account.Email, session.Account.Name
}

// TestSignInWithProvider: the first time opens an account, every further time finds it, wherever the person's address has
// moved to.
func TestSignInWithProvider(t *testing.T) {
	t.Parallel()
	idp := startIssuer(t)
	d := openWith(idp)
	ada := person{Subject: "ada-1", Email: "Ada@example.org", EmailVerified: true, Name: "Ada Lovelace"}
	idp.set("person", ada)

	first := d.Browser()
	started := d.Anonymous().Send("GET", "/api/v1/auth/oidc/start", "")
	asked, err := url.Parse(started.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"state": 43, "nonce": 43, "code_challenge": 43} {
		if len(asked.Query().Get(name)) < least {
			t.Errorf("%s is %q", name, asked.Query().Get(name))
		}
	}
	if asked.Query().Get("code_challenge_method") != "S256" || asked.Query().Get("client_id") != "molfabric" {
		t.Errorf("asked for %s", asked)
	}
	flow := started.Cookies()[0]
	if !flow.HttpOnly || flow.SameSite != http.SameSiteLaxMode || flow.MaxAge != 600 || flow.Path != "/api/v1/auth/oidc" {
		t.Errorf("cookie %s", flow)
	}

	finished := first.Send("GET", toProvider(t, first, "?next=%2Fstudio%3Fproject%3D1"), "")
	if finished.StatusCode != http.StatusFound || finished.Header.Get("Location") != "/studio?project=1" {
		t.Fatalf("finish: %d %s %v", finished.StatusCode, finished.Text, finished.Header)
	}
	set := finished.Cookies()
	if len(set) != 2 || set[0].Name != "molfabric_session" || !set[0].HttpOnly || set[1].Name != "molfabric_oidc" ||
		set[1].MaxAge >= 0 {
		t.Errorf("cookies %v", set)
	}
	accountID, email, name := whoAmI(t, first)
	if email != ada.Email || name != ada.Name {
		t.Errorf("account of %s %s", name, email)
	}
	if got := first.Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 ||
		strings.Contains(got.Text, `"available_cents":0,`) {
		t.Errorf("the new account's credit: %d %s", got.StatusCode, got.Text)
	}
	wantFailure(t, first.Send("POST", "/api/v1/auth/password", `{"currentPassword":"x","newPassword":"12345678"}`), 400,
		fault.Validation, "has no password")
	noPassword := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"ada@example.org","password":"x"}`)
	wantFailure(t, noPassword, 401, fault.Unauthorized, "no account has this email with this password")

	ada.Email, ada.EmailVerified = "ada@elsewhere.example.org", false
	idp.set("person", ada)
	second := d.Browser()
	if got := second.Send("GET", toProvider(t, second, ""), ""); got.Header.Get("Location") != "/" {
		t.Errorf("again: %d %s", got.StatusCode, got.Text)
	}
	if again, _, _ := whoAmI(t, second); again != accountID {
		t.Errorf("the same person got account %s, then %s", accountID, again)
	}
}

// TestBindingAnIdentity: an account with a password is opened to an identity only by whoever is signed in to it and is vouched
// for by the provider; otherwise an account could be prepared for its victim, or taken with an address nobody verified.
func TestBindingAnIdentity(t *testing.T) {
	t.Parallel()
	idp := startIssuer(t)
	d := openWith(idp)
	owner := d.Browser()
	if got := owner.Send("POST", "/api/v1/auth/sign-up", newcomer); got.StatusCode != 201 {
		t.Fatalf("sign-up: %d %s", got.StatusCode, got.Text)
	}
	accountID, _, _ := whoAmI(t, owner)
	verifyAddress(t, d, accountID)
	stranger := d.SignUp()
	for _, one := range []struct {
		name     string
		browser  *apitest.Caller
		email    string
		verified bool
	}{
		{"verified, signed in nowhere", d.Browser(), "grace@example.org", true},
		{"verified, signed in elsewhere", stranger, "grace@example.org", true},
		{"not verified, signed in", owner, "GRACE@example.org", false},
		{"no address", owner, "", true},
	} {
		idp.set("person", person{Subject: "grace-1", Email: one.email, EmailVerified: one.verified})
		got := one.browser.Send("GET", toProvider(t, one.browser, ""), "")
		if wantFailure(t, got, 400, fault.Validation, "email: "); len(got.Cookies()) != 0 {
			t.Errorf("%s: sets %v", one.name, got.Cookies())
		}
	}
	idp.set("person", person{Subject: "grace-1", Email: "GRACE@example.org", EmailVerified: true})
	if got := owner.Send("GET", toProvider(t, owner, ""), ""); got.StatusCode != http.StatusFound {
		t.Fatalf("bind: %d %s", got.StatusCode, got.Text)
	}
	later := d.Browser()
	later.Send("GET", toProvider(t, later, ""), "")
	if bound, _, _ := whoAmI(t, later); bound != accountID {
		t.Errorf("the identity opens %q, want %q", bound, accountID)
	}
}

// verifyAddress makes the address of an account proved.
func verifyAddress(t *testing.T, d *apitest.Door, accountID string) {
	t.Helper()
	if _, err := d.DB.ExecContext(t.Context(), `UPDATE accounts SET email_verified_at = now() WHERE id = $1`,
		accountID); err != nil {
		t.Fatal(err)
	}
}

// TestSquattedAddress: an account that somebody opened under another's address, and never proved, does not keep its owner out.
// The owner gets an account with credit, the other keeps what it has and is told apart, and neither gets at the other's.
func TestSquattedAddress(t *testing.T) {
	t.Parallel()
	idp, box := startIssuer(t), &postbox{}
	d := openWith(idp, func(deps *api.Deps) { deps.Mail = box })
	squatter := d.Browser()
	if got := squatter.Send("POST", "/api/v1/auth/sign-up", newcomer); got.StatusCode != 201 {
		t.Fatalf("sign-up: %d %s", got.StatusCode, got.Text)
	}
	squatterID, _, _ := whoAmI(t, squatter)
	_, key := squatter.Key("live", "credits:read")

	idp.set("person", person{Subject: "grace-1", Email: "Grace@example.org", EmailVerified: false})
	elsewhere := d.Browser()
	wantFailure(t, elsewhere.Send("GET", toProvider(t, elsewhere, ""), ""), 400, fault.Validation,
		"email: an account with this address exists")

	idp.set("person", person{Subject: "grace-1", Email: "Grace@example.org", EmailVerified: true})
	owner := d.Browser()
	if got := owner.Send("GET", toProvider(t, owner, ""), ""); got.StatusCode != http.StatusFound {
		t.Fatalf("the owner: %d %s", got.StatusCode, got.Text)
	}
	ownerID, email, _ := whoAmI(t, owner)
	if ownerID == squatterID || email != "Grace@example.org" || available(t, owner) != 500 {
		t.Errorf("the owner has %s of %s with %d pence", ownerID, email, available(t, owner))
	}
	again := d.Browser()
	again.Send("GET", toProvider(t, again, ""), "")
	if id, _, _ := whoAmI(t, again); id != ownerID {
		t.Errorf("the identity opens %s, then %s", ownerID, id)
	}
	_, former, _ := whoAmI(t, squatter)
	if former != squatterID+"@address.invalid" || d.WithKey(key).Send("GET", "/api/v1/credits/balance", "").StatusCode != 200 {
		t.Errorf("the other account is called %s", former)
	}
	wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-in", newcomer), 401, fault.Unauthorized, "")
	byName := strings.Replace(newcomer, "grace@example.org", former, 1)
	if got := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", byName); got.StatusCode != 200 {
		t.Errorf("by its new name: %d %s", got.StatusCode, got.Text)
	}
	letters := box.to("grace@example.org")
	if len(letters) != 1 || !strings.Contains(letters[0].Text, former) {
		t.Errorf("the owner is told %v", letters)
	}
	another := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer)
	wantFailure(t, another, 400, fault.Validation, "email: an account with this address exists already")
}

// TestProviderWithoutVerification: an address that the provider only passes on brings no credit.
func TestProviderWithoutVerification(t *testing.T) {
	t.Parallel()
	idp, box := startIssuer(t), &postbox{}
	d := openWith(idp, func(deps *api.Deps) { deps.Mail, deps.Config.SignUp = box, auth.Admission{Mode: auth.ModeProvider} })
	idp.set("person", person{Subject: "grace-1", Email: "grace@example.org"})
	b := d.Browser()
	if got := b.Send("GET", toProvider(t, b, ""), ""); got.StatusCode != http.StatusFound || available(t, b) != 0 {
		t.Fatalf("%d %s, %d pence", got.StatusCode, got.Text, available(t, b))
	}
	idp.set("person", person{Subject: "grace-1", Email: "grace@example.org", EmailVerified: true})
	for range 2 {
		if got := b.Send("GET", toProvider(t, b, ""), ""); got.StatusCode != http.StatusFound || available(t, b) != 500 {
			t.Errorf("vouched for: %d %s, %d pence", got.StatusCode, got.Text, available(t, b))
		}
	}
	wantFailure(t, prove(d.Anonymous(), box.link(t, "grace@example.org")), 404, fault.NotFound, "token: ")
	idp.set("person", person{Subject: "ada-1", Email: "ada@example.org", EmailVerified: true})
	closed := openWith(idp, func(deps *api.Deps) { deps.Config.SignUp = auth.Admission{Mode: auth.ModeClosed} }).Browser()
	wantFailure(t, closed.Send("GET", toProvider(t, closed, ""), ""), 404, fault.NotFound, "opens no accounts")
}

// TestForgedReturns: nothing but the flow that this browser has started, once and in time, ends in a session.
func TestForgedReturns(t *testing.T) {
	t.Parallel()
	idp := startIssuer(t)
	clock := newClock()
	d := openWith(idp, func(deps *api.Deps) { deps.Now = clock.now })
	idp.set("person", person{Subject: "s", Email: "s@example.org", EmailVerified: true})
	const callback = "/api/v1/auth/oidc/callback"
	refused := func(name string, got apitest.Answer, status int, code fault.Code, want string) {
		t.Helper()
		if wantFailure(t, got, status, code, want); len(got.Cookies()) != 0 {
			t.Errorf("%s: sets %v", name, got.Cookies())
		}
	}
	victim := d.Browser()
	back := toProvider(t, victim, "")
	refused("no cookie", d.Anonymous().Send("GET", back, ""), 400, fault.Validation, "not started in this browser")
	other := d.Browser()
	toProvider(t, other, "")
	refused("another browser's answer", other.Send("GET", back, ""), 400, fault.Validation, "not started in this browser")
	refused("no state", victim.Send("GET", callback+"?code=x", ""), 400, fault.Validation, "not started in this browser")
	cookies := victim.Client.Jar.Cookies(mustParse(t, d.Base+callback))
	forged := strings.Replace(cookies[0].Value, ".", "x.", 1)
	refused("changed cookie", d.Anonymous().Send("GET", back, "", "Cookie", "molfabric_oidc="+forged), 400, fault.Validation,
		"not started")
	state := mustParse(t, back).Query().Get("state")
	refused("made-up code", victim.Send("GET", callback+"?state="+state+"&code=made-up", ""), 401, fault.Unauthorized,
		"does not vouch")
	refused("cancelled", victim.Send("GET", callback+"?state="+state+"&error=access_denied", ""), 401, fault.Unauthorized,
		"refused")
	refused("provider in trouble", victim.Send("GET", callback+"?state="+state+"&error=server_error", ""), 503,
		fault.ProviderUnavailable, "")
	code := mustParse(t, toProvider(t, other, "")).Query().Get("code")
	refused("another flow's code", victim.Send("GET", callback+"?state="+state+"&code="+url.QueryEscape(code), ""), 401,
		fault.Unauthorized, "does not vouch")

	kept := victim.Client.Jar.Cookies(mustParse(t, d.Base+callback))[0]
	if got := victim.Send("GET", back+"&session_state=providers-add-things", ""); got.StatusCode != http.StatusFound {
		t.Fatalf("the flow itself: %d %s", got.StatusCode, got.Text)
	}
	refused("the same once more", d.Anonymous().Send("GET", back, "", "Cookie", "molfabric_oidc="+kept.Value), 401,
		fault.Unauthorized, "does not vouch")

	late := d.Browser()
	back = toProvider(t, late, "")
	clock.move(10 * time.Minute)
	refused("too late", late.Send("GET", back, ""), 400, fault.Validation, "longer than 10 minutes")
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestProviderAway: the front door starts without its provider, says so to whoever needs it, and finds it later.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	idp := startIssuer(t)
	idp.set("person", person{Subject: "s", Email: "s@example.org", EmailVerified: true})
	idp.set("away", true)
	d := openWith(idp)
	got := d.Anonymous().Send("GET", "/api/v1/auth/oidc/start", "")
	wantFailure(t, got, 503, fault.ProviderUnavailable, "the identity provider does not answer")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	d.SignUp() // with a password, all the same
	idp.set("away", false)
	browser := d.Browser()
	back := toProvider(t, browser, "")
	idp.set("away", true)
	wantFailure(t, browser.Send("GET", back, ""), 503, fault.ProviderUnavailable, "the identity provider does not answer")
	idp.set("away", false)
	if got := browser.Send("GET", back, ""); got.StatusCode != http.StatusFound {
		t.Errorf("once it is back: %d %s", got.StatusCode, got.Text)
	}
	idp.set("keys", nil)
	wantFailure(t, browser.Send("GET", toProvider(t, browser, ""), ""), 401, fault.Unauthorized, "does not vouch")
	strange := openWith(idp, func(deps *api.Deps) { deps.Config.OIDC.ClientSecret = "wrong" }).Browser()
	wantFailure(t, strange.Send("GET", toProvider(t, strange, ""), ""), 401, fault.Unauthorized, "does not vouch")
}

func TestWithoutProvider(t *testing.T) {
	t.Parallel()
	c := open(t).Anonymous()
	for _, path := range []string{"start", "callback"} {
		wantFailure(t, c.Send("GET", "/api/v1/auth/oidc/"+path, ""), 404, fault.NotFound,
			"this deployment has no identity provider")
	}
}

// TestNextStaysHere: after a sign-in the browser goes to a page of this service, however the request dresses another up.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	c := open(t).Anonymous()
	for _, next := range []string{
		"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "evil.example", "javascript:alert(1)",
		"/\t/evil.example", "/\n/evil.example", " //evil.example",
	} {
		got := c.Send("GET", "/api/v1/auth/oidc/start?next="+url.QueryEscape(next), "")
		if got.StatusCode != 400 {
			t.Errorf("next=%q: %d %s", next, got.StatusCode, got.Text)
		}
	}
}
