package versity

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// literal are files whose keys are names and no ways. The server would follow "a/../b" to the file b, also for who holds a form
// that allows keys which begin with "a/" alone.
type literal struct{ backend.Backend }

// PutObject implements backend.Backend. All other writes are signed for their whole key.
func (l literal) PutObject(ctx context.Context, input s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	if leads(aws.ToString(input.Key)) {
		return s3response.PutObjectOutput{}, s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	return l.Backend.PutObject(ctx, input)
}

// leads tells whether a key has parts that a file system takes for ways.
func leads(key string) bool {
	parts := strings.Split(key, "/")
	return slices.Contains(parts, "..") || slices.Contains(parts, ".")
}
