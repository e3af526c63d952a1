package billing_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// modelHold is the hold of a run of a job as the model remembers it.
type modelHold struct {
	job             string
	run             int
	account         *modelAccount
	monthly, wallet int64
	expires         time.Time
	settled         bool
	captured        int64
}

// modelAccount is an account kept by the plainest arithmetic that can be written down.
type modelAccount struct {
	id                   string
	wallet, walletHeld   int64
	monthly, monthlyHeld int64
	resetAt              time.Time
}

func (a *modelAccount) available() int64 { return a.wallet - a.walletHeld + a.monthly - a.monthlyHeld }

func (a *modelAccount) newMonth(now time.Time) {
	if now.Before(a.resetAt) {
		return
	}
	a.monthly = a.monthlyHeld + freePence
	a.resetAt = firstOfNextMonth(now)
}

func firstOfNextMonth(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}

// world is the machine under test: the ledger, its model and a clock that only goes forward.
type world struct {
	b        *bench
	now      time.Time
	accounts []*modelAccount
	holds    []*modelHold
	keys     []billing.CreditRequest
}

// TestLedgerKeepsItsSums drives sign-ups, holds, settlements, credits and month ends in any order against Postgres and
// compares every answer with the model's.
func TestLedgerKeepsItsSums(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{b: b, now: midMarch}
		w.Open(rt)
		rt.Repeat(rapid.StateMachineActions(w))
		violations, err := b.ledger.Audit(t.Context(), b.db)
		if err != nil || len(violations) > 0 {
			rt.Fatalf("audit: %v %v", violations, err)
		}
	})
}

