package auth

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mail"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// proofLife is how long the link in a mail is good: somebody who reads mail once a day follows it.
	proofLife = 24 * time.Hour
	// ProofPath is the page that the link leads to.
	ProofPath = "/verify-email"
	// formerDomain ends the name of an account that has lost its address. No mail goes there (RFC 2606).
	formerDomain = "@address.invalid"
)

var (
	// askerLimit bounds the mails that one network makes us send to an address: enough for somebody who lost a mail twice. It
	// is less than what the address may get, so that a stranger does not use up what its owner asks for.
	askerLimit = throttle.Limit{Rate: 5, Period: time.Hour, Burst: 5}
	// mailLimit bounds what one address gets from us, whoever asks for it: no flood for somebody who asked for none.
	mailLimit = throttle.Limit{Rate: 20, Period: time.Hour, Burst: 20}
)

// Mailer takes mails on their way. It does not wait for their arrival, and is safe for concurrent use.
type Mailer interface{ Post(m mail.Message) }

// proof is a link that was sent to an address. One with a password is of a sign-up: its account is opened when it is followed.
type proof struct {
	AccountID    string  `db:"account_id"`
	Email        string  `db:"email"`
	Name         *string `db:"name"`
	PasswordHash *string `db:"password_hash"`
}

// insertProof stores a link, and lets go of those that nobody followed.
func (s *Service) insertProof(ctx context.Context, tx *sqlx.Tx, p proof, link string) error {
	now := s.now()
	if err := deleteOldProofs(ctx, tx, now); err != nil {
		return err
	}
	return insertProof(ctx, tx, p, digest(link), now, now.Add(proofLife))
}

// Prove follows a link: its address is its account's, which gets its free credit if it has not had it. The link is good once. A
// sign-up opens its account; one that stood under the address and never proved it loses it.
//
// Errors: fault.Validation for another password; fault.NotFound when the link was never sent, was followed before, or is too old,
// and when its address has another account by now, or accounts are not opened any more.
func (s *Service) Prove(ctx context.Context, in contract.EmailProof) (contract.Account, error) {
	var account contract.Account
	var letters []mail.Message
	link := in.Token
	ctx = tenant.Everyone(ctx, "the link tells the account")
	if err := s.knowsPassword(ctx, in); err != nil {
		return contract.Account{}, err
	}
	err := postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if err := deleteOldProofs(ctx, tx, s.now()); err != nil {
			return err
		}
		p, err := takeProof(ctx, tx, digest(link), s.now())
		if errors.Is(err, sql.ErrNoRows) {
			return errNoLink
		}
		if err != nil {
			return err
		}
		if p.PasswordHash != nil {
			account, letters, err = s.proveSignUp(ctx, tx, p)
			return err
		}
		if err := s.proved(ctx, tx, p.AccountID, p.Email); err != nil {
			return err
		}
		found, err := selectByID(ctx, tx, p.AccountID)
		if account = found.Account; err == nil && !strings.EqualFold(account.Email, p.Email) {
			return errNoLink // the account has lost the address since
		}
		return err
	})
	if postgres.IsUniqueViolation(err, "accounts_email") || errors.Is(err, sql.ErrNoRows) {
		return contract.Account{}, errNoLink // opened by another link at the same moment, or gone
	}
	if err != nil {
		return contract.Account{}, err
	}
	s.post(ctx, letters...)
	return account, nil
}

// knowsPassword wants the password that a link's sign-up or account was given. Without it somebody could sign up with another's
// address and wait for its owner to follow the link: the account would be proved, and its password a stranger's. The link stays
// good.
func (s *Service) knowsPassword(ctx context.Context, in contract.EmailProof) error {
	email, hash, err := selectProofPassword(ctx, s.DB, digest(in.Token), s.now())
	if errors.Is(err, sql.ErrNoRows) {
		return errNoLink
	}
	if err != nil || hash == "" {
		return err
	}
	if verdict := s.Limiter.Take(ctx, "proof:"+attempts(ctx, email), s.SignInLimit); !verdict.Allowed {
		return verdict.Exceeded("too many attempts at this password")
	}
	ok, err := s.passwords.matches(ctx, in.Password, hash)
	if err == nil && !ok {
		return fault.New(fault.Validation, "password: must be the one that the account was opened with; if you opened none, do "+
			"nothing more")
	}
	return err
}

var errNoLink = fault.New(fault.NotFound, "token: this link is not good any more: it was followed already, or is older than %d "+
	"hours. "+
	"Sign in, or ask for another link by signing up again", int(proofLife/time.Hour))

