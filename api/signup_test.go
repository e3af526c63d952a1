package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mail"
)

// postbox keeps the mails that a front door posts.
type postbox struct {
	mu  sync.Mutex
	got []mail.Message
}

func (b *postbox) Post(m mail.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, m)
}

// to are the mails to an address, the oldest first.
func (b *postbox) to(address string) []mail.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []mail.Message
	for _, m := range b.got {
		if strings.EqualFold(m.To, address) {
			found = append(found, m)
		}
	}
	return found
}

var linkInMail = regexp.MustCompile(`https://molfabric\.test/verify-email\?token=(\S+)`)

// link is the token in the newest mail to an address.
func (b *postbox) link(t *testing.T, address string) string {
	t.Helper()
	letters := b.to(address)
	if len(letters) == 0 {
		t.Fatalf("no mail to %s", address)
	}
	found := linkInMail.FindStringSubmatch(letters[len(letters)-1].Text)
	if found == nil {
		t.Fatalf("the mail has no link: %s", letters[len(letters)-1].Text)
	}
	return found[1]
}

// strangers is a change: a deployment that trusts no network, with a postbox.
func strangers(mode auth.Mode, box *postbox) func(*api.Deps) {
	return func(deps *api.Deps) {
		deps.Config.PublicURL = publicURL
		deps.Config.SignUp = auth.Admission{Mode: mode}
		if box != nil {
			deps.Mail = box
		}
	}
}

// prove follows a link as newcomer does.
func prove(c *apitest.Caller, token string) apitest.Answer {
	return c.Send("POST", "/api/v1/auth/verify-email", `{"token":"`+token+`","password":"correct horse"}`)
}

func available(t *testing.T, c *apitest.Caller) int {
	t.Helper()
	var balance struct {
		AvailableCents int `json:"available_cents"`
	}
	c.Send("GET", "/api/v1/credits/balance", "").Decode(t, &balance)
	return balance.AvailableCents
}

// TestNoCreditWithoutAddress: many accounts from one address have no credit, and the owner of one gets it once, by a link that is
// good once.
func TestNoCreditWithoutAddress(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	d := open(t, strangers(auth.ModeOpen, box), apitest.Unhurried)
	for i := range 8 {
		b := d.Browser()
		got := b.Send("POST", "/api/v1/auth/sign-up", fmt.Sprintf(`{"email":"u%d@example.org","password":"correct horse"}`, i))
		if got.StatusCode != 201 || len(got.Cookies()) != 1 {
			t.Fatalf("sign-up: %d %s", got.StatusCode, got.Text)
		}
		if credit := available(t, b); credit != 0 {
			t.Errorf("account %d has %d pence without an address", i, credit)
		}
	}
	b := d.Browser()
	b.Send("POST", "/api/v1/auth/sign-up", newcomer)
	session := b.Send("GET", "/api/v1/auth/session", "")
	if !strings.Contains(session.Text, `"emailVerified":false`) {
		t.Errorf("session %s", session.Text)
	}
	if got := b.Send("POST", "/api/v1/auth/verification", ""); got.StatusCode != 204 {
		t.Fatalf("another mail: %d %s", got.StatusCode, got.Text)
	}
	letters := box.to("grace@example.org")
	if len(letters) != 2 {
		t.Fatalf("%d mails, want the first and the one that was asked for", len(letters))
	}
	links := make([]string, 2)
	for i, letter := range letters {
		links[i] = linkInMail.FindStringSubmatch(letter.Text)[1]
	}
	var group sync.WaitGroup
	answers := make([]apitest.Answer, 10)
	for i := range answers {
		group.Go(func() {
			answers[i], _ = d.Anonymous().Try("POST", "/api/v1/auth/verify-email",
				`{"token":"`+links[i%2]+`","password":"correct horse"}`)
		})
	}
	group.Wait()
	good := 0
	for _, got := range answers {
		if got.StatusCode == 200 {
			good++
		}
	}
	if credit := available(t, b); credit != 500 || good < 1 || good > 2 {
		t.Errorf("%d answers were good, and the account has %d pence; want one a link at most, and 500", good, credit)
	}
	wantFailure(t, prove(d.Anonymous(), links[0]), 404, fault.NotFound, "token: this link is not good any more")
	wantFailure(t, b.Send("POST", "/api/v1/auth/verification", ""), 400, fault.Validation,
		"email: there is no address of this account to prove")
	if session := b.Send("GET", "/api/v1/auth/session", ""); !strings.Contains(session.Text, `"emailVerified":true`) {
		t.Errorf("session %s", session.Text)
	}
	if strings.Contains(d.Log.String(), links[0]) {
		t.Error("the log has the link")
	}
	var stored string
	if err := d.DB.GetContext(t.Context(), &stored, `SELECT coalesce(json_agg(p)::text, '') FROM email_proofs p`); err != nil ||
		strings.Contains(stored, links[0]) {
		t.Errorf("the link is stored: %v %s", err, stored)
	}
}

