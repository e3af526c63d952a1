package previews

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/molfabric/molfabric/engines/render/warm"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// idleLimit is how long an account keeps a renderer that it does not use: a second preview of one sitting comes sooner.
	idleLimit = 5 * time.Minute
	// maxScenes bounds what a browser draws in its life, so that what leaks in it does not grow for ever.
	maxScenes = 200
	// startLag is how long a renderer that draws has the processor for itself before the next spare one is started beside it, which
	// takes five seconds of a core. Nearly all scenes are drawn by then.
	startLag = 3 * time.Second
	// startPause is the first pause after a start that failed; it doubles up to startPauseMax.
	startPause, startPauseMax = 2 * time.Second, 5 * time.Minute
)

// phase is what a renderer is at.
type phase int

const (
	warming phase = iota
	idle
	busy
	ending
)

// pool is the renderers of a worker. One of them nobody has used, or it is being started; the others are accounts' own.
type pool struct {
	cfg     Config
	dir     string
	size    int
	ctx     context.Context // its end is that of all renderers
	end     context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	renderers []*renderer
	changed   chan struct{} // closed, and replaced, at every change
	numbers   int
	failures  int // starts in a row that failed
	notBefore time.Time
}

// openPool has the first renderer started. It fails when the machine lacks what a renderer is made of.
func openPool(ctx context.Context, cfg Config, dir string) (*pool, error) {
	if _, err := cfg.Runner.Versions(ctx, warm.Probe()); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for renderers: %w", err)
	}
	p := &pool{cfg: cfg, dir: dir, size: cfg.Keep + 1, changed: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(ctx)
	p.retire()
	return p, nil
}

// tend has a spare renderer: it starts one, or ends the one that its account has not used for longest to make room. The caller
// holds the lock.
func (p *pool) tend() {
	spare := func(r *renderer) bool { return r.account == "" && r.phase != ending }
	if p.ctx.Err() != nil || slices.ContainsFunc(p.renderers, spare) {
		return
	}
	if len(p.renderers) < p.size {
		drawing := slices.ContainsFunc(p.renderers, func(r *renderer) bool {
			return r.phase == busy && time.Since(r.since) < startLag
		})
		if !drawing && !time.Now().Before(p.notBefore) {
			p.start()
		}
		return
	}
	if slices.ContainsFunc(p.renderers, func(r *renderer) bool { return r.phase == ending }) {
		return // its place will do
	}
	var longest *renderer
	for _, r := range p.renderers {
		if r.phase == idle && (longest == nil || r.since.Before(longest.since)) {
			longest = r
		}
	}
	if longest != nil {
		longest.stop()
	}
}

// start starts a renderer and looks after it until its end. The caller holds the lock.
func (p *pool) start() {
	p.numbers++
	r := newRenderer(p.ctx, p.numbers, filepath.Join(p.dir, strconv.Itoa(p.numbers)))
	p.renderers = append(p.renderers, r)
	began := time.Now()
	p.running.Go(func() {
		r.run(p.cfg.Runner, func() { p.ready(r, time.Since(began)) })
		p.gone(r)
	})
}

// ready is called when a renderer is warm.
func (p *pool) ready(r *renderer, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.phase != warming {
		return
	}
	r.phase, p.failures = idle, 0
	p.cfg.Log.Info("renderer for previews is warm", "renderer", r.number, "wall_ms", took.Milliseconds())
	p.tell()
}

// gone is called when no process of a renderer is left.
func (p *pool) gone(r *renderer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renderers = slices.DeleteFunc(p.renderers, func(other *renderer) bool { return other == r })
	if r.phase == warming && p.ctx.Err() == nil {
		pause := min(startPause<<min(p.failures, 10), startPauseMax)
		p.failures++
		p.notBefore = time.Now().Add(pause)
		p.cfg.Log.Warn("a renderer for previews did not get warm", "renderer", r.number, "error", r.err, "again_after", pause)
	}
	p.cfg.Log.Debug("renderer for previews has ended", "renderer", r.number, "drawn", r.drawn, "peak_memory_bytes", r.peakBytes)
	p.tend()
	p.tell()
}

// tell wakes all that wait for a change. The caller holds the lock.
func (p *pool) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// changes returns a channel that is closed at the next change.
func (p *pool) changes() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// open tells for whom a scene could be drawn at once: for the accounts that have an idle renderer, and whether for anyone.
func (p *pool) open() (accounts []string, anyone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.renderers {
		switch {
		case r.phase != idle:
		case r.account == "":
			anyone = true
		default:
			accounts = append(accounts, r.account)
		}
	}
	return accounts, anyone
}

// warm counts the renderers that draw, or could at once.
func (p *pool) warm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := 0
	for _, r := range p.renderers {
		if r.phase == idle || r.phase == busy {
			count++
		}
	}
	return count
}

// take returns the account's own idle renderer, or the spare one, which is the account's from now on; nil when there is neither.
func (p *pool) take(account string) *renderer {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, owner := range []string{account, ""} {
		at := slices.IndexFunc(p.renderers, func(r *renderer) bool { return r.phase == idle && r.account == owner })
		if at < 0 {
			continue
		}
		r := p.renderers[at]
		r.account, r.phase, r.since = account, busy, time.Now()
		p.tell()
		return r
	}
	return nil
}

// give takes a renderer back. One that is not clean is ended.
func (p *pool) give(r *renderer, clean bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.drawn++
	r.since = time.Now()
	if clean && r.drawn < maxScenes && r.phase == busy {
		r.phase = idle
	} else {
		r.stop()
	}
	p.tend()
	p.tell()
}

// retire ends renderers whose accounts have not used them for long, and starts a spare one where none is and it is time to. It is
// to be called about every second.
func (p *pool) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.renderers {
		if r.phase == idle && r.account != "" && time.Since(r.since) > idleLimit {
			r.stop()
		}
	}
	p.tend()
}

// close ends all renderers and returns when no process of them is left.
func (p *pool) close() {
	p.end()
	p.running.Wait()
	if err := sandbox.RemoveTree(p.dir); err != nil {
		p.cfg.Log.Warn("directory of renderers left behind; the next worker removes it", "error", err)
	}
}
