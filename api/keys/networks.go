package keys

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// maxNetworks are kept of a key. One that was used from more is news again where it was used before the last of them.
	maxNetworks = 20
	// seenEvery bounds how often the use of a key from one network is written down.
	seenEvery = time.Hour
	// maxSeen bounds what is remembered of that: some MB. Beyond, it begins anew.
	maxSeen = 50_000
)

// place is a key and a network that it is used from.
type place struct{ keyID, network string }

// noteNetwork writes down from which network a key is used, so that its owner can be told of one that is new. It costs a request a
// look into memory, but for the first one in seenEvery.
func (s *Service) noteNetwork(ctx context.Context, caller access.Principal) error {
	used, now := place{caller.KeyID, access.Network(ctx)}, s.now()
	if used.network == "" || !s.unseen(used, now) {
		return nil
	}
	ctx = tenant.With(ctx, caller.AccountID)
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		return noteNetwork(ctx, tx, caller.AccountID, used.keyID, used.network, now, maxNetworks)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it was revoked a moment ago
	}
	if err != nil {
		s.mu.Lock()
		delete(s.seen, used)
		s.mu.Unlock()
	}
	return err
}

// unseen reports whether a use is to be written down, and says so to one caller alone.
func (s *Service) unseen(used place, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.seen[used]) {
		return false
	}
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[used] = now.Add(seenEvery)
	return true
}
