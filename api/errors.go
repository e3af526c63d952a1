package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/outage"
)

// retryUnavailable is what a 503 asks its caller to wait: long enough for a restart of a store.
const retryUnavailable = 2 * time.Second

// retryBusy is what a 429 asks its caller to wait that has too much open at once: until one of those ends, which nobody can tell.
const retryBusy = 5 * time.Second

// statusOf has the status of every code; doc/errors.md is made from it.
var statusOf = map[fault.Code]int{
	fault.Validation:             http.StatusBadRequest,
	fault.InvalidExpectedVersion: http.StatusBadRequest,
	fault.IdempotencyKeyRequired: http.StatusBadRequest,
	fault.UnknownTier:            http.StatusBadRequest,
	fault.IdempotencyKeyMismatch: http.StatusBadRequest,
	fault.InvalidCursor:          http.StatusBadRequest,
	fault.Unauthorized:           http.StatusUnauthorized,
	fault.InsufficientCredits:    http.StatusPaymentRequired,
	fault.NoPaymentMethod:        http.StatusPaymentRequired,
	fault.InsufficientScope:      http.StatusForbidden,
	fault.TestKeyLiveBilling:     http.StatusForbidden,
	fault.SessionRequired:        http.StatusForbidden,
	fault.CostLimitExceeded:      http.StatusForbidden,
	fault.CSRFRejected:           http.StatusForbidden,
	fault.NotFound:               http.StatusNotFound,
	fault.MethodNotAllowed:       http.StatusMethodNotAllowed,
	fault.VersionConflict:        http.StatusConflict,
	fault.JobNotCancellable:      http.StatusConflict,
	fault.JobNotRetryable:        http.StatusConflict,
	fault.JobNotEnded:            http.StatusConflict,
	fault.CreditNotConfirmed:     http.StatusConflict,
	fault.UploadIncomplete:       http.StatusConflict,
	fault.ShareRevoked:           http.StatusGone,
	fault.UploadExpired:          http.StatusGone,
	fault.FilesDeleted:           http.StatusGone,
	fault.IdempotencyInProgress:  http.StatusConflict,
	fault.PayloadTooLarge:        http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType:   http.StatusUnsupportedMediaType,
	fault.PipelineDisabled:       http.StatusUnprocessableEntity,
	fault.UnsupportedSimulator:   http.StatusUnprocessableEntity,
	fault.IdempotencyKeyReused:   http.StatusUnprocessableEntity,
	fault.ChecksumMismatch:       http.StatusUnprocessableEntity,
	fault.WorkerImageMismatch:    http.StatusUnprocessableEntity,
	fault.ArtifactNotFound:       http.StatusUnprocessableEntity,
	fault.SceneNotFound:          http.StatusUnprocessableEntity,
	fault.RateLimited:            http.StatusTooManyRequests,
	fault.ProviderUnavailable:    http.StatusServiceUnavailable,
}

// Error is the envelope of every failure (doc/contract.md §2.12). It has no other members; currentVersion comes with
// VERSION_CONFLICT alone.
type Error struct {
	Message string `json:"error" example:"simulationParams.seed: expected number <= 2147483647" doc:"What was wrong, for people: names the offending member by its JSON path and says what is allowed."`
	Code    string `json:"code,omitempty" example:"VALIDATION_ERROR" doc:"What was wrong, for programs: VALIDATION_ERROR, UNAUTHORIZED, NOT_FOUND, RATE_LIMITED and so on. Treat unknown codes by their status."`
	// CurrentVersion is 0, and left out, with every other code.
	CurrentVersion int64 `json:"currentVersion,omitempty" minimum:"1" doc:"With VERSION_CONFLICT alone: the version that is the head now. Do not send it back unseen."`

	status     int
	retryAfter time.Duration // 0: say nothing
	cause      error         // for the log; nil when the caller alone is at fault
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.cause }

// GetStatus is the HTTP status; huma asks for it.
func (e *Error) GetStatus() int { return e.status }

