package billing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// freePence is the allowance of the free plan in the embedded price book.
const freePence = 500

var midMarch = time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)

// bench is a ledger in a schema of the test's own.
type bench struct {
	db     *sqlx.DB
	ledger *billing.Ledger
}

func newBench(t testing.TB) *bench {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	return &bench{db: pgtest.New(t), ledger: billing.NewLedger(book, id.New)}
}

func (b *bench) inTx(do func(ctx context.Context, tx *sqlx.Tx) error) error {
	ctx := context.Background()
	return postgres.InTx(ctx, b.db, func(tx *sqlx.Tx) error { return do(ctx, tx) })
}

// open signs an account up.
func (b *bench) open(now time.Time) (accountID string, err error) {
	accountID = id.New("acct_")
	return accountID, b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $1 || '@example.org', 'Test', 'none', 'free', $2)`, accountID, now)
		if err != nil {
			return err
		}
		return b.ledger.OpenAccount(ctx, tx, accountID, "free", now)
	})
}

func (b *bench) mustOpen(t testing.TB, now time.Time) string {
	t.Helper()
	accountID, err := b.open(now)
	if err != nil {
		t.Fatal(err)
	}
	return accountID
}

// hold sets aside for the first run of a job.
func (b *bench) hold(accountID, jobID string, pence int64, now time.Time) error {
	return b.holdRun(accountID, jobID, 1, pence, now)
}

func (b *bench) holdRun(accountID, jobID string, run int, pence int64, now time.Time) error {
	return b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		return b.ledger.Hold(ctx, tx, accountID, jobID, run, pence, now)
	})
}

// settle ends the hold of the first run of a job.
func (b *bench) settle(jobID string, pence int64, now time.Time) (captured int64, err error) {
	return b.settleRun(jobID, 1, pence, now)
}

func (b *bench) settleRun(jobID string, run int, pence int64, now time.Time) (captured int64, err error) {
	err = b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		captured, err = b.ledger.Settle(ctx, tx, jobID, run, pence, now)
		return err
	})
	return captured, err
}

func (b *bench) credit(c billing.CreditRequest, now time.Time) (credited bool, err error) {
	err = b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		credited, err = b.ledger.Credit(ctx, tx, c, now)
		return err
	})
	return credited, err
}

func (b *bench) balance(t testing.TB, accountID string, now time.Time) billing.Balance {
	t.Helper()
	balance, err := b.ledger.Balance(t.Context(), b.db, accountID, now)
	if err != nil {
		t.Fatal(err)
	}
	return balance
}

func (b *bench) wantClean(t testing.TB) {
	t.Helper()
	violations, err := b.ledger.Audit(context.Background(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("audit: %s", v)
	}
}

func topUp(accountID, key string, pence int64) billing.CreditRequest {
	return billing.CreditRequest{AccountID: accountID, Type: billing.EntryTopUp, Bucket: billing.Wallet, Pence: pence,
		UniqueKey: key, Description: "Top-up"}
}

func TestLifeOfAJobsMoney(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	if _, err := b.credit(topUp(account, "pay-1", 1000), midMarch); err != nil {
		t.Fatal(err)
	}
	if err := b.hold(account, "job_a", 700, midMarch); err != nil {
		t.Fatal(err)
	}
	want := billing.Balance{
		WalletPence: 1000, WalletHeldPence: 200, WalletAvailablePence: 800,
		MonthlyPence: 500, MonthlyHeldPence: 500,
		MonthlyResetAt: time.Date(2026, time.April, 1, 0, 0, 0, 0, time.UTC), TotalCreditedPence: 1500,
		HeldPence: 700, AvailablePence: 800, AvailableDisplay: "£8.00",
	}
	if got := b.balance(t, account, midMarch); got != want {
		t.Errorf("while the job runs: got %+v\nwant %+v", got, want)
	}
	if captured, err := b.settle("job_a", 550, midMarch.Add(time.Hour)); err != nil || captured != 550 {
		t.Fatalf("settle 550: got %d, %v", captured, err)
	}
	if captured, err := b.settle("job_a", 600, midMarch.Add(2*time.Hour)); err != nil || captured != 550 {
		t.Errorf("settle again: got %d, %v, want the first answer 550", captured, err)
	}
	want = billing.Balance{
		WalletPence: 950, WalletAvailablePence: 950, MonthlyResetAt: want.MonthlyResetAt, TotalCreditedPence: 1500,
		AvailablePence: 950, AvailableDisplay: "£9.50",
	}
	if got := b.balance(t, account, midMarch); got != want {
		t.Errorf("after the job: got %+v\nwant %+v", got, want)
	}
	b.wantClean(t)
}

func TestEachRunOfAJobIsHeldAndChargedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	if err := b.hold(account, "job_a", 300, midMarch); err != nil {
		t.Fatal(err)
	}
	if err := b.holdRun(account, "job_a", 2, 1, midMarch); !errors.Is(err, billing.ErrAlreadyHeld) {
		t.Errorf("a second run beside an open one: got %v, want ErrAlreadyHeld", err)
	}
	if _, err := b.settleRun("job_a", 2, 1, midMarch); !errors.Is(err, billing.ErrNoHold) {
		t.Errorf("settle a run that was never held: got %v, want ErrNoHold", err)
	}
	if _, err := b.settle("job_a", 250, midMarch); err != nil {
		t.Fatal(err)
	}
	if err := b.hold(account, "job_a", 1, midMarch); !errors.Is(err, billing.ErrAlreadyHeld) {
		t.Errorf("hold the first run again: got %v, want ErrAlreadyHeld", err)
	}
	if err := b.holdRun(account, "job_a", 2, 251, midMarch); !fault.Is(err, fault.InsufficientCredits) {
		t.Errorf("a second run of 251 pence with 250 left: got %v, want %s", err, fault.InsufficientCredits)
	}
	if err := b.holdRun(account, "job_a", 2, 100, midMarch); err != nil {
		t.Fatal(err)
	}
	if captured, err := b.settle("job_a", 50, midMarch); err != nil || captured != 250 {
		t.Errorf("settle the first run again: got %d, %v, want its own answer 250", captured, err)
	}
	if captured, err := b.settleRun("job_a", 2, 500, midMarch); err != nil || captured != 100 {
		t.Errorf("settle the second run: got %d, %v, want no more than its hold of 100", captured, err)
	}
	if got := b.balance(t, account, midMarch); got.MonthlyPence != freePence-350 || got.HeldPence != 0 {
		t.Errorf("got %d pence left and %d held, want %d and 0", got.MonthlyPence, got.HeldPence, freePence-350)
	}
	page, err := b.ledger.Transactions(t.Context(), b.db, account, billing.Filter{JobID: "job_a"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range page.Entries {
		lines = append(lines, fmt.Sprintf("%s %d %s %s", e.Type, e.AmountPence, e.Status, e.Description))
	}
	want := []string{"charge -100 settled Charge for run 2 of the job", "hold -100 settled Set aside for run 2 of the job",
		"hold_release 50 settled Not used by the job", "charge -250 settled Charge for the job",
		"hold -300 settled Set aside for the job"}
	if !slices.Equal(lines, want) {
		t.Errorf("got entries\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	b.wantClean(t)
}

func TestEdgesOfASettlement(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tt := range []struct {
		name                    string
		hold, charge            int64
		wantCaptured, wantMonth int64
	}{
		{"above the hold", 100, 5000, 100, 400},
		{"nothing", 100, 0, 0, 500},
		{"a hold of nothing", 0, 10, 0, 500},
		{"exactly the hold", 500, 500, 500, 0},
	} {
		account, job := b.mustOpen(t, midMarch), id.New("job_")
		if err := b.hold(account, job, tt.hold, midMarch); err != nil {
			t.Fatal(err)
		}
		captured, err := b.settle(job, tt.charge, midMarch)
		if err != nil || captured != tt.wantCaptured {
			t.Errorf("%s: hold %d, charge %d: got %d, %v, want %d", tt.name, tt.hold, tt.charge, captured, err, tt.wantCaptured)
		}
		if got := b.balance(t, account, midMarch); got.MonthlyPence != tt.wantMonth || got.HeldPence != 0 {
			t.Errorf("%s: got monthly %d, held %d, want %d and 0", tt.name, got.MonthlyPence, got.HeldPence, tt.wantMonth)
		}
	}
	b.wantClean(t)
}

func TestMonthsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	if err := b.hold(account, "job_over_month_end", 300, midMarch); err != nil {
		t.Fatal(err)
	}
	// Two resets pass without a movement: one expiry, one grant, and what is held stays.
	mayDay := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	shown := b.balance(t, account, mayDay)
	if shown.MonthlyPence != 800 || shown.MonthlyAvailablePence != 500 || !shown.MonthlyResetAt.Equal(mayDay.AddDate(0, 1, 0)) {
		t.Errorf("in the new month: got %+v", shown)
	}
	if err := b.hold(account, "job_of_may", 500, mayDay); err != nil {
		t.Fatal(err)
	}
	// 100 of the 300 are used; the other 200 belong to March and expire.
	if captured, err := b.settle("job_over_month_end", 100, mayDay); err != nil || captured != 100 {
		t.Fatalf("settle the old hold: got %d, %v", captured, err)
	}
	if captured, err := b.settle("job_of_may", 0, mayDay); err != nil || captured != 0 {
		t.Fatalf("release the new hold: got %d, %v", captured, err)
	}
	if got := b.balance(t, account, mayDay); got.AvailablePence != freePence || got.TotalCreditedPence != 2*freePence {
		t.Errorf("got %d available of %d credited, want %d of %d", got.AvailablePence, got.TotalCreditedPence, freePence,
			2*freePence)
	}
	b.wantClean(t)
}

func TestHoldRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	err := b.hold(account, "job_big", 501, midMarch)
	if !fault.Is(err, fault.InsufficientCredits) {
		t.Errorf("501 of 500 pence: got %v, want %s", err, fault.InsufficientCredits)
	}
	const message = "£5.00 of credit is available and the job needs £5.01 set aside: top up, or make the job smaller"
	if refusal := (*fault.Error)(nil); !errors.As(err, &refusal) || refusal.Message != message {
		t.Errorf("got message %v, want %q", err, message)
	}
	if err := b.hold(account, "job_big", -1, midMarch); err == nil {
		t.Error("a negative hold was accepted")
	}
	if err := b.hold("acct_unknown", "job_big", 1, midMarch); !errors.Is(err, billing.ErrNoAccount) {
		t.Errorf("an unknown account: got %v, want ErrNoAccount", err)
	}
	if err := b.hold(account, "job_once", 1, midMarch); err != nil {
		t.Fatal(err)
	}
	if err := b.hold(account, "job_once", 1, midMarch); !errors.Is(err, billing.ErrAlreadyHeld) {
		t.Errorf("a second hold: got %v, want ErrAlreadyHeld", err)
	}
	if _, err := b.settle("job_unknown", 1, midMarch); !errors.Is(err, billing.ErrNoHold) {
		t.Errorf("settle without a hold: got %v, want ErrNoHold", err)
	}
	if got := b.balance(t, account, midMarch); got.AvailablePence != freePence-1 {
		t.Errorf("after refusals %d pence are available, want %d", got.AvailablePence, freePence-1)
	}
	b.wantClean(t)
}

func TestCreditOnceAKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account, other := b.mustOpen(t, midMarch), b.mustOpen(t, midMarch)
	for i, want := range []bool{true, false, false} {
		if got, err := b.credit(topUp(account, "evt_1", 1000), midMarch); err != nil || got != want {
			t.Errorf("delivery %d of one payment: got %v, %v, want %v", i+1, got, err, want)
		}
	}
	for _, c := range []billing.CreditRequest{topUp(other, "evt_1", 1000), topUp(account, "evt_1", 999)} {
		if _, err := b.credit(c, midMarch); !errors.Is(err, billing.ErrKeyReused) {
			t.Errorf("another credit with the key, %+v: got %v, want ErrKeyReused", c, err)
		}
	}
	taken := topUp(account, "adj_1", -1001)
	taken.Type = billing.EntryAdjustment
	if _, err := b.credit(taken, midMarch); !fault.Is(err, fault.InsufficientCredits) {
		t.Errorf("an adjustment below zero: got %v, want %s", err, fault.InsufficientCredits)
	}
	for name, c := range map[string]billing.CreditRequest{
		"no key": topUp(account, "", 1), "nothing": topUp(account, "k1", 0), "negative": topUp(account, "k2", -1),
		"a charge": {AccountID: account, Type: billing.EntryCharge, Bucket: billing.Wallet, Pence: 1, UniqueKey: "k3"},
		"beyond":   topUp(account, "k4", billing.MaxPence),
	} {
		if _, err := b.credit(c, midMarch); err == nil {
			t.Errorf("%s: %+v was accepted", name, c)
		}
	}
	if got := b.balance(t, account, midMarch); got.WalletPence != 1000 {
		t.Errorf("wallet holds %d pence, want 1000", got.WalletPence)
	}
	b.wantClean(t)
}

// TestDatabaseRefuses writes past the program: the schema itself keeps the ledger whole.
func TestDatabaseRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	if err := b.hold(account, "job_a", 100, midMarch); err != nil {
		t.Fatal(err)
	}
	if _, err := b.settle("job_a", 60, midMarch); err != nil {
		t.Fatal(err)
	}
	entry := func(values string) string {
		return `INSERT INTO ledger_entries (id, account_id, type, bucket, amount_pence, balance_before_pence, balance_after_pence,
			job_id,
			description, created_at) VALUES ('txn_x', '` + account + `', ` + values + `, '', now());`
	}
	posting := func(account string, pence int) string {
		return fmt.Sprintf(`INSERT INTO ledger_postings (entry_id, account, amount_pence) VALUES ('txn_x', '%s', %d);`, account,
			pence)
	}
	bonus := entry(`'bonus', 'wallet', 5, 0, 5, NULL`)
	for _, tt := range []struct {
		name, statements string
		want             pqerror.Code
	}{
		{"an entry without postings", bonus, "23514"},
		{"an entry with one posting", bonus + posting("cash", -5), "23514"},
		{"postings that do not balance", bonus + `INSERT INTO ledger_postings VALUES ('txn_x', 'cash', -5), ('txn_x', 'wallet:x',
			4)`, "23514"},
		{"a posting added to an old entry", `INSERT INTO ledger_postings SELECT id, 'cash', 1 FROM ledger_entries LIMIT 1`,
			"23514"},
		{"a second charge of a run", entry(`'charge', 'monthly', -1, 440, 439, 'job_a'`), "23505"},
		{"a second open hold of a job", `INSERT INTO holds (job_id, run, account_id, wallet_pence, monthly_pence,
			monthly_expires_at, status, created_at)
			SELECT 'job_a', n, account_id, 0, 1, now(), 'open', now() FROM credit_accounts, generate_series(2, 3) n`, "23505"},
		{"a charge that adds", entry(`'charge', 'wallet', 1, 0, 1, 'job_a'`), "23514"},
		{"a memo that changes the balance", entry(`'hold', 'wallet', -1, 1, 0, 'job_b'`), "23514"},
		{"a sum that is wrong", entry(`'bonus', 'wallet', 5, 0, 6, NULL`), "23514"},
		{"a changed entry", `UPDATE ledger_entries SET description = ''`, "23001"},
		{"a deleted entry", `DELETE FROM ledger_entries`, "23001"},
		{"a changed posting", `UPDATE ledger_postings SET amount_pence = 1`, "23001"},
		{"a deleted posting", `DELETE FROM ledger_postings`, "23001"},
		{"a negative balance", `UPDATE credit_accounts SET wallet_pence = -1`, "23514"},
		{"more held than owned", `UPDATE credit_accounts SET wallet_held_pence = 1`, "23514"},
		{"more captured than held", `UPDATE holds SET captured_pence = 101`, "23514"},
		{"a deleted account", `DELETE FROM accounts`, "23503"},
	} {
		err := b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
			_, err := tx.ExecContext(ctx, tt.statements)
			return err
		})
		if refusal := (*pq.Error)(nil); !errors.As(err, &refusal) || refusal.Code != tt.want {
			t.Errorf("%s: got %v, want SQLSTATE %s", tt.name, err, tt.want)
		}
	}
	b.wantClean(t)
}

// TestAuditFinds what only the tables' owner could have done.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, damage string }{
		{"balance_not_sum_of_entries", `UPDATE credit_accounts SET wallet_pence = wallet_pence + 1`},
		{"balance_not_sum_of_postings", `UPDATE credit_accounts SET wallet_pence = wallet_pence + 1`},
		{"held_not_sum_of_open_holds", `UPDATE credit_accounts SET monthly_held_pence = 0`},
		{"credited_not_sum_of_credits", `UPDATE credit_accounts SET total_credited_pence = 1`},
		{"hold_not_settled_by_entries", `UPDATE holds SET status = 'released', settled_at = now() WHERE status = 'open'`},
		{"hold_not_settled_by_entries", `UPDATE holds SET run = 2 WHERE status = 'settled'`},
		{"entry_without_hold", `DELETE FROM holds WHERE status = 'open'`},
		{"balance_jumps", `ALTER TABLE ledger_entries DISABLE TRIGGER USER; UPDATE ledger_entries
			SET balance_before_pence = balance_before_pence + 1, balance_after_pence = balance_after_pence + 1
			WHERE type = 'hold'`},
		{"unbalanced_entry", `ALTER TABLE ledger_postings DISABLE TRIGGER USER; DELETE FROM ledger_postings
			WHERE account = 'revenue'`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			account := b.mustOpen(t, midMarch)
			for _, job := range []string{"job_done", "job_open"} {
				if err := b.hold(account, job, 100, midMarch); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.settle("job_done", 60, midMarch); err != nil {
				t.Fatal(err)
			}
			b.wantClean(t)
			if _, err := pgtest.Owner(t).ExecContext(t.Context(), tt.damage); err != nil {
				t.Fatal(err)
			}
			violations, err := b.ledger.Audit(t.Context(), b.db)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range violations {
				if v.Rule == tt.rule {
					return
				}
			}
			t.Errorf("after %q the audit found only %v", tt.damage, violations)
		})
	}
}
