package object

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// PermitLife is how long a permit is good for. S3 allows signatures seven days, but the embedded server takes no form that was
// signed more than an hour ago; the rest is for clocks that differ.
const PermitLife = 50 * time.Minute

const (
	// hidden stands for a permit wherever one is printed.
	hidden = "[hidden]"
	// unsignedPayload is what a signed URL says of a body that its signature does not cover.
	unsignedPayload = "UNSIGNED-PAYLOAD"
	// checksumMode has a store tell the digest of what it sends. It is signed, so that it must be sent.
	checksumMode = "X-Amz-Checksum-Mode"
	// checksumField and checksumHeader are how a digest goes to a store and comes back.
	checksumField  = "x-amz-checksum-sha256"
	checksumHeader = "X-Amz-Checksum-Sha256"
	// maxRefusalBytes bounds what is read of a refusal.
	maxRefusalBytes = 16 << 10
)

// ErrRefused says that a permit does not allow what was tried, or has expired. The holder of a newer one may try again.
var ErrRefused = errors.New("the permit was refused")

// Permit is what its holder may do in a store without the store's key, for PermitLife: read some objects, and put objects below a
// prefix. Whoever has its text has these rights, so it prints, logs and encodes as "[hidden]"; see Encode. The zero value allows
// nothing. Its methods may be called concurrently.
type Permit struct{ terms *terms }

// terms are the content of a permit.
type terms struct {
	Until time.Time         `json:"until"` // after this the store refuses it
	Reads map[string]string `json:"reads"` // signed URLs by key
	URL   string            `json:"url"`   // where forms are sent
	Form  map[string]string `json:"form"`  // the signed fields of one
}

// Grant is what a permit is to allow.
type Grant struct {
	Reads    []string // keys
	Prefix   string   // of the keys that may be written to; it must not be empty
	MaxBytes int64    // of one object that is put, at most MaxObjectBytes
}

// Permit signs a permit from now on, without asking the store. It is local work: see doc/decisions/0047-claims.md for what it
// costs.
func (s *Store) Permit(ctx context.Context, grant Grant, now time.Time) (Permit, error) {
	if grant.Prefix == "" {
		return Permit{}, errors.New("sign a permit: an empty prefix would allow every key")
	}
	signed := terms{Until: now.Add(PermitLife).UTC().Truncate(time.Second), URL: s.guests.bucketURL,
		Reads: make(map[string]string, len(grant.Reads))}
	for _, key := range grant.Reads {
		address, err := s.guests.signRead(ctx, key, now)
		if err != nil {
			return Permit{}, fmt.Errorf("sign a permit to read %s: %w", key, err)
		}
		signed.Reads[key] = address
	}
	form, err := s.guests.presign.PresignPostObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &grant.Prefix},
		func(o *s3.PresignPostOptions) {
			o.PostPresigner = signedAt{o.PostPresigner, now.UTC()}
			o.Conditions = []any{
				[]any{"starts-with", "$key", grant.Prefix},
				[]any{"content-length-range", 0, min(grant.MaxBytes, MaxObjectBytes)},
				[]any{"starts-with", "$Content-Type", ""},
				[]any{"starts-with", "$" + checksumField, ""},
			}
		})
	if err != nil {
		return Permit{}, fmt.Errorf("sign a permit to write below %s: %w", grant.Prefix, err)
	}
	delete(form.Values, "key") // its holder's to choose
	signed.Form = form.Values
	return Permit{&signed}, nil
}

// signedAt signs forms at a moment of its own, that of the rest of a permit, for PermitLife.
type signedAt struct {
	signer s3.PresignPost
	now    time.Time
}

// PresignPost implements s3.PresignPost.
func (s signedAt) PresignPost(key aws.Credentials, bucket, object, region, service string, _ time.Time, conditions []any,
	_ time.Time,
	options ...func(*v4.SignerOptions),
) (map[string]string, error) {
	return s.signer.PresignPost(key, bucket, object, region, service, s.now, conditions, s.now.Add(PermitLife), options...)
}

// guests signs for those who have no key.
type guests struct {
	presign   *s3.PresignClient
	signer    *v4.Signer
	key       aws.CredentialsProvider
	region    string
	bucketURL string
}

