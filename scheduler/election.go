package scheduler

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// keepTimeout is how long the connection that holds the lead may stay silent. Without it a leader that is cut off from Postgres
// would take itself for the leader until the kernel gives the connection up, many minutes later.
const keepTimeout = 3 * time.Second

// leadLock is the advisory lock that the leading scheduler holds, one a schema: the hash of the schema's name makes two
// deployments in one database independent.
const leadLock = `hashtext('molfabric scheduler ' || current_schema())`

// lease is the lead: a connection that holds the advisory lock. The lock goes with the connection, so a dead leader's is free
// at once.
type lease struct{ conn *sql.Conn }

// elect tries to take the lead and returns nil when another has it.
func (s *Scheduler) elect(ctx context.Context) (*lease, error) {
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect for the election: %w", err)
	}
	var won bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(`+leadLock+`)`).Scan(&won); err != nil {
		(&lease{conn}).release() // the answer alone may have been lost
		return nil, fmt.Errorf("ask for the lead: %w", err)
	}
	if !won {
		conn.Close()
		return nil, nil
	}
	return &lease{conn: conn}, nil
}

// Led tells whether any scheduler of the deployment leads.
func (s *Scheduler) Led(ctx context.Context) (led bool, err error) {
	// How the server shows an advisory lock of one number: its upper half, its lower half, and 1.
	err = s.DB.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (classid::bigint << 32 | objid::bigint) = `+leadLock+`::bigint)`).Scan(&led)
	if err != nil {
		return false, fmt.Errorf("ask who leads: %w", err)
	}
	return led, nil
}

// keep returns when the connection, and with it the lead, is lost or the context ends.
func (l *lease) keep(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, electionInterval)
		if !l.alive(ctx) {
			return
		}
	}
}

func (l *lease) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	return l.conn.PingContext(ctx) == nil
}

// release gives the lead back by ending the connection. Put back into the pool, it might take the lock along.
func (l *lease) release() {
	_ = l.conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool close it
	l.conn.Close()
}
