package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// deleteBatch is S3's limit of keys in one list page and one delete request.
const deleteBatch = 1000

// Put stores body, from its current position to its end, under key; an object that was there is replaced at once or, on an error,
// left as it was. sha256hex is what the bytes must be found to be, by the store; when empty it is computed by
// reading body once more before. A *MismatchError says that the bytes are others. At most MaxObjectBytes.
func (s *Store) Put(ctx context.Context, key string, body io.ReadSeeker, contentType, sha256hex string) (Info, error) {
	size, digest, err := measure(body, sha256hex)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	checksum, err := base64Digest(digest)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:         &s.bucket,
		Key:            &key,
		Body:           body,
		ContentLength:  &size,
		ContentType:    &contentType,
		ChecksumSHA256: &checksum,
		// The signed checksum header guards the bytes; hashing them again for the signature would read the body twice.
	}, s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware))
	if isBadDigest(err) {
		return Info{}, fmt.Errorf("put %s: %w", key, &MismatchError{Key: key, WantSHA256: digest, WantByteSize: size,
			GotByteSize: size})
	}
	if err != nil {
		return Info{}, s.explain(ctx, "put", key, err)
	}
	return Info{Key: key, ByteSize: size, SHA256: digest, ContentType: contentType}, nil
}

// PutFile stores the file at path under key, as Put does.
func (s *Store) PutFile(ctx context.Context, key, path, contentType, sha256hex string) (Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	defer func() { _ = file.Close() }() // only read
	return s.Put(ctx, key, file, contentType, sha256hex)
}

// measure returns the bytes left in body and their SHA-256, and leaves body where it was.
func measure(body io.ReadSeeker, sha256hex string) (size int64, digest string, err error) {
	start, err := body.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, "", err
	}
	if digest = sha256hex; digest == "" {
		sum := sha256.New()
		if _, err := io.Copy(sum, body); err != nil {
			return 0, "", err
		}
		digest = hexSum(sum)
	}
	end, err := body.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, "", err
	}
	if size = end - start; size > MaxObjectBytes {
		return 0, "", fmt.Errorf("%d bytes are more than the %d of one object", size, int64(MaxObjectBytes))
	}
	_, err = body.Seek(start, io.SeekStart)
	return size, digest, err
}

// Head describes an object. Errors: ErrNotFound.
func (s *Store) Head(ctx context.Context, key string) (Info, error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key,
		ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return Info{}, s.explain(ctx, "look for", key, err)
	}
	return Info{
		Key:         key,
		ByteSize:    aws.ToInt64(head.ContentLength),
		SHA256:      hexDigest(head.ChecksumSHA256),
		ContentType: aws.ToString(head.ContentType),
		ModifiedAt:  aws.ToTime(head.LastModified).UTC(),
	}, nil
}

// Get opens an object for reading; the caller closes it. What is read is not checked: see GetFile. Reading fails with
// ErrUnavailable when the store breaks off. Errors: ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, Info, error) {
	object, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key,
		ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return nil, Info{}, s.explain(ctx, "get", key, err)
	}
	return s.reader(ctx, key, object.Body), Info{
		Key:         key,
		ByteSize:    aws.ToInt64(object.ContentLength),
		SHA256:      hexDigest(object.ChecksumSHA256),
		ContentType: aws.ToString(object.ContentType),
		ModifiedAt:  aws.ToTime(object.LastModified).UTC(),
	}, nil
}

// reader gives the errors of a body this package's meaning.
type reader struct {
	explain func(error) error
	body    io.ReadCloser
}

func (s *Store) reader(ctx context.Context, key string, body io.ReadCloser) *reader {
	return &reader{explain: func(err error) error { return s.explain(ctx, "read", key, err) }, body: body}
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.explain(err)
	}
	return n, err
}

func (r *reader) Close() error { return r.body.Close() }

// GetFile writes an object to a new file at path while hashing it. wantSHA256 (hex) and wantByteSize are what it must be found
// to be; empty and negative they are not checked. The file appears at path only when all is right, and replaces what was
// there. Info tells the digest that was found.
//
// Errors: ErrNotFound, *MismatchError (before the transfer when the size tells already), ErrUnavailable.
func (s *Store) GetFile(ctx context.Context, key, path, wantSHA256 string, wantByteSize int64) (Info, error) {
	return GetFile(ctx, s, key, path, wantSHA256, wantByteSize)
}

