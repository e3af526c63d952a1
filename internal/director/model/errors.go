package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// UnavailableError says that a model cannot be asked now: it is away, slow or overloaded, or the endpoint refuses. The same
// message may be understood later. Reason is for whoever asked; Detail, for whoever runs the deployment, has what the endpoint
// said, bounded and without the key.
type UnavailableError struct {
	Reason string
	Status int // of HTTP; 0 where there was no answer
	Detail string
}

func (e *UnavailableError) Error() string { return "the model is not available: " + e.Reason }

// UselessError says that a model's answers were no operations, or none that can be carried out. Asking again leads to the same.
// Reason is for whoever asked; Detail says what was wrong with the last answer.
type UselessError struct{ Reason, Detail string }

func (e *UselessError) Error() string { return "the model gave no usable answer: " + e.Reason }

// maxDetailRunes bounds what is kept of an endpoint's words.
const maxDetailRunes = 300

// errTooLong is an answer beyond all bounds.
var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxBodyBytes)

// unavailable tells what kept a model from answering. The key is taken out of whatever the endpoint or the network said.
func (m *Model) unavailable(err error) *UnavailableError {
	text := err.Error()
	if m.config.Key != "" {
		text = strings.ReplaceAll(text, m.config.Key, "…")
	}
	away := &UnavailableError{Reason: "it cannot be reached", Status: statusOf(err), Detail: bounded(text, maxDetailRunes)}
	_, badSyntax := errors.AsType[*json.SyntaxError](err)
	_, badType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		away.Reason = fmt.Sprintf("it took longer than %s", m.config.Timeout)
	case away.Status == http.StatusTooManyRequests:
		away.Reason = "it is asked too often"
	case away.Status == http.StatusUnauthorized || away.Status == http.StatusForbidden:
		away.Reason = "the deployment's key is not accepted"
	case away.Status != 0:
		away.Reason = fmt.Sprintf("the endpoint answered with status %d", away.Status)
	case badSyntax || badType:
		away.Reason = "the endpoint does not answer as it should"
	}
	return away
}

// statusOf is the status of HTTP that an error of the client has, or 0.
func statusOf(err error) int {
	if refused, ok := errors.AsType[*openai.APIError](err); ok {
		return refused.HTTPStatusCode
	}
	if refused, ok := errors.AsType[*openai.RequestError](err); ok {
		return refused.HTTPStatusCode
	}
	return 0
}
