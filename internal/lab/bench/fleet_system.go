package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object/gateway"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/servers"
)

// deployment is a molfabric of separate processes on this machine, as it is on several: an API, a scheduler and the stores, each of
// which can be told apart by what it uses. The workers are a fleet in this process; see hire.
type deployment struct {
	home      string
	postgres  *servers.Postgres
	redis     *servers.Redis
	objects   *gateway.Gateway
	api       *role
	scheduler *role

	db     *sqlx.DB
	rdb    redis.UniversalClient
	client *client.Client
	scene  string // an uploaded file, which no probe reads
	fleets int    // that were hired
	log    *slog.Logger
}

// role is one process of the program.
type role struct {
	pid    int
	exited chan struct{}
}

// deploy starts a deployment in a home of its own, with an account that can pay.
func deploy(ctx context.Context, home, program string, log *slog.Logger) (_ *deployment, err error) {
	d := &deployment{home: home, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop(ctx))
		}
	}()
	if d.postgres, err = servers.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(home, "postgres"),
		Log: log}); err != nil {
		return d, err
	}
	if d.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(home, "redis"), Log: log}); err != nil {
		return d, err
	}
	if d.objects, err = gateway.Start(ctx, gateway.Options{Dir: filepath.Join(home, "objects"), Log: log,
		Program: servers.StoreOf(program)}); err != nil {
		return d, err
	}
	if d.db, err = postgres.Open(ctx, d.postgres.URL()); err != nil {
		return d, err
	}
	if err := postgres.Migrate(ctx, d.db); err != nil {
		return d, err
	}
	if d.rdb, err = queue.Connect(ctx, d.redis.URL(), ""); err != nil {
		return d, err
	}
	if d.scheduler, err = d.start(program, "scheduler"); err != nil {
		return d, err
	}
	if d.api, err = d.start(program, "api", "--listen", "127.0.0.1:0"); err != nil {
		return d, err
	}
	err = d.signUp(ctx)
	return d, err
}

// start starts a process of the program that logs to a file of its name.
func (d *deployment) start(program, name string, arguments ...string) (*role, error) {
	log, err := os.Create(d.logOf(name))
	if err != nil {
		return nil, fmt.Errorf("make the log of the %s: %w", name, err)
	}
	s3 := d.objects.Config()
	cmd := exec.CommandContext(context.Background(), program, append([]string{name, "--home", d.home}, arguments...)...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+d.postgres.URL(), "REDIS_URL="+d.redis.URL(),
		"S3_ENDPOINT="+s3.Endpoint, "S3_REGION="+s3.Region, "S3_BUCKET="+s3.Bucket, "S3_ACCESS_KEY="+s3.AccessKey,
		"S3_SECRET_KEY="+s3.SecretKey, "MOLFABRIC_KEY_SECRET=of a deployment that lives for one run",
		"MOLFABRIC_SIMULATORS="+probe.ID, "MOLFABRIC_STRUCTURES=off", "MOLFABRIC_PREVIEWS=0",
		"MOLFABRIC_SIGNUP_NETWORKS=127.0.0.0/8",
		"MOLFABRIC_LIMIT_CREDENTIAL="+strconv.Itoa(unlimited), "MOLFABRIC_LIMIT_ADDRESS="+strconv.Itoa(unlimited),
		"MOLFABRIC_LOG_FORMAT=json", "MOLFABRIC_LOG_FILE=")
	cmd.Stdout, cmd.Stderr = log, log
	if err := proc.Start(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("start the %s: %w", name, err), log.Close())
	}
	r := &role{pid: cmd.Process.Pid, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		_ = log.Close()
		close(r.exited)
	}()
	return r, nil
}

// unlimited calls a minute are more than any benchmark makes.
const unlimited = 1_000_000

func (d *deployment) logOf(name string) string { return filepath.Join(d.home, name+".log") }

