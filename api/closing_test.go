package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/tenant"
)

const closePath = "/api/v1/account/close"

// lasting is an operation that keeps the context of its request, as a stream does.
func lasting(kept chan<- context.Context) func(*api.Deps) {
	return func(deps *api.Deps) {
		deps.Groups = append(deps.Groups, func(operations huma.API) {
			huma.Register(operations, access.Guarded(huma.Operation{OperationID: "lasting", Method: http.MethodGet,
				Path: "/v1/lasting"},
				access.Rule{Scope: access.JobsRead}), func(ctx context.Context, _ *struct{}) (*struct{}, error) {
				kept <- context.WithoutCancel(ctx)
				return nil, nil
			})
		})
	}
}

// TestCloseAccount: who has the password, has no job open and knows what credit is lost closes the account, and nothing
// of it opens again.
func TestCloseAccount(t *testing.T) {
	t.Parallel()
	kept := make(chan context.Context, 2)
	d := open(t, apitest.Unhurried, lasting(kept))
	browser, other := d.Browser(), d.SignUp()
	browser.Send("POST", "/api/v1/auth/sign-up", newcomer)
	accountID, _, _ := whoAmI(t, browser)
	_, key := browser.Key("live", "jobs:read", "credits:read")
	for _, caller := range []*apitest.Caller{browser, d.WithKey(key)} {
		caller.Send("GET", "/api/v1/lasting", "")
	}
	bySession, byKey := <-kept, <-kept

	wantFailure(t, d.WithKey(key).Send("POST", closePath, `{"password":"correct horse","forfeitCreditPence":500}`), 403,
		fault.SessionRequired, "")
	wantFailure(t, browser.Send("POST", closePath, `{"password":"wrong horse","forfeitCreditPence":500}`), 400, fault.Validation,
		"password")
	wantFailure(t, browser.Send("POST", closePath, `{"forfeitCreditPence":500}`), 400, fault.Validation, "password")
	for _, pence := range []string{`0`, `499`, `501`} {
		wantFailure(t, browser.Send("POST", closePath, `{"password":"correct horse","forfeitCreditPence":`+pence+`}`), 409,
			fault.CreditNotConfirmed, "£5.00")
	}
	insert := `INSERT INTO jobs (id, account_id, job_type, scene_file, request, status, stage_count, task_count, estimated_pence,
		held_pence, created_at, updated_at)
		VALUES ('job_1', $1, 'molecular', 'scene', '{}', 'RUNNING', 1, 0, 0, 0, now(), now())`
	if _, err := d.DB.ExecContext(t.Context(), insert, accountID); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, browser.Send("POST", closePath, `{"password":"correct horse","forfeitCreditPence":500}`), 409, fault.JobNotEnded,
		"1 of its jobs")
	if _, err := d.DB.ExecContext(t.Context(),
		`UPDATE jobs SET status = 'CANCELLED', finished_at = now(), charged_pence = 0`); err != nil {
		t.Fatal(err)
	}
	if credit := available(t, browser); credit != 500 {
		t.Errorf("%d pence after refusals", credit)
	}

	got := browser.Send("POST", closePath, `{"password":"correct horse","forfeitCreditPence":500}`)
	var closed contract.AccountClosed
	if err := json.Unmarshal([]byte(got.Text), &closed); err != nil || got.StatusCode != 200 || closed.AccountID != accountID ||
		closed.ForfeitedCreditPence != 500 {
		t.Fatalf("got %d %s", got.StatusCode, got.Text)
	}
	for name, ctx := range map[string]context.Context{"session": bySession, "key": byKey} {
		wantEnded(ctx, t, name)
	}
	wantFailure(t, browser.Send("GET", "/api/v1/auth/session", ""), 401, fault.Unauthorized, "")
	wantFailure(t, d.WithKey(key).Send("GET", "/api/v1/credits/balance", ""), 401, fault.Unauthorized, "")
	wantFailure(t, d.Browser().Send("POST", "/api/v1/auth/sign-in", newcomer), 401, fault.Unauthorized,
		"no account has this email with this password")
	if credit := available(t, other); credit != 500 {
		t.Errorf("another account has %d pence", credit)
	}
	wantBooks(t, d, accountID)

	// The address opens another account, which has no free credit, although its network is trusted.
	again := d.Browser()
	if got := again.Send("POST", "/api/v1/auth/sign-up", strings.Replace(newcomer, "grace", "Grace", 1)); got.StatusCode != 201 {
		t.Fatalf("the address again: %d %s", got.StatusCode, got.Text)
	}
	if newID, _, _ := whoAmI(t, again); newID == accountID || available(t, again) != 0 {
		t.Errorf("account %s has %d pence, after %s", newID, available(t, again), accountID)
	}
	if got := again.Send("POST", closePath, `{"password":"correct horse"}`); got.StatusCode != 200 {
		t.Errorf("closed again: %d %s", got.StatusCode, got.Text)
	}
}

// wantEnded waits until a credential is refused that was kept: a key that was just used is believed for a second.
func wantEnded(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	deadline := time.Now().Add(apitest.Patience)
	for access.Recheck(ctx) == nil && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := access.Recheck(ctx); !fault.Is(err, fault.Unauthorized) {
		t.Errorf("what was opened with the %s goes on: %v", name, err)
	}
}

