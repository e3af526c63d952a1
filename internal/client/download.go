package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// maxDownloads bounds the files that are downloaded at once: enough to hide the way there and back.
	maxDownloads = 8
	// maxSavedBytes bounds an answer that is a file: the bundle of 10,000 ligands with all their poses is a few GB.
	maxSavedBytes = 32 << 30
	// saveTimeout bounds its transfer: that size on a line of 10 MB/s.
	saveTimeout = time.Hour
)

// Download is a job's file and where it is to lie here.
type Download struct {
	contract.Output
	JobID string
	Path  string
}

// Download writes files, several at once, and checks the size and the SHA-256 of each. A file appears under its name only when it
// is whole and right; one that is there already and right is left alone, and what has come of one that broke off is gone on from,
// by the next call too. Folders are made as needed. told, when it is not nil, learns how many bytes have come, and of those that
// need not come again; there may be fewer again when they were wrong. done, when it is not nil, learns of each file that is there.
// Calls of both come one after the other. A checksum that stays wrong is a *ChecksumError.
func (c *Client) Download(ctx context.Context, files []Download, told func(bytes int64), done func(Download)) error {
	count := &meter{tell: func(sent, there int64) {
		if told != nil {
			told(sent + there)
		}
	}}
	transfers, together := errgroup.WithContext(ctx)
	transfers.SetLimit(maxDownloads)
	for _, file := range files {
		if together.Err() != nil {
			break
		}
		transfers.Go(func() error {
			if matches(file.Output, file.Path) {
				count.add(0, file.ByteSize)
			} else if err := c.save(together, c.sourceOf(file.JobID, file.Output), file.Path, count); err != nil {
				return err
			}
			if done != nil {
				count.mu.Lock()
				defer count.mu.Unlock()
				done(file)
			}
			return nil
		})
	}
	if err := transfers.Wait(); err != nil {
		return err
	}
	return ctx.Err() // what was stopped before a file of it began has no error of its own
}

// DownloadOutput is Download of one file.
func (c *Client) DownloadOutput(ctx context.Context, jobID string, output contract.Output, destination string) error {
	return c.Download(ctx, []Download{{output, jobID, destination}}, nil, nil)
}

// FetchOutput reads a job's file of at most limit bytes into memory, checked like Download's.
func (c *Client) FetchOutput(ctx context.Context, jobID string, output contract.Output, limit int64) ([]byte, error) {
	if output.ByteSize > limit {
		return nil, fmt.Errorf("%s: has %d bytes, more than the %d that are read at once", output.Name, output.ByteSize, limit)
	}
	var content bytes.Buffer
	into := &arrival{to: &content, restart: func() error { content.Reset(); return nil }, hash: sha256.New(), count: &meter{}}
	err := c.receive(ctx, c.sourceOf(jobID, output), into)
	return content.Bytes(), err
}

// saveAnswer writes the body of an answer that is no JSON to the file at destination, which appears under its name only when it is
// whole. Errors: as for do, and the file system's.
func (c *Client) saveAnswer(ctx context.Context, call call, destination string) error {
	body, err := call.text()
	if err != nil {
		return err
	}
	return c.save(ctx, &source{
		name: "the answer", client: c.api, refusal: refusal, most: maxSavedBytes, timeout: saveTimeout,
		open: func(ctx context.Context) (*http.Request, error) { return c.request(ctx, call, body) },
	}, destination, &meter{})
}

// source is where a file comes from, and what is known of it beforehand.
type source struct {
	name    string
	open    func(ctx context.Context) (*http.Request, error)
	client  *http.Client
	refusal func(*http.Response) *Error
	renew   func(ctx context.Context) error // gets an address anew that has become too old; nil where that cannot be
	most    int64                           // bytes
	digest  string                          // SHA-256 of exactly most bytes; "" when nobody knows it
	timeout time.Duration                   // of one try
}

// stored is a file in the object store, read without a credential.
func (c *Client) stored(name, address string, most int64) *source {
	s := &source{name: name, client: c.store, refusal: storeRefusal, most: most, timeout: transferTime(most)}
	s.open = func(ctx context.Context) (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: the server answered with an address that is none", name)
		}
		return request, nil
	}
	return s
}

// sourceOf is a job's file. Its address is good for an hour, which a large download outlives.
func (c *Client) sourceOf(jobID string, output contract.Output) *source {
	s := c.stored(output.Name, output.URL, output.ByteSize)
	s.digest = output.SHA256
	s.renew = func(ctx context.Context) error {
		again, err := c.findOutput(ctx, jobID, output)
		s.open = c.stored(again.Name, again.URL, again.ByteSize).open
		return err
	}
	return s
}

