package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// A batch of reports writes the same few rows of each of its tasks. One statement a row and table would wait for Postgres more than
// a thousand times; so these writes are put off, and each table then gets one statement. Whatever else the transaction asks for
// comes after them, so that it never sees less than it has written.

// late is what a transaction has written and not sent yet, and the tasks that it has read ahead.
type late struct {
	tasks     map[string]TaskRow // as they are now in the transaction
	worked    map[string]bool    // those of them that have kept work
	moves     map[string]taskMoved
	attempts  []lateAttempt
	artifacts artifactColumns
	results   resultColumns
	known     knownColumns
	forgotten []string // tasks whose checkpoints are
	dropped   []string // keys of checkpoints that are replaced or forgotten
	events    eventColumns
	sending   bool
}

func newLate() *late {
	return &late{tasks: map[string]TaskRow{}, worked: map[string]bool{}, moves: map[string]taskMoved{}}
}

// taskMoved is where a task's moves have led to. What is not valid stays as it is.
type taskMoved struct {
	status            job.TaskStatus
	worker            sql.NullString
	started, finished sql.NullTime
}

type lateAttempt struct {
	AttemptRow
	at time.Time
}

// resultColumns, eventColumns and artifactColumns are rows laid out for one statement; nil in a JSON column is SQL's NULL.
type resultColumns struct {
	taskIDs                                   []string
	summaries, failures, programs, toolchains []sql.NullString
}

type knownColumns struct {
	accounts, toolchains, tasks []string
	identities                  pq.ByteaArray
	attempts                    []int64
	at                          []time.Time
}

type eventColumns struct {
	jobIDs, kinds, bodies []string
	at                    []time.Time
}

type artifactColumns struct {
	ids, names, roles, keys, digests, types, formats []string
	sizes                                            []int64
	frames                                           []sql.NullInt64
	jobIDs, taskIDs, accountIDs                      []string
	at                                               []time.Time
}

// ExecContext, GetContext, SelectContext and QueryContext send first what was put off.

func (tx postgresTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := tx.Send(ctx); err != nil {
		return nil, err
	}
	return tx.Tx.ExecContext(ctx, query, args...)
}

func (tx postgresTx) GetContext(ctx context.Context, into any, query string, args ...any) error {
	if err := tx.Send(ctx); err != nil {
		return err
	}
	return tx.Tx.GetContext(ctx, into, query, args...)
}

func (tx postgresTx) SelectContext(ctx context.Context, into any, query string, args ...any) error {
	if err := tx.Send(ctx); err != nil {
		return err
	}
	return tx.Tx.SelectContext(ctx, into, query, args...)
}

func (tx postgresTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := tx.Send(ctx); err != nil {
		return nil, err
	}
	return tx.Tx.QueryContext(ctx, query, args...)
}

// ReadAhead reads only what ReadTask and TakeKeptWork are then asked for; nothing else depends on it.
func (tx postgresTx) ReadAhead(ctx context.Context, jobIDs, taskIDs []string) error {
	var rows []TaskRow
	err := tx.SelectContext(ctx, &rows, `SELECT `+taskFields+
		` FROM tasks WHERE id = ANY($1) AND job_id = ANY($2) ORDER BY id FOR NO KEY UPDATE`,
		pq.Array(taskIDs), pq.Array(jobIDs))
	if err != nil {
		return fmt.Errorf("read %d tasks: %w", len(taskIDs), err)
	}
	var worked []string
	if err := tx.SelectContext(ctx, &worked, `SELECT DISTINCT task_id FROM kept_work WHERE task_id = ANY($1)`,
		pq.Array(taskIDs)); err != nil {
		return fmt.Errorf("look for kept work of %d tasks: %w", len(taskIDs), err)
	}
	for _, row := range rows {
		tx.late.tasks[row.ID] = row
	}
	for _, taskID := range worked {
		tx.late.worked[taskID] = true
	}
	return nil
}

// known is a task that was read ahead.
func (tx postgresTx) known(jobID, taskID string) (*TaskRow, bool) {
	row, ok := tx.late.tasks[taskID]
	if !ok || row.JobID != jobID {
		return nil, false
	}
	return &row, true
}

