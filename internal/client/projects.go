package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Project is a project; its Content is nil in lists.
type Project struct {
	Document
	ProjectID      string          `json:"projectId"`
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Tags           []string        `json:"tags"`
	CurrentVersion int64           `json:"currentVersion"` // of the head
	ContentSHA256  string          `json:"contentSha256"`
	Share          *Share          `json:"share"`
	Content        json.RawMessage `json:"content"` // canonical JSON (RFC 8785)
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
}

// Share is a link to one revision of a project.
type Share struct {
	Document
	Token   string `json:"token"` // whoever has it may read the revision
	URL     string `json:"url"`   // relative to the server
	Version int64  `json:"version"`
}

// Projects is a page of an account's projects, newest first.
type Projects struct {
	Document
	Projects   []Project `json:"projects"`
	NextCursor *string   `json:"nextCursor"`
}

// Revision is an immutable state of a project; its Content is nil in lists.
type Revision struct {
	Document
	Version       int64           `json:"version"`
	ContentSHA256 string          `json:"contentSha256"`
	Content       json.RawMessage `json:"content"`
	CreatedAt     time.Time       `json:"createdAt"`
	SourceVersion *int64          `json:"sourceVersion"` // the revision that a restore has copied
}

// Revisions is a page of a project's history, newest first.
type Revisions struct {
	Document
	Revisions  []Revision `json:"revisions"`
	NextCursor *string    `json:"nextCursor"`
}

// ProjectDraft is what a project is made of. A save replaces all of it.
type ProjectDraft struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Content     json.RawMessage `json:"content"` // any JSON object
}

const projectsPath = "/v1/molecular/projects"

func projectPath(projectID, rest string) string {
	return projectsPath + "/" + url.PathEscape(projectID) + rest
}

// Projects reads a page of the account's projects.
func (c *Client) Projects(ctx context.Context, page Page) (Projects, error) {
	var projects Projects
	err := c.do(ctx, call{method: http.MethodGet, path: projectsPath, query: page.query(), into: &projects})
	return projects, err
}

// Project reads a project with the content of its head.
func (c *Client) Project(ctx context.Context, projectID string) (Project, error) {
	var project Project
	err := c.do(ctx, call{method: http.MethodGet, path: projectPath(projectID, ""), into: &project})
	return project, err
}

// Revisions reads a page of a project's history.
func (c *Client) Revisions(ctx context.Context, projectID string, page Page) (Revisions, error) {
	var revisions Revisions
	err := c.do(ctx, call{method: http.MethodGet, path: projectPath(projectID, "/revisions"), query: page.query(), into: &revisions})
	return revisions, err
}

// Revision reads a revision with its content.
func (c *Client) Revision(ctx context.Context, projectID string, version int64) (Revision, error) {
	var revision Revision
	err := c.do(ctx, call{method: http.MethodGet, path: projectPath(projectID, fmt.Sprintf("/revisions/%d", version)), into: &revision})
	return revision, err
}

// The changes below repeat themselves safely under a key that each makes for itself. Where expectedVersion is not the project's
// head they change nothing: the error's code is VERSION_CONFLICT and Error.CurrentVersion the head.

// CreateProject makes a project at version 1.
func (c *Client) CreateProject(ctx context.Context, draft ProjectDraft) (Project, error) {
	var project Project
	err := c.do(ctx, keyed(call{method: http.MethodPost, path: projectsPath, body: draft, into: &project}))
	return project, err
}

// SaveProject appends a revision and replaces everything of the project by draft.
func (c *Client) SaveProject(ctx context.Context, projectID string, expectedVersion int64, draft ProjectDraft) (Project, error) {
	body := struct {
		ExpectedVersion int64 `json:"expectedVersion"`
		ProjectDraft
	}{expectedVersion, draft}
	var project Project
	err := c.do(ctx, keyed(call{method: http.MethodPut, path: projectPath(projectID, ""), body: body, into: &project}))
	return project, err
}

// RestoreProject appends a revision with the content of an earlier one.
func (c *Client) RestoreProject(ctx context.Context, projectID string, version, expectedVersion int64) (Project, error) {
	var project Project
	err := c.do(ctx, keyed(call{
		method: http.MethodPost, path: projectPath(projectID, fmt.Sprintf("/revisions/%d/restore", version)), body: expecting(expectedVersion), into: &project,
	}))
	return project, err
}

// ShareProject makes a link to the head; the link from before ends.
func (c *Client) ShareProject(ctx context.Context, projectID string, expectedVersion int64) (Share, error) {
	var share Share
	err := c.do(ctx, keyed(call{method: http.MethodPost, path: projectPath(projectID, "/shares"), body: expecting(expectedVersion), into: &share}))
	return share, err
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

func expecting(version int64) map[string]int64 { return map[string]int64{"expectedVersion": version} }

func versionQuery(version int64) url.Values {
	return url.Values{"expectedVersion": {strconv.FormatInt(version, 10)}}
}
