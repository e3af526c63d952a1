package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
)

func guarded(t *testing.T, networks []string, dial Dial, resolve Resolve) Guard {
	t.Helper()
	g, err := New(networks, dial, resolve)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAddressesThatAreContacted is the table against server-side request forgery: what an account may make this
// machine connect to.
func TestAddressesThatAreContacted(t *testing.T) {
	t.Parallel()
	g := guarded(t, []string{"10.20.0.0/16", "fd12:3456::/32", "100.64.0.0/10"}, nil, nil)
	for text, want := range map[string]verdict{
		"93.184.216.34": allowed, "8.8.8.8": allowed, "2606:2800:220:1::1": allowed,
		// Private: only in the networks that the deployment names.
		"10.20.0.1": allowed, "10.20.255.255": allowed, "10.21.0.1": notHere, "10.0.0.1": notHere, "172.16.0.1": notHere,
		"172.31.255.254": notHere, "172.32.0.1": allowed, "192.168.1.1": notHere, "fd12:3456::1": allowed, "fd12:3457::1": notHere,
		"fc00::1": notHere, "100.64.0.1": allowed,
		// This host and its link.
		"127.0.0.1": never, "127.255.255.254": never, "::1": never, "0.0.0.0": never, "0.1.2.3": never, "::": never,
		"169.254.1.1": never, "fe80::1": never, "fe80::1%eth0": never, "fec0::1": never,
		// Metadata, in a network that is allowed too.
		"169.254.169.254": never, "fd00:ec2::254": never, "fd20:ce::254": never, "100.100.100.200": never, "168.63.129.16": never,
		"192.0.0.192": never,
		// IPv4 in disguise.
		"::ffff:127.0.0.1": never, "::ffff:93.184.216.34": never, "::ffff:169.254.169.254": never, "::127.0.0.1": never,
		"::a9fe:a9fe": never, "64:ff9b::7f00:1": never, "64:ff9b:1::1": never, "2002:7f00:1::1": never,
		"2001:0:4136:e378:8000:63bf:3fff:fdd2": never,
		// No single host's.
		"224.0.0.1": never, "239.255.255.250": never, "255.255.255.255": never, "240.0.0.1": never, "ff02::1": never,
		"192.0.2.1": never, "198.51.100.1": never, "203.0.113.1": never, "198.18.0.1": never, "2001:db8::1": never, "100::1": never,
	} {
		if got := g.judge(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got verdict %d, want %d", text, got, want)
		}
	}
	if got := g.judge(netip.Addr{}); got != never {
		t.Errorf("no address: got verdict %d, want %d", got, never)
	}
}

func TestNetworksMustBePrivate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"127.0.0.0/8", "169.254.169.254/32", "0.0.0.0/0", "10.0.0.0/7", "8.8.8.0/24", "10.0.0.1", "::/0",
		"::ffff:10.0.0.0/104", "lan"} {
		if got, err := New([]string{text}, nil, nil); err == nil {
			t.Errorf("%s was taken as %v", text, got)
		}
	}
}

// bed is a guard whose names and connections a test watches.
type bed struct {
	Guard
	resolved, dialled []string
}

// newBed resolves names by the table, one answer after the other, and connects to listener whatever address it is told.
func newBed(t *testing.T, listener string, names map[string][]string) *bed {
	t.Helper()
	b := &bed{}
	b.Guard = guarded(t, nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		b.dialled = append(b.dialled, address)
		if listener == "" {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return (&net.Dialer{}).DialContext(ctx, network, listener)
	}, func(_ context.Context, host string) ([]netip.Addr, error) {
		b.resolved = append(b.resolved, host)
		answers := names[host]
		if len(answers) == 0 {
			return nil, errors.New("no such host 10.1.2.3:53")
		}
		answer := answers[min(len(b.resolved), len(answers))-1]
		var found []netip.Addr
		for _, text := range strings.Fields(answer) {
			found = append(found, netip.MustParseAddr(text))
		}
		return found, nil
	})
	return b
}

// TestForbiddenHostsAreNotDialled: one bad address is enough to refuse a name, and nothing is dialled then.
func TestForbiddenHostsAreNotDialled(t *testing.T) {
	t.Parallel()
	for host, answer := range map[string]string{
		"127.0.0.1": "", "::1": "", "::ffff:127.0.0.1": "", "169.254.169.254": "", "10.0.0.1": "",
		"loopback.example.org": "127.0.0.1", "mapped.example.org": "::ffff:127.0.0.1",
		"mixed.example.org": "93.184.216.34 127.0.0.1", "mixed6.example.org": "93.184.216.34 fe80::1",
		"private.example.org": "192.168.0.1", "metadata.example.org": "169.254.169.254",
	} {
		b := newBed(t, "127.0.0.1:1", map[string][]string{host: {answer}})
		if problem := b.Probe(t.Context(), host, 27000); !strings.Contains(problem, "contact") || len(b.dialled) > 0 {
			t.Errorf("%s → %q: dialled %v, said %q", host, answer, b.dialled, problem)
		}
	}
}

