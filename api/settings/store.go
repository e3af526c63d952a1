package settings

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/postgres"
)

// row is a licence server as it is stored.
type row struct {
	contract.LicenseServer
	AccountID  string         `db:"account_id"`
	Key        string         `db:"license_key"`
	Sealed     postgres.Bytes `db:"secret_sealed"` // nil for none
	SecretID   *string        `db:"secret_id"`     // of the secret that Sealed was sealed under
	KeepSecret bool           `db:"keep_secret"`   // on a change: Sealed says nothing
	CreatedAt  time.Time      `db:"created_at"`
}

const columns = `id, name, vendor, product, protocol, host, port, seats, enforcement, enabled, status,
	last_checked_at AS LastCheckedAt, last_error AS LastError,
	(SELECT in_use FROM license_use(account_id, license_key)) AS SeatsInUse`

// countServers also keeps other additions of the account waiting until the transaction ends.
func countServers(ctx context.Context, tx *sqlx.Tx, accountID string) (int, error) {
	if _, err := tx.ExecContext(ctx, `SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE`, accountID); err != nil {
		return 0, wrap(err, "lock account")
	}
	var n int
	err := tx.GetContext(ctx, &n, `SELECT count(*) FROM license_servers WHERE account_id = $1`, accountID)
	return n, wrap(err, "count licence servers")
}

func insert(ctx context.Context, tx *sqlx.Tx, r row) (contract.LicenseServer, error) {
	return writeOne(ctx, tx, `INSERT INTO license_servers (id, account_id, name, vendor, product, license_key, protocol, host, port,
		seats,
			enforcement, enabled, status, secret_sealed, secret_id, created_at)
		VALUES (:id, :account_id, :name, :vendor, :product, :license_key, :protocol, :host, :port, :seats,
			:enforcement, :enabled, :status, :secret_sealed, :secret_id, :created_at)
		RETURNING `+columns, r)
}

// update replaces a server. Errors: sql.ErrNoRows.
func update(ctx context.Context, db *sqlx.DB, r row) (contract.LicenseServer, error) {
	return writeOne(ctx, db, `UPDATE license_servers SET name = :name, vendor = :vendor, product = :product,
		license_key = :license_key,
			protocol = :protocol, host = :host, port = :port, seats = :seats, enforcement = :enforcement, enabled = :enabled,
			secret_sealed = CASE WHEN :keep_secret THEN secret_sealed ELSE :secret_sealed END,
			secret_id = CASE WHEN :keep_secret THEN secret_id ELSE :secret_id END,
			status = CASE WHEN (host, port, protocol) = (:host, :port, :protocol) THEN status ELSE :status END,
			last_checked_at = CASE WHEN (host, port, protocol) = (:host, :port, :protocol) THEN last_checked_at END,
			last_error = CASE WHEN (host, port, protocol) = (:host, :port, :protocol) THEN last_error END
		WHERE id = :id AND account_id = :account_id
		RETURNING `+columns, r)
}

// writeOne runs a statement with a row's members and reads the one server that it returns. Errors: sql.ErrNoRows.
func writeOne(ctx context.Context, ext sqlx.ExtContext, statement string, r row) (contract.LicenseServer, error) {
	var stored contract.LicenseServer
	query, args, err := sqlx.Named(statement, r)
	if err != nil {
		return stored, wrap(err, "name the columns of a licence server")
	}
	err = sqlx.GetContext(ctx, ext, &stored, ext.Rebind(query), args...)
	return inUTC(stored), wrap(err, "store licence server")
}

func selectAll(ctx context.Context, db *sqlx.DB, accountID string, limit int) ([]contract.LicenseServer, error) {
	found := []contract.LicenseServer{}
	err := db.SelectContext(ctx, &found, `SELECT `+columns+` FROM license_servers WHERE account_id = $1
		ORDER BY created_at DESC, id DESC LIMIT $2`, accountID, limit)
	for i := range found {
		found[i] = inUTC(found[i])
	}
	return found, wrap(err, "list licence servers")
}

// selectOne reads a server of the account. Errors: sql.ErrNoRows.
func selectOne(ctx context.Context, db *sqlx.DB, accountID, serverID string) (contract.LicenseServer, error) {
	var found contract.LicenseServer
	err := db.GetContext(ctx, &found, `SELECT `+columns+` FROM license_servers WHERE id = $1 AND account_id = $2`, serverID,
		accountID)
	return inUTC(found), wrap(err, "read licence server")
}

// remove deletes a server of the account. Errors: sql.ErrNoRows.
func remove(ctx context.Context, db *sqlx.DB, accountID, serverID string) error {
	result, err := db.ExecContext(ctx, `DELETE FROM license_servers WHERE id = $1 AND account_id = $2`, serverID, accountID)
	if err != nil {
		return wrap(err, "delete licence server")
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return wrap(err, "delete licence server")
}

// storeTest stores what a test of a server found, problem "" for nothing wrong, if the server is still where it was tested.
func storeTest(
	ctx context.Context, db *sqlx.DB, accountID string, tested contract.LicenseServer, problem string, now time.Time,
) error {
	_, err := db.ExecContext(ctx, `UPDATE license_servers SET status = CASE WHEN $6 = '' THEN 'READY' ELSE 'NOT_READY' END,
			last_error = nullif($6, ''), last_checked_at = $7
		WHERE id = $1 AND account_id = $2 AND (host, port, protocol) = ($3, $4, $5)`,
		tested.ID, accountID, tested.Host, tested.Port, tested.Protocol, problem, now)
	return wrap(err, "store the test of a licence server")
}

func inUTC(s contract.LicenseServer) contract.LicenseServer {
	if s.LastCheckedAt != nil {
		utc := s.LastCheckedAt.UTC()
		s.LastCheckedAt = &utc
	}
	return s
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
