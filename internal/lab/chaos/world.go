// Package chaos breaks molfabric on purpose and holds it to its promises: it runs the real binary's processes against a Postgres,
// a Redis and an S3 server of their own, kills, stops and starves them, and lets an oracle look at what is left. It holds the
// tests of the reliability scorecard, one row a Test, and nothing that the product needs to run.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/gateway"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// The roles of the binary that a world runs.
const (
	roleAPI       = "api"
	roleScheduler = "scheduler"
	roleWorker    = "worker"
)

const (
	// patience bounds every wait that no bound of the scorecard limits; what is healthy needs seconds.
	patience = 90 * time.Second
	// poll is how often a world looks whether something has come about.
	poll = 20 * time.Millisecond
	// maxConnections lets three APIs, two schedulers and the test have their pools at once.
	maxConnections = "max_connections=300"
)

// WorldOptions say how a world is made.
type WorldOptions struct {
	Program  string  // path of molfabric, beside which molfabric-store lies
	Python   string  // the scientific Python
	Home     string  // an empty directory that the stores' users may enter
	Short    bool    // tests make their jobs small
	Patience float64 // what the bounds of the scorecard are multiplied with on a busy machine; 0 means 1
	Target   *Target // nil: nothing is docked
	Log      *slog.Logger
}

// Target is a receptor that real dockings go into, for what the probe cannot show.
type Target struct {
	Path   string // PDBQT
	Center mol.BoxCenter
}

// World is a whole deployment on loopback that a test owns: the stores, reached over lines that can be cut, and the processes of
// the real binary. Its methods may be called concurrently where nothing else is said.
type World struct {
	Short bool
	// PostgresLine, RedisLine and S3Line are what every process reaches the stores over, the World itself too.
	PostgresLine, RedisLine, S3Line *Line

	program, python, home string
	patience              float64
	target                *Target
	log                   *slog.Logger
	storeLog              *os.File

	postgres       *servers.Postgres // nil while it is stopped, as the two others
	redis          *servers.Redis
	s3             *gateway.Gateway
	db             *sqlx.DB
	rdb            redis.UniversalClient
	queue          *queue.Queue
	objects        *object.Store
	workerRedisURL string   // as the user of workers
	issuerRedisURL string   // as the user that makes users for single workers
	entrance       string   // URL of APIs that the World did not start; "" for none
	stores         []string // the environment that names the stores
	secret         string

	mu        sync.Mutex
	processes []*Process
	accounts  []*Account
	groups    []string // what the control groups' names begin with of all workers that have ever run
	homes     []string // of workers
	deaths    []string // processes that ended although nobody asked them to
	figures   map[string]float64
	notes     []string
	swept     bool // no worker has been killed since the last one started
}

// OpenWorld starts the stores and brings the schema up. Nothing else runs yet. Close ends all of it.
func OpenWorld(ctx context.Context, o WorldOptions) (w *World, err error) {
	w = &World{Short: o.Short, program: o.Program, python: o.Python, home: o.Home, patience: max(o.Patience, 1), target: o.Target,
		log: o.Log, secret: id.New("chaos_"), figures: map[string]float64{}, swept: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close(ctx))
		}
	}()
	for _, dir := range []string{filepath.Join(w.home, "logs"), filepath.Join(w.home, "worker"), w.temp()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return w, err
		}
	}
	if w.storeLog, err = os.Create(filepath.Join(w.home, "logs", "stores.log")); err != nil {
		return w, err
	}
	for _, line := range []**Line{&w.PostgresLine, &w.RedisLine, &w.S3Line} {
		if *line, err = openLine(); err != nil {
			return w, err
		}
	}
	if err := w.startStores(ctx); err != nil {
		return w, err
	}
	err = w.connect(ctx)
	return w, err
}

// startStores starts the three stores at once.
func (w *World) startStores(ctx context.Context) error {
	starts := []func(context.Context) error{w.StartPostgres, w.StartRedis, w.StartS3}
	failures := make([]error, len(starts))
	var started sync.WaitGroup
	for i, start := range starts {
		started.Go(func() { failures[i] = start(ctx) })
	}
	started.Wait()
	return errors.Join(failures...)
}

// ofStores is where the stores' logs go: that a killed one has died is no news to the operator.
func (w *World) ofStores() *slog.Logger {
	return slog.New(slog.NewTextHandler(w.storeLog, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// StartPostgres starts Postgres on its data, also after StopPostgres; processes reach it where it was.
func (w *World) StartPostgres(ctx context.Context) (err error) {
	w.postgres, err = servers.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(w.home, "postgres"), Log: w.ofStores(),
		Settings: []string{maxConnections}})
	if err != nil {
		return err
	}
	return w.PostgresLine.connect(w.postgres.URL())
}

// StartRedis starts Redis on its data, also after KillRedis; processes reach it where it was.
func (w *World) StartRedis(ctx context.Context) (err error) {
	if w.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(w.home, "redis"), Log: w.ofStores(),
		Users: redisUsers()}); err != nil {
		return err
	}
	return w.RedisLine.connect(w.redis.URL())
}

// The users of Redis that a deployment has; the World itself may do everything.
const controlUser, workerUser, issuerUser = "control", "worker", "issuer"

func redisUsers() []servers.RedisUser {
	return []servers.RedisUser{{Name: controlUser, ACL: queue.ControlACL("")}, {Name: workerUser, ACL: queue.WorkerACL("")},
		{Name: issuerUser, ACL: queue.IssuerACL()}}
}