func newGuests(cfg Config, opts s3.Options) (*guests, error) {
	if cfg.WorkerEndpoint != "" {
		opts.BaseEndpoint = &cfg.WorkerEndpoint
	}
	base, err := url.Parse(*opts.BaseEndpoint)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("object store: %q is no address that URLs can be signed for", *opts.BaseEndpoint)
	}
	return &guests{
		presign: s3.NewPresignClient(s3.New(opts)), region: cfg.Region, bucketURL: base.JoinPath(cfg.Bucket).String(),
		key: opts.Credentials,
		// S3 signs paths as they are sent; the header is to stay one.
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping, o.DisableHeaderHoisting = true, true }),
	}, nil
}

// signRead returns a URL to read an object with. The library's own presigner would move the header into the query, where not every
// store looks for it.
func (g *guests) signRead(ctx context.Context, key string, now time.Time) (string, error) {
	address := g.bucketURL + "/" + httpbinding.EscapePath(key, false) + "?X-Amz-Expires=" + strconv.Itoa(int(PermitLife.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set(checksumMode, "ENABLED")
	signing, err := g.key.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	signed, _, err := g.signer.PresignHTTP(ctx, signing, request, unsignedPayload, "s3", g.region, now.UTC())
	return signed, err
}

// Encode returns the text of a permit, for ParsePermit. It is a secret.
func (p Permit) Encode() ([]byte, error) {
	if p.terms == nil {
		return nil, nil
	}
	return json.Marshal(p.terms)
}

// ParsePermit reads what Encode has written. Nothing gives the zero value.
func ParsePermit(text []byte) (Permit, error) {
	if len(text) == 0 {
		return Permit{}, nil
	}
	read := new(terms)
	if err := json.Unmarshal(text, read); err != nil {
		return Permit{}, errors.New("read a permit: it is no JSON of one") // the library would quote it
	}
	return Permit{read}, nil
}

// Until is when a permit expires by the clock of who has signed it; zero for none.
func (p Permit) Until() time.Time {
	if p.terms == nil {
		return time.Time{}
	}
	return p.terms.Until
}

// Format keeps permits out of messages.
func (p Permit) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// LogValue keeps permits out of logs.
func (p Permit) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText keeps permits out of JSON.
func (p Permit) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// guestClient is that of all permits.
var guestClient = httpClient()

// Get is Store.Get for an object that the permit names. Errors: also ErrRefused.
func (p Permit) Get(ctx context.Context, key string) (io.ReadCloser, Info, error) {
	var address string
	if p.terms != nil {
		address = p.terms.Reads[key]
	}
	if address == "" {
		return nil, Info{}, fmt.Errorf("get %s: %w: it is not named there", key, ErrRefused)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, Info{}, fmt.Errorf("get %s: the permit's address is none", key) // and not told
	}
	request.Header.Set(checksumMode, "ENABLED")
	request.Header.Set("Accept-Encoding", "identity") // else the library would unpack what is stored packed
	answer, err := guestClient.Do(request)
	if err != nil {
		return nil, Info{}, awayOrEnded(ctx, "get", key, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, Info{}, refusal("get", key, answer)
	}
	modified, _ := http.ParseTime(answer.Header.Get("Last-Modified")) // only shown
	digest := answer.Header.Get(checksumHeader)
	body := &reader{explain: func(err error) error { return awayOrEnded(ctx, "read", key, err) }, body: answer.Body}
	return body, Info{Key: key, ByteSize: answer.ContentLength, SHA256: hexDigest(&digest),
		ContentType: answer.Header.Get("Content-Type"),
		ModifiedAt:  modified.UTC()}, nil
}

// Put is Store.Put below the permit's prefix. The store itself holds the bytes against their digest. Errors: also ErrRefused.
func (p Permit) Put(ctx context.Context, key string, body io.ReadSeeker, contentType, sha256hex string) (Info, error) {
	if p.terms == nil {
		return Info{}, fmt.Errorf("put %s: %w: there is none", key, ErrRefused)
	}
	size, digest, err := measure(body, sha256hex)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	checksum, err := base64Digest(digest)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	request, err := p.terms.form(ctx, map[string]string{"key": key, "Content-Type": contentType, checksumField: checksum}, body,
		size)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	answer, err := guestClient.Do(request)
	if err != nil {
		return Info{}, awayOrEnded(ctx, "put", key, err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		err := refusal("put", key, answer)
		if isBadDigest(err) {
			err = fmt.Errorf("put %s: %w", key, &MismatchError{Key: key, WantSHA256: digest, WantByteSize: size, GotByteSize: size})
		}
		return Info{}, err
	}
	drain(answer.Body)
	return Info{Key: key, ByteSize: size, SHA256: digest, ContentType: contentType}, nil
}

// form is the request that sends a file of size bytes with the signed fields and those given. The file comes last, as S3 asks.
func (t *terms) form(ctx context.Context, fields map[string]string, file io.ReadSeeker, size int64) (*http.Request, error) {
	var around bytes.Buffer
	form := multipart.NewWriter(&around)
	for _, part := range []map[string]string{t.Form, fields} {
		for name, value := range part {
			if err := form.WriteField(name, value); err != nil {
				return nil, err
			}
		}
	}
	if _, err := form.CreateFormFile("file", "file"); err != nil {
		return nil, err
	}
	head := around.Len()
	if err := form.Close(); err != nil {
		return nil, err
	}
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	whole := func() (io.ReadCloser, error) {
		if _, err := file.Seek(start, io.SeekStart); err != nil {
			return nil, err
		}
		text := around.Bytes()
		return io.NopCloser(io.MultiReader(bytes.NewReader(text[:head]), io.LimitReader(file, size), bytes.NewReader(text[head:]))),
			nil
	}
	body, err := whole()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, body)
	if err != nil {
		return nil, errors.New("the permit's address is none")
	}
	request.ContentLength, request.GetBody = int64(around.Len())+size, whole
	request.Header.Set("Content-Type", form.FormDataContentType())
	// not sent: the request may be repeated when an idle connection turns out to be closed
	request.Header["Idempotency-Key"] = []string{}
	return request, nil
}

// refusalError is a store's refusal, in its own words.
type refusalError struct {
	status        int
	Code, Message string
}

func (e *refusalError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.Code, e.Message) }

// ErrorCode makes it one of those that isBadDigest tells apart.
func (e *refusalError) ErrorCode() string { return e.Code }

// endedSession are what stores say, with the status 400, of signatures made in a session that has ended since: they end with it,
// also before PermitLife is over.
var endedSession = map[string]bool{"ExpiredToken": true, "InvalidToken": true, "TokenRefreshRequired": true}

// refusal reads an answer that is none and closes it.
func refusal(doing, key string, answer *http.Response) error {
	defer answer.Body.Close()
	told := &refusalError{status: answer.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusalBytes))
	_ = xml.Unmarshal(text, told) // the status is enough
	switch {
	case told.status == http.StatusNotFound && told.Code != "NoSuchBucket":
		return fmt.Errorf("%s %s: %w", doing, key, ErrNotFound)
	case told.status >= 500 || told.status == http.StatusTooManyRequests || told.Code == "RequestTimeout":
		return fmt.Errorf("%s %s: %w: %w", doing, key, ErrUnavailable, told)
	case told.status == http.StatusForbidden || told.status == http.StatusUnauthorized || endedSession[told.Code]:
		return fmt.Errorf("%s %s: %w: %w", doing, key, ErrRefused, told)
	}
	return fmt.Errorf("%s %s: %w", doing, key, told)
}

// awayOrEnded says that the store did not answer, or that nobody waits any more. The address, which is signed, is not told.
func awayOrEnded(ctx context.Context, doing, key string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s %s: %w", doing, key, ended)
	}
	if told := (*url.Error)(nil); errors.As(err, &told) {
		err = told.Err
	}
	return fmt.Errorf("%s %s: %w: %w", doing, key, ErrUnavailable, err)
}

// drain reads a short answer to its end, so that its connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxRefusalBytes)) // nothing in it matters
	_ = body.Close()
}
