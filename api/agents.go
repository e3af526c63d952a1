package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/mcp"
	"github.com/molfabric/molfabric/api/strictjson"
	"github.com/molfabric/molfabric/internal/fault"
)

// mcpPath is where messages of the Model Context Protocol are taken.
const mcpPath = "/mcp"

// agents lets programs of language models in. A message needs an API key and is counted like a request; the calls that it
// makes are requests of their own, judged and counted as the same caller's.
type agents struct {
	edge    *edge
	guard   *guard
	bodies  *bodyGate
	service http.Handler
}

// mountAgents adds the address. document is the OpenAPI document that the tools are described by.
func mountAgents(app *fiber.App, guard *guard, bodies *bodyGate, document []byte, rankings mcp.Rankings) error {
	edge := guard.edge
	service, err := mcp.New(mcp.Deps{Document: document, Version: edge.config.Version, Log: edge.log,
		Door: newInside(app.Server()), Rankings: rankings})
	if err != nil {
		return err
	}
	app.All(mcpPath, (&agents{edge: edge, guard: guard, bodies: bodies, service: service}).serve)
	return nil
}

func (a *agents) serve(c *fiber.Ctx) error {
	c.Request().Header.DelCookie(auth.CookieName) // a browser's session is no credential here
	caller, err := a.guard.judge(c, access.Rule{})
	if err != nil {
		return err
	}
	ctx := access.With(c.UserContext(), caller)
	c.SetUserContext(ctx)
	if err := a.knownOrigin(c); err != nil {
		return err
	}
	if c.Method() != http.MethodPost {
		c.Set(fiber.HeaderAllow, http.MethodPost)
		return fault.New(fault.MethodNotAllowed, "this address takes POST: nothing is kept between two messages")
	}
	message, release, err := a.bodies.read(c, mcp.MaxRequestBytes)
	defer release()
	if err != nil {
		return err
	}
	if err := soundMessage(c, message); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(context.WithValue(ctx, insideKey{}, insideCaller{
		authorization: strings.Clone(c.Get(fiber.HeaderAuthorization)), address: a.edge.address(c),
	}), mcp.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodPost, mcpPath, bytes.NewReader(message))
	if err != nil {
		return err
	}
	for name, values := range c.GetReqHeaders() {
		if name != fiber.HeaderAuthorization && name != fiber.HeaderCookie {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	request.Header.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	kept := &keptAnswer{header: http.Header{}}
	a.service.ServeHTTP(kept, request)
	return kept.send(c)
}

// knownOrigin refuses pages of other sites. A name that leads to this host today proves nothing, because whoever owns it chose
// where it leads: only configured origins, the public URL, and addresses that are no names are taken.
func (a *agents) knownOrigin(c *fiber.Ctx) error {
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" || slices.Contains(a.guard.origins, origin) {
		return nil
	}
	if public, err := url.Parse(a.edge.config.PublicURL); err == nil && public.Host != "" && origin == public.Scheme+"://"+
		public.Host {
		return nil
	}
	if parsed, err := url.Parse(origin); err == nil && a.edge.own(c, origin) {
		if _, notName := netip.ParseAddr(parsed.Hostname()); notName == nil || parsed.Hostname() == "localhost" {
			return nil
		}
	}
	return fault.New(fault.CSRFRejected, "requests are taken from this service's own pages and configured origins only")
}

// soundMessage refuses what is no single message in JSON. Several at once would pass the limit of requests as one.
func soundMessage(c *fiber.Ctx, message []byte) error {
	if !isJSON(c.Get(fiber.HeaderContentType), c.Get(fiber.HeaderContentEncoding)) {
		return fault.New(fault.UnsupportedMediaType, "send the message as Content-Type: application/json, in UTF-8 and not "+
			"compressed")
	}
	if _, err := strictjson.Check(message); err != nil {
		return fault.New(fault.Validation, "%s", err.Error())
	}
	if !bytes.HasPrefix(bytes.TrimSpace(message), []byte("{")) {
		return fault.New(fault.Validation, "the body must be one JSON-RPC message, an object")
	}
	return nil
}

// keptAnswer holds an answer until it is whole: a message's answer is short, and none of its parts can come before the last.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptAnswer) Header() http.Header { return k.header }

func (k *keptAnswer) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *keptAnswer) Write(p []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(p)
}

// Flush is asked for by whoever writes event streams.
func (k *keptAnswer) Flush() { k.WriteHeader(http.StatusOK) }

// send writes the answer. The protocol's own refusals are JSON-RPC; those in plain text come before a message was read, and
// get the envelope of every other refusal.
func (k *keptAnswer) send(c *fiber.Ctx) error {
	switch {
	case k.status == 0:
		return fault.New(fault.ProviderUnavailable, "the service did not answer in time: try again")
	case k.status >= http.StatusBadRequest && strings.HasPrefix(k.header.Get(fiber.HeaderContentType), fiber.MIMETextPlain):
		return &Error{Message: strings.TrimSpace(k.body.String()), Code: string(fault.Validation), status: k.status}
	}
	for name, values := range k.header {
		for _, value := range values {
			c.Set(name, value)
		}
	}
	return c.Status(k.status).Send(k.body.Bytes())
}

type insideKey struct{}

// insideCaller is on whose behalf the process asks itself.
type insideCaller struct {
	authorization string
	address       netip.Addr
}

// inside carries requests of this process to its own front door, with the credential, the id and the network address of the
// caller in the request's context. The address travels as the connection's far end, which no header can forge.
type inside struct{ http.Transport }

func newInside(server *fasthttp.Server) *inside {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		caller, ok := ctx.Value(insideKey{}).(insideCaller)
		if !ok {
			return nil, errors.New("a request inside the process without a caller")
		}
		near, far := net.Pipe()
		go func() {
			// It ends with the one request of the connection; the near end learns of every failure.
			_ = server.ServeConn(insideConn{Conn: far, caller: net.TCPAddrFromAddrPort(netip.AddrPortFrom(caller.address, 0))})
		}()
		return near, nil
	}
	// A connection belongs to one caller, so it serves one request.
	return &inside{http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true}}
}

func (i *inside) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	caller, ok := ctx.Value(insideKey{}).(insideCaller)
	if !ok {
		return nil, fmt.Errorf("%s %s: no caller", request.Method, request.URL.Path)
	}
	sent := request.Clone(ctx)
	sent.Header.Set(fiber.HeaderAuthorization, caller.authorization)
	sent.Header.Set(fiber.HeaderXRequestID, access.RequestID(ctx))
	return i.Transport.RoundTrip(sent)
}

// insideConn is the server's end of a connection inside the process.
type insideConn struct {
	net.Conn
	caller net.Addr
}

func (c insideConn) RemoteAddr() net.Addr { return c.caller }
