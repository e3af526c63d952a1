package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
)

// Errors that the simulation puts in the way of the product.
var (
	errConnection = errors.New("the connection was lost")
	errQueueAway  = errors.New("the queue does not answer")
	errDeadlock   = errors.New("deadlock detected")
)

// crashed unwinds a process that is killed. Nobody but the runtime of this file recovers it.
type crashed struct{}

// process is one operation of the product that is under way: a leader's step, or a request to an API. It runs on a coroutine of its
// own, stops at every call of a store or a queue, and goes on when the history says so; never do two run at the same moment.
type process struct {
	name  string
	at    string // the call at which it has stopped
	home  *instance
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	waitsFor string // the key of a row that another transaction has locked; "" otherwise
	inject   error  // what its next call answers
	excused  bool   // something was put in its way: it may fail
	stalled  int    // steps of the history for which it does not go on
	fate     fate   // what happens to it at its call number fateAt
	fateAt   int
	calls    int
	done     bool
	ended    func(err error) // called by the history when it has ended by itself
	err      error
}

// fate is what a process meets at a call that the history has chosen for it before.
type fate int

const (
	untroubled fate = iota
	cutOff          // its connection is lost: what it asks for is not done, or done and not answered
	struckDown      // its instance crashes
	givenUp         // its next transaction is undone for another's sake, and runs again
)

// giveUp is the name under which givenUp can be left out of a history; the others go by the actions that do the same.
const giveUp = "give up"

// maxFateAt is about how many calls the longest operations make.
const maxFateAt = 40

// start makes an operation a process. It does not run yet.
func (h *history) start(home *instance, name string, do func(ctx context.Context) error, ended func(err error)) *process {
	p := &process{name: name, at: "start", home: home, ended: ended}
	ctx := home.ctx
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if fallen := recover(); fallen != nil {
				if _, killed := fallen.(crashed); !killed {
					h.violate("%s panicked: %v\n%s", name, fallen, debug.Stack())
				}
			}
		}()
		p.yield = yield
		p.err = do(ctx)
	})
	switch {
	case h.healing:
	case h.chance(1, 12) && !h.without["cut"]:
		p.fate, p.fateAt = cutOff, h.between(1, maxFateAt)
	case h.chance(1, 12) && !h.without["crash"]:
		p.fate, p.fateAt = struckDown, h.between(1, maxFateAt)
	case h.chance(1, 12) && !h.without[giveUp]:
		p.fate = givenUp
	}
	h.processes = append(h.processes, p)
	h.note("start", name, home.name)
	return p
}

// resume lets a process run until its next call.
func (h *history) resume(p *process) {
	h.note("run", p.name, p.at)
	h.current = p
	_, more := p.next()
	h.current = nil
	switch {
	case !more:
		h.remove(p)
		h.finished(p)
	case p.fate == struckDown && p.calls == p.fateAt:
		h.crashOf(p.home)
	}
}

// finished looks at how a process has ended, and tells whoever began it.
func (h *history) finished(p *process) {
	if p.err != nil {
		h.note("failed", p.name, p.err.Error())
	}
	if p.ended != nil {
		p.ended(p.err)
	} else if p.err != nil && !p.excused {
		h.violate("%s failed although nothing was in its way: %v", p.name, p.err)
	}
}

// kill ends a process at the call at which it is: its transaction is undone, its caller hears nothing.
func (h *history) kill(p *process) {
	h.note("killed", p.name, p.at)
	h.remove(p)
	p.stop()
}

func (h *history) remove(p *process) {
	p.done = true
	h.processes = slices.DeleteFunc(h.processes, func(other *process) bool { return other == p })
}

// call is where every call of a store or a queue begins: others may go on, and what the history has put in the way of this one is
// answered. Without a process, as in a history of one thread, it returns at once.
func (h *history) call(ctx context.Context, what string) error {
	p := h.current
	if p == nil {
		return nil
	}
	p.at = what
	p.calls++
	h.pass(p)
	if p.fate == cutOff && p.calls == p.fateAt {
		h.note("cut", p.name, what)
		p.inject = errConnection
	}
	switch err := p.inject; {
	case err != nil:
		p.inject, p.excused = nil, true
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(ctx.Err(), context.Canceled): // the time of a deadline is not the history's
		p.excused = true
		return fmt.Errorf("%s: %w", what, context.Canceled)
	}
	return nil
}

// pass gives the others their turn.
func (h *history) pass(p *process) {
	if !p.yield(struct{}{}) {
		panic(crashed{})
	}
	h.current = p
}

// runnable are the processes that could go on.
func (h *history) runnable() []*process {
	out := h.scratch[:0]
	for _, p := range h.processes {
		if p.stalled == 0 && (p.waitsFor == "" || h.memory.locks[p.waitsFor] == nil) {
			out = append(out, p)
		}
	}
	h.scratch = out
	return out
}
