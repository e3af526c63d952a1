package projects

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/postgres"
)

// change is a request as idempotency compares it: what it is aimed at and what it asks, the content in canonical form. Keys live
// by account and operation, so that one key for two projects is refused as another request.
type change struct {
	ProjectID string `json:"projectId,omitempty"`
	Version   int64  `json:"version,omitempty"`
	Request   any    `json:"request"`
}

// once runs do for the first request with the key, and answers every further one with what do returned then. Nothing that fails
// is remembered.
func once[T any](
	ctx context.Context, s *Service, accountID, operation, key string, c change, do func(tx *sqlx.Tx) (T, error),
) (receipt T, replayed bool, err error) {
	request, err := json.Marshal(c)
	if err != nil {
		return receipt, false, fmt.Errorf("write the request to compare: %w", err)
	}
	claim := idempotency.Claim{AccountID: accountID, Operation: "projects." + operation, Key: key, Request: request}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		first, err := idempotency.Take(ctx, tx, claim, nil, s.now())
		if err != nil {
			return err
		}
		if replayed = first != nil; replayed {
			return json.Unmarshal(first, &receipt)
		}
		if receipt, err = do(tx); err != nil {
			return err
		}
		answer, err := json.Marshal(receipt)
		if err != nil {
			return fmt.Errorf("write the receipt: %w", err)
		}
		return idempotency.Answer(ctx, tx, claim, answer)
	})
	return receipt, replayed, err
}

// Create makes a project at version 1. Errors: fault.PayloadTooLarge, fault.Validation when the account's quota is used up,
// fault.IdempotencyKeyReused, fault.IdempotencyInProgress.
func (s *Service) Create(ctx context.Context, accountID, key string, in contract.ProjectCreateRequest) (contract.Project, error) {
	d, err := canonical(in.Content)
	if err != nil {
		return contract.Project{}, err
	}
	in.Content = d.Content
	made, replayed, err := once(ctx, s, accountID, "create", key, change{Request: in}, func(tx *sqlx.Tx) (head, error) {
		projects, err := lockAccount(ctx, tx, accountID)
		if err != nil {
			return head{}, err
		}
		if projects >= s.quota.Projects {
			return head{}, fault.New(fault.Validation, "the account has %d projects, and no more are allowed: delete one first",
				projects)
		}
		if err := s.roomFor(ctx, tx, accountID, d); err != nil {
			return head{}, err
		}
		now := s.now()
		made := head{
			ID: uuid.Must(uuid.NewV7()), Name: in.Name, Description: in.Description, Tags: tags(in.Tags), CurrentVersion: 1,
			ContentSHA256: d.SHA256, CreatedAt: now, UpdatedAt: now,
		}
		if err := insertProject(ctx, tx, accountID, made); err != nil {
			return head{}, err
		}
		return made, s.write(ctx, tx, made, d, nil)
	})
	if err != nil {
		return contract.Project{}, err
	}
	if !replayed {
		s.tell(ctx, "project created", accountID, made)
	}
	return contract.Project{ProjectSummary: s.summary(made), Content: d.Content, IdempotentReplay: replayed}, nil
}

// Save makes a successor of the head, with everything that a project has replaced. Errors: as Create, fault.NotFound,
// fault.VersionConflict.
func (s *Service) Save(
	ctx context.Context, accountID, key, projectID string, in contract.ProjectSaveRequest,
) (contract.Project, error) {
	d, err := canonical(in.Content)
	if err != nil {
		return contract.Project{}, err
	}
	in.Content = d.Content
	saved, replayed, err := once(ctx, s, accountID, "save", key, change{ProjectID: projectID, Request: in},
		func(tx *sqlx.Tx) (head, error) {
			h, err := s.lock(ctx, tx, accountID, projectID, in.ExpectedVersion)
			if err != nil {
				return head{}, err
			}
			h.Name, h.Description, h.Tags = in.Name, in.Description, tags(in.Tags)
			return s.succeed(ctx, tx, accountID, h, d, nil)
		})
	if err != nil {
		return contract.Project{}, err
	}
	if !replayed {
		s.tell(ctx, "project saved", accountID, saved)
	}
	return contract.Project{ProjectSummary: s.summary(saved), Content: d.Content, IdempotentReplay: replayed}, nil
}

// Restore makes a successor of the head whose content is that of an earlier revision. Errors: as Save.
func (s *Service) Restore(
	ctx context.Context, accountID, key, projectID string, version int64, in contract.ProjectRestoreRequest,
) (contract.Project, error) {
	c := change{ProjectID: projectID, Version: version, Request: in}
	restored, replayed, err := once(ctx, s, accountID, "restore", key, c, func(tx *sqlx.Tx) (head, error) {
		h, err := s.lock(ctx, tx, accountID, projectID, in.ExpectedVersion)
		if err != nil {
			return head{}, err
		}
		source, err := selectRevision(ctx, tx, h.ID, version)
		if err != nil {
			return head{}, orNotFound(err, noRevision)
		}
		return s.succeed(ctx, tx, accountID, h, document{Content: source.Content, SHA256: source.ContentSHA256}, &version)
	})
	if err != nil {
		return contract.Project{}, err
	}
	content, err := selectContent(ctx, s.db, restored.ID, restored.ContentSHA256)
	if err != nil {
		return contract.Project{}, orNotFound(err, noProject)
	}
	if !replayed {
		s.tell(ctx, "project restored", accountID, restored)
	}
	return contract.Project{ProjectSummary: s.summary(restored), Content: content, IdempotentReplay: replayed}, nil
}

// Delete ends a project. Errors: fault.NotFound, also for the second time; fault.VersionConflict.
func (s *Service) Delete(ctx context.Context, accountID, projectID string, expectedVersion int64) error {
	return s.end(ctx, "project deleted", accountID, projectID, expectedVersion, deleteProject)
}

