package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	links   = "/api/v1/auth/sign-in-links"
	useLink = links + "/use"
)

// tokenOf makes a sign-in link and returns its token.
func tokenOf(t *testing.T, owner *apitest.Caller, next string) string {
	t.Helper()
	body, err := json.Marshal(contract.SignInLinkRequest{Next: next})
	if err != nil {
		t.Fatal(err)
	}
	got := owner.Send("POST", links, string(body))
	var link contract.SignInLink
	if err := json.Unmarshal([]byte(got.Text), &link); err != nil || got.StatusCode != 201 {
		t.Fatalf("got %d %s", got.StatusCode, got.Text)
	}
	before, after, found := strings.Cut(link.URL, "#")
	said, err := url.ParseQuery(after)
	if err != nil || !found || !strings.HasSuffix(before, "/enter") || said.Get("next") != next {
		t.Fatalf("the link is %s", link.URL)
	}
	return said.Get("token")
}

func used(token string) string { return `{"token":"` + token + `"}` }

func TestSignInLinkWorksOnce(t *testing.T) {
	t.Parallel()
	d := open(t, apitest.Unhurried)
	owner := d.SignUp()
	token := tokenOf(t, owner, "/poses/pose_1?x=1")
	browsers := make([]*apitest.Caller, 8)
	for i := range browsers {
		browsers[i] = d.Browser()
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	let := 0
	for _, b := range browsers {
		all.Go(func() {
			got, err := b.Try("POST", useLink, used(token))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case got.StatusCode == 200:
				let++
			case got.StatusCode != 404:
				t.Errorf("got %d %s", got.StatusCode, got.Text)
			}
		})
	}
	all.Wait()
	if let != 1 {
		t.Errorf("%d browsers were let in by one link", let)
	}
	in := 0
	for _, b := range browsers {
		if got := b.Send("GET", "/api/v1/auth/session", ""); got.StatusCode == 200 && strings.Contains(got.Text, owner.AccountID) {
			in++
		}
	}
	if in != 1 {
		t.Errorf("%d browsers have a session of the account", in)
	}
}

func TestSignInLinksEnd(t *testing.T) {
	t.Parallel()
	clock := newClock()
	d := open(t, func(deps *api.Deps) {
		apitest.Unhurried(deps)
		deps.Now = clock.now
	})
	for name, end := range map[string]func(owner *apitest.Caller){
		"after a quarter of an hour": func(*apitest.Caller) { clock.move(15*time.Minute + time.Second) },
		"with its session":           func(owner *apitest.Caller) { owner.Send("POST", "/api/v1/auth/sign-out", "") },
		"after five others": func(owner *apitest.Caller) {
			for range 5 {
				clock.move(time.Second)
				tokenOf(t, owner, "/")
			}
		},
	} {
		owner := d.SignUp()
		token := tokenOf(t, owner, "/")
		end(owner)
		if got := d.Browser().Send("POST", useLink, used(token)); got.StatusCode != 404 {
			t.Errorf("%s: got %d %s", name, got.StatusCode, got.Text)
		}
	}
	owner := d.SignUp()
	token := tokenOf(t, owner, "/")
	if _, err := d.DB.Exec(`UPDATE accounts SET locked_at = now(), locked_because = 'x' WHERE id = $1`, owner.AccountID); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, d.Browser().Send("POST", useLink, used(token)), 401, fault.Unauthorized, "locked")
	wantFailure(t, d.Browser().Send("POST", useLink, used("never given out")), 404, fault.NotFound, "token")
}

func TestSignInLinksLeadNowhereElse(t *testing.T) {
	t.Parallel()
	d := open(t, apitest.Unhurried)
	owner := d.SignUp()
	for _, next := range []string{"//evil.example", "https://evil.example", `/\\evil.example`, "javascript:alert(1)", "jobs"} {
		wantFailure(t, owner.Send("POST", links, `{"next":"`+next+`"}`), 400, fault.Validation, "next")
	}
	_, key := owner.Key("live", contract.Scopes...)
	wantFailure(t, d.WithKey(key).Send("POST", links, `{}`), 403, fault.SessionRequired, "")
	wantFailure(t, d.Anonymous().Send("POST", links, `{}`), 401, fault.Unauthorized, "")
}
