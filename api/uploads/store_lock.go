package uploads

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// maxHeld bounds the locks of one kind that an instance holds, each with a connection of the pool's 24.
	maxHeld = 4
	// lockPatience is how long a request waits for another that works on the same file: less than common proxies' 60 s.
	lockPatience = 45 * time.Second
	// lockPause is the first pause between two tries, lockPauseMax the longest.
	lockPause, lockPauseMax = 10 * time.Millisecond, 500 * time.Millisecond
	// unlockPatience bounds the return of a lock, which the server does at once.
	unlockPatience = 5 * time.Second
	// keyLock is the advisory lock of one storage key, named with the schema so that two deployments in one database are
	// independent. Unequal keys with one lock merely wait for each other.
	keyLock = `hashtextextended('molfabric upload ' || current_schema() || ' ' || $1, 0)`
	// sweepLock is the advisory lock of the one instance that cleans up.
	sweepLock = `hashtextextended('molfabric uploads sweep ' || current_schema(), 0)`
)

// lock is an advisory lock on a connection of its own: it ends with the connection, so that a dead holder's is free at once, and
// no transaction stays open for as long as a large file is read.
type lock struct{ conn *sql.Conn }

// release gives the lock back, if need be by ending its connection: put back into the pool, it must not take the lock along.
func (l *lock) release() {
	ctx, cancel := context.WithTimeout(tenant.Nobody(context.Background()), unlockPatience)
	defer cancel()
	if _, err := l.conn.ExecContext(ctx, `SELECT pg_advisory_unlock_all()`); err != nil {
		_ = l.conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool close it
	}
	l.conn.Close()
}

// try takes a lock and returns nil when another has it.
func (s store) try(ctx context.Context, name string, args ...any) (*lock, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect for a lock: %w", err)
	}
	var won bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(`+name+`)`, args...).Scan(&won); err != nil {
		(&lock{conn}).release() // the answer alone may have been lost
		return nil, fmt.Errorf("ask for a lock: %w", err)
	}
	if !won {
		conn.Close()
		return nil, nil
	}
	return &lock{conn: conn}, nil
}

// hold takes the lock of a storage key, within a slot of the instance's bounded number, and waits for both. Who waits holds
// neither, so that many callers for one file do not keep those for others out.
//
// Errors: fault.ProviderUnavailable when others work on the file, or on too many, for longer than lockPatience.
func (s store) hold(ctx context.Context, slots chan struct{}, storageKey string) (release func(), err error) {
	late := time.NewTimer(lockPatience)
	defer late.Stop()
	busy := fault.New(fault.ProviderUnavailable, "another request is at work on this file; try again, the work goes on")
	for pause := lockPause; ; pause = min(2*pause, lockPauseMax) {
		select {
		case slots <- struct{}{}:
		case <-late.C:
			return nil, busy
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		held, err := s.try(ctx, keyLock, storageKey)
		if held != nil {
			return func() { held.release(); <-slots }, nil
		}
		<-slots
		if err != nil {
			return nil, err
		}
		tick := time.NewTimer(pause)
		select {
		case <-tick.C:
		case <-late.C:
			tick.Stop()
			return nil, busy
		case <-ctx.Done():
			tick.Stop()
			return nil, ctx.Err()
		}
	}
}
