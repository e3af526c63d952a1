package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// RoleFrame is Output.Role of a picture of a rendering.
const RoleFrame = "frame"

// maxPreviewBytes bounds a preview: one of 640 pixels has a hundredth of it.
const maxPreviewBytes = 16 << 20

// Preview is a small picture of a rendering: its newest frame while it runs.
type Preview struct {
	URL       string    `json:"url"` // short-lived
	ExpiresAt time.Time `json:"expiresAt"`
}

// Picture tells one preview from another: the address without its signature, which changes though the picture does not.
func (p Preview) Picture() string {
	picture, _, _ := strings.Cut(p.URL, "?")
	return picture
}

// DownloadPreview writes a job's preview to destination, which is replaced as a whole. Folders are made as needed. A picture that has
// gone because a newer one has taken its place is an *Error with status 404.
func (c *Client) DownloadPreview(ctx context.Context, preview Preview, destination string) error {
	if err := os.MkdirAll(filepath.Dir(destination), 0o755); err != nil {
		return err
	}
	part := destination + ".part"
	err := c.attempts(ctx, true, func() error {
		file, err := os.Create(part)
		if err != nil {
			return err
		}
		return errors.Join(c.getPreview(ctx, preview, file), file.Close())
	})
	if err != nil {
		return errors.Join(err, remove(part))
	}
	return os.Rename(part, destination)
}

// getPreview reads the picture once.
func (c *Client) getPreview(ctx context.Context, preview Preview, into io.Writer) error {
	limited, cancel := context.WithTimeout(ctx, transferTime(maxPreviewBytes))
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, preview.URL, nil)
	if err != nil {
		return errors.New("the server answered with an address of a preview that is none")
	}
	answer, err := c.store.Do(request)
	if err != nil {
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return storeRefusal(answer)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxPreviewBytes+1))
	if err != nil {
		return c.network(ctx, err)
	}
	if len(text) > maxPreviewBytes {
		return fmt.Errorf("the preview is larger than %d MiB", maxPreviewBytes>>20)
	}
	_, err = into.Write(text)
	return err
}

// Frames reads a page of the frames that a job has finished, newest first.
func (c *Client) Frames(ctx context.Context, jobID string, page Page) (Outputs, error) {
	query := page.query()
	query.Set("role", RoleFrame)
	var outputs Outputs
	err := c.do(ctx, call{method: http.MethodGet, path: jobPath(jobID, "/outputs"), query: query, into: &outputs})
	return outputs, err
}
