package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/fault"
)

// TestACredentialIsJudgedAgain keeps what an answer that lasts has, the context of its request: as long as the key and the session
// live the second judgement is the first one, and then it is a refusal, whatever requests came in between.
func TestACredentialIsJudgedAgain(t *testing.T) {
	t.Parallel()
	kept := make(chan context.Context, 1)
	lasting := huma.Operation{OperationID: "lasting", Method: http.MethodGet, Path: "/v1/lasting"}
	d := open(t, func(deps *api.Deps) {
		deps.Groups = append(deps.Groups, func(operations huma.API) {
			huma.Register(operations, access.Guarded(lasting, access.Rule{Scope: access.JobsRead}),
				func(ctx context.Context, _ *struct{}) (*struct{}, error) {
					kept <- context.WithoutCancel(ctx)
					return nil, nil
				})
		})
	})
	browser := d.SignUp()
	keyID, key := browser.Key("live", "jobs:read")
	open := func(c *apitest.Caller) context.Context {
		if got := c.Send("GET", "/api/v1/lasting", ""); got.StatusCode != http.StatusNoContent {
			t.Fatalf("got %d %s", got.StatusCode, got.Text)
		}
		return <-kept
	}
	byKey, bySession := open(d.WithKey(key)), open(browser)
	for range 3 { // requests that may use the same buffers
		wantFailure(t, d.WithKey("mf_live_"+key[8:]+"x").Send("GET", "/api/v1/lasting", ""), 401, fault.Unauthorized, "")
	}
	for name, ctx := range map[string]context.Context{"key": byKey, "session": bySession} {
		if err := access.Recheck(ctx); err != nil {
			t.Errorf("%s: refused while it lives: %v", name, err)
		}
	}
	browser.Send("DELETE", "/api/v1/keys/"+keyID, "")
	if err := access.Recheck(byKey); !fault.Is(err, fault.Unauthorized) {
		t.Errorf("a revoked key: %v", err)
	}
	if err := access.Recheck(bySession); err != nil {
		t.Errorf("the session beside it: %v", err)
	}
	browser.Send("POST", "/api/v1/auth/sign-out", "")
	if err := access.Recheck(bySession); !fault.Is(err, fault.Unauthorized) {
		t.Errorf("a session that was signed out: %v", err)
	}
}
