package studio

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/scene"
)

// member is where a project's content holds a scene of the studio's; whatever else the content has is left alone.
const member = "studio"

// kept is a scene as a project holds it. Its sources are looked up anew by whoever opens it.
type kept struct {
	Version int         `json:"version"`
	Title   string      `json:"title"`
	Scene   scene.Model `json:"scene"`
}

// keptVersion is of the form above.
const keptVersion = 1

// Save keeps a session's scene as a revision of a project. With the same idempotency key it may be called again.
//
// Errors: fault.NotFound; fault.InsufficientScope; fault.VersionConflict; fault.Validation; those of saving a project.
func (s *Service) Save(
	ctx context.Context, accountID, sessionID, key string, request contract.StudioSaveRequest,
) (contract.StudioProject, error) {
	if err := needs(ctx, access.ProjectsWrite, "saving to a project"); err != nil {
		return contract.StudioProject{}, err
	}
	if request.ProjectID != "" && request.ExpectedVersion == nil {
		return contract.StudioProject{}, fault.New(fault.Validation, "expectedVersion: say which revision of the project you "+
			"know; the session's project has it")
	}
	row, state, err := s.session(ctx, accountID, sessionID)
	if err != nil {
		return contract.StudioProject{}, err
	}
	content := map[string]json.RawMessage{}
	if request.ProjectID != "" {
		text, _, err := s.deps.Projects.Content(ctx, accountID, request.ProjectID, 0)
		if err != nil {
			return contract.StudioProject{}, err
		}
		if err := json.Unmarshal(text, &content); err != nil {
			return contract.StudioProject{}, fmt.Errorf("read project %s: %w", request.ProjectID, err)
		}
	}
	if content[member], err = json.Marshal(kept{keptVersion, row.Title, state.History.Scene()}); err != nil {
		return contract.StudioProject{}, fmt.Errorf("write a scene: %w", err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return contract.StudioProject{}, fmt.Errorf("write a project: %w", err)
	}
	saved := contract.StudioProject{ProjectID: request.ProjectID}
	if request.ProjectID == "" {
		name := request.Name
		if name == "" {
			name = row.Title
		}
		saved.ProjectID, saved.Version, err = s.deps.Projects.Create(ctx, accountID, key, name, text)
	} else {
		saved.Version, err = s.deps.Projects.Save(ctx, accountID, key, request.ProjectID, *request.ExpectedVersion, text)
	}
	if err != nil {
		return contract.StudioProject{}, err
	}
	return saved, s.noteProject(ctx, row, saved)
}

// noteProject remembers where a session was saved. A message that came meanwhile is not in the way: the project has what it was
// given.
func (s *Service) noteProject(ctx context.Context, row session, saved contract.StudioProject) error {
	for range tries {
		row.ProjectID = sql.NullString{String: saved.ProjectID, Valid: true}
		row.ProjectVersion = sql.NullInt64{Int64: saved.Version, Valid: true}
		row.UpdatedAt = s.now()
		err := postgres.InTx(ctx, s.deps.DB, func(tx *sqlx.Tx) error {
			done, err := s.store.update(ctx, tx, row)
			if err == nil && !done {
				err = errOvertaken
			}
			return err
		})
		if !errors.Is(err, errOvertaken) {
			return err
		}
		if row, err = s.store.session(ctx, row.AccountID, row.ID); err != nil {
			return err
		}
	}
	return nil // it is saved; where, the project's list tells
}

// saved reads a scene that was saved to a project; version 0 is the head. Errors: fault.NotFound, fault.Validation,
// fault.InsufficientScope.
func (s *Service) saved(ctx context.Context, accountID, projectID string, version int64) (kept, int64, error) {
	if err := needs(ctx, access.ProjectsRead, "reading a project"); err != nil {
		return kept{}, 0, err
	}
	text, found, err := s.deps.Projects.Content(ctx, accountID, projectID, version)
	if err != nil {
		return kept{}, 0, err
	}
	var content struct {
		Studio *kept `json:"studio"`
	}
	if err := json.Unmarshal(text, &content); err != nil || content.Studio == nil || content.Studio.Version != keptVersion {
		return kept{}, 0, fault.New(fault.Validation, "projectId: revision %d of the project holds no scene of the studio; save a "+
			"session to it first", found)
	}
	if err := scene.CheckModel(content.Studio.Scene); err != nil {
		return kept{}, 0, fault.New(fault.Validation, "projectId: revision %d of the project: %s", found, err)
	}
	return *content.Studio, found, nil
}

// revisionOf reads ID or ID@REVISION; revision 0 is the head. Errors: fault.Validation.
func revisionOf(name string) (projectID string, version int64, err error) {
	projectID, number, given := strings.Cut(name, "@")
	if given {
		if version, err = strconv.ParseInt(number, 10, 64); err != nil || version < 0 {
			return "", 0, fault.New(fault.Validation, "source: expected project:ID or project:ID@REVISION")
		}
	}
	return projectID, version, nil
}
