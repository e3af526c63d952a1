package roles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/credits"
	"github.com/molfabric/molfabric/api/databases"
	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/notices"
	"github.com/molfabric/molfabric/api/operator"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/api/public"
	"github.com/molfabric/molfabric/api/searches"
	"github.com/molfabric/molfabric/api/settings"
	"github.com/molfabric/molfabric/api/studio"
	"github.com/molfabric/molfabric/api/system"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/api/uploads"
	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/api/webhooks"
	"github.com/molfabric/molfabric/api/workers"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/internal/alignments"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/mail"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/reach"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/sequences"
	"github.com/molfabric/molfabric/internal/structures"
	"github.com/molfabric/molfabric/internal/weights"
	"github.com/molfabric/molfabric/scheduler"
	records "github.com/molfabric/molfabric/scheduler/docking"
	"github.com/molfabric/molfabric/scheduler/renders"
	searchrecords "github.com/molfabric/molfabric/scheduler/searches"
)

const (
	// apiGrace is how long running requests may take to end when the API stops.
	apiGrace = 10 * time.Second
	// burstShare of a minute's requests may come at once.
	burstShare = 5
)

// control is what the API and the scheduler share: the stores and the rooms over them.
type control struct {
	cfg       config.Config
	log       *slog.Logger
	db        *sqlx.DB
	redis     redis.UniversalClient
	objects   *object.Store
	files     *uploads.Service
	queue     *queue.Queue
	registry  *engines.Registry
	prices    *billing.Book
	alignment *alignments.Database // nil where the deployment has none
	ledger    *billing.Ledger
	metrics   *prometheus.Registry
	scheduler *scheduler.Scheduler
	fileStore api.FileStore // whose signed URLs lead to the API; none outside `molfabric up`
	console   io.Writer     // where `molfabric up` shows mails; nil elsewhere
	mails     *mail.Queue   // nil without a mail server
	teller    *webhooks.Teller
	notifier  *notices.Teller // nil where no mail is sent
	previews  *preview.Client
	web       *web.App // nil when the program was built without
	workers   *workers.Service
	issuing   redis.UniversalClient // makes users for workers; nil where nobody does
}

// openControl connects to the stores and wires the rooms.
func openControl(ctx context.Context, cfg config.Config, log *slog.Logger) (*control, error) {
	registry, err := all.Offered(cfg.Simulators)
	if err != nil {
		return nil, fmt.Errorf("simulators: %w", err)
	}
	c := &control{cfg: cfg, log: log, registry: registry, metrics: prometheus.NewRegistry()}
	if c.prices, err = loadPrices(cfg, c.registry); err != nil {
		return nil, err
	}
	if c.alignment, err = alignmentDatabase(cfg); err != nil {
		return nil, err
	}
	if c.web, err = webApp(cfg); err != nil {
		return nil, err
	}
	warnOfExposure(cfg, log)
	if c.db, err = await(ctx, cfg, log, openMigrated); err != nil {
		return nil, err
	}
	if c.redis, err = await(ctx, cfg, log, openRedis); err != nil {
		return nil, errors.Join(err, c.db.Close())
	}
	if c.objects, err = await(ctx, cfg, log, openObjects); err != nil {
		return nil, errors.Join(err, c.db.Close(), c.redis.Close())
	}
	c.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c.ledger = billing.NewLedger(c.prices, id.New)
	c.files = uploads.New(c.db, c.objects, time.Now).Bound(uploads.Quota{Bytes: cfg.QuotaBytes, Objects: cfg.QuotaObjects})
	c.queue = newQueue(c.redis, cfg)
	c.scheduler = scheduler.New(scheduler.Deps{DB: c.db, Queue: c.queue, Engines: c.registry, Prices: c.prices,
		Permits: permits(cfg, c.objects), Remover: c.objects, Ledger: c.ledger, Log: log, Metrics: scheduler.NewMetrics(c.metrics),
		Now: time.Now, RepeatRate: cfg.RepeatRate,
		Recorders: map[string]scheduler.Recorder{records.EngineID: records.Recorder{},
			searchrecords.EngineProtein: searchrecords.Recorder{}, searchrecords.EngineNucleotide: searchrecords.Recorder{},
			renders.EngineRaster: renders.Recorder{}, renders.EngineTraced: renders.Recorder{}}})
	c.metrics.MustRegister(c.scheduler)
	return c, nil
}

// permits is what signs for workers, which are not to have the store's key unless their deployment says so.
func permits(cfg config.Config, objects *object.Store) scheduler.Permits {
	if cfg.StoreAccess == config.ByKey {
		return nil
	}
	return objects
}

