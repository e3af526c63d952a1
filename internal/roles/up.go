package roles

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// stopGrace bounds the stop of one server.
	stopGrace = 30 * time.Second
	// workerPause is the first pause before a worker that died is started again; it doubles up to workerPauseMax.
	workerPause    = 500 * time.Millisecond
	workerPauseMax = 30 * time.Second
	// workerGrace is added to the drain grace for a worker's last reports before it is killed.
	workerGrace = 15 * time.Second
)

// The users of the Redis that `molfabric up` starts: of its API and scheduler, of its worker, and what makes users for others.
const controlUser, workerUser, issuerUser = "control", "worker", "issuer"

// Running is what `molfabric up` leaves in its home directory for other commands to find it.
type Running struct {
	PID       int       `json:"pid"`
	URL       string    `json:"url"`
	StartedAt time.Time `json:"startedAt"`
	// Stores are for the commands of its operator; the file is its owner's alone.
	Stores RunningStores `json:"stores"`
}

// RunningStores are the stores that a running system works with.
type RunningStores struct {
	DatabaseURL string    `json:"databaseUrl"`
	S3          config.S3 `json:"s3"`
}

// stopper is a server that was started here.
type stopper struct {
	name string
	stop func(context.Context) error
	done <-chan struct{}
}

// Up is `molfabric up`: the stores that are not configured, the schema, the API, the scheduler and a worker, until the
// context ends. Then everything stops in the order in which nothing is lost: the worker drains, the scheduler commits what it
// has reported, the stores close. ready, when not nil, is called once the API answers and a worker runs.
func Up(ctx context.Context, cfg config.Config, askedAddress bool, version string, log *slog.Logger, ready func(Running)) error {
	if err := os.MkdirAll(cfg.Home, 0o755); err != nil {
		return fmt.Errorf("make the home directory: %w", err)
	}
	ownStore := cfg.S3.Endpoint == ""
	started, err := startStores(ctx, &cfg, log)
	defer func() { stopAll(context.WithoutCancel(ctx), started, log) }()
	if err != nil {
		return err
	}
	if err := Migrate(ctx, cfg, log); err != nil {
		return err
	}
	if cfg.Hardware, err = ownHardware(ctx, cfg, log); err != nil {
		return err
	}
	c, err := openControl(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer c.close()
	c.console = os.Stdout
	ln, err := listen(ctx, cfg.Listen, askedAddress)
	if err != nil {
		return err
	}
	address := "http://" + ln.Addr().String()
	waitMetrics, err := c.showMetrics(ctx)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { _ = waitMetrics() }()
	if ownStore {
		if err := c.passFilesOn(ctx, ln, address); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	server, err := c.server(ctx, version, address)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	running := Running{PID: os.Getpid(), URL: address, StartedAt: time.Now().UTC(),
		Stores: RunningStores{DatabaseURL: cmp.Or(cfg.MigrationDatabaseURL, cfg.DatabaseURL), S3: cfg.S3}}
	forget, err := announce(cfg.Home, running)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer forget()
	defer noteHome(cfg.Home, log)()

	// The scheduler and the API outlive the worker, so that its last reports are committed.
	background, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var rooms sync.WaitGroup
	rooms.Go(func() { _ = c.schedule(background) })
	rooms.Go(func() {
		if err := c.serve(background, server, ln); err != nil {
			stop(fmt.Errorf("the API failed: %w", err))
		}
	})
	ctx, cancel := context.WithCancelCause(ctx)
	rooms.Go(func() { watchStores(background, started, cancel) })
	log.Info("molfabric is up", "url", running.URL, "docs", running.URL+"/docs", "home", cfg.Home)
	if ready != nil {
		ready(running)
	}
	superviseWorker(ctx, cfg, log)
	stop(nil)
	rooms.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// passFilesOn makes this process the way to its own object store, for pages too.
func (c *control) passFilesOn(ctx context.Context, ln net.Listener, address string) error {
	c.fileStore = passedOn(c.cfg.S3)
	noteReach(c.cfg, ln, c.log)
	return c.allowPages(ctx, cmp.Or(c.cfg.PublicURL, address))
}

// ownHardware is the worker classes of a system on one machine: a job for a device that is not here would wait for ever.
func ownHardware(ctx context.Context, cfg config.Config, log *slog.Logger) ([]string, error) {
	if len(cfg.Hardware) > 0 {
		return cfg.Hardware, nil
	}
	devices, err := sandbox.FindDevices(ctx, cfg.GPUs, log)
	if err != nil || len(devices) > 0 {
		return nil, err
	}
	return []string{engines.HardwareCPU}, nil
}

// startStores starts the stores that the configuration does not name, and fills their addresses in.
func startStores(ctx context.Context, cfg *config.Config, log *slog.Logger) (started []stopper, err error) {
	if cfg.S3.Endpoint == "" { // before a first start of Postgres, which takes its time
		if err := servers.CheckStore(); err != nil {
			return started, err
		}
	}
	if cfg.DatabaseURL == "" {
		p, err := servers.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(cfg.Home, "postgres"), Log: log})
		if err != nil {
			return started, err
		}
		cfg.DatabaseURL, cfg.MigrationDatabaseURL = p.ServedURL(), p.URL()
		started = append(started, stopper{"postgres", p.Stop, p.Done()})
	}
	if cfg.RedisURL == "" {
		r, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(cfg.Home, "redis"), Log: log, TLS: true,
			Users: []servers.RedisUser{
				{Name: controlUser, ACL: queue.ControlACL(cfg.RedisPrefix)},
				{Name: workerUser, ACL: queue.WorkerACL(cfg.RedisPrefix)},
				{Name: issuerUser, ACL: queue.IssuerACL()}}})
		if err != nil {
			return started, err
		}
		cfg.IssuerRedisURL = r.UserURL(issuerUser)
		cfg.RedisURL, cfg.WorkerRedisURL, cfg.RedisCA = r.UserURL(controlUser), r.UserURL(workerUser), r.Certificate()
		started = append(started, stopper{"redis", r.Stop, r.Done()})
	}
	if cfg.S3.Endpoint == "" {
		own, g, err := startObjects(ctx, *cfg, log)
		if err != nil {
			return started, err
		}
		cfg.S3 = own
		started = append(started, stopper{"object store", g.Stop, g.Done()})
	}
	return started, nil
}

