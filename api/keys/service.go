// Package keys makes, lists, revokes and verifies API keys. A key itself is shown once and never stored; the database has
// its HMAC. It holds no browser sessions (api/auth) and judges no operation (api/guard.go).
package keys

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// MaxKeys bounds an account's live keys, and with them the answer of List.
	MaxKeys = 200
	// listedKeys bounds List: as many keys again that have been revoked or have expired; older ones are history.
	listedKeys = 2 * MaxKeys
	// cacheFor is how long a verified key is believed without asking: a revocation elsewhere takes at most this long to arrive.
	cacheFor = time.Second
	// maxCached bounds the cache; a server with more keys in one second starts it anew.
	maxCached = 10_000
	// maxLifeYears bounds how far ahead a key may expire: a longer life is most likely a slip of the pen.
	maxLifeYears = 5
	// usedEvery bounds how often a key's use is written down, and its digest with it.
	usedEvery = time.Minute
)

// Service is safe for concurrent use.
type Service struct {
	db      *sqlx.DB
	secrets secret.Ring
	log     *slog.Logger
	clock   func() time.Time

	mu          sync.Mutex
	revocations int // counts forget, so that no look-up that began before it is remembered after it
	cached      map[[sha256.Size]byte]verified
	seen        map[place]time.Time // until when a key's use from a network need not be written down
}

type verified struct {
	caller access.Principal
	until  time.Time
}

// New returns the service. The secrets key the stored digests: a key whose digest was made under none of them is unknown.
func New(db *sqlx.DB, secrets secret.Ring, log *slog.Logger, now func() time.Time) *Service {
	return &Service{db: db, secrets: secrets, log: log, clock: now, cached: map[[sha256.Size]byte]verified{},
		seen: map[place]time.Time{}}
}

// Create makes a key. Errors: fault.Validation when the account has MaxKeys live ones, or for an expiry out of range.
func (s *Service) Create(ctx context.Context, accountID string, in contract.CreateRequest) (contract.CreatedKey, error) {
	now := s.now()
	expires, err := expiry(in.ExpiresAt, now)
	if err != nil {
		return contract.CreatedKey{}, err
	}
	text := newSecret(in.Environment)
	key := contract.Key{
		ID: id.New("key_"), Name: in.Name, Environment: in.Environment, Scopes: distinct(in.Scopes),
		Prefix: text[:prefixChars], Last4: text[len(text)-4:], CreatedAt: now, ExpiresAt: expires,
	}
	sealed := seal(s.secrets.Sealing(), text)
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		live, err := countLive(ctx, tx, accountID, now)
		if err != nil {
			return err
		}
		if live >= MaxKeys {
			return fault.New(fault.Validation, "the account has %d keys: revoke one first", MaxKeys)
		}
		if err := insert(ctx, tx, accountID, key, digest{sealed[:], s.secrets.ID()}, in.DiscoverySource); err != nil {
			return err
		}
		return s.write(ctx, tx, accountID, auditlog.KeyCreated, key.ID+" "+key.Prefix+"…"+key.Last4)
	})
	if err != nil {
		return contract.CreatedKey{}, err
	}
	s.log.InfoContext(ctx, "key created", "key_id", key.ID, "account_id", accountID, "environment", key.Environment,
		"request_id", access.RequestID(ctx))
	return contract.CreatedKey{Key: key, Secret: text}, nil
}

// expiry returns the time as Postgres keeps it, nil for never. Errors: fault.Validation.
func expiry(asked *time.Time, now time.Time) (*time.Time, error) {
	if asked == nil {
		return nil, nil
	}
	at := asked.UTC().Truncate(time.Microsecond)
	if latest := now.AddDate(maxLifeYears, 0, 0); !at.After(now) || at.After(latest) {
		return nil, fault.New(fault.Validation, "expiresAt: must lie in the future and not after %s", latest.Format(time.RFC3339))
	}
	return &at, nil
}

// distinct returns the scopes in the order given, each once.
func distinct(scopes []string) []string {
	var once []string
	for _, scope := range scopes {
		if !slices.Contains(once, scope) {
			once = append(once, scope)
		}
	}
	return once
}

// List returns the account's keys, newest first.
func (s *Service) List(ctx context.Context, accountID string) ([]contract.Key, error) {
	return selectAll(ctx, s.db, accountID, s.now(), listedKeys)
}

