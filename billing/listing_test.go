package billing_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
)

func TestTransactions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account, other := b.mustOpen(t, midMarch), b.mustOpen(t, midMarch)
	later := midMarch.Add(time.Hour)
	for i, tt := range []struct{ hold, charge int64 }{{100, 40}, {50, 0}} {
		job := fmt.Sprintf("job_%d", i)
		if err := b.hold(account, job, tt.hold, midMarch); err != nil {
			t.Fatal(err)
		}
		if _, err := b.settle(job, tt.charge, later); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.hold(account, "job_open", 10, later); err != nil {
		t.Fatal(err)
	}
	if err := b.hold(other, "job_other", 10, later); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		filter billing.Filter
		want   []string
	}{
		{"all", billing.Filter{}, []string{
			"hold pending -10 460→460", "hold_release settled 50 460→460", "hold_release settled 60 460→460",
			"charge settled -40 500→460", "hold voided -50 460→460", "hold settled -100 500→500",
			"monthly_grant settled 500 0→500"}},
		{"charges", billing.Filter{Type: billing.EntryCharge}, []string{"charge settled -40 500→460"}},
		{"of a job", billing.Filter{JobID: "job_1"}, []string{"hold_release settled 50 460→460", "hold voided -50 460→460"}},
		{"of another account's job", billing.Filter{JobID: "job_other"}, nil},
		{"before an hour went by", billing.Filter{To: later, Type: billing.EntryHold},
			[]string{"hold voided -50 460→460", "hold settled -100 500→500"}},
		{"from then on", billing.Filter{From: later, Type: billing.EntryHold}, []string{"hold pending -10 460→460"}},
	} {
		page, err := b.ledger.Transactions(t.Context(), b.db, account, tt.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(page.Entries); fmt.Sprint(got) != fmt.Sprint(tt.want) || page.NextCursor != nil {
			t.Errorf("%s: got %q, next %v\nwant %q", tt.name, got, page.NextCursor, tt.want)
		}
	}
}

// TestPagesAreStableUnderInserts reads a page, lets the ledger grow and goes on: nothing is doubled or left out.
func TestPagesAreStableUnderInserts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	for i := range 6 {
		if _, err := b.credit(topUp(account, fmt.Sprintf("before_%d", i), int64(i+1)), midMarch); err != nil {
			t.Fatal(err)
		}
	}
	var amounts []int64
	filter := billing.Filter{Limit: 3, Type: billing.EntryTopUp}
	for pages := 1; ; pages++ {
		page, err := b.ledger.Transactions(t.Context(), b.db, account, filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			amounts = append(amounts, e.AmountPence)
		}
		if page.NextCursor == nil {
			if pages != 2 {
				t.Errorf("read %d pages, want 2", pages)
			}
			break
		}
		filter.Cursor = *page.NextCursor
		if _, err := b.credit(topUp(account, fmt.Sprintf("between_%d", pages), 99), midMarch); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int64{6, 5, 4, 3, 2, 1}; fmt.Sprint(amounts) != fmt.Sprint(want) {
		t.Errorf("got amounts %v, want %v", amounts, want)
	}
}

// TestEntriesAreListedByTheirTime books what happened in another order than it is written, and reads it in pages of every size.
func TestEntriesAreListedByTheirTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	for i, minutes := range []int{5, 3, 9, 3, 1, 9, 7} {
		if _, err := b.credit(topUp(account, fmt.Sprintf("late_%d", i), int64(i+1)),
			midMarch.Add(time.Duration(minutes)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	want := []int64{6, 3, 7, 1, 4, 2, 5}
	for limit := 1; limit <= len(want); limit++ {
		var amounts []int64
		filter := billing.Filter{Limit: limit, Type: billing.EntryTopUp}
		for range want {
			page, err := b.ledger.Transactions(t.Context(), b.db, account, filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Entries {
				amounts = append(amounts, e.AmountPence)
			}
			if page.NextCursor == nil {
				break
			}
			filter.Cursor = *page.NextCursor
		}
		if fmt.Sprint(amounts) != fmt.Sprint(want) {
			t.Errorf("in pages of %d: got %v, want %v", limit, amounts, want)
		}
	}
}

func TestTransactionsRefuse(t *testing.T) {
	t.Parallel()
	ledger := billing.NewLedger(nil, nil) // refused before anything is read
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, tt := range []struct {
		filter billing.Filter
		want   fault.Code
	}{
		{billing.Filter{Cursor: "!"}, fault.InvalidCursor},
		{billing.Filter{Cursor: "7"}, fault.InvalidCursor},
		{billing.Filter{Cursor: encode("7")}, fault.InvalidCursor},
		{billing.Filter{Cursor: encode("txn2:-7:1")}, fault.InvalidCursor},
		{billing.Filter{Cursor: encode("txn2:7")}, fault.InvalidCursor},
		{billing.Filter{Cursor: encode("txn2:7:0")}, fault.InvalidCursor},
		{billing.Filter{Cursor: encode("txn2:" + strings.Repeat("9", 18) + ":1")}, fault.InvalidCursor},
		{billing.Filter{Cursor: encode("txn2:7:7' OR 1=1")}, fault.InvalidCursor},
		{billing.Filter{Limit: 101}, fault.Validation},
		{billing.Filter{Limit: -1}, fault.Validation},
		{billing.Filter{Type: "gift"}, fault.Validation},
		{billing.Filter{From: midMarch, To: midMarch.Add(-time.Microsecond)}, fault.Validation},
	} {
		if _, err := ledger.Transactions(t.Context(), nil, "acct_x", tt.filter); !fault.Is(err, tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.filter, err, tt.want)
		}
	}
}

func lines(entries []billing.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s %s %d %d→%d", e.Type, e.Status, e.AmountPence, e.BalanceBeforePence, e.BalanceAfterPence))
	}
	return out
}
