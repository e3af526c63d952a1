// Package projects is the API group of molecular projects: versioned workspaces whose head only a caller who knows it can move,
// whose revisions never change, and whose shares are pinned to one of them. A content is any JSON object; the group keeps it in
// canonical form and knows nothing of what it means.
//
// What the contract leaves open is settled here. Name, description and tags belong to the project: saving replaces them,
// restoring keeps them and copies the content alone, and a share shows the name of its time. Deleting a project takes its
// revisions and contents away for good; it answers 404 from then on, and its shares 410. A repeated request with the same
// Idempotency-Key is judged before its expectedVersion and gets the first answer, whatever has happened to the project since;
// only a restore whose project has been deleted is 404, because nobody has the content any more.
package projects

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/tenant"
)

// Bounds of what an account keeps. They are generous: they keep one account from filling the database that all share.
const (
	// MaxProjects bounds an account's projects.
	MaxProjects = 1000
	// MaxRevisions bounds a project's revisions: one every minute of a working week, four weeks long.
	MaxRevisions = 10_000
	// MaxStoredBytes bounds an account's contents together, each counted once a project: two thousand of the largest.
	MaxStoredBytes = 10 << 30
)

// Quota bounds what an account keeps. A zero field takes its default.
type Quota struct {
	Projects    int   // of an account
	Revisions   int64 // of a project
	StoredBytes int64 // of an account's contents
}

// Deps is what a Service needs; all are required but the quota.
type Deps struct {
	DB *sqlx.DB
	// Secrets make the tokens of shares: the same on every instance, and kept. Links of others are unknown.
	Secrets secret.Ring
	Quota   Quota
	Log     *slog.Logger
	Now     func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	db     *sqlx.DB
	tokens tokens
	quota  Quota
	log    *slog.Logger
	clock  func() time.Time
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	quota := deps.Quota
	if quota.Projects == 0 {
		quota.Projects = MaxProjects
	}
	if quota.Revisions == 0 {
		quota.Revisions = MaxRevisions
	}
	if quota.StoredBytes == 0 {
		quota.StoredBytes = MaxStoredBytes
	}
	return &Service{db: deps.DB, tokens: tokens{deps.Secrets}, quota: quota, log: deps.Log, clock: deps.Now}
}

// List reads a page of the account's projects, newest first. Errors: fault.InvalidCursor.
func (s *Service) List(ctx context.Context, accountID string, query list.Query) (contract.ProjectList, error) {
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.ProjectList{}, err
	}
	if from != nil {
		if _, err := parseID(from.ID); err != nil {
			return contract.ProjectList{}, foreignCursor()
		}
	}
	heads, err := selectHeads(ctx, s.db, accountID, from, query.Limit+1)
	if err != nil {
		return contract.ProjectList{}, err
	}
	heads, next := list.Cut(heads, query.Limit, func(h head) list.Position {
		return list.Position{At: h.CreatedAt, ID: h.ID.String()}
	})
	answer := contract.ProjectList{Projects: make([]contract.ProjectSummary, len(heads)), NextCursor: next}
	for i, h := range heads {
		answer.Projects[i] = s.summary(h)
	}
	return answer, nil
}

// Read returns a project with the content of its head. Errors: fault.NotFound, the same for one that is deleted, another
// account's, or was never there.
func (s *Service) Read(ctx context.Context, accountID, projectID string) (contract.Project, error) {
	id, err := parseID(projectID)
	if err != nil {
		return contract.Project{}, err
	}
	h, content, err := selectProject(ctx, s.db, accountID, id)
	if err != nil {
		return contract.Project{}, orNotFound(err, noProject)
	}
	return contract.Project{ProjectSummary: s.summary(h), Content: content}, nil
}

