package throttle

import (
	"sync"

	"github.com/molfabric/molfabric/internal/fault"
)

// Slots bounds what runs at once for long, such as streams and exports: in this process, and of each account. It is safe for
// concurrent use.
type Slots struct {
	what              string // in the plural, for messages: "event streams"
	most, mostAccount int

	mu      sync.Mutex
	total   int
	account map[string]int
}

// NewSlots returns Slots of which none is taken.
func NewSlots(what string, most, mostAccount int) *Slots {
	return &Slots{what: what, most: most, mostAccount: mostAccount, account: map[string]int{}}
}

// Take reserves a slot for an account; the caller must call the release exactly once. Errors: fault.RateLimited when the account
// has too many, fault.ProviderUnavailable when the process has.
func (s *Slots) Take(accountID string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.total >= s.most:
		return nil, fault.New(fault.ProviderUnavailable, "too many %s are open; come back in a few seconds", s.what)
	case s.account[accountID] >= s.mostAccount:
		return nil, fault.New(fault.RateLimited, "at most %d %s of an account may be open at once; close one, or wait for one to end", s.mostAccount, s.what)
	}
	s.total++
	s.account[accountID]++
	return func() { s.release(accountID) }, nil
}

func (s *Slots) release(accountID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.account[accountID]--; s.account[accountID] == 0 {
		delete(s.account, accountID)
	}
}

// Taken is how many slots are taken.
func (s *Slots) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}