func TestLinksExpire(t *testing.T) {
	t.Parallel()
	box, clock := &postbox{}, newClock()
	d := open(t, strangers(auth.ModeOpen, box), func(deps *api.Deps) { deps.Now = clock.now })
	b := d.Browser()
	b.Send("POST", "/api/v1/auth/sign-up", newcomer)
	clock.move(24 * time.Hour)
	wantFailure(t, prove(d.Anonymous(), box.link(t, "grace@example.org")), 404, fault.NotFound, "token: ")
	if credit := available(t, b); credit != 0 {
		t.Errorf("%d pence by a link that is too old", credit)
	}
}

// TestSignUpTellsNobody: where addresses are proved first, an address with an account and one without get the same answer, and
// its owner a mail that tells which it is.
func TestSignUpTellsNobody(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	d := open(t, strangers(auth.ModeVerified, box))
	signUp := func(email, password string) map[string]any {
		t.Helper()
		got := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", `{"email":"`+email+`","password":"`+password+`","name":"Grace"}`)
		if got.StatusCode != 201 || len(got.Cookies()) != 0 || got.Header.Get("Set-Cookie") != "" {
			t.Fatalf("%s: %d %s %v", email, got.StatusCode, got.Text, got.Cookies())
		}
		var account map[string]any
		got.Decode(t, &account)
		return account
	}
	signUp("grace@example.org", "a stranger's") // who waits for grace to follow the link
	wantFailure(t, prove(d.Anonymous(), box.link(t, "grace@example.org")), 400, fault.Validation, "password: ")
	first := signUp("grace@example.org", "correct horse")
	credentials := `{"email":"grace@example.org","password":"correct horse"}`
	wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-in", credentials), 401, fault.Unauthorized, "")
	if got := prove(d.Anonymous(), box.link(t, "grace@example.org")); got.StatusCode != 200 ||
		!strings.Contains(got.Text, first["accountId"].(string)) {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	b := d.Browser()
	if got := b.Send("POST", "/api/v1/auth/sign-in", credentials); got.StatusCode != 200 {
		t.Fatalf("sign-in: %d %s", got.StatusCode, got.Text)
	}
	if credit := available(t, b); credit != 500 {
		t.Errorf("%d pence, want 500", credit)
	}

	known, unknown := signUp("GRACE@example.org", "another horse"), signUp("ada@example.org", "another horse")
	for _, account := range []map[string]any{known, unknown} {
		delete(account, "accountId")
		delete(account, "createdAt")
		delete(account, "email")
	}
	if a, b := fmt.Sprint(known), fmt.Sprint(unknown); a != b {
		t.Errorf("a known address is answered %s, an unknown one %s", a, b)
	}
	letters := box.to("grace@example.org")
	if last := letters[len(letters)-1]; len(letters) != 3 || !strings.Contains(last.Subject, "account already") ||
		linkInMail.MatchString(last.Text) {
		t.Errorf("the owner of a known address is told %+v", letters)
	}
	wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"grace@example.org","password":"another horse"}`),
		401, fault.Unauthorized, "")
}

// TestMailsAreBounded: nobody can have an address flooded, and the answers do not tell that it was tried. Who tries does
// not use up what the owner of the address asks for from another network.
func TestMailsAreBounded(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	d := open(t, strangers(auth.ModeVerified, box), apitest.Unhurried, func(deps *api.Deps) {
		deps.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	asked := func(times int, from string, want int) {
		t.Helper()
		for i := range times {
			got := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer, "X-Forwarded-For", fmt.Sprintf(from, i+1))
			if got.StatusCode != 201 {
				t.Fatalf("%d %s", got.StatusCode, got.Text)
			}
		}
		if n := len(box.to("grace@example.org")); n != want {
			t.Errorf("%d mails after those that %s asked for, want %d", n, from, want)
		}
	}
	asked(8, "203.0.113.%d", 5) // a stranger with a network of his own
	asked(2, "198.51.100.%d", 7)
	asked(24, "192.0.%d.1", 20) // one with many
}

// TestProvedAddressWinsOverStatedOne: an account that somebody opened with another's address keeps what it has, and not the
// address.
func TestProvedAddressWinsOverStatedOne(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	squatted := open(t, strangers(auth.ModeOpen, box))
	squatter := squatted.Browser()
	if got := squatter.Send("POST", "/api/v1/auth/sign-up",
		`{"email":"grace@example.org","password":"squatted it"}`); got.StatusCode != 201 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	firstID, _, _ := whoAmI(t, squatter)
	old := box.link(t, "grace@example.org")
	// The same database, after the operator has chosen to have addresses proved.
	d := open(t, strangers(auth.ModeVerified, box), func(deps *api.Deps) { deps.DB = squatted.Deps.DB })
	if got := d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer); got.StatusCode != 201 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	if got := prove(d.Anonymous(), box.link(t, "grace@example.org")); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	owner := d.Browser()
	if got := owner.Send("POST", "/api/v1/auth/sign-in", newcomer); got.StatusCode != 200 {
		t.Fatalf("the owner: %d %s", got.StatusCode, got.Text)
	}
	ownerID, _, _ := whoAmI(t, owner)
	_, name, _ := whoAmI(t, squatter)
	if ownerID == firstID || name != firstID+"@address.invalid" {
		t.Errorf("the owner has %s, and %s is called %s", ownerID, firstID, name)
	}
	wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/verify-email", `{"token":"`+old+`","password":"squatted it"}`), 404,
		fault.NotFound, "token: ")
	wantFailure(t, squatter.Send("POST", "/api/v1/auth/verification", ""), 400, fault.Validation, "email: there is no address")
	if credit := available(t, squatter); credit != 0 {
		t.Errorf("the squatter has %d pence", credit)
	}
	if got := d.Anonymous().Send("POST", "/api/v1/auth/sign-in", `{"email":"`+name+
		`","password":"squatted it"}`); got.StatusCode != 200 {
		t.Errorf("the earlier account by its new name: %d %s", got.StatusCode, got.Text)
	}
}

