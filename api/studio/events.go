package studio

import (
	"context"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/stream"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// eventBatch bounds the messages read at once.
	eventBatch = 50
	// messageEvent is the kind of an event that tells of a message.
	messageEvent = "message"
)

// watcher is one client of one session's messages, a stream.Feed.
type watcher struct {
	store                store
	accountID, sessionID string
	after                int64 // number of the last message that the client has
	release              func()
}

// watch reserves a stream of a session. Errors: fault.NotFound, fault.Validation, fault.RateLimited.
func (s *Service) watch(ctx context.Context, accountID, sessionID, lastEvent string) (*watcher, error) {
	after, err := stream.LastEventID(lastEvent)
	if err != nil {
		return nil, err
	}
	w := &watcher{store: s.store, accountID: accountID, sessionID: sessionID, after: after}
	if gone, err := w.Ended(ctx); err != nil || gone {
		if err == nil {
			err = fault.New(fault.NotFound, "no such session")
		}
		return nil, err
	}
	w.release, err = s.streams.Slots.TakeFrom(accountID, access.Address(ctx))
	return w, err
}

// News reads the next messages.
func (w *watcher) News(ctx context.Context) (news []stream.Message, more bool, err error) {
	rows, err := w.store.after(ctx, w.accountID, w.sessionID, w.after, eventBatch)
	if err != nil {
		return nil, false, err
	}
	for _, row := range rows {
		w.after = row.Number
		news = append(news, stream.Message{ID: row.Number, Kind: messageEvent, Body: row.Body})
	}
	return news, len(rows) == eventBatch, nil
}

// Ended tells whether the session was deleted.
func (w *watcher) Ended(ctx context.Context) (bool, error) {
	found, err := w.store.exists(ctx, w.accountID, w.sessionID)
	return !found, err
}
