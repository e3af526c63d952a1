package client

import (
	"context"

	"github.com/molfabric/molfabric/internal/contract"
)

// RoleFrame is Output.Role of a picture of a rendering.
const RoleFrame = "frame"

// maxPreviewBytes bounds a preview: one of 640 pixels has a hundredth of it.
const maxPreviewBytes = 16 << 20

// DownloadPreview writes a job's preview to destination, which is replaced as a whole. Folders are made as needed. A picture that
// has gone because a newer one has taken its place is an *Error with status 404.
func (c *Client) DownloadPreview(ctx context.Context, preview contract.Preview, destination string) error {
	return c.save(ctx, c.stored("the preview", preview.URL, maxPreviewBytes), destination, &meter{})
}

// Frames reads a page of the frames that a job has finished, newest first.
func (c *Client) Frames(ctx context.Context, jobID string, page Page) (Answer[contract.Outputs], error) {
	query := page.query()
	query.Set("role", RoleFrame)
	return c.outputs(ctx, jobID, query)
}
