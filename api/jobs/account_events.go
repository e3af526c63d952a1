package jobs

import (
	"context"
	"maps"
	"slices"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/stream"
)

// maxTold bounds what a follower remembers while a transaction lasts that may yet bring an earlier event: of a busy account, some
// minutes.
const maxTold = 10_000

// Follower is one client of all that happens to an account's jobs, a stream.Feed that never ends.
//
// The events of one job are committed in the order of their ids, and those of several are not: a transaction may still be at work
// on an earlier event than the newest that can be read. So the follower remembers what it has told beyond the last id before which
// nothing can come any more. It gives out that id: who comes back with it misses nothing, and may get the last moment's events
// again.
type Follower struct {
	store     store
	accountID string
	release   func()

	settled int64          // nothing new will come up to here
	told    map[int64]bool // what the client has beyond settled
	place   int64          // what a client comes back with
	said    int64          // the place that the client knows
	mark    int64          // becomes settled when all transactions before until have ended
	until   int64
}

// Follow reserves a stream of all that happens to an account's jobs, after lastEventID, or from now on where it is empty. Errors:
// fault.Validation, fault.RateLimited, fault.ProviderUnavailable.
func (s *Service) Follow(ctx context.Context, accountID, lastEvent string) (*Follower, error) {
	after, err := stream.LastEventID(lastEvent)
	if err != nil {
		return nil, err
	}
	f := &Follower{store: s.store, accountID: accountID, settled: after, place: after, said: after, told: map[int64]bool{}}
	if lastEvent == "" {
		if err := f.beginNow(ctx); err != nil {
			return nil, err
		}
	}
	f.release, err = s.streams.Slots.TakeFrom(accountID, access.Address(ctx))
	return f, err
}

// beginNow counts what can be read as told, but not what may come late among the newest of it.
func (f *Follower) beginNow(ctx context.Context) error {
	newest, err := f.store.newestEvents(ctx, f.accountID, eventBatch)
	if err != nil || len(newest) == 0 {
		return err
	}
	if len(newest) == eventBatch {
		f.settled = newest[len(newest)-1]
	}
	for _, eventID := range newest {
		f.told[eventID] = true
	}
	f.place = newest[0]
	return nil
}

// News reads what has happened.
func (f *Follower) News(ctx context.Context) (news []stream.Message, more bool, err error) {
	found, oldest, err := f.store.accountEvents(ctx, f.accountID, f.settled, slices.Collect(maps.Keys(f.told)), eventBatch)
	if err != nil {
		return nil, false, err
	}
	for _, e := range found {
		f.told[e.ID] = true
		news = append(news, stream.Message{ID: f.place, Kind: e.Kind, Body: e.Body})
		f.said = f.place
	}
	more = len(found) == eventBatch
	if !more {
		if err := f.settle(ctx, oldest); err != nil {
			return nil, false, err
		}
	}
	if f.place > f.said {
		news = append(news, stream.Message{ID: f.place})
		f.said = f.place
	}
	return news, more, nil
}

// settle moves on what needs no memory. oldest is the first transaction that was at work when everything was read.
func (f *Follower) settle(ctx context.Context, oldest int64) (err error) {
	if f.mark > f.settled && (oldest >= f.until || len(f.told) > maxTold) {
		f.settled = f.mark
		f.place = max(f.place, f.settled)
		maps.DeleteFunc(f.told, func(eventID int64, _ bool) bool { return eventID <= f.settled })
	}
	if f.mark > f.settled || len(f.told) == 0 {
		return nil
	}
	// A transaction has its number before its events have their ids: whatever has a smaller id than these is of an earlier one.
	f.mark = slices.Max(slices.Collect(maps.Keys(f.told)))
	f.until, err = f.store.transaction(ctx)
	return err
}

// Ended reports that an account goes on.
func (*Follower) Ended(context.Context) (bool, error) { return false, nil }
