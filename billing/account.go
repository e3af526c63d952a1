package billing

import (
	"fmt"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// EntryType says what moved an account's money.
type EntryType string

// The entry types of doc/contract.md §2.8. Hold and hold_release are memos: they change what is available, not the balance.
const (
	EntryTopUp         EntryType = "top_up"
	EntryBonus         EntryType = "bonus"
	EntryMonthlyGrant  EntryType = "monthly_grant"
	EntryMonthlyExpiry EntryType = "monthly_expiry"
	EntryHold          EntryType = "hold"
	EntryHoldRelease   EntryType = "hold_release"
	EntryCharge        EntryType = "charge"
	EntryRefund        EntryType = "refund"
	EntryAdjustment    EntryType = "adjustment"
)

// EntryTypes lists every entry type.
var EntryTypes = []EntryType{EntryTopUp, EntryBonus, EntryMonthlyGrant, EntryMonthlyExpiry, EntryHold, EntryHoldRelease,
	EntryCharge, EntryRefund, EntryAdjustment}

// Bucket is one of the two purses of an account.
type Bucket string

// Monthly credit is spent first and expires with the month; the wallet keeps.
const (
	Wallet  Bucket = "wallet"
	Monthly Bucket = "monthly"
)

// platformAccount is the other side of an entry that moves money between an account and the platform.
var platformAccount = map[EntryType]string{
	EntryTopUp:         "cash",
	EntryBonus:         "promotion",
	EntryMonthlyGrant:  "promotion",
	EntryMonthlyExpiry: "promotion",
	EntryCharge:        "revenue",
	EntryRefund:        "revenue",
	EntryAdjustment:    "adjustment",
}

// AccountRow is what an account owns, with the name of its plan.
type AccountRow struct {
	ID                 string    `db:"account_id"`
	Plan               string    `db:"plan"`
	WalletPence        int64     `db:"wallet_pence"`
	WalletHeldPence    int64     `db:"wallet_held_pence"`
	MonthlyPence       int64     `db:"monthly_pence"`
	MonthlyHeldPence   int64     `db:"monthly_held_pence"`
	TotalCreditedPence int64     `db:"total_credited_pence"`
	MonthlyResetAt     time.Time `db:"monthly_reset_at"`
	AllowanceWithheld  bool      `db:"allowance_withheld"` // the plan's allowance waits for ReleaseAllowance
	Closed             bool      `db:"closed"`             // for good: nothing is set aside any more
}

// HoldRow is what one run of a job has set aside.
type HoldRow struct {
	JobID            string    `db:"job_id"`
	Run              int       `db:"run"`
	AccountID        string    `db:"account_id"`
	WalletPence      int64     `db:"wallet_pence"`
	MonthlyPence     int64     `db:"monthly_pence"`
	MonthlyExpiresAt time.Time `db:"monthly_expires_at"`
	Status           string    `db:"status"` // HoldOpen, HoldSettled or HoldReleased
	CapturedPence    int64     `db:"captured_pence"`
}

// The states of a hold.
const (
	HoldOpen     = "open"
	HoldSettled  = "settled"  // charged, in part or in full
	HoldReleased = "released" // given back in full
)

// EntryRow is a row of the ledger that is about to be written.
type EntryRow struct {
	ID                       string // filled in when the entry is stored
	Type                     EntryType
	Bucket                   Bucket
	AmountPence              int64
	BeforePence, AfterPence  int64
	JobID, Text, ExternalKey string // JobID and ExternalKey may be empty
	Run                      int    // of the job; 0 where there is none
}

// Posting is one side of an entry in a ledger account.
type Posting struct {
	Account     string
	AmountPence int64
}

// Postings are the two sides of an entry. What is held lies in an account of its own, so a memo moves money between the two
// accounts of a bucket and a charge takes it from the held one.
func (e EntryRow) Postings(accountID string) [2]Posting {
	available := string(e.Bucket) + ":" + accountID
	held := string(e.Bucket) + "_held:" + accountID
	switch e.Type {
	case EntryHold, EntryHoldRelease:
		return [2]Posting{{available, e.AmountPence}, {held, -e.AmountPence}}
	case EntryCharge:
		return [2]Posting{{held, e.AmountPence}, {platformAccount[EntryCharge], -e.AmountPence}}
	default:
		return [2]Posting{{available, e.AmountPence}, {platformAccount[e.Type], -e.AmountPence}}
	}
}

// draft is an account under change at one moment: its new state and the entries that lead there. It does no I/O; what it
// decides is stored by the ledger in the transaction that holds the account's lock.
type draft struct {
	AccountRow
	at      time.Time
	entries []EntryRow
}

// purse is a bucket's balance and the part of it that is held.
func (d *draft) purse(b Bucket) (balance, held *int64) {
	if b == Monthly {
		return &d.MonthlyPence, &d.MonthlyHeldPence
	}
	return &d.WalletPence, &d.WalletHeldPence
}

func (d *draft) available(b Bucket) int64 {
	balance, held := d.purse(b)
	return *balance - *held
}

// move enters a signed amount. Amounts of zero leave no entry.
func (d *draft) move(e EntryRow) {
	if e.AmountPence == 0 {
		return
	}
	balance, held := d.purse(e.Bucket)
	e.BeforePence = *balance
	switch e.Type {
	case EntryHold, EntryHoldRelease:
		*held -= e.AmountPence
	case EntryCharge:
		*balance += e.AmountPence
		*held += e.AmountPence
	default:
		*balance += e.AmountPence
	}
	if e.Type == EntryTopUp || e.Type == EntryBonus || e.Type == EntryMonthlyGrant {
		d.TotalCreditedPence += e.AmountPence
	}
	e.AfterPence = *balance
	d.entries = append(d.entries, e)
}

// nextReset is the first instant of the calendar month (UTC) after now.
func nextReset(now time.Time) time.Time {
	year, month, _ := now.UTC().Date()
	return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
}

// grant gives the month's allowance, which lasts until the next reset. key, unless "", is the unique key of its entry.
func (d *draft) grant(plan Plan, key string) {
	d.MonthlyResetAt = nextReset(d.at)
	if d.AllowanceWithheld {
		return
	}
	d.move(EntryRow{Type: EntryMonthlyGrant, Bucket: Monthly, AmountPence: plan.MonthlyPence, Text: "Monthly credit",
		ExternalKey: key})
}

// release ends the withholding of the allowance with the first one. It reports false when nothing was withheld.
func (d *draft) release(plan Plan) bool {
	if !d.AllowanceWithheld {
		return false
	}
	d.AllowanceWithheld = false
	d.grant(plan, releaseKeyPrefix+d.ID)
	return true
}

// bringUpToDate begins a new month when the old one has ended: what is neither spent nor held of it expires, and the
// allowance is granted once, however many months went by without a movement.
func (d *draft) bringUpToDate(plan Plan) {
	if d.at.Before(d.MonthlyResetAt) {
		return
	}
	d.move(EntryRow{Type: EntryMonthlyExpiry, Bucket: Monthly, AmountPence: -d.available(Monthly),
		Text: "Unspent monthly credit expired"})
	d.grant(plan, "")
}

// hold sets pence aside for a run of a job, monthly credit first. Errors: fault.InsufficientCredits, fault.Unauthorized for a
// closed account, and nothing has changed.
func (d *draft) hold(jobID string, run int, pence int64) (HoldRow, error) {
	if d.Closed {
		return HoldRow{}, fault.New(fault.Unauthorized, "the account is closed")
	}
	available := d.available(Monthly) + d.available(Wallet)
	if pence > available {
		next := "top up, or make the job smaller"
		if d.AllowanceWithheld {
			next = "confirm the account's address by the link in its mail, which brings the free credit to an address that has " +
				"not had it, or top up"
		}
		return HoldRow{}, fault.New(fault.InsufficientCredits,
			"%s of credit is available and the job needs %s set aside: %s", Display(available), Display(pence), next)
	}
	fromMonthly := min(pence, d.available(Monthly))
	h := HoldRow{
		JobID: jobID, Run: run, AccountID: d.ID, Status: HoldOpen,
		MonthlyPence: fromMonthly, WalletPence: pence - fromMonthly, MonthlyExpiresAt: d.MonthlyResetAt,
	}
	for _, part := range h.parts() {
		d.move(h.entry(EntryHold, part.bucket, -part.pence, "Set aside for "))
	}
	return h, nil
}

// settle charges an open hold, at most in full and monthly credit first, and gives the rest back. What comes back of a month
// that has ended expires at once: otherwise holding and cancelling around a month's end would pile up allowances.
func (d *draft) settle(h HoldRow, chargePence int64) HoldRow {
	h.CapturedPence = min(chargePence, h.MonthlyPence+h.WalletPence)
	h.Status = HoldSettled
	if h.CapturedPence == 0 {
		h.Status = HoldReleased
	}
	uncharged := h.CapturedPence
	for _, part := range h.parts() {
		charge := min(uncharged, part.pence)
		uncharged -= charge
		rest := part.pence - charge
		d.move(h.entry(EntryCharge, part.bucket, -charge, "Charge for "))
		d.move(h.entry(EntryHoldRelease, part.bucket, rest, "Not used by "))
		if part.bucket == Monthly && !d.at.Before(h.MonthlyExpiresAt) {
			expiry := h.entry(EntryMonthlyExpiry, Monthly, -rest, "")
			expiry.Text = "Monthly credit of an earlier month expired"
			d.move(expiry)
		}
	}
	return h
}

// entry is a movement for the hold's run, which the text goes on to name.
func (h HoldRow) entry(kind EntryType, bucket Bucket, amountPence int64, text string) EntryRow {
	of := "the job"
	if h.Run > 1 {
		of = fmt.Sprintf("run %d of the job", h.Run)
	}
	return EntryRow{Type: kind, Bucket: bucket, AmountPence: amountPence, JobID: h.JobID, Run: h.Run, Text: text + of}
}

// holdPart is what a hold takes from one bucket.
type holdPart struct {
	bucket Bucket
	pence  int64
}

// parts lists what a hold takes, in the order in which it is spent.
func (h HoldRow) parts() [2]holdPart {
	return [2]holdPart{{Monthly, h.MonthlyPence}, {Wallet, h.WalletPence}}
}

// close gives up what is available, for good. What is held stays held until it is settled.
func (d *draft) close() {
	d.move(EntryRow{Type: EntryMonthlyExpiry, Bucket: Monthly, AmountPence: -d.available(Monthly),
		Text: "Monthly credit given up: the account was closed"})
	d.move(EntryRow{Type: EntryAdjustment, Bucket: Wallet, AmountPence: -d.available(Wallet),
		Text: "Credit given up: the account was closed"})
	d.AllowanceWithheld, d.Closed = true, true
}

// credit enters an amount that came from outside. Errors: fault.InsufficientCredits when an adjustment takes more than is
// available; a plain error when the balance would pass MaxPence.
func (d *draft) credit(c CreditRequest) error {
	balance, _ := d.purse(c.Bucket)
	switch {
	case c.Pence < 0 && -c.Pence > d.available(c.Bucket):
		return fault.New(fault.InsufficientCredits, "%s of %s credit is available and the adjustment takes %s",
			Display(d.available(c.Bucket)), c.Bucket, Display(-c.Pence))
	case c.Pence > MaxPence-*balance:
		return fmt.Errorf("credit %d pence to the %s of %s: %w", c.Pence, c.Bucket, d.ID, errOverflow)
	}
	d.move(EntryRow{Type: c.Type, Bucket: c.Bucket, AmountPence: c.Pence, JobID: c.JobID, Text: c.Description,
		ExternalKey: c.UniqueKey})
	return nil
}