// watchStores ends everything when a store that was started here dies: what follows could not be kept.
func watchStores(ctx context.Context, started []stopper, end context.CancelCauseFunc) {
	var watches sync.WaitGroup
	for _, s := range started {
		watches.Go(func() {
			select {
			case <-ctx.Done():
			case <-s.done:
				end(fmt.Errorf("%s ended by itself; its log above tells why", s.name))
			}
		})
	}
	watches.Wait()
}

// stopAll stops servers in the reverse order of their start.
func stopAll(ctx context.Context, started []stopper, log *slog.Logger) {
	for i := len(started) - 1; i >= 0; i-- {
		grace, cancel := context.WithTimeout(ctx, stopGrace)
		if err := started[i].stop(grace); err != nil {
			log.Error("server not stopped cleanly", "server", started[i].name, "error", err)
		}
		cancel()
	}
}

// superviseWorker runs `molfabric worker` as a child, again when it dies, until the context ends; then it lets it drain.
func superviseWorker(ctx context.Context, cfg config.Config, log *slog.Logger) {
	pause := workerPause
	for ctx.Err() == nil {
		began := time.Now()
		err := runWorkerChild(ctx, cfg)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > workerPauseMax {
			pause = workerPause
		}
		log.Error("worker ended; starting it again", "error", err, "after", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, workerPauseMax)
	}
}

// runWorkerChild starts one worker process and waits for its end. It gets the address of Redis, and no database and no object
// store. It does not read the configuration's file, whose secrets are not for it.
func runWorkerChild(ctx context.Context, cfg config.Config) error {
	child := exec.Command("/proc/self/exe", "worker", "--home", cfg.Home, "--slots", fmt.Sprint(cfg.Slots))
	child.Args[0] = "molfabric"
	child.Env = workerEnvironment(cfg)
	child.Stdout, child.Stderr = os.Stderr, os.Stderr
	if err := proc.Start(child); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	exited := make(chan struct{})
	var err error
	go func() { err = child.Wait(); close(exited) }()
	select {
	case <-exited:
		return err
	case <-ctx.Done():
		stopErr := proc.Stop(context.WithoutCancel(ctx), child.Process.Pid, exited, syscall.SIGTERM, cfg.DrainGrace+workerGrace)
		<-exited
		return stopErr
	}
}

