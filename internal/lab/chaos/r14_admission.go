package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// foreignSite and ownSite are origins that a browser states: one that nobody has configured, and one that is.
	foreignSite, ownSite = "https://evil.example.org", "https://app.example.org"
	// forOperators begins the addresses at which everybody but an operator finds nothing; no visitor is one.
	forOperators = "/v1/operator/"
	// expiresAfter is the life of a key that is to be found expired.
	expiresAfter = 2 * time.Second
	// callsAtOnce bounds the requests that are on their way at once.
	callsAtOnce = 32
	// leastOperations is how many the document must at least have: with fewer the table would prove little.
	leastOperations = 80
)

// everyCaller is R14: it lets everybody knock at every operation.
func everyCaller(ctx context.Context, w *World, _ *rand.Rand) error {
	for range 2 {
		if _, err := w.StartAPI(ctx, "MOLFABRIC_ORIGINS="+ownSite); err != nil {
			return err
		}
	}
	visitors, err := w.visitors(ctx)
	if err != nil {
		return err
	}
	doc, err := readDocument(ctx, w.APIs()[0])
	if err != nil {
		return err
	}
	operations := doc.operations()
	if len(operations) < leastOperations {
		return fmt.Errorf("the document has %d operations", len(operations))
	}
	apis := w.APIs()
	err = atMost(callsAtOnce, len(operations)*len(visitors), func(i int) error {
		op, v := operations[i/len(visitors)], visitors[i%len(visitors)]
		return v.knocks(ctx, apis[i%len(apis)], op)
	})
	if err != nil {
		return err
	}
	w.Figure("operations_count", float64(len(operations)))
	w.Figure("callers_count", float64(len(visitors)))
	return preflights(ctx, apis[0], operations)
}

// visitor is somebody at the door, with what the service should know of them.
type visitor struct {
	caller
	nobody      bool     // no credential, or none that is good
	scopes      []string // of a good key
	test        bool     // the key is of the test environment
	keyed       bool     // a good key, not a session
	bearer      bool     // an Authorization header is sent, so that no cookie counts
	foreignPage bool     // the request comes from a page of another site
}

// verdict is the one answer that the document allows a visitor: a status and a code, or 400 without one for whoever is let in,
// because every request is broken.
func (v visitor) verdict(o operation) (status int, code string) {
	crosses := v.foreignPage && !v.bearer && !o.safe()
	switch {
	case o.public() && crosses:
		return http.StatusForbidden, "CSRF_REJECTED"
	case o.public():
		return http.StatusBadRequest, ""
	case v.nobody:
		return http.StatusUnauthorized, "UNAUTHORIZED"
	case crosses:
		return http.StatusForbidden, "CSRF_REJECTED"
	case !v.keyed:
		if _, ok := o.scheme("session"); !ok {
			return http.StatusUnauthorized, "UNAUTHORIZED"
		}
		if strings.HasPrefix(o.Path, forOperators) {
			return http.StatusNotFound, "NOT_FOUND"
		}
		return http.StatusBadRequest, ""
	}
	scopes, ok := o.scheme("apiKey")
	switch {
	case !ok:
		return http.StatusForbidden, "SESSION_REQUIRED"
	case slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(v.scopes, scope) }):
		return http.StatusForbidden, "INSUFFICIENT_SCOPE"
	case v.test && o.bills():
		return http.StatusForbidden, "TEST_KEY_LIVE_BILLING"
	}
	return http.StatusBadRequest, ""
}

// broken is no JSON, and unknownQuery no parameter of any operation: whoever is let in is told so, and nothing happens.
const (
	broken       = `{"`
	unknownQuery = "?no-such-parameter=1"
)

// knocks sends a broken request and holds the answer against the document.
func (v visitor) knocks(ctx context.Context, api *Process, o operation) error {
	var body []byte
	if o.takesJSON() {
		body = []byte(broken)
	}
	values := map[string]string{}
	for _, p := range o.in("path") {
		values[p.Name] = "1"
	}
	answer, err := v.send(ctx, api, o.Method, o.at(values)+unknownQuery, body)
	if err != nil {
		return fmt.Errorf("%s by %s: %w", o, v.name, err)
	}
	status, code := v.verdict(o)
	switch {
	case status == http.StatusBadRequest && answer.Status == http.StatusNotFound && o.public():
		// a page of this deployment's that is not there
	case answer.Status != status || code != "" && answer.code() != code:
		err = fmt.Errorf("answered %s, want %d %s", answer, status, code)
	case !o.documents(answer.Status):
		err = fmt.Errorf("answered %s, which the document does not name", answer)
	case status == http.StatusUnauthorized && answer.Header.Get("WWW-Authenticate") != "Bearer":
		err = fmt.Errorf("answered 401 without saying how to prove who one is")
	default:
		err = v.sharesWith(answer)
	}
	if err != nil {
		return fmt.Errorf("%s by %s: %w", o, v.name, err)
	}
	return nil
}

// sharesWith holds the headers that let a script of another site read an answer against who asked.
func (v visitor) sharesWith(answer Answer) error {
	shared, want := answer.Header.Get("Access-Control-Allow-Origin"), ""
	if slices.Contains(v.header, ownSite) {
		want = ownSite
	}
	if shared != want {
		return fmt.Errorf("answered with Access-Control-Allow-Origin %q, want %q", shared, want)
	}
	return nil
}

