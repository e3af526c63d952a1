package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// Tail returns the last maxBytes of an object, or all of a shorter one, and how many bytes the object has. No more than that
// is transferred; what is read is not checked. maxBytes is at least 1. Errors: ErrNotFound.
func (s *Store) Tail(ctx context.Context, key string, maxBytes int64) (end []byte, byteSize int64, err error) {
	if maxBytes < 1 {
		return nil, 0, fmt.Errorf("read the end of %s: %d bytes are fewer than 1", key, maxBytes)
	}
	last := fmt.Sprintf("bytes=-%d", maxBytes)
	object, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key, Range: &last})
	if isEmptyRange(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, s.explain(ctx, "read the end of", key, err)
	}
	body := s.reader(ctx, key, object.Body)
	defer func() { _ = body.Close() }() // read to its end, or given up
	stated := aws.ToInt64(object.ContentLength)
	if stated > maxBytes {
		return nil, 0, fmt.Errorf("read the end of %s: the store sends %d bytes where %d were asked for", key, stated, maxBytes)
	}
	end, err = io.ReadAll(io.LimitReader(body, maxBytes))
	if err != nil {
		return nil, 0, err
	}
	return end, wholeSize(aws.ToString(object.ContentRange), int64(len(end))), nil
}

// wholeSize reads the size of the whole from "bytes 84-99/100"; a store that sends a short object whole may leave it out.
func wholeSize(contentRange string, received int64) int64 {
	if _, whole, ok := strings.Cut(contentRange, "/"); ok {
		if size, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return size
		}
	}
	return received
}

// isEmptyRange tells whether the store has nothing to send because the object is empty: the end of nothing is no range.
func isEmptyRange(err error) bool {
	var refusal smithy.APIError
	return errors.As(err, &refusal) && refusal.ErrorCode() == "InvalidRange"
}
