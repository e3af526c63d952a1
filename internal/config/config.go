// Package config is the one configuration of every molfabric process: defaults, then <home>/molfabric.yaml, then the
// environment, then flags, the later over the earlier. It reads; it starts nothing.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// FileName is the configuration file in the home directory.
const FileName = "molfabric.yaml"

// Config is everything that can be configured. Empty store addresses mean that `molfabric up` starts its own.
type Config struct {
	Home string `yaml:"-" env:"MOLFABRIC_HOME"` // directory with data, scratch and the scientific Python

	DatabaseURL string `yaml:"databaseUrl" env:"DATABASE_URL"`
	// MigrationDatabaseURL has the schema's owner, for `molfabric migrate` alone; DatabaseURL's user may then own nothing. Default DatabaseURL.
	MigrationDatabaseURL string `yaml:"migrationDatabaseUrl" env:"MIGRATION_DATABASE_URL"`

	RedisURL string `yaml:"redisUrl" env:"REDIS_URL"`
	// WorkerRedisURL is what `molfabric up` gives its worker: Redis as a user that may do what a worker does. Default RedisURL.
	WorkerRedisURL string `yaml:"workerRedisUrl" env:"MOLFABRIC_WORKER_REDIS_URL"`

	RedisPrefix string `yaml:"redisPrefix" env:"MOLFABRIC_REDIS_PREFIX"` // before every key and queue name
	S3          S3     `yaml:"s3"`

	Listen        string   `yaml:"listen" env:"MOLFABRIC_LISTEN"`                // address of the API
	MetricsListen string   `yaml:"metricsListen" env:"MOLFABRIC_METRICS_LISTEN"` // address of a scheduler's metrics; none when empty
	PublicURL     string   `yaml:"publicUrl" env:"MOLFABRIC_PUBLIC_URL"`         // how clients reach it; default http://<listen>
	Origins       []string `yaml:"origins" env:"MOLFABRIC_ORIGINS"`              // further web origins that may call with a session
	SecureCookies bool     `yaml:"secureCookies" env:"MOLFABRIC_SECURE_COOKIES"`
	// TrustedProxies are networks (CIDR) whose X-Forwarded-For is believed.
	TrustedProxies []string `yaml:"trustedProxies" env:"MOLFABRIC_TRUSTED_PROXIES"`
	// Simulators are the ids that this deployment lists: their jobs are accepted and queued even while no worker offers them,
	// all others are refused, and workers offer no other. Default: every scientific engine of this build.
	Simulators []string `yaml:"simulators" env:"MOLFABRIC_SIMULATORS"`
	// Hardware are the worker classes that this deployment has: jobs for others are refused. Default: every class of the price book;
	// of `molfabric up`, those that its own machine has.
	Hardware []string `yaml:"hardware" env:"MOLFABRIC_HARDWARE"`
	Pipeline bool     `yaml:"pipeline" env:"MOLFABRIC_PIPELINE"` // accept pipeline jobs
	// LicenseNetworks are private networks (CIDR) in which accounts may test their licence servers.
	LicenseNetworks []string `yaml:"licenseNetworks" env:"MOLFABRIC_LICENSE_NETWORKS"`
	Limits          Limits   `yaml:"limits"`

	// QuotaBytes and QuotaObjects bound the uploaded files of one account together; 0 for no bound.
	QuotaBytes   int64 `yaml:"quotaBytes" env:"MOLFABRIC_QUOTA_BYTES"`
	QuotaObjects int64 `yaml:"quotaObjects" env:"MOLFABRIC_QUOTA_OBJECTS"`

	// Structures is where entries of the Protein Data Bank and chemical components are looked up: a server laid out as
	// files.rcsb.org or as the wwPDB archive, a directory with a mirror of the archive's mmCIF files, or "off".
	Structures string `yaml:"structures" env:"MOLFABRIC_STRUCTURES"`
	Components string `yaml:"components" env:"MOLFABRIC_COMPONENTS"` // dictionary of components (deploy/components.py); default <home>/components.jsonl.gz where it is

	// SignUp says who may open an account: open, verified, oidc or closed (api/auth). Default verified with a mail server, else open.
	SignUp string `yaml:"signUp" env:"MOLFABRIC_SIGNUP"`
	// SignUpNetworks (CIDR) are trusted: their new accounts get free credit without the proof of an address. "off" for none; by default
	// `molfabric up` without a public address trusts its own machine.
	SignUpNetworks []string `yaml:"signUpNetworks" env:"MOLFABRIC_SIGNUP_NETWORKS"`
	SMTP           SMTP     `yaml:"smtp"`

	Stripe Stripe `yaml:"stripe"`
	OIDC   OIDC   `yaml:"oidc"`

	KeySecret  string `yaml:"keySecret" env:"MOLFABRIC_KEY_SECRET"`   // under which API keys are hashed; one for all instances
	Prices     string `yaml:"prices" env:"MOLFABRIC_PRICES"`          // price book; default the built-in one
	Python     string `yaml:"python" env:"MOLFABRIC_PYTHON"`          // default <home>/python/bin/python
	Slots      int    `yaml:"slots" env:"MOLFABRIC_SLOTS"`            // cores for engines; default all
	Cache      string `yaml:"cache" env:"MOLFABRIC_CACHE"`            // directory of the workers' shared inputs; default <home>/cache
	CacheBytes int64  `yaml:"cacheBytes" env:"MOLFABRIC_CACHE_BYTES"` // at most so many of them; 0 for none
	// GPUs are the devices that tasks may compute on: "auto" (those of NVIDIA's driver), "off", or a list of their indices or UUIDs,
	// or of "name=node+node", separated by commas.
	GPUs         string `yaml:"gpus" env:"MOLFABRIC_GPUS"`
	GPUTasksEach int    `yaml:"gpuTasksEach" env:"MOLFABRIC_GPU_TASKS_EACH"` // small tasks that may share a device

	Sandbox    string        `yaml:"sandbox" env:"MOLFABRIC_SANDBOX"` // bubblewrap, container or direct
	Image      string        `yaml:"image" env:"MOLFABRIC_IMAGE"`     // of the sandbox container, by digest: name@sha256:… or sha256:…
	DrainGrace time.Duration `yaml:"drainGrace" env:"MOLFABRIC_DRAIN_GRACE"`
	KeepEvents time.Duration `yaml:"keepEvents" env:"MOLFABRIC_KEEP_EVENTS"` // of ended jobs; 0 for ever
	LogLevel   string        `yaml:"logLevel" env:"MOLFABRIC_LOG_LEVEL"`     // debug, info, warn or error
	LogFormat  string        `yaml:"logFormat" env:"MOLFABRIC_LOG_FORMAT"`   // text or json
	LogFile    string        `yaml:"logFile" env:"MOLFABRIC_LOG_FILE"`       // default standard error
}

