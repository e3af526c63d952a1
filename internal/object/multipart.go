package object

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// S3's limits for an object that is put in parts. The last part alone may be smaller than MinPartBytes.
const (
	MinPartBytes      = 5 << 20
	MaxPartBytes      = 5 << 30
	MaxParts          = 10_000
	MaxMultipartBytes = 5 << 40
)

// ErrBadParts says that the store does not make an object of these parts: one is absent, was replaced, is too small, or they are
// not in their order.
var ErrBadParts = errors.New("the parts do not make the object")

// Part is a part that the store has received.
type Part struct {
	Number   int    // from 1
	ETag     string // the store's name for these bytes, without quotation marks
	ByteSize int64
	SHA256   string // hex; empty unless the store has held the bytes against it
}

// StartMultipart begins an object that comes in parts and returns the store's name for the undertaking, which PresignPart and
// the others take as handle. When checksummed the store refuses parts without a SHA-256. Nothing is at key before
// CompleteMultipart; what is there stays until then.
func (s *Store) StartMultipart(ctx context.Context, key, contentType string, checksummed bool) (handle string, err error) {
	input := &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key, ContentType: &contentType}
	if checksummed {
		input.ChecksumAlgorithm = types.ChecksumAlgorithmSha256
	}
	started, err := s.client.CreateMultipartUpload(ctx, input)
	if err != nil {
		return "", s.explain(ctx, "start parts of", key, err)
	}
	return aws.ToString(started.UploadId), nil
}

// PresignPart returns a URL that anybody may put one part with until expiry has passed, as often as they like, and the headers
// that must go with the request beside its length. The store refuses another length and, when sha256hex is not empty, other
// bytes.
func (s *Store) PresignPart(
	ctx context.Context, key, handle string, number int, byteSize int64, sha256hex string, expiry time.Duration,
) (url string, headers map[string]string, err error) {
	if err := checkExpiry(expiry); err != nil {
		return "", nil, fmt.Errorf("sign a URL for part %d of %s: %w", number, key, err)
	}
	if number < 1 || number > MaxParts || byteSize < 1 || byteSize > MaxPartBytes {
		return "", nil, fmt.Errorf("sign a URL for part %d of %s: part or its %d bytes are out of bounds", number, key, byteSize)
	}
	input := &s3.UploadPartInput{Bucket: &s.bucket, Key: &key, UploadId: &handle, PartNumber: aws.Int32(int32(number)),
		ContentLength: &byteSize}
	if sha256hex != "" {
		checksum, err := base64Digest(sha256hex)
		if err != nil {
			return "", nil, fmt.Errorf("sign a URL for part %d of %s: %w", number, key, err)
		}
		input.ChecksumSHA256 = &checksum
	}
	signed, err := s.presign.PresignUploadPart(ctx, input, s3.WithPresignExpires(expiry))
	if err != nil {
		return "", nil, fmt.Errorf("sign a URL for part %d of %s: %w", number, key, err)
	}
	headers = clientHeaders(signed)
	delete(headers, "Content-Length") // every client sends it by itself
	return signed.URL, headers, nil
}

// Parts lists the parts that have arrived, ascending. Errors: ErrNotFound when the undertaking is over, whatever its end.
func (s *Store) Parts(ctx context.Context, key, handle string) ([]Part, error) {
	var found []Part
	pages := s3.NewListPartsPaginator(s.client, &s3.ListPartsInput{Bucket: &s.bucket, Key: &key, UploadId: &handle})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(ctx, "list the parts of", key, err)
		}
		for _, part := range page.Parts {
			found = append(found, Part{
				Number: int(aws.ToInt32(part.PartNumber)), ETag: bareETag(part.ETag),
				ByteSize: aws.ToInt64(part.Size), SHA256: hexDigest(part.ChecksumSHA256),
			})
		}
	}
	return found, nil
}

// CompleteMultipart makes the object of its parts, which must ascend, and returns its ETag. What was at key is replaced at
// once. A context without a deadline may wait long: some stores copy every part.
//
// Errors: ErrBadParts, with the undertaking as it was; ErrNotFound when it is over, also by an earlier call whose answer was
// lost.
func (s *Store) CompleteMultipart(ctx context.Context, key, handle string, parts []Part) (etag string, err error) {
	named := make([]types.CompletedPart, len(parts))
	for i, part := range parts {
		named[i] = types.CompletedPart{PartNumber: aws.Int32(int32(part.Number)), ETag: aws.String(`"` + part.ETag + `"`)}
		if part.SHA256 == "" {
			continue
		}
		checksum, err := base64Digest(part.SHA256)
		if err != nil {
			return "", fmt.Errorf("complete %s: %w", key, err)
		}
		named[i].ChecksumSHA256 = &checksum
	}
	done, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: &key, UploadId: &handle, MultipartUpload: &types.CompletedMultipartUpload{Parts: named},
	}, withoutAnswerTimeout)
	if isBadParts(err) {
		return "", fmt.Errorf("complete %s: %w: %w", key, ErrBadParts, err)
	}
	if err != nil {
		return "", s.explain(ctx, "complete", key, err)
	}
	return bareETag(done.ETag), nil
}

// patientClient waits for an answer as long as the request's context does.
var patientClient = func() *http.Client {
	client := httpClient()
	client.Transport.(*http.Transport).ResponseHeaderTimeout = 0
	return client
}()

func withoutAnswerTimeout(o *s3.Options) { o.HTTPClient = patientClient }

// AbortMultipart ends the undertaking and frees what its parts took. One that is over already is no error.
func (s *Store) AbortMultipart(ctx context.Context, key, handle string) error {
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: &handle})
	if err = s.explain(ctx, "abort", key, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Measure reads an object to its end and returns what it found: its size and its SHA-256. Errors: ErrNotFound.
func (s *Store) Measure(ctx context.Context, key string) (Info, error) {
	body, info, err := s.Get(ctx, key)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = body.Close() }() // read to its end, or given up
	return Measure(body, info)
}

// Measure is Store.Measure for an object that is open already, as Get has described it.
func Measure(body io.Reader, info Info) (Info, error) {
	sum := sha256.New()
	read, err := io.Copy(sum, body)
	if err == nil && read != info.ByteSize {
		err = fmt.Errorf("%w: %d bytes came instead of %d", ErrUnavailable, read, info.ByteSize)
	}
	if err != nil {
		return Info{}, fmt.Errorf("measure %s: %w", info.Key, err)
	}
	info.SHA256 = hexSum(sum)
	return info, nil
}

// isBadParts tells whether the store found fault with the parts themselves.
func isBadParts(err error) bool {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.ErrorCode() {
	case "InvalidPart", "InvalidPartOrder", "EntityTooSmall", "BadDigest", "XAmzContentChecksumMismatch":
		return true
	}
	return false
}

// bareETag drops the quotation marks of the header's form.
func bareETag(etag *string) string {
	text := aws.ToString(etag)
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}