// Getter opens objects: a Store, or a Permit.
type Getter interface {
	// Get is as that of Store.
	Get(ctx context.Context, key string) (io.ReadCloser, Info, error)
}

// GetFile is Store.GetFile for whatever opens objects, whose errors it returns as well.
func GetFile(ctx context.Context, from Getter, key, path, wantSHA256 string, wantByteSize int64) (Info, error) {
	body, info, err := from.Get(ctx, key)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = body.Close() }() // read to its end, or given up
	mismatch := &MismatchError{Key: key, WantSHA256: wantSHA256, WantByteSize: wantByteSize, GotByteSize: info.ByteSize}
	if wantByteSize >= 0 && info.ByteSize != wantByteSize {
		return Info{}, mismatch
	}
	partial := path + ".partial"
	found, err := writeFile(partial, body, info.ByteSize)
	if err == nil && wantSHA256 != "" && found != wantSHA256 {
		mismatch.GotSHA256 = found
		err = mismatch
	}
	if err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		_ = os.Remove(partial) // may never have been created
		return Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	info.SHA256 = found
	return info, nil
}

// writeFile writes exactly size bytes of body to a new file and returns their SHA-256.
func writeFile(path string, body io.Reader, size int64) (digest string, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	written, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, size+1))
	if err == nil && written != size {
		err = fmt.Errorf("%w: %d bytes came instead of %d", ErrUnavailable, written, size)
	}
	return hexSum(sum), errors.Join(err, file.Close())
}

func hexSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// List yields the objects whose keys begin with prefix, in the order of their keys. An error ends the list.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(Info{}, s.explain(ctx, "list", prefix, err))
				return
			}
			for _, found := range page.Contents {
				info := Info{Key: aws.ToString(found.Key), ByteSize: aws.ToInt64(found.Size),
					ModifiedAt: aws.ToTime(found.LastModified).UTC()}
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

// DeleteAll removes objects by their keys, many with each request. Those that are not there are no error. After an error it may be
// called again with the same keys. Errors: *UndeletedError when the others are gone.
func (s *Store) DeleteAll(ctx context.Context, keys []string) error {
	var left *UndeletedError
	for batch := range slices.Chunk(keys, deleteBatch) {
		objects := make([]types.ObjectIdentifier, len(batch))
		for i := range batch {
			objects[i].Key = &batch[i]
		}
		if err := s.deleteBatch(ctx, batch[0], objects, &left); err != nil {
			return err
		}
	}
	return left.orNil()
}

// orNil is the error, if there is one.
func (e *UndeletedError) orNil() error {
	if e == nil {
		return nil
	}
	return e
}

// Delete removes an object. An object that is not there is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if err = s.explain(ctx, "delete", key, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// DeletePrefix removes every object whose key begins with prefix, which must not be empty, and returns how many it removed.
// After an error it may be called again for the rest. Errors: *UndeletedError when the others are gone.
func (s *Store) DeletePrefix(ctx context.Context, prefix string) (deleted int, err error) {
	if prefix == "" {
		return 0, errors.New("delete by prefix: an empty prefix would delete everything")
	}
	var batch []types.ObjectIdentifier
	var left *UndeletedError
	flush := func() error {
		before := left.count()
		if err := s.deleteBatch(ctx, prefix, batch, &left); err != nil {
			return err
		}
		deleted += len(batch) - (left.count() - before)
		batch = batch[:0]
		return nil
	}
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			return deleted, err
		}
		if batch = append(batch, types.ObjectIdentifier{Key: &info.Key}); len(batch) < deleteBatch {
			continue
		}
		if err := flush(); err != nil {
			return deleted, err
		}
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return deleted, err
		}
	}
	return deleted, left.orNil()
}

func (e *UndeletedError) count() int {
	if e == nil {
		return 0
	}
	return len(e.Keys)
}

// deleteBatch adds to left what the store did not delete.
func (s *Store) deleteBatch(ctx context.Context, what string, batch []types.ObjectIdentifier, left **UndeletedError) error {
	answer, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &s.bucket,
		Delete: &types.Delete{Objects: batch, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return s.explain(ctx, "delete below", what, err)
	}
	for _, refused := range answer.Errors {
		if *left == nil {
			*left = &UndeletedError{Code: aws.ToString(refused.Code), Message: aws.ToString(refused.Message)}
		}
		(*left).Keys = append((*left).Keys, aws.ToString(refused.Key))
	}
	return nil
}
