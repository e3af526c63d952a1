// Package auditlog keeps what happened to the doors and the money of accounts, and who did it: sign-ups, passwords, keys, payments,
// what owners had deleted, and everything that an operator does. A line is written in the transaction of what it tells, so that
// neither is there without the other. It holds no requests and no work of jobs: the log of a process and the ledger have those.
package auditlog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

// Event is what happened.
type Event string

// The events. Their names are kept for ever: operators search for them.
const (
	SignedUp         Event = "account.signed-up"
	AddressProved    Event = "account.address-proved"
	AddressMoved     Event = "account.address-moved"
	IdentityBound    Event = "account.identity-bound"
	SignedIn         Event = "session.started"
	SessionsEnded    Event = "session.all-ended"
	PasswordChanged  Event = "password.changed"
	PasswordReset    Event = "password.reset"
	KeyCreated       Event = "key.created"
	KeyRevoked       Event = "key.revoked"
	PaymentCredited  Event = "credit.paid"
	PaymentReclaimed Event = "credit.reclaimed"
	PaymentRefused   Event = "credit.refused"
	CreditGiven      Event = "credit.given"
	CreditTaken      Event = "credit.taken"
	AccountLocked    Event = "account.locked"
	AccountUnlocked  Event = "account.unlocked"
	AccountClosed    Event = "account.closed"
	JobFilesDeleted  Event = "job.files-deleted"
	WorkersEnrolled  Event = "fleet.enrolled"
	EnrolmentRevoked Event = "fleet.enrolment-revoked"
	WorkerRevoked    Event = "fleet.worker-revoked"
)

// Actors that are no person of the operator's.
const (
	Owner    = "owner"    // of the account, or whoever holds its credentials
	Provider = "payments" // the payment provider
)

// Operator is the actor of a command on the operator's machine; user is who ran it there.
func Operator(user string) string { return "operator " + user }

// Line is one line of the log.
type Line struct {
	ID        int64     `db:"id" json:"id"`
	At        time.Time `db:"at" json:"at"`
	AccountID string    `db:"account_id" json:"accountId"`
	Actor     string    `db:"actor" json:"actor"`
	Event     Event     `db:"event" json:"event"`
	Detail    string    `db:"detail" json:"detail,omitempty"`
	Address   string    `db:"address" json:"address,omitempty"` // that the caller came from
}

// maxDetailBytes bounds a line: it names what it is about, and does not keep it.
const maxDetailBytes = 500

// Write adds a line. It belongs into the transaction of what it tells. Details hold no secret.
func Write(ctx context.Context, tx *sqlx.Tx, line Line) error {
	line.Detail = plain(line.Detail[:min(len(line.Detail), maxDetailBytes)])
	line.Address = plain(line.Address)
	if err := insert(ctx, tx, line); err != nil {
		return fmt.Errorf("write %s into the audit log: %w", line.Event, err)
	}
	return nil
}

// plain is text as Postgres takes it: a detail may quote what somebody sent, and may have been cut within a character.
func plain(text string) string { return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "") }

// Filter says which lines are wanted.
type Filter struct {
	AccountID string    // "" for all
	Event     string    // "" for all; "key." for all that begin so
	Since     time.Time // zero for all
	Limit     int
}

// Read returns the newest lines, oldest first.
func Read(ctx context.Context, db sqlx.QueryerContext, f Filter) ([]Line, error) {
	lines, err := selectLines(ctx, db, f)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return lines, nil
}
