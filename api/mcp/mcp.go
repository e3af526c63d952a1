// Package mcp offers the service to language models as a server of the Model Context Protocol, in its streamable HTTP form. A
// tool is a thin cover of one operation: its arguments are described by the OpenAPI document, its call is a request that goes
// through the same front door as everybody's, and its result is that operation's answer. The package holds no rule of its
// own about who may do what, no state between two calls and no credential; the front door (api/agents.go) lets callers in.
package mcp

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// MaxRequestBytes bounds one message. A library that does not fit is submitted over REST.
	MaxRequestBytes = 1 << 20
	// Timeout bounds one message's answer: below the minute after which clients and proxies give up.
	Timeout = 50 * time.Second

	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// instructions tell a model once what the tools' descriptions do not.
const instructions = `molfabric runs molecular docking and scientific simulation as jobs that are paid from a credit balance.
To dock: create_upload_url for the receptor file and upload it with the command it returns; estimate_job; show the price and ask
before submit_job with the file's s3Key as sceneFile; get_job_status until terminal is true, waiting as long as it says;
get_docking_results for the ranking, get_job_outputs for the files.
A failed call names the member that is wrong: correct it and call again. Repeat submit_job only with the same idempotencyKey.`

// Deps are the parts that the tools are made of. Every field is required unless it says otherwise.
type Deps struct {
	Document []byte // the OpenAPI document, as it is served; a tool whose operation it lacks is not offered
	Version  string // of this program
	Log      *slog.Logger
	// Door sends a request of the API as the caller that the request's context names.
	Door http.RoundTripper
	// Rankings may be nil: then no tool reads the results of dockings.
	Rankings Rankings
}

// Server answers messages. It is safe for concurrent use and keeps nothing between two messages, so that any instance behind a
// balancer may answer the next one.
type Server struct{ asJSON, asEvents http.Handler }

// New makes the tools. An error means that the document cannot be read.
func New(deps Deps) (*Server, error) {
	offered, err := readDocument(deps.Document)
	if err != nil {
		return nil, fmt.Errorf("mcp: read the OpenAPI document: %w", err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "molfabric", Title: "molfabric", Version: deps.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // they never change: there is nothing to listen to
	})
	door := newDoor(deps.Door, deps.Log)
	for _, t := range tools {
		operation, found := offered.operations[t.operation]
		if !found {
			continue
		}
		schema, err := offered.inputOf(operation, t)
		if err != nil {
			return nil, fmt.Errorf("mcp: tool %s: %w", t.name, err)
		}
		server.AddTool(t.described(schema), t.handler(door, operation))
	}
	if outputs, found := offered.operations[outputsOperation]; found && deps.Rankings != nil {
		server.AddTool(dockingTool(), dockingHandler(door, outputs, deps.Rankings))
	}
	if submit, found := offered.operations[submitOperation]; found {
		server.AddTool(foldingTool(), submitting(door, submit, foldingArguments))
		server.AddTool(wavesTool(), submitting(door, submit, wavesArguments))
	}
	handler := func(asJSON bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: asJSON, MaxRequestBodyBytes: MaxRequestBytes, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // the front door judges origins
		})
	}
	return &Server{asJSON: handler(true), asEvents: handler(false)}, nil
}

// ServeHTTP answers one message as JSON, or as an event stream to a client that takes nothing else. The context must hold what
// Deps.Door needs, and ends the call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := s.asJSON
	if accepts(r, typeEvents) && !accepts(r, typeJSON) && !accepts(r, "*/*") {
		handler = s.asEvents
	}
	r.Header.Set("Accept", typeJSON+", "+typeEvents) // what every client must say, whether or not it has
	handler.ServeHTTP(w, r)
}

func accepts(r *http.Request, kind string) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(r.Header.Values("Accept"), ","), ","), func(one string) bool {
		name, _, _ := strings.Cut(one, ";")
		return strings.EqualFold(strings.TrimSpace(name), kind)
	})
}
