package api

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/molfabric/molfabric/internal/fault"
)

// refuseEarly answers what fasthttp and Fiber refuse before any middleware sees it: headers that are too large, broken HTTP.
func (e *edge) refuseEarly(c *fiber.Ctx, err error) error {
	e.addDefaultHeaders(c)
	return respond(c, err)
}

// answerUnknownMethods answers methods that Fiber does not know, which it would refuse in plain text before any middleware.
func (e *edge) answerUnknownMethods(app *fiber.App) {
	server := app.Server()
	next := server.Handler
	known := strings.Join(fiber.DefaultMethods, " ") + " "
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		if strings.Contains(known, string(ctx.Method())+" ") {
			next(ctx)
			return
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		e.addDefaultHeaders(c)
		_, methods := e.routes.find(string(ctx.Path()))
		c.Set(fiber.HeaderAllow, strings.Join(methods, ", "))
		e.mustWrite(respond(c, fault.New(fault.MethodNotAllowed, "this is not a method of HTTP that the service knows")),
			string(c.Response().Header.Peek(fiber.HeaderXRequestID)))
		ctx.SetStatusCode(http.StatusMethodNotAllowed)
		ctx.SetConnectionClose()
	}
}