// preflights asks, as a browser does for a script of another site, whether every operation may be called.
func preflights(ctx context.Context, api *Process, operations []operation) error {
	return atMost(callsAtOnce, len(operations), func(i int) error {
		o, values := operations[i], map[string]string{}
		for _, p := range o.in("path") {
			values[p.Name] = "1"
		}
		for _, site := range []string{foreignSite, ownSite} {
			asking := visitor{caller: caller{name: site, header: []string{"Origin", site, "Access-Control-Request-Method",
				o.Method}}}
			answer, err := asking.send(ctx, api, http.MethodOptions, o.at(values), nil)
			if err == nil {
				err = asking.sharesWith(answer)
			}
			if err != nil {
				return fmt.Errorf("a preflight of %s from %s: %w", o, site, err)
			}
		}
		return nil
	})
}

// visitors are everybody who may come: without a good credential, with a key of every kind, with a session, from other sites.
func (w *World) visitors(ctx context.Context) ([]visitor, error) {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return nil, err
	}
	browser, err := account.browser(ctx, w.APIs()[0])
	if err != nil {
		return nil, err
	}
	defer browser.Close()
	keys, err := keysOfEveryKind(ctx, browser)
	if err != nil {
		return nil, err
	}
	ended, err := endedCredentials(ctx, w, account, browser)
	if err != nil {
		return nil, err
	}
	session, all := browser.Session(), keys[0]
	from := func(site string) []string { return []string{"Origin", site} }
	everybody := slices.Concat(keys, ended, []visitor{
		{caller: caller{name: "nobody"}, nobody: true},
		{caller: caller{name: "nobody on another site", header: from(foreignSite)}, nobody: true, foreignPage: true},
		{caller: caller{name: "a session", session: session}},
		{caller: caller{name: "a session on a configured site", session: session, header: from(ownSite)}},
		{caller: caller{name: "a session on the service's own page", session: session,
			header: []string{"Sec-Fetch-Site", "same-origin"}}},
		{caller: caller{name: "a session on another site", session: session, header: from(foreignSite)}, foreignPage: true},
		{caller: caller{name: "a session on a page without an origin", session: session, header: from("null")}, foreignPage: true},
		{caller: caller{name: "a session on another page of the site", session: session,
			header: []string{"Sec-Fetch-Site", "same-site"}}, foreignPage: true},
		{caller: caller{name: "a session across sites", session: session, header: []string{"Sec-Fetch-Site", "cross-site"}},
			foreignPage: true},
		{caller: caller{name: "a key on another site", key: all.key, header: from(foreignSite)}, keyed: true, bearer: true,
			scopes: everyScope, foreignPage: true},
		{caller: caller{name: "a good key beside a bad session", key: all.key, session: "bad"}, keyed: true, bearer: true,
			scopes: everyScope},
		{caller: caller{name: "a bad key beside a good session", key: "svc_live_bad", session: session}, nobody: true,
			bearer: true},
		{caller: caller{name: "a good key by another scheme", header: []string{"Authorization", "Basic " + all.key}}, nobody: true,
			bearer: true},
		{caller: caller{name: "a key that is none", key: "a key"}, nobody: true, bearer: true},
		{caller: caller{name: "an unknown key", key: all.key[:len(all.key)-1] + otherLast(all.key)}, nobody: true, bearer: true},
		{caller: caller{name: "a session that is none", session: strings.Repeat("A", len(session))}, nobody: true},
	})
	return everybody, nil
}

// otherLast is a last letter that a text does not have.
func otherLast(text string) string {
	if strings.HasSuffix(text, "a") {
		return "b"
	}
	return "a"
}

// keysOfEveryKind makes, in both environments, a key with every scope, keys with one each and keys with all but one. The first has
// every scope and is live.
func keysOfEveryKind(ctx context.Context, browser *client.Client) ([]visitor, error) {
	sets := [][]string{everyScope}
	for _, scope := range everyScope {
		others := slices.DeleteFunc(slices.Clone(everyScope), func(one string) bool { return one == scope })
		sets = append(sets, []string{scope}, others)
	}
	var made []visitor
	for _, environment := range []string{"live", "test"} {
		for _, scopes := range sets {
			key, err := browser.CreateKey(ctx, contract.CreateRequest{Name: "door", Environment: environment, Scopes: scopes})
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("a %s key with %s", environment, strings.Join(scopes, " "))
			made = append(made, visitor{caller: caller{name: name, key: key.Body.Secret}, keyed: true, bearer: true, scopes: scopes,
				test: environment == "test"})
		}
	}
	return made, nil
}

// endedCredentials are a revoked key, an expired one and a session that was signed out.
func endedCredentials(ctx context.Context, w *World, account *Account, browser *client.Client) ([]visitor, error) {
	revoked, err := browser.CreateKey(ctx, contract.CreateRequest{Name: "revoked", Environment: "live", Scopes: everyScope})
	if err != nil {
		return nil, err
	}
	if _, err := browser.RevokeKey(ctx, revoked.Body.ID); err != nil {
		return nil, err
	}
	at := time.Now().Add(expiresAfter)
	expired, err := browser.CreateKey(ctx, contract.CreateRequest{Name: "expired", Environment: "live", Scopes: everyScope,
		ExpiresAt: &at})
	if err != nil {
		return nil, err
	}
	leaving, err := account.browser(ctx, w.APIs()[0])
	if err != nil {
		return nil, err
	}
	defer leaving.Close()
	left := leaving.Session()
	if err := leaving.SignOut(ctx); err != nil {
		return nil, err
	}
	err = w.Eventually(ctx, "the key has expired", patience, func(context.Context) (bool, error) {
		return time.Now().After(at), nil
	})
	return []visitor{
		{caller: caller{name: "a revoked key", key: revoked.Body.Secret}, nobody: true, bearer: true},
		{caller: caller{name: "an expired key", key: expired.Body.Secret}, nobody: true, bearer: true},
		{caller: caller{name: "a session that was signed out", session: left}, nobody: true},
	}, err
}
