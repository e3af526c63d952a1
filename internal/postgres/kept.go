package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/lib/pq"
)

const (
	// mostKept bounds the statements that a connection keeps; the server holds some tens of kilobytes for each.
	mostKept = 128
	// mostSeen bounds those that it remembers having run: lists with many filters are told apart by their texts.
	mostSeen = 4 * mostKept
)

// keptStatements are those that a connection has run before, as the server has read them: much of what a small statement takes is
// to be read and rewritten. A statement is kept when it comes for the second time, so that those that are made up for one request
// leave no trace. None is let go before its connection, which lives for maxConnAge.
type keptStatements struct {
	seen map[string]bool
	kept map[string]preparedSession
}

// keep returns a statement that is kept, or nil for one that is not. The server reads it anew for another role.
func (c *conn) keep(ctx context.Context, query string, args []driver.NamedValue) (preparedSession, error) {
	k := &c.statements
	if kept := k.kept[query]; kept != nil {
		return kept, nil
	}
	if len(args) == 0 { // one simple message
		return nil, nil
	}
	if k.seen == nil {
		k.seen, k.kept = map[string]bool{}, map[string]preparedSession{}
	}
	if !k.seen[query] {
		if len(k.seen) < mostSeen {
			k.seen[query] = true
		}
		return nil, nil
	}
	if len(k.kept) >= mostKept {
		return nil, nil
	}
	made, err := c.session.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	prepared, ok := made.(preparedSession)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of the driver is a %T, which lacks contexts", made), made.Close())
	}
	k.kept[query] = prepared
	return prepared, nil
}

// outdated has the pool throw a connection away whose kept statement no longer fits the schema, because a migration has changed it
// in the meantime. Outside a transaction the pool then runs the statement on another one by itself; InTx begins anew.
func (c *conn) outdated(err error) error {
	if !isOutdated(err) {
		return err
	}
	c.unsure = true
	if c.inTx {
		return err
	}
	return driver.ErrBadConn // nothing was done
}

// isOutdated tells whether the server refused a statement that it had planned for another schema.
func isOutdated(err error) bool {
	refusal := (*pq.Error)(nil)
	return errors.As(err, &refusal) && refusal.Code == featureNotSupported &&
		refusal.Message == "cached plan must not change result type"
}
