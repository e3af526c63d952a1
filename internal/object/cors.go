package object

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// corsSeconds is how long a browser may remember what it may send.
const corsSeconds = 600

// AllowOrigins lets scripts of these web origins, and of no others, use signed URLs: the bucket's CORS rules are replaced. None are
// left when there are no origins. It may be called again, and by several processes at once.
func (s *Store) AllowOrigins(ctx context.Context, origins []string) error {
	if len(origins) == 0 {
		_, err := s.client.DeleteBucketCors(ctx, &s3.DeleteBucketCorsInput{Bucket: &s.bucket})
		return s.explain(ctx, "remove the web origins of", s.bucket, err)
	}
	_, err := s.client.PutBucketCors(ctx, &s3.PutBucketCorsInput{Bucket: &s.bucket, CORSConfiguration: &types.CORSConfiguration{
		CORSRules: []types.CORSRule{{
			AllowedOrigins: origins,
			AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPut},
			AllowedHeaders: []string{"*"}, // what matters of them is signed
			ExposeHeaders:  []string{"ETag", "Content-Length", "Content-Range", "Content-Disposition", "x-amz-checksum-sha256"},
			MaxAgeSeconds:  aws.Int32(corsSeconds),
		}},
	}})
	return s.explain(ctx, "set the web origins of", s.bucket, err)
}