// Revoke ends a key; a second time it answers the same. Errors: fault.NotFound, also for another account's key.
func (s *Service) Revoke(ctx context.Context, accountID, keyID string) (contract.Revocation, error) {
	var at time.Time
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		var err error
		if at, err = revoke(ctx, tx, accountID, keyID, s.now()); err != nil {
			return err
		}
		if err := forgetNetworks(ctx, tx, accountID, keyID); err != nil {
			return err
		}
		return s.write(ctx, tx, accountID, auditlog.KeyRevoked, keyID)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return contract.Revocation{}, fault.New(fault.NotFound, "no such key")
	}
	if err != nil {
		return contract.Revocation{}, err
	}
	s.forget(keyID)
	s.log.InfoContext(ctx, "key revoked", "key_id", keyID, "account_id", accountID, "request_id", access.RequestID(ctx))
	return contract.Revocation{ID: keyID, RevokedAt: at}, nil
}

// Verify returns the caller behind a key, and notes from where the key is used. Errors: fault.Unauthorized, the same for a
// malformed, unknown, expired or revoked one.
func (s *Service) Verify(ctx context.Context, key string) (access.Principal, error) {
	caller, err := s.callerBehind(ctx, key)
	if err != nil {
		return access.Principal{}, err
	}
	if err := s.noteNetwork(ctx, caller); err != nil {
		return access.Principal{}, err
	}
	return caller, nil
}

func (s *Service) callerBehind(ctx context.Context, key string) (access.Principal, error) {
	if !wellFormed(key) {
		return access.Principal{}, unauthorized()
	}
	sealed, now := seal(s.secrets.Sealing(), key), s.now()
	caller, ok, revocations := s.remembered(sealed, now)
	if ok {
		return caller, nil
	}
	ctx = tenant.Everyone(ctx, "the key tells the account")
	row, err := selectValid(ctx, s.db, digests(s.secrets, key), now)
	if errors.Is(err, sql.ErrNoRows) {
		return access.Principal{}, unauthorized()
	}
	if err != nil {
		return access.Principal{}, err
	}
	if row.Locked {
		return access.Principal{}, errLocked
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= usedEvery {
		if err := touch(ctx, s.db, row.ID, digest{sealed[:], s.secrets.ID()}, now, now.Add(-usedEvery)); err != nil {
			return access.Principal{}, err
		}
	}
	caller = access.Principal{
		AccountID: row.AccountID, Plan: row.Plan, KeyID: row.ID, Environment: row.Environment, Scopes: row.Scopes,
	}
	until := now.Add(cacheFor)
	if row.ExpiresAt != nil && row.ExpiresAt.Before(until) {
		until = *row.ExpiresAt
	}
	s.remember(sealed, caller, until, revocations)
	return caller, nil
}

func (s *Service) remembered(sealed [sha256.Size]byte, now time.Time) (caller access.Principal, ok bool, revocations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.cached[sealed]
	return entry.caller, ok && now.Before(entry.until), s.revocations
}

func (s *Service) remember(sealed [sha256.Size]byte, caller access.Principal, until time.Time, revocations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revocations != revocations {
		return
	}
	if len(s.cached) >= maxCached {
		clear(s.cached)
	}
	s.cached[sealed] = verified{caller: caller, until: until}
}

// forget makes a revocation hold on this instance from the moment it is answered.
func (s *Service) forget(keyID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revocations++
	for sealed, entry := range s.cached {
		if entry.caller.KeyID == keyID {
			delete(s.cached, sealed)
		}
	}
}

// now is the time as Postgres keeps it.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// errLocked tells whoever has the key of a locked account why it opens nothing.
var errLocked = fault.New(fault.Unauthorized, "the account is locked: ask whoever runs this deployment")

// write adds what an account's owner did to the audit log.
func (s *Service) write(ctx context.Context, tx *sqlx.Tx, accountID string, event auditlog.Event, detail string) error {
	return auditlog.Write(ctx, tx, auditlog.Line{At: s.now(), AccountID: accountID, Actor: auditlog.Owner, Event: event,
		Detail:  detail,
		Address: access.Address(ctx)})
}

func unauthorized() error {
	return fault.New(fault.Unauthorized, "the API key is malformed, unknown, expired or revoked")
}
