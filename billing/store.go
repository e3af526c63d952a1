package billing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// InPostgres keeps a ledger's rows in the tables of this package, within the caller's transaction.
func InPostgres(tx *sqlx.Tx) Books { return postgresBooks{tx} }

type postgresBooks struct{ tx *sqlx.Tx }

func (b postgresBooks) LockAccount(ctx context.Context, accountID string) (AccountRow, error) {
	a, err := lockAccount(ctx, b.tx, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("account %s: %w", accountID, ErrNoAccount)
	}
	return a, err
}

func (b postgresBooks) InsertAccount(ctx context.Context, a AccountRow) (bool, error) {
	return insertAccount(ctx, b.tx, a)
}

func (b postgresBooks) SaveAccount(ctx context.Context, a AccountRow) error {
	return updateAccount(ctx, b.tx, a)
}

func (b postgresBooks) InsertHold(ctx context.Context, h HoldRow, now time.Time) (bool, error) {
	return insertHold(ctx, b.tx, h, now)
}

func (b postgresBooks) HoldOf(ctx context.Context, jobID string, run int) (HoldRow, error) {
	h, err := selectHold(ctx, b.tx, jobID, run)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("run %d of %s: %w", run, jobID, ErrNoHold)
	}
	return h, err
}

func (b postgresBooks) EndHold(ctx context.Context, h HoldRow, now time.Time) error {
	return updateHold(ctx, b.tx, h, now)
}

func (b postgresBooks) Append(ctx context.Context, accountID string, entries []EntryRow, at time.Time) error {
	return insertEntries(ctx, b.tx, accountID, entries, at)
}

// accountColumns reads an account with its plan, which belongs to the accounts table.
const accountColumns = `SELECT c.account_id, a.plan, c.wallet_pence, c.wallet_held_pence, c.monthly_pence, c.monthly_held_pence,
	c.total_credited_pence, c.monthly_reset_at, c.allowance_withheld, c.closed
	FROM credit_accounts c JOIN accounts a ON a.id = c.account_id WHERE c.account_id = $1`

// lockAccount reads an account and keeps every other movement of its money away until the transaction ends. NO KEY leaves
// rows free to be inserted that reference the account. Errors: sql.ErrNoRows.
func lockAccount(ctx context.Context, tx *sqlx.Tx, accountID string) (AccountRow, error) {
	var a AccountRow
	err := tx.GetContext(ctx, &a, accountColumns+` FOR NO KEY UPDATE OF c`, accountID)
	return a, wrap(err, "lock account %s", accountID)
}

func lockAccounts(ctx context.Context, tx *sqlx.Tx, accountIDs []string) error {
	_, err := tx.ExecContext(ctx, `SELECT FROM credit_accounts WHERE account_id = ANY($1) ORDER BY account_id FOR NO KEY UPDATE`,
		pq.Array(accountIDs))
	return wrap(err, "lock %d accounts", len(accountIDs))
}

// selectAccount reads an account without a lock. Errors: sql.ErrNoRows.
func selectAccount(ctx context.Context, db sqlx.QueryerContext, accountID string) (AccountRow, error) {
	var a AccountRow
	err := sqlx.GetContext(ctx, db, &a, accountColumns, accountID)
	return a, wrap(err, "read account %s", accountID)
}

// insertAccount reports false when the account is already there.
func insertAccount(ctx context.Context, tx *sqlx.Tx, a AccountRow) (bool, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO credit_accounts (account_id, monthly_reset_at, allowance_withheld)
		VALUES ($1, $2, $3)
		ON CONFLICT (account_id) DO NOTHING`, a.ID, a.MonthlyResetAt, a.AllowanceWithheld)
	return changed(result, wrap(err, "create credit account of %s", a.ID))
}

func updateAccount(ctx context.Context, tx *sqlx.Tx, a AccountRow) error {
	_, err := tx.NamedExecContext(ctx, `UPDATE credit_accounts SET
		wallet_pence = :wallet_pence, wallet_held_pence = :wallet_held_pence,
		monthly_pence = :monthly_pence, monthly_held_pence = :monthly_held_pence,
		total_credited_pence = :total_credited_pence, monthly_reset_at = :monthly_reset_at,
		allowance_withheld = :allowance_withheld, closed = :closed
		WHERE account_id = :account_id`, a)
	return wrap(err, "update account %s", a.ID)
}

// insertHold reports false when the run already has a hold, or another run of the job an open one.
func insertHold(ctx context.Context, tx *sqlx.Tx, h HoldRow, now time.Time) (bool, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO holds
		(job_id, run, account_id, wallet_pence, monthly_pence, monthly_expires_at, status, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
		h.JobID, h.Run, h.AccountID, h.WalletPence, h.MonthlyPence, h.MonthlyExpiresAt, h.Status, now)
	return changed(result, wrap(err, "store hold for %s", h.JobID))
}

// selectHold reads the hold of a run of a job. Errors: sql.ErrNoRows.
func selectHold(ctx context.Context, tx *sqlx.Tx, jobID string, run int) (HoldRow, error) {
	var h HoldRow
	err := tx.GetContext(ctx, &h, `SELECT job_id, run, account_id, wallet_pence, monthly_pence, monthly_expires_at, status,
		captured_pence
		FROM holds WHERE job_id = $1 AND run = $2`, jobID, run)
	return h, wrap(err, "read hold of run %d of %s", run, jobID)
}

// updateHold ends an open hold.
func updateHold(ctx context.Context, tx *sqlx.Tx, h HoldRow, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE holds SET status = $3, captured_pence = $4, settled_at = $5
		WHERE job_id = $1 AND run = $2`,
		h.JobID, h.Run, h.Status, h.CapturedPence, now)
	return wrap(err, "end hold of %s", h.JobID)
}

