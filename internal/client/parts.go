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

	"github.com/molfabric/molfabric/internal/contract"
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

// partUpload is the upload of one file in parts.
type partUpload struct {
	contract.MultipartStatus

	client      *Client
	content     io.ReaderAt
	file        Uploaded
	sent        *meter
	checksummed bool
	there       map[int]storedPart        // by number; nil unless resumed
	parts       []contract.UploadPartDone // by number, less one
}

type storedPart struct {
	etag     string
	byteSize int64
}

// uploadParts sends a file in parts, several at once, and returns its storage key.
func (c *Client) uploadParts(
	ctx context.Context, filename string, content io.ReaderAt, file Uploaded, o UploadOptions, sent *meter,
) (string, error) {
	u := &partUpload{client: c, content: content, file: file, sent: sent}
	open := func() error { return u.begin(ctx, filename, o) }
	if o.Resume != "" {
		open = func() error { return u.resume(ctx, o.Resume) }
	}
	if err := open(); err != nil {
		return "", err
	}
	if o.Begun != nil {
		o.Begun(u.UploadID)
	}
	err := u.send(ctx)
	if err == nil {
		err = u.complete(ctx)
	}
	if err != nil && o.Begun == nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		_ = c.AbortUpload(ending, u.UploadID) // the first error tells more
	}
	return u.Key, err
}

// AbortUpload ends an upload in parts and frees what has arrived of it. It may be repeated.
func (c *Client) AbortUpload(ctx context.Context, uploadID string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: uploadPath(uploadID, ""), idempotent: true})
}

// UploadStatus reads what of an upload has arrived.
func (c *Client) UploadStatus(ctx context.Context, uploadID string) (Answer[contract.MultipartStatus], error) {
	return ask[contract.MultipartStatus](ctx, c, call{method: http.MethodGet, path: uploadPath(uploadID, "")})
}

func uploadPath(uploadID, rest string) string {
	return "/v1/uploads/" + url.PathEscape(uploadID) + rest
}

// begin opens an upload whose parts the store checks, where it can.
func (u *partUpload) begin(ctx context.Context, filename string, o UploadOptions) error {
	begun, err := ask[contract.MultipartInitResponse](ctx, u.client, call{
		method: http.MethodPost, path: "/v1/uploads", idempotent: true,
		body: contract.MultipartInitRequest{
			Filename: filename, ContentType: u.file.ContentType, Size: u.file.ByteSize, SHA256: u.file.SHA256,
			ProjectID: o.ProjectID, LogicalPath: o.LogicalPath, ChecksumAlgorithm: "sha256",
		},
	})
	u.UploadID, u.Key, u.PartSize, u.PartCount = begun.Body.UploadID, begun.Body.Key, begun.Body.PartSize, begun.Body.PartCount
	u.checksummed = begun.Body.ChecksumAlgorithm != nil
	return err
}

// resume reads what has arrived of an upload.
func (u *partUpload) resume(ctx context.Context, uploadID string) error {
	status, err := u.client.UploadStatus(ctx, uploadID)
	if err != nil {
		return err
	}
	u.MultipartStatus = status.Body
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
		if _, refused = ask[contract.PartURLsResponse](ctx, u.client, u.signing(part)); CodeOf(refused) != fault.Validation {
			break
		}
	}
	return refused
}

// send brings every part to the store that is not there already.
func (u *partUpload) send(ctx context.Context) error {
	u.parts = make([]contract.UploadPartDone, u.PartCount)
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
		var signed Answer[contract.PartURLsResponse]
		signing := u.signing(part)
		signing.into = &signed
		if err := u.client.try(ctx, signing); err != nil {
			return err
		}
		parts := signed.Body.Parts
		if len(parts) != 1 {
			return fmt.Errorf("the server signed %d parts in place of one", len(parts))
		}
		ticket := contract.UploadURLResponse{Method: http.MethodPut, UploadURL: parts[0].URL, Headers: parts[0].Headers}
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
func (u *partUpload) measure(number int) (part contract.UploadPartDone, etag string, err error) {
	sum, name := sha256.New(), md5.New() //nolint:gosec // G401: as above
	if _, err := io.Copy(io.MultiWriter(sum, name), u.section(number)); err != nil {
		return contract.UploadPartDone{}, "", fmt.Errorf("reading the file: %w", err)
	}
	part.PartNumber = number
	if u.checksummed {
		part.ChecksumSHA256 = base64.StdEncoding.EncodeToString(sum.Sum(nil))
	}
	return part, hex.EncodeToString(name.Sum(nil)), nil
}

// signing asks for the address to send a part to.
func (u *partUpload) signing(part contract.UploadPartDone) call {
	asked := contract.UploadPartRequest{PartNumber: part.PartNumber, ChecksumSHA256: part.ChecksumSHA256}
	return call{
		method: http.MethodPost, path: uploadPath(u.UploadID, "/parts"), idempotent: true,
		body: contract.PartURLsRequest{Parts: []contract.UploadPartRequest{asked}},
	}
}

// complete makes the file of its parts. The server works on when a call has given up waiting, and a further call gets its
// answer; so many rounds are enough for the slowest store.
func (u *partUpload) complete(ctx context.Context) error {
	patience := completionGrace + time.Duration(u.file.ByteSize/slowestStore)*time.Second
	rounds := 1 + int(patience/(maxAttempts*answerTimeout))
	finish := call{
		method: http.MethodPost, path: uploadPath(u.UploadID, "/complete"), idempotent: true,
		body: contract.MultipartCompleteRequest{Parts: u.parts, SHA256: u.file.SHA256},
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

// outwaited reports whether a call ended because its answer took too long.
func outwaited(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout() || StatusOf(err) == http.StatusGatewayTimeout
}
