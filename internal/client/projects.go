package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/contract"
)

const projectsPath = "/v1/molecular/projects"

func projectPath(projectID, rest string) string {
	return projectsPath + "/" + url.PathEscape(projectID) + rest
}

// Projects reads a page of the account's projects.
func (c *Client) Projects(ctx context.Context, page Page) (Answer[contract.ProjectList], error) {
	return ask[contract.ProjectList](ctx, c, call{method: http.MethodGet, path: projectsPath, query: page.query()})
}

// Project reads a project with the content of its head.
func (c *Client) Project(ctx context.Context, projectID string) (Answer[contract.Project], error) {
	return ask[contract.Project](ctx, c, call{method: http.MethodGet, path: projectPath(projectID, "")})
}

// Revisions reads a page of a project's history.
func (c *Client) Revisions(ctx context.Context, projectID string, page Page) (Answer[contract.ProjectRevisionList], error) {
	return ask[contract.ProjectRevisionList](ctx, c, call{
		method: http.MethodGet, path: projectPath(projectID, "/revisions"), query: page.query(),
	})
}

// Revision reads a revision with its content.
func (c *Client) Revision(ctx context.Context, projectID string, version int64) (Answer[contract.ProjectRevision], error) {
	return ask[contract.ProjectRevision](ctx, c, call{
		method: http.MethodGet, path: projectPath(projectID, fmt.Sprintf("/revisions/%d", version)),
	})
}

// The changes below repeat themselves safely under a key that each makes for itself. Where expectedVersion is not the project's
// head they change nothing: the error's code is VERSION_CONFLICT and Error.CurrentVersion the head.

// CreateProject makes a project at version 1.
func (c *Client) CreateProject(ctx context.Context, draft contract.ProjectCreateRequest) (Answer[contract.Project], error) {
	return ask[contract.Project](ctx, c, keyed(call{method: http.MethodPost, path: projectsPath, body: draft}))
}

// SaveProject appends a revision and replaces everything of the project by draft.
func (c *Client) SaveProject(
	ctx context.Context, projectID string, expectedVersion int64, draft contract.ProjectCreateRequest,
) (Answer[contract.Project], error) {
	return ask[contract.Project](ctx, c, keyed(call{
		method: http.MethodPut, path: projectPath(projectID, ""),
		body: contract.ProjectSaveRequest{ExpectedVersion: expectedVersion, ProjectCreateRequest: draft},
	}))
}

// RestoreProject appends a revision with the content of an earlier one.
func (c *Client) RestoreProject(
	ctx context.Context, projectID string, version, expectedVersion int64,
) (Answer[contract.Project], error) {
	return ask[contract.Project](ctx, c, keyed(call{
		method: http.MethodPost, path: projectPath(projectID, fmt.Sprintf("/revisions/%d/restore", version)),
		body: contract.ProjectRestoreRequest{ExpectedVersion: expectedVersion},
	}))
}

// ShareProject makes a link to the head; the link from before ends.
func (c *Client) ShareProject(
	ctx context.Context, projectID string, expectedVersion int64,
) (Answer[contract.ProjectShareAnswer], error) {
	return ask[contract.ProjectShareAnswer](ctx, c, keyed(call{
		method: http.MethodPost, path: projectPath(projectID, "/shares"),
		body: contract.ProjectShareRequest{ExpectedVersion: expectedVersion},
	}))
}

// RevokeShare ends a project's link; without one nothing changes.
func (c *Client) RevokeShare(ctx context.Context, projectID string, expectedVersion int64) error {
	return c.do(ctx, call{
		method: http.MethodDelete, path: projectPath(projectID, "/shares"), query: versionQuery(expectedVersion), idempotent: true,
	})
}

// DeleteProject deletes a project with all revisions, for good. It is not repeated after a broken connection: the project would
// be gone already.
func (c *Client) DeleteProject(ctx context.Context, projectID string, expectedVersion int64) error {
	return c.do(ctx, call{method: http.MethodDelete, path: projectPath(projectID, ""), query: versionQuery(expectedVersion)})
}

// keyed makes a call repeatable.
func keyed(c call) call {
	c.idempotent, c.header = true, map[string]string{"Idempotency-Key": uuid.NewString()}
	return c
}

func versionQuery(version int64) url.Values {
	return url.Values{"expectedVersion": {strconv.FormatInt(version, 10)}}
}
