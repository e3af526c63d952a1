package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/scheduler"
)

// past is what the tables say of how a job's results came to be. Its lists hold maxProvenanceEntries at most.
type past struct {
	Job        pastJob
	Programs   []programVersion
	Seeds      []int64
	Inputs     []inputFile
	Executions []execution
	Outputs    []artifact // of every task, without inputs of later stages
	Counts     contract.ProvenanceCounts
}

// pastJob is a job with its request: the text alone when it is small enough to be shown.
type pastJob struct {
	record
	SceneFile       string `db:"scene_file"`
	Request         []byte `db:"request"` // nil when it is too large
	RequestSHA256   string `db:"request_sha256"`
	RequestByteSize int64  `db:"request_byte_size"`
}

type programVersion struct {
	Program string `db:"program"`
	Version string `db:"version"`
}

// inputFile is a stored file that a task starts from. A scene that no task reads has no size.
type inputFile struct {
	StorageKey string
	SHA256     sql.NullString
	ByteSize   sql.NullInt64
}

// execution is an attempt with its task.
type execution struct {
	attempt
	TaskID  string `db:"task_id"`
	Ordinal int    `db:"ordinal"`
	Name    string `db:"name"`
	Stage   string `db:"stage"`
}

// past reads what is kept of a job, all of it at one moment. Errors: fault.NotFound, also for another account's.
func (s store) past(ctx context.Context, accountID, jobID string) (past, error) {
	tx, err := s.db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return past{}, fmt.Errorf("reading the provenance of job %s: %w", jobID, err)
	}
	defer func() { _ = tx.Rollback() }() // it changes nothing
	p := past{}
	if p.Job, err = readPastJob(ctx, tx, accountID, jobID); err != nil {
		return past{}, err
	}
	for _, list := range []struct {
		into  any
		query string
		args  []any
	}{
		{&p.Programs, programsSelect, nil},
		{&p.Executions, executionsSelect, []any{maxProvenanceEntries}},
		{&p.Outputs, madeSelect, []any{string(engines.RoleIntermediate), maxProvenanceEntries}},
	} {
		if err := tx.SelectContext(ctx, list.into, list.query, append([]any{jobID}, list.args...)...); err != nil {
			return past{}, fmt.Errorf("reading the provenance of job %s: %w", jobID, err)
		}
	}
	if p.Counts, err = countPast(ctx, tx, p.Job); err != nil {
		return past{}, err
	}
	given := givenTo(p.Job.SceneFile)
	if err := plans.Each(ctx, tx, jobID, func(_ int, shard engines.Shard) error { return given.add(shard) }); err != nil {
		return past{}, fmt.Errorf("reading the provenance of job %s: %w", jobID, err)
	}
	p.Seeds, p.Inputs, p.Counts.Inputs = given.sortedSeeds(), given.sortedInputs(), len(given.inputs)
	return p, nil
}

// readPastJob reads the job and the fingerprint of its request. The request is turned into text once, and leaves the database
// only when it is small.
func readPastJob(ctx context.Context, tx *sqlx.Tx, accountID, jobID string) (pastJob, error) {
	var row pastJob
	err := tx.GetContext(ctx, &row, `
WITH kept AS MATERIALIZED (SELECT convert_to(`+scheduler.RequestText+`, 'UTF8') AS bytes FROM jobs WHERE account_id = $1 AND id = $2)
SELECT `+jobColumns+`, scene_file, CASE WHEN octet_length(kept.bytes) <= $3 THEN kept.bytes END AS request,
       encode(sha256(kept.bytes), 'hex') AS request_sha256, octet_length(kept.bytes) AS request_byte_size
FROM jobs, kept WHERE account_id = $1 AND id = $2`, accountID, jobID, maxRequestShown)
	if errors.Is(err, sql.ErrNoRows) {
		return row, noSuchJob()
	}
	if err != nil {
		return row, fmt.Errorf("reading the request of job %s: %w", jobID, err)
	}
	return row, nil
}

// programsSelect reads the programs that tasks have reported, each version once. Workers differ little: a handful of rows.
const programsSelect = `
SELECT DISTINCT p.key AS program, p.value AS version
FROM tasks t JOIN task_details d ON d.task_id = t.id, jsonb_each_text(d.programs) p
WHERE t.job_id = $1 AND jsonb_typeof(d.programs) = 'object' ORDER BY program, version LIMIT 1000`

const (
	executionsSelect = `
SELECT a.task_id, t.ordinal, t.name, t.stage, a.attempt, a.run, a.worker_id, a.outcome, a.cpu_us, a.gpu_us, a.wall_ms,
a.peak_memory_bytes, a.bytes_in,
       a.bytes_out, a.charged_micropence, a.started_at, a.finished_at, a.reused_job, a.reused_task, a.reused_attempt
FROM tasks t JOIN task_attempts a ON a.task_id = t.id
WHERE t.job_id = $1 ORDER BY t.ordinal, a.attempt LIMIT $2`

	madeSelect = `
SELECT a.id, a.name, a.role, t.ordinal, a.storage_key, a.sha256, a.byte_size, a.media_type, a.format, a.created_at
FROM artifacts a JOIN tasks t ON t.id = a.task_id
WHERE a.job_id = $1 AND a.role <> $2 ORDER BY t.ordinal, a.name COLLATE "C", a.id LIMIT $3`
)

func countPast(ctx context.Context, tx *sqlx.Tx, r pastJob) (contract.ProvenanceCounts, error) {
	var counts contract.ProvenanceCounts
	err := tx.QueryRowxContext(ctx, `
SELECT (SELECT count(*) FROM tasks t JOIN task_attempts a ON a.task_id = t.id WHERE t.job_id = $1),
       (SELECT count(*) FROM artifacts WHERE job_id = $1 AND role <> $2)`,
		r.ID, string(engines.RoleIntermediate)).Scan(&counts.Executions, &counts.Outputs)
	if err != nil {
		return counts, fmt.Errorf("counting the provenance of job %s: %w", r.ID, err)
	}
	return counts, nil
}