// worksAlone tells that a task was read ahead and has no kept work.
func (tx postgresTx) worksAlone(taskID string) bool {
	_, read := tx.late.tasks[taskID]
	return read && !tx.late.worked[taskID]
}

// forget has a task be read anew: it is changed in a way that is not followed here.
func (tx postgresTx) forget(taskIDs ...string) {
	for _, taskID := range taskIDs {
		delete(tx.late.tasks, taskID)
	}
}

// move puts a task's new state off.
func (tx postgresTx) move(taskID string, change func(*taskMoved, *TaskRow)) {
	moved := tx.late.moves[taskID]
	row, read := tx.late.tasks[taskID]
	change(&moved, &row)
	tx.late.moves[taskID] = moved
	if row.Status = moved.status; read {
		tx.late.tasks[taskID] = row
	}
}

// Send writes what was put off, a statement a table. Attempts come before what may be refused for the same report.
func (tx postgresTx) Send(ctx context.Context) error {
	l := tx.late
	if l.sending {
		return nil
	}
	l.sending = true
	defer func() { l.sending = false }()
	for _, send := range []func(context.Context, *sqlx.Tx) error{l.sendAttempts, l.sendArtifacts, l.sendResults, l.sendForgotten,
		l.sendMoves, l.sendKnown, l.sendEvents} {
		if err := send(ctx, tx.Tx); err != nil {
			return err
		}
	}
	return nil
}

func (l *late) sendMoves(ctx context.Context, tx *sqlx.Tx) error {
	if len(l.moves) == 0 {
		return nil
	}
	var ids, statuses []string
	var workers []sql.NullString
	var started, finished []sql.NullTime
	for _, taskID := range sortedKeys(l.moves) {
		moved := l.moves[taskID]
		ids, statuses, workers = append(ids, taskID), append(statuses, string(moved.status)), append(workers, moved.worker)
		started, finished = append(started, moved.started), append(finished, moved.finished)
	}
	clear(l.moves)
	_, err := tx.ExecContext(ctx, `UPDATE tasks t SET status = m.status, worker_id = coalesce(m.worker_id, t.worker_id),
		started_at = coalesce(m.started_at, t.started_at),
			given_back = CASE WHEN m.started_at IS NULL THEN t.given_back ELSE 0 END, finished_at = coalesce(m.finished_at,
			t.finished_at),
			progress = CASE WHEN m.status = 'SUCCEEDED' THEN 1 ELSE t.progress END,
			claim_witness = CASE WHEN m.status = 'RUNNING' THEN t.claim_witness END
		FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[]) AS m (id, status, worker_id,
		started_at, finished_at) WHERE t.id = m.id`,
		pq.Array(ids), pq.Array(statuses), pq.Array(workers), pq.Array(started), pq.Array(finished))
	if err != nil {
		return fmt.Errorf("move %d tasks: %w", len(ids), err)
	}
	return nil
}