// findOutput reads a job's file anew, for its address.
func (c *Client) findOutput(ctx context.Context, jobID string, gone contract.Output) (contract.Output, error) {
	page := Page{Limit: contract.MaxPage}
	for {
		query := page.query()
		query.Set("role", gone.Role)
		query.Set("taskIndex", strconv.Itoa(gone.TaskIndex))
		outputs, err := c.outputs(ctx, jobID, query)
		if err != nil {
			return gone, err
		}
		for _, one := range outputs.Body.Outputs {
			if one.ArtifactID == gone.ArtifactID {
				return one, nil
			}
		}
		if outputs.Body.NextCursor == nil {
			return gone, fmt.Errorf("%s: the job has no such file any more", gone.Name)
		}
		page.Cursor = *outputs.Body.NextCursor
	}
}

// save writes a file to destination, by way of a file beside it. Errors: as for receive, and the file system's.
func (c *Client) save(ctx context.Context, from *source, destination string, count *meter) error {
	if err := os.MkdirAll(filepath.Dir(destination), 0o755); err != nil {
		return err
	}
	part := destination + ".part"
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	into := &arrival{to: file, hash: sha256.New(), count: count, restart: func() error {
		_, err := file.Seek(0, io.SeekStart)
		return errors.Join(err, file.Truncate(0))
	}}
	err = into.goOn(file, from)
	if err == nil {
		err = c.receive(ctx, from, into)
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		return os.Rename(part, destination)
	}
	if into.written > 0 && from.digest != "" && brokenOff(err) {
		return err // the next call goes on from there
	}
	return errors.Join(err, remove(part))
}

// brokenOff tells whether a transfer ended for a reason that does not speak against what has come of it.
func brokenOff(err error) bool {
	var network *NetworkError
	return errors.As(err, &network) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// receive reads a file, with retries that go on where the last has ended, and checks it. Errors: as for do, and *ChecksumError.
func (c *Client) receive(ctx context.Context, from *source, into *arrival) error {
	renewed := false
	return c.attempts(ctx, true, func() error {
		err := c.receiveOnce(ctx, from, into)
		if StatusOf(err) != http.StatusForbidden || from.renew == nil || renewed {
			return err
		}
		renewed = true
		if err := from.renew(ctx); err != nil {
			return err
		}
		return c.receiveOnce(ctx, from, into)
	})
}

func (c *Client) receiveOnce(ctx context.Context, from *source, into *arrival) error {
	limited, cancel := context.WithTimeout(ctx, from.timeout)
	defer cancel()
	request, err := from.open(limited)
	if err != nil {
		return err
	}
	if from.digest == "" && into.written > 0 { // nobody knows whether it is still the same
		if err := into.again(); err != nil {
			return err
		}
	}
	if into.written > 0 {
		request.Header.Set("Range", "bytes="+strconv.FormatInt(into.written, 10)+"-")
	}
	answer, err := from.client.Do(request)
	if err != nil {
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	goesOn := into.written > 0 && answer.StatusCode == http.StatusPartialContent
	switch {
	case answer.StatusCode != http.StatusOK && !goesOn:
		return from.refusal(answer)
	case into.written > 0 && !goesOn: // a store that answers with the whole
		if err := into.again(); err != nil {
			return err
		}
	}
	// One byte more than announced shows that the file is longer, without reading all of it.
	if _, err := io.Copy(into, io.LimitReader(answer.Body, from.most-into.written+1)); err != nil {
		if into.failed != nil {
			return into.failed
		}
		return c.network(ctx, err)
	}
	return into.check(from)
}

// arrival is what has come of a file.
type arrival struct {
	to      io.Writer
	restart func() error // empties to
	hash    hash.Hash
	count   *meter
	written int64
	failed  error // of to, not of where the file comes from
}

func (r *arrival) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	r.hash.Write(p[:n])
	r.written += int64(n)
	r.count.add(int64(n), 0)
	r.failed = err
	return n, err
}

// again begins anew.
func (r *arrival) again() error {
	r.count.add(-r.written, 0)
	r.written = 0
	r.hash.Reset()
	return r.restart()
}

// goOn reads what an earlier call has left of a file whose digest is known; of any other it leaves nothing.
func (r *arrival) goOn(file *os.File, from *source) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if from.digest == "" || info.Size() >= from.most {
		return r.restart()
	}
	r.written, err = io.Copy(r.hash, file)
	r.count.add(r.written, 0)
	return err
}

// check judges a file of which all has come; a wrong one is forgotten.
func (r *arrival) check(from *source) error {
	var wrong error
	got := hex.EncodeToString(r.hash.Sum(nil))
	switch {
	case from.digest == "" && r.written > from.most:
		return fmt.Errorf("%s is larger than %d MiB", from.name, from.most>>20)
	case from.digest == "":
		return nil
	case r.written != from.most:
		wrong = &ChecksumError{Name: from.name, Want: strconv.FormatInt(from.most, 10) + " bytes",
			Got: strconv.FormatInt(r.written, 10) + " bytes"}
	case got != from.digest:
		wrong = &ChecksumError{Name: from.name, Want: from.digest, Got: got}
	default:
		return nil
	}
	return errors.Join(wrong, r.again())
}

// matches reports whether the file is there already.
func matches(output contract.Output, path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != output.ByteSize {
		return false
	}
	digest, err := Digest(file)
	return err == nil && digest == output.SHA256
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
