package auth

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/jmoiron/sqlx"
	"golang.org/x/oauth2"

	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/mail"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

// maxNameChars is the length of an account's name, as at sign-up.
const maxNameChars = 100

// callback is what a browser brings back from the identity provider.
type callback struct {
	state, code string
	refusal     string // the provider's error code, where there is no code
	flow        string // cookie of the flow
	session     string // cookie of the session, where the browser has one
}

// StartOIDC returns the provider's address to go to and the sealed flow for the browser's cookie. Errors: fault.Validation when
// next is not a path of this service; fault.NotFound without a provider; fault.ProviderUnavailable.
func (s *Service) StartOIDC(ctx context.Context, next string) (address, sealed string, err error) {
	if next, err = localPath(next); err != nil {
		return "", "", err
	}
	f := flow{State: newToken(), Nonce: newToken(), Verifier: oauth2.GenerateVerifier(), Next: next, Until: s.now().Add(flowLife)}
	if address, err = s.provider.address(ctx, f); err != nil {
		return "", "", err
	}
	sealed, err = f.seal(s.flowKeys[0])
	return address, sealed, err
}

// FinishOIDC starts a session for who comes back from the provider, and returns the page to go to and the session's token.
// Errors: fault.Validation when the flow is not this browser's or the identity may not open this account; fault.Unauthorized
// when the provider does not vouch; fault.NotFound without a provider; fault.ProviderUnavailable.
func (s *Service) FinishOIDC(ctx context.Context, back callback) (next, token string, err error) {
	if _, err := s.provider.discover(ctx); err != nil {
		return "", "", err
	}
	f, err := unseal(s.flowKeys, back.flow, s.now())
	if err != nil {
		return "", "", err
	}
	if back.state != f.State {
		return "", "", startAgain()
	}
	if back.code == "" {
		return "", "", refusedBy(back.refusal)
	}
	who, err := s.provider.redeem(ctx, f, back.code)
	if err != nil {
		return "", "", err
	}
	token = newToken()
	var letters []mail.Message
	ctx = tenant.Everyone(ctx, "the identity tells the account")
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		var accountID string
		var err error
		if accountID, letters, err = s.accountOf(ctx, tx, who, back.session); err != nil {
			return err
		}
		return s.startSession(ctx, tx, accountID, token, "")
	})
	if postgres.IsUniqueViolation(err, "accounts_email") || postgres.IsUniqueViolation(err, "account_identities_pkey") {
		return "", "", startAgain() // the same person signed in twice at the same moment
	}
	if err == nil {
		s.post(ctx, letters...)
	}
	return f.Next, token, err
}

// refusedBy turns the provider's error code (RFC 6749, section 4.1.2.1) into ours.
func refusedBy(code string) error {
	if code == "server_error" || code == "temporarily_unavailable" {
		return providerAway(errors.New(code))
	}
	return fault.New(fault.Unauthorized, "the identity provider has refused the sign-in")
}

// accountOf finds the account of an identity, binds it to one, or opens one. It returns the mails that tell of it.
//
// An identity is bound to an existing account only if three things hold: the provider has verified the address, it is the
// account's, and this browser is signed in to that account. The verified address alone would not do: sign-up with a password
// verifies no address, so somebody could open an account under another's and wait for its owner to move in. A session alone
// would not do either: a browser can be led to the provider's page of somebody else's identity.
//
// An account that never proved its address does not keep the address from its owner: it loses it, and the owner gets an account of
// their own. Neither gets at what is the other's.
func (s *Service) accountOf(ctx context.Context, tx *sqlx.Tx, who identity, sessionToken string) (string, []mail.Message, error) {
	accountID, err := selectByIdentity(ctx, tx, who.Issuer, who.Subject)
	if err == nil && who.EmailVerified {
		err = s.proved(ctx, tx, accountID, who.Email)
	}
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return accountID, nil, err
	}
	email, err := address(who.Email)
	if err != nil {
		return "", nil, fault.New(fault.Validation, "email: the identity provider gives no address for this identity, and an "+
			"account needs one")
	}
	if s.Admission.Mode == ModeVerified && !who.EmailVerified { // there is no account before its address is proved, nor word of one
		return "", nil, fault.New(fault.Validation, "email: the identity provider has not verified the address of this identity; "+
			"verify it there, or sign up with a password")
	}
	existing, err := selectByEmail(ctx, tx, email)
	if errors.Is(err, sql.ErrNoRows) {
		return s.openFor(ctx, tx, who, email)
	}
	if err != nil {
		return "", nil, err
	}
	session, err := selectSession(ctx, tx, digest(sessionToken), s.now())
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", nil, err
	}
	switch {
	case who.EmailVerified && session.AccountID == existing.AccountID:
		if err := s.proved(ctx, tx, existing.AccountID, email); err != nil {
			return "", nil, err
		}
		if err := insertIdentity(ctx, tx, who, existing.AccountID, s.now()); err != nil {
			return "", nil, err
		}
		return existing.AccountID, nil, s.write(ctx, tx, existing.AccountID, auditlog.IdentityBound, "at "+who.Issuer)
	case who.EmailVerified && existing.VerifiedAt == nil && s.Admission.Mode != ModeClosed:
		return s.takeOver(ctx, tx, who, email)
	}
	return "", nil, errTaken
}

var errTaken = fault.New(fault.Validation, "email: an account with this address exists already; sign in to it first, then start "+
	"this again to "+
	"bind the identity (which the provider must have verified the address of)")

// takeOver opens an account for the owner of an address that stood under an account which never proved it.
func (s *Service) takeOver(ctx context.Context, tx *sqlx.Tx, who identity, email string) (string, []mail.Message, error) {
	letters, err := s.clear(ctx, tx, email)
	if errors.Is(err, errNoLink) { // proved at this very moment
		return "", nil, errTaken
	}
	if err != nil {
		return "", nil, err
	}
	accountID, more, err := s.openFor(ctx, tx, who, email)
	return accountID, append(letters, more...), err
}

// openFor opens an account without a password for a new identity. An address that the provider has not verified is asked for its
// proof.
func (s *Service) openFor(ctx context.Context, tx *sqlx.Tx, who identity, email string) (string, []mail.Message, error) {
	if s.Admission.Mode == ModeClosed {
		return "", nil, errClosed
	}
	name := []rune(strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(who.Name, "\x00", ""), "")))
	account := contract.Account{
		AccountID: id.New("acct_"), Email: email, Name: string(name[:min(len(name), maxNameChars)]), Plan: firstPlan,
		CreatedAt: s.now(),
	}
	if account.Name == "" {
		account.Name, _, _ = strings.Cut(email, "@")
	}
	if err := s.open(ctx, tx, account, "", who.EmailVerified); err != nil {
		return "", nil, err
	}
	if err := insertIdentity(ctx, tx, who, account.AccountID, account.CreatedAt); err != nil || who.EmailVerified || s.Mail == nil {
		return account.AccountID, nil, err
	}
	link := newToken()
	err := s.insertProof(ctx, tx, proof{AccountID: account.AccountID, Email: email}, link)
	return account.AccountID, []mail.Message{s.proveAddress(email, link)}, err
}