// TestAnAddressBringsOneAllowance: an account that had its allowance without a proof, and loses its address, has none from then on.
func TestAnAddressBringsOneAllowance(t *testing.T) {
	t.Parallel()
	trusting, box := open(t), &postbox{}
	b := trusting.Browser()
	b.Send("POST", "/api/v1/auth/sign-up", newcomer)
	firstID, _, _ := whoAmI(t, b)
	if credit := available(t, b); credit != 500 {
		t.Fatalf("%d pence, want 500", credit)
	}
	d := open(t, strangers(auth.ModeVerified, box), func(deps *api.Deps) { deps.DB = trusting.Deps.DB })
	d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer)
	if got := prove(d.Anonymous(), box.link(t, "grace@example.org")); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	var withheld bool
	err := d.DB.GetContext(t.Context(), &withheld, `SELECT allowance_withheld FROM credit_accounts WHERE account_id = $1`, firstID)
	if err != nil || !withheld {
		t.Errorf("the account that lost its address gets its allowance every month: %v", err)
	}
}

func TestWhoMayOpenAnAccount(t *testing.T) {
	t.Parallel()
	for mode, want := range map[auth.Mode]string{auth.ModeProvider: "sign in with its identity provider, at " +
		"/api/v1/auth/oidc/start", auth.ModeClosed: "opens no accounts"} {
		d := open(t, strangers(mode, &postbox{}))
		wantFailure(t, d.Anonymous().Send("POST", "/api/v1/auth/sign-up", newcomer), 404, fault.NotFound, want)
	}
	without := open(t, strangers(auth.ModeOpen, nil)).Browser()
	without.Send("POST", "/api/v1/auth/sign-up", newcomer)
	wantFailure(t, without.Send("POST", "/api/v1/auth/verification", ""), 404, fault.NotFound, "sends no mail")
}