// signUp waits for the API and makes an account with credit, a key and a scene file.
func (d *deployment) signUp(ctx context.Context) error {
	url, err := d.awaitAPI(ctx)
	if err != nil {
		return err
	}
	signing, err := client.New(client.Options{Server: url})
	if err != nil {
		return err
	}
	defer signing.Close()
	email := id.New("fleet-") + "@molfabric.local"
	if _, err := signing.SignUp(ctx, email, "a password for one run", "Benchmark"); err != nil {
		return fmt.Errorf("open an account: %w", err)
	}
	key, err := signing.CreateKey(ctx, contract.CreateRequest{Name: "bench", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	if _, err := giveCredit(ctx, d.db, email, plentyPence); err != nil {
		return err
	}
	if d.client, err = client.New(client.Options{Server: url, APIKey: key.Body.Secret, NoReuse: true}); err != nil {
		return err
	}
	scene, err := d.client.Upload(ctx, "scene.pdb", bytes.NewReader([]byte("END\n")), 4)
	d.scene = scene.StorageKey
	return err
}

// awaitAPI reads the API's address from its log.
func (d *deployment) awaitAPI(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		text, err := os.ReadFile(d.logOf("api"))
		if err != nil {
			return "", err
		}
		for line := range bytes.Lines(text) {
			var entry struct{ Msg, URL string }
			if json.Unmarshal(line, &entry) == nil && entry.URL != "" {
				return entry.URL, nil
			}
		}
		select {
		case <-d.api.exited:
			return "", fmt.Errorf("the API ended at its start; %s tells why", d.logOf("api"))
		case <-ctx.Done():
			return "", fmt.Errorf("the API did not start: %w", ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

// hire adds a fleet of so many workers to the deployment.
func (d *deployment) hire(ctx context.Context, workers, slots int) (*fleet, error) {
	d.fleets++
	scratch := filepath.Join(d.home, "fleets", strconv.Itoa(d.fleets))
	return hire(ctx, fleetOptions{Workers: workers, Slots: slots, RedisURL: d.redis.URL(), Scratch: scratch,
		Log: slog.New(slog.DiscardHandler)})
}

// submit submits a job of so many tasks that wait so long each, through the API, and returns its id.
func (d *deployment) submit(ctx context.Context, tasks int, seconds float64) (string, error) {
	receipt, err := d.client.Submit(ctx, map[string]any{"jobType": "simulation", "simulator": probe.ID, "sceneFile": d.scene,
		"parameters": map[string]string{"Tasks": strconv.Itoa(tasks), "Seconds": strconv.FormatFloat(seconds, 'f', -1, 64)}}, "")
	if err != nil {
		return "", fmt.Errorf("submit %d tasks of %g s: %w", tasks, seconds, err)
	}
	return receipt.Body.JobID, nil
}

// awaitEnd waits until jobs have ended, and fails when one of them has not succeeded. It asks so rarely that it uses nothing.
func (d *deployment) awaitEnd(ctx context.Context, jobs ...string) error {
	for {
		open, failed, err := countEnds(ctx, d.db, jobs)
		if err != nil {
			return err
		}
		if failed > 0 {
			return fmt.Errorf("%d of %d jobs have not succeeded", failed, len(jobs))
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.scheduler.exited:
			return fmt.Errorf("the scheduler has ended; %s tells why", d.logOf("scheduler"))
		case <-time.After(readyPoll):
		}
	}
}

// stop ends everything that deploy started, as far as it was.
func (d *deployment) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if d.client != nil {
		d.client.Close()
	}
	var errs []error
	for _, r := range []*role{d.api, d.scheduler} {
		if r != nil {
			errs = append(errs, proc.Stop(ctx, r.pid, r.exited, syscall.SIGTERM, stopGrace))
		}
	}
	if d.rdb != nil {
		errs = append(errs, d.rdb.Close())
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	if d.objects != nil {
		errs = append(errs, d.objects.Stop(ctx))
	}
	if d.redis != nil {
		errs = append(errs, d.redis.Stop(ctx))
	}
	if d.postgres != nil {
		errs = append(errs, d.postgres.Stop(ctx))
	}
	return errors.Join(errs...)
}
