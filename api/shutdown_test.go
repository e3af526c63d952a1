package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
)

// TestShutdown: a running request gets its answer, an event stream ends, and no new connection is taken.
func TestShutdown(t *testing.T) {
	t.Parallel()
	gate, reached := make(chan struct{}), make(chan struct{})
	streamed := make(chan struct{})
	d := open(t, func(deps *api.Deps) {
		deps.Groups = append(deps.Groups, func(a huma.API) {
			huma.Register(a, access.Guarded(huma.Operation{OperationID: "wait", Method: http.MethodGet, Path: "/v1/wait"},
				access.Rule{Public: true}),
				func(ctx context.Context, _ *struct{}) (*struct{ Body string }, error) {
					close(reached)
					<-gate
					return &struct{ Body string }{"done"}, ctx.Err()
				})
			huma.Register(a, access.Guarded(huma.Operation{OperationID: "stream", Method: http.MethodGet, Path: "/v1/stream"},
				access.Rule{Public: true}),
				func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
					return &huma.StreamResponse{Body: func(out huma.Context) {
						humafiber.UnwrapV2(out).Context().SetBodyStreamWriter(func(w *bufio.Writer) {
							_, _ = w.WriteString("begun")
							_ = w.Flush()
							close(streamed)
							<-ctx.Done()
						})
					}}, nil
				})
		})
	})
	answers := make(chan apitest.Answer, 2)
	for _, path := range []string{"/api/v1/wait", "/api/v1/stream"} {
		go func() { answers <- d.Anonymous().Send("GET", path, "") }()
	}
	<-reached
	<-streamed
	ctx, cancel := context.WithTimeout(t.Context(), apitest.Patience)
	defer cancel()
	shut := make(chan error, 1)
	go func() { shut <- d.Server.Shutdown(ctx) }()
	for refused := false; !refused; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
		if refused = err != nil; !refused {
			_ = conn.Close()
		}
		if ctx.Err() != nil {
			t.Fatal("connections are still taken")
		}
	}
	close(gate)
	for range 2 {
		if got := <-answers; got.StatusCode != 200 || got.Text != "begun" && strings.TrimSpace(got.Text) != `"done"` {
			t.Errorf("got %d %s", got.StatusCode, got.Text)
		}
	}
	if err := <-shut; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestShutdownLeavesNobodyWaiting: a connection over which nothing has come does not hold the server up.
func TestShutdownLeavesNobodyWaiting(t *testing.T) {
	t.Parallel()
	d := open(t)
	silent, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	d.Anonymous().Send("GET", "/livez", "")                         // connections are accepted in their order
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // less than such a connection may stay otherwise
	defer cancel()
	if err := d.Server.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if n, err := silent.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the silent connection: read %d bytes, %v, want its end", n, err)
	}
}

// TestShutdownBesideServe: however the two meet, Serve returns.
func TestShutdownBesideServe(t *testing.T) {
	t.Parallel()
	for range 10 {
		deps := bareDeps()
		server, err := api.New(deps)
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(ln) }()
		ctx, cancel := context.WithTimeout(t.Context(), apitest.Patience)
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-ctx.Done():
			t.Fatal("Serve does not return")
		}
		cancel()
	}
}
