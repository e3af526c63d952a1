package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/secret"
)

// MaxGiftPence bounds what one command of an operator gives or takes: 10,000 pounds. More is most likely a slip of the pen.
const MaxGiftPence = 10_000_00

// Operator does with accounts what nobody may do from outside, and writes each of it into the audit log. Its context sees
// everyone's rows.
type Operator struct {
	DB     *sqlx.DB
	Ledger *billing.Ledger
	User   string // who runs the commands
	Now    func() time.Time
	// Secrets are the deployment's, which Delete needs: nil where nobody deletes.
	Secrets func() (secret.Ring, error)
}

// AccountState is an account as an operator sees it: whose it is, what it owns, and what is open.
type AccountState struct {
	contract.Account
	ProvedAt       *time.Time `db:"proved_at" json:"emailVerifiedAt,omitempty"`
	LockedAt       *time.Time `db:"locked_at" json:"lockedAt,omitempty"`
	LockedBecause  *string    `db:"locked_because" json:"lockedBecause,omitempty"`
	ClosedAt       *time.Time `db:"closed_at" json:"closedAt,omitempty"`
	HasPassword    bool       `db:"has_password" json:"hasPassword"`
	Identities     int        `db:"identities" json:"identities"` // at identity providers
	Sessions       int        `db:"sessions" json:"sessions"`
	Keys           int        `db:"keys" json:"keys"` // that may be used
	Jobs           int        `db:"jobs" json:"jobs"`
	JobsNotEnded   int        `db:"jobs_not_ended" json:"jobsNotEnded"`
	AvailablePence int64      `db:"available_pence" json:"availablePence"`
	HeldPence      int64      `db:"held_pence" json:"heldPence"`
}

// ErrNoAccount is for a name that is nobody's.
var ErrNoAccount = errors.New("there is no such account; `molfabric account list` shows them")

// ErrClosed is for an account that is closed: nothing opens it again.
var ErrClosed = errors.New("the account is closed for good; whoever had it may open another")

// Accounts lists the newest accounts whose address, name or id holds the text, newest first.
func (o Operator) Accounts(ctx context.Context, text string, limit int) ([]AccountState, error) {
	return selectStates(ctx, o.DB, stateQuery{Text: text, Now: o.now(), Limit: limit})
}

// Find returns the account with an address or an id. Errors: ErrNoAccount.
func (o Operator) Find(ctx context.Context, name string) (AccountState, error) {
	name = strings.TrimSpace(name)
	if name == "" { // a variable of a script that was not set
		return AccountState{}, fmt.Errorf("ACCOUNT: must be an address or an id: %w", ErrNoAccount)
	}
	found, err := selectStates(ctx, o.DB, stateQuery{Exactly: name, Now: o.now(), Limit: 1})
	if err != nil {
		return AccountState{}, err
	}
	if len(found) == 0 {
		return AccountState{}, fmt.Errorf("%s: %w", name, ErrNoAccount)
	}
	return found[0], nil
}

// Credit gives an account's wallet credit, or takes some where pence is below 0. reference names the act: the same reference a
// second time changes nothing and reports false; "" is one of its own. Errors: ErrNoAccount, ErrClosed, fault.InsufficientCredits.
func (o Operator) Credit(ctx context.Context, name string, pence int64, reason, reference string) (
	state AccountState, done bool, err error,
) {
	switch {
	case pence == 0 || pence > MaxGiftPence || pence < -MaxGiftPence:
		return AccountState{}, false, fmt.Errorf("amount: must be between %s and %s, and not 0",
			billing.Display(-MaxGiftPence), billing.Display(MaxGiftPence))
	case strings.TrimSpace(reason) == "":
		return AccountState{}, false, errors.New("reason: say why; the account's owner and the audit log see it")
	}
	if state, err = o.Find(ctx, name); err != nil {
		return AccountState{}, false, err
	}
	if state.ClosedAt != nil {
		return AccountState{}, false, fmt.Errorf("%s: %w", state.AccountID, ErrClosed)
	}
	if reference == "" {
		reference = id.New("act_")
	}
	kind, event := billing.EntryBonus, auditlog.CreditGiven
	if pence < 0 {
		kind, event = billing.EntryAdjustment, auditlog.CreditTaken
	}
	err = postgres.InTx(ctx, o.DB, func(tx *sqlx.Tx) error {
		done, err = o.Ledger.Credit(ctx, tx, billing.CreditRequest{AccountID: state.AccountID, Type: kind, Bucket: billing.Wallet,
			Pence: pence, Description: reason, UniqueKey: "operator:" + reference}, o.now())
		if err != nil || !done {
			return err
		}
		return o.write(ctx, tx, state.AccountID, event, fmt.Sprintf("%s, %s, reference %s", billing.Display(pence), reason,
			reference))
	})
	if err != nil {
		return AccountState{}, false, err
	}
	state, err = o.Find(ctx, state.AccountID)
	return state, done, err
}