// TestTrustedNetworks: who is vouched for gets credit at once, and a proxy that nobody has configured vouches for nobody.
func TestTrustedNetworks(t *testing.T) {
	t.Parallel()
	proxy := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, one := range []struct {
		name    string
		trusted string
		proxies []netip.Prefix
		header  []string
		credit  int
	}{
		{"this machine", "127.0.0.0/8", nil, nil, 500},
		{"another network", "10.0.0.0/8", nil, nil, 0},
		{"a proxy that is not configured", "127.0.0.0/8", nil, []string{"X-Forwarded-For", "203.0.113.7"}, 0},
		{"one that says little", "127.0.0.0/8", nil, []string{"Via", "1.1 proxy"}, 0},
		{"a configured proxy, from elsewhere", "127.0.0.0/8", proxy, []string{"X-Forwarded-For", "203.0.113.7"}, 0},
		{"a configured proxy, from a trusted network", "10.0.0.0/8", proxy, []string{"X-Forwarded-For", "10.1.2.3"}, 500},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, func(deps *api.Deps) {
				deps.Config.SignUp.Trusted = []netip.Prefix{netip.MustParsePrefix(one.trusted)}
				deps.Config.TrustedProxies = one.proxies
			})
			b := d.Browser()
			if got := b.Send("POST", "/api/v1/auth/sign-up", newcomer, one.header...); got.StatusCode != 201 {
				t.Fatalf("%d %s", got.StatusCode, got.Text)
			}
			if credit := available(t, b); credit != one.credit {
				t.Errorf("%d pence, want %d", credit, one.credit)
			}
		})
	}
}

// TestSignUpsAreCountedByNetwork: the addresses of one /64, and the /64s of one /48, count together.
func TestSignUpsAreCountedByNetwork(t *testing.T) {
	t.Parallel()
	d := open(t, apitest.Unhurried, func(deps *api.Deps) {
		deps.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		deps.Config.SignUp = auth.Admission{
			Limit:        throttle.Limit{Rate: 1, Period: time.Hour, Burst: 2},
			NetworkLimit: throttle.Limit{Rate: 1, Period: time.Hour, Burst: 4},
		}
	})
	n := 0
	from := func(address string, want int) {
		t.Helper()
		n++
		got := d.Anonymous().Send("POST", "/api/v1/auth/sign-up",
			fmt.Sprintf(`{"email":"u%d@example.org","password":"correct horse"}`, n), "X-Forwarded-For", address)
		if got.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", address, got.StatusCode, got.Text, want)
		}
	}
	from("2001:db8:1:1::1", 201)
	from("2001:db8:1:1::2", 201)
	from("2001:db8:1:1::3", 429) // the third of a /64
	from("2001:db8:1:2::1", 201)
	from("2001:db8:1:3::1", 201)
	from("2001:db8:1:4::1", 429) // the fifth of a /48
	from("2001:db8:2:1::1", 201)
	from("203.0.113.1", 201)
	from("203.0.113.1", 201)
	from("203.0.113.1", 429)
	from("203.0.114.1", 201)
}

