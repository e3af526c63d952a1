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
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
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

// Config says where a store is and how to sign requests to it. Endpoint, Region and Bucket are required, and a key unless Chain is
// set.
type Config struct {
	// Endpoint is the base URL at which the deployment's own processes reach the store, e.g. "http://127.0.0.1:9000".
	Endpoint string
	// PublicEndpoint is the base URL at which users reach it, and for which the URLs of PresignGet, PresignPut and the like are
	// signed: a signature covers the host. Default Endpoint.
	PublicEndpoint string
	// WorkerEndpoint is the base URL at which workers reach it, and for which their permits are signed. Default Endpoint.
	WorkerEndpoint string

	Region    string
	Bucket    string
	AccessKey string
	SecretKey string
	// SessionToken comes with a key that is good for a time only. Nothing renews it: a process that outlives it is started again.
	SessionToken string
	// Chain takes the credentials from where the AWS SDK finds them, and has them renewed: AWS_* variables, the web identity of a
	// pod, the role of a container or a machine. The key and the token must then be empty. URLs end with the credentials that
	// signed them.
	Chain bool
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

// UndeletedError says that the store did not delete some objects although it deletes others.
type UndeletedError struct {
	Keys          []string
	Code, Message string // the store's, of the first
}

func (e *UndeletedError) Error() string {
	return fmt.Sprintf("delete %s: %s: %s (and %d more)", e.Keys[0], e.Code, e.Message, len(e.Keys)-1)
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
	guests  *guests
}

// New returns a Store without contacting it.
func New(cfg Config) (*Store, error) {
	for _, field := range []struct{ name, value string }{
		{"endpoint", cfg.Endpoint}, {"region", cfg.Region}, {"bucket", cfg.Bucket},
	} {
		if field.value == "" {
			return nil, fmt.Errorf("object store: no %s is configured", field.name)
		}
	}
	identity, err := cfg.credentials()
	if err != nil {
		return nil, err
	}
	opts := s3.Options{
		BaseEndpoint: &cfg.Endpoint,
		Region:       cfg.Region,
		UsePathStyle: true, // a bucket as host name needs a DNS entry each
		Credentials:  identity,
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
	guests, err := newGuests(cfg, opts)
	if err != nil {
		return nil, err
	}
	return &Store{bucket: cfg.Bucket, client: s3.New(opts), presign: s3.NewPresignClient(s3.New(public)), guests: guests}, nil
}

// credentials is what requests are signed with.
func (c Config) credentials() (aws.CredentialsProvider, error) {
	given := c.AccessKey != "" || c.SecretKey != "" || c.SessionToken != ""
	switch {
	case c.Chain && given:
		return nil, errors.New("object store: a key is configured beside the credentials of the SDK's chain; only one of them " +
			"can sign")
	case c.Chain:
		// It reads files and variables; whom it asks, it asks when something is to be signed.
		found, err := awsconfig.LoadDefaultConfig(context.Background(), awsconfig.WithRegion(c.Region))
		if err != nil {
			return nil, fmt.Errorf("object store: find credentials: %w", err)
		}
		return found.Credentials, nil
	case c.AccessKey == "":
		return nil, errors.New("object store: no access key is configured")
	case c.SecretKey == "":
		return nil, errors.New("object store: no secret key is configured")
	}
	return credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, c.SessionToken), nil
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
	_, err = s.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.bucket,
		CreateBucketConfiguration: location(s.client.Options().Region)})
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
