package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// maxSavedBytes bounds an answer that is a file: the bundle of 10,000 ligands with all their poses is a few GB.
	maxSavedBytes = 32 << 30
	// saveTimeout bounds its transfer: that size on a line of 10 MB/s.
	saveTimeout = time.Hour
)

// save writes the body of an answer that is no JSON to the file at destination, with retries. The file appears under its name
// only when it is whole; its folder is made as needed. Errors: as for do, and the file system's.
func (c *Client) save(ctx context.Context, call call, destination string) error {
	if err := os.MkdirAll(filepath.Dir(destination), 0o755); err != nil {
		return err
	}
	part := destination + ".part"
	err := c.attempts(ctx, true, func() error {
		file, err := os.Create(part)
		if err != nil {
			return err
		}
		return errors.Join(c.saveOnce(ctx, call, file), file.Close())
	})
	if err != nil {
		return errors.Join(err, remove(part))
	}
	return os.Rename(part, destination)
}

func (c *Client) saveOnce(ctx context.Context, call call, into io.Writer) error {
	limited, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	request, err := c.request(limited, call, nil)
	if err != nil {
		return err
	}
	answer, err := c.api.Do(request)
	if err != nil {
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return refusal(answer)
	}
	written, err := io.Copy(into, io.LimitReader(answer.Body, maxSavedBytes+1))
	var local *os.PathError
	switch {
	case errors.As(err, &local):
		return err
	case err != nil:
		return c.network(ctx, err)
	case written > maxSavedBytes:
		return fmt.Errorf("%s %s: the answer is larger than %d GiB", call.method, call.path, maxSavedBytes>>30)
	}
	return nil
}
