package api_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/tenant"
)

const operatedEmail = "grace@example.org" // of newcomer

// operated is a front door, somebody who has signed up there with a key, and the operator of both.
func operated(t *testing.T) (context.Context, *apitest.Door, *apitest.Caller, string, auth.Operator) {
	t.Helper()
	d := open(t, apitest.Unhurried)
	browser := d.Browser()
	if got := browser.Send("POST", "/api/v1/auth/sign-up", newcomer); got.StatusCode != 201 {
		t.Fatalf("sign-up: %d %s", got.StatusCode, got.Text)
	}
	_, key := browser.Key("live", "credits:read")
	now := time.Now
	o := auth.Operator{DB: d.Deps.DB, Ledger: d.Deps.Ledger, User: "root", Now: now}
	return tenant.Everyone(t.Context(), "an operator's test"), d, browser, key, o
}

// lines are the events of the audit log with who did them, in their order.
func lines(ctx context.Context, t *testing.T, o auth.Operator, f auditlog.Filter) []string {
	t.Helper()
	f.Limit = 100
	found, err := auditlog.Read(ctx, o.DB, f)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, l := range found {
		events = append(events, string(l.Event)+" by "+l.Actor)
	}
	return events
}

// TestOperatorLocks: a locked account opens to neither session, key nor password, says why to whoever has the right one alone, and
// opens again.
func TestOperatorLocks(t *testing.T) {
	t.Parallel()
	ctx, d, browser, key, o := operated(t)
	if _, err := o.Lock(ctx, operatedEmail, " "); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("locked without a reason: %v", err)
	}
	locked, err := o.Lock(ctx, "GRACE@example.org", "mines coins")
	if err != nil || locked.LockedAt == nil || locked.Sessions != 0 || locked.Keys != 1 || locked.LockedBecause == nil ||
		*locked.LockedBecause != "mines coins" {
		t.Fatalf("got %+v, %v", locked, err)
	}
	deadline := time.Now().Add(apitest.Patience) // a key that was just used is believed for a second
	for d.WithKey(key).Send("GET", "/api/v1/credits/balance", "").StatusCode != 401 && time.Now().Before(deadline) {
		continue
	}
	wantFailure(t, d.WithKey(key).Send("GET", "/api/v1/credits/balance", ""), 401, fault.Unauthorized, "locked")
	wantFailure(t, browser.Send("GET", "/api/v1/credits/balance", ""), 401, fault.Unauthorized, "")
	for password, told := range map[string]string{"correct horse": "locked",
		"wrong horse": "no account has this email with this password"} {
		got := d.Browser().Send("POST", "/api/v1/auth/sign-in", `{"email":"grace@example.org","password":"`+password+`"}`)
		wantFailure(t, got, 401, fault.Unauthorized, told)
		if strings.Contains(got.Text, "mines coins") || got.Header.Get("Set-Cookie") != "" {
			t.Errorf("a refused sign-in tells the operator's reason, or lets the browser in: %s %v", got.Text, got.Header)
		}
	}
	if opened, err := o.Unlock(ctx, locked.AccountID); err != nil || opened.LockedAt != nil || opened.LockedBecause != nil {
		t.Fatalf("got %+v, %v", opened, err)
	}
	if got := d.WithKey(key).Send("GET", "/api/v1/credits/balance", ""); got.StatusCode != 200 {
		t.Errorf("unlocked: %d %s", got.StatusCode, got.Text)
	}
	want := []string{"account.signed-up by owner", "session.started by owner", "key.created by owner",
		"account.locked by operator root",
		"account.unlocked by operator root"}
	if got := lines(ctx, t, o, auditlog.Filter{AccountID: locked.AccountID}); !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// TestOperatorCredits gives credit once, however often the act of that name is repeated, takes no more than there is, and leaves
