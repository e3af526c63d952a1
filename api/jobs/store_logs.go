package jobs

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
)

// runningKey stands where the id of a log file would stand, for an attempt that has none yet. It sorts behind every id.
const runningKey = "~"

// logRecord is a log file of a task, or a task that runs and has none yet.
type logRecord struct {
	TaskID     string         `db:"task_id"`
	Ordinal    int            `db:"ordinal"`
	Name       string         `db:"name"`
	Stage      string         `db:"stage"`
	Status     job.TaskStatus `db:"status"`
	Attempt    int            `db:"attempt"`
	Message    string         `db:"message"`
	ArtifactID sql.NullString `db:"artifact_id"`
	FileName   sql.NullString `db:"file_name"`
	StorageKey sql.NullString `db:"storage_key"`
	ByteSize   sql.NullInt64  `db:"byte_size"`
}

// logFilter chooses logs of a job.
type logFilter struct {
	TaskID string // "" for any
	Index  int    // -1 for any
	After  *place // nil for the beginning
	Limit  int
}

// logs reads up to f.Limit logs of a job in the order of the plan. Only text counts as a log: an engine may file tables under
// the same role. A file is of the attempt that was settled in the transaction that stored it.
func (s store) logs(ctx context.Context, accountID, jobID string, f logFilter) ([]logRecord, error) {
	c := &list.Conditions{Args: []any{accountID, jobID, string(engines.RoleLog), runningKey}}
	c.Equal("l.task_id", f.TaskID)
	if f.Index >= 0 {
		c.Add("l.ordinal = ?", f.Index)
	}
	if f.After != nil {
		c.Behind(plannedLogs, *f.After.Ordinal, f.After.Artifact)
	}
	var rows []logRecord
	err := s.db.SelectContext(ctx, &rows, `
WITH logs AS (
    SELECT t.id AS task_id, t.ordinal, t.name, t.stage, t.status, coalesce(s.attempt, t.attempt) AS attempt,
           a.id AS artifact_id, a.name AS file_name, a.storage_key, a.byte_size, a.id AS sort_key
    FROM artifacts a JOIN tasks t ON t.id = a.task_id
    LEFT JOIN task_attempts s ON s.task_id = a.task_id AND s.finished_at = a.created_at
    WHERE a.account_id = $1 AND a.job_id = $2 AND a.role = $3 AND a.media_type LIKE 'text/%'
    UNION ALL
    SELECT t.id, t.ordinal, t.name, t.stage, t.status, t.attempt, NULL, NULL, NULL, NULL, $4
    FROM tasks t WHERE t.account_id = $1 AND t.job_id = $2 AND t.status = 'RUNNING'
)
SELECT l.task_id, l.ordinal, l.name, l.stage, l.status, l.attempt, coalesce(d.message, '') AS message, l.artifact_id, l.file_name,
l.storage_key, l.byte_size
FROM logs l LEFT JOIN task_details d ON d.task_id = l.task_id
WHERE `+c.String()+` ORDER BY `+plannedLogs.By()+` LIMIT `+c.Arg(f.Limit), c.Args...)
	if err != nil {
		return nil, fmt.Errorf("reading logs of job %s: %w", jobID, err)
	}
	return rows, nil
}
