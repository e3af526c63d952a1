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
		return nil, fmt.Errorf("get %s: %w", key, &MismatchError{Key: key, WantByteSize: offset + byteSize,
			GotByteSize: info.ByteSize})
	}
	if err != nil {
		return nil, s.explain(ctx, "get", key, err)
	}
	stated := aws.ToInt64(object.ContentLength)
	if stated == byteSize {
		return s.reader(ctx, key, object.Body), nil
	}
	err = fmt.Errorf("get %s: the store sends %d bytes where %d were asked for", key, stated, byteSize)
	if stated < byteSize {
		whole := wholeSize(aws.ToString(object.ContentRange), offset+stated)
		err = fmt.Errorf("get %s: %w", key, &MismatchError{Key: key, WantByteSize: offset + byteSize, GotByteSize: whole})
	}
	return nil, errors.Join(err, object.Body.Close())
}

// ReaderAt reads pieces of an object, each with a request of its own: for formats whose directory lies at their end. It is safe for
// concurrent use.
func (s *Store) ReaderAt(ctx context.Context, key string, byteSize int64) io.ReaderAt {
	return &readerAt{store: s, ctx: ctx, key: key, byteSize: byteSize}
}

type readerAt struct {
	store    *Store
	ctx      context.Context
	key      string
	byteSize int64
}

// ReadAt reads as io.ReaderAt says. Errors: io.EOF; those of GetRange.
func (r *readerAt) ReadAt(p []byte, offset int64) (int, error) {
	wanted := min(int64(len(p)), r.byteSize-offset)
	if offset < 0 {
		return 0, fmt.Errorf("read %s at byte %d", r.key, offset)
	}
	if wanted <= 0 {
		return 0, io.EOF
	}
	body, err := r.store.GetRange(r.ctx, r.key, offset, wanted)
	if err != nil {
		return 0, err
	}
	read, err := io.ReadFull(body, p[:wanted])
	err = errors.Join(err, body.Close())
	if err == nil && read < len(p) {
		err = io.EOF
	}
	return read, err
}
