// Package api is the front door: HTTP in, JSON out. It holds the server (this file), what every request passes through
// (edge.go, routes.go, guard.go, body.go), the error envelope (errors.go) and the OpenAPI document (document.go). The
// operations themselves live in the groups below this folder; no group imports another.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/credits"
	"github.com/molfabric/molfabric/api/docs"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/api/mcp"
	"github.com/molfabric/molfabric/api/system"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/secret"
)

// prefix stands before every operation's path: "/v1/jobs" is served at /api/v1/jobs.
const prefix = "/api"

// Deps are the parts that the front door is wired to. Every field is required unless it says otherwise.
type Deps struct {
	DB      *sqlx.DB
	Redis   redis.UniversalClient
	Ledger  *billing.Ledger
	Metrics *prometheus.Registry
	Log     *slog.Logger
	Now     func() time.Time
	// Groups register further operations, with paths below /v1: jobs, uploads.
	Groups []func(huma.API)
	// Rankings is what language models read the results of dockings by; nil offers them none.
	Rankings mcp.Rankings
	// Pages add addresses outside the API's prefix. May be empty.
	Pages []Page
	// App is the web app, which stands before every other page at its addresses; nil where the program was built without.
	App *web.App
	// Mail carries what the service writes to people; nil sends nothing.
	Mail auth.Mailer
	// Storage tells what an account's uploaded files take, for its owner; may be nil.
	Storage func(ctx context.Context, accountID string) (contract.Storage, error)
	// Checks are asked by /readyz beside the database, its schema and Redis: the object store. May be empty.
	Checks []system.Check
	Config Config
}

// Config is what an operator decides.
type Config struct {
	Version        string           // of this program
	KeySecrets     secret.Ring      // what API keys are hashed under, among others; the same on every instance, in any order
	Origins        []string         // web origins beside our own that may call with a session, e.g. "https://app.example.org"
	PublicURL      string           // how browsers reach the service, "https://app.example.org"; required with payments and OIDC
	FileStore      FileStore        // whose signed URLs lead here; none when zero
	Payments       credits.Payments // the payment provider; the zero value sells nothing
	SecureCookies  bool             // the service is reached over TLS
	Operators      []string         // addresses of the accounts that run the deployment
	SignUp         auth.Admission   // who may open an account; zero limits take their default
	OIDC           auth.OIDC        // identity provider to sign in with; none when zero
	TrustedProxies []netip.Prefix   // whose X-Forwarded-For and X-Forwarded-Proto are believed; see ParseTrustedProxies
	RedisPrefix    string           // of every key in Redis
	Limits         Limits           // zero fields take their default
	SpoolDir       string           // where large bodies lie while they arrive; default the system temporary directory
	SpoolBytes     int64            // disk that they may take together; default 4 GiB
}

// Page adds addresses outside the API's prefix. limit comes before each of them and counts requests by address.
type Page func(app *fiber.App, limit fiber.Handler)

// Server is the front door. It is safe for concurrent use.
type Server struct {
	app      *fiber.App
	edge     *edge
	document []byte
	stop     context.CancelFunc

	mu       sync.Mutex
	listener *lingering // set by Serve
	shut     bool
}

