package scheduler

import "context"

// Fill tops one queue up.
func (l *Leader) Fill(ctx context.Context, queueName string) error { return l.s.fill(ctx, queueName) }

// RollUp brings jobs up to date, as the end of every change does.
func (l *Leader) RollUp(ctx context.Context, jobIDs ...string) error {
	return l.s.change(ctx, jobIDs, func(*change) error { return nil })
}

// NextReady picks tasks as a dispatch does.
func (l *Leader) NextReady(ctx context.Context, queueName string, limit int) (Candidates, error) {
	return l.s.store.NextReady(ctx, queueName, limit, l.s.Now(), nil)
}

// NextReadyQuery is the statement behind NextReady.
const NextReadyQuery = nextReadyQuery
