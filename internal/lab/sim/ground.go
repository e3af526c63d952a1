package sim

import (
	"context"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
)

var _ ground = (*memory)(nil)

// OpenAccount implements ground.
func (m *memory) OpenAccount(ctx context.Context, ledger *billing.Ledger, accountID, plan string, now time.Time) error {
	tx := m.begin()
	defer tx.unlock()
	if err := ledger.OpenAccountIn(ctx, tx, accountID, plan, now); err != nil {
		return err
	}
	tx.commit()
	return nil
}

// Seat implements ground: a dispatch that counts seats keeps it waiting.
func (m *memory) Seat(ctx context.Context, accountID string, seats seating) error {
	if err := m.h.call(ctx, "reseat"); err != nil {
		return err
	}
	tx := m.begin()
	defer tx.unlock()
	if err := tx.lock("server", accountID); err != nil {
		return err
	}
	m.servers[accountID] = seats
	return nil
}

// Statuses implements ground.
func (m *memory) Statuses(context.Context) (map[string]job.Status, error) {
	statuses := map[string]job.Status{}
	for id, owner := range m.jobs {
		statuses[id] = owner.Status
	}
	return statuses, nil
}
