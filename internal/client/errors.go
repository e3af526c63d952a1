package client

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// maxErrorBytes bounds what is read of a failed answer's body: the API's envelope is one line.
const maxErrorBytes = 64 << 10

// Error is a failure that the server has answered with.
type Error struct {
	Status     int           // HTTP status
	Code       fault.Code    // machine-readable; empty when the answer came from something in between, such as a proxy
	Message    string        // for people
	RequestID  string        // to quote to the operator; may be empty
	RetryAfter time.Duration // how long the server asks to wait; 0 when it says nothing
	// CurrentVersion is the head that a VERSION_CONFLICT found; 0 with every other code.
	CurrentVersion int64
}

func (e *Error) Error() string {
	text := e.Message
	if e.Code != "" {
		text += " (" + string(e.Code) + ")"
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" && !strings.Contains(text, e.RequestID) {
		text += ", request id " + e.RequestID
	}
	return text
}

// NetworkError says that the server gave no answer: nobody listens, the connection broke, or time ran out.
type NetworkError struct {
	Server string
	Err    error
}

func (e *NetworkError) Error() string { return fmt.Sprintf("%s does not answer: %v", e.Server, e.Err) }
func (e *NetworkError) Unwrap() error { return e.Err }

// ChecksumError says that downloaded bytes are not the ones that the server has recorded.
type ChecksumError struct {
	Name      string
	Want, Got string // SHA-256 in hexadecimal, or a size where that differs
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s: the downloaded file has checksum %s, the server recorded %s", e.Name, e.Got, e.Want)
}

// CodeOf is the API's code of an error, or "" when it carries none.
func CodeOf(err error) fault.Code {
	var answer *Error
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// StatusOf is the HTTP status of an error, or 0 when no server has answered.
func StatusOf(err error) int {
	var answer *Error
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}

// refusal reads a failed answer of the API.
func refusal(answer *http.Response) *Error {
	e := &Error{Status: answer.StatusCode, RequestID: answer.Header.Get("X-Request-Id"), RetryAfter: retryAfter(answer.Header)}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxErrorBytes))
	var envelope struct {
		Error string     `json:"error"`
		Code  fault.Code `json:"code"`

		CurrentVersion int64 `json:"currentVersion"`
	}
	if err == nil && json.Unmarshal(text, &envelope) == nil && envelope.Error != "" {
		e.Message, e.Code, e.CurrentVersion = envelope.Error, envelope.Code, envelope.CurrentVersion
		return e
	}
	e.Message = "the server answered " + answer.Status
	if location := answer.Header.Get("Location"); location != "" && answer.StatusCode < http.StatusBadRequest {
		e.Message += ": use the address " + location
	}
	return e
}

// storeRefusal reads a failed answer of the object store, whose errors are XML.
func storeRefusal(answer *http.Response) *Error {
	e := &Error{Status: answer.StatusCode, RequestID: answer.Header.Get("X-Amz-Request-Id"), RetryAfter: retryAfter(answer.Header)}
	var document struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxErrorBytes))
	if err == nil && xml.Unmarshal(text, &document) == nil && document.Code != "" {
		e.Message = fmt.Sprintf("the object store answered %s: %s", document.Code, document.Message)
		return e
	}
	e.Message = "the object store answered " + answer.Status
	return e
}

// retryAfter reads the header's form in seconds, the only one that the API sends.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(strings.TrimSpace(header.Get("Retry-After")))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, math.MaxInt32)) * time.Second
}
