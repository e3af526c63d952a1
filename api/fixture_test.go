package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/fault"
)

// open starts a front door with the probes. change may alter its parts before.
func open(t *testing.T, change ...func(*api.Deps)) *apitest.Door {
	t.Helper()
	return apitest.Open(t, append([]func(*api.Deps){withProbes}, change...)...)
}

func withProbes(deps *api.Deps) { deps.Groups = []func(huma.API){registerProbes} }

// withKeyedProbe adds an operation that takes an idempotency key.
func withKeyedProbe(deps *api.Deps) {
	deps.Groups = append(deps.Groups, func(a huma.API) {
		keyed := huma.Operation{OperationID: "probe-keyed", Method: http.MethodPost, Path: "/v1/probe/keyed"}
		huma.Register(a, access.Guarded(keyed, access.Rule{Public: true}),
			func(_ context.Context, in *struct {
				Key string `header:"Idempotency-Key"`
			}) (*struct{ Body string }, error) {
				return &struct{ Body string }{in.Key}, nil
			})
	})
}

func withRedis(rdb redis.UniversalClient) func(*api.Deps) { return func(d *api.Deps) { d.Redis = rdb } }

// wantFailure checks status, code, the closed envelope and the headers that every answer carries.
func wantFailure(t *testing.T, got apitest.Answer, status int, code fault.Code, inMessage string) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(got.Text), &members); err != nil {
		t.Fatalf("answer %d %q is not JSON", got.StatusCode, got.Text)
	}
	message, _ := members["error"].(string)
	gotCode, _ := members["code"].(string)
	if got.StatusCode != status || gotCode != string(code) || !strings.Contains(message, inMessage) {
		t.Errorf("got %d %s, want %d %s with %q", got.StatusCode, got.Text, status, code, inMessage)
	}
	delete(members, "error")
	delete(members, "code")
	if len(members) > 0 || message == "" {
		t.Errorf("the envelope is not closed: %s", got.Text)
	}
	if kind := got.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("Content-Type is %q", kind)
	}
	wantHeaders(t, got)
}

func wantHeaders(t *testing.T, got apitest.Answer) {
	t.Helper()
	for _, name := range []string{"X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if got.Header.Get(name) == "" {
			t.Errorf("%d %s has no header %s", got.StatusCode, got.Request.URL.Path, name)
		}
	}
}

// The probes are operations with every kind of member, limit and failure.

type probeNested struct {
	Label string `json:"label" minLength:"2" maxLength:"8" pattern:"^[a-z]+$"`
	Count *int   `json:"count,omitempty" minimum:"1" maximum:"9" default:"3"`
}

type probeBody struct {
	Text     string            `json:"text" maxLength:"20"`
	Flag     *bool             `json:"flag,omitempty" default:"true"`
	Mail     string            `json:"mail,omitempty" format:"email"`
	List     []probeNested     `json:"list,omitempty" maxItems:"4"`
	Tags     map[string]string `json:"tags,omitempty"`
	Metadata json.RawMessage   `json:"metadata,omitempty"`
}

type probeInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"5"`
	Body  probeBody
}

type probeOutput struct{ Body probeBody }

type largeInput struct {
	Body struct {
		Blob string `json:"blob"`
	}
}

type failInput struct {
	How string `query:"how" enum:"panic,plain,internal,busy,none"`
}

// probeMaxBody is the limit of the probe for large bodies: beyond the size at which a body takes a slot.
const probeMaxBody = 12 << 20

func registerProbes(a huma.API) {
	post := func(name, path string, rule access.Rule) huma.Operation {
		return access.Guarded(huma.Operation{OperationID: name, Method: http.MethodPost, Path: path}, rule)
	}
	huma.Register(a, post("probe", "/v1/probe/echo", access.Rule{Public: true}),
		func(_ context.Context, in *probeInput) (*probeOutput, error) { return &probeOutput{Body: in.Body}, nil })
	huma.Register(a, post("probe-large", "/v1/probe/large", access.Rule{Public: true, MaxBody: probeMaxBody}),
		func(_ context.Context, in *largeInput) (*struct{ Body int }, error) {
			return &struct{ Body int }{len(in.Body.Blob)}, nil
		})
	huma.Register(a, post("probe-live", "/v1/probe/live", access.Rule{Scope: access.JobsWrite, LiveOnly: true}),
		func(_ context.Context, in *probeInput) (*probeOutput, error) { return &probeOutput{Body: in.Body}, nil })
	huma.Register(a, huma.Operation{OperationID: "probe-forgotten", Method: http.MethodGet, Path: "/v1/probe/forgotten"},
		func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	huma.Register(a, access.Guarded(huma.Operation{OperationID: "probe-fail", Method: http.MethodGet, Path: "/v1/probe/fail"},
		access.Rule{Public: true}),
		func(_ context.Context, in *failInput) (*struct{}, error) {
			switch in.How {
			case "panic":
				panic("secret-in-a-panic")
			case "plain":
				return nil, errors.New("secret-in-an-error")
			case "internal":
				return nil, fault.New(fault.Internal, "secret-in-a-fault")
			case "busy":
				return nil, fault.New(fault.RateLimited, "too many streams are open")
			}
			return nil, nil
		})
	huma.Register(a, access.Guarded(huma.Operation{OperationID: "probe-item", Method: http.MethodGet, Path: "/v1/probe/{id}"},
		access.Rule{Public: true}),
		func(_ context.Context, in *struct {
			ID string `path:"id"`
		}) (*struct{ Body string }, error) {
			return &struct{ Body string }{in.ID}, nil
		})
}
