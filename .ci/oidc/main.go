// Command oidc is an OpenID Connect provider for tests, made of ory/fosite, the library behind Ory Hydra: it is not ours, so it
// and the sign-in under test cannot share a mistake. It listens on a free port of 127.0.0.1, prints its issuer as the first
// line and ends when its standard input does. Whoever comes is signed in at once as the person that a test has chosen:
//
//	POST /person {"sub", "email", "email_verified", "name"}
//	POST /away   true or false: answer everything else with 503
//	POST /keys   sign with a new key that nobody knows the public half of
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v3"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/openid"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
	"golang.org/x/crypto/bcrypt"
)

// person is who signs in.
type person struct {
	Subject       string `json:"sub"`
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
	Name          string `json:"name"`
}

type server struct {
	issuer   string
	clientID string
	provider fosite.OAuth2Provider
	public   jose.JSONWebKeySet

	mu      sync.Mutex
	signing *rsa.PrivateKey
	who     person
	away    bool
}

func main() {
	clientID := flag.String("client-id", "molfabric", "the only client")
	clientSecret := flag.String("client-secret", "", "its secret")
	redirect := flag.String("redirect", "", "where browsers may be sent back to")
	flag.Parse()
	if err := run(*clientID, *clientSecret, *redirect); err != nil {
		log.Fatal(err)
	}
}

func run(clientID, clientSecret, redirect string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &server{issuer: "http://" + ln.Addr().String(), clientID: clientID}
	if err := s.open(clientSecret, redirect); err != nil {
		return err
	}
	fmt.Println(s.issuer)
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(ln, s.routes()) }()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

// open makes the keys and the provider.
func (s *server) open(clientSecret, redirect string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	s.signing = key
	s.public = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "first", Algorithm: "RS256", Use: "sig"}}}
	hashed, err := bcrypt.GenerateFromPassword([]byte(clientSecret), bcrypt.MinCost)
	if err != nil {
		return err
	}
	store := storage.NewMemoryStore()
	store.Clients[s.clientID] = &fosite.DefaultClient{
		ID: s.clientID, Secret: hashed, RedirectURIs: []string{redirect}, ResponseTypes: []string{"code"},
		GrantTypes: []string{"authorization_code"}, Scopes: []string{"openid", "email", "profile"},
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	config := &fosite.Config{
		GlobalSecret: secret, IDTokenIssuer: s.issuer, EnforcePKCE: true, MinParameterEntropy: 16,
		AccessTokenLifespan: time.Minute, IDTokenLifespan: time.Minute, AuthorizeCodeLifespan: time.Minute,
	}
	current := func(context.Context) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.signing, nil
	}
	s.provider = compose.Compose(config, store,
		&compose.CommonStrategy{
			CoreStrategy:               compose.NewOAuth2HMACStrategy(config),
			OpenIDConnectTokenStrategy: compose.NewOpenIDConnectStrategy(current, config),
			Signer:                     &jwt.DefaultSigner{GetPrivateKey: current},
		},
		compose.OAuth2AuthorizeExplicitFactory, compose.OpenIDConnectExplicitFactory, compose.OAuth2PKCEFactory)
	return nil
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.describe)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.public) })
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /person", func(_ http.ResponseWriter, r *http.Request) { s.take(r, &s.who) })
	mux.HandleFunc("POST /away", func(_ http.ResponseWriter, r *http.Request) { s.take(r, &s.away) })
	mux.HandleFunc("POST /keys", s.changeKey)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		away := s.away && r.URL.Path != "/away"
		s.mu.Unlock()
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *server) take(r *http.Request, into any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		log.Print(err)
	}
}

func (s *server) changeKey(w http.ResponseWriter, _ *http.Request) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signing = key
}

func (s *server) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": s.issuer, "authorization_endpoint": s.issuer + "/authorize", "token_endpoint": s.issuer + "/token",
		"jwks_uri": s.issuer + "/keys", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := s.provider.NewAuthorizeRequest(ctx, r)
	if err != nil {
		s.provider.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	s.mu.Lock()
	who := s.who
	s.mu.Unlock()
	response, err := s.provider.NewAuthorizeResponse(ctx, request, &openid.DefaultSession{
		Subject: who.Subject,
		Headers: &jwt.Headers{Extra: map[string]any{"kid": "first"}},
		Claims: &jwt.IDTokenClaims{
			Issuer: s.issuer, Subject: who.Subject, Audience: []string{s.clientID}, IssuedAt: time.Now(), AuthTime: time.Now(),
			RequestedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute),
			Extra: map[string]any{"email": who.Email, "email_verified": who.EmailVerified, "name": who.Name},
		},
	})
	if err != nil {
		s.provider.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	s.provider.WriteAuthorizeResponse(ctx, w, request, response)
}

func (s *server) token(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := s.provider.NewAccessRequest(ctx, r, &openid.DefaultSession{})
	if err != nil {
		s.provider.WriteAccessError(ctx, w, request, err)
		return
	}
	response, err := s.provider.NewAccessResponse(ctx, request)
	if err != nil {
		s.provider.WriteAccessError(ctx, w, request, err)
		return
	}
	s.provider.WriteAccessResponse(ctx, w, request, response)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print(err)
	}
}