// StartS3 starts the object store on its data, also after KillS3; processes reach it where it was.
func (w *World) StartS3(ctx context.Context) (err error) {
	if w.s3, err = gateway.Start(ctx, gateway.Options{Dir: filepath.Join(w.home, "s3"), Log: w.ofStores(),
		Program: servers.StoreOf(w.program)}); err != nil {
		return err
	}
	return w.S3Line.connect(w.s3.Endpoint())
}

// connect opens the World's own ways into the stores.
func (w *World) connect(ctx context.Context) error {
	databaseURL, err := w.PostgresLine.through(w.postgres.URL())
	if err != nil {
		return err
	}
	redisURL, err := w.RedisLine.through(w.redis.URL())
	if err != nil {
		return err
	}
	controlURL, err := w.RedisLine.through(w.redis.UserURL(controlUser))
	if err != nil {
		return err
	}
	if w.workerRedisURL, err = w.RedisLine.through(w.redis.UserURL(workerUser)); err != nil {
		return err
	}
	if w.issuerRedisURL, err = w.RedisLine.through(w.redis.UserURL(issuerUser)); err != nil {
		return err
	}
	s3 := w.s3.Config()
	if s3.Endpoint, err = w.S3Line.through(s3.Endpoint); err != nil {
		return err
	}
	w.stores = []string{"REDIS_URL=" + controlURL, "S3_ENDPOINT=" + s3.Endpoint, "S3_REGION=" + s3.Region, "S3_BUCKET=" + s3.Bucket,
		"S3_ACCESS_KEY=" + s3.AccessKey, "S3_SECRET_KEY=" + s3.SecretKey, "DATABASE_URL=" + databaseURL}
	if w.objects, err = object.New(s3); err != nil {
		return err
	}
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		return fmt.Errorf("the address of Redis: %w", err)
	}
	w.rdb = redis.NewClient(options)
	w.queue = queue.New(w.rdb, "")
	w.db, err = openMigrated(ctx, databaseURL)
	return err
}

// DB is the World's own way into the database. It survives a restart of Postgres.
func (w *World) DB() *sqlx.DB { return w.db }

// Redis is the World's own way into Redis. It survives a restart.
func (w *World) Redis() redis.UniversalClient { return w.rdb }

// Queue is the fabric's queue as the scheduler and the workers see it.
func (w *World) Queue() *queue.Queue { return w.queue }

// Objects is the object store, as the fabric sees it.
func (w *World) Objects() *object.Store { return w.objects }

// Home is the World's directory.
func (w *World) Home() string { return w.home }

// Python is the scientific Python.
func (w *World) Python() string { return w.python }

// Bound is a bound of the scorecard, multiplied with the patience that the machine needs.
func (w *World) Bound(d time.Duration) time.Duration { return time.Duration(float64(d) * w.patience) }

// Logf tells the operator what happens.
func (w *World) Logf(format string, args ...any) { w.log.Info(fmt.Sprintf(format, args...)) }

// Figure keeps a number for the report; its name ends in its unit.
func (w *World) Figure(name string, value float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.figures[name] = value
}

// Notef keeps a sentence for the report.
func (w *World) Notef(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// listed are the ids that the API and the scheduler list: every scientific one, and the probe.
func listed() string { return strings.Join(append(all.Registry().IDs(), probe.ID), ",") }

// Processes are those that were started, in the order of their first start.
func (w *World) Processes() []*Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.processes)
}

// of are the processes of a role.
func (w *World) of(role string) []*Process {
	return slices.DeleteFunc(w.Processes(), func(p *Process) bool { return p.role != role })
}

// noteDeath keeps the end of a process that nobody asked for.
func (w *World) noteDeath(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaths = append(w.deaths, fmt.Sprintf("%s ended by itself: %v", name, err))
}

// noteStarted keeps what a worker may leave behind.
func (w *World) noteStarted(p *Process, pid int) {
	if p.role != roleWorker {
		return
	}
	prefix, err := sandbox.GroupPrefix(pid)
	if err != nil {
		return // it has ended already, and been waited for
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups = append(w.groups, prefix)
}

// noteKilled remembers that a worker had no time to tidy up: the next one does.
func (w *World) noteKilled(p *Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.swept = w.swept && p.role != roleWorker
}

// Eventually waits until holds is true. It ends with an error that names what, when holds fails or the bound has passed; the
// bound is taken as it is (see Bound).
func (w *World) Eventually(ctx context.Context, what string, bound time.Duration, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		held, err := holds(ctx)
		switch {
		case held:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("not within %s: %s", bound, what)
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// Close ends every process and store and the lines. The home stays its maker's.
func (w *World) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, p := range w.Processes() {
		if p.Running() {
			errs = append(errs, p.Kill())
		}
	}
	for _, a := range w.accounts {
		a.Client.Close()
	}
	if w.db != nil {
		errs = append(errs, w.db.Close())
	}
	if w.rdb != nil {
		errs = append(errs, w.rdb.Close())
	}
	for _, line := range []*Line{w.PostgresLine, w.RedisLine, w.S3Line} {
		if line != nil {
			line.close()
		}
	}
	if w.s3 != nil {
		errs = append(errs, w.s3.Stop(ctx))
	}
	if w.redis != nil {
		errs = append(errs, w.redis.Stop(ctx))
	}
	if w.postgres != nil {
		errs = append(errs, w.postgres.Stop(ctx))
	}
	if w.storeLog != nil {
		errs = append(errs, w.storeLog.Close())
	}
	return errors.Join(errs...)
}
