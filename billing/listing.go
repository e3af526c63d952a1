package billing

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// Bounds of a page of entries (decisions.md, "Ground rules").
const (
	DefaultPageEntries = 20
	MaxPageEntries     = 100
)

// MaxViolations bounds the answer of an audit: a broken ledger is seen in a few lines.
const MaxViolations = 100

// cursorPrefix marks the format of a cursor, so that cursors of another list or an older format are recognised.
const cursorPrefix = "txn1:"

// Balance is what an account owns, in pence (specification §2.8). Available is what is neither spent nor held.
type Balance struct {
	WalletPence, WalletHeldPence, WalletAvailablePence    int64
	MonthlyPence, MonthlyHeldPence, MonthlyAvailablePence int64
	MonthlyResetAt                                        time.Time // UTC
	TotalCreditedPence                                    int64     // all that was ever topped up, given or granted
	HeldPence, AvailablePence                             int64     // of both buckets
	AvailableDisplay                                      string    // "£5.00"
}

// Status is how far an entry has come. A hold is pending while its job runs; then it is settled, or voided when it was given
// back in full. Every other entry is settled.
type Status string

// The states of an entry.
const (
	StatusPending Status = "pending"
	StatusSettled Status = "settled"
	StatusVoided  Status = "voided"
)

// Entry is one line of an account's ledger. For a memo (hold, hold_release) both balances are equal.
type Entry struct {
	Seq                int64     `db:"seq"` // order within the account; not for users
	ID                 string    `db:"id"`
	Type               EntryType `db:"type"`
	Bucket             Bucket    `db:"bucket"`
	Status             Status    `db:"status"`
	AmountPence        int64     `db:"amount_pence"` // signed
	BalanceBeforePence int64     `db:"balance_before_pence"`
	BalanceAfterPence  int64     `db:"balance_after_pence"`
	JobID              *string   `db:"job_id"`
	Description        string    `db:"description"`
	CreatedAt          time.Time `db:"created_at"` // UTC
}

// Filter chooses entries. Zero values choose all.
type Filter struct {
	Limit    int    // 1 to MaxPageEntries; 0 is DefaultPageEntries
	Cursor   string // Page.NextCursor of the page before
	Type     EntryType
	JobID    string
	From, To time.Time // From ≤ created < To
}

// Page is a part of a list. NextCursor is nil on the last page.
type Page struct {
	Entries    []Entry
	NextCursor *string
}

// Violation is a contradiction within the ledger.
type Violation struct {
	Rule    string `db:"rule"`    // e.g. "balance_not_sum_of_entries"
	Subject string `db:"subject"` // the account, job or entry
	Detail  string `db:"detail"`
}

func (v Violation) String() string { return v.Rule + " " + v.Subject + ": " + v.Detail }

func balanceOf(a AccountRow) Balance {
	b := Balance{
		WalletPence: a.WalletPence, WalletHeldPence: a.WalletHeldPence, WalletAvailablePence: a.WalletPence - a.WalletHeldPence,
		MonthlyPence: a.MonthlyPence, MonthlyHeldPence: a.MonthlyHeldPence, MonthlyAvailablePence: a.MonthlyPence - a.MonthlyHeldPence,
		MonthlyResetAt:     a.MonthlyResetAt.UTC(),
		TotalCreditedPence: a.TotalCreditedPence,
		HeldPence:          a.WalletHeldPence + a.MonthlyHeldPence,
	}
	b.AvailablePence = b.WalletAvailablePence + b.MonthlyAvailablePence
	b.AvailableDisplay = Display(b.AvailablePence)
	return b
}

// window reads the filter's place and size: entries with a sequence number below the first result, at most the second.
func (f Filter) window() (below int64, limit int, err error) {
	limit = f.Limit
	if limit == 0 {
		limit = DefaultPageEntries
	}
	if limit < 1 || limit > MaxPageEntries {
		return 0, 0, fault.New(fault.Validation, "limit: must be between 1 and %d", MaxPageEntries)
	}
	if f.Type != "" && !slices.Contains(EntryTypes, f.Type) {
		return 0, 0, fault.New(fault.Validation, "type: must be one of %s", joined(EntryTypes))
	}
	if !f.From.IsZero() && !f.To.IsZero() && f.From.After(f.To) {
		return 0, 0, fault.New(fault.Validation, "from: must not lie after to")
	}
	below, err = decodeCursor(f.Cursor)
	return below, limit, err
}

// pageOf trims entries, of which one more than the limit was asked for, to a page.
func pageOf(entries []Entry, limit int) Page {
	if len(entries) <= limit {
		return Page{Entries: entries}
	}
	entries = entries[:limit]
	next := encodeCursor(entries[limit-1].Seq)
	return Page{Entries: entries, NextCursor: &next}
}

func encodeCursor(seq int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + strconv.FormatInt(seq, 10)))
}

// decodeCursor is the sequence number that a page lies below; an empty cursor lies below none.
func decodeCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 1<<63 - 1, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		digits, ok := strings.CutPrefix(string(text), cursorPrefix)
		seq, parseErr := strconv.ParseInt(digits, 10, 64)
		if ok && parseErr == nil && seq > 0 {
			return seq, nil
		}
	}
	return 0, fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
}

func joined[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = strconv.Quote(string(value))
	}
	return strings.Join(quoted, ", ")
}
