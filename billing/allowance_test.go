package billing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/molfabric/molfabric/billing"
)

// at reads a time such as "2028-02-29T23:59:59Z".
func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func (b *bench) setPlan(t testing.TB, accountID, plan string) {
	t.Helper()
	b.db.MustExecContext(t.Context(), `UPDATE accounts SET plan = $2 WHERE id = $1`, accountID, plan)
}

// TestMonthsBoundaries reads the balance of accounts that do nothing after spending 100 pence: it alone must show the new month.
func TestMonthsBoundaries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tt := range []struct {
		name, opened, read, wantReset string
		wantMonthly                   int64
	}{
		{"the last moment of January", "2026-01-31T12:00:00Z", "2026-01-31T23:59:59.999999Z", "2026-02-01T00:00:00Z", 400},
		{"the first of February", "2026-01-31T12:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", 500},
		{"the end of a short February", "2026-02-28T23:59:59Z", "2026-02-28T23:59:59.5Z", "2026-03-01T00:00:00Z", 400},
		{"the day after it", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", 500},
		{"a leap year's 28 February", "2028-02-28T23:59:59Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z", 400},
		{"a leap day's end", "2028-02-29T00:00:00Z", "2028-02-29T23:59:59Z", "2028-03-01T00:00:00Z", 400},
		{"the day after a leap day", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z", "2028-04-01T00:00:00Z", 500},
		{"2100 is no leap year", "2100-02-28T12:00:00Z", "2100-03-01T00:00:00Z", "2100-04-01T00:00:00Z", 500},
		{"the year's last moment", "2026-12-31T00:00:00Z", "2026-12-31T23:59:59.999999Z", "2027-01-01T00:00:00Z", 400},
		{"the new year", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z", 500},
		{"from a 31st to a month of 30 days", "2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z", "2026-05-01T00:00:00Z", 500},
		{"a year and a half later, once", "2026-03-31T10:00:00Z", "2027-09-15T00:00:00Z", "2027-10-01T00:00:00Z", 500},
		{"months end in UTC, west of it", "2026-03-31T10:00:00Z", "2026-03-31T20:30:00-05:00", "2026-05-01T00:00:00Z", 500},
		{"and east of it", "2026-03-31T10:00:00Z", "2026-04-01T01:30:00+02:00", "2026-04-01T00:00:00Z", 400},
	} {
		account := b.mustOpen(t, at(t, tt.opened))
		job := "job_of_" + account
		if err := b.hold(account, job, 100, at(t, tt.opened)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.settle(job, 100, at(t, tt.opened)); err != nil {
			t.Fatal(err)
		}
		got := b.balance(t, account, at(t, tt.read))
		if got.MonthlyPence != tt.wantMonthly || got.MonthlyAvailablePence != tt.wantMonthly ||
			!got.MonthlyResetAt.Equal(at(t, tt.wantReset)) {
			t.Errorf("%s: got %d, reset %s, want %d, %s", tt.name, got.MonthlyPence, got.MonthlyResetAt, tt.wantMonthly,
				tt.wantReset)
		}
		if again := b.balance(t, account, at(t, tt.read)); again != got {
			t.Errorf("%s: reading changes the balance: %+v, then %+v", tt.name, got, again)
		}
		// What was shown is what the next movement enters.
		if _, err := b.credit(topUp(account, "after_"+account, 1), at(t, tt.read)); err != nil {
			t.Fatal(err)
		}
		if entered := b.balance(t, account, at(t, tt.read)); entered.MonthlyPence != got.MonthlyPence ||
			entered.MonthlyResetAt != got.MonthlyResetAt ||
			entered.TotalCreditedPence != got.TotalCreditedPence+1 {
			t.Errorf("%s: shown %+v, entered %+v", tt.name, got, entered)
		}
	}
	b.wantClean(t)
}

// TestPlanChangesMidMonth: a change of plan counts from the next reset; the month that has begun keeps what it was given.
func TestPlanChangesMidMonth(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	for _, step := range []struct {
		plan, read string
		want       int64
	}{
		{"free", "2026-03-20T00:00:00Z", 500},
		{"pro", "2026-03-20T00:00:00Z", 500},
		{"pro", "2026-04-01T00:00:00Z", 2500},
		{"team", "2026-04-30T23:59:59Z", 2500},
		{"team", "2026-05-01T00:00:00Z", 10000},
		{"free", "2026-05-31T23:59:59Z", 10000},
		{"free", "2026-06-01T00:00:00Z", 500},
	} {
		b.setPlan(t, account, step.plan)
		if got := b.balance(t, account, at(t, step.read)); got.MonthlyPence != step.want {
			t.Errorf("%s at %s: got %d, want %d", step.plan, step.read, got.MonthlyPence, step.want)
		}
		if _, err := b.credit(topUp(account, "at_"+step.plan+step.read, 1), at(t, step.read)); err != nil { // enters the month
			t.Fatal(err)
		}
	}
	page, err := b.ledger.Transactions(t.Context(), b.db, account, billing.Filter{})
	entries := slices.DeleteFunc(page.Entries, func(e billing.Entry) bool { return e.Type == billing.EntryTopUp })
	want := []string{
		"monthly_grant settled 500 0→500", "monthly_expiry settled -10000 10000→0", "monthly_grant settled 10000 0→10000",
		"monthly_expiry settled -2500 2500→0", "monthly_grant settled 2500 0→2500", "monthly_expiry settled -500 500→0",
		"monthly_grant settled 500 0→500",
	}
	if got := lines(entries); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	b.wantClean(t)
}

// TestHeldCreditOutlivesItsMonth: what a job holds does not expire under it, and what it gives back of an old month does.
func TestHeldCreditOutlivesItsMonth(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	newYearsEve, newYear := at(t, "2026-12-31T23:59:00Z"), at(t, "2027-01-01T00:01:00Z")
	account := b.mustOpen(t, newYearsEve)
	if err := b.hold(account, "job_over_new_year", 500, newYearsEve); err != nil {
		t.Fatal(err)
	}
	if got := b.balance(t, account, newYear); got.MonthlyPence != 1000 || got.MonthlyHeldPence != 500 ||
		got.MonthlyAvailablePence != 500 {
		t.Errorf("while it runs: got %+v", got)
	}
	if captured, err := b.settle("job_over_new_year", 120, newYear); err != nil || captured != 120 {
		t.Fatalf("settle: got %d, %v", captured, err)
	}
	if got := b.balance(t, account, newYear); got.MonthlyPence != 500 || got.MonthlyAvailablePence != 500 {
		t.Errorf("after it: got %+v", got)
	}
	b.wantClean(t)
}
