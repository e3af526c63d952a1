package scheduler

import "context"

// Leader is the leading part of a scheduler, one step at a time: what its loops do, without their waiting. Several Leaders over
// one store never undo each other's work. Dispatch, Collect and Watch may run at the same time, each once.
type Leader struct {
	s     *Scheduler
	watch *watch
}

// NewLeader makes a leader that has seen nothing yet. epoch tells it from other leaders.
func NewLeader(s *Scheduler, epoch string) *Leader { return &Leader{s, newWatch(epoch)} }

// Dispatch tops up every queue.
func (l *Leader) Dispatch(ctx context.Context) error { return l.s.fillAll(ctx) }

// Collect applies one batch of what lies in the stream; it does not wait for more.
func (l *Leader) Collect(ctx context.Context) error { return l.s.collectOnce(ctx, -1) }

// Tidy removes the objects that were discarded.
func (l *Leader) Tidy(ctx context.Context) error { return l.s.tidy(ctx) }

// Watch does one round of the watch.
func (l *Leader) Watch(ctx context.Context) error { return l.s.watchOnce(ctx, l.watch) }

// Repeat draws tasks that are to be run again, and hands out what may run.
func (l *Leader) Repeat(ctx context.Context) error { return l.s.repeatOnce(ctx) }