// Limits are how many requests a minute the API takes; 0 keeps the built-in one.
type Limits struct {
	CredentialPerMinute int `yaml:"credentialPerMinute" env:"MOLFABRIC_LIMIT_CREDENTIAL"` // of one API key, or of one account's browsers
	AddressPerMinute    int `yaml:"addressPerMinute" env:"MOLFABRIC_LIMIT_ADDRESS"`       // of one address without a credential
	SignUpPerHour       int `yaml:"signUpPerHour" env:"MOLFABRIC_LIMIT_SIGNUP"`           // new accounts of one address an hour
}

// SMTP is the mail server that links for new accounts go through. Without one no mail is sent; `molfabric up` prints them.
type SMTP struct {
	URL  string `yaml:"url" env:"MOLFABRIC_SMTP_URL"`   // smtp://user:password@host:587 or smtps://user:password@host:465
	From string `yaml:"from" env:"MOLFABRIC_MAIL_FROM"` // sender of mails
}

// Stripe is the payment provider. Without a secret key nothing can be bought and the API says so.
type Stripe struct {
	SecretKey     string `yaml:"secretKey" env:"STRIPE_SECRET_KEY"`
	WebhookSecret string `yaml:"webhookSecret" env:"STRIPE_WEBHOOK_SECRET"` // signs what Stripe sends us
	APIURL        string `yaml:"apiUrl" env:"STRIPE_API_URL"`               // another address than Stripe's own, for tests
}

