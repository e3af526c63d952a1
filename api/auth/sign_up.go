package auth

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

// Mode says who may open an account.
type Mode string

// The modes of a deployment.
const (
	// ModeOpen lets anybody in at once. The free credit comes when the address has been proved, or at once to a trusted network.
	ModeOpen Mode = "open"
	// ModeVerified opens an account when its address has been proved, and says to nobody else whether there is one.
	ModeVerified Mode = "verified"
	// ModeProvider leaves it to the identity provider who gets an account.
	ModeProvider Mode = "oidc"
	// ModeClosed opens none.
	ModeClosed Mode = "closed"
)

// Modes lists every mode.
var Modes = []Mode{ModeOpen, ModeVerified, ModeProvider, ModeClosed}

// Admission is how a deployment takes new accounts.
type Admission struct {
	Mode Mode // "" is ModeOpen
	// Trusted are networks whose new accounts get their free credit at once, because their operator knows who is there.
	Trusted []netip.Prefix
	// Limit and NetworkLimit count new accounts of an address (an IPv4 address, the /64 of an IPv6 one) and of the network around
	// it, and beside them WideLimit. They do not count trusted networks.
	Limit, NetworkLimit throttle.Limit
}

// mayOpen refuses who may not open an account with a password.
func (s *Service) mayOpen() error {
	switch s.Admission.Mode {
	case ModeProvider:
		return fault.New(fault.NotFound,
			"this deployment opens no accounts with a password: sign in with its identity provider, at /api%s", startPath)
	case ModeClosed:
		return errClosed
	default:
		return nil
	}
}

var errClosed = fault.New(fault.NotFound, "this deployment opens no accounts: ask whoever runs it; existing accounts sign in "+
	"as before")

// count is what one event is counted under.
type count struct {
	key   string
	limit throttle.Limit
}

// countSignUp counts one new account.
func (s *Service) countSignUp(ctx context.Context) error {
	from := access.Address(ctx)
	counts := []count{{"sign-up:" + from, s.WideLimit}}
	if !access.Trusted(ctx) {
		counts = append(counts, count{"sign-up-address:" + from, s.Admission.Limit},
			count{"sign-up-network:" + access.Network(ctx), s.Admission.NetworkLimit})
	}
	for _, one := range counts {
		if verdict := s.Limiter.Take(ctx, one.key, one.limit); !verdict.Allowed {
			return verdict.Exceeded("too many new accounts")
		}
	}
	return nil
}

// SignUp opens an account with a password and returns it with a new session. Where addresses are proved first (ModeVerified), it
// sends a link instead and returns neither a session nor whether there is an account already: what it returns is alike for every
// address.
//
// Errors: fault.Validation for an address that is none, or that has an account already and is not proved first; fault.NotFound
// where nobody opens an account with a password; *throttle.Exceeded after too many accounts from one network address.
func (s *Service) SignUp(ctx context.Context, in contract.SignUpRequest) (contract.Account, string, error) {
	email, err := address(in.Email)
	if err == nil {
		err = s.mayOpen()
	}
	if err == nil {
		err = s.countSignUp(ctx)
	}
	if err != nil {
		return contract.Account{}, "", err
	}
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name, _, _ = strings.Cut(email, "@")
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return contract.Account{}, "", err
	}
	account := contract.Account{AccountID: id.New("acct_"), Email: email, Name: name, Plan: firstPlan, CreatedAt: s.now()}
	if s.Admission.Mode == ModeVerified {
		return account, "", s.askFirst(ctx, account, hash)
	}
	return s.openNow(ctx, account, hash)
}

func (s *Service) openNow(ctx context.Context, account contract.Account, hash string) (contract.Account, string, error) {
	token, link := newToken(), newToken()
	told := s.Mail != nil && !access.Trusted(ctx)
	ctx = tenant.With(ctx, account.AccountID)
	err := postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if err := s.open(ctx, tx, account, hash, false); err != nil {
			return err
		}
		if told {
			if err := s.insertProof(ctx, tx, proof{AccountID: account.AccountID, Email: account.Email}, link); err != nil {
				return err
			}
		}
		return s.startSession(ctx, tx, account.AccountID, token, "")
	})
	if postgres.IsUniqueViolation(err, "accounts_email") {
		return contract.Account{}, "", fault.New(fault.Validation, "email: an account with this address exists already; "+
			"sign in instead")
	}
	if err == nil && told {
		s.post(ctx, s.proveAddress(account.Email, link))
	}
	return account, token, err
}

// askFirst keeps a sign-up until the link that it sends is followed. The owner of an address that has an account gets a mail that
// says so; the caller cannot tell the two apart, by the answer or by what is done for it.
func (s *Service) askFirst(ctx context.Context, account contract.Account, hash string) error {
	if s.Mail == nil {
		return fault.New(fault.ProviderUnavailable,
			"this deployment sends no mail for the moment, and opens accounts only for addresses that were proved")
	}
	ctx = tenant.Everyone(ctx, "the address tells the account")
	existing, err := selectByEmail(ctx, s.DB, account.Email)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	link := newToken()
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		asked := proof{AccountID: account.AccountID, Email: account.Email, Name: &account.Name, PasswordHash: &hash}
		return s.insertProof(ctx, tx, asked, link)
	})
	if err != nil {
		return err
	}
	if existing.VerifiedAt != nil {
		s.post(ctx, s.accountExists(account.Email)) // nobody knows the link
		return nil
	}
	s.post(ctx, s.confirmSignUp(account.Email, link))
	return nil
}

// open stores a new account. Its free credit waits until its address is proved, unless its network is trusted. An address that has
// had it, with an account that was closed, gets none.
func (s *Service) open(ctx context.Context, tx *sqlx.Tx, account contract.Account, passwordHash string, proved bool) error {
	row := accountRow{Account: account, PasswordHash: passwordHash}
	if proved {
		row.VerifiedAt = &account.CreatedAt
	}
	if err := insertAccount(ctx, tx, row); err != nil {
		return err
	}
	if err := s.write(ctx, tx, account.AccountID, auditlog.SignedUp, ""); err != nil {
		return err
	}
	had, err := isClosedAddress(ctx, tx, addressMACs(s.Secrets, account.Email))
	if err != nil {
		return err
	}
	if !had && (proved || access.Trusted(ctx)) {
		return s.Ledger.OpenAccount(ctx, tx, account.AccountID, account.Plan, account.CreatedAt)
	}
	return s.Ledger.OpenWithheld(ctx, tx, account.AccountID, account.Plan, account.CreatedAt)
}