// Lock ends the account's sessions and lets nobody in, by password, key or identity provider, until Unlock. Jobs go on. Locking
// again changes the reason.
func (o Operator) Lock(ctx context.Context, name, reason string) (AccountState, error) {
	if strings.TrimSpace(reason) == "" {
		return AccountState{}, errors.New("reason: say why; the audit log keeps it")
	}
	return o.act(ctx, name, auditlog.AccountLocked, reason, func(tx *sqlx.Tx, account contract.Account) error {
		if err := setLock(ctx, tx, account.AccountID, o.now(), reason); err != nil {
			return err
		}
		_, err := deleteSessions(ctx, tx, account.AccountID)
		return err
	})
}

// Unlock lets the account's owner in again.
func (o Operator) Unlock(ctx context.Context, name string) (AccountState, error) {
	return o.act(ctx, name, auditlog.AccountUnlocked, "", func(tx *sqlx.Tx, account contract.Account) error {
		return clearLock(ctx, tx, account.AccountID)
	})
}

// EndSessions signs all browsers of the account out, and returns how many there were.
func (o Operator) EndSessions(ctx context.Context, name string) (state AccountState, ended int64, err error) {
	state, err = o.act(ctx, name, auditlog.SessionsEnded, "", func(tx *sqlx.Tx, account contract.Account) error {
		ended, err = deleteSessions(ctx, tx, account.AccountID)
		return err
	})
	return state, ended, err
}

// ResetPassword gives the account a new password, which is returned and kept nowhere, and signs all browsers out. Keys stay.
func (o Operator) ResetPassword(ctx context.Context, name string) (state AccountState, password string, err error) {
	password = newToken()[:resetChars]
	hash, err := newHasher().hash(ctx, password)
	if err != nil {
		return AccountState{}, "", err
	}
	state, err = o.act(ctx, name, auditlog.PasswordReset, "", func(tx *sqlx.Tx, account contract.Account) error {
		if err := setPassword(ctx, tx, account.AccountID, hash); err != nil {
			return err
		}
		_, err := deleteSessions(ctx, tx, account.AccountID)
		return err
	})
	return state, password, err
}

// resetChars of base64 are 120 bits, and still short enough to be read out.
const resetChars = 20

// Delete closes an account as its owner would (Service.Close), without a password. forfeit gives up whatever credit it has; without
// it an account that has some stays. It cannot be undone.
//
// Errors: ErrNoAccount, ErrClosed, fault.JobNotEnded, fault.CreditNotConfirmed.
func (o Operator) Delete(
	ctx context.Context, name, reason string, forfeit bool,
) (given billing.Closing, accountID string, err error) {
	if strings.TrimSpace(reason) == "" {
		return given, "", errors.New("reason: say why; the audit log keeps it")
	}
	secrets, err := o.Secrets()
	if err != nil {
		return given, "", err
	}
	asked := closing{ledger: o.Ledger, secrets: secrets, at: o.now(), forfeit: new(int64)}
	if forfeit {
		asked.forfeit = nil
	}
	state, err := o.act(ctx, name, auditlog.AccountClosed, reason, func(tx *sqlx.Tx, account contract.Account) error {
		asked.account = account
		given, err = closeAccount(ctx, tx, asked)
		return err
	})
	return given, state.AccountID, err
}

// act does something with an account and writes it into the log, both or neither.
func (o Operator) act(ctx context.Context, name string, event auditlog.Event, detail string,
	do func(tx *sqlx.Tx, account contract.Account) error,
) (AccountState, error) {
	state, err := o.Find(ctx, name)
	if err != nil {
		return AccountState{}, err
	}
	if state.ClosedAt != nil {
		return AccountState{}, fmt.Errorf("%s: %w", state.AccountID, ErrClosed)
	}
	err = postgres.InTx(ctx, o.DB, func(tx *sqlx.Tx) error {
		if err := do(tx, state.Account); err != nil {
			return err
		}
		return o.write(ctx, tx, state.AccountID, event, detail)
	})
	if err != nil {
		return AccountState{}, err
	}
	return o.Find(ctx, state.AccountID)
}

func (o Operator) write(ctx context.Context, tx *sqlx.Tx, accountID string, event auditlog.Event, detail string) error {
	return auditlog.Write(ctx, tx, auditlog.Line{
		At: o.now(), AccountID: accountID, Actor: auditlog.Operator(o.User), Event: event, Detail: detail,
	})
}

func (o Operator) now() time.Time { return o.Now().UTC().Truncate(time.Microsecond) }
