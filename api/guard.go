package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/internal/fault"
)

// guard judges who may call an operation, before anything of the request's body or object is looked at. It reads nothing but
// the operation's access.Rule and the request's header.
type guard struct {
	api      huma.API
	edge     *edge
	keys     *keys.Service
	sessions *auth.Service
	origins  []string
	limits   Limits
}

// admit is huma middleware.
func (g *guard) admit(ctx huma.Context, next func(huma.Context)) {
	c := humafiber.UnwrapV2(ctx)
	rule := access.RuleOf(ctx.Operation())
	announceDeprecation(c, rule.Deprecated)
	caller, err := g.judge(c, rule)
	if err != nil {
		fail(g.api, ctx, err)
		return
	}
	inner := access.With(withSchemas(ctx.Context(), g.api.OpenAPI().Components.Schemas), caller)
	if !rule.Public {
		inner = access.WithRecheck(inner, g.recheck(credentialOf(c), rule))
	}
	next(huma.WithContext(ctx, g.edge.place(inner, c)))
}

// announceDeprecation sends what tells a client that it should move on, with good and bad answers alike.
func announceDeprecation(c *fiber.Ctx, d *access.Deprecation) {
	if d == nil {
		return
	}
	c.Set("Deprecation", fmt.Sprintf("@%d", d.Since.Unix()))
	c.Set("Sunset", d.Sunset.UTC().Format(http.TimeFormat))
	if d.Successor == "" {
		return
	}
	successor := parameterInBraces.ReplaceAllStringFunc(d.Successor, func(name string) string {
		return url.PathEscape(c.Params(strings.Trim(name, "{}")))
	})
	c.Set(fiber.HeaderLink, fmt.Sprintf(`<%s%s>; rel="successor-version"`, prefix, successor))
}

// parameterInBraces is a path parameter as documents write it.
var parameterInBraces = regexp.MustCompile(`\{[^/}]+\}`)

// judge returns the caller, or why the request stops here.
func (g *guard) judge(c *fiber.Ctx, rule access.Rule) (access.Principal, error) {
	if rule.Public {
		if err := g.edge.takeAddress(c); err != nil {
			return access.Principal{}, err
		}
		return access.Principal{}, g.sameOrigin(c)
	}
	caller, err := g.identify(g.edge.place(c.UserContext(), c), credentialOf(c))
	if err != nil {
		// Counted against the address: keys and tokens cannot be guessed at the pace of valid ones.
		if limited := g.edge.takeAddress(c); limited != nil {
			return access.Principal{}, limited
		}
		if fault.Is(err, fault.Unauthorized) {
			c.Set(fiber.HeaderWWWAuthenticate, "Bearer") // RFC 9110, section 11.6.1
		}
		return access.Principal{}, err
	}
	if err := g.edge.take(c, limitKey(caller), g.limits.Credential); err != nil {
		return access.Principal{}, err
	}
	if caller.Session {
		if err := g.sameOrigin(c); err != nil {
			return access.Principal{}, err
		}
	}
	return caller, permitted(caller, rule)
}

// credential is what a caller has sent to be known by.
type credential struct{ header, token string }

// credentialOf reads the credential: an API key where there is one, else a browser session. It is good until the handler has
// returned.
func credentialOf(c *fiber.Ctx) credential {
	return credential{header: c.Get(fiber.HeaderAuthorization), token: c.Cookies(auth.CookieName)}
}

// identify finds whose credential it is.
func (g *guard) identify(ctx context.Context, sent credential) (access.Principal, error) {
	if sent.header != "" {
		scheme, key, _ := strings.Cut(sent.header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return access.Principal{}, fault.New(fault.Unauthorized, "send the API key as Authorization: Bearer <key>")
		}
		return g.keys.Verify(ctx, strings.TrimSpace(key))
	}
	if sent.token != "" {
		return g.sessions.Verify(ctx, sent.token)
	}
	return access.Principal{}, fault.New(fault.Unauthorized, "send an API key as Authorization: Bearer <key>, or sign in")
}

// recheck judges the same credential and rule once more. It keeps a copy: what fiber hands out is the next request's later.
func (g *guard) recheck(sent credential, rule access.Rule) func(context.Context) error {
	kept := credential{header: strings.Clone(sent.header), token: strings.Clone(sent.token)}
	return func(ctx context.Context) error {
		caller, err := g.identify(ctx, kept)
		if err != nil {
			return err
		}
		return permitted(caller, rule)
	}
}

func limitKey(caller access.Principal) string {
	if caller.Session {
		return "account:" + caller.AccountID
	}
	return "key:" + caller.KeyID
}

// permitted judges an identified caller by the operation's rule.
func permitted(caller access.Principal, rule access.Rule) error {
	switch {
	case rule.SessionOnly && !caller.Session:
		return fault.New(fault.SessionRequired, "this operation needs a browser session; an API key cannot call it")
	case rule.Operator && !caller.Operator:
		return fault.New(fault.NotFound, "no such address")
	case rule.Scope != "" && !caller.Has(rule.Scope):
		return fault.New(fault.InsufficientScope, "the API key lacks the scope %s", rule.Scope)
	case rule.LiveOnly && caller.Environment != access.Live:
		return fault.New(fault.TestKeyLiveBilling, "a test key is never billed and cannot call this operation; use a live key")
	default:
		return nil
	}
}

// sameOrigin refuses what another site makes a signed-in browser send. Browsers state the origin of every request that
// changes something; a program that states none carries no foreign cookie.
func (g *guard) sameOrigin(c *fiber.Ctx) error {
	switch c.Method() {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	if c.Get(fiber.HeaderAuthorization) != "" {
		return nil
	}
	origin, site := c.Get(fiber.HeaderOrigin), c.Get("Sec-Fetch-Site")
	switch {
	case slices.Contains(g.origins, origin) && origin != "":
		return nil
	case site == "same-origin" || site == "none":
		return nil
	case site == "" && origin == "":
		return nil
	case site == "" && g.edge.own(c, origin):
		return nil
	}
	return fault.New(fault.CSRFRejected, "requests with a browser session are taken from this service's own pages and configured "+
		"origins only")
}

// fail answers with an error from middleware of huma.
func fail(api huma.API, ctx huma.Context, err error) {
	if writeErr := huma.WriteErr(api, ctx, http.StatusInternalServerError, "", err); writeErr != nil {
		loggerOf(context.WithoutCancel(ctx.Context())).Error("an answer could not be written", "error", writeErr)
	}
}
