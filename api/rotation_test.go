package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/secret/resting"
	"github.com/molfabric/molfabric/internal/tenant"
)

// ringOf is a ring of secrets that are each one letter repeated. That of a test's front door is "k".
func ringOf(t *testing.T, sealing string, others ...string) secret.Ring {
	t.Helper()
	var more [][]byte
	for _, one := range others {
		more = append(more, []byte(strings.Repeat(one, secret.MinBytes)))
	}
	ring, err := secret.NewRing([]byte(strings.Repeat(sealing, secret.MinBytes)), more...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// TestKeysOutliveARotation: while both secrets are known, in whatever order, every key works; those that are used move, and when
// the earlier secret goes only those that were not used go with it.
func TestKeysOutliveARotation(t *testing.T) {
	t.Parallel()
	clock := newClock()
	d := open(t, func(deps *api.Deps) { deps.Now = clock.now })
	browser := d.SignUp()
	_, used := browser.Key("live", "credits:read")
	_, idle := browser.Key("live", "credits:read")
	under := func(ring secret.Ring) *keys.Service { return keys.New(d.Deps.DB, ring, discard(), clock.now) }
	before, turning := under(ringOf(t, "k", "n")), under(ringOf(t, "n", "k"))
	verify := func(name string, service *keys.Service, key string, want bool) {
		t.Helper()
		if _, err := service.Verify(t.Context(), key); (err == nil) != want || err != nil && !fault.Is(err, fault.Unauthorized) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	counted := func(want resting.Rest) {
		t.Helper()
		rests, err := resting.Count(t.Context(), d.DB, ringOf(t, "n", "k"), clock.now())
		if err != nil || rests[0] != want {
			t.Errorf("counted %+v, %v; want %+v", rests, err, want)
		}
	}
	counted(resting.Rest{Kind: resting.Keys, Earlier: 2, Lately: 2})
	// Instances are started again one by one: both orders are at work, and a key goes from the one to the other.
	for range 3 {
		for name, service := range map[string]*keys.Service{"the earlier secret seals": before, "the new one seals": turning} {
			clock.move(2 * time.Minute)
			verify(name, service, used, true)
		}
	}
	account := browser.AccountID
	made, err := turning.Create(tenant.With(t.Context(), account), account,
		contract.CreateRequest{Name: "n", Environment: "live", Scopes: []string{"credits:read"}})
	if err != nil {
		t.Fatal(err)
	}
	verify("a key of an instance that has turned", before, made.Secret, true)
	clock.move(2 * time.Minute)
	verify("a key that is used", turning, used, true)
	counted(resting.Rest{Kind: resting.Keys, Sealing: 1, Earlier: 2, Lately: 2})
	clock.move(2 * time.Minute)
	verify("a key that another instance has moved back", turning, made.Secret, true)
	counted(resting.Rest{Kind: resting.Keys, Sealing: 2, Earlier: 1, Lately: 1})
	clock.move(31 * 24 * time.Hour)
	counted(resting.Rest{Kind: resting.Keys, Sealing: 2, Earlier: 1})

	after := under(ringOf(t, "n"))
	verify("a key that was used", after, used, true)
	verify("a key of the overlap", after, made.Secret, true)
	verify("a key that was not used", after, idle, false)
	verify("the earlier secret alone", under(ringOf(t, "k")), used, false)
	verify("the earlier secret, brought back", turning, idle, true)
	var text string
	if err := d.DB.Get(&text, `SELECT string_agg(k::text, ' ') FROM api_keys k`); err != nil ||
		strings.Contains(text, strings.Repeat("n", 8)) {
		t.Errorf("the table holds a secret: %s, %v", text, err)
	}
}

// TestClosedAddressesOutliveARotation: an address that has had its free credit is known under every secret that the deployment
// knows, and it is counted on which it rests.
func TestClosedAddressesOutliveARotation(t *testing.T) {
	t.Parallel()
	d := open(t, apitest.Unhurried)
	browser := d.Browser()
	browser.Send("POST", "/api/v1/auth/sign-up", newcomer)
	if got := browser.Send("POST", closePath, `{"password":"correct horse","forfeitCreditPence":500}`); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	for _, under := range []struct {
		ring secret.Ring
		rest resting.Rest
		want int // pence
	}{
		{ringOf(t, "k"), resting.Rest{Kind: resting.Addresses, Sealing: 1}, 0},
		{ringOf(t, "n", "k"), resting.Rest{Kind: resting.Addresses, Earlier: 1, Lately: 1}, 0},
		{ringOf(t, "n", "m", "k"), resting.Rest{Kind: resting.Addresses, Earlier: 1, Lately: 1}, 0},
		{ringOf(t, "n"), resting.Rest{Kind: resting.Addresses, Earlier: 1, Lately: 1}, 500},
	} {
		rests, err := resting.Count(t.Context(), d.DB, under.ring, time.Now())
		if err != nil || rests[3] != under.rest {
			t.Errorf("under %v: counted %+v, %v; want %+v", under.ring, rests, err, under.rest)
		}
		if kind, n := resting.Hindrance(rests); n > 0 {
			t.Errorf("under %v: %d %s keep the earlier secret", under.ring, n, kind)
		}
		again := beside(t, d, apitest.Unhurried, func(deps *api.Deps) { deps.Config.KeySecrets = under.ring }).Browser()
		if got := again.Send("POST", "/api/v1/auth/sign-up", newcomer); got.StatusCode != 201 {
			t.Fatalf("under %v: %d %s", under.ring, got.StatusCode, got.Text)
		}
		if got := available(t, again); got != under.want {
			t.Errorf("under %v: %d pence, want %d", under.ring, got, under.want)
		}
		if under.want == 0 {
			if got := again.Send("POST", closePath, `{"password":"correct horse"}`); got.StatusCode != 200 {
				t.Fatalf("under %v: %d %s", under.ring, got.StatusCode, got.Text)
			}
		}
	}
}
