package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers"
)

const (
	readyTimeout = 2 * time.Minute
	readyPoll    = 100 * time.Millisecond
	stopGrace    = 30 * time.Second
	// plentyPence pays for every job of a suite.
	plentyPence = 100_000_00
)

// system is a whole molfabric of its own: a Postgres that the suite can look into, and `molfabric up` on it.
type system struct {
	api      *client.Client
	url, key string // of the API, and of the account
	db       *sqlx.DB
	pid      int // of `molfabric up`
	account  string
	postgres *servers.Postgres
	exited   chan struct{}
}

// startSystem starts a system in a home of its own, with an account that can pay.
func startSystem(ctx context.Context, o ServerOptions) (*system, error) {
	s := &system{exited: make(chan struct{})}
	var err error
	if s.postgres, err = servers.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(o.Home, "postgres"),
		Log: o.Log}); err != nil {
		return nil, err
	}
	if err := s.launch(o); err != nil {
		return nil, errors.Join(err, s.postgres.Stop(context.WithoutCancel(ctx)))
	}
	if err := s.open(ctx, o.Home); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

func (s *system) launch(o ServerOptions) error {
	log, err := os.Create(filepath.Join(o.Home, "up.log"))
	if err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	up := exec.CommandContext(context.Background(), o.Program, "up", "--home", o.Home, "--listen", "127.0.0.1:0", "--slots",
		fmt.Sprint(o.Slots))
	up.Env = append(os.Environ(), "DATABASE_URL="+s.postgres.URL(), "MOLFABRIC_PYTHON="+o.Python, "MOLFABRIC_STRUCTURES=off",
		"MOLFABRIC_LIMIT_CREDENTIAL=100000", "MOLFABRIC_PREVIEWS=0")
	if o.Components != "" {
		up.Env = append(up.Env, "MOLFABRIC_COMPONENTS="+o.Components)
	}
	up.Stdout, up.Stderr = log, log
	if err := proc.Start(up); err != nil {
		return errors.Join(fmt.Errorf("start the system: %w", err), log.Close())
	}
	s.pid = up.Process.Pid
	go func() {
		_ = up.Wait()
		_ = log.Close()
		close(s.exited)
	}()
	return nil
}

// open waits until the system answers, and makes an account with credit and a key.
func (s *system) open(ctx context.Context, home string) error {
	url, err := s.awaitURL(ctx, filepath.Join(home, "running.json"))
	if err != nil {
		return fmt.Errorf("%w; %s tells why", err, filepath.Join(home, "up.log"))
	}
	if s.db, err = postgres.Open(ctx, s.postgres.URL()); err != nil {
		return err
	}
	s.url = url
	if s.key, s.account, err = s.openAccount(ctx, "bench@molfabric.local"); err != nil {
		return err
	}
	s.api, err = client.New(client.Options{Server: url, APIKey: s.key, NoReuse: true})
	return err
}

// openAccount signs an account up, gives it credit, and makes it a key.
func (s *system) openAccount(ctx context.Context, email string) (key, account string, err error) {
	signing, err := client.New(client.Options{Server: s.url})
	if err != nil {
		return "", "", err
	}
	defer signing.Close()
	if _, err = signing.SignUp(ctx, email, "a password for one run", "Benchmark"); err != nil {
		return "", "", fmt.Errorf("open an account: %w", err)
	}
	made, err := signing.CreateKey(ctx, contract.CreateRequest{Name: "bench", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	account, err = giveCredit(ctx, s.db, email, plentyPence)
	return made.Body.Secret, account, err
}

func (s *system) awaitURL(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		var running struct{ URL string }
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &running) == nil && running.URL != "" {
			return running.URL, nil
		}
		select {
		case <-s.exited:
			return "", errors.New("the system ended at its start")
		case <-ctx.Done():
			return "", fmt.Errorf("the system did not start: %w", ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

// cpu is the processor time that the system, its engines and its Postgres have used.
func (s *system) cpu() (time.Duration, error) {
	tree, err := readProcesses()
	if err != nil {
		return 0, err
	}
	return tree.cpu(s.pid) + tree.cpu(s.postgres.PID()), nil
}

// stop ends everything that startSystem started.
func (s *system) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if s.api != nil {
		s.api.Close()
	}
	err := proc.Stop(ctx, s.pid, s.exited, syscall.SIGTERM, stopGrace)
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return errors.Join(err, s.postgres.Stop(ctx))
}
