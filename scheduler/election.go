package scheduler

import (
	"context"
	"database/sql"
	"fmt"
)

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
		conn.Close()
		return nil, fmt.Errorf("ask for the lead: %w", err)
	}
	if !won {
		conn.Close()
		return nil, nil
	}
	return &lease{conn: conn}, nil
}

// keep returns when the connection, and with it the lead, is lost or the context ends.
func (l *lease) keep(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, electionInterval)
		if ctx.Err() == nil && l.conn.PingContext(ctx) != nil {
			return
		}
	}
}

// release gives the lead back. The context may have ended by now.
func (l *lease) release() {
	ctx, cancel := context.WithTimeout(context.Background(), electionInterval)
	defer cancel()
	// A failure is fine: the lock ends with the connection.
	_, _ = l.conn.ExecContext(ctx, `SELECT pg_advisory_unlock(`+leadLock+`)`)
	l.conn.Close()
}