// selectCredit finds the credit that has a unique key. Errors: sql.ErrNoRows.
func selectCredit(ctx context.Context, tx *sqlx.Tx, uniqueKey string) (CreditRequest, error) {
	c := CreditRequest{UniqueKey: uniqueKey}
	err := tx.QueryRowxContext(ctx, `SELECT account_id, type, bucket, amount_pence FROM ledger_entries WHERE unique_key = $1`,
		uniqueKey).
		Scan(&c.AccountID, &c.Type, &c.Bucket, &c.Pence)
	return c, wrap(err, "read credit %q", uniqueKey)
}

// insertEntries appends an account's entries, in their order, and the postings of each.
func insertEntries(ctx context.Context, tx *sqlx.Tx, accountID string, entries []EntryRow, at time.Time) error {
	var ids, types, buckets, jobs, keys, texts, postingIDs, accounts []string
	var runs, amounts, befores, afters, postingAmounts []int64
	for _, e := range entries {
		ids, types, buckets = append(ids, e.ID), append(types, string(e.Type)), append(buckets, string(e.Bucket))
		amounts, befores, afters = append(amounts, e.AmountPence), append(befores, e.BeforePence), append(afters, e.AfterPence)
		jobs, keys, texts = append(jobs, e.JobID), append(keys, e.ExternalKey), append(texts, e.Text)
		runs = append(runs, int64(max(e.Run, 1)))
		for _, p := range e.Postings(accountID) {
			postingIDs, accounts, postingAmounts = append(postingIDs, e.ID), append(accounts, p.Account),
				append(postingAmounts, p.AmountPence)
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger_entries
		(id, account_id, type, bucket, amount_pence, balance_before_pence, balance_after_pence, job_id, run, unique_key,
		description, created_at)
		SELECT e.id, $1, e.type, e.bucket, e.amount, e.before, e.after, nullif(e.job, ''), e.run, nullif(e.key, ''), e.text, $2
		FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::int[],
		$11::text[], $12::text[])
			WITH ORDINALITY AS e(id, type, bucket, amount, before, after, job, run, key, text, place)
		ORDER BY e.place`,
		accountID, at, pq.Array(ids), pq.Array(types), pq.Array(buckets), pq.Array(amounts), pq.Array(befores), pq.Array(afters),
		pq.Array(jobs), pq.Array(runs), pq.Array(keys), pq.Array(texts))
	if err != nil {
		return wrap(err, "append ledger entries of %s", accountID)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO ledger_postings (entry_id, account, amount_pence)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])`, pq.Array(postingIDs), pq.Array(accounts), pq.Array(postingAmounts))
	return wrap(err, "append ledger postings of %s", accountID)
}

// selectEntries reads entries of an account behind a place of the list, the newest first and those of one time in the turned order
// of writing. A hold's status is that of its row in holds: entries themselves never change.
func selectEntries(
	ctx context.Context, db sqlx.QueryerContext, accountID string, f Filter, behind place, limit int,
) ([]Entry, error) {
	entries := []Entry{}
	err := sqlx.SelectContext(ctx, db, &entries, `SELECT e.seq, e.id, e.type, e.bucket, e.amount_pence, e.balance_before_pence,
			e.balance_after_pence, e.job_id, e.description, e.created_at,
			CASE WHEN e.type <> 'hold' OR h.status = 'settled' THEN 'settled' WHEN h.status = 'open' THEN 'pending' ELSE 'voided'
			END AS status
		FROM ledger_entries e LEFT JOIN holds h ON h.job_id = e.job_id AND h.run = e.run AND e.type = 'hold'
		WHERE e.account_id = $1 AND (e.created_at, e.seq) < ($2, $3)
			AND ($4 = '' OR e.type = $4) AND ($5 = '' OR e.job_id = $5)
			AND ($6::timestamptz IS NULL OR e.created_at >= $6) AND ($7::timestamptz IS NULL OR e.created_at < $7)
		ORDER BY e.created_at DESC, e.seq DESC LIMIT $8`,
		accountID, behind.at, behind.seq, string(f.Type), f.JobID, nullTime(f.From), nullTime(f.To), limit)
	for i := range entries {
		entries[i].CreatedAt = entries[i].CreatedAt.UTC()
	}
	return entries, wrap(err, "list ledger entries of %s", accountID)
}

func selectViolations(ctx context.Context, db sqlx.QueryerContext, limit int) ([]Violation, error) {
	var violations []Violation
	err := sqlx.SelectContext(ctx, db, &violations, `SELECT rule, subject, detail FROM ledger_violations ORDER BY rule, subject
		LIMIT $1`, limit)
	return violations, wrap(err, "audit the ledger")
}

// changed reports whether a statement changed a row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// wrap says what was being done when err happened; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
