package studio

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/fault"
)

// store holds the SQL of sessions and messages, and looks for the files of jobs. Every query names the account.
type store struct{ db *sqlx.DB }

// session is a row of studio_sessions.
type session struct {
	ID             string          `db:"id"`
	AccountID      string          `db:"account_id"`
	Title          string          `db:"title"`
	State          json.RawMessage `db:"state"`
	Revision       int64           `db:"revision"`
	SceneVersion   int64           `db:"scene_version"`
	Messages       int             `db:"messages"`
	ProjectID      sql.NullString  `db:"project_id"`
	ProjectVersion sql.NullInt64   `db:"project_version"`
	CreatedAt      time.Time       `db:"created_at"`
	UpdatedAt      time.Time       `db:"updated_at"`
}

const (
	summaryColumns = `id, account_id, title, revision, scene_version, messages, project_id, project_version, created_at, updated_at`
	sessionColumns = summaryColumns + `, state`
)

func (s store) insert(ctx context.Context, tx *sqlx.Tx, row session) error {
	_, err := tx.NamedExecContext(ctx, `INSERT INTO studio_sessions (`+sessionColumns+`) VALUES (:id, :account_id, :title, :revision,
		:scene_version, :messages, :project_id, :project_version, :created_at, :updated_at, :state)`, row)
	return wrap(err, "store session %s", row.ID)
}

// lockAccount keeps other openings of the account waiting until the transaction ends, and counts its sessions.
func (s store) lockAccount(ctx context.Context, tx *sqlx.Tx, accountID string) (sessions int, err error) {
	if _, err := tx.ExecContext(ctx, `SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE`, accountID); err != nil {
		return 0, wrap(err, "lock account")
	}
	err = tx.GetContext(ctx, &sessions, `SELECT count(*) FROM studio_sessions WHERE account_id = $1`, accountID)
	return sessions, wrap(err, "count sessions")
}

// session reads a session. Errors: fault.NotFound.
func (s store) session(ctx context.Context, accountID, id string) (row session, err error) {
	err = s.db.GetContext(ctx, &row, `SELECT `+sessionColumns+` FROM studio_sessions WHERE account_id = $1 AND id = $2`, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return row, fault.New(fault.NotFound, "no such session")
	}
	return row, wrap(err, "read session")
}

var newest = list.Newest("created_at", "id")

// sessions lists an account's sessions without their states, newest first.
func (s store) sessions(ctx context.Context, accountID string, from *list.Position, limit int) ([]session, error) {
	c := list.Owned("account_id", accountID)
	c.Behind(newest, from.Values()...)
	rows := []session{}
	err := s.db.SelectContext(ctx, &rows, `SELECT `+summaryColumns+` FROM studio_sessions WHERE `+c.String()+` ORDER BY `+newest.By()+`
		LIMIT `+c.Arg(limit), c.Args...)
	return rows, wrap(err, "list sessions")
}

// update stores what a message has changed, unless another message came first.
func (s store) update(ctx context.Context, tx *sqlx.Tx, row session) (done bool, err error) {
	result, err := tx.NamedExecContext(ctx, `UPDATE studio_sessions SET title = :title, state = :state, revision = :revision + 1,
		scene_version = :scene_version, messages = :messages, project_id = :project_id, project_version = :project_version,
		updated_at = :updated_at
		WHERE account_id = :account_id AND id = :id AND revision = :revision`, row)
	if err != nil {
		return false, wrap(err, "store session %s", row.ID)
	}
	changed, err := result.RowsAffected()
	return changed == 1, wrap(err, "store session %s", row.ID)
}

// delete removes a session with its messages. Errors: fault.NotFound.
func (s store) delete(ctx context.Context, accountID, id string) error {
	result, err := s.db.ExecContext(ctx, `DELETE FROM studio_sessions WHERE account_id = $1 AND id = $2`, accountID, id)
	if err != nil {
		return wrap(err, "delete session %s", id)
	}
	if gone, err := result.RowsAffected(); err != nil || gone == 0 {
		return errors.Join(err, fault.New(fault.NotFound, "no such session"))
	}
	return nil
}

// message is a row of studio_messages.
type message struct {
	Number    int64           `db:"number"`
	Body      json.RawMessage `db:"body"`
	CreatedAt time.Time       `db:"created_at"`
}

func (s store) say(ctx context.Context, tx *sqlx.Tx, accountID, sessionID string, body []byte, at time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO studio_messages (session_id, account_id, body, created_at) VALUES ($1, $2, $3, $4)`,
		sessionID, accountID, string(body), at)
	return wrap(err, "store a message of session %s", sessionID)
}

// messages lists a session's messages, newest first, those before a number unless it is 0.
func (s store) messages(ctx context.Context, accountID, sessionID string, before int64, limit int) ([]message, error) {
	rows := []message{}
	err := s.db.SelectContext(ctx, &rows, `SELECT number, body, created_at FROM studio_messages
		WHERE account_id = $1 AND session_id = $2 AND ($3 = 0 OR number < $3) ORDER BY number DESC LIMIT $4`,
		accountID, sessionID, before, limit)
	return rows, wrap(err, "list messages of session %s", sessionID)
}

// after lists a session's messages behind a number, oldest first.
func (s store) after(ctx context.Context, accountID, sessionID string, number int64, limit int) ([]message, error) {
	rows := []message{}
	err := s.db.SelectContext(ctx, &rows, `SELECT number, body, created_at FROM studio_messages
		WHERE account_id = $1 AND session_id = $2 AND number > $3 ORDER BY number LIMIT $4`, accountID, sessionID, number, limit)
	return rows, wrap(err, "read messages of session %s", sessionID)
}

// exists tells whether the account has a session.
func (s store) exists(ctx context.Context, accountID, id string) (found bool, err error) {
	err = s.db.GetContext(ctx, &found, `SELECT EXISTS (SELECT FROM studio_sessions WHERE account_id = $1 AND id = $2)`, accountID, id)
	return found, wrap(err, "look for session %s", id)
}

// output is a file of a job.
type output struct {
	Name       string `db:"name"`
	StorageKey string `db:"storage_key"`
	SHA256     string `db:"sha256"`
	ByteSize   int64  `db:"byte_size"`
}

// artifact finds a file of one of the account's jobs. Errors: sql.ErrNoRows.
func (s store) artifact(ctx context.Context, accountID, id string) (found output, err error) {
	err = s.db.GetContext(ctx, &found, `SELECT name, storage_key, sha256, byte_size FROM artifacts WHERE account_id = $1 AND id = $2`,
		accountID, id)
	return found, err
}

// output finds the newest file of this name among those of one of the account's jobs. Errors: sql.ErrNoRows.
func (s store) output(ctx context.Context, accountID, jobID, name string) (found output, err error) {
	err = s.db.GetContext(ctx, &found, `SELECT name, storage_key, sha256, byte_size FROM artifacts
		WHERE account_id = $1 AND job_id = $2 AND name = $3 ORDER BY id DESC LIMIT 1`, accountID, jobID, name)
	return found, err
}

// wrap says what was tried when a statement fails.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
