// Package previews keeps renderers warm on a worker and has them draw what callers of the API want to see at once. A renderer is
// one sandboxed browser. It serves one account and is ended before its place goes to another; a spare one, which nobody's scene has
// been in, stands ready. The package knows no jobs: previews take no slots and nobody is charged for them.
package previews

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// lookPause is how long to wait where requests wait that no renderer here can serve yet.
	lookPause = 100 * time.Millisecond
	// outagePause is how long to wait where Redis fails.
	outagePause = time.Second
	// answerPatience bounds what is said of a request once its drawing has ended, also while the worker stops.
	answerPatience = 5 * time.Second
)

// Config is what a worker's previews are given.
type Config struct {
	Desk   *preview.Desk
	Runner *sandbox.Runner
	// Keep is how many accounts keep a renderer of their own, which is warm when they ask again; there is one more, the spare. At
	// least 1, at most preview.MaxRenderers - 1.
	Keep int
	// DrawLimit is how long a scene may take before its renderer is ended.
	DrawLimit time.Duration
	Log       *slog.Logger
}

// Service draws previews. Make one with New and call Run once.
type Service struct {
	Config

	mu    sync.Mutex
	taken map[string]preview.Ask // by account: one is drawn at a time
}

// New prepares a service; it starts nothing yet.
func New(cfg Config) *Service {
	return &Service{Config: cfg, taken: map[string]preview.Ask{}}
}

// Run draws previews until the context ends. workerID names the worker to others, and below dir, which is removed at the end, its
// renderers live. On a machine that lacks what a renderer is made of it says so and returns. It returns when no process of it is
// left.
func (s *Service) Run(ctx context.Context, workerID, dir string) {
	pool, err := openPool(ctx, s.Config, dir)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("this worker draws no previews", "reason", err)
		}
		return
	}
	defer pool.close()
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { s.beat(ctx, workerID, pool) })
	s.serve(ctx, pool)
}

// beat says to all that renderers are warm, and which accounts are drawn for.
func (s *Service) beat(ctx context.Context, workerID string, pool *pool) {
	ticker := time.NewTicker(preview.BeatInterval)
	defer ticker.Stop()
	failing := false
	for ctx.Err() == nil {
		pool.retire()
		err := s.Desk.Beat(ctx, workerID, pool.warm(), s.drawing())
		if err != nil && !failing && ctx.Err() == nil {
			s.Log.Warn("callers cannot be told that renderers are warm", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
	defer cancel()
	_ = s.Desk.Beat(leaving, workerID, 0, nil) // else it is forgotten in some seconds
}

// serve takes requests as long as there are renderers for them, until the context ends and the last one is answered.
func (s *Service) serve(ctx context.Context, pool *pool) {
	var drawing sync.WaitGroup
	defer drawing.Wait()
	failing := false
	for ctx.Err() == nil {
		changed := pool.changes()
		accounts, anyone := pool.open()
		if len(accounts) == 0 && !anyone {
			wait(ctx, changed, time.Minute)
			continue
		}
		ask, waiting, err := s.Desk.Take(ctx, accounts, anyone)
		if err == nil && ask == nil && !waiting {
			err = s.Desk.Await(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			s.Log.Warn("previews cannot be taken", "error", err)
		}
		failing = err != nil
		switch {
		case ask != nil:
			r := pool.take(ask.AccountID)
			s.note(*ask, true)
			drawing.Go(func() { s.draw(ctx, pool, r, *ask) })
		case err != nil:
			wait(ctx, nil, outagePause)
		case waiting:
			wait(ctx, changed, lookPause)
		}
	}
}

// draw has one request drawn and answers it. The renderer, which is nil when it has just ended, is given back when it is ready for
// the next scene.
func (s *Service) draw(ctx context.Context, pool *pool, r *renderer, ask preview.Ask) {
	defer s.note(ask, false)
	began := time.Now()
	var png []byte
	var err error = &preview.UnavailableError{RetryAfter: time.Second, Reason: "The renderer has just ended"}
	if r != nil {
		png, err = r.draw(ctx, ask.Request, s.DrawLimit)
	}
	if ctx.Err() != nil && err != nil {
		err = &preview.UnavailableError{RetryAfter: time.Second, Reason: "The worker stops"}
	}
	s.log(ask, time.Since(began), err)
	answering, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
	if failed := s.Desk.Answer(answering, ask, png, err); failed != nil {
		s.Log.Warn("a preview was not delivered", "account", ask.AccountID, "error", failed)
	}
	cancel()
	if r != nil {
		pool.give(r, err == nil && r.settle(ctx))
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
	defer cancel()
	_ = s.Desk.Release(releasing, ask) // else it expires
}

// log tells what became of a request. What a refusal says to its caller may quote the scene, and stays out of the log.
func (s *Service) log(ask preview.Ask, took time.Duration, err error) {
	log := s.Log.With("account", ask.AccountID, "scene_bytes", len(ask.Scene), "wall_ms", took.Milliseconds())
	if err == nil {
		log.Debug("preview drawn")
	} else if _, refused := err.(*preview.RefusedError); refused { //nolint:errorlint // one with a cause beside it is told whole
		log.Debug("preview refused")
	} else {
		log.Warn("preview failed", "error", err)
	}
}

// note keeps which requests are drawn, for the heartbeat.
func (s *Service) note(ask preview.Ask, drawn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drawn {
		ask.Scene = nil // it need not be kept for this
		s.taken[ask.AccountID] = ask
	} else {
		delete(s.taken, ask.AccountID)
	}
}

func (s *Service) drawing() []preview.Ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.taken))
}

// wait returns when the context ends, something has changed, or the time has passed.
func wait(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}