func workerEnvironment(cfg config.Config) []string {
	env := []string{
		config.FileEnv + "=off",
		"REDIS_URL=" + cmp.Or(cfg.WorkerRedisURL, cfg.RedisURL), "MOLFABRIC_REDIS_CA=" + cfg.RedisCA,
		"MOLFABRIC_REDIS_PREFIX=" + cfg.RedisPrefix, "MOLFABRIC_STORE_ACCESS=" + cfg.StoreAccess,
		"MOLFABRIC_SIMULATORS=" + strings.Join(cfg.Simulators, ","), "MOLFABRIC_GPUS=" + cfg.GPUs,
		"MOLFABRIC_GPU_TASKS_EACH=" + strconv.Itoa(cfg.GPUTasksEach), "MOLFABRIC_PREVIEWS=" + strconv.Itoa(cfg.Previews),
		"MOLFABRIC_PREVIEW_LIMIT=" + cfg.PreviewLimit.String(), "MOLFABRIC_CACHE=" + cfg.Cache,
		"MOLFABRIC_CACHE_BYTES=" + strconv.FormatInt(cfg.CacheBytes, 10), "MOLFABRIC_PYTHON=" + cfg.Python,
		"MOLFABRIC_FOLD_PYTHON=" + cfg.FoldPython, "MOLFABRIC_ALPHAFOLD_PYTHON=" + cfg.AlphaFoldPython,
		"MOLFABRIC_FOLD_DATABASE=" + cfg.FoldDatabase,
		"MOLFABRIC_WW3=" + cfg.WW3,
		"MOLFABRIC_SANDBOX=" + cfg.Sandbox, "MOLFABRIC_IMAGE=" + cfg.Image, "MOLFABRIC_OWN_IMAGE=" + cfg.OwnImage,
		"MOLFABRIC_DRAIN_GRACE=" + cfg.DrainGrace.String(),
		"MOLFABRIC_LOG_LEVEL=" + cfg.LogLevel, "MOLFABRIC_LOG_FORMAT=" + cfg.LogFormat, "MOLFABRIC_LOG_FILE=" + cfg.LogFile,
	}
	if cfg.StoreAccess == config.ByKey {
		env = append(env, "S3_ENDPOINT="+cfg.S3.Endpoint, "S3_REGION="+cfg.S3.Region, "S3_BUCKET="+cfg.S3.Bucket,
			"S3_ACCESS_KEY="+cfg.S3.AccessKey, "S3_SECRET_KEY="+cfg.S3.SecretKey,
			"S3_SESSION_TOKEN="+cfg.S3.SessionToken, "S3_CREDENTIALS="+cfg.S3.Credentials)
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if cfg.StoreAccess == config.ByKey && cfg.S3.Credentials == config.CredentialsChain { // its worker asks the same chain
		env = append(env, slices.DeleteFunc(os.Environ(), func(one string) bool { return !strings.HasPrefix(one, "AWS_") })...)
	}
	return env
}

func runningFile(home string) string { return filepath.Join(home, "running.json") }

// announce leaves a file that tells other commands where this system answers; forget removes it.
func announce(home string, running Running) (forget func(), err error) {
	body, err := json.Marshal(running)
	if err != nil {
		return nil, fmt.Errorf("describe the running system: %w", err)
	}
	if err := replaceFile(runningFile(home), body); err != nil {
		return nil, fmt.Errorf("describe the running system: %w", err)
	}
	return func() { _ = os.Remove(runningFile(home)) }, nil
}

// replaceFile puts a file that is its owner's alone in the place of another one, whoever could read that: to write into the old one
// would keep its mode and those who have it open.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error tells more
	}
	return err
}

// FindRunning returns the system that runs from a home directory, or nil.
func FindRunning(home string) *Running {
	body, err := os.ReadFile(runningFile(home))
	if err != nil {
		return nil
	}
	var running Running
	if json.Unmarshal(body, &running) != nil || syscall.Kill(running.PID, 0) != nil {
		return nil
	}
	return &running
}