func (l *late) sendAttempts(ctx context.Context, tx *sqlx.Tx) error {
	n := len(l.attempts)
	if n == 0 {
		return nil
	}
	ids, workers, outcomes := make([]string, n), make([]string, n), make([]string, n)
	numbers, cpu, gpu, wall, peak, in, out, prices, runs := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n),
		make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	started, finished := make([]sql.NullTime, n), make([]time.Time, n)
	reusedJobs, reusedTasks, reusedAttempts := make([]sql.NullString, n), make([]sql.NullString, n), make([]sql.NullInt64, n)
	for i, a := range l.attempts {
		u := a.Usage
		ids[i], numbers[i], workers[i], outcomes[i] = a.TaskID, int64(a.Attempt), a.WorkerID, a.Outcome
		cpu[i], gpu[i], wall[i], peak[i], in[i], out[i] = u.CPUMicroseconds, u.GPUMicroseconds, u.WallMs, u.PeakMemoryBytes,
			u.BytesIn, u.BytesOut
		prices[i], runs[i] = int64(a.Price), int64(a.Run)
		started[i], finished[i] = sql.NullTime{Time: u.StartedAt, Valid: !u.StartedAt.IsZero()}, a.at
		if source := a.Reused; source != nil {
			reusedJobs[i], reusedTasks[i] = sql.NullString{String: source.JobID, Valid: true}, sql.NullString{String: source.TaskID,
				Valid: true}
			reusedAttempts[i] = sql.NullInt64{Int64: int64(source.Attempt), Valid: true}
		}
	}
	l.attempts = nil
	_, err := tx.ExecContext(ctx, `INSERT INTO task_attempts (task_id, attempt, worker_id, outcome, cpu_us, gpu_us, wall_ms,
		peak_memory_bytes, bytes_in, bytes_out,
			charged_micropence, started_at, finished_at, run, reused_job, reused_task, reused_attempt)
		SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
		$9::bigint[], $10::bigint[],
			$11::bigint[], $12::timestamptz[], $13::timestamptz[], $14::int[], $15::text[], $16::text[], $17::int[])`,
		pq.Array(ids), pq.Array(numbers), pq.Array(workers), pq.Array(outcomes), pq.Array(cpu), pq.Array(gpu), pq.Array(wall),
		pq.Array(peak), pq.Array(in), pq.Array(out), pq.Array(prices), pq.Array(started), pq.Array(finished), pq.Array(runs),
		pq.Array(reusedJobs), pq.Array(reusedTasks), pq.Array(reusedAttempts))
	if err != nil {
		return fmt.Errorf("record %d attempts: %w", n, err)
	}
	return nil
}

func (l *late) sendArtifacts(ctx context.Context, tx *sqlx.Tx) error {
	a := l.artifacts
	if len(a.ids) == 0 {
		return nil
	}
	l.artifacts = artifactColumns{}
	_, err := tx.ExecContext(ctx, `INSERT INTO artifacts (id, name, role, storage_key, sha256, media_type, format, byte_size, frame,
		job_id, task_id, account_id, created_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
		$9::bigint[], $10::text[], $11::text[],
			$12::text[], $13::timestamptz[])`,
		pq.Array(a.ids), pq.Array(a.names), pq.Array(a.roles), pq.Array(a.keys), pq.Array(a.digests), pq.Array(a.types),
		pq.Array(a.formats), pq.Array(a.sizes), pq.Array(a.frames), pq.Array(a.jobIDs), pq.Array(a.taskIDs), pq.Array(a.accountIDs),
		pq.Array(a.at))
	if err != nil {
		return fmt.Errorf("record %d artifacts: %w", len(a.ids), err)
	}
	return nil
}

func (l *late) sendResults(ctx context.Context, tx *sqlx.Tx) error {
	r := l.results
	if len(r.taskIDs) == 0 {
		return nil
	}
	l.results = resultColumns{}
	_, err := tx.ExecContext(ctx, `INSERT INTO task_details (task_id, summary, item_failures, programs, toolchain)
		SELECT * FROM unnest($1::text[], $2::jsonb[], $3::jsonb[], $4::jsonb[], $5::text[])
		ON CONFLICT (task_id) DO UPDATE SET summary = excluded.summary, item_failures = excluded.item_failures,
		programs = excluded.programs, toolchain = excluded.toolchain`,
		pq.Array(r.taskIDs), pq.Array(r.summaries), pq.Array(r.failures), pq.Array(r.programs), pq.Array(r.toolchains))
	if err != nil {
		return fmt.Errorf("store the results of %d tasks: %w", len(r.taskIDs), err)
	}
	return nil
}

