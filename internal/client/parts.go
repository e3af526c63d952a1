package client

import (
	"context"
	"crypto/md5" //nolint:gosec // G501: the object store's own name for a part's bytes, not a secret
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// partsThreshold is the size from which a file goes up in parts. Below it the whole file is sent again within seconds on
	// most lines, which is simpler than five requests more.
	partsThreshold = 64 << 20
	// partTransfers bounds the parts that are on their way at once: enough to fill a line, few enough that each moves on.
	partTransfers = 4
	// completionGrace and slowestStore are the server's own bounds of a completion, which reads the file back.
	completionGrace = 2 * time.Minute
	slowestStore    = 20 << 20 // bytes a second
	// abortTimeout bounds the end of an upload that nobody waits for; one that is not ended the server cleans up by itself.
	abortTimeout = 10 * time.Second
)

// ErrOtherFile says that the upload to resume was begun with another file, or that the file has changed since.
var ErrOtherFile = errors.New("it is not the file that the upload was begun with")

// UploadStatus is what the server knows of an upload in parts.
type UploadStatus struct {
	Document
	ID        string         `json:"uploadId"`
	Key       string         `json:"key"`
	PartSize  int64          `json:"partSize"` // of every part but the last, in bytes
	PartCount int            `json:"partCount"`
	Received  []ReceivedPart `json:"received"` // ascending
	Missing   []int          `json:"missing"`  // numbers, ascending
	Complete  bool           `json:"complete"`
}

// ReceivedPart is a part that has arrived.
type ReceivedPart struct {
	PartNumber int    `json:"partNumber"`
	ETag       string `json:"etag"` // the store's name for its bytes
	Size       int64  `json:"size"` // bytes
}

// partUpload is the upload of one file in parts.
type partUpload struct {
	UploadStatus
	ChecksumAlgorithm *string `json:"checksumAlgorithm"` // sha256 where the store checks each part; in the answer to a begin alone

	client      *Client
	content     io.ReaderAt
	file        Uploaded
	sent        *meter
	checksummed bool
	there       map[int]storedPart // by number; nil unless resumed
	parts       []sentPart         // by number, less one
}

type storedPart struct {
	etag     string
	byteSize int64
}

// sentPart is a part in the list that completes an upload.
type sentPart struct {
	PartNumber     int    `json:"partNumber"`
	ChecksumSHA256 string `json:"checksumSha256,omitempty"` // base64
}

// uploadParts sends a file in parts, several at once, and returns its storage key.
func (c *Client) uploadParts(ctx context.Context, filename string, content io.ReaderAt, file Uploaded, o UploadOptions, sent *meter) (string, error) {
	u := &partUpload{client: c, content: content, file: file, sent: sent}
	open := func() error { return u.begin(ctx, filename, o) }
	if o.Resume != "" {
		open = func() error { return u.resume(ctx, o.Resume) }
	}
	if err := open(); err != nil {
		return "", err
	}
	if o.Begun != nil {
		o.Begun(u.ID)
	}
	err := u.send(ctx)
	if err == nil {
		err = u.complete(ctx)
	}
	if err != nil && o.Begun == nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		_ = c.AbortUpload(ending, u.ID) // the first error tells more
	}
	return u.Key, err
}

// AbortUpload ends an upload in parts and frees what has arrived of it. It may be repeated.
func (c *Client) AbortUpload(ctx context.Context, uploadID string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: uploadPath(uploadID, ""), idempotent: true})
}

// UploadStatus reads what of an upload has arrived.
func (c *Client) UploadStatus(ctx context.Context, uploadID string) (UploadStatus, error) {
	var status UploadStatus
	err := c.do(ctx, call{method: http.MethodGet, path: uploadPath(uploadID, ""), into: &status})
	return status, err
}

func uploadPath(uploadID, rest string) string {
	return "/v1/uploads/" + url.PathEscape(uploadID) + rest
}

// begin opens an upload whose parts the store checks, where it can.
func (u *partUpload) begin(ctx context.Context, filename string, o UploadOptions) error {
	err := u.client.do(ctx, call{
		method: http.MethodPost, path: "/v1/uploads", idempotent: true, into: u,
		body: o.place(map[string]any{
			"filename": filename, "contentType": u.file.ContentType, "size": u.file.ByteSize, "sha256": u.file.SHA256, "checksumAlgorithm": "sha256",
		}),
	})
	u.checksummed = u.ChecksumAlgorithm != nil
	return err
}

// resume reads what has arrived of an upload.
func (u *partUpload) resume(ctx context.Context, uploadID string) error {
	status, err := u.client.UploadStatus(ctx, uploadID)
	if err != nil {
		return err
	}
	u.UploadStatus = status
	if u.PartSize < 1 || (u.file.ByteSize+u.PartSize-1)/u.PartSize != int64(u.PartCount) {
		return fmt.Errorf("%w: that one has %d parts of %d bytes", ErrOtherFile, u.PartCount, u.PartSize)
	}
	u.there = make(map[int]storedPart, len(u.Received))
	for _, part := range u.Received {
		u.there[part.PartNumber] = storedPart{etag: part.ETag, byteSize: part.Size}
	}
	if u.Complete {
		return nil
	}
	return u.findMode(ctx)
}

