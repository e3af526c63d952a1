// Package auth holds sign-up, sign-in, with a password or through an identity provider, and browser sessions. A session is an
// opaque random token: the browser has it in a cookie, the database has its SHA-256. It holds no API keys (api/keys) and judges
// no operation (api/guard.go).
package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// sessionLife is how long a browser stays signed in, whether it is used or not: a stolen cookie ends too.
	sessionLife = 30 * 24 * time.Hour
	// maxSessions bounds an account's browsers; a sign-in beyond ends the oldest session.
	maxSessions = 100
	// seenEvery bounds how often a session's use is written down.
	seenEvery = time.Minute
	// tokenBytes of randomness cannot be guessed.
	tokenBytes = 32
	// firstPlan is the plan of a new account.
	firstPlan = "free"
)

// Deps are the parts that the service is wired to.
type Deps struct {
	DB          *sqlx.DB
	Ledger      *billing.Ledger
	Limiter     *throttle.Limiter
	SignInLimit throttle.Limit // attempts at one password from one address
	WideLimit   throttle.Limit // attempts at any password, and new accounts, from one address
	Admission   Admission
	Mail        Mailer      // nil sends none: no address can be proved then
	Secrets     secret.Ring // what the state of a sign-in at the identity provider is signed under
	OIDC        OIDC
	PublicURL   string // how browsers reach this service: "https://molfabric.example.org"; needed with OIDC and Mail
	Now         func() time.Time
	Operators   []string // addresses of those who run the deployment
	// Storage tells what an account's files take; nil where nobody keeps any.
	Storage func(ctx context.Context, accountID string) (contract.Storage, error)
}

// Service is safe for concurrent use.
type Service struct {
	Deps
	passwords *hasher
	provider  *provider
	flowKeys  [][]byte
}

// New returns the service.
func New(deps Deps) *Service {
	return &Service{Deps: deps, passwords: newHasher(), provider: newProvider(deps.OIDC, deps.PublicURL, deps.Now),
		flowKeys: flowKeys(deps.Secrets)}
}

// startSession lets a browser in; how is for the audit log. Errors: fault.Unauthorized for a locked account.
func (s *Service) startSession(ctx context.Context, tx *sqlx.Tx, accountID, token, how string) error {
	now := s.now()
	locked, err := isLocked(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if locked {
		return ErrLocked
	}
	if err := deleteOldSessions(ctx, tx, accountID, now, maxSessions-1); err != nil {
		return err
	}
	if err := insertSession(ctx, tx, digest(token), accountID, now, now.Add(sessionLife)); err != nil {
		return err
	}
	return s.write(ctx, tx, accountID, auditlog.SignedIn, how)
}

// ErrLocked tells whoever has the right credential of a locked account why it opens nothing.
var ErrLocked = fault.New(fault.Unauthorized, "the account is locked: ask whoever runs this deployment")

// write adds what an account's owner did to the audit log.
func (s *Service) write(ctx context.Context, tx *sqlx.Tx, accountID string, event auditlog.Event, detail string) error {
	return auditlog.Write(ctx, tx, auditlog.Line{At: s.now(), AccountID: accountID, Actor: auditlog.Owner, Event: event,
		Detail:  detail,
		Address: access.Address(ctx)})
}

// SignIn starts a session. Errors: fault.Unauthorized for an unknown address and a wrong password alike, after the same
// time; *throttle.Exceeded after too many attempts.
func (s *Service) SignIn(ctx context.Context, in contract.SignInRequest) (contract.Account, string, error) {
	email := strings.TrimSpace(in.Email)
	if err := s.attempt(ctx, email); err != nil {
		return contract.Account{}, "", err
	}
	account, err := selectByEmail(tenant.Everyone(ctx, "the address tells the account"), s.DB, email)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return contract.Account{}, "", err
	}
	hash := account.PasswordHash
	unknown := hash == "" // no account, or one without a password
	if unknown {
		hash = s.passwords.decoy
	}
	ok, err := s.passwords.matches(ctx, in.Password, hash)
	if err != nil {
		return contract.Account{}, "", err
	}
	if !ok || unknown {
		return contract.Account{}, "", errNotIn
	}
	token := newToken()
	ctx = tenant.With(ctx, account.AccountID)
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if same, err := holdPassword(ctx, tx, account.AccountID, hash); err != nil || !same { // changed while it was compared
			return cmp.Or(err, errNotIn)
		}
		return s.startSession(ctx, tx, account.AccountID, token, "")
	})
	return account.Account, token, err
}

var errNotIn error = fault.New(fault.Unauthorized, "no account has this email with this password")

// attempt counts one attempt at a password: at this one, and at any, because whoever tries one password on a thousand accounts
// tries each only once.
func (s *Service) attempt(ctx context.Context, email string) error {
	if verdict := s.Limiter.Take(ctx, "sign-in:"+access.Address(ctx), s.WideLimit); !verdict.Allowed {
		return verdict.Exceeded("too many attempts to sign in")
	}
	if verdict := s.Limiter.Take(ctx, "sign-in:"+attempts(ctx, email), s.SignInLimit); !verdict.Allowed {
		return verdict.Exceeded("too many attempts at this password")
	}
	return nil
}

// SignOut ends a session. It may be called again.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return deleteSession(ctx, s.DB, digest(token))
}

// Verify returns the account behind a session's token. Errors: fault.Unauthorized.
func (s *Service) Verify(ctx context.Context, token string) (access.Principal, error) {
	now := s.now()
	ctx = tenant.Everyone(ctx, "the token tells the account")
	session, err := selectSession(ctx, s.DB, digest(token), now)
	if errors.Is(err, sql.ErrNoRows) {
		return access.Principal{}, sessionEnded()
	}
	if err != nil {
		return access.Principal{}, err
	}
	if session.Locked {
		return access.Principal{}, ErrLocked
	}
	if now.Sub(session.LastSeenAt) > seenEvery {
		if err := touchSession(ctx, s.DB, digest(token), now); err != nil {
			return access.Principal{}, err
		}
	}
	return access.Principal{AccountID: session.AccountID, Plan: session.Plan, Environment: access.Live, Session: true,
		Operator: s.operates(session)}, nil
}

// operates tells whether a session is of somebody who runs the deployment. An address that was only stated may be anybody's.
func (s *Service) operates(session session) bool {
	theirs := func(email string) bool { return strings.EqualFold(email, session.Email) }
	return session.Proved && slices.ContainsFunc(s.Operators, theirs)
}

// now is the time as Postgres keeps it.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// attempts names what sign-in attempts are counted under, without writing an email into Redis.
func attempts(ctx context.Context, email string) string {
	sum := sha256.Sum256([]byte(access.Address(ctx) + " " + strings.ToLower(email)))
	return hex.EncodeToString(sum[:16])
}

// address returns a plain address of the form name@host. The names of accounts that have lost their address are none: whoever had
// one of them could keep the address from its owner.
func address(text string) (string, error) {
	text = strings.TrimSpace(text)
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" || strings.HasSuffix(strings.ToLower(text), formerDomain) {
		return "", fault.New(fault.Validation, "email: must be an address like ada@example.org")
	}
	return text, nil
}

func newToken() string {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // never fails: the runtime ends the process instead
	return base64.RawURLEncoding.EncodeToString(raw)
}

func digest(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