// sendKnown puts the newest task that has made something in the place of the one before.
func (l *late) sendKnown(ctx context.Context, tx *sqlx.Tx) error {
	k := l.known
	if len(k.tasks) == 0 {
		return nil
	}
	l.known = knownColumns{}
	_, err := tx.ExecContext(ctx, `INSERT INTO known_work (account_id, identity, toolchain, task_id, attempt, at)
		SELECT DISTINCT ON (k.account_id, k.identity, k.toolchain) k.*
		FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::int[], $6::timestamptz[])
			AS k (account_id, identity, toolchain, task_id, attempt, at)
		JOIN tasks t ON t.id = k.task_id
		WHERE NOT EXISTS (SELECT FROM tasks e WHERE e.job_id = t.job_id AND e.status = 'FAILED'
			AND e.stage_index = ANY (ARRAY(SELECT generate_series(0, t.stage_index - 1))))
		ORDER BY k.account_id, k.identity, k.toolchain, k.at DESC, k.task_id DESC
		ON CONFLICT (account_id, identity, toolchain) DO UPDATE SET task_id = excluded.task_id, attempt = excluded.attempt,
			at = excluded.at`,
		pq.Array(k.accounts), k.identities, pq.Array(k.toolchains), pq.Array(k.tasks), pq.Array(k.attempts), pq.Array(k.at))
	if err != nil {
		return fmt.Errorf("remember what %d tasks have made: %w", len(k.tasks), err)
	}
	return nil
}

func (l *late) sendForgotten(ctx context.Context, tx *sqlx.Tx) error {
	ids := l.forgotten
	if len(ids) == 0 {
		return nil
	}
	l.forgotten = nil
	var keys []string
	if err := tx.SelectContext(ctx, &keys, `DELETE FROM task_checkpoints WHERE task_id = ANY($1) RETURNING storage_key`,
		pq.Array(ids)); err != nil {
		return fmt.Errorf("forget the checkpoints of %d tasks: %w", len(ids), err)
	}
	l.dropped = append(l.dropped, keys...)
	return nil
}

func (l *late) sendEvents(ctx context.Context, tx *sqlx.Tx) error {
	e := l.events
	if len(e.jobIDs) == 0 {
		return nil
	}
	l.events = eventColumns{}
	_, err := tx.ExecContext(ctx, `INSERT INTO job_events (account_id, job_id, kind, body, at)
		SELECT j.account_id, e.job_id, e.kind, e.body, e.at
		FROM unnest($1::text[], $2::text[], $3::jsonb[], $4::timestamptz[]) WITH ORDINALITY AS e (job_id, kind, body, at, place)
		JOIN jobs j ON j.id = e.job_id ORDER BY e.place`,
		pq.Array(e.jobIDs), pq.Array(e.kinds), pq.Array(e.bodies), pq.Array(e.at))
	if err != nil {
		return fmt.Errorf("add %d events: %w", len(e.jobIDs), err)
	}
	return nil
}

// nullText is JSON for a column of an array; jsonOrNull has made it.
func nullText(body []byte) sql.NullString {
	return sql.NullString{String: string(body), Valid: body != nil}
}

// add lays a result out.
func (r *resultColumns) add(taskID string, summary, failures, programs []byte, toolchain string) {
	r.taskIDs = append(r.taskIDs, taskID)
	r.toolchains = append(r.toolchains, sql.NullString{String: toolchain, Valid: toolchain != ""})
	r.summaries, r.failures, r.programs = append(r.summaries, nullText(summary)), append(r.failures, nullText(failures)),
		append(r.programs, nullText(programs))
}

// add lays a file out.
func (a *artifactColumns) add(artifactID string, task TaskRow, file queue.StoredArtifact, at time.Time) {
	frame := sql.NullInt64{}
	if file.Frame != nil {
		frame = sql.NullInt64{Int64: *file.Frame, Valid: true}
	}
	a.ids, a.names, a.roles, a.keys = append(a.ids, artifactID), append(a.names, file.Name), append(a.roles, string(file.Role)),
		append(a.keys, file.StorageKey)
	a.digests, a.types, a.formats = append(a.digests, file.SHA256), append(a.types, file.MediaType), append(a.formats, file.Format)
	a.sizes, a.frames = append(a.sizes, file.ByteSize), append(a.frames, frame)
	a.jobIDs, a.taskIDs, a.accountIDs, a.at = append(a.jobIDs, task.JobID), append(a.taskIDs, task.ID),
		append(a.accountIDs, task.AccountID), append(a.at, at)
}