// envelope turns any failure into what its caller may see of it.
func envelope(err error, requestID string) *Error {
	var (
		own     *Error
		known   *fault.Error
		byFiber *fiber.Error
		refused *pq.Error
		limited *throttle.Exceeded
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &limited):
		return &Error{
			Message: limited.Error(), Code: string(fault.RateLimited),
			status: http.StatusTooManyRequests, retryAfter: limited.RetryAfter,
		}
	case errors.As(err, &known) && known.Code != fault.Internal:
		e := &Error{Message: known.Message, Code: string(known.Code), CurrentVersion: known.CurrentVersion,
			status: statusOf[known.Code]}
		if e.status == 0 {
			return internalError(err, requestID)
		}
		switch known.Code {
		case fault.ProviderUnavailable:
			e.retryAfter, e.cause = retryUnavailable, err
		case fault.RateLimited:
			e.retryAfter = retryBusy
		}
		return e
	case errors.As(err, &byFiber):
		return statusError(byFiber.Code, byFiber.Message)
	case errors.As(err, &refused) && (refused.Code == "22021" || refused.Code == "22P05"):
		// Postgres' text has no NUL and no broken UTF-8. Bodies and addresses are checked before; this is for the rest.
		return &Error{Message: "the request holds a character that cannot be stored", Code: string(fault.Validation),
			status: http.StatusBadRequest}
	case outage.Is(err):
		return &Error{
			Message: "a part of the service is away for the moment: try again", Code: string(fault.ProviderUnavailable),
			status: http.StatusServiceUnavailable, retryAfter: retryUnavailable, cause: err,
		}
	default:
		return internalError(err, requestID)
	}
}

func internalError(err error, requestID string) *Error {
	return &Error{Message: "internal error, request id " + requestID, status: http.StatusInternalServerError, cause: err}
}

// statusError is the envelope of a failure that a library found before any of our code ran.
func statusError(status int, message string) *Error {
	known := map[int]Error{
		http.StatusNotFound: {Message: "no such address", Code: string(fault.NotFound)},
		http.StatusMethodNotAllowed: {Message: "this address does not take that method; see the header Allow",
			Code: string(fault.MethodNotAllowed)},
		http.StatusRequestEntityTooLarge: {Message: "the body is too large", Code: string(fault.PayloadTooLarge)},
		http.StatusUnsupportedMediaType: {Message: "send the body as Content-Type: application/json",
			Code: string(fault.UnsupportedMediaType)},
		http.StatusRequestTimeout: {Message: "the request did not arrive in time"},
		http.StatusRequestHeaderFieldsTooLarge: {Message: "the request's headers and address are too large",
			Code: string(fault.PayloadTooLarge)},
		http.StatusBadRequest: {Message: "the request could not be read", Code: string(fault.Validation)},
	}
	e, ok := known[status]
	if !ok {
		e = Error{Message: message}
	}
	e.status = status
	return &e
}

// setHumaErrors makes huma answer with our envelope. The hooks are global to the process, so they are set once and hold no
// state of a server: what they need travels in the request's context.
var setHumaErrors = sync.OnceFunc(func() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return humaError(status, message, errs, "", bodySchemas{})
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		e := humaError(status, message, errs, access.RequestID(ctx.Context()), schemasOf(ctx))
		if e.retryAfter > 0 {
			ctx.SetHeader(fiber.HeaderRetryAfter, seconds(e.retryAfter))
		}
		logFailure(ctx.Context(), e)
		return e
	}
})

// humaError is the envelope of what huma found (a status and details) or of what a handler returned (500 and one error).
func humaError(status int, message string, errs []error, requestID string, schemas bodySchemas) *Error {
	for _, err := range errs {
		var known *fault.Error
		if errors.As(err, &known) {
			return envelope(err, requestID)
		}
	}
	switch {
	case status == http.StatusInternalServerError && len(errs) > 0:
		return envelope(errs[0], requestID)
	case status == http.StatusUnprocessableEntity, status == http.StatusBadRequest:
		return &Error{Message: explain(message, errs, schemas), Code: string(fault.Validation), status: http.StatusBadRequest}
	default:
		return statusError(status, message)
	}
}

// logFailure logs a failure that is ours, once. What a caller did wrong stands in the access log.
func logFailure(ctx context.Context, e *Error) {
	if e.cause == nil {
		return
	}
	level := slog.LevelError
	if e.status == http.StatusServiceUnavailable {
		level = slog.LevelWarn
	}
	loggerOf(ctx).Log(ctx, level, "request failed", "status", e.status, "error", e.cause, "request_id", access.RequestID(ctx))
}

// respond writes a failure outside huma.
func respond(c *fiber.Ctx, err error) error {
	e := envelope(err, access.RequestID(c.UserContext()))
	logFailure(c.UserContext(), e)
	if e.retryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, seconds(e.retryAfter))
	}
	c.Response().ResetBody()
	return c.Status(e.status).JSON(e)
}

// seconds is a duration for a header, rounded up so that nobody comes back too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
