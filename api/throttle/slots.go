package throttle

import (
	"sync"

	"github.com/molfabric/molfabric/internal/fault"
)

// Slots bounds what runs at once for long, such as streams and exports: in this process, of each account and, where OfAddress
// says so, of each network address. It is safe for concurrent use.
type Slots struct {
	what              string // in the plural, for messages: "event streams"
	most, mostAccount int
	mostAddress       int // 0 bounds no address

	mu      sync.Mutex
	total   int
	account map[string]int
	address map[string]int
}

// NewSlots returns Slots of which none is taken.
func NewSlots(what string, most, mostAccount int) *Slots {
	return &Slots{what: what, most: most, mostAccount: mostAccount, account: map[string]int{}, address: map[string]int{}}
}

// OfAddress bounds what one network address may take, whatever accounts it comes with, and returns the slots. It is called before
// the first of them is taken.
func (s *Slots) OfAddress(most int) *Slots {
	s.mostAddress = most
	return s
}

// Take reserves a slot for an account; the caller must call the release exactly once. Errors: fault.RateLimited when the account
// has too many, fault.ProviderUnavailable when the process has.
func (s *Slots) Take(accountID string) (release func(), err error) { return s.TakeFrom(accountID, "") }

// TakeFrom is Take for a caller at a network address; "" is none. Errors: fault.RateLimited, also when the address has too many;
// fault.ProviderUnavailable.
func (s *Slots) TakeFrom(accountID, address string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bounded := address != "" && s.mostAddress > 0
	switch {
	case s.total >= s.most:
		return nil, fault.New(fault.ProviderUnavailable, "too many %s are open; come back in a few seconds", s.what)
	case s.account[accountID] >= s.mostAccount:
		return nil, fault.New(fault.RateLimited, "at most %d %s of an account may be open at once; close one, or wait for "+
			"one to end", s.mostAccount, s.what)
	case bounded && s.address[address] >= s.mostAddress:
		return nil, fault.New(fault.RateLimited, "at most %d %s may be open at once from one address; close one, or wait for "+
			"one to end", s.mostAddress, s.what)
	}
	s.total++
	s.account[accountID]++
	if bounded {
		s.address[address]++
	}
	return func() { s.release(accountID, address, bounded) }, nil
}

func (s *Slots) release(accountID, address string, bounded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	fewer(s.account, accountID)
	if bounded {
		fewer(s.address, address)
	}
}

func fewer(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// Taken is how many slots are taken.
func (s *Slots) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}
