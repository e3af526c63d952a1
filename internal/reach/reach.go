// Package reach keeps this machine from being led where it must not go: it connects to hosts that accounts write down, and never to
// itself, to its network, or to what the platform below it serves.
package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// probeTimeout bounds a connection, from the name on: a server that needs longer is of no use.
	probeTimeout = 5 * time.Second
	// maxAddresses bounds how many addresses of a name are tried.
	maxAddresses = 4
)

// Dial opens a TCP connection to an address that has been checked; it resolves nothing.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Resolve returns the addresses of a host name.
type Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

// Guard connects to hosts of other people's. Its zero value connects to nothing.
type Guard struct {
	networks []netip.Prefix // private ones that may be contacted
	dial     Dial
	resolve  Resolve
}

// New returns a Guard that also connects to these private networks (CIDR). dial and resolve are the machine's own when they are
// nil.
// An error says which is no private network.
func New(networks []string, dial Dial, resolve Resolve) (Guard, error) {
	named, err := privateNetworks(networks)
	if err != nil {
		return Guard{}, err
	}
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return Guard{named, dial, resolve}, nil
}

// RefusedError is why a host is not contacted.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// DialContext opens a connection to a host and port, as a transport of HTTP wants it. Errors: *RefusedError, and those of the
// network.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("the port %q: %w", text, err)
	}
	addresses, problem := g.addresses(ctx, host)
	if problem != "" {
		return nil, &RefusedError{problem}
	}
	addresses = addresses[:min(len(addresses), maxAddresses)]
	for _, one := range addresses {
		within, cancel := context.WithTimeout(ctx, probeTimeout)
		var conn net.Conn
		conn, err = g.dial(within, network, netip.AddrPortFrom(one, uint16(port)).String())
		cancel()
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// Probe returns what keeps a host's port from taking connections, for its owner, or "" when it takes them. The name is resolved
// once, every address of it is checked, and the checked address itself is dialled: a name that changes its mind in between
// leads nowhere else.
func (g Guard) Probe(ctx context.Context, host string, port int) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	addresses, problem := g.addresses(ctx, host)
	if problem != "" {
		return problem
	}
	addresses = addresses[:min(len(addresses), maxAddresses)]
	var err error
	for _, address := range addresses {
		if err = g.connect(ctx, netip.AddrPortFrom(address, uint16(port)), probeTimeout/time.Duration(len(addresses))); err == nil {
			return ""
		}
	}
	return Describe(err, port)
}

// addresses are where a host may be contacted, all checked.
func (g Guard) addresses(ctx context.Context, host string) (found []netip.Addr, problem string) {
	if literal, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{literal}
	} else if found, err = g.resolve(ctx, host); err != nil || len(found) == 0 {
		return nil, "the host name cannot be resolved"
	} else {
		for i := range found {
			found[i] = found[i].Unmap() // resolvers write IPv4 addresses in either form
		}
	}
	for _, address := range found {
		if reason := g.refusal(address); reason != "" {
			return nil, reason
		}
	}
	return found, ""
}

// Refusal says why a host is not contacted that is written as an address; "" for those that are, and for names.
func (g Guard) Refusal(host string) string {
	literal, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	return g.refusal(literal)
}

func (g Guard) refusal(address netip.Addr) string {
	switch g.judge(address) {
	case never:
		return "the host lies at an address that is never contacted"
	case notHere:
		return "the host lies at a private address, which this deployment does not contact"
	case allowed:
	}
	return ""
}

func (g Guard) connect(ctx context.Context, to netip.AddrPort, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := g.dial(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// Describe says what was seen, and nothing of the machine that looked.
func Describe(err error, port int) string {
	timeout := net.Error(nil)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("the host refuses connections on port %d", port)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("the host does not answer on port %d", port)
	}
	return fmt.Sprintf("the host cannot be reached on port %d", port)
}

// verdict says whether an address may be contacted.
type verdict int

const (
	never   verdict = iota
	notHere         // private, and not in a network that the deployment has named
	allowed
)

// judge decides about one address. What cannot be a server of somebody else's comes first and cannot be allowed.
func (g Guard) judge(address netip.Addr) verdict {
	contains := func(network netip.Prefix) bool { return network.Contains(address) }
	switch {
	case !address.IsValid(), address.Zone() != "", address.Is4In6(), slices.ContainsFunc(forbidden, contains):
		return never
	case slices.ContainsFunc(private, contains) && !slices.ContainsFunc(g.networks, contains):
		return notHere
	}
	return allowed
}

// forbidden are addresses of this machine, of its link, of the platform below it, and those that hide another address (RFC
// 6890 and the IANA registries of special addresses).
var forbidden = prefixes(
	// This host, loopback, link-local with the metadata services of most clouds, multicast, reserved with broadcast.
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "fe80::/10", "fec0::/10", "ff00::/8",
	// What clouds serve elsewhere: the metadata of Alibaba, Oracle, Amazon and Google, and the host of an Azure machine.
	"100.100.100.200/32", "192.0.0.0/24", "fd00:ec2::/112", "fd20:ce::254/128", "168.63.129.16/32",
	// Documentation, benchmarks, discard.
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15", "2001:db8::/32", "3fff::/20", "100::/64",
	// IPv4 inside IPv6: translators, 6to4 and its relays, Teredo and other protocol assignments.
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "192.88.99.0/24", "2001::/23",
)

// private are the networks of organisations (RFC 1918, RFC 6598, RFC 4193). A customer's own servers usually lie in one,
// and so does everything of the service's own that is no business of a customer.
var private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// privateNetworks reads the networks that a deployment allows.
func privateNetworks(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s is no network, such as 10.1.0.0/16", strconv.Quote(text))
		}
		inside := func(whole netip.Prefix) bool {
			return whole.Bits() <= network.Bits() && whole.Contains(network.Addr())
		}
		if !slices.ContainsFunc(private, inside) {
			return nil, fmt.Errorf("%s is no private network; public addresses need no permission", text)
		}
		out = append(out, network.Masked())
	}
	return out, nil
}

// Certificate tells whether a connection failed for the server's certificate.
func Certificate(err error) bool {
	var unverified *tls.CertificateVerificationError
	return errors.As(err, &unverified)
}