// shareReceipt is what a share is worked out from again.
type shareReceipt struct {
	ProjectID uuid.UUID `json:"projectId"`
	ShareID   uuid.UUID `json:"shareId"`
	Version   int64     `json:"version"`
}

// Share pins a new share to the head, or to a successor with the content where there is one, and revokes the share from before.
// Errors: as Save.
func (s *Service) Share(
	ctx context.Context, accountID, key, projectID string, in contract.ProjectShareRequest,
) (contract.ProjectShareAnswer, error) {
	var d document
	if in.Content != nil {
		var err error
		if d, err = canonical(in.Content); err != nil {
			return contract.ProjectShareAnswer{}, err
		}
		in.Content = d.Content
	}
	made, replayed, err := once(ctx, s, accountID, "share", key, change{ProjectID: projectID, Request: in},
		func(tx *sqlx.Tx) (shareReceipt, error) {
			h, err := s.lock(ctx, tx, accountID, projectID, in.ExpectedVersion)
			if err != nil {
				return shareReceipt{}, err
			}
			if in.Content != nil {
				if h, err = s.succeed(ctx, tx, accountID, h, d, nil); err != nil {
					return shareReceipt{}, err
				}
			}
			if err := revokeShare(ctx, tx, h.ID, s.now()); err != nil {
				return shareReceipt{}, err
			}
			made := shareReceipt{ProjectID: h.ID, ShareID: uuid.New(), Version: h.CurrentVersion}
			return made, insertShare(ctx, tx, made.ShareID, h, s.tokens.secrets.ID(), s.now())
		})
	if err != nil {
		return contract.ProjectShareAnswer{}, err
	}
	if !replayed {
		s.tell(ctx, "project shared", accountID, head{ID: made.ProjectID, CurrentVersion: made.Version})
	}
	token := s.tokens.make(made.ShareID)
	return contract.ProjectShareAnswer{Token: token, URL: pageOf(token), Version: made.Version, IdempotentReplay: replayed}, nil
}

// Revoke ends the active share; without one it changes nothing. Errors: fault.NotFound, fault.VersionConflict.
func (s *Service) Revoke(ctx context.Context, accountID, projectID string, expectedVersion int64) error {
	return s.end(ctx, "share revoked", accountID, projectID, expectedVersion, revokeShare)
}

// end does to a project what is done once and needs no key.
func (s *Service) end(ctx context.Context, event, accountID, projectID string, expectedVersion int64,
	do func(ctx context.Context, tx *sqlx.Tx, projectID uuid.UUID, now time.Time) error,
) error {
	var h head
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) (err error) {
		if h, err = s.lock(ctx, tx, accountID, projectID, expectedVersion); err != nil {
			return err
		}
		return do(ctx, tx, h.ID, s.now())
	})
	if err == nil {
		s.tell(ctx, event, accountID, h)
	}
	return err
}

// lock returns the head that the caller expects, and keeps every other change waiting. Errors: fault.NotFound,
// fault.VersionConflict.
func (s *Service) lock(ctx context.Context, tx *sqlx.Tx, accountID, projectID string, expectedVersion int64) (head, error) {
	id, err := parseID(projectID)
	if err != nil {
		return head{}, err
	}
	h, err := lockHead(ctx, tx, accountID, id)
	if err != nil {
		return head{}, orNotFound(err, noProject)
	}
	if h.CurrentVersion != expectedVersion {
		return head{}, fault.Conflict(h.CurrentVersion, "expectedVersion: the head is version %d, not %d; read it before you "+
			"save again", h.CurrentVersion, expectedVersion)
	}
	return h, nil
}

// succeed moves a locked head one version on. Errors: fault.Validation when a quota is used up.
func (s *Service) succeed(ctx context.Context, tx *sqlx.Tx, accountID string, h head, d document, source *int64) (head, error) {
	if h.CurrentVersion >= s.quota.Revisions {
		return head{}, fault.New(fault.Validation, "the project has %d revisions, and no more are allowed: go on in a new project",
			h.CurrentVersion)
	}
	if source == nil { // a restore stores no content anew
		if err := s.roomFor(ctx, tx, accountID, d); err != nil {
			return head{}, err
		}
	}
	h.CurrentVersion++
	h.ContentSHA256, h.UpdatedAt = d.SHA256, s.now()
	return h, s.write(ctx, tx, h, d, source)
}

// write stores the revision that h is the head of.
func (s *Service) write(ctx context.Context, tx *sqlx.Tx, h head, d document, source *int64) error {
	added, err := insertContent(ctx, tx, h.ID, d)
	if err != nil {
		return err
	}
	revision := contract.ProjectRevisionSummary{Version: h.CurrentVersion, ContentSHA256: d.SHA256, CreatedAt: h.UpdatedAt,
		SourceVersion: source}
	if err := insertRevision(ctx, tx, h.ID, revision); err != nil {
		return err
	}
	return updateHead(ctx, tx, h, added)
}

// roomFor refuses a content that the account has no room for.
func (s *Service) roomFor(ctx context.Context, tx *sqlx.Tx, accountID string, d document) error {
	storedBytes, err := selectStoredBytes(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if storedBytes+int64(len(d.Content)) > s.quota.StoredBytes {
		return fault.New(fault.Validation, "content: the account's projects hold %d bytes, and %d are allowed together: delete a "+
			"project first", storedBytes, s.quota.StoredBytes)
	}
	return nil
}

// tags is never nil: JSON and Postgres tell nothing from an empty list.
func tags(given []string) []string {
	if given == nil {
		return []string{}
	}
	return given
}
