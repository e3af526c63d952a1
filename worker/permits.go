package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// maxRefusals is how many permits in a row the store may refuse for one thing: then it is not their age.
	maxRefusals = 3
	// startPatience bounds how long an attempt that has not started waits for a permit. It keeps processors waiting.
	startPatience = 30 * time.Second
	// endPatience is the same for one whose program has ended: its work is kept while schedulers are away.
	endPatience = 24 * time.Hour
	// stopPatience is the same for one that was stopped. What it has used is metered; its log may be missing.
	stopPatience = 10 * time.Second
)

// Files are what an attempt reads and writes in the object store: a *object.Store, for all of them, or the attempt's own permit.
type Files interface {
	object.Getter
	// Put is as that of object.Store.
	Put(ctx context.Context, key string, body io.ReadSeeker, contentType, sha256hex string) (object.Info, error)
}

var (
	_ Files = (*object.Store)(nil)
	_ Files = object.Permit{}
	_ Files = (*permitted)(nil)
)

// permitted are the Files of one attempt by its permit, which the scheduler renews as long as the worker holds the attempt. It
// believes no clock of this machine: the scheduler says when a permit is old, and the store when it is no good.
type permitted struct {
	attempt context.Context // until the attempt is stopped
	ref     queue.Ref
	witness []byte // of its claim
	box     queue.Letterbox
	// prove signs what is asked.
	prove func(queue.Ask) queue.Ask
	log   *slog.Logger

	mu       sync.Mutex
	permit   object.Permit
	refused  bool          // the store has refused this one
	renewed  chan struct{} // closed when another one comes
	patience time.Duration // how long what is refused waits for that
	ask      *queue.Ask    // the last one that was signed
}

// usePermit lets an attempt begin with the permit of its order, or with none, where the worker has not the store's key.
func (w *Worker) usePermit(a *attempt) {
	if w.Objects != nil {
		a.files = w.Objects
		return
	}
	order := a.order
	permit, err := object.ParsePermit(order.Permit)
	if err != nil {
		a.log.Warn("the order's permit is none; another one is asked for", "error", err)
	}
	a.permit = &permitted{attempt: a.ctx, ref: order.Ref(), witness: order.Claim.Witness(), box: w.box, log: a.log, permit: permit,
		renewed: make(chan struct{}), patience: startPatience,
		prove: func(ask queue.Ask) queue.Ask { return ask.Proven(order.Ref(), order.Claim) }}
	a.files = a.permit
}

// Get implements Files.
func (p *permitted) Get(ctx context.Context, key string) (body io.ReadCloser, info object.Info, err error) {
	err = p.try(ctx, func(permit object.Permit) error {
		body, info, err = permit.Get(ctx, key)
		return err
	})
	return body, info, err
}

// Put implements Files.
func (p *permitted) Put(
	ctx context.Context, key string, body io.ReadSeeker, contentType, sha256hex string,
) (info object.Info, err error) {
	start, err := body.Seek(0, io.SeekCurrent)
	if err != nil {
		return object.Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	err = p.try(ctx, func(permit object.Permit) error {
		if _, err := body.Seek(start, io.SeekStart); err != nil {
			return err
		}
		info, err = permit.Put(ctx, key, body, contentType, sha256hex)
		return err
	})
	return info, err
}

// try does something with the newest permit, and again with the next one when the store refuses it.
func (p *permitted) try(ctx context.Context, do func(object.Permit) error) error {
	for refusals := 1; ; refusals++ {
		permit, renewed := p.current()
		err := do(permit)
		if !errors.Is(err, object.ErrRefused) || refusals >= maxRefusals {
			return err
		}
		if waited := p.refuse(ctx, permit, renewed); waited != nil {
			return fmt.Errorf("%w; no other permit came: %w", err, waited)
		}
	}
}

func (p *permitted) current() (object.Permit, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.permit, p.renewed
}

// refuse asks for another permit than this one and waits for it.
func (p *permitted) refuse(ctx context.Context, permit object.Permit, renewed <-chan struct{}) error {
	p.mu.Lock()
	if p.permit == permit {
		p.refused = true
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	p.mu.Unlock()
	defer cancel()
	defer context.AfterFunc(p.attempt, func() { time.AfterFunc(stopPatience, cancel) })()
	select {
	case <-renewed:
		return nil
	case <-ctx.Done():
	}
	if p.attempt.Err() != nil { // it has waited enough
		p.wait(0)
	}
	return ctx.Err()
}

// waitLonger is called when the program starts: from then on there is work to lose.
func (p *permitted) waitLonger() {
	if p != nil {
		p.wait(endPatience)
	}
}

func (p *permitted) wait(patience time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.patience = patience
}

// fresh waits for another permit when this machine's clock says that the one at hand has expired: longer than a transfer may take,
// since a scheduler that is away gives none. With a clock that is wrong it is only a permit more.
func (p *permitted) fresh(ctx context.Context) {
	if p == nil {
		return
	}
	permit, renewed := p.current()
	if time.Now().After(permit.Until()) {
		p.log.Info("waits for a new permit", "until", permit.Until())
		_ = p.refuse(ctx, permit, renewed) // its use will tell
	}
}

// asks is what the next heartbeat says.
func (p *permitted) asks() *queue.Ask {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.permit.Until()
	if p.ask == nil || !p.ask.Until.Equal(until) || p.ask.Refused != p.refused {
		ask := p.prove(queue.Ask{Until: until, Refused: p.refused, Box: p.box.Public()})
		p.ask = &ask
	}
	return p.ask
}

// renew takes a new permit out of what the scheduler has sealed for this worker and this attempt. What is none, or older than one
// at hand that is good, is dropped: everybody who writes to Redis may leave something.
func (p *permitted) renew(sealed []byte) {
	if p == nil {
		return
	}
	text, ok := p.box.Open(p.ref, p.witness, sealed)
	permit, err := object.ParsePermit(text)
	if !ok || err != nil || permit.Until().IsZero() {
		p.log.Warn("a permit that cannot be read was dropped", "error", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.refused && permit.Until().Before(p.permit.Until()) { // one that is refused may be good later than it says: clocks differ
		return
	}
	p.permit, p.refused = permit, false
	close(p.renewed)
	p.renewed = make(chan struct{})
}
