package object

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// GetRange opens byteSize bytes of an object from offset on for reading; the caller closes it, also before its end. What is read is
// not checked. offset is at least 0, byteSize at least 1. Reading fails with ErrUnavailable when the store breaks off.
//
// Errors: ErrNotFound; *MismatchError for an object that ends before the range does; ErrUnavailable.
func (s *Store) GetRange(ctx context.Context, key string, offset, byteSize int64) (io.ReadCloser, error) {
	if offset < 0 || byteSize < 1 || offset+byteSize < offset {
		return nil, fmt.Errorf("get %s: %d bytes from byte %d are no range", key, byteSize, offset)
	}
	wanted := fmt.Sprintf("bytes=%d-%d", offset, offset+byteSize-1)
	object, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key, Range: &wanted})
	if isEmptyRange(err) { // it ends before the range begins
		info, err := s.Head(ctx, key)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("get %s: %w", key, &MismatchError{Key: key, WantByteSize: offset + byteSize, GotByteSize: info.ByteSize})
	}
	if err != nil {
		return nil, s.explain(ctx, "get", key, err)
	}
	stated := aws.ToInt64(object.ContentLength)
	if stated == byteSize {
		return &reader{store: s, ctx: ctx, key: key, body: object.Body}, nil
	}
	err = fmt.Errorf("get %s: the store sends %d bytes where %d were asked for", key, stated, byteSize)
	if stated < byteSize {
		whole := wholeSize(aws.ToString(object.ContentRange), offset+stated)
		err = fmt.Errorf("get %s: %w", key, &MismatchError{Key: key, WantByteSize: offset + byteSize, GotByteSize: whole})
	}
	return nil, errors.Join(err, object.Body.Close())
}
