// Package config is the one configuration of every molfabric process: defaults, then <home>/molfabric.yaml, then the
// environment, then flags, the later over the earlier. It reads; it starts nothing.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
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

// FileEnv is the environment variable that, set to "off", has the file not read: the worker of `molfabric up` gets what it
// needs in its environment, and the file has the secrets of others.
const FileEnv = "MOLFABRIC_CONFIG"

// Config is everything that can be configured. Empty store addresses mean that `molfabric up` starts its own.
type Config struct {
	Home string `yaml:"-" env:"MOLFABRIC_HOME"` // directory with data, scratch and the scientific Python

	DatabaseURL string `yaml:"databaseUrl" env:"DATABASE_URL"`
	// MigrationDatabaseURL has the schema's owner, for `molfabric migrate` alone; DatabaseURL's user may then own nothing. Default
	// DatabaseURL.
	MigrationDatabaseURL string `yaml:"migrationDatabaseUrl" env:"MIGRATION_DATABASE_URL"`

	RedisURL string `yaml:"redisUrl" env:"REDIS_URL"`
	// WorkerRedisURL is what `molfabric up` gives its worker: Redis as a user that may do what a worker does. Default RedisURL.
	WorkerRedisURL string `yaml:"workerRedisUrl" env:"MOLFABRIC_WORKER_REDIS_URL"`

	// IssuerRedisURL is Redis as a user that makes users: with it the API gives workers users of their own. "" for none.
	IssuerRedisURL string `yaml:"issuerRedisUrl" env:"MOLFABRIC_ISSUER_REDIS_URL"`
	// WorkerCredentials is how long such a user is good; workers renew theirs at half of it.
	WorkerCredentials time.Duration `yaml:"workerCredentials" env:"MOLFABRIC_WORKER_CREDENTIALS"`

	// WorkerToken is what a worker enrols with at WorkerAPI, the address of the API, in the place of RedisURL.
	WorkerToken string `yaml:"workerToken" env:"MOLFABRIC_WORKER_TOKEN"`
	WorkerAPI   string `yaml:"workerApi" env:"MOLFABRIC_WORKER_API"`

	// RedisCA is a file of PEM certificates: the authorities that alone are believed of a Redis behind rediss://. Default the
	// system's.
	RedisCA string `yaml:"redisCa" env:"MOLFABRIC_REDIS_CA"`

	RedisPrefix string `yaml:"redisPrefix" env:"MOLFABRIC_REDIS_PREFIX"` // before every key and queue name
	S3          S3     `yaml:"s3"`
	// StorePort is the port of 127.0.0.1 at which the object store that `molfabric up` starts listens; 0 for the one that it had
	// last.
	StorePort int `yaml:"storePort" env:"MOLFABRIC_STORE_PORT"`

	Listen string `yaml:"listen" env:"MOLFABRIC_LISTEN"` // address of the API
	// address of a scheduler's metrics; none when empty
	MetricsListen string   `yaml:"metricsListen" env:"MOLFABRIC_METRICS_LISTEN"`
	PublicURL     string   `yaml:"publicUrl" env:"MOLFABRIC_PUBLIC_URL"` // how clients reach it; default http://<listen>
	Origins       []string `yaml:"origins" env:"MOLFABRIC_ORIGINS"`      // further web origins that may call with a session
	SecureCookies bool     `yaml:"secureCookies" env:"MOLFABRIC_SECURE_COOKIES"`
	// TrustedProxies are networks (CIDR) whose X-Forwarded-For is believed.
	TrustedProxies []string `yaml:"trustedProxies" env:"MOLFABRIC_TRUSTED_PROXIES"`
	// Simulators are the ids that this deployment lists: their jobs are accepted and queued even while no worker offers them,
	// all others are refused, and workers offer no other. Default: every scientific engine of this build.
	Simulators []string `yaml:"simulators" env:"MOLFABRIC_SIMULATORS"`
	// Hardware are the worker classes that this deployment has: jobs for others are refused. Default: every class of the price
	// book; of `molfabric up`, those that its own machine has.
	Hardware []string `yaml:"hardware" env:"MOLFABRIC_HARDWARE"`
	Pipeline bool     `yaml:"pipeline" env:"MOLFABRIC_PIPELINE"` // accept pipeline jobs
	// LicenseNetworks are private networks (CIDR) in which accounts may test their licence servers.
	LicenseNetworks []string `yaml:"licenseNetworks" env:"MOLFABRIC_LICENSE_NETWORKS"`
	// WebhookNetworks are private networks (CIDR) in which accounts may have servers that are told of events.
	WebhookNetworks []string `yaml:"webhookNetworks" env:"MOLFABRIC_WEBHOOK_NETWORKS"`
	Limits          Limits   `yaml:"limits"`

	// QuotaBytes and QuotaObjects bound the uploaded files of one account together; 0 for no bound.
	QuotaBytes   int64 `yaml:"quotaBytes" env:"MOLFABRIC_QUOTA_BYTES"`
	QuotaObjects int64 `yaml:"quotaObjects" env:"MOLFABRIC_QUOTA_OBJECTS"`

	// Structures is where entries of the Protein Data Bank and chemical components are looked up: a server laid out as
	// files.rcsb.org or as the wwPDB archive, a directory with a mirror of the archive's mmCIF files, or "off".
	Structures string `yaml:"structures" env:"MOLFABRIC_STRUCTURES"`
	// Predictions is where predicted structures are looked up by UniProt's accession: a server that answers as the AlphaFold
	// database, a directory with its files, or "off". Default: that database, unless structures are "off".
	Predictions string `yaml:"predictions" env:"MOLFABRIC_PREDICTIONS"`
	// dictionary of components (deploy/components.py); default <home>/components.jsonl.gz where it is
	Components string `yaml:"components" env:"MOLFABRIC_COMPONENTS"`

	// SignUp says who may open an account: open, verified, oidc or closed (api/auth). Default verified with a mail server, else
	// open.
	SignUp string `yaml:"signUp" env:"MOLFABRIC_SIGNUP"`
	// Operators are the addresses of the accounts that see how the deployment does. An account must have proved its address.
	Operators []string `yaml:"operators" env:"MOLFABRIC_OPERATORS"`
	// SignUpNetworks (CIDR) are trusted: their new accounts get free credit without the proof of an address. "off" for none; by
	// default `molfabric up` without a public address trusts its own machine.
	SignUpNetworks []string `yaml:"signUpNetworks" env:"MOLFABRIC_SIGNUP_NETWORKS"`
	SMTP           SMTP     `yaml:"smtp"`

	Stripe Stripe `yaml:"stripe"`
	OIDC   OIDC   `yaml:"oidc"`

	KeySecret string `yaml:"keySecret" env:"MOLFABRIC_KEY_SECRET"` // under which API keys are hashed; one for all instances
	// KeySecretsRead are further secrets under which nothing is made, and what was made under them still opens: the one before, and
	// while instances are started again one by one, the next.
	KeySecretsRead []string `yaml:"keySecretsRead" env:"MOLFABRIC_KEY_SECRETS_READ"`

	// Director is a language model that understands sentences in the studio which the grammar does not; without a URL there is
	// none.
	Director Director `yaml:"director"`

	Prices string `yaml:"prices" env:"MOLFABRIC_PRICES"` // price book; default the built-in one
	Python string `yaml:"python" env:"MOLFABRIC_PYTHON"` // default <home>/python/bin/python
	// FoldPython is the interpreter that predicts structures, in an environment of its own; default <home>/fold/bin/python.
	FoldPython string `yaml:"foldPython" env:"MOLFABRIC_FOLD_PYTHON"`
	// AlphaFoldPython is that of ColabFold, in another one; default <home>/alphafold/bin/python.
	AlphaFoldPython string `yaml:"alphafoldPython" env:"MOLFABRIC_ALPHAFOLD_PYTHON"`
	// FoldDatabase is the folder of the sequences that alphafold aligns proteins to (internal/alignments). The front door and the
	// scheduler read its description alone; workers without the folder leave alignments to others.
	FoldDatabase string `yaml:"foldDatabase" env:"MOLFABRIC_FOLD_DATABASE"`
	// WW3 is the folder with an operator's builds of WAVEWATCH III (doc/waves.md), an absolute path; "" for none.
	WW3 string `yaml:"ww3" env:"MOLFABRIC_WW3"`

	// WorkerName is what who started a worker calls it; a fleet knows its own by it.
	WorkerName string `yaml:"workerName" env:"MOLFABRIC_WORKER_NAME"`

	Slots int `yaml:"slots" env:"MOLFABRIC_SLOTS"` // cores for engines; default all
	// MemoryBytes is what the tasks of a worker that run at once may need together; 0 for no bound.
	MemoryBytes int64 `yaml:"memoryBytes" env:"MOLFABRIC_MEMORY_BYTES"`
	// directory of the workers' shared inputs; default <home>/cache
	Cache      string `yaml:"cache" env:"MOLFABRIC_CACHE"`
	CacheBytes int64  `yaml:"cacheBytes" env:"MOLFABRIC_CACHE_BYTES"` // at most so many of them; 0 for none
	// GPUs are the devices that tasks may compute on: "auto" (those of NVIDIA's driver), "off", or a list of their indices or
	// UUIDs, or of "name=node+node", separated by commas.
	GPUs         string `yaml:"gpus" env:"MOLFABRIC_GPUS"`
	GPUTasksEach int    `yaml:"gpuTasksEach" env:"MOLFABRIC_GPU_TASKS_EACH"` // small tasks that may share a device
	// Previews is how many accounts keep a warm renderer of their own on a worker, beside the spare one; 0 for no previews.
	Previews int `yaml:"previews" env:"MOLFABRIC_PREVIEWS"`
	// PreviewLimit is how long a preview may be drawn before its renderer is ended.
	PreviewLimit time.Duration `yaml:"previewLimit" env:"MOLFABRIC_PREVIEW_LIMIT"`

	// StoreAccess is how workers reach the object store: ByPermit, or ByKey where the store knows no POST policies.
	StoreAccess string `yaml:"storeAccess" env:"MOLFABRIC_STORE_ACCESS"`

	Sandbox string `yaml:"sandbox" env:"MOLFABRIC_SANDBOX"` // bubblewrap, container or direct
	// of the sandbox container, by digest: name@sha256:… or sha256:…
	Image string `yaml:"image" env:"MOLFABRIC_IMAGE"`
	// RepeatRate is the chance with which a task that has ended well is run again, free of charge, to see whether that makes the
	// same.
	RepeatRate float64 `yaml:"repeatRate" env:"MOLFABRIC_REPEAT_RATE"`
	// OwnImage is the image of the container that a worker itself runs in, by digest, as who started it says: nobody in a container
	// can tell. Jobs that ask for another one are refused.
	OwnImage   string        `yaml:"ownImage" env:"MOLFABRIC_OWN_IMAGE"`
	DrainGrace time.Duration `yaml:"drainGrace" env:"MOLFABRIC_DRAIN_GRACE"`
	KeepEvents time.Duration `yaml:"keepEvents" env:"MOLFABRIC_KEEP_EVENTS"` // of ended jobs; 0 for ever
	LogLevel   string        `yaml:"logLevel" env:"MOLFABRIC_LOG_LEVEL"`     // debug, info, warn or error
	LogFormat  string        `yaml:"logFormat" env:"MOLFABRIC_LOG_FORMAT"`   // text or json
	LogFile    string        `yaml:"logFile" env:"MOLFABRIC_LOG_FILE"`       // default standard error
}

