package billing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// entryIDPrefix begins the id of a ledger entry.
	entryIDPrefix = "txn_"
	// releaseKeyPrefix begins the unique key of the allowance that had been withheld: the schema too lets an account have one of
	// them.
	releaseKeyPrefix = "first allowance of "
)

// Errors that mean a caller's mistake rather than a user's.
var (
	ErrNoAccount   = errors.New("the account has no credit account")
	ErrNoHold      = errors.New("the run of the job has no hold")
	ErrAlreadyHeld = errors.New("the job already has a hold for this run, or an open one for another")
	ErrKeyReused   = errors.New("the unique key belongs to another credit")
)

// Ledger moves the money of accounts. Its movements run in the caller's transaction, so that a job and its hold, or a result
// and its charge, are stored together or not at all; after an error the caller rolls back.
//
// Each movement first locks the account's row in credit_accounts until the transaction ends. A transaction that moves money
// of several accounts therefore takes their locks at once with LockAccounts, or two of them may wait for each other. A Ledger
// may be used concurrently.
type Ledger struct {
	book  *Book
	newID func(prefix string) string
}

// Books is where a ledger's rows lie, within one transaction: what is written is stored with all else of it or not at all.
type Books interface {
	// LockAccount reads an account and keeps every other movement of its money away until the transaction ends. Errors:
	// ErrNoAccount.
	LockAccount(ctx context.Context, accountID string) (AccountRow, error)
	// InsertAccount reports false when the account is already there.
	InsertAccount(ctx context.Context, a AccountRow) (bool, error)
	SaveAccount(ctx context.Context, a AccountRow) error
	// InsertHold reports false when the run already has a hold, or another run of the job an open one.
	InsertHold(ctx context.Context, h HoldRow, now time.Time) (bool, error)
	// HoldOf reads the hold of a run of a job as it is now, committed by whomever. Errors: ErrNoHold.
	HoldOf(ctx context.Context, jobID string, run int) (HoldRow, error)
	EndHold(ctx context.Context, h HoldRow, now time.Time) error
	// Append adds entries to an account, in their order, with their postings.
	Append(ctx context.Context, accountID string, entries []EntryRow, at time.Time) error
}

// NewLedger makes a ledger that grants the book's monthly allowances. newID makes the ids of entries (id.New).
func NewLedger(book *Book, newID func(prefix string) string) *Ledger {
	return &Ledger{book: book, newID: newID}
}

// CreditRequest is money that reaches an account from outside the job fabric.
type CreditRequest struct {
	AccountID string
	Type      EntryType // EntryTopUp, EntryBonus, EntryRefund or EntryAdjustment
	Bucket    Bucket
	Pence     int64  // above 0; an adjustment may be negative
	JobID     string // of a refund; else ""
	// UniqueKey names the event behind the credit, such as a payment's id; at most once is it credited. It is required.
	UniqueKey   string
	Description string // for the account's owner
}

// LockAccounts takes the locks of several accounts in an order in which transactions cannot block each other for ever.
func (l *Ledger) LockAccounts(ctx context.Context, tx *sqlx.Tx, accountIDs ...string) error {
	return lockAccounts(ctx, tx, accountIDs)
}

// OpenAccount gives a new account its credit account and the first month's allowance of its plan. The accounts row exists
// already. Called again for the same account it changes nothing.
func (l *Ledger) OpenAccount(ctx context.Context, tx *sqlx.Tx, accountID, plan string, now time.Time) error {
	return l.OpenAccountIn(ctx, InPostgres(tx), accountID, plan, now)
}

// OpenAccountIn is OpenAccount in books of any kind.
func (l *Ledger) OpenAccountIn(ctx context.Context, books Books, accountID, plan string, now time.Time) error {
	granted, err := l.book.Plan(plan)
	if err != nil {
		return fmt.Errorf("open credit account of %s: %w", accountID, err)
	}
	d := draft{AccountRow: AccountRow{ID: accountID, Plan: plan, MonthlyResetAt: nextReset(now)}, at: now}
	created, err := books.InsertAccount(ctx, d.AccountRow)
	if err != nil || !created {
		return err
	}
	d.grant(granted, "")
	return l.save(ctx, books, &d)
}