func (c *control) close() {
	err := errors.Join(c.db.Close(), c.redis.Close())
	if c.issuing != nil {
		err = errors.Join(err, c.issuing.Close())
	}
	if err != nil {
		c.log.Debug("stores not closed cleanly", "error", err)
	}
}

// loadPrices reads the price book, leaves out the worker classes that the deployment does not have, and makes sure that every
// engine has a price: one without could be run but never billed.
func loadPrices(cfg config.Config, registry *engines.Registry) (*billing.Book, error) {
	book, err := billing.LoadBook(cfg.Prices)
	if err != nil {
		return nil, fmt.Errorf("price book: %w", err)
	}
	for _, class := range cfg.Hardware {
		if _, priced := book.Hardware[class]; !priced {
			return nil, fmt.Errorf("hardware: the price book has no class %q; it has %s", class,
				strings.Join(slices.Sorted(maps.Keys(book.Hardware)), ", "))
		}
	}
	if len(cfg.Hardware) > 0 {
		maps.DeleteFunc(book.Hardware, func(class string, _ billing.HardwarePrice) bool {
			return !slices.Contains(cfg.Hardware, class)
		})
	}
	for _, engineID := range registry.IDs() {
		engine, _ := registry.Lookup(engineID)
		if _, err := book.Quote(billing.QuoteRequest{Engine: engineID, Hardware: engine.Spec().Hardware}); err != nil {
			return nil, fmt.Errorf("price book: %w", err)
		}
	}
	return book, nil
}

// knowledge is what a submission's names of public data are looked up in, and what its confirmed look-ups are held against.
type knowledge struct {
	*structures.Library
	*confirmation.Signer
}

// components is the dictionary of chemical components: the configured one, else the one that set-up has made in the home.
func components(cfg config.Config) string {
	made := filepath.Join(cfg.Home, "components.jsonl.gz")
	if _, err := os.Stat(made); cfg.Components == "" && err == nil {
		return made
	}
	return cfg.Components
}

// library is where structures and components are looked up.
func (c *control) library() (*structures.Library, error) {
	return structures.Open(structures.Deps{DB: c.db, Objects: c.objects, Source: c.cfg.Structures,
		Predictions: c.cfg.Predictions, Components: components(c.cfg),
		Log: c.log, Now: time.Now})
}

// knowledge opens what submissions are held against.
func (c *control) knowledge(secrets secret.Ring) (knowledge, error) {
	library, err := c.library()
	if err != nil {
		return knowledge{}, err
	}
	signer, err := confirmation.NewSigner(secrets, time.Now)
	return knowledge{library, signer}, err
}

// condition is how the deployment does: what anybody may ask without an account, and what its operators see.
func (c *control) condition(version string) func(huma.API) {
	known := c.known(version)
	seen := operator.New(operator.Deps{DB: c.db, Workers: c.queue.Workers, Led: c.scheduler.Led, Now: time.Now})
	return func(a huma.API) {
		public.Register(a, known)
		operator.Register(a, seen)
	}
}

// known is what anybody may ask without an account.
func (c *control) known(version string) *public.Service {
	parts := []public.Part{
		{Name: "jobs", Ask: func(ctx context.Context) error { return c.db.PingContext(ctx) }},
		{Name: "files", Ask: c.objects.Check},
	}
	return public.New(public.Deps{Engines: c.registry, Prices: c.prices, Workers: c.queue.Workers, Unready: c.unready,
		Version: version, Log: c.log,
		Now: time.Now, Parts: parts, RepeatRate: c.cfg.RepeatRate,
		Repeats: func(ctx context.Context, since time.Time) ([]scheduler.RepeatCount, error) {
			return scheduler.CountRepeats(ctx, c.db, since)
		}})
}

// server opens what the front door alone needs, and wires it. publicURL is how browsers reach it when nothing is configured.
func (c *control) server(ctx context.Context, version, publicURL string) (*api.Server, error) {
	if err := c.issuer(ctx); err != nil {
		return nil, err
	}
	return c.frontDoor(version, publicURL)
}

