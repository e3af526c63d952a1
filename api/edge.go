package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/valyala/fasthttp"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/system"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// exposedHeaders are those that a script on another origin may read.
var exposedHeaders = []string{
	fiber.HeaderXRequestID, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", fiber.HeaderRetryAfter, fiber.HeaderETag,
	fiber.HeaderLocation, fiber.HeaderLink, fiber.HeaderAllow, fiber.HeaderWWWAuthenticate, "Deprecation", "Sunset",
	"Idempotency-Replayed", fiber.HeaderContentDisposition, "X-Total-Count", "X-Truncated",
}

// acceptedHeaders are those that a script on another origin may send.
var acceptedHeaders = []string{
	fiber.HeaderAuthorization, fiber.HeaderContentType, fiber.HeaderAccept, fiber.HeaderIfMatch, fiber.HeaderIfNoneMatch,
	fiber.HeaderXRequestID, "Idempotency-Key", "Last-Event-ID", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name",
}

// preflightSeconds is how long a browser may remember what CORS allows.
const preflightSeconds = 600

// saneRequestID is what we take over from a caller: nothing that could forge a line of a log.
var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{8,128}$`)

// Keys of what the parts of one request tell each other through Fiber.
const (
	localRoute    = "molfabric.route"    // string: the matched template, for metrics and the log
	localConsumed = "molfabric.consumed" // true: the body has been read to its end
	localAsked    = "molfabric.asked"    // true: the client asks whether to send its body, which has not come
	localVerdict  = "molfabric.verdict"  // throttle.Verdict: the request was counted when its client asked
)

// edge is what every request passes through, whatever it asks for.
type edge struct {
	base    context.Context // ends when the server shuts down
	log     *slog.Logger
	now     func() time.Time
	config  Config
	limiter *throttle.Limiter
	metrics *metrics
	routes  *routeTable
	running inFlight
}

func (e *edge) mount(app *fiber.App) error {
	app.Use(e.serve, e.securityHeaders)
	if e.config.FileStore != (FileStore{}) {
		files, err := newPassage(e, e.config.FileStore)
		if err != nil {
			return err
		}
		app.Use(files.pass) // before the API's own CORS: the store answers preflights itself
	}
	if len(e.config.Origins) > 0 {
		app.Use(cors.New(cors.Config{
			AllowOrigins: strings.Join(e.config.Origins, ","), AllowCredentials: true, MaxAge: preflightSeconds,
			AllowHeaders: strings.Join(acceptedHeaders, ","), ExposeHeaders: strings.Join(exposedHeaders, ","),
		}))
	}
	app.Use(prefix, e.route)
	return nil
}

// serve gives the request its id, logger and context, turns errors and panics into answers, and records what came of it.
func (e *edge) serve(c *fiber.Ctx) error {
	e.running.enter()
	defer e.running.leave()
	started := e.now()
	requestID := c.Get(fiber.HeaderXRequestID)
	if !saneRequestID.MatchString(requestID) {
		requestID = id.New("req_")
	}
	c.Set(fiber.HeaderXRequestID, requestID)
	c.SetUserContext(withLogger(access.WithRequestID(e.base, requestID), e.log))
	e.next(c, requestID)
	if c.Response().StatusCode() == http.StatusContinue {
		return nil // said by the connection; the request itself follows
	}
	e.addDefaultHeaders(c)
	closeOrDrain(c)
	e.record(c, requestID, e.now().Sub(started))
	return nil
}

func (e *edge) next(c *fiber.Ctx, requestID string) {
	defer func() {
		if cause := recover(); cause != nil {
			err := respond(c, internalError(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()), requestID))
			e.mustWrite(err, requestID)
		}
	}()
	if err := c.Next(); err != nil {
		e.mustWrite(respond(c, err), requestID)
	}
}

func (e *edge) mustWrite(err error, requestID string) {
	if err != nil {
		e.log.Error("an answer could not be written", "error", err, "request_id", requestID)
	}
}

// record writes the metrics and the access log. The address asked for is logged as its template alone: paths and queries may
// hold capabilities.
func (e *edge) record(c *fiber.Ctx, requestID string, took time.Duration) {
	route, known := c.Locals(localRoute).(string)
	if !known {
		if route = c.Route().Path; route == "/" && c.Path() != "/" {
			route = unmatched
		}
	}
	status := c.Response().StatusCode()
	e.metrics.observe(c.Method(), route, status, took)
	level := slog.LevelInfo
	if !strings.HasPrefix(route, prefix) {
		level = slog.LevelDebug // probes and pages
	}
	caller := access.From(c.UserContext())
	e.log.Log(c.UserContext(), level, "request", "method", c.Method(), "route", route, "status", status,
		"duration_ms", took.Milliseconds(), "request_id", requestID, "account_id", caller.AccountID, "key_id", caller.KeyID,
		"address", e.address(c).String())
}

// route refuses, inside the API's prefix, what cannot be an operation: broken addresses, unknown ones, wrong methods.
func (e *edge) route(c *fiber.Ctx) error {
	if err := soundAddress(c); err != nil {
		c.Locals(localRoute, unmatched)
		return e.refuse(c, err)
	}
	template, methods := e.routes.find(c.Path())
	if template == "" {
		c.Locals(localRoute, unmatched)
		return e.refuse(c, fault.New(fault.NotFound, "no such address"))
	}
	c.Locals(localRoute, template)
	for _, method := range methods {
		if method == c.Method() {
			return c.Next()
		}
	}
	c.Set(fiber.HeaderAllow, strings.Join(methods, ", "))
	return e.refuse(c, fault.New(fault.MethodNotAllowed, "this address takes %s", strings.Join(methods, ", ")))
}

// refuse counts the request against its address, so that unknown addresses cost as much as known ones.
func (e *edge) refuse(c *fiber.Ctx, err error) error {
	if limited := e.takeAddress(c); limited != nil {
		return limited
	}
	return err
}

func (e *edge) limitAddress(c *fiber.Ctx) error {
	if err := e.takeAddress(c); err != nil {
		return err
	}
	c.SetUserContext(access.WithAddress(c.UserContext(), network(e.address(c))))
	return c.Next()
}

func (e *edge) takeAddress(c *fiber.Ctx) error {
	return e.take(c, "address:"+network(e.address(c)), e.config.Limits.Address)
}

// addDefaultHeaders gives an answer the headers that every answer has, where nothing has set them: preflights, pages, and what is
// refused before any middleware sees it. Probes of operators have no limit and must not wait for one.
func (e *edge) addDefaultHeaders(c *fiber.Ctx) {
	if len(c.Response().Header.Peek(fiber.HeaderXRequestID)) == 0 {
		c.Set(fiber.HeaderXRequestID, id.New("req_"))
	}
	if len(c.Response().Header.Peek("RateLimit-Limit")) == 0 && !slices.Contains(system.Paths, c.Path()) {
		e.announce(c, e.limiter.Look(e.base, "address:"+network(e.address(c)), e.config.Limits.Address))
	}
}

func (e *edge) announce(c *fiber.Ctx, verdict throttle.Verdict) {
	c.Set("RateLimit-Limit", strconv.Itoa(verdict.Limit))
	c.Set("RateLimit-Remaining", strconv.Itoa(verdict.Remaining))
	c.Set("RateLimit-Reset", seconds(verdict.ResetAfter))
}

// take counts the request under key, writes the rate-limit headers and returns an error when the limit is passed.
func (e *edge) take(c *fiber.Ctx, key string, limit throttle.Limit) error {
	verdict, counted := c.Locals(localVerdict).(throttle.Verdict)
	if !counted {
		verdict = e.limiter.Take(c.UserContext(), key, limit)
	}
	if c.Locals(localAsked) == true {
		c.Locals(localVerdict, verdict)
	}
	e.announce(c, verdict)
	if verdict.Allowed {
		return nil
	}
	return verdict.Exceeded("too many requests")
}

// soundAddress refuses a path or query that cannot be read, or that holds what Postgres cannot store.
func soundAddress(c *fiber.Ctx) error {
	parsed, err := url.ParseRequestURI(string(c.Request().RequestURI()))
	if err != nil {
		return fault.New(fault.Validation, "the address cannot be read: a percent sign must start an escape")
	}
	if !storable(parsed.Path) {
		return fault.New(fault.Validation, "the address holds a character that cannot be stored")
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return fault.New(fault.Validation, "the query cannot be read: separate parameters by & and escape other characters")
	}
	for name, values := range query {
		if !storable(name) || !storable(strings.Join(values, "")) {
			return fault.New(fault.Validation, "the query holds a character that cannot be stored")
		}
	}
	return nil
}

func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// closeOrDrain leaves the connection where the next request begins: fasthttp would take the rest of an unread body for one.
func closeOrDrain(c *fiber.Ctx) {
	stream := c.Context().RequestBodyStream()
	conn := c.Context().Conn()
	if framedTwice(&c.Request().Header) {
		closeUnread(c.Context(), conn)
		return
	}
	if stream == nil || c.Locals(localConsumed) == true {
		return
	}
	if length := c.Request().Header.ContentLength(); length <= drainBytes &&
		conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		if _, err := io.CopyN(io.Discard, stream, drainBytes+1); errors.Is(err, io.EOF) {
			return
		}
	}
	closeUnread(c.Context(), conn)
}

func closeUnread(ctx *fasthttp.RequestCtx, conn net.Conn) {
	ctx.SetConnectionClose()
	if kind, ok := conn.(*lingeringConn); ok {
		kind.unread.Store(true)
	}
}

// framedTwice reports whether a request states a length beside its chunks. Where it ends is a matter of opinion then, of which a
// proxy in front may have another: nothing that follows on the connection may be taken for a request (RFC 9112, section 6.3).
func framedTwice(header *fasthttp.RequestHeader) bool {
	return header.ContentLength() < 0 && lengthStated.Match(header.RawHeaders())
}

var lengthStated = regexp.MustCompile(`(?mi)^content-length[ \t]*:`)

func (e *edge) securityHeaders(c *fiber.Ctx) error {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderXFrameOptions, "DENY")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderCacheControl, "no-store")
	if e.overTLS(c) {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=31536000")
	}
	return c.Next()
}

type loggerKey struct{}

func withLogger(ctx context.Context, log *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, log)
}

// loggerOf is the server's logger; outside a request of a server (a test of one group) it is the process' default.
func loggerOf(ctx context.Context) *slog.Logger {
	if log, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return log
	}
	return slog.Default()
}
