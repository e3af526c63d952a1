package api

import (
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// errGoOn stands where a request would read a body that its client has not sent yet: nothing has been found against it so far.
var errGoOn = &Error{Message: "send the body", status: http.StatusContinue}

// answerExpectations lets a client that asks before it sends its body (Expect: 100-continue, RFC 9110, section 10.1.1) hear what
// its address, credential and length alone are refused for, instead of being told to go on. The request passes everything up to
// where its body is read; one that is refused, or reads no body, has its answer by then.
func answerExpectations(app *fiber.App) {
	server := app.Server()
	server.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
		ctx.SetUserValue(localAsked, true)
		server.Handler(ctx)
		ctx.RemoveUserValue(localAsked)
		status := ctx.Response.StatusCode()
		if status == http.StatusContinue {
			ctx.Response.Reset()
		}
		return status
	}
}
