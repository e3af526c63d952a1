package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/strictjson"
	"github.com/molfabric/molfabric/internal/fault"
)

// bodyGate reads a body within its operation's limit and refuses what no schema can see: wrong types and sizes, JSON that is
// broken, ambiguous or too deep, and null where it is not allowed.
type bodyGate struct {
	api   huma.API
	room  *spoolRoom
	large chan struct{} // slots for bodies beyond largeBody
}

func newBodyGate(api huma.API, room *spoolRoom) *bodyGate {
	return &bodyGate{api: api, room: room, large: make(chan struct{}, largeBodySlots)}
}

// pass is huma middleware.
func (g *bodyGate) pass(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	if op.RequestBody == nil {
		if err := g.refuseBody(humafiber.UnwrapV2(ctx)); err != nil {
			fail(g.api, ctx, err)
			return
		}
	}
	if op.RequestBody == nil || op.RequestBody.Content[fiber.MIMEApplicationJSON] == nil {
		next(ctx)
		return
	}
	c := humafiber.UnwrapV2(ctx)
	raw, release, err := g.read(c, access.RuleOf(op).MaxBody)
	defer release()
	if err == nil && len(raw) > 0 {
		err = g.inspect(c, op.RequestBody.Content[fiber.MIMEApplicationJSON].Schema, raw)
	}
	if err != nil {
		fail(g.api, ctx, err)
		return
	}
	next(bodyContext{humaContext: ctx, raw: raw})
}

// refuseBody refuses what an operation that takes no body would otherwise quietly forget; an empty object says as little as no
// body.
func (g *bodyGate) refuseBody(c *fiber.Ctx) error {
	switch c.Method() {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return nil
	}
	raw, release, err := g.read(c, maxEmptyBody)
	release()
	if errors.Is(err, errGoOn) {
		return err
	}
	if text := string(bytes.TrimSpace(raw)); err == nil && (text == "" || text == "{}") {
		return nil
	}
	return fault.New(fault.Validation, "this operation takes no body")
}

func (g *bodyGate) inspect(c *fiber.Ctx, schema *huma.Schema, raw []byte) error {
	if !isJSON(c.Get(fiber.HeaderContentType), c.Get(fiber.HeaderContentEncoding)) {
		return fault.New(fault.UnsupportedMediaType, "send the body as Content-Type: application/json, in UTF-8 and not compressed")
	}
	hasNull, err := strictjson.Check(raw)
	if err == nil && hasNull {
		err = strictjson.RefuseNulls(g.api.OpenAPI().Components.Schemas, schema, raw)
	}
	if err != nil {
		return fault.New(refusalCode(err), "%s", err.Error())
	}
	return nil
}

// refusalCode is the code of what strictjson refused.
func refusalCode(err error) fault.Code {
	var (
		null   *strictjson.NullError
		broken *strictjson.Error
	)
	switch {
	case errors.As(err, &null):
		return codeOf(null.Path)
	case errors.As(err, &broken):
		return codeOf(broken.Path)
	default:
		return fault.Validation
	}
}

// codeOf is the code of a bad member or parameter: expectedVersion has one of its own, whatever is wrong with it.
func codeOf(name string) fault.Code {
	if name == "expectedVersion" {
		return fault.InvalidExpectedVersion
	}
	return fault.Validation
}

// read returns the whole body. It waits for a slot only when all of a large body has come, so that slow senders keep nobody
// waiting. release gives back the slot, and is never nil.
func (g *bodyGate) read(c *fiber.Ctx, limit int64) (raw []byte, release func(), err error) {
	release = func() {}
	if limit == 0 {
		limit = defaultMaxBody
	}
	stream, length := c.Context().RequestBodyStream(), int64(c.Request().Header.ContentLength())
	switch {
	case length > limit:
		return nil, release, tooLarge(limit)
	case c.Locals(localAsked) == true:
		return nil, release, errGoOn
	case stream == nil:
		return nil, release, nil
	}
	stream = &pacedBody{Reader: stream, conn: c.Context().Conn(), begun: time.Now(), stated: length}
	body, err := g.room.newSpool(length)
	defer body.close()
	if err != nil {
		return nil, release, err
	}
	switch _, err = io.CopyN(body, stream, limit+1); {
	case err == nil:
		return nil, release, tooLarge(limit)
	case !errors.Is(err, io.EOF):
		return nil, release, unreadable(err)
	case length >= 0 && body.size < length: // the sender has hung up; the part that came may be JSON by chance
		return nil, release, unreadable(io.ErrUnexpectedEOF)
	}
	c.Locals(localConsumed, true)
	if body.size > largeBody {
		if release, err = g.slot(); err != nil {
			return nil, release, err
		}
	}
	raw, err = body.content()
	return raw, release, err
}

// pacedBody gives a body the time that the slowest line needs for its length, beside readTimeout. Chunks state no length: what has
// come so far stands for it, so that who trickles them is cut off as others are.
type pacedBody struct {
	io.Reader
	conn   interface{ SetReadDeadline(time.Time) error }
	begun  time.Time
	stated int64 // bytes; below 0 for chunks
	came   int64 // bytes
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if err := b.extend(); err != nil {
		return 0, err
	}
	return b.take(p)
}

// extend gives the connection the time that the body has by now.
func (b *pacedBody) extend() error {
	patience := readTimeout + time.Duration(max(b.stated, b.came)/slowestUpload)*time.Second
	return b.conn.SetReadDeadline(b.begun.Add(patience))
}

// take reads within the time that the connection has.
func (b *pacedBody) take(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.came += int64(n)
	return n, err
}

func (g *bodyGate) slot() (release func(), err error) {
	wait := time.NewTimer(largeBodyWait)
	defer wait.Stop()
	select {
	case g.large <- struct{}{}:
		return func() { <-g.large }, nil
	case <-wait.C:
		return func() {}, fault.New(fault.ProviderUnavailable, "too many large requests at once: try again")
	}
}

func tooLarge(limit int64) error {
	return fault.New(fault.PayloadTooLarge, "the body is larger than %d bytes", limit)
}

func unreadable(err error) error {
	var (
		timeout interface{ Timeout() bool }
		full    *fault.Error
	)
	if errors.As(err, &full) {
		return full
	}
	if errors.As(err, &timeout) && timeout.Timeout() {
		return statusError(http.StatusRequestTimeout, "")
	}
	return fault.New(fault.Validation, "the body ended before its announced length or is not framed as HTTP asks")
}

// isJSON accepts application/json in UTF-8 as it is; a missing type means the same.
func isJSON(contentType, encoding string) bool {
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	if contentType == "" {
		return true
	}
	kind, parameters, err := mime.ParseMediaType(contentType)
	charset := parameters["charset"]
	return err == nil && kind == fiber.MIMEApplicationJSON && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

// humaContext gives the embedded interface a name of its own beside its method Context.
type humaContext huma.Context

// bodyContext hands the body that was read to the operation.
type bodyContext struct {
	humaContext
	raw []byte
}

func (b bodyContext) BodyReader() io.Reader { return bytes.NewReader(b.raw) }

// Unwrap lets adapters find their own context.
func (b bodyContext) Unwrap() huma.Context { return b.humaContext }