// wantBooks checks that the ledger balances and names nobody.
func wantBooks(t *testing.T, d *apitest.Door, accountID string) {
	t.Helper()
	if found, err := d.Deps.Ledger.Audit(t.Context(), d.DB); err != nil || len(found) != 0 {
		t.Errorf("the ledger: %v, %v", found, err)
	}
	var left struct {
		Email, Name string
		Wallet      int64 `db:"wallet"`
		Entries     int   `db:"entries"`
		Password    bool  `db:"password"`
	}
	err := d.DB.GetContext(t.Context(), &left, `SELECT a.email, a.name, a.password_hash IS NOT NULL AS password,
		c.wallet_pence + c.monthly_pence AS wallet,
		(SELECT count(*) FROM ledger_entries WHERE account_id = a.id) AS entries FROM accounts a
		JOIN credit_accounts c ON c.account_id = a.id WHERE a.id = $1`, accountID)
	if err != nil || strings.Contains(strings.ToLower(left.Email+left.Name), "grace") || left.Wallet != 0 || left.Entries < 2 ||
		left.Password {
		t.Errorf("of the account is left %+v, %v", left, err)
	}
}

// TestCloseOnce: of many at once one closes the account, and the books balance.
func TestCloseOnce(t *testing.T) {
	t.Parallel()
	d := open(t, apitest.Unhurried)
	browser := d.Browser()
	browser.Send("POST", "/api/v1/auth/sign-up", newcomer)
	accountID, _, _ := whoAmI(t, browser)
	var group sync.WaitGroup
	answers := make([]apitest.Answer, 4)
	for i := range answers {
		group.Go(func() {
			answers[i], _ = browser.Try("POST", closePath, `{"password":"correct horse","forfeitCreditPence":500}`)
		})
	}
	group.Wait()
	good := 0
	for _, got := range answers {
		if got.StatusCode == 200 {
			good++
		} else if got.StatusCode >= 500 {
			t.Errorf("got %d %s", got.StatusCode, got.Text)
		}
	}
	if good != 1 {
		t.Errorf("%d of the calls closed the account", good)
	}
	wantBooks(t, d, accountID)
}

// TestCloseWithoutPassword: an account of an identity provider's is closed by who has just come from there. The identity
// opens another account, without free credit.
func TestCloseWithoutPassword(t *testing.T) {
	t.Parallel()
	idp := startIssuer(t)
	d := openWith(idp, apitest.Unhurried)
	idp.set("person", person{Subject: "ada-1", Email: "ada@example.org", EmailVerified: true, Name: "Ada"})
	browser := d.Browser()
	browser.Send("GET", toProvider(t, browser, ""), "")
	accountID, _, _ := whoAmI(t, browser)
	if _, err := d.DB.ExecContext(t.Context(), `UPDATE sessions SET created_at = created_at - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	forfeit := fmt.Sprintf(`{"forfeitCreditPence":%d}`, available(t, browser))
	wantFailure(t, browser.Send("POST", closePath, forfeit), 401, fault.Unauthorized, "sign in with the identity provider again")
	browser.Send("GET", toProvider(t, browser, ""), "")
	if got := browser.Send("POST", closePath, forfeit); got.StatusCode != 200 {
		t.Fatalf("got %d %s", got.StatusCode, got.Text)
	}
	wantBooks(t, d, accountID)
	back := d.Browser()
	back.Send("GET", toProvider(t, back, ""), "")
	if newID, _, _ := whoAmI(t, back); newID == "" || newID == accountID || available(t, back) != 0 {
		t.Errorf("account %s has %d pence", newID, available(t, back))
	}
}

// TestAllowanceAfterProof: a proof of the address brings no second allowance either.
func TestAllowanceAfterProof(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	d := open(t, strangers(auth.ModeOpen, box), apitest.Unhurried)
	for _, credit := range []int{500, 0, 0} {
		browser := d.Browser()
		if got := browser.Send("POST", "/api/v1/auth/sign-up", newcomer); got.StatusCode != 201 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
		if got := prove(d.Anonymous(), box.link(t, "grace@example.org")); got.StatusCode != 200 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
		if got := available(t, browser); got != credit {
			t.Errorf("%d pence, want %d", got, credit)
		}
		if got := browser.Send("POST", closePath, fmt.Sprintf(`{"password":"correct horse","forfeitCreditPence":%d}`,
			credit)); got.StatusCode != 200 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
	}
}

// TestOperatorDeletes closes an account as its owner would, and lets nobody open it again.
func TestOperatorDeletes(t *testing.T) {
	t.Parallel()
	ctx, d, browser, _, o := operated(t)
	o.Secrets = func() (secret.Ring, error) { return d.Deps.Config.KeySecrets, nil }
	accountID, _, _ := whoAmI(t, browser)
	if _, _, err := o.Delete(ctx, operatedEmail, "", true); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("without a reason: %v", err)
	}
	if _, _, err := o.Delete(ctx, operatedEmail, "asked for", false); !fault.Is(err, fault.CreditNotConfirmed) {
		t.Errorf("with credit: %v", err)
	}
	given, id, err := o.Delete(ctx, operatedEmail, "asked for", true)
	if err != nil || id != accountID || given.GivenUpPence != 500 {
		t.Fatalf("got %+v %s, %v", given, id, err)
	}
	wantFailure(t, browser.Send("GET", "/api/v1/auth/session", ""), 401, fault.Unauthorized, "")
	wantBooks(t, d, accountID)
	if _, err := o.Unlock(ctx, accountID); !errors.Is(err, auth.ErrClosed) {
		t.Errorf("unlocked: %v", err)
	}
	if _, _, err := o.ResetPassword(ctx, accountID); !errors.Is(err, auth.ErrClosed) {
		t.Errorf("a new password: %v", err)
	}
	found, err := auditlog.Read(tenant.Everyone(t.Context(), "a test"), d.DB,
		auditlog.Filter{AccountID: accountID, Event: "account.closed", Limit: 9})
	if err != nil || len(found) != 1 || found[0].Actor != "operator root" || found[0].Detail != "asked for" {
		t.Errorf("the audit log has %+v, %v", found, err)
	}
}
