// Package client speaks molfabric's public API. It holds the requests, the answers' shapes, retries, uploads and downloads
// with their checksums, and the event stream that survives a cut. It knows no command line and no terminal, and imports no
// room of the server: what it needs to know is the published contract.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// maxAnswerBytes bounds one JSON answer: a page of 100 jobs is far below a megabyte.
	maxAnswerBytes = 64 << 20
	// connectTimeout is how long a connection may take: longer means that nobody is there.
	connectTimeout = 10 * time.Second
	// answerTimeout is how long a server may think about a request that it has received whole: a library of 10,000 ligands
	// is planned and stored in one transaction.
	answerTimeout = 2 * time.Minute
	// slowestBytesPerSecond is the line that the time for a large request or answer is worked out from.
	slowestBytesPerSecond = 64 << 10
)

// Options say whom to talk to, and as whom.
type Options struct {
	// Server is the deployment's address, such as http://127.0.0.1:8080; a path in front of /api is kept.
	Server string
	// APIKey is sent with every call that a key may make. Empty: the session is used for everything.
	APIKey string
	// Session is the token of a browser session, from Client.Session of an earlier client. It may be empty.
	Session string
	// UserAgent names the program; empty means "molfabric".
	UserAgent string
	// NoReuse has the tasks of every submission run, also those that the account has run before.
	NoReuse bool
}

// Client is safe for concurrent use, except that SignUp, SignIn and SignOut change the session that the other calls use.
type Client struct {
	server  string // without a slash at the end
	key     string
	session string
	agent   string
	fresh   bool         // Options.NoReuse
	api     *http.Client // never follows a redirect: a credential must not travel
	store   *http.Client // for presigned URLs: carries no credential
	wait    func(ctx context.Context, d time.Duration) error
	jitter  func() float64 // in [0, 1)
	silence time.Duration  // after which an event stream is taken for dead
	inParts int64          // size in bytes from which a file goes up in parts
}

// New returns a client. It opens no connection. The only error is a Server that is no http or https address.
func New(options Options) (*Client, error) {
	address, err := url.Parse(strings.TrimSpace(options.Server))
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || address.RawQuery != "" ||
		address.User != nil {
		return nil, fmt.Errorf("server %q: give an address like http://127.0.0.1:8080", options.Server)
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout: answerTimeout,
		IdleConnTimeout:       time.Minute, // below the server's 75 s, so that no request meets a closing connection
		MaxIdleConnsPerHost:   16,
		ForceAttemptHTTP2:     true,
	}
	agent := options.UserAgent
	if agent == "" {
		agent = "molfabric"
	}
	return &Client{
		server: strings.TrimRight(address.Scheme+"://"+address.Host+address.Path, "/"),
		key:    options.APIKey, session: options.Session, agent: agent, fresh: options.NoReuse,
		api: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		// An uncompressed transfer, so that the bytes that are counted and hashed are the stored ones.
		store: &http.Client{Transport: uncompressed(transport)},
		wait:  waitFor, jitter: random, silence: streamSilence, inParts: partsThreshold,
	}, nil
}

func uncompressed(t *http.Transport) *http.Transport {
	plain := t.Clone()
	plain.DisableCompression = true
	return plain
}

// Server is the address that the client talks to, without a slash at the end.
func (c *Client) Server() string { return c.server }

// Session is the token of the session that SignUp or SignIn has started; "" when there is none. It is a secret.
func (c *Client) Session() string { return c.session }

// Close lets go of idle connections.
func (c *Client) Close() {
	c.api.CloseIdleConnections()
	c.store.CloseIdleConnections()
}

// authorize adds the credential: the session for what only a person may do, else the key.
func (c *Client) authorize(request *http.Request, sessionOnly bool) {
	request.Header.Set("User-Agent", c.agent)
	switch {
	case c.key != "" && !sessionOnly:
		request.Header.Set("Authorization", "Bearer "+c.key)
	case c.session != "":
		request.AddCookie(&http.Cookie{Name: contract.SessionCookie, Value: c.session})
	}
}

// remember takes over the session that an answer starts or ends.
func (c *Client) remember(answer *http.Response) {
	for _, cookie := range answer.Cookies() {
		if cookie.Name == contract.SessionCookie {
			c.session = cookie.Value
		}
	}
}

// network turns a transport's failure into a *NetworkError, and leaves the end of the caller's context as it is.
func (c *Client) network(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the URL, which may be a presigned one
	}
	return &NetworkError{Server: c.server, Err: err}
}