func (c *control) frontDoor(version, publicURL string) (*api.Server, error) {
	secrets, err := keySecrets(c.cfg)
	if err != nil {
		return nil, err
	}
	proxies, err := api.ParseTrustedProxies(c.cfg.TrustedProxies)
	if err != nil {
		return nil, err
	}
	taking, err := admission(c.cfg, c.console != nil)
	if err != nil {
		return nil, err
	}
	if c.cfg.PublicURL != "" {
		publicURL = c.cfg.PublicURL
	}
	post, mailed, err := c.post(taking, publicURL)
	if err != nil {
		return nil, err
	}
	c.previews = newPreviews(c.redis, c.cfg, c.metrics, c.log)
	licences, told, err := c.settings(secrets)
	if err != nil {
		return nil, err
	}
	known, err := c.knowledge(secrets)
	if err != nil {
		return nil, err
	}
	searched := sequences.New(sequences.Deps{DB: c.db, Objects: c.objects, Log: c.log, Now: time.Now})
	weighed := weights.New(weights.Deps{DB: c.db, Objects: c.objects, Log: c.log, Now: time.Now})
	receipts, err := receipt.NewSigner(secrets)
	if err != nil {
		return nil, err
	}
	work := jobs.New(jobs.Deps{DB: c.db, Scheduler: c.scheduler, Engines: c.registry, Objects: c.objects, Uploads: c.files.OwnedAll,
		Knowledge: known, Databases: searched, Weights: weighed, Alignment: c.alignment, Currency: c.prices.Currency,
		Pipeline: c.cfg.Pipeline, Receipts: receipts, Version: version, Log: c.log, Now: time.Now})
	dockings := docking.New(docking.Deps{DB: c.db, Objects: c.objects, Engines: c.registry, Submitter: work, Provenance: work,
		Currency: c.prices.Currency, Log: c.log, Now: time.Now})
	hits := searches.New(searches.Deps{DB: c.db, Objects: c.objects, Log: c.log, Now: time.Now})
	workspaces := projects.New(projects.Deps{DB: c.db, Secrets: secrets, Log: c.log, Now: time.Now})
	drawn, err := c.studio(known.Library, dockings, workspaces, work)
	if err != nil {
		return nil, err
	}
	return api.New(api.Deps{
		DB: c.db, Redis: c.redis, Ledger: c.ledger, Metrics: c.metrics, Log: c.log, Now: time.Now,
		Groups: []func(huma.API){
			func(a huma.API) { jobs.Register(a, work) },
			func(a huma.API) { uploads.Register(a, c.files) },
			func(a huma.API) { projects.Register(a, workspaces) },
			func(a huma.API) { settings.Register(a, licences) },
			func(a huma.API) { webhooks.Register(a, told) },
			func(a huma.API) { notices.Register(a, mailed) },
			c.condition(version),
			func(a huma.API) { docking.Register(a, dockings) },
			func(a huma.API) { docking.RegisterResolve(a, docking.NewResolver(known.Library, known.Signer)) },
			func(a huma.API) { databases.Register(a, searched) },
			func(a huma.API) { searches.Register(a, hits) },
			func(a huma.API) { studio.Register(a, drawn) },
		},
		Mail: post, Storage: c.storage, Rankings: dockings.Ranking,
		Pages:  []api.Page{workspaces.Mount, c.workers.Mount},
		App:    c.web,
		Checks: c.checks(),
		Config: c.apiConfig(version, publicURL, secrets, proxies, taking),
	})
}

// post is what carries mails, nil where there is nothing, and the settings of what accounts are told by them. The queue and the
// teller are the process's.
func (c *control) post(taking auth.Admission, publicURL string) (postman, *notices.Service, error) {
	carrier, queued, err := mailer(c.cfg, c.console, c.log)
	if err != nil {
		return nil, nil, err
	}
	noteSignUp(c.log, taking, carrier)
	mailed := notices.New(notices.Deps{DB: c.db, Mail: carrier, PublicURL: publicURL, Log: c.log, Now: time.Now,
		Limiter: throttle.New(c.redis, c.cfg.RedisPrefix+"limit:", c.log, time.Now)})
	c.mails = queued
	if carrier != nil {
		c.notifier = mailed.NewTeller(notices.TellerDeps{Metrics: notices.NewMetrics(c.metrics)})
	}
	return carrier, mailed, nil
}

// settings are of the servers that accounts have: those that license their software, and those that are told of events. The teller
// is the process's.
func (c *control) settings(secrets secret.Ring) (*settings.Service, *webhooks.Service, error) {
	licences, err := settings.New(settings.Deps{DB: c.db, KeySecrets: secrets, Networks: c.cfg.LicenseNetworks, Log: c.log,
		Now: time.Now})
	if err != nil {
		return nil, nil, err
	}
	guard, err := reach.New(c.cfg.WebhookNetworks, nil, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("webhook networks: %w", err)
	}
	told, err := webhooks.New(webhooks.Deps{DB: c.db, KeySecrets: secrets, Guard: guard, Log: c.log, Now: time.Now})
	if err != nil {
		return nil, nil, err
	}
	c.teller = told.NewTeller(webhooks.TellerDeps{Metrics: webhooks.NewMetrics(c.metrics)})
	return licences, told, nil
}