// OIDC is an identity provider to sign in with (OpenID Connect). Without an issuer there are passwords alone.
type OIDC struct {
	Issuer       string `yaml:"issuer" env:"MOLFABRIC_OIDC_ISSUER"`
	ClientID     string `yaml:"clientId" env:"MOLFABRIC_OIDC_CLIENT_ID"`
	ClientSecret string `yaml:"clientSecret" env:"MOLFABRIC_OIDC_CLIENT_SECRET"`
}

// S3 is the object store.
type S3 struct {
	Endpoint       string `yaml:"endpoint" env:"S3_ENDPOINT"`
	PublicEndpoint string `yaml:"publicEndpoint" env:"S3_PUBLIC_ENDPOINT"` // for presigned URLs, where it differs
	Region         string `yaml:"region" env:"S3_REGION"`
	Bucket         string `yaml:"bucket" env:"S3_BUCKET"`
	AccessKey      string `yaml:"accessKey" env:"S3_ACCESS_KEY"`
	SecretKey      string `yaml:"secretKey" env:"S3_SECRET_KEY"`
}

// Load reads the configuration. flags may be nil; of its flags those that Flags has defined and the user has set win.
func Load(flags *pflag.FlagSet) (Config, error) {
	cfg := Config{
		Home: defaultHome(), Listen: "127.0.0.1:8080", Slots: runtime.NumCPU(), GPUs: "auto", GPUTasksEach: 1, Sandbox: "bubblewrap",
		QuotaBytes: defaultQuotaBytes, QuotaObjects: defaultQuotaObjects, CacheBytes: defaultCacheBytes, DrainGrace: 20 * time.Second, KeepEvents: defaultKeepEvents, LogLevel: "info", LogFormat: "text", S3: S3{Region: "us-east-1", Bucket: "molfabric"},
	}
	// The home decides which file is read, so it comes first.
	if home := os.Getenv("MOLFABRIC_HOME"); home != "" {
		cfg.Home = home
	}
	if home := set(flags, "home"); home != "" {
		cfg.Home = home
	}
	home, err := filepath.Abs(cfg.Home)
	if err != nil {
		return cfg, fmt.Errorf("home %q: %w", cfg.Home, err)
	}
	if err := readFile(filepath.Join(home, FileName), &cfg); err != nil {
		return cfg, err
	}
	if err := env.Parse(&cfg); err != nil {
		return cfg, fmt.Errorf("environment: %w", err)
	}
	cfg.Home = home
	if err := applyFlags(&cfg, flags); err != nil {
		return cfg, err
	}
	return cfg.complete()
}

// complete fills what follows from the rest and checks what can be checked without looking at the world.
func (c Config) complete() (Config, error) {
	if c.Python == "" {
		c.Python = filepath.Join(c.Home, "python", "bin", "python")
	}
	if c.Cache == "" {
		c.Cache = filepath.Join(c.Home, "cache")
	}
	if c.CacheBytes < 0 {
		return c, fmt.Errorf("cacheBytes: %d; give the bytes of inputs that workers may keep, or 0 for none", c.CacheBytes)
	}
	if c.Structures == "" {
		c.Structures = defaultStructures
	}
	if err := checkStructures(c.Structures); err != nil {
		return c, err
	}
	if c.Slots < 1 {
		return c, fmt.Errorf("slots: %d; give the number of cores for engines, at least 1", c.Slots)
	}
	if c.GPUTasksEach < 1 || c.GPUTasksEach > maxGPUTasksEach {
		return c, fmt.Errorf("gpuTasksEach: %d; give the number of small tasks that may share a GPU, 1 to %d", c.GPUTasksEach, maxGPUTasksEach)
	}
	if c.KeepEvents < 0 {
		return c, fmt.Errorf("keepEvents: %s; give how long the events of ended jobs are kept, or 0 for ever", c.KeepEvents)
	}
	if c.Sandbox != "bubblewrap" && c.Sandbox != "container" && c.Sandbox != "direct" {
		return c, fmt.Errorf("sandbox: %q; allowed are bubblewrap, container and direct", c.Sandbox)
	}
	if (c.Image != "") != (c.Sandbox == "container") {
		return c, fmt.Errorf("image: %q with the sandbox %s; the sandbox container needs an image, and no other takes one", c.Image, c.Sandbox)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return c, fmt.Errorf("log-format: %q; allowed are text and json", c.LogFormat)
	}
	if c.SMTP.URL != "" && c.SMTP.From == "" {
		return c, errors.New("MOLFABRIC_SMTP_URL is set but MOLFABRIC_MAIL_FROM is not: give the address that mails come from")
	}
	if c.QuotaBytes < 0 || c.QuotaObjects < 0 {
		return c, fmt.Errorf("quotaBytes: %d, quotaObjects: %d; give what the uploaded files of one account may take, or 0 for no bound", c.QuotaBytes, c.QuotaObjects)
	}
	if c.Limits.SignUpPerHour < 0 {
		return c, fmt.Errorf("limits.signUpPerHour: %d; give how many accounts one address may open an hour, or 0 for the built-in number", c.Limits.SignUpPerHour)
	}
	if c.S3.Endpoint != "" && (c.S3.AccessKey == "" || c.S3.SecretKey == "") {
		return c, errors.New("S3_ENDPOINT is set but S3_ACCESS_KEY or S3_SECRET_KEY is not")
	}
	return c, nil
}