// OpenWithheld is OpenAccount without the allowance, which is given to the account, this month and every other, from
// ReleaseAllowance on.
func (l *Ledger) OpenWithheld(ctx context.Context, tx *sqlx.Tx, accountID, plan string, now time.Time) error {
	if _, err := l.book.Plan(plan); err != nil {
		return fmt.Errorf("open credit account of %s: %w", accountID, err)
	}
	_, err := InPostgres(tx).InsertAccount(ctx, AccountRow{ID: accountID, Plan: plan, MonthlyResetAt: nextReset(now),
		AllowanceWithheld: true})
	return err
}

// ReleaseAllowance gives an account that was opened with OpenWithheld its allowance. Only the first call does anything; every later
// one, concurrent ones too, reports false. Errors: ErrNoAccount.
func (l *Ledger) ReleaseAllowance(ctx context.Context, tx *sqlx.Tx, accountID string, now time.Time) (released bool, err error) {
	books := InPostgres(tx)
	d, err := l.open(ctx, books, accountID, now)
	if err != nil {
		return false, err
	}
	plan, err := l.book.Plan(d.Plan)
	if err != nil {
		return false, fmt.Errorf("account %s: %w", accountID, err)
	}
	if !d.release(plan) {
		return false, nil
	}
	if len(d.entries) == 0 { // a plan without an allowance
		return true, books.SaveAccount(ctx, d.AccountRow)
	}
	return true, l.save(ctx, books, d)
}

// WithholdAllowance ends an account's allowance from the next month on, as if it had been opened with OpenWithheld.
func (l *Ledger) WithholdAllowance(ctx context.Context, tx *sqlx.Tx, accountID string, now time.Time) error {
	books := InPostgres(tx)
	d, err := l.open(ctx, books, accountID, now)
	if err != nil {
		return err
	}
	d.AllowanceWithheld = true
	if len(d.entries) == 0 {
		return books.SaveAccount(ctx, d.AccountRow)
	}
	return l.save(ctx, books, d)
}

// Closing is what an account had when it was closed.
type Closing struct {
	GivenUpPence int64 // of both buckets
	HadAllowance bool  // the free credit was not withheld
}

// Close ends an account for good: its credit is given up, it gets no allowance and sets nothing aside any more. confirmedPence is
// what its owner agrees to give up. What reaches it later, such as a payment that was on its way, is booked as ever.
//
// Errors: fault.CreditNotConfirmed when another amount is available; fault.Unauthorized for one that is closed; ErrNoAccount.
func (l *Ledger) Close(ctx context.Context, tx *sqlx.Tx, accountID string, confirmedPence int64, now time.Time) (Closing, error) {
	books := InPostgres(tx)
	d, err := l.open(ctx, books, accountID, now)
	if err != nil {
		return Closing{}, err
	}
	closing := Closing{GivenUpPence: d.available(Monthly) + d.available(Wallet), HadAllowance: !d.AllowanceWithheld}
	switch {
	case d.Closed:
		return Closing{}, fault.New(fault.Unauthorized, "the account is closed")
	case closing.GivenUpPence != confirmedPence:
		return Closing{}, fault.New(fault.CreditNotConfirmed, "forfeitCreditPence: the account has %s of credit, %s of it in the "+
			"wallet, which is lost when it is closed: "+
			"use it, ask whoever runs this deployment for a refund of what you have paid, or send %d to give it up",
			Display(closing.GivenUpPence), Display(d.available(Wallet)), closing.GivenUpPence)
	}
	d.close()
	if len(d.entries) == 0 {
		return closing, books.SaveAccount(ctx, d.AccountRow)
	}
	return closing, l.save(ctx, books, d)
}

