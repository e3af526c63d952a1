package auth

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// hashedAtOnce bounds memory (19 MiB each) and cores that passwords can take from everything else.
	hashedAtOnce = 2
	// hashWait bounds the wait for a turn: whoever waits longer is asked to come back.
	hashWait = 5 * time.Second
	// maxWaiting bounds those who wait, and maxLine those of one address: a class that signs in together gets in, in its turn.
	maxWaiting = 256
	maxLine    = 16
)

// turns gives out turns at hashing passwords. Each address has a line of its own, of which only the first waits for a turn, so
// that between two turns of one address every other that waits gets one: many passwords from one place cost the others one hash,
// not many. It is safe for concurrent use.
type turns struct {
	slots chan struct{}

	mu      sync.Mutex
	waiting int
	lines   map[string]*line
}

// line is who comes from one address. It is there as long as somebody stands in it.
type line struct {
	first  chan struct{} // holds a token while somebody of the line waits for a slot or has one
	length int
}

func newTurns() *turns {
	return &turns{slots: make(chan struct{}, hashedAtOnce), lines: map[string]*line{}}
}

// take waits for a turn; the caller must call the release exactly once. Errors: fault.RateLimited when too many of the address
// wait, fault.ProviderUnavailable when too many wait altogether, or for too long; the context's.
func (t *turns) take(ctx context.Context, address string) (release func(), err error) {
	l, err := t.join(address)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(hashWait)
	defer late.Stop()
	if err := enter(ctx, l.first, late.C); err != nil {
		t.leave(address)
		return nil, err
	}
	if err := enter(ctx, t.slots, late.C); err != nil {
		<-l.first
		t.leave(address)
		return nil, err
	}
	return func() {
		<-t.slots
		<-l.first
		t.leave(address)
	}, nil
}

// enter waits for a place in a channel that has as many as may be there at once.
func enter(ctx context.Context, places chan struct{}, late <-chan time.Time) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-late:
		return errTooMany
	case <-ctx.Done():
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

var errTooMany = fault.New(fault.ProviderUnavailable, "too many people sign in at this moment: try again")

func (t *turns) join(address string) (*line, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[address]
	switch {
	case l != nil && l.length >= maxLine:
		return nil, fault.New(fault.RateLimited, "%d passwords from this address wait to be checked: send one after the other",
			maxLine)
	case t.waiting >= maxWaiting:
		return nil, errTooMany
	case l == nil:
		l = &line{first: make(chan struct{}, 1)}
		t.lines[address] = l
	}
	l.length++
	t.waiting++
	return l, nil
}

func (t *turns) leave(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
	if l := t.lines[address]; l.length == 1 {
		delete(t.lines, address)
	} else {
		l.length--
	}
}