// defaultCacheBytes holds a few sequence databases or structures; a worker takes less where the disk has less.
const defaultCacheBytes = 20 << 30

const (
	// defaultQuotaBytes holds a dozen long trajectories, and no account fills a common disk with it.
	defaultQuotaBytes = 50 << 30
	// defaultQuotaObjects holds ten of the largest libraries with a file a ligand.
	defaultQuotaObjects = 100_000
)

// defaultKeepEvents is long after the last client has come back to a stream of events.
const defaultKeepEvents = 90 * 24 * time.Hour

// maxGPUTasksEach bounds how thin a device may be cut: as many clients as the Multi-Process Service takes on NVIDIA's since Volta.
const maxGPUTasksEach = 48

// defaultStructures is the server of the RCSB Protein Data Bank.
const defaultStructures = "https://files.rcsb.org"

// checkStructures takes "off", a directory, whose name has no "://", and the base address of a web server.
func checkStructures(source string) error {
	if !strings.Contains(source, "://") {
		return nil
	}
	address, err := url.Parse(source)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" || address.RawQuery != "" || address.Fragment != "" {
		return fmt.Errorf("structures: %q; allowed are the base address of a web server (https://…), a directory, and off", source)
	}
	return nil
}

// Flags defines the flags that override the configuration.
func Flags(flags *pflag.FlagSet) {
	flags.String("home", "", "directory with data and the scientific Python (default $MOLFABRIC_HOME or ~/.molfabric)")
	flags.String("listen", "", "address of the API (default 127.0.0.1:8080)")
	flags.Int("slots", 0, "processor cores that engines may use (default all)")
	flags.String("log-level", "", "debug, info, warn or error (default info)")
	flags.String("log-format", "", "text or json (default text)")
	flags.String("log-file", "", "append the log to this file (default standard error)")
}

func applyFlags(cfg *Config, flags *pflag.FlagSet) error {
	for name, field := range map[string]*string{"listen": &cfg.Listen, "log-level": &cfg.LogLevel, "log-format": &cfg.LogFormat, "log-file": &cfg.LogFile} {
		if value := set(flags, name); value != "" {
			*field = value
		}
	}
	if set(flags, "slots") != "" {
		slots, err := flags.GetInt("slots")
		if err != nil {
			return fmt.Errorf("slots: %w", err)
		}
		cfg.Slots = slots
	}
	return nil
}

// set returns a flag's value when the user has given it.
func set(flags *pflag.FlagSet, name string) string {
	if flags == nil || !flags.Changed(name) {
		return ""
	}
	return flags.Lookup(name).Value.String()
}

func readFile(path string, cfg *Config) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(raw, cfg, yaml.Strict()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func defaultHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ".molfabric"
	}
	return filepath.Join(home, ".molfabric")
}
