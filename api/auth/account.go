package auth

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
)

// Session returns the session with its account. Errors: fault.Unauthorized when it has ended.
func (s *Service) Session(ctx context.Context, token string) (contract.BrowserSession, error) {
	found, err := selectSession(ctx, s.DB, digest(token), s.now())
	if errors.Is(err, sql.ErrNoRows) {
		return contract.BrowserSession{}, sessionEnded()
	}
	if err != nil {
		return contract.BrowserSession{}, err
	}
	account, err := selectByID(ctx, s.DB, found.AccountID)
	if err != nil {
		return contract.BrowserSession{}, err
	}
	session := contract.BrowserSession{
		Account: account.Account, StartedAt: found.CreatedAt.UTC(), ExpiresAt: found.ExpiresAt.UTC(),
		EmailVerified: account.VerifiedAt != nil, Operator: s.operates(found),
	}
	if s.Storage != nil {
		storage, err := s.Storage(ctx, account.AccountID)
		if err != nil {
			return contract.BrowserSession{}, err
		}
		session.Storage = &storage
	}
	return session, nil
}

// ChangePassword replaces the account's password and ends its sessions but the one of the token. Errors: fault.Validation when
// the current password is another, or the account has none; *throttle.Exceeded after too many attempts.
func (s *Service) ChangePassword(ctx context.Context, accountID, token string, in contract.PasswordChange) error {
	if verdict := s.Limiter.Take(ctx, "password:"+accountID, s.SignInLimit); !verdict.Allowed {
		return verdict.Exceeded("too many attempts at this password")
	}
	account, err := selectByID(ctx, s.DB, accountID)
	if err != nil {
		return err
	}
	if account.PasswordHash == "" {
		return fault.New(fault.Validation, "currentPassword: the account has no password; it signs in with an identity provider")
	}
	ok, err := s.passwords.matches(ctx, in.CurrentPassword, account.PasswordHash)
	if err != nil {
		return err
	}
	if !ok {
		return notThePassword()
	}
	changed, err := s.passwords.hash(ctx, in.NewPassword)
	if err != nil {
		return err
	}
	return postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		replaced, err := replacePassword(ctx, tx, accountID, account.PasswordHash, changed)
		if err != nil {
			return err
		}
		if !replaced { // another change was faster
			return notThePassword()
		}
		if err := deleteOtherSessions(ctx, tx, accountID, digest(token)); err != nil {
			return err
		}
		return s.write(ctx, tx, accountID, auditlog.PasswordChanged, "")
	})
}

func notThePassword() error {
	return fault.New(fault.Validation, "currentPassword: is not the account's password")
}

func sessionEnded() error {
	return fault.New(fault.Unauthorized, "the session has ended: sign in again")
}