// the ledger in agreement with itself.
func TestOperatorCredits(t *testing.T) {
	t.Parallel()
	ctx, _, browser, _, o := operated(t)
	before := available(t, browser)
	for _, first := range []bool{true, false} {
		state, done, err := o.Credit(ctx, operatedEmail, 2500, "workshop in Leeds", "leeds-1")
		if err != nil || done != first || state.AvailablePence != int64(before)+2500 {
			t.Fatalf("got %+v, %v, %v", state, done, err)
		}
	}
	if _, _, err := o.Credit(ctx, operatedEmail, 2600, "workshop in Leeds", "leeds-1"); err == nil {
		t.Error("another amount under the same reference was taken for the same act")
	}
	var short *fault.Error
	if _, _, err := o.Credit(ctx, operatedEmail, -2501, "entered twice", ""); !errors.As(err, &short) ||
		short.Code != fault.InsufficientCredits {
		t.Errorf("more was taken than there is: %v", err)
	}
	if state, done, err := o.Credit(ctx, operatedEmail, -2500, "entered twice", ""); err != nil || !done ||
		state.AvailablePence != int64(before) {
		t.Errorf("got %+v, %v, %v", state, done, err)
	}
	for _, pence := range []int64{0, auth.MaxGiftPence + 1, -auth.MaxGiftPence - 1} {
		if _, _, err := o.Credit(ctx, operatedEmail, pence, "slip", ""); err == nil || !strings.Contains(err.Error(), "amount") {
			t.Errorf("%d pence: %v", pence, err)
		}
	}
	for _, name := range []string{"nobody@example.org", "", " "} {
		if _, _, err := o.Credit(ctx, name, 1, "gift", ""); !errors.Is(err, auth.ErrNoAccount) {
			t.Errorf("%q was credited: %v", name, err)
		}
	}
	if found, err := o.Ledger.Audit(ctx, o.DB); err != nil || len(found) > 0 {
		t.Errorf("the ledger: %v, %v", found, err)
	}
	want := []string{"credit.given by operator root", "credit.taken by operator root"}
	if got := lines(ctx, t, o, auditlog.Filter{Event: "credit."}); !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// TestOperatorResetsPassword: the old password and every browser are out, the new one is good.
func TestOperatorResetsPassword(t *testing.T) {
	t.Parallel()
	ctx, d, browser, _, o := operated(t)
	_, password, err := o.ResetPassword(ctx, operatedEmail)
	if err != nil || len(password) < 16 {
		t.Fatalf("%q, %v", password, err)
	}
	wantFailure(t, browser.Send("GET", "/api/v1/credits/balance", ""), 401, fault.Unauthorized, "")
	wantFailure(t, d.Browser().Send("POST", "/api/v1/auth/sign-in", `{"email":"grace@example.org","password":"correct horse"}`),
		401,
		fault.Unauthorized, "")
	back := d.Browser()
	if got := back.Send("POST", "/api/v1/auth/sign-in", `{"email":"grace@example.org","password":"`+password+
		`"}`); got.StatusCode != 200 {
		t.Fatalf("the new password: %d %s", got.StatusCode, got.Text)
	}
	if _, ended, err := o.EndSessions(ctx, operatedEmail); err != nil || ended != 1 {
		t.Errorf("%d sessions ended, %v", ended, err)
	}
	wantFailure(t, back.Send("GET", "/api/v1/credits/balance", ""), 401, fault.Unauthorized, "")
	if strings.Contains(strings.Join(details(ctx, t, o), " "), password) {
		t.Error("the audit log holds the password")
	}
}

func details(ctx context.Context, t *testing.T, o auth.Operator) []string {
	t.Helper()
	found, err := auditlog.Read(ctx, o.DB, auditlog.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range found {
		all = append(all, l.Detail)
	}
	return all
}

// TestAuditLogIsKept: those who serve requests add lines and neither change nor remove any.
func TestAuditLogIsKept(t *testing.T) {
	t.Parallel()
	ctx, _, _, _, o := operated(t)
	for _, statement := range []string{`UPDATE audit_log SET actor = 'nobody'`, `DELETE FROM audit_log`, `TRUNCATE audit_log`} {
		if _, err := o.DB.ExecContext(ctx, statement); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if found, err := o.Accounts(ctx, "RACE@exam", 10); err != nil || len(found) != 1 || found[0].Email != operatedEmail ||
		!found[0].HasPassword {
		t.Errorf("got %+v, %v", found, err)
	}
}