// Hold sets pence of an account's credit aside for a run of a job, monthly credit before the wallet, after beginning a new month
// if one is due. Runs count from 1. It is called once a run, and not before the run before has been settled: else it is
// ErrAlreadyHeld. Errors: fault.InsufficientCredits, ErrNoAccount.
func (l *Ledger) Hold(ctx context.Context, tx *sqlx.Tx, accountID, jobID string, run int, pence int64, now time.Time) error {
	return l.HoldIn(ctx, InPostgres(tx), accountID, jobID, run, pence, now)
}

// HoldIn is Hold in books of any kind.
func (l *Ledger) HoldIn(ctx context.Context, books Books, accountID, jobID string, run int, pence int64, now time.Time) error {
	if pence < 0 || pence > MaxPence {
		return fmt.Errorf("hold %d pence for %s: between 0 and %d", pence, jobID, MaxPence)
	}
	d, err := l.open(ctx, books, accountID, now)
	if err != nil {
		return err
	}
	h, err := d.hold(jobID, run, pence)
	if err != nil {
		return err
	}
	inserted, err := books.InsertHold(ctx, h, now)
	if err != nil {
		return err
	}
	if !inserted {
		return fmt.Errorf("hold for run %d of %s: %w", run, jobID, ErrAlreadyHeld)
	}
	return l.save(ctx, books, d)
}

// Settle ends the hold of a run of a job: it charges chargePence, at most the hold and monthly credit first, and gives the rest
// back. It returns what was charged. Only the first call for a run does anything; every later one, concurrent ones too, returns
// the first one's answer whatever it asks for. A charge of 0 gives the whole hold back. Errors: ErrNoHold.
func (l *Ledger) Settle(
	ctx context.Context, tx *sqlx.Tx, jobID string, run int, chargePence int64, now time.Time,
) (capturedPence int64, err error) {
	return l.SettleIn(ctx, InPostgres(tx), jobID, run, chargePence, now)
}

// SettleIn is Settle in books of any kind.
func (l *Ledger) SettleIn(
	ctx context.Context, books Books, jobID string, run int, chargePence int64, now time.Time,
) (capturedPence int64, err error) {
	if chargePence < 0 {
		return 0, fmt.Errorf("settle %s with %d pence: a charge is not negative", jobID, chargePence)
	}
	h, err := books.HoldOf(ctx, jobID, run)
	if err != nil {
		return 0, fmt.Errorf("settle: %w", err)
	}
	d, err := lock(ctx, books, h.AccountID, now)
	if err != nil {
		return 0, err
	}
	// The hold is read again: until the lock was ours another transaction may have settled it.
	if h, err = books.HoldOf(ctx, jobID, run); err != nil {
		return 0, err
	}
	if h.Status != HoldOpen {
		return h.CapturedPence, nil
	}
	h = d.settle(h, chargePence)
	if err := books.EndHold(ctx, h, now); err != nil {
		return 0, err
	}
	return h.CapturedPence, l.save(ctx, books, d)
}

// Credit enters a top-up, bonus, refund or adjustment. A repeat with the same unique key and content changes nothing and
// reports false. Errors: ErrKeyReused when the key belongs to another credit, fault.InsufficientCredits when a negative
// adjustment takes more than is available, ErrNoAccount.
func (l *Ledger) Credit(ctx context.Context, tx *sqlx.Tx, c CreditRequest, now time.Time) (credited bool, err error) {
	if err := c.validate(); err != nil {
		return false, err
	}
	books := InPostgres(tx)
	d, err := l.open(ctx, books, c.AccountID, now)
	if err != nil {
		return false, err
	}
	earlier, err := selectCredit(ctx, tx, c.UniqueKey)
	switch {
	case err == nil && earlier.AccountID == c.AccountID && earlier.Type == c.Type && earlier.Bucket == c.Bucket &&
		earlier.Pence == c.Pence:
		return false, nil
	case err == nil:
		return false, fmt.Errorf("credit %s with key %q: %w", c.AccountID, c.UniqueKey, ErrKeyReused)
	case !errors.Is(err, sql.ErrNoRows):
		return false, err
	}
	if err := d.credit(c); err != nil {
		return false, err
	}
	return true, l.save(ctx, books, d)
}

