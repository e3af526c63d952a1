package api

import (
	"context"
	"sync"
)

// inFlight counts running handlers, so that a shutdown can let them finish before it ends the context that they share with
// the event streams. A stream's handler returns when the stream begins and is not counted. The zero value is ready.
type inFlight struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // not nil while somebody waits; closed when n is 0
}

func (f *inFlight) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

func (f *inFlight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait returns when no handler runs, or when ctx is done.
func (f *inFlight) wait(ctx context.Context) {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
