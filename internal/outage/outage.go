// Package outage tells a store that is away for the moment from one that refuses what it is asked, and waits for the former.
package outage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/object"
)

// Is reports whether err says that Postgres, Redis or the object store is away, rather than that it refused something.
func Is(err error) bool {
	var (
		network net.Error
		refused *pq.Error
	)
	switch {
	case err == nil:
		return false
	case errors.As(err, &refused):
		switch refused.Code.Class() {
		case "08", "53", "57", "58": // connection, resources, operator intervention, system error
			return true
		}
		return false
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, net.ErrClosed),
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, object.ErrUnavailable):
		return true
	case errors.As(err, &network):
		return true
	case strings.Contains(err.Error(), "sql: database is closed"): // database/sql exports no value for it
		return true
	default:
		return redis.HasErrorPrefix(err, "LOADING") || redis.HasErrorPrefix(err, "MASTERDOWN")
	}
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// Outlast calls try until it returns something else than an outage, and returns that. told hears of each outage before the pause
// that follows it. The outage itself is returned when it lasts longer than patience, or the context ends.
func Outlast(ctx context.Context, patience time.Duration, told func(error), try func() error) error {
	until := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := try()
		if !Is(err) || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return err
		}
		told(err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}
