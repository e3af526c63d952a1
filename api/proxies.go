package api

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
)

// address is the caller's network address. Behind trusted proxies it is the last address in X-Forwarded-For that is not one
// of them: everything before it can be made up.
func (e *edge) address(c *fiber.Ctx) netip.Addr {
	peer := addrOf(c.Context().RemoteAddr())
	if !e.trusted(peer) {
		return peer
	}
	hops := forwarded(c, fiber.HeaderXForwardedFor)
	for i := len(hops) - 1; i >= 0; i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			break
		}
		if peer = hop; !e.trusted(peer) {
			break
		}
	}
	return peer
}

// place tells the groups where a request comes from.
func (e *edge) place(ctx context.Context, c *fiber.Ctx) context.Context {
	ctx = access.WithAddress(ctx, network(e.address(c)))
	ctx = access.WithTrusted(ctx, e.vouched(c))
	return access.WithTLS(ctx, e.overTLS(c))
}

// passedOn are headers of a proxy. From one that is not configured they are no proof of anything, but that the caller is elsewhere.
var passedOn = []string{
	fiber.HeaderXForwardedFor, fiber.HeaderForwarded, fiber.HeaderVia, "X-Real-Ip", fiber.HeaderXForwardedHost,
	fiber.HeaderXForwardedProto,
}

// vouched reports whether the caller is in a network that the operator trusts with new accounts. Behind a proxy that is not
// configured nobody is: everybody would have the proxy's address, which on the same machine is the most trusted of all.
func (e *edge) vouched(c *fiber.Ctx) bool {
	if !e.trusted(addrOf(c.Context().RemoteAddr())) {
		for _, name := range passedOn {
			if c.Get(name) != "" {
				return false
			}
		}
	}
	address := e.address(c)
	return slices.ContainsFunc(e.config.SignUp.Trusted, func(one netip.Prefix) bool { return one.Contains(address) })
}

// forwarded lists the elements of a header that proxies append to. Some append to the line they find, some add a line.
func forwarded(c *fiber.Ctx, name string) []string {
	var elements []string
	for _, line := range c.Request().Header.PeekAll(name) {
		for element := range strings.SplitSeq(string(line), ",") {
			elements = append(elements, strings.TrimSpace(element))
		}
	}
	return elements
}

// parseHop reads an address as proxies write it: 203.0.113.7, 203.0.113.7:4711, 2001:db8::7 or [2001:db8::7]:4711.
func parseHop(text string) (netip.Addr, bool) {
	if hop, err := netip.ParseAddr(text); err == nil {
		return hop.Unmap().WithZone(""), true
	}
	hop, err := netip.ParseAddrPort(text)
	return hop.Addr().Unmap().WithZone(""), err == nil
}

// overTLS reports whether the caller's side of the connection is encrypted: because the operator says so of the whole
// service, or because a trusted proxy says so of this request.
func (e *edge) overTLS(c *fiber.Ctx) bool {
	if e.config.SecureCookies {
		return true
	}
	protocols := forwarded(c, fiber.HeaderXForwardedProto)
	return len(protocols) > 0 && strings.EqualFold(protocols[0], "https") && e.trusted(addrOf(c.Context().RemoteAddr()))
}

// own reports whether origin is that of this service as the caller reached it. Over TLS a page that came without is not ours:
// anybody on the way may have written it.
func (e *edge) own(c *fiber.Ctx, origin string) bool {
	parsed, err := url.Parse(origin)
	host := c.Get(fiber.HeaderHost)
	return err == nil && host != "" && strings.EqualFold(parsed.Host, host) && (parsed.Scheme == "https" || !e.overTLS(c))
}

// ParseTrustedProxies reads networks (10.0.0.0/8) and single addresses (10.1.2.3) of proxies.
func ParseTrustedProxies(texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range texts {
		one, err := netip.ParsePrefix(text)
		if err != nil {
			address, single := netip.ParseAddr(text)
			if single != nil {
				return nil, fmt.Errorf("trusted proxy %q: want a network like 10.0.0.0/8 or an address like 10.1.2.3", text)
			}
			one = netip.PrefixFrom(address, address.BitLen())
		}
		networks = append(networks, one.Masked())
	}
	return networks, nil
}

func (e *edge) trusted(address netip.Addr) bool {
	for _, one := range e.config.TrustedProxies {
		if one.Contains(address) {
			return true
		}
	}
	return false
}

func addrOf(remote net.Addr) netip.Addr {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// network is what an address is counted as: of IPv6, where everybody has a /64 to choose from, the whole /64.
func network(address netip.Addr) string {
	if address.Is6() {
		return netip.PrefixFrom(address, 64).Masked().String()
	}
	return address.String()
}
