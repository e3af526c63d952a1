package projects

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
)

// head is a living project as it is now, without its content. It is also the receipt of an idempotent change, so its members
// have names for JSON that must not change while a key lives.
type head struct {
	ID             uuid.UUID      `db:"id" json:"id"`
	Name           string         `db:"name" json:"name"`
	Description    string         `db:"description" json:"description"`
	Tags           pq.StringArray `db:"tags" json:"tags"`
	CurrentVersion int64          `db:"current_version" json:"currentVersion"`
	ContentSHA256  string         `db:"content_sha256" json:"contentSha256"`
	CreatedAt      time.Time      `db:"created_at" json:"createdAt"`
	UpdatedAt      time.Time      `db:"updated_at" json:"updatedAt"`
	ShareID        *uuid.UUID     `db:"share_id" json:"shareId"`
	ShareVersion   *int64         `db:"share_version" json:"shareVersion"`
}

const headColumns = `p.id, p.name, p.description, p.tags, p.current_version, r.content_sha256, p.created_at, p.updated_at,
	s.id AS share_id, s.version AS share_version`

const headTables = `projects p JOIN project_revisions r ON r.project_id = p.id AND r.version = p.current_version
	LEFT JOIN project_shares s ON s.project_id = p.id AND s.revoked_at IS NULL`

// living says of p that it is the caller's own and not deleted.
const living = `p.account_id = $1 AND p.deleted_at IS NULL`

// selectHead reads a project. Errors: sql.ErrNoRows.
func selectHead(ctx context.Context, q sqlx.QueryerContext, accountID string, projectID uuid.UUID) (head, error) {
	var h head
	err := sqlx.GetContext(ctx, q, &h, `SELECT `+headColumns+` FROM `+headTables+` WHERE `+living+` AND p.id = $2`, accountID,
		projectID)
	return h, wrap(err, "read project")
}

// lockHead reads a project and keeps every other change of it waiting until the transaction ends. The lock comes first, in a
// statement of its own: a join that waited would put the new head beside revisions from before. Errors: sql.ErrNoRows.
func lockHead(ctx context.Context, tx *sqlx.Tx, accountID string, projectID uuid.UUID) (head, error) {
	var locked uuid.UUID
	err := tx.GetContext(ctx, &locked, `SELECT p.id FROM projects p WHERE `+living+` AND p.id = $2 FOR NO KEY UPDATE`, accountID,
		projectID)
	if err != nil {
		return head{}, wrap(err, "lock project")
	}
	return selectHead(ctx, tx, accountID, projectID)
}

// selectProject reads a project with its content. Errors: sql.ErrNoRows.
func selectProject(ctx context.Context, db *sqlx.DB, accountID string, projectID uuid.UUID) (head, contract.Content, error) {
	var found struct {
		head
		Content string
	}
	err := db.GetContext(ctx, &found, `SELECT `+headColumns+`, c.content FROM `+headTables+`
		JOIN project_contents c ON c.project_id = p.id AND c.sha256 = r.content_sha256
		WHERE `+living+` AND p.id = $2`, accountID, projectID)
	return found.head, contract.Content(found.Content), wrap(err, "read project")
}

// newest sorts projects.
var newest = list.Newest("p.created_at", "p.id")

// selectHeads lists an account's projects, newest first.
func selectHeads(ctx context.Context, db *sqlx.DB, accountID string, from *list.Position, limit int) ([]head, error) {
	c := &list.Conditions{Args: []any{accountID}}
	c.Add(living)
	c.Behind(newest, from.Values()...)
	found := []head{}
	err := db.SelectContext(ctx, &found, `SELECT `+headColumns+` FROM `+headTables+` WHERE `+c.String()+` ORDER BY `+newest.By()+`
		LIMIT `+c.Arg(limit), c.Args...)
	return found, wrap(err, "list projects")
}

// lockAccount keeps other creations of the account waiting until the transaction ends, and counts its living projects.
func lockAccount(ctx context.Context, tx *sqlx.Tx, accountID string) (projects int, err error) {
	if _, err := tx.ExecContext(ctx, `SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE`, accountID); err != nil {
		return 0, wrap(err, "lock account")
	}
	err = tx.GetContext(ctx, &projects, `SELECT count(*) FROM projects p WHERE `+living, accountID)
	return projects, wrap(err, "count projects")
}

// selectStoredBytes sums what the contents of an account's projects take.
func selectStoredBytes(ctx context.Context, tx *sqlx.Tx, accountID string) (bytes int64, err error) {
	err = tx.GetContext(ctx, &bytes, `SELECT coalesce(sum(stored_bytes), 0) FROM projects p WHERE `+living, accountID)
	return bytes, wrap(err, "sum the contents of projects")
}

func insertProject(ctx context.Context, tx *sqlx.Tx, accountID string, h head) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO projects (id, account_id, name, description, tags, current_version, stored_bytes,
		created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)`,
		h.ID, accountID, h.Name, h.Description, h.Tags, h.CurrentVersion, h.CreatedAt, h.UpdatedAt)
	return wrap(err, "store project")
}

// insertContent stores a content, unless the project has it, and returns the bytes that it takes.
func insertContent(ctx context.Context, tx *sqlx.Tx, projectID uuid.UUID, d document) (int64, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO project_contents (project_id, sha256, content) VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`,
		projectID, d.SHA256, string(d.Content))
	if err != nil {
		return 0, wrap(err, "store content")
	}
	added, err := result.RowsAffected()
	return added * int64(len(d.Content)), wrap(err, "store content")
}