// TestProofPage goes the way of a browser: opening the page uses nothing up, its button does.
func TestProofPage(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	d := open(t, strangers(auth.ModeOpen, box))
	b := d.Browser()
	b.Send("POST", "/api/v1/auth/sign-up", newcomer)
	link := box.link(t, "grace@example.org")
	for range 2 {
		if page := b.Send("GET", "/verify-email?token="+link, ""); page.StatusCode != 200 ||
			!strings.Contains(page.Text, `name="token" value="`+link+`"`) || page.Header.Get("Referrer-Policy") != "same-origin" ||
			page.Header.Get("Cache-Control") != "no-store" || !ownStyleAlone(page) {
			t.Fatalf("the page: %d %v %s", page.StatusCode, page.Header, page.Text)
		}
	}
	if page := b.Send("GET", "/verify-email?token="+url.QueryEscape(`"><script>`), ""); strings.Contains(page.Text, "<script>") {
		t.Errorf("the page: %s", page.Text)
	}
	if credit := available(t, b); credit != 0 {
		t.Errorf("%d pence for looking", credit)
	}
	password := "a stranger's"
	send := func(origin string) apitest.Answer {
		body := url.Values{"token": {link}, "password": {password}}.Encode()
		return d.Browser().Send("POST", "/verify-email", body, "Content-Type", form, "Origin", origin)
	}
	wantFailure(t, send("https://evil.example"), 403, fault.CSRFRejected, "")
	if got := send(d.Base); got.StatusCode != 400 || !strings.Contains(got.Text, "another password") ||
		!strings.Contains(got.Text, link) {
		t.Errorf("another password: %d %s", got.StatusCode, got.Text)
	}
	password = "correct horse"
	if got := send(d.Base); got.StatusCode != 200 || !strings.Contains(got.Text, "grace@example.org is the address") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := send(d.Base); got.StatusCode != 400 || !strings.Contains(got.Text, "not good any more") {
		t.Errorf("again: %d %s", got.StatusCode, got.Text)
	}
	if credit := available(t, b); credit != 500 {
		t.Errorf("%d pence, want 500", credit)
	}
	if raw, err := json.Marshal(box.to("grace@example.org")); err != nil || strings.Contains(string(raw), "correct horse") {
		t.Errorf("a mail has the password: %s %v", raw, err)
	}
}

const form = "application/x-www-form-urlencoded"

// ownStyleAlone tells whether a page lets its own style in, and its form be sent to this service, and nothing else.
func ownStyleAlone(page apitest.Answer) bool {
	_, rest, _ := strings.Cut(page.Text, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return page.Header.Get("Content-Security-Policy") == "default-src 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// TestWhatTheProofPageCannotRead is refused as everywhere else.
func TestWhatTheProofPageCannotRead(t *testing.T) {
	t.Parallel()
	d := open(t, strangers(auth.ModeOpen, &postbox{}))
	for body, code := range map[string]fault.Code{
		"token=%zz": fault.Validation, "token=%ff": fault.Validation, "password=%00": fault.Validation,
		"token=" + strings.Repeat("a", 17<<10): fault.PayloadTooLarge,
	} {
		got := d.Browser().Send("POST", "/verify-email", body, "Content-Type", form, "Origin", d.Base)
		wantFailure(t, got, map[fault.Code]int{fault.Validation: 400, fault.PayloadTooLarge: 413}[code], code, "")
	}
	if got := d.Browser().Send("POST", "/verify-email", "", "Content-Type", form, "Origin", d.Base); got.StatusCode != 400 ||
		!strings.Contains(got.Text, "not good any more") {
		t.Errorf("an empty form: got %d %s", got.StatusCode, got.Text)
	}
}

// TestSessionShowsStorage: what an account's files take is shown with the account, where files are kept.
func TestSessionShowsStorage(t *testing.T) {
	t.Parallel()
	d := open(t, func(deps *api.Deps) {
		deps.Storage = func(_ context.Context, accountID string) (contract.Storage, error) {
			return contract.Storage{UsedBytes: int64(len(accountID)), UsedObjects: 2, QuotaBytes: 100}, nil
		}
	})
	b := d.SignUp()
	want := fmt.Sprintf(`"storage":{"usedBytes":%d,"usedObjects":2,"quotaBytes":100}`, len(b.AccountID))
	if got := b.Send("GET", "/api/v1/auth/session", ""); got.StatusCode != 200 || !strings.Contains(got.Text, want) {
		t.Errorf("%d %s, want %s", got.StatusCode, got.Text, want)
	}
}