func (c CreditRequest) validate() error {
	switch c.Type {
	case EntryTopUp, EntryBonus, EntryRefund:
		if c.Pence <= 0 {
			return fmt.Errorf("credit: a %s of %d pence must be above 0", c.Type, c.Pence)
		}
	case EntryAdjustment:
		if c.Pence == 0 {
			return errors.New("credit: an adjustment of 0 pence adjusts nothing")
		}
	default:
		return fmt.Errorf("credit: %q is not entered from outside", c.Type)
	}
	switch {
	case c.Pence > MaxPence || c.Pence < -MaxPence:
		return fmt.Errorf("credit: %d pence: %w", c.Pence, errOverflow)
	case c.Bucket != Wallet && c.Bucket != Monthly:
		return fmt.Errorf("credit: %q is neither wallet nor monthly", c.Bucket)
	case c.UniqueKey == "":
		return errors.New("credit: without a unique key a repeat would be credited twice")
	}
	return nil
}

// Balance is what an account owns at now. A month that has ended counts as ended, although its expiry and the new grant are
// entered only with the next hold or credit. Errors: fault.NotFound.
func (l *Ledger) Balance(ctx context.Context, db sqlx.QueryerContext, accountID string, now time.Time) (Balance, error) {
	a, err := selectAccount(ctx, db, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return Balance{}, fault.New(fault.NotFound, "account not found")
	}
	if err != nil {
		return Balance{}, err
	}
	plan, err := l.book.Plan(a.Plan)
	if err != nil {
		return Balance{}, fmt.Errorf("balance of %s: %w", accountID, err)
	}
	d := draft{AccountRow: a, at: now}
	d.bringUpToDate(plan)
	return balanceOf(d.AccountRow), nil
}

// Transactions lists the entries of an account by their time, the newest first. An unknown account has none. Errors:
// fault.InvalidCursor, fault.Validation when the filter is out of range.
func (l *Ledger) Transactions(ctx context.Context, db sqlx.QueryerContext, accountID string, f Filter) (Page, error) {
	behind, limit, err := f.window()
	if err != nil {
		return Page{}, err
	}
	entries, err := selectEntries(ctx, db, accountID, f, behind, limit+1)
	if err != nil {
		return Page{}, err
	}
	return pageOf(entries, limit), nil
}

// Audit looks for contradictions between balances, holds, entries and postings, and returns at most MaxViolations of them;
// none in health. It reads the whole ledger: it is for operators and tests. All is read from one snapshot, so it may run
// beside movements.
func (l *Ledger) Audit(ctx context.Context, db sqlx.QueryerContext) ([]Violation, error) {
	return selectViolations(ctx, db, MaxViolations)
}

// open locks an account and begins a new month if one is due.
func (l *Ledger) open(ctx context.Context, books Books, accountID string, now time.Time) (*draft, error) {
	d, err := lock(ctx, books, accountID, now)
	if err != nil {
		return nil, err
	}
	plan, err := l.book.Plan(d.Plan)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", accountID, err)
	}
	d.bringUpToDate(plan)
	return d, nil
}

// lock locks an account as it is. Settling does no more: it must not fail on an account whose plan has left the book.
func lock(ctx context.Context, books Books, accountID string, now time.Time) (*draft, error) {
	a, err := books.LockAccount(ctx, accountID)
	if err != nil {
		return nil, err
	}
	return &draft{AccountRow: a, at: now}, nil
}

// save stores a draft: the account's new state, the entries and their postings.
func (l *Ledger) save(ctx context.Context, books Books, d *draft) error {
	if len(d.entries) == 0 {
		return nil
	}
	for i := range d.entries {
		d.entries[i].ID = l.newID(entryIDPrefix)
	}
	if err := books.Append(ctx, d.ID, d.entries, d.at); err != nil {
		return err
	}
	return books.SaveAccount(ctx, d.AccountRow)
}
