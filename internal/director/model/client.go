package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	openai "github.com/sashabaranov/go-openai"
)

const (
	// maxBodyBytes bounds what an endpoint may send: thirty times the longest sensible answer, with what stands around it.
	maxBodyBytes = 256 << 10
	// maxAnswerTokens is what twenty operations with long selections take, and as much again.
	maxAnswerTokens = 2048
)

// The forms of a request, each asking less of the server than the one before.
const (
	bySchema    int32 = iota // the answer follows a JSON Schema, which the server sees to
	byText                   // JSON in a text, at temperature 0
	byTextAlone              // the same without parameters, which models that think take none of
	formsEnd
)

// newClient makes a client whose answers are bounded and which follows nobody elsewhere with the key.
func newClient(c Config) *openai.Client {
	config := openai.DefaultConfig(c.Key)
	config.BaseURL = c.URL
	config.HTTPClient = &http.Client{
		Transport:     boundedTransport{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       c.Timeout,
	}
	return openai.NewClientWithConfig(config)
}

// boundedTransport ends bodies that are too long, and takes redirections for the failures that they are.
type boundedTransport struct{ inner http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close() // nothing of it is read
		return nil, fmt.Errorf("the endpoint leads elsewhere, with status %d", response.StatusCode)
	}
	response.Body = &boundedBody{response.Body, maxBodyBytes}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(to[:min(len(to), b.left)])
	b.left -= n
	return n, err
}

// ask sends the turns in the form that the server takes, and returns what the model says. Errors: *UnavailableError; others are of
// an answer that is no use.
func (m *Model) ask(ctx context.Context, turns []openai.ChatCompletionMessage, answer *Answer) (string, error) {
	for form := m.form.Load(); ; form++ {
		response, err := m.client.CreateChatCompletion(ctx, m.request(turns, form))
		switch {
		case err == nil:
			m.form.Store(form)
			answer.PromptTokens += max(response.Usage.PromptTokens, 0)
			answer.CompletionTokens += max(response.Usage.CompletionTokens, 0)
			if len(response.Choices) == 0 {
				return "", errors.New("there is no answer in the response")
			}
			return response.Choices[0].Message.Content, nil
		case errors.Is(err, errTooLong):
			return "", errTooLong
		case form+1 < formsEnd && refusesForm(err):
		default:
			return "", m.unavailable(err)
		}
	}
}

// refusesForm tells a server, or the client on its behalf, that does not take a request as it is made.
func refusesForm(err error) bool {
	switch statusOf(err) {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) ||
		errors.Is(err, openai.ErrReasoningModelLimitationsOther) || errors.Is(err, openai.ErrReasoningSamplingUnsupported)
}

// request makes the request of a form.
func (m *Model) request(turns []openai.ChatCompletionMessage, form int32) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: m.config.Model, Messages: turns}
	if form <= byText {
		// The client leaves out a temperature of 0; the least number is the same to every server.
		r.Temperature = math.SmallestNonzeroFloat32
		r.MaxTokens = maxAnswerTokens //nolint:staticcheck // more servers know it than its successor
	}
	if form == bySchema {
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "answer", Schema: json.RawMessage(answerSchema()),
			},
		}
	}
	return r
}
