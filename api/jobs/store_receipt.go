package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/klauspost/compress/zstd"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/receipt"
)

const (
	// maxReceiptOutputs bounds the files that a receipt has: more than a job with the largest plan leaves, logs included.
	maxReceiptOutputs = 200_000
	// maxStatementBytes bounds what a kept statement may unpack to.
	maxStatementBytes = 256 << 20
)

// signed is a receipt as it is kept.
type signed struct {
	KeyID     string `db:"key_id"`
	Statement []byte `db:"statement"` // compressed
	Signature []byte `db:"signature"`
}

// receiptOf reads the kept receipt of the latest run of a job that has ended; false where there is none.
func (s store) receiptOf(ctx context.Context, accountID, jobID string) (kept signed, found bool, err error) {
	err = s.db.GetContext(ctx, &kept, `SELECT r.key_id, r.statement, r.signature FROM receipts r
		JOIN jobs j ON j.id = r.job_id AND j.attempts = r.run AND j.finished_at IS NOT NULL
		WHERE r.account_id = $1 AND r.job_id = $2`, accountID, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return kept, false, nil
	}
	if err != nil {
		return kept, false, fmt.Errorf("reading the receipt of job %s: %w", jobID, err)
	}
	if kept.Statement, err = unpacked(kept.Statement); err != nil {
		return kept, false, fmt.Errorf("reading the receipt of job %s: %w", jobID, err)
	}
	return kept, true, nil
}

// keepReceipt keeps the receipt of a run, if the job still is as it states and has its files; another's that came first stays.
func (s store) keepReceipt(
	ctx context.Context, accountID, jobID string, run int, key receipt.Key, made signed, at time.Time,
) error {
	packed, err := packed(made.Statement)
	if err != nil {
		return fmt.Errorf("keeping the receipt of job %s: %w", jobID, err)
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO receipt_keys (id, public_key, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO NOTHING`, key.ID(), postgres.Bytes(key.Bytes()), at)
	if err != nil {
		return fmt.Errorf("keeping the key of receipts: %w", err)
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO receipts AS r (job_id, account_id, run, key_id, statement, signature, signed_at)
		SELECT id, account_id, attempts, $4, $5, $6, $7 FROM jobs
		WHERE account_id = $1 AND id = $2 AND attempts = $3 AND finished_at IS NOT NULL AND files_deleted_at IS NULL FOR SHARE
		ON CONFLICT (job_id) DO UPDATE SET run = excluded.run, key_id = excluded.key_id, statement = excluded.statement,
			signature = excluded.signature, signed_at = excluded.signed_at WHERE r.run < excluded.run`,
		accountID, jobID, run, key.ID(), postgres.Bytes(packed), postgres.Bytes(made.Signature), at)
	if err != nil {
		return fmt.Errorf("keeping the receipt of job %s: %w", jobID, err)
	}
	return nil
}

// receiptKey is a public key as it is kept.
type receiptKey struct {
	PublicKey []byte    `db:"public_key"`
	CreatedAt time.Time `db:"created_at"`
}

// maxReceiptKeys bounds the keys that are listed: one a rotation of the deployment's secret.
const maxReceiptKeys = 1000

// receiptKeys reads the public keys that have signed, the newest first.
func (s store) receiptKeys(ctx context.Context) ([]receiptKey, error) {
	var rows []receiptKey
	err := s.db.SelectContext(ctx, &rows, `SELECT public_key, created_at FROM receipt_keys ORDER BY created_at DESC, id LIMIT $1`,
		maxReceiptKeys)
	if err != nil {
		return nil, fmt.Errorf("reading the keys of receipts: %w", err)
	}
	return rows, nil
}

// packed and unpacked are what a statement is kept as: digests as text are half as large.

func packed(statement []byte) ([]byte, error) {
	writer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return writer.EncodeAll(statement, nil), writer.Close()
}

func unpacked(kept []byte) ([]byte, error) {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxStatementBytes))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return reader.DecodeAll(kept, nil)
}

// stated is what the tables say of a job for its receipt.
type stated struct {
	Job      pastJob
	Programs []programVersion
	Inputs   []inputFile
	Tasks    []statedTask
	Attempts []execution
	Outputs  []statedOutput
	Ledger   []statedLine
}

type statedTask struct {
	ID        string         `db:"id"`
	Ordinal   int            `db:"ordinal"`
	Name      string         `db:"name"`
	Stage     string         `db:"stage"`
	Status    string         `db:"status"`
	Identity  []byte         `db:"identity"`
	Toolchain sql.NullString `db:"toolchain"`
}

type statedOutput struct {
	artifact
	Task string `db:"task"`
}

type statedLine struct {
	ID          string    `db:"id"`
	Run         int       `db:"run"`
	Type        string    `db:"type"`
	Bucket      string    `db:"bucket"`
	AmountPence int64     `db:"amount_pence"`
	CreatedAt   time.Time `db:"created_at"`
}

const (
	statedTasks = `
SELECT t.id, t.ordinal, t.name, t.stage, t.status, t.identity, d.toolchain
FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id WHERE t.job_id = $1 ORDER BY t.ordinal LIMIT $2`

	statedOutputs = `
SELECT a.id, a.name, a.role, t.ordinal, a.sha256, a.byte_size, t.name AS task
FROM artifacts a JOIN tasks t ON t.id = a.task_id
WHERE a.job_id = $1 AND a.role <> $2 ORDER BY t.ordinal, a.name COLLATE "C", a.id LIMIT $3`

	statedLedger = `
SELECT id, run, type, bucket, amount_pence, created_at FROM ledger_entries
WHERE job_id = $1 AND account_id = $2 ORDER BY seq LIMIT $3`

	// maxStatedAttempts bounds the attempts of all tasks, and the lines of the ledger.
	maxStatedAttempts = 10 * engines.MaxShards
)

// stated reads what a receipt states, all of it at one moment. Errors: fault.NotFound, also for another account's.
func (s store) stated(ctx context.Context, accountID, jobID string) (stated, error) {
	tx, err := s.db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return stated{}, fmt.Errorf("reading job %s for its receipt: %w", jobID, err)
	}
	defer func() { _ = tx.Rollback() }() // it changes nothing
	found := stated{}
	if found.Job, err = readPastJob(ctx, tx, accountID, jobID); err != nil {
		return stated{}, err
	}
	if err := found.readLists(ctx, tx, accountID, jobID); err != nil {
		return stated{}, fmt.Errorf("reading job %s for its receipt: %w", jobID, err)
	}
	given := givenTo(found.Job.SceneFile)
	if err := plans.Each(ctx, tx, jobID, func(_ int, shard engines.Shard) error { return given.add(shard) }); err != nil {
		return stated{}, fmt.Errorf("reading the plan of job %s: %w", jobID, err)
	}
	found.Inputs = given.sortedFiles()
	return found, nil
}

func (f *stated) readLists(ctx context.Context, tx *sqlx.Tx, accountID, jobID string) error {
	for _, list := range []struct {
		into  any
		query string
		args  []any
	}{
		{&f.Programs, programsSelect, nil},
		{&f.Tasks, statedTasks, []any{engines.MaxShards}},
		{&f.Attempts, executionsSelect, []any{maxStatedAttempts}},
		{&f.Outputs, statedOutputs, []any{string(engines.RoleIntermediate), maxReceiptOutputs + 1}},
		{&f.Ledger, statedLedger, []any{accountID, maxStatedAttempts}},
	} {
		if err := tx.SelectContext(ctx, list.into, list.query, append([]any{jobID}, list.args...)...); err != nil {
			return err
		}
	}
	return nil
}
