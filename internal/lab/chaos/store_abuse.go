package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// heldPence is what a job set aside when it was submitted.
func heldPence(ctx context.Context, db *sqlx.DB, jobID string) (held int64, err error) {
	if err := db.GetContext(ctx, &held, `SELECT held_pence FROM jobs WHERE id = $1`, jobID); err != nil {
		return 0, fmt.Errorf("read the hold of %s: %w", jobID, err)
	}
	return held, nil
}

// jobsOf counts the jobs of an account, and its holds.
func jobsOf(ctx context.Context, db *sqlx.DB, accountID string) (jobs, holds int, err error) {
	row := db.QueryRowxContext(ctx, `SELECT (SELECT count(*) FROM jobs WHERE account_id = $1), (SELECT count(*) FROM holds
		WHERE account_id = $1)`, accountID)
	if err := row.Scan(&jobs, &holds); err != nil {
		return 0, 0, fmt.Errorf("count the jobs of %s: %w", accountID, err)
	}
	return jobs, holds, nil
}

// purse is an account's money at one moment, in pence: as its balance says it, and as the entries of its ledger add up.
type purse struct {
	Least     int64 `db:"least"` // the smallest of both buckets, whole and available
	Available int64 `db:"available"`
	Entries   int64 `db:"entries"` // what is available by the ledger: all but the charges, which take what a hold has taken before
}

func readPurse(ctx context.Context, db *sqlx.DB, accountID string) (purse, error) {
	var p purse
	err := db.GetContext(ctx, &p, `
		SELECT least(wallet_pence, monthly_pence, wallet_pence - wallet_held_pence, monthly_pence - monthly_held_pence) AS least,
			wallet_pence - wallet_held_pence + monthly_pence - monthly_held_pence AS available,
			(SELECT coalesce(sum(e.amount_pence), 0) FROM ledger_entries e WHERE e.account_id = c.account_id
			AND e.type <> 'charge') AS entries
		FROM credit_accounts c WHERE account_id = $1`, accountID)
	if err != nil {
		return purse{}, fmt.Errorf("read the purse of %s: %w", accountID, err)
	}
	return p, nil
}

// lowestPence is the least that an account ever had, or had available, in one bucket, entry by entry of its ledger.
func lowestPence(ctx context.Context, db *sqlx.DB, accountID string) (lowest int64, err error) {
	err = db.GetContext(ctx, &lowest, `
		SELECT coalesce(min(least(whole, available)), 0)::bigint FROM (
			SELECT sum(amount_pence) FILTER (WHERE type NOT IN ('hold', 'hold_release')) OVER entries AS whole,
				sum(amount_pence) FILTER (WHERE type <> 'charge') OVER entries AS available
			FROM ledger_entries WHERE account_id = $1 WINDOW entries AS (PARTITION BY bucket ORDER BY seq)
		) history`, accountID)
	if err != nil {
		return 0, fmt.Errorf("read the ledger of %s: %w", accountID, err)
	}
	return lowest, nil
}

// waits are how long the tasks of a job waited from its submission to their start, in seconds, the shortest first.
func waits(ctx context.Context, db *sqlx.DB, jobID string) (seconds []float64, err error) {
	err = db.SelectContext(ctx, &seconds, `
		SELECT extract(epoch FROM t.started_at - j.created_at)::float8 AS wait FROM tasks t JOIN jobs j ON j.id = t.job_id
		WHERE j.id = $1 AND t.started_at IS NOT NULL ORDER BY wait`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the waits of %s: %w", jobID, err)
	}
	return seconds, nil
}

// tasksInFlight counts a job's tasks that are queued or running.
func tasksInFlight(ctx context.Context, db *sqlx.DB, jobID string) (n int, err error) {
	if err := db.GetContext(ctx, &n, `SELECT count(*) FROM tasks WHERE job_id = $1 AND status IN ('QUEUED', 'RUNNING')`,
		jobID); err != nil {
		return 0, fmt.Errorf("count what is in flight of %s: %w", jobID, err)
	}
	return n, nil
}

