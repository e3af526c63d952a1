package gateway_test

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/object/gateway"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/servers"
)

// TestPortLasts: a restart answers where the server did before, and says so when another program has taken the port.
func TestPortLasts(t *testing.T) {
	t.Parallel()
	first, dir := objecttest.Private(t)
	address := strings.TrimPrefix(first.Endpoint(), "http://")
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, slog.New(slog.DiscardHandler))
	if second.Endpoint() != first.Endpoint() {
		t.Errorf("the second start listens on %s, the first on %s", second.Endpoint(), first.Endpoint())
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	squatter, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	_, err = gateway.Start(t.Context(), gateway.Options{Dir: dir, Log: slog.New(slog.DiscardHandler),
		Program: objecttest.Program})
	if taken := (*servers.PortTakenError)(nil); !errors.As(err, &taken) ||
		address != net.JoinHostPort("127.0.0.1", strconv.Itoa(taken.Port)) {
		t.Errorf("start on a taken port = %v, want a PortTakenError of %s", err, address)
	}
}

// TestStrangersAreNotTaken: another server of the same kind on the wanted port is no sign that ours is ready, and its port is not
// kept.
func TestStrangersAreNotTaken(t *testing.T) {
	t.Parallel()
	stranger, _ := objecttest.Private(t)
	_, text, _ := strings.Cut(stranger.Endpoint(), "127.0.0.1:")
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	options := gateway.Options{Dir: dir, Port: port, Log: slog.New(slog.DiscardHandler), Program: objecttest.Program}
	_, err = gateway.Start(t.Context(), options)
	if taken := (*servers.PortTakenError)(nil); !errors.As(err, &taken) || taken.Port != port {
		t.Errorf("start on a stranger's port = %v, want a PortTakenError of %d", err, port)
	}
	options.Port = 0
	own, err := gateway.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if own.Endpoint() == stranger.Endpoint() {
		t.Errorf("the port of a stranger was kept: %s", own.Endpoint())
	}
	if err := own.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
