package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/strictjson"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// maxAnswerBytes bounds an answer of the API: a page of a hundred files with their signed addresses has some 200 KB.
	maxAnswerBytes = 8 << 20
	// host stands in requests that never leave the process; no operation reads it.
	host = "http://molfabric.internal"
)

// door is where calls go.
type door struct {
	log *slog.Logger
	api http.Client
}

func newDoor(api http.RoundTripper, log *slog.Logger) *door {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &door{
		log: log,
		api: http.Client{Transport: api, Timeout: Timeout, CheckRedirect: stay},
	}
}

// answer is what the API has answered.
type answer struct {
	status int
	header http.Header
	body   json.RawMessage
}

func (a answer) good() bool { return a.status/100 == 2 }

// read decodes what a summary needs; an answer that has another shape leaves it as it is.
func (a answer) read(into any) { _ = json.Unmarshal(a.body, into) }

// call sends the request that the arguments make. An error is a *fault.Error where the arguments are at fault or the API
// could not be asked. Whatever the API itself says is an answer, good or bad.
func (d *door) call(ctx context.Context, o operation, arguments json.RawMessage, renamed map[string]string) (answer, error) {
	request, err := o.request(ctx, arguments, renamed)
	if err != nil {
		return answer{}, err
	}
	response, err := d.api.Do(request)
	if err != nil {
		return answer{}, away(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return answer{}, away(err)
	}
	if len(body) > maxAnswerBytes || !json.Valid(body) {
		return answer{}, away(fmt.Errorf("%s %s answered %d with %d bytes, too many or no JSON", o.method, o.path,
			response.StatusCode, len(body)))
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

func away(cause error) error {
	return fault.Wrap(cause, fault.ProviderUnavailable, "the service did not answer in time: try again")
}

// request makes the HTTP request. Where the operation has nothing but a body, the arguments are that body as they came, so
// that the front door judges every byte of it.
func (o operation) request(ctx context.Context, arguments json.RawMessage, renamed map[string]string) (*http.Request, error) {
	if len(arguments) == 0 || string(arguments) == "null" { // how clients say "none"
		arguments = json.RawMessage("{}")
	}
	if o.body != nil && len(o.parameters) == 0 {
		return o.compose(ctx, o.path, nil, arguments)
	}
	if _, err := strictjson.Check(arguments); err != nil {
		return nil, fault.New(fault.Validation, "%s", err.Error())
	}
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &rest); err != nil || rest == nil {
		return nil, fault.New(fault.Validation, "arguments: must be an object")
	}
	path, query := o.path, url.Values{}
	for _, p := range o.parameters {
		name := nameHere(p.Name, renamed)
		values, err := texts(name, rest[name])
		delete(rest, name)
		switch {
		case err != nil:
			return nil, err
		case p.In == "query":
			query[p.Name] = values
		case len(values) != 1 || !saneID.MatchString(values[0]):
			return nil, fault.New(fault.Validation, "%s: is required, and is an id of 1 to 128 letters, digits, - and _", name)
		default:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", values[0])
		}
	}
	if o.body == nil {
		for _, name := range sortedNames(rest) {
			return nil, fault.New(fault.Validation, "%s: is no argument of this tool", name)
		}
		return o.compose(ctx, path, query, nil)
	}
	if len(rest) == 0 && !o.bodyRequired {
		return o.compose(ctx, path, query, nil)
	}
	body, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	return o.compose(ctx, path, query, body)
}

// saneID fits every id of the service, and nothing that would change the path around it.
var saneID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func (o operation) compose(ctx context.Context, path string, query url.Values, body []byte) (*http.Request, error) {
	address := host + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, o.method, address, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", typeJSON)
	}
	return request, nil
}

// texts are the values of a parameter: a text, a number or a truth value, or several of them.
func texts(name string, value json.RawMessage) ([]string, error) {
	if value == nil {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, fault.New(fault.Validation, "%s: cannot be read", name)
	}
	list, isList := decoded.([]any)
	if !isList {
		list = []any{decoded}
	}
	values := make([]string, 0, len(list))
	for _, one := range list {
		switch one.(type) {
		case string, json.Number, bool:
			values = append(values, fmt.Sprint(one))
		default:
			return nil, fault.New(fault.Validation, "%s: must be a text, a number or true or false", name)
		}
	}
	return values, nil
}

// success is an answer as a tool's result: what it says in words, and the whole of it, for clients with and without a sense
// for structure.
func (a answer) success(summary string) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: summary}, &sdk.TextContent{Text: string(a.body)}},
		StructuredContent: a.body,
	}
}

// failure is a refusal of the API as a tool's error, so that the model sees it and can correct itself.
func (a answer) failure() *sdk.CallToolResult {
	var envelope struct{ Error, Code string }
	a.read(&envelope)
	said := envelope.Error
	if envelope.Code != "" {
		said = envelope.Code + ": " + said
	}
	if wait := a.header.Get("Retry-After"); wait != "" {
		said += " (try again in " + wait + " s)"
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: said}}, StructuredContent: a.body}
}

// refusal is an error of this package in the same form. What is not the caller's fault is logged.
func (d *door) refusal(ctx context.Context, err error) *sdk.CallToolResult {
	said := map[string]string{"error": "internal error"}
	var known *fault.Error
	if errors.As(err, &known) {
		said["error"], said["code"] = known.Message, string(known.Code)
	}
	if known == nil || known.Cause != nil {
		d.log.WarnContext(ctx, "a tool's call failed", "error", err, "request_id", access.RequestID(ctx))
	}
	body, err := json.Marshal(said)
	if err != nil { // a map of texts always has a form in JSON
		body = []byte(`{"error":"internal error"}`)
	}
	return answer{body: body}.failure()
}
