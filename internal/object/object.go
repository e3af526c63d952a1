// Package object stores files under keys in any store that speaks S3: it checks what goes in and comes out by SHA-256, signs
// URLs for clients, and tells a missing object from a missing store. It holds no knowledge of who may read a key, and no
// server: package gateway is the one that molfabric brings along.
package object

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// MaxObjectBytes is S3's limit for an object that is put in one request.
const MaxObjectBytes = 5 << 30

const (
	// attempts of a request in all: they ride out a dropped connection, not an outage, which is the caller's to wait for.
	attempts = 3
	// maxBackoff keeps a front door that answers "unavailable" from being slow at it.
	maxBackoff = 300 * time.Millisecond
	// dialTimeout and answerTimeout bound a store that is silent; bodies take as long as they take, under the caller's context.
	dialTimeout   = 5 * time.Second
	answerTimeout = 60 * time.Second
	// maxIdleConns is about one for each concurrent transfer of a worker.
	maxIdleConns = 32
)

// Config says where a store is and how to sign requests to it. All fields but PublicEndpoint are required.
type Config struct {
	Endpoint       string // base URL, e.g. "http://127.0.0.1:9000"
	PublicEndpoint string // base URL of signed URLs, where clients reach the store under another name
	Region         string
	Bucket         string
	AccessKey      string
	SecretKey      string
}

// ErrNotFound says that no object has the key.
var ErrNotFound = errors.New("object not found")

// ErrUnavailable says that the store could not be reached, answered with a failure of its own, or broke off. The request may be
// repeated.
var ErrUnavailable = errors.New("object store is unavailable")

// MismatchError says that an object's bytes are not those that were stated. A repetition gives the same. An empty digest was not
// stated or, on the other side, not computed because the size was wrong already.
type MismatchError struct {
	Key                       string
	WantSHA256, GotSHA256     string // hex
	WantByteSize, GotByteSize int64  // WantByteSize below 0 was not stated
}

func (e *MismatchError) Error() string {
	if e.WantByteSize >= 0 && e.WantByteSize != e.GotByteSize {
		return fmt.Sprintf("object %s has %d bytes, not the %d stated", e.Key, e.GotByteSize, e.WantByteSize)
	}
	return fmt.Sprintf("object %s has SHA-256 %s, not the %s stated", e.Key, e.GotSHA256, e.WantSHA256)
}

// Info describes a stored object.
type Info struct {
	Key         string
	ByteSize    int64
	SHA256      string // hex; empty when the store keeps none, as for objects put in parts, and in lists
	ContentType string // empty in lists
	ModifiedAt  time.Time
}

// Store is a bucket. All methods may be called concurrently. They return ErrUnavailable, wrapped, when the store is away; a
// context's own end is returned as such.
type Store struct {
	bucket  string
	client  *s3.Client
	presign *s3.PresignClient
}

// New returns a Store without contacting it.
func New(cfg Config) (*Store, error) {
	for _, field := range []struct{ name, value string }{
		{"endpoint", cfg.Endpoint}, {"region", cfg.Region}, {"bucket", cfg.Bucket}, {"access key", cfg.AccessKey}, {"secret key", cfg.SecretKey},
	} {
		if field.value == "" {
			return nil, fmt.Errorf("object store: no %s is configured", field.name)
		}
	}
	opts := s3.Options{
		BaseEndpoint: &cfg.Endpoint,
		Region:       cfg.Region,
		UsePathStyle: true, // a bucket as host name needs a DNS entry each
		Credentials:  credentials.NewStaticCredentialsProvider(cfg.AccessKey, cfg.SecretKey, ""),
		HTTPClient:   httpClient(),
		Retryer:      retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = attempts, maxBackoff }),
		// Every put carries its SHA-256; a second checksum of the library's choice would only cost time.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	public := opts
	if cfg.PublicEndpoint != "" {
		public.BaseEndpoint = &cfg.PublicEndpoint
	}
	return &Store{bucket: cfg.Bucket, client: s3.New(opts), presign: s3.NewPresignClient(s3.New(public))}, nil
}

func httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: answerTimeout,
		MaxIdleConnsPerHost:   maxIdleConns,
		IdleConnTimeout:       time.Minute,
	}}
}

// EnsureBucket creates the bucket when it is not there. It may be called by several processes at once.
func (s *Store) EnsureBucket(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	if err == nil {
		return nil
	}
	if err = s.explain(ctx, "look for bucket", s.bucket, err); !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err = s.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.bucket, CreateBucketConfiguration: location(s.client.Options().Region)})
	if owned := (*types.BucketAlreadyOwnedByYou)(nil); errors.As(err, &owned) {
		return nil
	}
	return s.explain(ctx, "create bucket", s.bucket, err)
}

// location names the region of a new bucket; the first region must not be named.
func location(region string) *types.CreateBucketConfiguration {
	if region == "us-east-1" {
		return nil
	}
	return &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
}

// Check asks whether the store answers and has the bucket, for readiness.
func (s *Store) Check(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	return s.explain(ctx, "look for bucket", s.bucket, err)
}

// explain turns a library's error into one of this package; nil stays nil.
func (s *Store) explain(ctx context.Context, doing, key string, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s %s: %w", doing, key, ended)
	}
	var (
		api      smithy.APIError
		response interface{ HTTPStatusCode() int }
		status   int
		code     string
	)
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	switch {
	case code == "NoSuchBucket":
		return fmt.Errorf("%s %s: bucket %s does not exist", doing, key, s.bucket)
	case status == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w", doing, key, ErrNotFound)
	case status == 0 || status >= 500 || status == http.StatusTooManyRequests:
		return fmt.Errorf("%s %s: %w: %w", doing, key, ErrUnavailable, err)
	}
	return fmt.Errorf("%s %s: %w", doing, key, err)
}

// base64Digest turns a SHA-256 in hex into S3's form.
func base64Digest(sha256hex string) (string, error) {
	raw, err := hex.DecodeString(sha256hex)
	if err != nil || len(raw) != 32 {
		return "", fmt.Errorf("%q is not a SHA-256 in hex", sha256hex)
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

// hexDigest turns S3's form of a whole object's SHA-256 into hex; a digest of parts ("…-3") gives "".
func hexDigest(digest *string) string {
	raw, err := base64.StdEncoding.DecodeString(aws.ToString(digest))
	if err != nil || len(raw) != 32 {
		return ""
	}
	return hex.EncodeToString(raw)
}
