package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
)

var errNotTheSame = errors.New("it names a task that makes something else")

// madeBefore joins what is known with the tasks that made it. What a retry has begun anew, and what was deleted, is not there.
const madeBefore = `known_work k JOIN tasks t ON t.id = k.task_id AND t.status = 'SUCCEEDED' AND t.attempt = k.attempt`

func (db postgresStore) MadeBefore(ctx context.Context, accountID string, identities []engines.Identity) ([]Work, error) {
	wanted := make(pq.ByteaArray, len(identities))
	for i := range identities {
		wanted[i] = identities[i][:]
	}
	var rows []struct {
		Identity  []byte `db:"identity"`
		Toolchain string `db:"toolchain"`
	}
	err := db.SelectContext(ctx, &rows, `SELECT k.identity, k.toolchain FROM `+madeBefore+`
		WHERE k.account_id = $1 AND k.identity = ANY($2)`, accountID, wanted)
	if err != nil {
		return nil, fmt.Errorf("look for earlier work of %s: %w", accountID, err)
	}
	made := make([]Work, len(rows))
	for i, row := range rows {
		made[i] = Work{engines.Identity(row.Identity), row.Toolchain}
	}
	return made, nil
}

func (tx postgresTx) KnownWork(ctx context.Context, tasks []TaskRow) ([]KnownWork, error) {
	accounts, identities := make([]string, len(tasks)), make(pq.ByteaArray, len(tasks))
	for i, task := range tasks {
		accounts[i], identities[i] = task.AccountID, task.Identity
	}
	var rows []struct {
		AccountID string          `db:"account_id"`
		Identity  []byte          `db:"identity"`
		Toolchain string          `db:"toolchain"`
		JobID     string          `db:"job_id"`
		TaskID    string          `db:"task_id"`
		Attempt   int             `db:"attempt"`
		Summary   json.RawMessage `db:"summary"`
		Failures  json.RawMessage `db:"item_failures"`
		Programs  json.RawMessage `db:"programs"`
		Files     json.RawMessage `db:"files"`
	}
	err := tx.SelectContext(ctx, &rows, `SELECT k.account_id, k.identity, k.toolchain, t.job_id, k.task_id, k.attempt,
			coalesce(d.summary, 'null') AS summary, coalesce(d.item_failures, '[]') AS item_failures,
			coalesce(d.programs, '{}') AS programs, f.files
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::bytea[]) AS w (account_id, identity)) w
		JOIN `+madeBefore+` ON k.account_id = w.account_id AND k.identity = w.identity
		JOIN task_details d ON d.task_id = k.task_id
		CROSS JOIN LATERAL (SELECT coalesce(json_agg(json_build_object('name', name, 'role', role, 'mediaType', media_type,
			'format', format, 'frame', frame, 'storageKey', storage_key, 'sha256', sha256, 'byteSize', byte_size) ORDER BY id),
			'[]') AS files
			FROM artifacts WHERE task_id = k.task_id AND role <> $3) f
		ORDER BY k.at`, pq.Array(accounts), identities, engines.RoleLog)
	if err != nil {
		return nil, fmt.Errorf("look for what %d tasks need not make: %w", len(tasks), err)
	}
	known := make([]KnownWork, len(rows))
	for i, row := range rows {
		work := KnownWork{AccountID: row.AccountID, Identity: engines.Identity(row.Identity),
			Reuse: queue.Reuse{Source: queue.Source{JobID: row.JobID, TaskID: row.TaskID, Attempt: row.Attempt},
				Toolchain: row.Toolchain}}
		if string(row.Summary) != "null" {
			work.Result.Summary = row.Summary
		}
		for part, into := range map[*json.RawMessage]any{&row.Failures: &work.Result.Failures, &row.Programs: &work.Result.Programs,
			&row.Files: &work.Result.Artifacts} {
			if err := json.Unmarshal(*part, into); err != nil {
				return nil, fmt.Errorf("read what task %s has made: %w", row.TaskID, err)
			}
		}
		known[i] = work
	}
	return known, nil
}

func (tx postgresTx) MakesTheSame(ctx context.Context, task TaskRow, otherID string) (same bool, err error) {
	err = tx.GetContext(ctx, &same, `SELECT EXISTS (SELECT FROM tasks WHERE id = $1 AND account_id = $2 AND identity = $3)`,
		otherID, task.AccountID, postgres.Bytes(task.Identity))
	if err != nil {
		return false, fmt.Errorf("compare tasks %s and %s: %w", task.ID, otherID, err)
	}
	return same, nil
}

func (tx postgresTx) Remember(_ context.Context, task TaskRow, toolchain string, at time.Time) error {
	k := &tx.late.known
	k.accounts, k.identities = append(k.accounts, task.AccountID), append(k.identities, task.Identity)
	k.toolchains, k.tasks, k.attempts = append(k.toolchains, toolchain), append(k.tasks, task.ID), append(k.attempts,
		int64(task.Attempt))
	k.at = append(k.at, at)
	return nil
}
