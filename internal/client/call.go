package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Answer is an answer of the API: what the contract knows of it, and the API's own text, with the members that it does not know.
type Answer[T any] struct {
	Body T
	text json.RawMessage
}

// JSON is the answer as the API wrote it; nil when there was none.
func (a Answer[T]) JSON() json.RawMessage { return a.text }

// UnmarshalJSON reads the answer and keeps its text.
func (a *Answer[T]) UnmarshalJSON(text []byte) error {
	a.text = bytes.Clone(text)
	return json.Unmarshal(text, &a.Body)
}

// ask makes a call that is answered by a T. Errors: as for do.
func ask[T any](ctx context.Context, c *Client, call call) (Answer[T], error) {
	var answer Answer[T]
	call.into = &answer
	err := c.do(ctx, call)
	return answer, err
}

// call is one operation of the API.
type call struct {
	method, path string // below /api
	query        url.Values
	body         any // nil, or what is sent as JSON
	header       map[string]string
	sessionOnly  bool
	idempotent   bool // a repetition after a broken connection is harmless
	into         any  // nil when the answer has no body
}

// do makes the call, with retries. Errors: *Error, *NetworkError, the context's, and what encoding/json says about a body
// that cannot be written or an answer that cannot be read.
func (c *Client) do(ctx context.Context, call call) error {
	body, err := call.text()
	if err != nil {
		return err
	}
	return c.attempts(ctx, call.idempotent || call.method == http.MethodGet, func() error { return c.once(ctx, call, body) })
}

// try makes the call once, for callers that repeat it themselves. Errors: as for do.
func (c *Client) try(ctx context.Context, call call) error {
	body, err := call.text()
	if err != nil {
		return err
	}
	return c.once(ctx, call, body)
}

// text is the body as it is sent; nil for none.
func (c call) text() ([]byte, error) {
	if c.body == nil {
		return nil, nil
	}
	if ready, isText := c.body.(json.RawMessage); isText {
		return ready, nil
	}
	text, err := json.Marshal(c.body)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return text, nil
}

func (c *Client) once(ctx context.Context, call call, body []byte) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout+time.Duration(len(body)/slowestBytesPerSecond)*time.Second)
	defer cancel()
	request, err := c.request(limited, call, body)
	if err != nil {
		return err
	}
	answer, err := c.api.Do(request)
	if err != nil {
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return refusal(answer)
	}
	c.remember(answer)
	if call.into == nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
	if err != nil {
		return c.network(ctx, err)
	}
	if len(text) > maxAnswerBytes {
		return fmt.Errorf("%s %s: the answer is larger than %d MiB", call.method, call.path, maxAnswerBytes>>20)
	}
	if err := json.Unmarshal(text, call.into); err != nil {
		return fmt.Errorf("%s does not answer like a molfabric server: %w", c.server, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, call call, body []byte) (*http.Request, error) {
	address := c.server + "/api" + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", call.method, call.path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	for name, value := range call.header {
		request.Header.Set(name, value)
	}
	c.authorize(request, call.sessionOnly)
	return request, nil
}