// Limits are how many requests a minute the API takes; 0 keeps the built-in one.
type Limits struct {
	// of one API key, or of one account's browsers
	CredentialPerMinute int `yaml:"credentialPerMinute" env:"MOLFABRIC_LIMIT_CREDENTIAL"`
	AddressPerMinute    int `yaml:"addressPerMinute" env:"MOLFABRIC_LIMIT_ADDRESS"` // of one address without a credential
	SignUpPerHour       int `yaml:"signUpPerHour" env:"MOLFABRIC_LIMIT_SIGNUP"`     // new accounts of one address an hour
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

// Director is an endpoint that speaks OpenAI's chat completions. Timeout is what a sentence may take, at most MaxDirectorTimeout.
type Director struct {
	URL     string        `yaml:"url" env:"MOLFABRIC_DIRECTOR_URL"` // base address, such as https://models.example.org/v1
	Model   string        `yaml:"model" env:"MOLFABRIC_DIRECTOR_MODEL"`
	Key     string        `yaml:"key" env:"MOLFABRIC_DIRECTOR_KEY"` // none where the endpoint wants none
	Timeout time.Duration `yaml:"timeout" env:"MOLFABRIC_DIRECTOR_TIMEOUT"`
}

// S3 is the object store.
type S3 struct {
	Endpoint       string `yaml:"endpoint" env:"S3_ENDPOINT"`
	PublicEndpoint string `yaml:"publicEndpoint" env:"S3_PUBLIC_ENDPOINT"` // of users' signed URLs, where it differs
	WorkerEndpoint string `yaml:"workerEndpoint" env:"S3_WORKER_ENDPOINT"` // in workers' permits, where they see another
	Region         string `yaml:"region" env:"S3_REGION"`
	Bucket         string `yaml:"bucket" env:"S3_BUCKET"`
	AccessKey      string `yaml:"accessKey" env:"S3_ACCESS_KEY"`
	SecretKey      string `yaml:"secretKey" env:"S3_SECRET_KEY"`
	SessionToken   string `yaml:"sessionToken" env:"S3_SESSION_TOKEN"` // of a key that is good for a time only
	// Credentials says what signs: "key", the access and secret key, or "chain", what the AWS SDK finds (web identity, roles).
	// Default key.
	Credentials string `yaml:"credentials" env:"S3_CREDENTIALS"`
}

// Load reads the configuration. flags may be nil; of its flags those that Flags has defined and the user has set win.
func Load(flags *pflag.FlagSet) (Config, error) {
	cfg := Config{
		Home: defaultHome(), Listen: "127.0.0.1:8080", Slots: runtime.NumCPU(), GPUs: "auto", GPUTasksEach: 1, Previews: 1,
		PreviewLimit: defaultPreviewLimit, WorkerCredentials: defaultWorkerCredentials,
		Sandbox: "bubblewrap", QuotaBytes: defaultQuotaBytes, QuotaObjects: defaultQuotaObjects, CacheBytes: defaultCacheBytes,
		Director:    Director{Timeout: MaxDirectorTimeout},
		StoreAccess: ByPermit, DrainGrace: 20 * time.Second, KeepEvents: defaultKeepEvents, LogLevel: "info", LogFormat: "text",
		S3: S3{Region: "us-east-1", Bucket: "molfabric"},
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
	if os.Getenv(FileEnv) != "off" {
		err = readFile(filepath.Join(home, FileName), &cfg)
	}
	if err != nil {
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

// withDefaults fills in the places and sources that nobody has set.
func (c Config) withDefaults() Config {
	sources := defaultPredictions
	if c.Structures == sourceOff {
		sources = sourceOff
	}
	c.Python = cmp.Or(c.Python, filepath.Join(c.Home, "python", "bin", "python"))
	c.FoldPython = cmp.Or(c.FoldPython, filepath.Join(c.Home, "fold", "bin", "python"))
	c.AlphaFoldPython = cmp.Or(c.AlphaFoldPython, filepath.Join(c.Home, "alphafold", "bin", "python"))
	c.Cache = cmp.Or(c.Cache, filepath.Join(c.Home, "cache"))
	c.Structures = cmp.Or(c.Structures, defaultStructures)
	c.Predictions = cmp.Or(c.Predictions, sources)
	return c
}

// complete fills what follows from the rest and checks what can be checked without looking at the world.
func (c Config) complete() (Config, error) {
	c = c.withDefaults()
	if c.CacheBytes < 0 {
		return c, fmt.Errorf("cacheBytes: %d; give the bytes of inputs that workers may keep, or 0 for none", c.CacheBytes)
	}
	if err := errors.Join(checkSource("structures", c.Structures), checkSource("predictions", c.Predictions)); err != nil {
		return c, err
	}
	if c.Slots < 1 {
		return c, fmt.Errorf("slots: %d; give the number of cores for engines, at least 1", c.Slots)
	}
	if c.MemoryBytes < 0 {
		return c, fmt.Errorf("memoryBytes: %d; give the bytes that the tasks of a worker may need together, or 0 for no bound",
			c.MemoryBytes)
	}
	if c.GPUTasksEach < 1 || c.GPUTasksEach > maxGPUTasksEach {
		return c, fmt.Errorf("gpuTasksEach: %d; give the number of small tasks that may share a GPU, 1 to %d", c.GPUTasksEach,
			maxGPUTasksEach)
	}
	if c.Previews < 0 || c.Previews > maxPreviews {
		return c, fmt.Errorf("previews: %d; give for how many accounts a worker keeps a warm renderer, at most %d, or 0 for no "+
			"previews", c.Previews, maxPreviews)
	}
	if c.PreviewLimit < time.Second || c.PreviewLimit > maxPreviewLimit {
		return c, fmt.Errorf("previewLimit: %s; give how long a preview may be drawn, 1s to %s", c.PreviewLimit, maxPreviewLimit)
	}
	if !(c.RepeatRate >= 0 && c.RepeatRate <= 1) {
		return c, fmt.Errorf("repeatRate (MOLFABRIC_REPEAT_RATE): %g; give the share of tasks that are run again by chance, 0 to 1",
			c.RepeatRate)
	}
	if c.KeepEvents < 0 {
		return c, fmt.Errorf("keepEvents: %s; give how long the events of ended jobs are kept, or 0 for ever", c.KeepEvents)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return c, fmt.Errorf("log-format: %q; allowed are text and json", c.LogFormat)
	}
	if c.StorePort < 0 || c.StorePort > maxPort {
		return c, fmt.Errorf("storePort: %d; give the port of the object store that `molfabric up` starts, 1 to %d, or 0 for the "+
			"one that it had last", c.StorePort, maxPort)
	}
	if c.WW3 != "" && (!filepath.IsAbs(c.WW3) || filepath.Clean(c.WW3) != c.WW3) {
		return c, fmt.Errorf("ww3 (MOLFABRIC_WW3): %q; give the absolute path of the folder with builds of WAVEWATCH III, without "+
			"\"..\" and a slash at its end", c.WW3)
	}
	if c.SMTP.URL != "" && c.SMTP.From == "" {
		return c, errors.New("MOLFABRIC_SMTP_URL is set but MOLFABRIC_MAIL_FROM is not: give the address that mails come from")
	}
	if c.QuotaBytes < 0 || c.QuotaObjects < 0 {
		return c, fmt.Errorf("quotaBytes: %d, quotaObjects: %d; give what the uploaded files of one account may take, or 0 for "+
			"no bound", c.QuotaBytes, c.QuotaObjects)
	}
	if c.Limits.SignUpPerHour < 0 {
		return c, fmt.Errorf("limits.signUpPerHour: %d; give how many accounts one address may open an hour, or 0 for the "+
			"built-in number", c.Limits.SignUpPerHour)
	}
	if c.StoreAccess != ByPermit && c.StoreAccess != ByKey {
		return c, fmt.Errorf("storeAccess: %q; allowed are %s and %s", c.StoreAccess, ByPermit, ByKey)
	}
	if err := errors.Join(c.checkSandbox(), c.Director.check(), c.checkIdentity()); err != nil {
		return c, err
	}
	return c, c.S3.check()
}

// checkSandbox looks at where the programs of tasks run.
func (c Config) checkSandbox() error {
	if c.Sandbox != "bubblewrap" && c.Sandbox != "container" && c.Sandbox != "direct" {
		return fmt.Errorf("sandbox: %q; allowed are bubblewrap, container and direct", c.Sandbox)
	}
	if (c.Image != "") != (c.Sandbox == "container") {
		return fmt.Errorf("image: %q with the sandbox %s; the sandbox container needs an image, and no other takes one", c.Image,
			c.Sandbox)
	}
	if c.OwnImage != "" && c.Sandbox == "container" {
		return fmt.Errorf("ownImage (MOLFABRIC_OWN_IMAGE): %q with the sandbox container, whose image is named by image "+
			"(MOLFABRIC_IMAGE)", c.OwnImage)
	}
	return nil
}

// checkIdentity looks at what gives workers users of Redis of their own.
func (c Config) checkIdentity() error {
	if c.WorkerCredentials < minWorkerCredentials || c.WorkerCredentials > maxWorkerCredentials {
		return fmt.Errorf("MOLFABRIC_WORKER_CREDENTIALS (workerCredentials): %s; give how long a worker's user of Redis is good, "+
			"%s to %s", c.WorkerCredentials, minWorkerCredentials, maxWorkerCredentials)
	}
	if (c.WorkerToken == "") != (c.WorkerAPI == "") {
		return errors.New("MOLFABRIC_WORKER_TOKEN (workerToken) and MOLFABRIC_WORKER_API (workerApi): give both, the token that " +
			"`molfabric fleet enrol` has printed and the address of the API, or neither")
	}
	return nil
}

// How long a worker's user of Redis is good: long enough for an API that is started again, and short for one who stole it.
const defaultWorkerCredentials, minWorkerCredentials, maxWorkerCredentials = 10 * time.Minute, 10 * time.Second, time.Hour

// MaxDirectorTimeout is what a sentence may take at a language model, and does by default: somebody waits for the answer.
const MaxDirectorTimeout = 10 * time.Second

func (d Director) check() error {
	if d.Timeout <= 0 || d.Timeout > MaxDirectorTimeout {
		return fmt.Errorf("MOLFABRIC_DIRECTOR_TIMEOUT (director: timeout): %s; give what a sentence may take at the model, more "+
			"than 0 and up to %s", d.Timeout, MaxDirectorTimeout)
	}
	if d.URL == "" {
		if d.Model != "" || d.Key != "" {
			return errors.New("MOLFABRIC_DIRECTOR_MODEL or MOLFABRIC_DIRECTOR_KEY is set but MOLFABRIC_DIRECTOR_URL is not: " +
				"give the endpoint that they are for")
		}
		return nil
	}
	if d.Model == "" {
		return errors.New("MOLFABRIC_DIRECTOR_URL is set but MOLFABRIC_DIRECTOR_MODEL is not: give the name that the endpoint " +
			"has for the model")
	}
	// What was given is not repeated: it may hold a password.
	const allowed = "MOLFABRIC_DIRECTOR_URL (director: url): give the base address of an OpenAI-compatible endpoint, such as " +
		"https://models.example.org/v1, without a user or a query"
	address, err := url.Parse(d.URL)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Hostname() == "" || address.User != nil ||
		address.RawQuery != "" || address.Fragment != "" {
		return errors.New(allowed)
	}
	if d.Key != "" && address.Scheme == "http" && !isLoopback(address.Hostname()) {
		return errors.New("MOLFABRIC_DIRECTOR_URL (director: url): is http: on another machine, and MOLFABRIC_DIRECTOR_KEY " +
			"would be sent to it in the clear; give an https: address")
	}
	return nil
}

// isLoopback tells addresses of this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// The values of S3.Credentials; "" means CredentialsKey.
const (
	CredentialsKey   = "key"
	CredentialsChain = "chain"
)

func (s S3) check() error {
	chain := s.Credentials == CredentialsChain
	switch {
	case s.Credentials != "" && s.Credentials != CredentialsKey && !chain:
		return fmt.Errorf("S3_CREDENTIALS (s3: credentials): %q; allowed are %s, which takes S3_ACCESS_KEY and S3_SECRET_KEY, "+
			"and %s, which takes "+
			"what the AWS SDK finds: AWS_* variables, a web identity, the role of the machine", s.Credentials, CredentialsKey,
			CredentialsChain)
	case chain && s.Endpoint == "":
		return errors.New("S3_CREDENTIALS is chain but S3_ENDPOINT is not set: the store that `molfabric up` brings has a key of " +
			"its own")
	case chain && (s.AccessKey != "" || s.SecretKey != "" || s.SessionToken != ""):
		return errors.New("S3_CREDENTIALS is chain, so take S3_ACCESS_KEY, S3_SECRET_KEY and S3_SESSION_TOKEN away: only one of " +
			"them can sign")
	case s.Endpoint != "" && !chain && (s.AccessKey == "" || s.SecretKey == ""):
		return errors.New("S3_ENDPOINT is set but S3_ACCESS_KEY or S3_SECRET_KEY is not; with S3_CREDENTIALS=chain neither " +
			"is needed")
	}
	return nil
}

// The values of StoreAccess.
const (
	ByPermit = "permit" // each attempt comes with one, for its own files
	ByKey    = "key"    // every worker has the store's key, which reads and writes the files of all accounts
)

// defaultCacheBytes holds a few sequence databases or structures; a worker takes less where the disk has less.
const defaultCacheBytes = 20 << 30

const (
	// defaultQuotaBytes holds a dozen long trajectories, and no account fills a common disk with it.
	defaultQuotaBytes = 50 << 30
	// defaultQuotaObjects holds ten of the largest libraries with a file a ligand.
	defaultQuotaObjects = 100_000
)

// maxPort is the largest port of TCP.
const maxPort = 65535

// defaultKeepEvents is long after the last client has come back to a stream of events.
const defaultKeepEvents = 90 * 24 * time.Hour

// maxGPUTasksEach bounds how thin a device may be cut: as many clients as the Multi-Process Service takes on NVIDIA's since Volta.
const maxGPUTasksEach = 48

// maxPreviews bounds the renderers of a worker: each takes a gigabyte of memory.
const maxPreviews = 16

// Somebody waits for a preview.
const defaultPreviewLimit, maxPreviewLimit = 20 * time.Second, 2 * time.Minute

// defaultStructures is the server of the RCSB Protein Data Bank.
const defaultStructures = "https://files.rcsb.org"

// defaultPredictions is the AlphaFold database.
const defaultPredictions = "https://alphafold.ebi.ac.uk"

// sourceOff looks nothing up.
const sourceOff = "off"

// checkSource takes "off", a directory, whose name has no "://", and the base address of a web server.
func checkSource(key, source string) error {
	if !strings.Contains(source, "://") {
		return nil
	}
	address, err := url.Parse(source)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" || address.RawQuery != "" ||
		address.Fragment != "" {
		return fmt.Errorf("%s: %q; allowed are the base address of a web server (https://…), a directory, and off", key, source)
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
	for name, field := range map[string]*string{"listen": &cfg.Listen, "log-level": &cfg.LogLevel, "log-format": &cfg.LogFormat,
		"log-file": &cfg.LogFile} {
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

// Variables are the names of all environment variables that a configuration is read from.
func Variables() ([]string, error) {
	fields, err := env.GetFieldParams(&Config{})
	if err != nil {
		return nil, fmt.Errorf("list the environment variables: %w", err)
	}
	names := []string{FileEnv}
	for _, field := range fields {
		names = append(names, field.Key)
	}
	return names, nil
}
