package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/molfabric/molfabric/internal/contract"
)

const studioPath = "/v1/molecular/studio"

func sessionPath(sessionID, rest string) string {
	return studioPath + "/sessions/" + url.PathEscape(sessionID) + rest
}

// OpenStudio opens a session.
func (c *Client) OpenStudio(ctx context.Context, request contract.StudioSessionRequest) (Answer[contract.StudioSession], error) {
	return ask[contract.StudioSession](ctx, c, keyed(call{method: http.MethodPost, path: studioPath + "/sessions", body: request}))
}

// StudioSession reads a session.
func (c *Client) StudioSession(ctx context.Context, sessionID string) (Answer[contract.StudioSession], error) {
	return ask[contract.StudioSession](ctx, c, call{method: http.MethodGet, path: sessionPath(sessionID, "")})
}

// StudioSessions reads a page of the account's sessions.
func (c *Client) StudioSessions(ctx context.Context, page Page) (Answer[contract.StudioSessionList], error) {
	return ask[contract.StudioSessionList](ctx, c, call{method: http.MethodGet, path: studioPath + "/sessions",
		query: page.query()})
}

// DeleteStudio forgets a session.
func (c *Client) DeleteStudio(ctx context.Context, sessionID string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: sessionPath(sessionID, "")})
}

// SayToStudio sends a message to a session.
func (c *Client) SayToStudio(
	ctx context.Context, sessionID string, request contract.StudioMessageRequest,
) (Answer[contract.StudioTurn], error) {
	return ask[contract.StudioTurn](ctx, c, keyed(call{method: http.MethodPost, path: sessionPath(sessionID, "/messages"),
		body: request}))
}

// SaveStudio keeps a session's scene in a project.
func (c *Client) SaveStudio(
	ctx context.Context, sessionID string, request contract.StudioSaveRequest,
) (Answer[contract.StudioProject], error) {
	return ask[contract.StudioProject](ctx, c, keyed(call{method: http.MethodPost, path: sessionPath(sessionID, "/save"),
		body: request}))
}

// ExportStudio writes a scene as a file.
func (c *Client) ExportStudio(
	ctx context.Context, request contract.StudioExportRequest,
) (Answer[contract.StudioExport], error) {
	return ask[contract.StudioExport](ctx, c, call{method: http.MethodPost, path: studioPath + "/export", body: request,
		idempotent: true})
}

// SaveExport fetches a file that ExportStudio has made.
func (c *Client) SaveExport(ctx context.Context, file contract.StudioFile, destination string) error {
	from := c.stored(file.Name, file.URL, file.ByteSize)
	from.digest = file.SHA256
	return c.save(ctx, from, destination, &meter{})
}

// RenderStudio orders a picture or a film.
func (c *Client) RenderStudio(
	ctx context.Context, request contract.StudioRenderRequest,
) (Answer[contract.SubmitResponse], error) {
	return ask[contract.SubmitResponse](ctx, c, keyed(call{method: http.MethodPost, path: studioPath + "/renders", body: request}))
}

// PreviewStudio draws a small picture and writes it to the file at destination.
func (c *Client) PreviewStudio(ctx context.Context, request contract.StudioPreviewRequest, destination string) error {
	return c.saveAnswer(ctx, call{method: http.MethodPost, path: studioPath + "/renders/preview", body: request}, destination)
}