// proveSignUp opens the account of a sign-up whose address is proved.
func (s *Service) proveSignUp(ctx context.Context, tx *sqlx.Tx, p proof) (contract.Account, []mail.Message, error) {
	if s.Admission.Mode == ModeClosed || s.Admission.Mode == ModeProvider { // since the link was sent
		return contract.Account{}, nil, errClosed
	}
	letters, err := s.clear(ctx, tx, p.Email)
	if err != nil {
		return contract.Account{}, nil, err
	}
	account := contract.Account{AccountID: p.AccountID, Email: p.Email, Name: *p.Name, Plan: firstPlan, CreatedAt: s.now()}
	return account, letters, s.open(ctx, tx, account, *p.PasswordHash, true)
}

// clear takes an address away from an account that never proved it, for somebody who has. The account keeps all that is its own,
// and its password: it is called by its id from then on. Errors: errNoLink when the address is another's who proved it.
func (s *Service) clear(ctx context.Context, tx *sqlx.Tx, email string) ([]mail.Message, error) {
	existing, err := selectByEmail(ctx, tx, email)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	former := existing.AccountID + formerDomain
	cleared, err := renameUnproved(ctx, tx, existing.AccountID, former)
	if err != nil {
		return nil, err
	}
	if !cleared {
		return nil, errNoLink
	}
	if err := s.Ledger.WithholdAllowance(ctx, tx, existing.AccountID, s.now()); err != nil { // one address brings it once
		return nil, err
	}
	return []mail.Message{s.addressMoved(existing.Email, former)}, s.write(ctx, tx, existing.AccountID, auditlog.AddressMoved,
		"to the one who proved it")
}

// proved notes that an account's address is its owner's, and gives the account its free credit, once an address. It does nothing
// when the account has another address.
func (s *Service) proved(ctx context.Context, tx *sqlx.Tx, accountID, email string) error {
	now := s.now()
	first, err := markProved(ctx, tx, accountID, email, now)
	if err != nil || !first {
		return err
	}
	if err := deleteProofs(ctx, tx, accountID); err != nil {
		return err
	}
	if err := s.write(ctx, tx, accountID, auditlog.AddressProved, ""); err != nil {
		return err
	}
	had, err := isClosedAddress(ctx, tx, addressMACs(s.Secrets, email))
	if err != nil || had {
		return err
	}
	_, err = s.Ledger.ReleaseAllowance(ctx, tx, accountID, now)
	return err
}

// SendProof sends a link to an account's address again. Errors: fault.Validation when the address is proved already; fault.NotFound
// where no mail is sent; *throttle.Exceeded.
func (s *Service) SendProof(ctx context.Context, accountID string) error {
	if s.Mail == nil {
		return fault.New(fault.NotFound, "this deployment sends no mail; its operator can give credit to accounts")
	}
	account, err := selectByID(ctx, s.DB, accountID)
	if err != nil {
		return err
	}
	if account.VerifiedAt != nil || strings.HasSuffix(account.Email, formerDomain) {
		return fault.New(fault.Validation, "email: there is no address of this account to prove")
	}
	if verdict := s.countMail(ctx, account.Email); !verdict.Allowed {
		return verdict.Exceeded("too many mails to this address")
	}
	link := newToken()
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		return s.insertProof(ctx, tx, proof{AccountID: accountID, Email: account.Email}, link)
	})
	if err == nil {
		s.Mail.Post(s.proveAddress(account.Email, link))
	}
	return err
}

// post sends mails that nobody but their readers has to hear of. Beyond the limits an address gets none, and the caller is
// not told: it would be told that somebody else asks too.
func (s *Service) post(ctx context.Context, letters ...mail.Message) {
	for _, m := range letters {
		if s.Mail != nil && s.countMail(ctx, m.To).Allowed {
			s.Mail.Post(m)
		}
	}
}

// countMail counts a mail to an address: of the caller's network, and of all. What the network may not send does not count
// for all.
func (s *Service) countMail(ctx context.Context, email string) throttle.Verdict {
	asked := s.Limiter.Take(ctx, mailKey(access.Network(ctx)+" "+email), askerLimit)
	if !asked.Allowed {
		return asked
	}
	return s.Limiter.Take(ctx, mailKey(email), mailLimit)
}

// mailKey names what mails are counted under, without writing the address into Redis.
func mailKey(to string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(to)))
	return "mail:" + hex.EncodeToString(sum[:16])
}

func (s *Service) linkTo(link string) string {
	return strings.TrimSuffix(s.PublicURL, "/") + ProofPath + "?" + url.Values{"token": {link}}.Encode()
}
