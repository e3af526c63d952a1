package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// providerTimeout bounds one call to the identity provider, while a browser waits.
	providerTimeout = 10 * time.Second
	// callbackPath is where the provider sends the browser back to, below the API's prefix.
	callbackPath = "/v1/auth/oidc/callback"
	// startPath is where a sign-in with the provider begins.
	startPath = "/v1/auth/oidc/start"
)

// OIDC is the identity provider of a deployment. The zero value is none.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string
}

// identity is who the provider says has signed in. Subject is permanent at the issuer; the address is not.
type identity struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
}

// provider is the identity provider's other end. It asks for the provider's description when it is first needed and until it
// has got it, so that the service starts and serves everybody else while the provider is away.
type provider struct {
	OIDC
	callback string // address that it sends browsers back to
	client   *http.Client
	now      func() time.Time

	asking singleflight.Group // whoever comes while we ask waits for the same answer
	known  atomic.Pointer[oidc.Provider]
}

func newProvider(config OIDC, publicURL string, now func() time.Time) *provider {
	return &provider{
		OIDC: config, callback: strings.TrimSuffix(publicURL, "/") + "/api" + callbackPath,
		client: &http.Client{Timeout: providerTimeout}, now: now,
	}
}

// discover returns the provider's description. Errors: fault.NotFound when the deployment has no provider,
// fault.ProviderUnavailable while it is away.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	if p.Issuer == "" {
		return nil, fault.New(fault.NotFound, "this deployment has no identity provider; sign in with a password")
	}
	if found := p.known.Load(); found != nil {
		return found, nil
	}
	_, err, _ := p.asking.Do("", func() (any, error) {
		found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.Issuer)
		if err == nil {
			p.known.Store(found)
		}
		return nil, err
	})
	if err != nil {
		return nil, providerAway(err)
	}
	return p.known.Load(), nil
}

func (p *provider) oauth(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.callback, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// address is where the browser signs in for the flow.
func (p *provider) address(ctx context.Context, f flow) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(found).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// redeem turns the code that came back into who has signed in. Errors: fault.Unauthorized when the provider or its token's
// signature, audience, expiry or nonce says no; fault.ProviderUnavailable while the provider is away.
func (p *provider) redeem(ctx context.Context, f flow, code string) (identity, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(found).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError {
			return identity{}, notVouched(err)
		}
		return identity{}, providerAway(err)
	}
	raw, _ := token.Extra("id_token").(string)
	verified, err := found.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return identity{}, notVouched(err)
	}
	if verified.Nonce != f.Nonce {
		return identity{}, notVouched(errors.New("the identity token has another nonce"))
	}
	who := identity{Issuer: verified.Issuer, Subject: verified.Subject}
	if err := p.describe(ctx, found, verified, token, &who); err != nil {
		return identity{}, err
	}
	return who, nil
}

// describe fills in address and name, from the identity token or, where a provider keeps that short, from its user information.
func (p *provider) describe(
	ctx context.Context, found *oidc.Provider, verified *oidc.IDToken, token *oauth2.Token, who *identity,
) error {
	var claims struct {
		Email         string   `json:"email"`
		EmailVerified saidTrue `json:"email_verified"`
		Name          string   `json:"name"`
	}
	if err := verified.Claims(&claims); err != nil {
		return notVouched(err)
	}
	who.Email, who.EmailVerified, who.Name = claims.Email, bool(claims.EmailVerified), claims.Name
	if who.Email != "" || found.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return providerAway(err)
	}
	if info.Subject != who.Subject {
		return notVouched(errors.New("the user information is about somebody else"))
	}
	who.Email, who.EmailVerified = info.Email, info.EmailVerified
	return nil
}

func providerAway(err error) error {
	return fault.Wrap(fmt.Errorf("ask the identity provider: %w", err), fault.ProviderUnavailable,
		"the identity provider does not answer: try again")
}

func notVouched(err error) error {
	return fault.Wrap(fmt.Errorf("redeem a sign-in: %w", err), fault.Unauthorized,
		"the identity provider does not vouch for this sign-in: start it again")
}

// saidTrue is a boolean that some providers write as text.
type saidTrue bool

// UnmarshalJSON takes true and "true"; whatever else is said is not true.
func (b *saidTrue) UnmarshalJSON(text []byte) error {
	*b = string(text) == "true" || string(text) == `"true"`
	return nil
}