// New wires the front door. It opens no port and starts nothing.
func New(deps Deps) (*Server, error) {
	if err := deps.check(); err != nil {
		return nil, err
	}
	limiter := throttle.New(deps.Redis, deps.Config.RedisPrefix+"limit:", deps.Log, deps.Now)
	wallet, err := credits.New(credits.Deps{
		DB: deps.DB, Ledger: deps.Ledger, Limiter: limiter, Log: deps.Log, Now: deps.Now,
		PublicURL: deps.Config.PublicURL, Origins: deps.Config.Origins, Payments: deps.Config.Payments,
	})
	if err != nil {
		return nil, err
	}
	setHumaErrors()
	setHumaRules()
	base, stop := context.WithCancel(context.Background())
	edge := &edge{base: base, log: deps.Log, now: deps.Now, config: deps.Config, limiter: limiter,
		metrics: newMetrics(deps.Metrics), routes: &routeTable{}}
	app := fiber.New(fiber.Config{
		Immutable: true, CaseSensitive: true, StrictRouting: true,
		StreamRequestBody: true, DisablePreParseMultipartForm: true, BodyLimit: prefetchBytes,
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ReadBufferSize: headerBytes, Concurrency: maxConnections,
		DisableStartupMessage: true, ErrorHandler: edge.refuseEarly,
	})

	signIn := deps.signIn(limiter)
	keyring := keys.New(deps.DB, deps.Config.KeySecrets, deps.Log, deps.Now)

	edge.answerUnknownMethods(app)
	answerExpectations(app)
	if err := edge.mount(app); err != nil {
		stop()
		return nil, err
	}

	operations := humafiber.NewV2WithGroup(app, recordingRouter{app.Group(prefix), edge.routes}, humaConfig(deps.Config.Version))
	guard := &guard{
		api: operations, edge: edge, keys: keyring, sessions: signIn, limits: deps.Config.Limits,
		origins: deps.Config.Origins,
	}
	bodies := newBodyGate(operations, newSpoolRoom(deps.Config.SpoolDir, deps.Config.SpoolBytes, deps.Metrics))
	operations.UseMiddleware(guard.admit, parameters{operations}.pass, bodies.pass)
	auth.Register(operations, signIn)
	keys.Register(operations, keyring)
	credits.Register(operations, wallet)
	for _, register := range deps.Groups {
		register(operations)
	}

	server := &Server{app: app, edge: edge, stop: stop}
	registerDocument(operations, func() []byte { return server.document })
	document, err := finish(operations.OpenAPI())
	if err != nil {
		stop()
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	server.document = document
	err = errors.Join(docs.MountGuide(app, document, prefix+documentPath), mountAgents(app, guard, bodies, document, deps.Rankings))
	if err != nil {
		stop()
		return nil, err
	}
	deps.Pages = append(deps.Pages, wallet.Mount)
	deps.mountPages(app, &proofPage{guard: guard, sessions: signIn, bodies: bodies}, document)
	return server, nil
}

// signIn is who looks after accounts and sessions.
func (d *Deps) signIn(limiter *throttle.Limiter) *auth.Service {
	return auth.New(auth.Deps{
		DB: d.DB, Ledger: d.Ledger, Limiter: limiter, SignInLimit: d.Config.Limits.SignIn,
		WideLimit: d.Config.Limits.SignInWide, Admission: d.Config.SignUp, Mail: d.Mail, Secrets: d.Config.KeySecrets,
		OIDC: d.Config.OIDC, PublicURL: d.Config.PublicURL, Now: d.Now, Storage: d.Storage,
		Operators: d.Config.Operators,
	})
}

// mountPages adds what lies outside the API's prefix.
func (d *Deps) mountPages(app *fiber.App, proofs *proofPage, document []byte) {
	if d.App != nil {
		d.App.Mount(app)
	}
	proofs.mount(app)
	limit := proofs.guard.edge.limitAddress
	app.Get("/.well-known/openapi.json", limit, func(c *fiber.Ctx) error { return sendDocument(c, document) })
	docs.Mount(app, prefix+documentPath, prefix+"/v1/public/repeats")
	for _, mount := range d.Pages {
		mount(app, limit)
	}
	system.Mount(app, system.Deps{
		DB: d.DB, Redis: d.Redis, Metrics: d.Metrics, Version: d.Config.Version, Checks: d.Checks, Log: d.Log, Now: d.Now,
	})
	if d.App == nil {
		web.MountAbsent(app)
		return
	}
	d.App.MountMissing(app)
}

func (d *Deps) check() error {
	switch {
	case d.DB == nil || d.Redis == nil || d.Ledger == nil || d.Metrics == nil || d.Log == nil || d.Now == nil:
		return errors.New("api: DB, Redis, Ledger, Metrics, Log and Now are required")
	case d.Config.KeySecrets.IsZero():
		return errors.New("api: a key secret is required")
	}
	for _, origin := range d.Config.Origins {
		if parsed, err := url.Parse(origin); err != nil || parsed.Host == "" || origin != parsed.Scheme+"://"+parsed.Host {
			return fmt.Errorf("api: origin %q: want the form https://app.example.org", origin)
		}
	}
	if provider := d.Config.OIDC; provider.Issuer != "" && (provider.ClientID == "" || d.Config.PublicURL == "") {
		return errors.New("api: sign-in with an identity provider needs a client id and the service's public URL")
	}
	if d.Mail != nil && d.Config.PublicURL == "" {
		return errors.New("api: links in mails need the service's public URL")
	}
	if mode := d.Config.SignUp.Mode; mode != "" && !slices.Contains(auth.Modes, mode) {
		return fmt.Errorf("api: sign-up %q: allowed are %v", mode, auth.Modes)
	}
	if d.Config.SpoolBytes == 0 {
		d.Config.SpoolBytes = defaultSpoolBytes
	}
	defaults := DefaultLimits()
	for _, one := range []struct{ given, otherwise *throttle.Limit }{
		{&d.Config.Limits.Credential, &defaults.Credential},
		{&d.Config.Limits.Address, &defaults.Address},
		{&d.Config.Limits.SignIn, &defaults.SignIn},
		{&d.Config.Limits.SignInWide, &defaults.SignInWide},
		{&d.Config.SignUp.Limit, &defaultSignUp},
		{&d.Config.SignUp.NetworkLimit, &defaultSignUpNetwork},
	} {
		if *one.given == (throttle.Limit{}) {
			*one.given = *one.otherwise
		}
	}
	return nil
}

// Document is the OpenAPI document as it is served.
func (s *Server) Document() []byte { return s.document }

// Serve answers requests on ln until Shutdown, then returns nil; after a Shutdown it returns at once. It is called once.
func (s *Server) Serve(ln net.Listener) error {
	listener := newLingering(ln)
	s.mu.Lock()
	s.listener = listener
	shut := s.shut
	s.mu.Unlock()
	if shut {
		return listener.Close()
	}
	return s.app.Listener(listener)
}

// Shutdown takes no more connections, lets running requests finish, then ends event streams and closes what is left; all of
// it until ctx is done. It may be called again, and before or beside Serve.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.shut = true
	listener := s.listener
	s.mu.Unlock()
	var closing error
	if listener != nil { // fasthttp closes it too, unless it has not begun to serve
		closing = listener.Close()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.app.ShutdownWithContext(ctx) }()
	if listener != nil {
		listener.closeSilent()
	}
	s.edge.running.wait(ctx)
	s.stop()
	if err := errors.Join(closing, <-closed); err != nil {
		return fmt.Errorf("shut the front door: %w", err)
	}
	return nil
}
