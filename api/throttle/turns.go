package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// Turns lets what one account asks for happen one at a time in this process, before it takes anything that others need too,
// such as a connection. Accounts do not wait for each other. It is safe for concurrent use.
type Turns struct {
	what     string // in the plural, for messages: "uploads"
	most     int
	patience time.Duration

	mu    sync.Mutex
	lines map[string]*line
}

// line is what waits of one account, and what is at work. It is there as long as something stands in it.
type line struct {
	first  chan struct{}
	length int
}

// NewTurns returns Turns of which most may wait for each account, none of them longer than patience.
func NewTurns(what string, most int, patience time.Duration) *Turns {
	return &Turns{what: what, most: most, patience: patience, lines: map[string]*line{}}
}

// Take waits for an account's turn; the caller must call the release exactly once. Errors: fault.RateLimited when too many
// of the account wait, or for too long; the context's.
func (t *Turns) Take(ctx context.Context, accountID string) (release func(), err error) {
	l, err := t.join(accountID)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(t.patience)
	defer late.Stop()
	select {
	case l.first <- struct{}{}:
		return func() { <-l.first; t.leave(accountID) }, nil
	case <-late.C:
		err = t.Busy()
	case <-ctx.Done():
		err = fmt.Errorf("wait for the account's other %s: %w", t.what, ctx.Err())
	}
	t.leave(accountID)
	return nil, err
}

// Busy is the answer to whoever has waited too long.
func (t *Turns) Busy() error {
	return fault.New(fault.RateLimited,
		"the account's other %s are being taken: send fewer at once, and try this one again in a few seconds", t.what)
}

func (t *Turns) join(accountID string) (*line, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[accountID]
	switch {
	case l == nil:
		l = &line{first: make(chan struct{}, 1)}
		t.lines[accountID] = l
	case l.length >= t.most:
		return nil, t.Busy()
	}
	l.length++
	return l, nil
}

func (t *Turns) leave(accountID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lines[accountID]; l.length == 1 {
		delete(t.lines, accountID)
	} else {
		l.length--
	}
}
