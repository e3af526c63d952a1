package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
)

// FileStore is an object store that this machine alone reaches, and whose signed URLs lead to this server instead: requests below
// /<Bucket>/ are passed on to it. The zero value passes nothing on.
type FileStore struct {
	Endpoint string // where this process reaches the store, "http://127.0.0.1:9000"
	Bucket   string
	// Host is what URLs are signed for, "app.example.org". The store gets it whatever a proxy on the way has made of the Host
	// header: the signature covers it.
	Host string
}

const (
	// passages bounds the requests that are passed on at once, below what the embedded store takes: its workers come beside them.
	passages = 192
	// passagesOfNetwork is what one client's network may have of them.
	passagesOfNetwork = 48
	// passageDial and passageAnswer bound a store that is silent; what it is asked for here is no more than one file's or part's
	// end.
	passageDial, passageAnswer = 5 * time.Second, 60 * time.Second
	// smallAnswer is more than any answer of a store that is not a file: an error, or nothing.
	smallAnswer = 64 << 10
	// slowestDownload is the line, in bytes a second, that the time for a file is worked out from.
	slowestDownload = slowestUpload
	// signatureParam marks a signed URL (AWS Signature Version 4, "Authenticating Requests: Using Query Parameters").
	signatureParam = "X-Amz-Signature"
)

// passage passes signed requests for files on to a store. It judges no signature: the store does.
type passage struct {
	edge   *edge
	store  FileStore
	base   *url.URL
	prefix string
	client *http.Transport
	slots  *throttle.Slots
}

func newPassage(e *edge, store FileStore) (*passage, error) {
	base, err := url.Parse(store.Endpoint)
	if err != nil || base.Host == "" || store.Bucket == "" || store.Host == "" {
		return nil, fmt.Errorf("api: a store at %q with the bucket %q, signed for %q: each is required", store.Endpoint,
			store.Bucket, store.Host)
	}
	slots := throttle.NewSlots("files on their way", passages, passages).OfAddress(passagesOfNetwork)
	return &passage{edge: e, slots: slots, store: store, base: base, prefix: "/" + store.Bucket + "/", client: &http.Transport{
		DialContext: dialPatiently, ResponseHeaderTimeout: passageAnswer,
		MaxIdleConnsPerHost: passages, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}}, nil
}

// pass answers what lies below the bucket's name, and leaves everything else to the next.
func (p *passage) pass(c *fiber.Ctx) error {
	if !strings.HasPrefix(c.Path(), p.prefix) || !strings.HasPrefix(string(c.Request().URI().PathOriginal()), p.prefix) {
		return c.Next()
	}
	c.Locals(localRoute, p.prefix+"{key}")
	err := soundAddress(c)
	if err == nil {
		err = p.admit(c)
	}
	if err != nil {
		return p.edge.refuse(c, err)
	}
	if c.Locals(localAsked) == true {
		return errGoOn
	}
	free, err := p.slots.TakeFrom("", network(p.edge.address(c)))
	if err != nil {
		return p.edge.refuse(c, err)
	}
	release := sync.OnceFunc(free)
	answer, err := p.forward(c)
	if err != nil {
		release()
		return fault.Wrap(err, fault.ProviderUnavailable, "the file store does not answer: try again")
	}
	return p.answer(c, answer, release)
}

// admit lets through what a browser or a program does with a signed URL. Everything else that the store can do is none of a
// stranger's business.
func (p *passage) admit(c *fiber.Ctx) error {
	switch c.Method() {
	case http.MethodOptions:
		return nil
	case http.MethodGet, http.MethodPut:
	default:
		c.Set(fiber.HeaderAllow, "GET, PUT, OPTIONS")
		return fault.New(fault.MethodNotAllowed, "files are read and written with signed URLs, by GET and PUT")
	}
	if !c.Context().QueryArgs().Has(signatureParam) {
		return fault.New(fault.NotFound, "no such address")
	}
	if c.Method() == http.MethodPut && c.Request().Header.ContentLength() < 0 {
		return fault.New(fault.Validation, "Content-Length: state the length of the file; it cannot come in chunks")
	}
	return nil
}

