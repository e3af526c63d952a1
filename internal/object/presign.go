package object

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// maxExpiry is S3's limit for signed URLs.
const maxExpiry = 7 * 24 * time.Hour

// PresignGet returns a URL that anybody may read the object with until expiry has passed; browsers save it as filename. It
// does not ask whether the object exists.
func (s *Store) PresignGet(ctx context.Context, key, filename string, expiry time.Duration) (url string, err error) {
	if err := checkExpiry(expiry); err != nil {
		return "", fmt.Errorf("sign a URL for %s: %w", key, err)
	}
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": filename})
	signed, err := s.presign.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket:                     &s.bucket,
		Key:                        &key,
		ResponseContentDisposition: &disposition,
	}, s3.WithPresignExpires(expiry))
	if err != nil {
		return "", fmt.Errorf("sign a URL for %s: %w", key, err)
	}
	return signed.URL, nil
}

// PresignPut returns a URL that anybody may put the object with until expiry has passed, and the headers that must go with the
// request. They are part of the signature: the store refuses another size or content type and, when sha256hex is not empty,
// other bytes. At most MaxObjectBytes.
func (s *Store) PresignPut(
	ctx context.Context, key, contentType string, byteSize int64, sha256hex string, expiry time.Duration,
) (url string, headers map[string]string, err error) {
	return s.presignPut(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, ContentType: &contentType, ContentLength: &byteSize},
		sha256hex, expiry)
}

// PresignCreate is PresignPut for a key that must not be written twice: once an object is there, the store refuses every
// further put (412).
func (s *Store) PresignCreate(
	ctx context.Context, key, contentType string, byteSize int64, sha256hex string, expiry time.Duration,
) (url string, headers map[string]string, err error) {
	return s.presignPut(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, ContentType: &contentType, ContentLength: &byteSize, IfNoneMatch: aws.String("*"),
	}, sha256hex, expiry)
}

func (s *Store) presignPut(
	ctx context.Context, input *s3.PutObjectInput, sha256hex string, expiry time.Duration,
) (url string, headers map[string]string, err error) {
	key, byteSize := *input.Key, *input.ContentLength
	if err := checkExpiry(expiry); err != nil {
		return "", nil, fmt.Errorf("sign a URL for %s: %w", key, err)
	}
	if byteSize < 0 || byteSize > MaxObjectBytes {
		return "", nil, fmt.Errorf("sign a URL for %s: %d bytes are not between 0 and %d", key, byteSize, int64(MaxObjectBytes))
	}
	if sha256hex != "" {
		checksum, err := base64Digest(sha256hex)
		if err != nil {
			return "", nil, fmt.Errorf("sign a URL for %s: %w", key, err)
		}
		input.ChecksumSHA256 = &checksum
	}
	signed, err := s.presign.PresignPutObject(ctx, input, s3.WithPresignExpires(expiry))
	if err != nil {
		return "", nil, fmt.Errorf("sign a URL for %s: %w", key, err)
	}
	return signed.URL, clientHeaders(signed), nil
}

// clientHeaders are the signed headers that a client would not send by itself.
func clientHeaders(signed *v4.PresignedHTTPRequest) map[string]string {
	headers := make(map[string]string, len(signed.SignedHeader))
	for name := range signed.SignedHeader {
		if name := http.CanonicalHeaderKey(name); name != "Host" {
			headers[name] = signed.SignedHeader.Get(name)
		}
	}
	return headers
}

func checkExpiry(expiry time.Duration) error {
	if expiry < time.Second || expiry > maxExpiry {
		return fmt.Errorf("an expiry of %v is not between 1s and %v", expiry, maxExpiry)
	}
	return nil
}

// isBadDigest tells whether the store found other bytes than the checksum header says.
func isBadDigest(err error) bool {
	var refusal interface{ ErrorCode() string }
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.ErrorCode() {
	case "BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest":
		return true
	}
	return false
}