// Revisions reads a page of a project's history, newest first. Errors: fault.NotFound, fault.InvalidCursor.
func (s *Service) Revisions(
	ctx context.Context, accountID, projectID string, query list.Query,
) (contract.ProjectRevisionList, error) {
	id, err := parseID(projectID)
	if err != nil {
		return contract.ProjectRevisionList{}, err
	}
	h, err := selectHead(ctx, s.db, accountID, id)
	if err != nil {
		return contract.ProjectRevisionList{}, orNotFound(err, noProject)
	}
	below := h.CurrentVersion + 1
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.ProjectRevisionList{}, err
	}
	if from != nil {
		if below, err = strconv.ParseInt(from.ID, 10, 64); err != nil {
			return contract.ProjectRevisionList{}, foreignCursor()
		}
	}
	found, err := selectRevisions(ctx, s.db, id, below, query.Limit+1)
	if err != nil {
		return contract.ProjectRevisionList{}, err
	}
	found, next := list.Cut(found, query.Limit, func(r contract.ProjectRevisionSummary) list.Position {
		return list.Position{At: r.CreatedAt, ID: strconv.FormatInt(r.Version, 10)}
	})
	return contract.ProjectRevisionList{Revisions: found, NextCursor: next}, nil
}

// Revision reads a revision with its content. Errors: fault.NotFound.
func (s *Service) Revision(ctx context.Context, accountID, projectID string, version int64) (contract.ProjectRevision, error) {
	id, err := parseID(projectID)
	if err != nil {
		return contract.ProjectRevision{}, err
	}
	if _, err := selectHead(ctx, s.db, accountID, id); err != nil {
		return contract.ProjectRevision{}, orNotFound(err, noProject)
	}
	r, err := selectRevision(ctx, s.db, id, version)
	return r, orNotFound(err, noRevision)
}

// Shared returns what the holder of a token may see. Errors: fault.NotFound for a token that this service did not make,
// fault.ShareRevoked for one that has been revoked or replaced, or whose project has been deleted.
func (s *Service) Shared(ctx context.Context, token string) (contract.SharedProject, error) {
	share, ok := s.tokens.read(token)
	if !ok {
		return contract.SharedProject{}, fault.New(fault.NotFound, noShare)
	}
	shared, revoked, err := selectShared(tenant.Everyone(ctx, "whoever holds the link of a share may see it"), s.db, share)
	switch {
	case err != nil:
		return contract.SharedProject{}, orNotFound(err, noShare)
	case revoked:
		return contract.SharedProject{}, fault.New(fault.ShareRevoked, "the owner has revoked this share")
	default:
		return shared, nil
	}
}

// summary is a project as its owner sees it.
func (s *Service) summary(h head) contract.ProjectSummary {
	view := contract.ProjectSummary{
		ProjectID: h.ID.String(), Name: h.Name, Description: h.Description, Tags: h.Tags, CurrentVersion: h.CurrentVersion,
		ContentSHA256: h.ContentSHA256, CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt,
	}
	if h.ShareID != nil && h.ShareVersion != nil {
		token := s.tokens.make(*h.ShareID)
		view.Share = &contract.ProjectShare{Token: token, URL: pageOf(token), Version: *h.ShareVersion}
	}
	return view
}

// now is the time as Postgres keeps it.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

func (s *Service) tell(ctx context.Context, event, accountID string, h head) {
	s.log.InfoContext(ctx, event, "project_id", h.ID, "version", h.CurrentVersion, "account_id", accountID, "request_id",
		access.RequestID(ctx))
}

// What an answer says of something that is not there: the same whoever has it.
const (
	noProject  = "no such project"
	noRevision = "no such revision"
	noShare    = "no such share"
)

// parseID reads a project's id. What is none is as unknown as any other. Errors: fault.NotFound.
func parseID(text string) (uuid.UUID, error) {
	parsed, err := uuid.Parse(text)
	if err != nil || parsed.String() != text {
		return uuid.UUID{}, fault.New(fault.NotFound, noProject)
	}
	return parsed, nil
}

func orNotFound(err error, message string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "%s", message)
	}
	return err
}

func foreignCursor() error {
	return fault.New(fault.InvalidCursor, "cursor: it belongs to another list")
}