// Open signs an account up.
func (w *world) Open(t *rapid.T) {
	if len(w.accounts) == 3 {
		t.Skip("enough accounts")
	}
	accountID, err := w.b.open(w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.accounts = append(w.accounts, &modelAccount{id: accountID, monthly: freePence, resetAt: firstOfNextMonth(w.now)})
}

// Hold sets aside for a new job.
func (w *world) Hold(t *rapid.T) {
	w.hold(t, rapid.SampledFrom(w.accounts).Draw(t, "account"), id.New("job_"), 1)
}

// Retry sets aside for the next run of a job, also of one whose last run is still open.
func (w *world) Retry(t *rapid.T) {
	if len(w.holds) == 0 {
		t.Skip("nothing has run")
	}
	last := rapid.SampledFrom(w.holds).Draw(t, "hold")
	for _, h := range w.holds {
		if h.job == last.job && h.run > last.run {
			last = h
		}
	}
	if last.settled {
		w.hold(t, last.account, last.job, last.run+1)
	} else if err := w.b.holdRun(last.account.id, last.job, last.run+1, 0, w.now); !errors.Is(err, billing.ErrAlreadyHeld) {
		t.Fatalf("a second open hold: got %v", err)
	}
}

// hold asks for anything from nothing to more than there is.
func (w *world) hold(t *rapid.T, a *modelAccount, job string, run int) {
	a.newMonth(w.now)
	pence := rapid.Int64Range(0, a.available()+100).Draw(t, "pence")
	err := w.b.holdRun(a.id, job, run, pence, w.now)
	if pence > a.available() {
		if !fault.Is(err, fault.InsufficientCredits) {
			t.Fatalf("hold %d of %d: got %v", pence, a.available(), err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	h := &modelHold{job: job, run: run, account: a, monthly: min(pence, a.monthly-a.monthlyHeld), expires: a.resetAt}
	h.wallet = pence - h.monthly
	a.monthlyHeld += h.monthly
	a.walletHeld += h.wallet
	w.holds = append(w.holds, h)
}

// Settle ends an old or new hold, also one that has been ended.
func (w *world) Settle(t *rapid.T) {
	if len(w.holds) == 0 {
		t.Skip("nothing is held")
	}
	h := rapid.SampledFrom(w.holds).Draw(t, "hold")
	charge := rapid.Int64Range(0, h.monthly+h.wallet+10).Draw(t, "charge")
	if !h.settled {
		h.settled, h.captured = true, min(charge, h.monthly+h.wallet)
		a := h.account
		fromMonthly := min(h.captured, h.monthly)
		a.monthly -= fromMonthly
		a.wallet -= h.captured - fromMonthly
		a.monthlyHeld -= h.monthly
		a.walletHeld -= h.wallet
		if !w.now.Before(h.expires) {
			a.monthly -= h.monthly - fromMonthly
		}
	}
	if got, err := w.b.settleRun(h.job, h.run, charge, w.now); err != nil || got != h.captured {
		t.Fatalf("settle with %d: got %d, %v, want %d", charge, got, err, h.captured)
	}
}

// Credit enters new money.
func (w *world) Credit(t *rapid.T) {
	a := rapid.SampledFrom(w.accounts).Draw(t, "account")
	a.newMonth(w.now)
	c := billing.CreditRequest{
		AccountID: a.id,
		Type: rapid.SampledFrom([]billing.EntryType{billing.EntryTopUp, billing.EntryBonus, billing.EntryRefund}).Draw(t,
			"type"),
		Bucket:    rapid.SampledFrom([]billing.Bucket{billing.Wallet, billing.Monthly}).Draw(t, "bucket"),
		Pence:     rapid.Int64Range(1, 1000).Draw(t, "pence"),
		UniqueKey: id.New("evt_"),
	}
	if got, err := w.b.credit(c, w.now); err != nil || !got {
		t.Fatalf("credit: got %v, %v", got, err)
	}
	if c.Bucket == billing.Monthly {
		a.monthly += c.Pence
	} else {
		a.wallet += c.Pence
	}
	w.keys = append(w.keys, c)
}

// Adjust takes from the wallet or gives to it.
func (w *world) Adjust(t *rapid.T) {
	a := rapid.SampledFrom(w.accounts).Draw(t, "account")
	a.newMonth(w.now)
	pence := rapid.Int64Range(-1000, 1000).Filter(func(p int64) bool { return p != 0 }).Draw(t, "pence")
	_, err := w.b.credit(billing.CreditRequest{
		AccountID: a.id, Type: billing.EntryAdjustment, Bucket: billing.Wallet, Pence: pence, UniqueKey: id.New("evt_"),
	}, w.now)
	switch {
	case -pence > a.wallet-a.walletHeld:
		if !fault.Is(err, fault.InsufficientCredits) {
			t.Fatalf("adjust by %d of %d: got %v", pence, a.wallet-a.walletHeld, err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		a.wallet += pence
	}
}

// Redeliver repeats a credit, as a payment service does.
func (w *world) Redeliver(t *rapid.T) {
	if len(w.keys) == 0 {
		t.Skip("nothing was credited")
	}
	c := rapid.SampledFrom(w.keys).Draw(t, "credit")
	if got, err := w.b.credit(c, w.now); err != nil || got {
		t.Fatalf("credit again: got %v, %v", got, err)
	}
	c.Pence++
	if _, err := w.b.credit(c, w.now); !errors.Is(err, billing.ErrKeyReused) {
		t.Fatalf("another amount with the key: got %v", err)
	}
}

// Wait lets days go by, often past the end of a month or of several.
func (w *world) Wait(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 70*24).Draw(t, "hours")) * time.Hour)
}

// Check compares every balance with the model's.
func (w *world) Check(t *rapid.T) {
	for _, a := range w.accounts {
		shown := *a
		shown.newMonth(w.now)
		got, err := w.b.ledger.Balance(t.Context(), w.b.db, a.id, w.now)
		if err != nil {
			t.Fatal(err)
		}
		gotLine := fmt.Sprint(got.WalletPence, got.WalletHeldPence, got.MonthlyPence, got.MonthlyHeldPence, got.AvailablePence,
			got.MonthlyResetAt)
		wantLine := fmt.Sprint(shown.wallet, shown.walletHeld, shown.monthly, shown.monthlyHeld, shown.available(), shown.resetAt)
		if gotLine != wantLine {
			t.Fatalf("wallet, held, monthly, held, available, reset:\ngot  %s\nwant %s", gotLine, wantLine)
		}
	}
}
