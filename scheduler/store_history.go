package scheduler

import (
	"context"
	"fmt"

	"github.com/molfabric/molfabric/internal/tenant"
)

// Outcomes lets nothing but the ratios leave the rows: not whose they were, nor what they did.
func (db postgresStore) Outcomes(ctx context.Context, queueName string, newest int) ([]Outcome, error) {
	var rows []Outcome
	ctx = tenant.Everyone(ctx, "what engines take is measured by the tasks of all accounts")
	err := db.SelectContext(ctx, &rows, `SELECT u.expected AS weight, u.used / 1e6 / u.expected AS ratio
		FROM (SELECT id, attempt, weight, gpu_weight FROM tasks WHERE queue = $1 AND status = 'SUCCEEDED' AND weight > 0
			ORDER BY finished_at DESC LIMIT $2) t
		JOIN task_attempts a ON a.task_id = t.id AND a.attempt = t.attempt
		CROSS JOIN LATERAL (SELECT CASE WHEN t.gpu_weight > 0 THEN t.gpu_weight ELSE t.weight END AS expected,
			CASE WHEN t.gpu_weight > 0 THEN a.gpu_us ELSE a.cpu_us END AS used) u
		WHERE u.used > 0`, queueName, newest)
	if err != nil {
		return nil, fmt.Errorf("read how the newest tasks of %s went: %w", queueName, err)
	}
	return rows, nil
}
