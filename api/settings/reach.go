package settings

import (
	"context"
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
	// probeTimeout bounds a test from the name to the connection: a licence server that needs longer is of no use to a task.
	probeTimeout = 5 * time.Second
	// maxAddresses bounds how many addresses of a name are tried.
	maxAddresses = 4
)

// Dial opens a TCP connection to an address that has been checked; it resolves nothing.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Resolve returns the addresses of a host name.
type Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

// prober finds out whether a host's port takes connections, without being led to where it must not go.
type prober struct {
	networks []netip.Prefix // private ones that may be contacted
	dial     Dial
	resolve  Resolve
}

func newProber(networks []netip.Prefix, dial Dial, resolve Resolve) prober {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return prober{networks, dial, resolve}
}

// probe returns what keeps a host's port from taking connections, for its owner, or "" when it takes them. The name is resolved
// once, every address of it is checked, and the checked address itself is dialled: a name that changes its mind in between
// leads nowhere else.
func (p prober) probe(ctx context.Context, host string, port int) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	addresses, problem := p.addresses(ctx, host)
	if problem != "" {
		return problem
	}
	addresses = addresses[:min(len(addresses), maxAddresses)]
	var err error
	for _, address := range addresses {
		if err = p.connect(ctx, netip.AddrPortFrom(address, uint16(port)), probeTimeout/time.Duration(len(addresses))); err == nil {
			return ""
		}
	}
	return describe(err, port)
}

// addresses are where a host may be contacted, all checked.
func (p prober) addresses(ctx context.Context, host string) (found []netip.Addr, problem string) {
	if literal, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{literal}
	} else if found, err = p.resolve(ctx, host); err != nil || len(found) == 0 {
		return nil, "the host name cannot be resolved"
	} else {
		for i := range found {
			found[i] = found[i].Unmap() // resolvers write IPv4 addresses in either form
		}
	}
	for _, address := range found {
		switch p.judge(address) {
		case never:
			return nil, "the host lies at an address that is never contacted"
		case notHere:
			return nil, "the host lies at a private address, which this deployment does not contact"
		case allowed:
		}
	}
	return found, ""
}

func (p prober) connect(ctx context.Context, to netip.AddrPort, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := p.dial(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// describe says what was seen, and nothing of the machine that looked.
func describe(err error, port int) string {
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

// judge decides about one address. What cannot be a licence server of somebody else's comes first and cannot be allowed.
func (p prober) judge(address netip.Addr) verdict {
	contains := func(network netip.Prefix) bool { return network.Contains(address) }
	switch {
	case !address.IsValid(), address.Zone() != "", address.Is4In6(), slices.ContainsFunc(forbidden, contains):
		return never
	case slices.ContainsFunc(private, contains) && !slices.ContainsFunc(p.networks, contains):
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

// private are the networks of organisations (RFC 1918, RFC 6598, RFC 4193). A customer's licence server usually lies in one,
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
			return nil, fmt.Errorf("licence networks: %s is no network, such as 10.1.0.0/16", strconv.Quote(text))
		}
		inside := func(whole netip.Prefix) bool {
			return whole.Bits() <= network.Bits() && whole.Contains(network.Addr())
		}
		if !slices.ContainsFunc(private, inside) {
			return nil, fmt.Errorf("licence networks: %s is no private network; public addresses need no permission", text)
		}
		out = append(out, network.Masked())
	}
	return out, nil
}
