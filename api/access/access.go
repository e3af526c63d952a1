// Package access says who is calling and what an operation asks of a caller. It is the leaf that the guard (api/guard.go)
// and every group of operations share; it reads no credential and knows no store.
package access

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/tenant"
)

// Scopes that operations ask for.
const (
	JobsRead      = contract.ScopeJobsRead
	JobsWrite     = contract.ScopeJobsWrite
	CreditsRead   = contract.ScopeCreditsRead
	Convert       = contract.ScopeConvert
	MolecularChat = contract.ScopeMolecularChat
	ProjectsRead  = contract.ScopeProjectsRead
	ProjectsWrite = contract.ScopeProjectsWrite
)

// Environments of a key. A test key is never billed.
const (
	Live = "live"
	Test = "test"
)

// Principal is an authenticated caller. A browser session holds every scope of its account.
type Principal struct {
	AccountID   string
	Plan        string
	KeyID       string // empty for a session
	Environment string // Live or Test; a session is Live
	Scopes      []string
	Session     bool
	Operator    bool // a session of somebody who runs the deployment
}

// Has reports whether the caller holds the scope.
func (p Principal) Has(scope string) bool { return p.Session || slices.Contains(p.Scopes, scope) }

// Rule is what an operation asks of its caller. The zero Rule asks for any valid credential.
type Rule struct {
	Public      bool   // no credential needed
	Scope       string // scope that a key must carry
	SessionOnly bool   // an API key is refused with SESSION_REQUIRED
	LiveOnly    bool   // a test key is refused with TEST_KEY_LIVE_BILLING
	Operator    bool   // for everybody but the deployment's operators there is nothing here
	MaxBody     int64  // bytes; 0 means the default of every other route
	// Deprecated marks an operation that a newer one replaces; nil for all others. The guard sends its headers.
	Deprecated *Deprecation
}

// Deprecation says since when an operation should not be used any more, until when it works, and what replaces it.
type Deprecation struct {
	Since  time.Time // header Deprecation, RFC 9745
	Sunset time.Time // header Sunset, RFC 8594; at least 90 days after Since (doc/contract.md §9)
	// path template of the operation that replaces it, "/v1/molecular/projects/{projectId}"; "" when there is none
	Successor string
}

const ruleKey = "access.rule"

// Guarded returns the operation with its rule attached, documented as OpenAPI security.
func Guarded(op huma.Operation, rule Rule) huma.Operation {
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[ruleKey] = rule
	op.Deprecated = op.Deprecated || rule.Deprecated != nil
	switch {
	case rule.Public:
		op.Security = []map[string][]string{}
	case rule.SessionOnly:
		op.Security = []map[string][]string{{"session": {}}}
	default:
		scopes := []string{}
		if rule.Scope != "" {
			scopes = append(scopes, rule.Scope)
		}
		op.Security = []map[string][]string{{"apiKey": scopes}, {"session": {}}}
	}
	return op
}

// RuleOf returns the operation's rule; an operation without one asks for a session, so that forgetting is safe.
func RuleOf(op *huma.Operation) Rule {
	if rule, ok := op.Metadata[ruleKey].(Rule); ok {
		return rule
	}
	return Rule{SessionOnly: true}
}

type contextKey struct{}

// With returns a context that carries the caller. It is the one place where a request gets its tenant: from here on its
// statements see the rows of the caller's account, and those of a caller without one see no account's.
func With(ctx context.Context, p Principal) context.Context {
	return tenant.With(context.WithValue(ctx, contextKey{}, p), p.AccountID)
}

// From returns the caller; the guard has put one there for every operation that is not public.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}

type recheckKey struct{}

// WithRecheck returns a context that carries a second look at the caller's credential.
func WithRecheck(ctx context.Context, recheck func(context.Context) error) context.Context {
	return context.WithValue(ctx, recheckKey{}, recheck)
}

// Recheck looks again whether the caller's credential is good for the operation, for answers that last: a key may be revoked and a
// session ended meanwhile. It may be asked after the handler has returned. Errors: those of the guard.
func Recheck(ctx context.Context) error {
	if recheck, ok := ctx.Value(recheckKey{}).(func(context.Context) error); ok {
		return recheck(ctx)
	}
	return nil
}

type requestIDKey struct{}

// WithRequestID returns a context that carries the request's id (header X-Request-Id).
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the request's id, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

type addressKey struct{}

// WithAddress returns a context that carries what the caller's network address is counted as.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// Address returns what the caller's network address is counted as, or "": an IPv4 address, or the /64 of an IPv6 address,
// because that is what one subscriber has to choose from.
func Address(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}

// Prefixes of the network around an address: the smallest that is routed by itself, so the least that one customer of a provider
// with many addresses has.
const (
	networkBits4 = 24
	networkBits6 = 48
)

// Network returns the network around Address, as 198.51.100.0/24 or 2001:db8:1::/48, or "" where there is no address.
func Network(ctx context.Context) string {
	counted := Address(ctx)
	address, err := netip.ParseAddr(counted)
	if prefix, notSingle := netip.ParsePrefix(counted); notSingle == nil {
		address, err = prefix.Addr(), nil
	}
	if err != nil {
		return counted
	}
	bits := networkBits6
	if address.Is4() {
		bits = networkBits4
	}
	return netip.PrefixFrom(address, bits).Masked().String()
}

type trustedKey struct{}

// WithTrusted returns a context that says whether the operator vouches for the caller's network, so that its new accounts need no
// proof of an address.
func WithTrusted(ctx context.Context, trusted bool) context.Context {
	return context.WithValue(ctx, trustedKey{}, trusted)
}

// Trusted reports whether the operator vouches for the caller's network.
func Trusted(ctx context.Context) bool {
	trusted, _ := ctx.Value(trustedKey{}).(bool)
	return trusted
}

type tlsKey struct{}

// WithTLS returns a context that says whether the caller's browser reaches the service over TLS.
func WithTLS(ctx context.Context, overTLS bool) context.Context {
	return context.WithValue(ctx, tlsKey{}, overTLS)
}

// OverTLS reports whether the caller's browser reaches the service over TLS, so that its cookies are marked Secure.
func OverTLS(ctx context.Context) bool {
	overTLS, _ := ctx.Value(tlsKey{}).(bool)
	return overTLS
}