// forward sends the request to the store and returns its answer, for the caller to close. The body is no longer read when it
// returns.
func (p *passage) forward(c *fiber.Ctx) (*http.Response, error) {
	target, err := url.ParseRequestURI(string(c.Request().RequestURI()))
	if err != nil {
		return nil, err
	}
	target.Scheme, target.Host = p.base.Scheme, p.base.Host
	request := (&http.Request{Method: c.Method(), URL: target, Host: p.store.Host, Header: http.Header{}}).WithContext(p.edge.base)
	for name, value := range c.Request().Header.All() {
		if text := string(name); forStore(text) {
			request.Header.Add(text, string(value))
		}
	}
	stream, length := c.Context().RequestBodyStream(), int64(c.Request().Header.ContentLength())
	if c.Method() != http.MethodPut || stream == nil || length == 0 {
		return p.client.RoundTrip(request)
	}
	conn := c.Context().Conn()
	body := &passedBody{stream: &pacedBody{Reader: stream, conn: conn, begun: time.Now(), stated: length}, conn: conn,
		closed: make(chan struct{})}
	request.Body, request.ContentLength = body, length
	answer, err := p.client.RoundTrip(request)
	if body.end() {
		c.Locals(localConsumed, true)
	}
	return answer, err
}

// answer gives the store's answer to the client: a file as it comes, anything else at once.
func (p *passage) answer(c *fiber.Ctx, got *http.Response, release func()) error {
	c.Status(got.StatusCode)
	for name, values := range got.Header {
		if !forClient(name) {
			continue
		}
		c.Response().Header.Del(name)
		for _, value := range values {
			c.Response().Header.Add(name, value)
		}
	}
	if c.Method() == http.MethodGet && got.StatusCode/100 == 2 {
		body := &pacedFile{body: got.Body, conn: c.Context().Conn(), begun: time.Now(), stated: got.ContentLength, release: release}
		c.Context().SetBodyStream(body, int(got.ContentLength))
		return nil
	}
	defer release()
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, smallAnswer))
	if err != nil {
		return fault.Wrap(err, fault.ProviderUnavailable, "the file store broke off: try again")
	}
	if got.StatusCode/100 == 4 { // whoever guesses at URLs does not do so for long
		if limited := p.edge.takeAddress(c); limited != nil {
			return limited
		}
	}
	return c.Send(text)
}

// dialPatiently connects to the store.
func dialPatiently(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: passageDial}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: conn}, nil
}

// patientConn is a connection whose other side may answer and hang up before it has been told everything, as a store does that
// refuses a large file. The answer, which has come by then, counts, and not that the rest could not be written.
type patientConn struct{ net.Conn }

func (c *patientConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(p), nil // whoever reads the answer finds out whether there is one
	}
	return n, err
}

// passedBody is a client's body on its way to the store. Its reader is another goroutine, which may still read when the store has
// answered already; nobody may after end.
type passedBody struct {
	stream *pacedBody
	conn   net.Conn
	closed chan struct{} // when its reader is done with it
	once   sync.Once

	mu    sync.Mutex
	ended bool
	whole bool // it was read to its end
}

func (b *passedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return 0, net.ErrClosed
	}
	err := b.stream.extend()
	b.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := b.stream.take(p)
	b.mu.Lock()
	b.whole = b.stream.came >= b.stream.stated || errors.Is(err, io.EOF)
	b.mu.Unlock()
	return n, err
}

// Close says that the reader is done.
func (b *passedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// end stops the reader, waits for it, and tells whether all of the body was read.
func (b *passedBody) end() (whole bool) {
	b.mu.Lock()
	b.ended = true
	if !b.whole {
		_ = b.conn.SetReadDeadline(time.Now()) // wakes a read that waits for the client; on a closed connection none does
	}
	b.mu.Unlock()
	<-b.closed
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.whole
}

// pacedFile is a file on its way to a client, which gets the time that the slowest line needs for it.
type pacedFile struct {
	body    io.ReadCloser
	conn    interface{ SetWriteDeadline(time.Time) error }
	begun   time.Time
	stated  int64 // bytes; below 0 where the store does not say
	came    int64 // bytes
	release func()
}

func (f *pacedFile) Read(p []byte) (int, error) {
	patience := writeTimeout + time.Duration(max(f.stated, f.came)/slowestDownload)*time.Second
	if err := f.conn.SetWriteDeadline(f.begun.Add(patience)); err != nil {
		return 0, err
	}
	n, err := f.body.Read(p)
	f.came += int64(n)
	return n, err
}

func (f *pacedFile) Close() error {
	f.release()
	return f.body.Close()
}

// forStore tells the headers of a request that its signature or the store may want. Those of the connection and of proxies end
// here; credentials of this service are not the store's to see.
func forStore(name string) bool {
	lower := strings.ToLower(name)
	switch lower {
	case "content-type", "content-md5", "content-disposition", "content-encoding", "cache-control", "range", "origin",
		"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "access-control-request-method",
		"access-control-request-headers":
		return true
	}
	return strings.HasPrefix(lower, "x-amz-")
}

// forClient tells the headers of an answer that are the client's, and not those of the connection to the store.
func forClient(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Keep-Alive", "Transfer-Encoding", "Trailer", "Upgrade", "Content-Length", "Date", "Server":
		return false
	}
	return true
}
