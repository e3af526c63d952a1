package scheduler

import "context"

// Leader is the leading part of a scheduler, one step at a time: what its loops do, without their waiting.
type Leader struct {
	s     *Scheduler
	watch *watch
}

// NewLeader makes a leader that has seen nothing yet. epoch tells it from other leaders.
func NewLeader(s *Scheduler, epoch string) *Leader { return &Leader{s, newWatch(epoch)} }

// Dispatch tops up every queue.
func (l *Leader) Dispatch(ctx context.Context) error {
	for _, name := range l.s.queueNames() {
		if err := l.s.fill(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Fill tops one queue up.
func (l *Leader) Fill(ctx context.Context, queueName string) error { return l.s.fill(ctx, queueName) }

// Collect applies one batch of what lies in the stream.
func (l *Leader) Collect(ctx context.Context) error { return l.s.collectOnce(ctx, -1) }

// Watch does one round of the watch.
func (l *Leader) Watch(ctx context.Context) error { return l.s.watchOnce(ctx, l.watch) }

// RollUp brings jobs up to date, as the end of every change does.
func (l *Leader) RollUp(ctx context.Context, jobIDs ...string) error {
	return l.s.change(ctx, jobIDs, func(*change) error { return nil })
}

// NextReady picks tasks as a dispatch does and returns how many.
func (l *Leader) NextReady(ctx context.Context, queueName string, limit int) (int, error) {
	picked, err := nextReady(ctx, l.s.DB, queueName, limit, l.s.Now(), nil)
	return len(picked), err
}

// NextReadyQuery is the statement behind NextReady.
const NextReadyQuery = nextReadyQuery
