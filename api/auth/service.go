// Package auth holds sign-up, sign-in and browser sessions. A session is an opaque random token: the browser has it in a
// cookie, the database has its SHA-256. It holds no API keys (api/keys) and judges no operation (api/guard.go).
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
)

const (
	// CookieName is the cookie of a browser session.
	CookieName = "molfabric_session"
	// sessionLife is how long a browser stays signed in.
	sessionLife = 30 * 24 * time.Hour
	// seenEvery bounds how often a session's use is written down.
	seenEvery = time.Minute
	// tokenBytes of randomness cannot be guessed.
	tokenBytes = 32
	// firstPlan is the plan of a new account.
	firstPlan = "free"
)

// Deps are the parts that the service is wired to.
type Deps struct {
	DB            *sqlx.DB
	Ledger        *billing.Ledger
	Limiter       *throttle.Limiter
	SignInLimit   throttle.Limit
	SecureCookies bool
	Now           func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	Deps
	passwords *hasher
}

// New returns the service.
func New(deps Deps) *Service { return &Service{Deps: deps, passwords: newHasher()} }

// SignUp opens an account with its credit and returns it with a new session. Errors: fault.Validation for an address that is
// none, or that has an account already.
func (s *Service) SignUp(ctx context.Context, in SignUpRequest) (Account, string, error) {
	email, err := address(in.Email)
	if err != nil {
		return Account{}, "", err
	}
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name, _, _ = strings.Cut(email, "@")
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return Account{}, "", err
	}
	account := Account{AccountID: id.New("acct_"), Email: email, Name: name, Plan: firstPlan, CreatedAt: s.now()}
	token := newToken()
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if err := insertAccount(ctx, tx, account, hash); err != nil {
			return err
		}
		if err := s.Ledger.OpenAccount(ctx, tx, account.AccountID, account.Plan, account.CreatedAt); err != nil {
			return err
		}
		return insertSession(ctx, tx, digest(token), account.AccountID, account.CreatedAt, account.CreatedAt.Add(sessionLife))
	})
	if postgres.IsUniqueViolation(err, "accounts_email") {
		return Account{}, "", fault.New(fault.Validation, "email: an account with this address exists already; sign in instead")
	}
	return account, token, err
}

// SignIn starts a session. Errors: fault.Unauthorized for an unknown address and a wrong password alike, after the same
// time; *throttle.Exceeded after too many attempts.
func (s *Service) SignIn(ctx context.Context, in SignInRequest) (Account, string, error) {
	email := strings.TrimSpace(in.Email)
	if verdict := s.Limiter.Take(ctx, "sign-in:"+attempts(ctx, email), s.SignInLimit); !verdict.Allowed {
		return Account{}, "", verdict.Exceeded("too many attempts at this password")
	}
	account, hash, err := selectByEmail(ctx, s.DB, email)
	unknown := errors.Is(err, sql.ErrNoRows)
	if unknown {
		hash = s.passwords.decoy
	} else if err != nil {
		return Account{}, "", err
	}
	ok, err := s.passwords.matches(ctx, in.Password, hash)
	if err != nil {
		return Account{}, "", err
	}
	if !ok || unknown {
		return Account{}, "", fault.New(fault.Unauthorized, "no account has this email with this password")
	}
	token, now := newToken(), s.now()
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		if err := deleteExpiredSessions(ctx, tx, account.AccountID, now); err != nil {
			return err
		}
		return insertSession(ctx, tx, digest(token), account.AccountID, now, now.Add(sessionLife))
	})
	return account, token, err
}

// SignOut ends a session. It may be called again.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return deleteSession(ctx, s.DB, digest(token))
}

// Verify returns the account behind a session's token. Errors: fault.Unauthorized.
func (s *Service) Verify(ctx context.Context, token string) (access.Principal, error) {
	now := s.now()
	session, err := selectSession(ctx, s.DB, digest(token), now)
	if errors.Is(err, sql.ErrNoRows) {
		return access.Principal{}, fault.New(fault.Unauthorized, "the session has ended: sign in again")
	}
	if err != nil {
		return access.Principal{}, err
	}
	if now.Sub(session.LastSeenAt) > seenEvery {
		if err := touchSession(ctx, s.DB, digest(token), now); err != nil {
			return access.Principal{}, err
		}
	}
	return access.Principal{AccountID: session.AccountID, Plan: session.Plan, Environment: access.Live, Session: true}, nil
}

// now is the time as Postgres keeps it.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

func (s *Service) cookie(token string) http.Cookie {
	return http.Cookie{
		Name: CookieName, Value: token, Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, Secure: s.SecureCookies, SameSite: http.SameSiteLaxMode,
	}
}

func (s *Service) endedCookie() http.Cookie {
	ended := s.cookie("")
	ended.MaxAge = -1
	return ended
}

// attempts names what sign-in attempts are counted under, without writing an email into Redis.
func attempts(ctx context.Context, email string) string {
	sum := sha256.Sum256([]byte(access.Address(ctx) + " " + strings.ToLower(email)))
	return hex.EncodeToString(sum[:16])
}

// address returns a plain address of the form name@host.
func address(text string) (string, error) {
	text = strings.TrimSpace(text)
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" {
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
