package mcp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/uploads"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// house is a front door with the groups that agents use. Its scheduler submits and cancels but does not lead, so that jobs stay as
// they were submitted.
type house struct {
	*apitest.Door
	t *testing.T
}

func open(t *testing.T, change ...func(*api.Deps)) *house {
	t.Helper()
	objects, _ := objecttest.New(t)
	withGroups := func(deps *api.Deps) {
		book, err := billing.LoadBook("")
		if err != nil {
			t.Fatal(err)
		}
		registry := engines.NewRegistry(vina.New())
		files := uploads.New(deps.DB, objects, deps.Now)
		work := jobs.New(jobs.Deps{
			DB: deps.DB, Engines: registry, Objects: objects, Uploads: files.OwnedAll, Currency: book.Currency, Log: deps.Log,
			Now: deps.Now,
			Scheduler: scheduler.New(scheduler.Deps{
				DB: deps.DB, Queue: queue.New(deps.Redis, deps.Config.RedisPrefix), Engines: registry, Prices: book,
				Ledger: deps.Ledger, Log: deps.Log, Now: deps.Now,
			}),
		})
		deps.Rankings = docking.New(docking.Deps{DB: deps.DB, Objects: objects, Engines: registry, Currency: book.Currency,
			Log: deps.Log, Now: deps.Now}).Ranking
		deps.Groups = []func(huma.API){func(a huma.API) { jobs.Register(a, work) }, func(a huma.API) { uploads.Register(a, files) }}
		deps.Config.Origins = []string{"https://lab.example.org"}
	}
	return &house{t: t, Door: apitest.Open(t, append([]func(*api.Deps){withGroups}, change...)...)}
}

// send expects a status and decodes the answer.
func (h *house) send(c *apitest.Caller, method, path, body string, status int, into any, header ...string) http.Header {
	h.t.Helper()
	got := c.Send(method, path, body, header...)
	if got.StatusCode != status {
		h.t.Fatalf("%s %s %v: got %d %s, want %d", method, path, header, got.StatusCode, got.Text, status)
	}
	switch into := into.(type) {
	case nil:
	case *string:
		*into = got.Text
	default:
		got.Decode(h.t, into)
	}
	return got.Header
}

// bearer sends a key with every request.
type bearer string

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := request.Clone(request.Context())
	sent.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(sent)
}

// agent is the protocol's own client with a key.
type agent struct {
	t       *testing.T
	session *sdk.ClientSession
}

func (h *house) connect(key string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(h.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.Base + "/mcp", HTTPClient: &http.Client{Transport: bearer(key), Timeout: apitest.Patience}, MaxRetries: -1,
	}, nil)
}

func (h *house) agent(key string) *agent {
	h.t.Helper()
	session, err := h.connect(key)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return &agent{t: h.t, session: session}
}

func (a *agent) call(name, arguments string) *sdk.CallToolResult {
	a.t.Helper()
	got, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		a.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return got
}

// good expects a result and decodes it.
func (a *agent) good(name, arguments string, into any) *sdk.CallToolResult {
	a.t.Helper()
	got := a.call(name, arguments)
	if got.IsError {
		a.t.Fatalf("%s %s: %s", name, arguments, said(got))
	}
	decode(a.t, got, into)
	return got
}

// refused expects an error with a code that says something.
func (a *agent) refused(name, arguments, code, says string) {
	a.t.Helper()
	got := a.call(name, arguments)
	var envelope map[string]any
	decode(a.t, got, &envelope)
	message, _ := envelope["error"].(string)
	if !got.IsError || envelope["code"] != code || !strings.Contains(message, says) || len(envelope) != 2 {
		a.t.Errorf("%s %s: got error %v, %v; want %s with %q", name, arguments, got.IsError, envelope, code, says)
	}
	if text := said(got); !strings.Contains(text, code) || !strings.Contains(text, says) {
		a.t.Errorf("%s %s: a model reads %q, want %s with %q", name, arguments, text, code, says)
	}
}

// said is all text of a result.
func said(got *sdk.CallToolResult) string {
	var all bytes.Buffer
	for _, content := range got.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			all.WriteString(text.Text + "\n")
		}
	}
	return all.String()
}

func decode(t *testing.T, got *sdk.CallToolResult, into any) {
	t.Helper()
	text, err := json.Marshal(got.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("structured content %s: %v", text, err)
	}
}