// checks are what /readyz asks beside the database and Redis.
func (c *control) checks() []system.Check {
	return []system.Check{{Name: "object store", Ask: func(ctx context.Context) (string, error) {
		return "", c.objects.Check(ctx)
	}}}
}

// webApp is the web app that this program carries; nil when it was built without.
func webApp(cfg config.Config) (*web.App, error) {
	if !web.Built() {
		return nil, nil //nolint:nilnil // the front door does without
	}
	return web.Embedded(web.Options{StoreOrigin: fileOrigin(cfg.S3)})
}

// apiConfig is what the front door is told of the configuration.
func (c *control) apiConfig(
	version, publicURL string, secrets secret.Ring, proxies []netip.Prefix, taking auth.Admission,
) api.Config {
	return api.Config{
		Version: version, KeySecrets: secrets, Origins: c.cfg.Origins, PublicURL: publicURL, SecureCookies: c.cfg.SecureCookies,
		FileStore: c.fileStore, TrustedProxies: proxies, RedisPrefix: c.cfg.RedisPrefix, Limits: limits(c.cfg.Limits),
		Operators: c.cfg.Operators, SignUp: taking,
		Payments: credits.Payments{SecretKey: c.cfg.Stripe.SecretKey, WebhookSecret: c.cfg.Stripe.WebhookSecret,
			APIURL: c.cfg.Stripe.APIURL},
		OIDC: auth.OIDC{Issuer: c.cfg.OIDC.Issuer, ClientID: c.cfg.OIDC.ClientID, ClientSecret: c.cfg.OIDC.ClientSecret},
	}
}

// storage is what an account's uploaded files take, as its owner sees it.
func (c *control) storage(ctx context.Context, accountID string) (contract.Storage, error) {
	taken, err := c.files.Usage(ctx, accountID)
	quota := c.files.Quota()
	return contract.Storage{UsedBytes: taken.Bytes, UsedObjects: taken.Objects, QuotaBytes: quota.Bytes,
			QuotaObjects: quota.Objects},
		err
}

// limits turns the configured limits into buckets that hold some seconds' worth at once; what is not configured keeps its
// default.
func limits(cfg config.Limits) api.Limits {
	bucket := func(perMinute int) throttle.Limit {
		return throttle.Limit{Rate: perMinute, Period: time.Minute, Burst: max(perMinute/burstShare, 1)}
	}
	limits := api.DefaultLimits()
	if cfg.CredentialPerMinute > 0 {
		limits.Credential = bucket(cfg.CredentialPerMinute)
	}
	if cfg.AddressPerMinute > 0 {
		limits.Address = bucket(cfg.AddressPerMinute)
	}
	return limits
}

// serve answers requests on ln, clears abandoned uploads away, sends mails and tells accounts of events, until the context ends.
func (c *control) serve(ctx context.Context, server *api.Server, ln net.Listener) error {
	sweeping, stop := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() { c.files.Run(sweeping, c.log) })
	sweeper.Go(func() { runMails(sweeping, c.mails) })
	sweeper.Go(func() { c.teller.Run(sweeping) })
	sweeper.Go(func() { c.workers.Run(sweeping) })
	sweeper.Go(func() { c.notifier.Run(sweeping) })
	defer sweeper.Wait()
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiGrace)
	defer cancel()
	err := server.Shutdown(grace)
	return errors.Join(err, <-failed)
}

// RunAPI is `molfabric api`: the front door alone.
func RunAPI(ctx context.Context, cfg config.Config, version string, log *slog.Logger) error {
	c, err := openControl(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer c.close()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	if c.fileStore, err = passedOnAt(cfg); err != nil {
		return errors.Join(err, ln.Close())
	}
	server, err := c.server(ctx, version, "http://"+ln.Addr().String())
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	log.Info("API ready", "url", "http://"+ln.Addr().String())
	return c.serve(ctx, server, ln)
}

// RunScheduler is `molfabric scheduler`: one scheduler of possibly several.
func RunScheduler(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	c, err := openControl(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer c.close()
	wait, err := c.showMetrics(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.schedule(ctx), wait())
}

// listen opens the API's port. When nobody asked for the default port and it is taken, any free one does.
func listen(ctx context.Context, address string, asked bool) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil && !asked && errors.Is(err, syscall.EADDRINUSE) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (another address: --listen 127.0.0.1:0 takes any free port)", address, err)
	}
	return ln, nil
}