// findMode learns whether the store checks the parts, which the upload's state does not say: a checksum is refused where not.
func (u *partUpload) findMode(ctx context.Context) error {
	var refused error
	for _, u.checksummed = range []bool{true, false} {
		part, _, err := u.measure(1)
		if err != nil {
			return err
		}
		if refused = u.client.do(ctx, u.signing(part, new(signedParts))); CodeOf(refused) != fault.Validation {
			break
		}
	}
	return refused
}

// send brings every part to the store that is not there already.
func (u *partUpload) send(ctx context.Context) error {
	u.parts = make([]sentPart, u.PartCount)
	transfers, together := errgroup.WithContext(ctx)
	transfers.SetLimit(partTransfers)
	for number := 1; number <= u.PartCount && together.Err() == nil; number++ {
		transfers.Go(func() error { return u.sendPart(together, number) })
	}
	if err := transfers.Wait(); err != nil {
		return err
	}
	return ctx.Err() // what was stopped before a part of it began has no error of its own
}

func (u *partUpload) sendPart(ctx context.Context, number int) error {
	part, etag, err := u.measure(number)
	if err != nil {
		return err
	}
	section := u.section(number)
	u.parts[number-1] = part
	if u.there[number] == (storedPart{etag: etag, byteSize: section.Size()}) {
		u.sent.add(0, section.Size())
		return nil
	}
	if u.Complete {
		return ErrOtherFile
	}
	// Each try asks for an address of its own, so that none is too old, however long a transfer takes.
	return u.client.attempts(ctx, true, func() error {
		var signed signedParts
		if err := u.client.try(ctx, u.signing(part, &signed)); err != nil {
			return err
		}
		if len(signed.Parts) != 1 {
			return fmt.Errorf("the server signed %d parts in place of one", len(signed.Parts))
		}
		ticket := uploadTicket{Method: http.MethodPut, UploadURL: signed.Parts[0].URL, Headers: signed.Parts[0].Headers}
		return u.client.put(ctx, ticket, u.section(number), u.sent)
	})
}

// section is the bytes of a part.
func (u *partUpload) section(number int) *io.SectionReader {
	start := int64(number-1) * u.PartSize
	return io.NewSectionReader(u.content, start, min(u.PartSize, u.file.ByteSize-start))
}

// measure reads a part for its checksum and for the name that S3 gives it when it is stored as it came: its MD5. A store that
// encrypts names parts otherwise; there a resumed upload sends them again.
func (u *partUpload) measure(number int) (part sentPart, etag string, err error) {
	sum, name := sha256.New(), md5.New() //nolint:gosec // G401: as above
	if _, err := io.Copy(io.MultiWriter(sum, name), u.section(number)); err != nil {
		return sentPart{}, "", fmt.Errorf("reading the file: %w", err)
	}
	part.PartNumber = number
	if u.checksummed {
		part.ChecksumSHA256 = base64.StdEncoding.EncodeToString(sum.Sum(nil))
	}
	return part, hex.EncodeToString(name.Sum(nil)), nil
}

// signedParts are addresses to send parts to.
type signedParts struct {
	Document
	Parts []struct {
		PartNumber int               `json:"partNumber"`
		URL        string            `json:"url"`
		Headers    map[string]string `json:"headers"`
	} `json:"parts"`
}

func (u *partUpload) signing(part sentPart, into *signedParts) call {
	return call{
		method: http.MethodPost, path: uploadPath(u.ID, "/parts"), body: map[string]any{"parts": []sentPart{part}}, idempotent: true, into: into,
	}
}

// complete makes the file of its parts. The server works on when a call has given up waiting, and a further call gets its
// answer; so many rounds are enough for the slowest store.
func (u *partUpload) complete(ctx context.Context) error {
	patience := completionGrace + time.Duration(u.file.ByteSize/slowestStore)*time.Second
	rounds := 1 + int(patience/(maxAttempts*answerTimeout))
	finish := call{
		method: http.MethodPost, path: uploadPath(u.ID, "/complete"), idempotent: true, into: new(completion),
		body: map[string]any{"parts": u.parts, "sha256": u.file.SHA256},
	}
	var err error
	for range rounds {
		if err = u.client.do(ctx, finish); !outwaited(err) {
			break
		}
	}
	if CodeOf(err) == fault.Validation && u.there != nil {
		return fmt.Errorf("%w: %w", ErrOtherFile, err)
	}
	return err
}

type completion struct{ Document }

// outwaited reports whether a call ended because its answer took too long.
func outwaited(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout() || StatusOf(err) == http.StatusGatewayTimeout
}