func insertRevision(ctx context.Context, tx *sqlx.Tx, projectID uuid.UUID, r contract.ProjectRevisionSummary) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO project_revisions (project_id, version, content_sha256, source_version, created_at)
		VALUES ($1, $2, $3, $4, $5)`,
		projectID, r.Version, r.ContentSHA256, r.SourceVersion, r.CreatedAt)
	return wrap(err, "store revision")
}

// updateHead moves the head to what h says; addedBytes are those of its content.
func updateHead(ctx context.Context, tx *sqlx.Tx, h head, addedBytes int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE projects SET name = $2, description = $3, tags = $4, current_version = $5,
		updated_at = $6,
		stored_bytes = stored_bytes + $7 WHERE id = $1`,
		h.ID, h.Name, h.Description, h.Tags, h.CurrentVersion, h.UpdatedAt, addedBytes)
	return wrap(err, "move the head of a project")
}

// deleteProject leaves the ids of the project and of its shares, and nothing else.
func deleteProject(ctx context.Context, tx *sqlx.Tx, projectID uuid.UUID, now time.Time) error {
	for _, statement := range []string{
		`UPDATE projects SET deleted_at = $2, name = '', description = '', tags = '{}', stored_bytes = 0 WHERE id = $1`,
		`UPDATE project_shares SET revoked_at = coalesce(revoked_at, $2), name = '' WHERE project_id = $1`,
	} {
		if _, err := tx.ExecContext(ctx, statement, projectID, now); err != nil {
			return wrap(err, "delete project")
		}
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM project_contents WHERE project_id = $1`, projectID) // and with them the revisions
	return wrap(err, "delete the contents of a project")
}

const revisionColumns = `r.version, r.content_sha256 AS ContentSHA256, r.created_at AS CreatedAt,
	r.source_version AS SourceVersion`

// selectRevision reads a revision of a project that the caller may see. Errors: sql.ErrNoRows.
func selectRevision(
	ctx context.Context, q sqlx.QueryerContext, projectID uuid.UUID, version int64,
) (contract.ProjectRevision, error) {
	var found struct {
		contract.ProjectRevisionSummary
		Content string
	}
	err := sqlx.GetContext(ctx, q, &found, `SELECT `+revisionColumns+`, c.content FROM project_revisions r
		JOIN project_contents c ON c.project_id = r.project_id AND c.sha256 = r.content_sha256
		WHERE r.project_id = $1 AND r.version = $2`, projectID, version)
	return contract.ProjectRevision{ProjectRevisionSummary: found.ProjectRevisionSummary, Content: contract.Content(found.Content)},
		wrap(err, "read revision")
}

// selectRevisions lists a project's revisions below a version, newest first.
func selectRevisions(
	ctx context.Context, db *sqlx.DB, projectID uuid.UUID, below int64, limit int,
) ([]contract.ProjectRevisionSummary, error) {
	found := []contract.ProjectRevisionSummary{}
	err := db.SelectContext(ctx, &found, `SELECT `+revisionColumns+` FROM project_revisions r
		WHERE r.project_id = $1 AND r.version < $2 ORDER BY r.version DESC LIMIT $3`, projectID, below, limit)
	return found, wrap(err, "list revisions")
}

// selectContent reads a content by its digest. Errors: sql.ErrNoRows, also when the project has been deleted.
func selectContent(ctx context.Context, db *sqlx.DB, projectID uuid.UUID, sha256 string) (contract.Content, error) {
	var content string
	err := db.GetContext(ctx, &content, `SELECT content FROM project_contents WHERE project_id = $1 AND sha256 = $2`, projectID,
		sha256)
	return contract.Content(content), wrap(err, "read content")
}

// insertShare makes a share of the project's head.
func insertShare(ctx context.Context, tx *sqlx.Tx, share uuid.UUID, h head, secretID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO project_shares (id, project_id, version, name, created_at, secret_id)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		share, h.ID, h.CurrentVersion, h.Name, now, secretID)
	return wrap(err, "store share")
}

// revokeShare ends the active share, if there is one.
func revokeShare(ctx context.Context, tx *sqlx.Tx, projectID uuid.UUID, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE project_shares SET revoked_at = $2 WHERE project_id = $1 AND revoked_at IS NULL`,
		projectID, now)
	return wrap(err, "revoke share")
}

// selectShared reads what a share shows; revoked says that it shows nothing any more. Errors: sql.ErrNoRows.
func selectShared(ctx context.Context, db *sqlx.DB, share uuid.UUID) (shared contract.SharedProject, revoked bool, err error) {
	var found struct {
		contract.SharedProject
		Content string
	}
	err = db.GetContext(ctx, &found, `SELECT s.name, r.version, r.content_sha256 AS ContentSHA256, r.created_at AS CreatedAt,
			c.content FROM project_shares s
		JOIN project_revisions r ON r.project_id = s.project_id AND r.version = s.version
		JOIN project_contents c ON c.project_id = r.project_id AND c.sha256 = r.content_sha256
		WHERE s.id = $1 AND s.revoked_at IS NULL`, share)
	if !errors.Is(err, sql.ErrNoRows) {
		found.SharedProject.Content = contract.Content(found.Content)
		return found.SharedProject, false, wrap(err, "read share")
	}
	err = db.GetContext(ctx, &revoked, `SELECT revoked_at IS NOT NULL FROM project_shares WHERE id = $1`, share)
	return shared, revoked, wrap(err, "read share")
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