// TestARebindingNameLeadsNowhere: a name that answers with a good address first and with loopback after is asked once.
func TestARebindingNameLeadsNowhere(t *testing.T) {
	t.Parallel()
	b := newBed(t, listen(t), map[string][]string{"rebind.example.org": {"::ffff:93.184.216.34", "127.0.0.1"}})
	if problem := b.Probe(t.Context(), "rebind.example.org", 27000); problem != "" {
		t.Errorf("got %q, want a connection", problem)
	}
	if len(b.resolved) != 1 || fmt.Sprint(b.dialled) != "[93.184.216.34:27000]" {
		t.Errorf("resolved %v, dialled %v; want the checked address itself", b.resolved, b.dialled)
	}
}

func TestWhatATestSays(t *testing.T) {
	t.Parallel()
	open := listen(t)
	names := map[string][]string{"up.example.org": {"93.184.216.34"}}
	for _, c := range []struct {
		host, listener, want string
	}{
		{"up.example.org", open, ""},
		{"93.184.216.34", open, ""},
		{"up.example.org", "", "the host refuses connections on port 27000"},
		{"gone.example.org", open, "the host name cannot be resolved"},
	} {
		if got := newBed(t, c.listener, names).Probe(t.Context(), c.host, 27000); got != c.want {
			t.Errorf("%s: got %q, want %q", c.host, got, c.want)
		}
	}
	for err, want := range map[error]string{
		context.DeadlineExceeded:                  "does not answer",
		&net.OpError{Op: "dial", Err: timedOut{}}: "does not answer",
		errors.New("10.0.0.9: no route to host"):  "cannot be reached on port 5053",
	} {
		if got := Describe(err, 5053); !strings.Contains(got, want) || strings.Contains(got, "10.0.0.9") {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
	six := map[string][]string{"many.example.org": {"1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5 1.1.1.6"}}
	if many := newBed(t, "", six); many.Probe(
		t.Context(), "many.example.org", 1) == "" || len(many.dialled) != maxAddresses {
		t.Errorf("dialled %v, want %d addresses", many.dialled, maxAddresses)
	}
}

// TestTheMachinesOwnDialerStaysOutside shows the same without any hook.
func TestTheMachinesOwnDialerStaysOutside(t *testing.T) {
	t.Parallel()
	address := netip.MustParseAddrPort(listen(t))
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if problem := guarded(t, nil, nil, nil).Probe(t.Context(), host, int(address.Port())); !strings.Contains(problem,
			"never contacted") {
			t.Errorf("%s: got %q", host, problem)
		}
	}
}

type timedOut struct{}

func (timedOut) Error() string   { return "timed out" }
func (timedOut) Timeout() bool   { return true }
func (timedOut) Temporary() bool { return true }

// listen takes connections on loopback until the test ends.
func listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// TestConnectionsAreGuarded holds what a transport of HTTP opens to the same rules.
func TestConnectionsAreGuarded(t *testing.T) {
	t.Parallel()
	open := listen(t)
	b := newBed(t, open, map[string][]string{"up.example.org": {"93.184.216.34"}, "in.example.org": {"93.184.216.34 10.0.0.1"}})
	conn, err := b.DialContext(t.Context(), "tcp", "up.example.org:443")
	if err != nil || fmt.Sprint(b.dialled) != "[93.184.216.34:443]" {
		t.Fatalf("dialled %v, %v; want the checked address", b.dialled, err)
	}
	_ = conn.Close()
	for _, address := range []string{"in.example.org:443", "127.0.0.1:443", "[::1]:443", "gone.example.org:443"} {
		var refused *RefusedError
		if _, err := b.DialContext(t.Context(), "tcp", address); !errors.As(err, &refused) || len(b.dialled) != 1 {
			t.Errorf("%s: got %v, dialled %v", address, err, b.dialled)
		}
	}
	for _, address := range []string{"up.example.org", "up.example.org:https", "up.example.org:70000"} {
		if _, err := b.DialContext(t.Context(), "tcp", address); err == nil {
			t.Errorf("%s was dialled", address)
		}
	}
}
