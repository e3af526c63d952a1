package billing

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// Bounds of a page of entries (doc/contract.md §4, rule 2).
const (
	DefaultPageEntries = 20
	MaxPageEntries     = 100
)

// MaxViolations bounds the answer of an audit: a broken ledger is seen in a few lines.
const MaxViolations = 100

// cursorPrefix marks the format of a cursor, so that cursors of another list or an older format are recognised.
const cursorPrefix = "txn2:"

// Balance is what an account owns, in pence (doc/contract.md §2.8). Available is what is neither spent nor held.
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
	Seq                int64     `db:"seq"` // order of writing within the account; not for users
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
		MonthlyPence: a.MonthlyPence, MonthlyHeldPence: a.MonthlyHeldPence,
		MonthlyAvailablePence: a.MonthlyPence - a.MonthlyHeldPence,
		MonthlyResetAt:        a.MonthlyResetAt.UTC(),
		TotalCreditedPence:    a.TotalCreditedPence,
		HeldPence:             a.WalletHeldPence + a.MonthlyHeldPence,
	}
	b.AvailablePence = b.WalletAvailablePence + b.MonthlyAvailablePence
	b.AvailableDisplay = Display(b.AvailablePence)
	return b
}

// place is one of the list, which is by time and then by order of writing, the newest first.
type place struct {
	at  time.Time
	seq int64
}

// top lies before every entry.
var top = place{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), 1<<63 - 1}

// window reads the filter's place and size: entries behind the first result, at most the second.
func (f Filter) window() (behind place, limit int, err error) {
	limit = f.Limit
	if limit == 0 {
		limit = DefaultPageEntries
	}
	if limit < 1 || limit > MaxPageEntries {
		return place{}, 0, fault.New(fault.Validation, "limit: must be between 1 and %d", MaxPageEntries)
	}
	if f.Type != "" && !slices.Contains(EntryTypes, f.Type) {
		return place{}, 0, fault.New(fault.Validation, "type: must be one of %s", joined(EntryTypes))
	}
	if !f.From.IsZero() && !f.To.IsZero() && f.From.After(f.To) {
		return place{}, 0, fault.New(fault.Validation, "from: must not lie after to")
	}
	behind, err = decodeCursor(f.Cursor)
	return behind, limit, err
}

// pageOf trims entries, of which one more than the limit was asked for, to a page.
func pageOf(entries []Entry, limit int) Page {
	if len(entries) <= limit {
		return Page{Entries: entries}
	}
	entries = entries[:limit]
	last := entries[limit-1]
	next := encodeCursor(place{last.CreatedAt, last.Seq})
	return Page{Entries: entries, NextCursor: &next}
}

func encodeCursor(p place) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s%d:%d", cursorPrefix, p.at.UnixMicro(), p.seq))
}

// decodeCursor is the place that a page lies behind; an empty cursor is the top.
func decodeCursor(cursor string) (place, error) {
	if cursor == "" {
		return top, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		numbers, ok := strings.CutPrefix(string(text), cursorPrefix)
		micros, seq, two := strings.Cut(numbers, ":")
		at, atErr := strconv.ParseInt(micros, 10, 64)
		order, orderErr := strconv.ParseInt(seq, 10, 64)
		if ok && two && atErr == nil && orderErr == nil && order > 0 && at <= top.at.UnixMicro() && at >= 0 {
			return place{time.UnixMicro(at).UTC(), order}, nil
		}
	}
	return place{}, fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
}

func joined[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = strconv.Quote(string(value))
	}
	return strings.Join(quoted, ", ")
}
