package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// keyUsers use a key at every API at once.
	keyUsers = 6
	// revokedElsewhere is how soon a revocation holds at instances that have not handled it.
	revokedElsewhere = 2 * time.Second
	// watchedAfter is how long the key is used beyond that.
	watchedAfter = time.Second
	// usesBefore is how often every API has let the key pass before it is revoked.
	usesBefore = 50
	// revocations is how many keys are revoked, in the whole form and in the short one.
	revocations, shortRevocations = 6, 2
)

// keyRevoked is R11: it revokes keys while every API is asked with them.
func keyRevoked(ctx context.Context, w *World, rng *rand.Rand) error {
	if err := w.Start(ctx, 3, 0, 0); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	rounds := revocations
	if w.Short {
		rounds = shortRevocations
	}
	slowest := 0.0
	for range rounds {
		late, err := revokeUnderLoad(ctx, w, account, rng.IntN(len(w.APIs())))
		if err != nil {
			return err
		}
		slowest = max(slowest, late.Seconds())
	}
	w.Figure("slowest_elsewhere_seconds", slowest)
	return nil
}

// use is one request with a key.
type use struct {
	api    int
	sent   time.Time
	status int
}

// uses collects requests with a key. It is safe for concurrent use.
type uses struct {
	mu  sync.Mutex
	all []use
}

func (u *uses) add(one use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, one)
}

// passed counts the requests that every one of n APIs has let pass, and returns the least.
func (u *uses) passed(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts := make([]int, n)
	for _, one := range u.all {
		if one.status == http.StatusOK {
			counts[one.api]++
		}
	}
	least := counts[0]
	for _, count := range counts {
		least = min(least, count)
	}
	return least
}

// revokeUnderLoad revokes a new key at one API while all of them are asked with it, and returns after how long another API let it
// pass for the last time.
func revokeUnderLoad(ctx context.Context, w *World, account *Account, handling int) (late time.Duration, err error) {
	apis := w.APIs()
	browser, err := account.browser(ctx, apis[handling])
	if err != nil {
		return 0, err
	}
	defer browser.Close()
	key, err := browser.CreateKey(ctx, contract.CreateRequest{Name: "short-lived", Environment: "live",
		Scopes: []string{"credits:read"}})
	if err != nil {
		return 0, err
	}
	using, stop := context.WithCancel(ctx)
	defer stop()
	var seen uses
	user := caller{key: key.Body.Secret}
	failures := make([]error, keyUsers*len(apis))
	var users sync.WaitGroup
	for i := range failures {
		users.Go(func() { failures[i] = keepUsing(using, user, apis, i%len(apis), &seen) })
	}
	err = w.Eventually(ctx, "every API lets the key pass", patience, func(context.Context) (bool, error) {
		return seen.passed(len(apis)) >= usesBefore, nil
	})
	if err != nil {
		return 0, err
	}
	asked := time.Now()
	if _, err := browser.RevokeKey(ctx, key.Body.ID); err != nil {
		return 0, err
	}
	answered := time.Now()
	over := answered.Add(w.Bound(revokedElsewhere) + watchedAfter)
	err = w.Eventually(ctx, "the key was used long enough", patience, func(context.Context) (bool, error) {
		return time.Now().After(over), nil
	})
	stop()
	users.Wait()
	if err != nil {
		return 0, err
	}
	if err := someOf(failures); err != nil {
		return 0, err
	}
	return seen.judge(asked, answered, handling, w.Bound(revokedElsewhere))
}

// keepUsing asks one API with a key until the context ends.
func keepUsing(ctx context.Context, user caller, apis []*Process, api int, seen *uses) error {
	for ctx.Err() == nil {
		sent := time.Now()
		answer, err := user.send(ctx, apis[api], http.MethodGet, "/api/v1/credits/balance", nil)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK {
			if err := answer.refuses(http.StatusUnauthorized, "UNAUTHORIZED"); err != nil {
				return err
			}
		}
		seen.add(use{api: api, sent: sent, status: answer.Status})
	}
	return nil //nolint:nilerr // a request that was cut off by the end says nothing
}

// judge holds all requests against the moments at which the revocation was asked for and answered.
func (u *uses) judge(asked, answered time.Time, handling int, bound time.Duration) (late time.Duration, err error) {
	after := 0
	for _, one := range u.all {
		since := one.sent.Sub(answered)
		passed := one.status == http.StatusOK
		switch {
		case one.sent.Before(asked) && since < -time.Second && !passed:
			return 0, fmt.Errorf("API %d refused the key %s before its revocation", one.api+1, -since)
		case passed && since > 0 && one.api == handling:
			return 0, fmt.Errorf("API %d, which had answered the revocation, let the key pass %s later", one.api+1, since)
		case passed && since > bound:
			return 0, fmt.Errorf("API %d let the key pass %s after its revocation", one.api+1, since)
		case passed && since > 0:
			late = max(late, since)
		case since > bound:
			after++
		}
	}
	if after == 0 {
		return 0, fmt.Errorf("nobody used the key later than %s after its revocation", bound)
	}
	return late, nil
}