// storeHandle is the object store's own name of an upload in parts.
func storeHandle(ctx context.Context, db *sqlx.DB, uploadID string) (handle string, err error) {
	if err := db.GetContext(ctx, &handle, `SELECT store_handle FROM multipart_uploads WHERE id = $1`, uploadID); err != nil {
		return "", fmt.Errorf("read upload %s: %w", uploadID, err)
	}
	return handle, nil
}

// payment is what an account has ordered.
type payment struct {
	ID         string `db:"id"`
	CheckoutID string `db:"checkout_id"`
	PricePence int64  `db:"price_pence"`
	BonusPence int64  `db:"bonus_pence"`
	Status     string `db:"status"`
}

// newestPayment is the account's last order.
func newestPayment(ctx context.Context, db *sqlx.DB, accountID string) (payment, error) {
	var p payment
	err := db.GetContext(ctx, &p, `SELECT id, coalesce(checkout_id, '') AS checkout_id, price_pence, bonus_pence, status
		FROM payments
		WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1`, accountID)
	if err != nil {
		return payment{}, fmt.Errorf("read the payments of %s: %w", accountID, err)
	}
	return p, nil
}

// creditsOf counts the entries of an account's ledger of these types that a payment has caused.
func creditsOf(ctx context.Context, db *sqlx.DB, accountID string, types ...string) (n int, err error) {
	err = db.GetContext(ctx, &n, `SELECT count(*) FROM ledger_entries WHERE account_id = $1 AND type = ANY($2)`, accountID,
		pq.Array(types))
	if err != nil {
		return 0, fmt.Errorf("count the credits of %s: %w", accountID, err)
	}
	return n, nil
}

// restless are columns that change although nobody has touched what they belong to: a use is written down.
var restless = []string{"last_used_at", "last_seen_at"}

// belongingsOf tells, for every table that names an account, the digest of all its rows of this account, so that any change of what
// it owns shows.
func belongingsOf(ctx context.Context, db *sqlx.DB, accountID string) (map[string]string, error) {
	var tables []string
	err := db.SelectContext(ctx, &tables, `
		SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.column_name = 'account_id'
		ORDER BY c.table_name`)
	if err != nil {
		return nil, fmt.Errorf("list the tables of accounts: %w", err)
	}
	digests := map[string]string{}
	for _, table := range tables {
		var digest string
		statement := `SELECT md5(coalesce(string_agg(row::text, chr(10) ORDER BY row::text), ''))
			FROM (SELECT to_jsonb(t) - $2::text[] AS row FROM ` +
			pq.QuoteIdentifier(table) + ` t WHERE t.account_id = $1) rows`
		if err := db.GetContext(ctx, &digest, statement, accountID, pq.Array(restless)); err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		digests[table] = digest
	}
	return digests, nil
}

// changedTables names what differs between two answers of belongingsOf.
func changedTables(before, after map[string]string) string {
	var changed []string
	for table, digest := range after {
		if before[table] != digest {
			changed = append(changed, table)
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ", ")
}

// tracesOf counts the events, details, files and saved files of a job that have a word in them.
func (w *World) tracesOf(ctx context.Context, jobID, word string) (int, error) {
	var n int
	err := w.db.GetContext(ctx, &n, `SELECT (SELECT count(*) FROM job_events WHERE job_id = $1 AND strpos(lower(body::text),
		$2) > 0)
		+ (SELECT count(*) FROM task_details d JOIN tasks t ON t.id = d.task_id
		WHERE t.job_id = $1 AND strpos(lower(to_jsonb(d)::text), $2) > 0)
		+ (SELECT count(*) FROM artifacts WHERE job_id = $1 AND strpos(storage_key, 'acct_x') > 0)
		+ (SELECT count(*) FROM task_checkpoints c JOIN tasks t ON t.id = c.task_id WHERE t.job_id = $1 AND strpos(c.storage_key,
		'acct_x') > 0)`, jobID, word)
	if err != nil {
		return 0, fmt.Errorf("look for traces in %s: %w", jobID, err)
	}
	return n, nil
}
