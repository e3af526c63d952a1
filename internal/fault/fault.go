// Package fault holds the error codes of the public contract (doc/contract.md §7) and the error type that carries them
// from the rooms to the front door. It knows no HTTP; api/errors.go turns a code into a status.
package fault

import (
	"errors"
	"fmt"
)

// Code is a machine-readable error code of the public contract.
type Code string

// The codes that this service answers with.
const (
	Validation             Code = "VALIDATION_ERROR"
	InvalidExpectedVersion Code = "INVALID_EXPECTED_VERSION"
	IdempotencyKeyRequired Code = "IDEMPOTENCY_KEY_REQUIRED"
	UnknownTier            Code = "UNKNOWN_TIER"
	IdempotencyKeyMismatch Code = "IDEMPOTENCY_KEY_MISMATCH"
	IdempotencyKeyReused   Code = "IDEMPOTENCY_KEY_REUSED"
	IdempotencyInProgress  Code = "IDEMPOTENCY_IN_PROGRESS"
	InvalidCursor          Code = "INVALID_CURSOR"
	Unauthorized           Code = "UNAUTHORIZED"
	InsufficientCredits    Code = "INSUFFICIENT_CREDITS"
	NoPaymentMethod        Code = "NO_PAYMENT_METHOD"
	InsufficientScope      Code = "INSUFFICIENT_SCOPE"
	TestKeyLiveBilling     Code = "TEST_KEY_LIVE_BILLING"
	SessionRequired        Code = "SESSION_REQUIRED"
	CSRFRejected           Code = "CSRF_REJECTED"
	CostLimitExceeded      Code = "COST_LIMIT_EXCEEDED"
	NotFound               Code = "NOT_FOUND"
	MethodNotAllowed       Code = "METHOD_NOT_ALLOWED"
	UnsupportedMediaType   Code = "UNSUPPORTED_MEDIA_TYPE"
	VersionConflict        Code = "VERSION_CONFLICT"
	JobNotCancellable      Code = "JOB_NOT_CANCELLABLE"
	JobNotRetryable        Code = "JOB_NOT_RETRYABLE"
	JobNotEnded            Code = "JOB_NOT_ENDED"
	CreditNotConfirmed     Code = "CREDIT_NOT_CONFIRMED"
	UploadIncomplete       Code = "UPLOAD_INCOMPLETE"
	ShareRevoked           Code = "SHARE_REVOKED"
	UploadExpired          Code = "UPLOAD_EXPIRED"
	FilesDeleted           Code = "FILES_DELETED"
	PayloadTooLarge        Code = "PAYLOAD_TOO_LARGE"
	PipelineDisabled       Code = "PIPELINE_DISABLED"
	UnsupportedSimulator   Code = "UNSUPPORTED_SIMULATOR"
	ChecksumMismatch       Code = "CHECKSUM_MISMATCH"
	WorkerImageMismatch    Code = "WORKER_IMAGE_MISMATCH"
	ArtifactNotFound       Code = "ARTIFACT_NOT_FOUND"
	SceneNotFound          Code = "SCENE_NOT_FOUND"
	RateLimited            Code = "RATE_LIMITED"
	ProviderUnavailable    Code = "PROVIDER_UNAVAILABLE"
	Internal               Code = "INTERNAL_ERROR"
)

// Error is a failure whose code and message may be shown to the caller. The message names the offending field by its JSON
// path and says what is allowed; it never holds a secret, an SQL text or a stack. The cause is for the log.
type Error struct {
	Code    Code
	Message string
	Cause   error
	// CurrentVersion is the head that a VersionConflict found; 0 with every other code.
	CurrentVersion int64
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// New returns an error with a code and a formatted message for the caller.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is New with a cause for the log.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Conflict is a VersionConflict: the caller has worked on another version than the current head.
func Conflict(currentVersion int64, format string, args ...any) *Error {
	return &Error{Code: VersionConflict, Message: fmt.Sprintf(format, args...), CurrentVersion: currentVersion}
}

// CodeOf returns the code carried anywhere in err's chain, or Internal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }
