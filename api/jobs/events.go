package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/api/stream"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// eventBatch bounds the events read at once.
const eventBatch = 200

// terminal reports whether a run of the job ended with this event.
func (e event) terminal() bool {
	var body contract.StatusEvent
	return e.Kind == "status" && json.Unmarshal(e.Body, &body) == nil && body.Status.Terminal()
}

// followed is the end of a run that a retry has followed: the job did not end with it.
func (e event) followed() (event, error) {
	var body contract.StatusEvent
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return event{}, fmt.Errorf("reading event %d: %w", e.ID, err)
	}
	body.Terminal = false
	text, err := json.Marshal(body)
	e.Body = text
	return e, err
}

// Watcher is one client of one job's events, a stream.Feed.
type Watcher struct {
	store            store
	accountID, jobID string
	after            int64 // id of the last event that the client has
	release          func()
}

// News reads the next events. The last one is that which ended the job.
func (w *Watcher) News(ctx context.Context) (news []stream.Message, more bool, err error) {
	events, err := w.store.events(ctx, w.accountID, w.jobID, w.after, eventBatch)
	if err != nil {
		return nil, false, err
	}
	for _, e := range events {
		w.after = e.ID
		last := e.terminal()
		if last {
			if e, last, err = w.end(ctx, e); err != nil {
				return nil, false, err
			}
		}
		news = append(news, stream.Message{ID: e.ID, Kind: e.Kind, Body: e.Body, Last: last})
	}
	return news, len(events) == eventBatch, nil
}

// end looks whether the job ended with a terminal event, or was retried since, and returns the event as it is to be told.
func (w *Watcher) end(ctx context.Context, e event) (event, bool, error) {
	last, err := w.Ended(ctx)
	if err != nil || last {
		return e, last, err
	}
	e, err = e.followed()
	return e, false, err
}

// Ended reports whether the job has ended and the client has every event of it.
func (w *Watcher) Ended(ctx context.Context) (bool, error) {
	status, err := w.store.status(ctx, w.accountID, w.jobID)
	if err != nil || !job.Status(status).Terminal() {
		return false, err
	}
	rest, err := w.store.events(ctx, w.accountID, w.jobID, w.after, 1)
	return len(rest) == 0, err
}
