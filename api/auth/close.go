package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// freshSession is how young the session must be that closes an account without a password: its owner has just come from
// the identity provider.
const freshSession = 10 * time.Minute

// Close ends the caller's account: nobody gets in any more, and all that is not the books' is deleted. token is the
// session's.
//
// Errors: fault.Validation for another password; fault.Unauthorized for a session that is not fresh, of an account
// without one; fault.JobNotEnded; fault.CreditNotConfirmed; *throttle.Exceeded after too many attempts. After each
// nothing has changed.
func (s *Service) Close(ctx context.Context, accountID, token string, in contract.AccountClosing) (contract.AccountClosed, error) {
	if verdict := s.Limiter.Take(ctx, "password:"+accountID, s.SignInLimit); !verdict.Allowed {
		return contract.AccountClosed{}, verdict.Exceeded("too many attempts at this password")
	}
	account, err := selectByID(ctx, s.DB, accountID)
	if err != nil {
		return contract.AccountClosed{}, err
	}
	stored := account.PasswordHash
	if stored == "" {
		err = s.isFresh(ctx, token)
	} else {
		err = s.isPassword(ctx, in.Password, stored)
	}
	if err != nil {
		return contract.AccountClosed{}, err
	}
	now := s.now()
	var given billing.Closing
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		// The money's lock comes first, as everywhere: of two calls at once each would wait for the other.
		if err := s.Ledger.LockAccounts(ctx, tx, accountID); err != nil {
			return err
		}
		if stored != "" { // changed while it was compared
			if same, err := holdPassword(ctx, tx, accountID, stored); err != nil || !same {
				return orNotThePassword(err)
			}
		}
		given, err = closeAccount(ctx, tx, closing{ledger: s.Ledger, account: account.Account, forfeit: &in.ForfeitCreditPence,
			secrets: s.Secrets, at: now})
		if err != nil {
			return err
		}
		return s.write(ctx, tx, accountID, auditlog.AccountClosed, fmt.Sprintf("%s of credit given up",
			billing.Display(given.GivenUpPence)))
	})
	if err != nil {
		return contract.AccountClosed{}, err
	}
	return contract.AccountClosed{AccountID: accountID, ClosedAt: now, ForfeitedCreditPence: given.GivenUpPence,
		Message: "The account is closed. Its files, results and projects are being deleted; its bills are kept without your name " +
			"and address."}, nil
}

func (s *Service) isPassword(ctx context.Context, password, stored string) error {
	ok, err := s.passwords.matches(ctx, password, stored)
	if err == nil && !ok {
		return notTheAccounts()
	}
	return err
}

func orNotThePassword(err error) error {
	if err != nil {
		return err
	}
	return notTheAccounts()
}

func notTheAccounts() error {
	return fault.New(fault.Validation, "password: must be the account's password, to close it")
}

// isFresh stands for the password where there is none.
func (s *Service) isFresh(ctx context.Context, token string) error {
	found, err := selectSession(ctx, s.DB, digest(token), s.now())
	if errors.Is(err, sql.ErrNoRows) {
		return sessionEnded()
	}
	if err != nil {
		return err
	}
	if s.now().Sub(found.CreatedAt) > freshSession {
		return fault.New(fault.Unauthorized, "the account has no password, and this session is older than %d minutes: sign in "+
			"with the identity provider again (GET /api%s), then close the account",
			int(freshSession/time.Minute), startPath)
	}
	return nil
}

// closing is what closeAccount needs. forfeit is nil where all credit is given up, whatever it is.
type closing struct {
	ledger  *billing.Ledger
	account contract.Account
	forfeit *int64
	secrets secret.Ring
	at      time.Time
}

// closeAccount ends an account within a transaction. Its money is locked first: from then on no job of it begins.
func closeAccount(ctx context.Context, tx *sqlx.Tx, c closing) (billing.Closing, error) {
	accountID := c.account.AccountID
	if err := c.ledger.LockAccounts(ctx, tx, accountID); err != nil {
		return billing.Closing{}, err
	}
	open, err := erasure.OpenJobs(ctx, tx, accountID)
	if err != nil {
		return billing.Closing{}, err
	}
	if open > 0 {
		return billing.Closing{}, fault.New(fault.JobNotEnded,
			"account: %d of its jobs have not ended; cancel them (POST /v1/jobs/{id}/cancel) or wait for them, so that the last "+
				"bill is known", open)
	}
	var forfeit int64
	if c.forfeit != nil {
		forfeit = *c.forfeit
	} else {
		balance, err := c.ledger.Balance(ctx, tx, accountID, c.at)
		if err != nil {
			return billing.Closing{}, err
		}
		forfeit = balance.AvailablePence
	}
	given, err := c.ledger.Close(ctx, tx, accountID, forfeit, c.at)
	if err != nil {
		return billing.Closing{}, err
	}
	if given.HadAllowance {
		mac := addressMAC(c.secrets.Sealing(), c.account.Email)
		if err := insertClosedAddress(ctx, tx, mac, c.secrets.ID(), c.at); err != nil {
			return billing.Closing{}, err
		}
	}
	_, err = erasure.Account(ctx, tx, accountID, c.at)
	return given, err
}

// addressMAC names an address without telling it: to find out whose it is takes the deployment's secret.
func addressMAC(secret []byte, email string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("address of a closed account\x00" + strings.ToLower(email)))
	return mac.Sum(nil)
}

// addressMACs are the names of an address under every secret, since accounts are closed under the one that seals.
func addressMACs(secrets secret.Ring, email string) [][]byte {
	var macs [][]byte
	for _, one := range secrets.All() {
		macs = append(macs, addressMAC(one, email))
	}
	return macs
}
