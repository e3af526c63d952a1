package servers

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/proc"
)

// postgresName is the name of the database and of its owner, who migrates it.
const postgresName = "molfabric"

// servedName is the user for whatever serves accounts: it owns nothing, sees nothing, and may become servedRoles.
const servedName = "molfabric_server"

// servedRoles are the roles whose rights migration 17 settles. They are made here too, so that servedName has them before it.
var servedRoles = []string{"molfabric_app", "molfabric_everyone"}

// postgresPlaces are where distributions put Postgres' server programs, which are rarely on the PATH.
var postgresPlaces = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}

// postgresSettings are for one small machine that also runs the workers. Settings of PostgresOptions override them.
var postgresSettings = []string{
	"listen_addresses=127.0.0.1",
	"unix_socket_directories=", // one way in, with a password
	"fsync=on",                 // committed means accepted, also after a power cut
	"synchronous_commit=on",
	"full_page_writes=on",
	"shared_buffers=128MB",              // the hot rows fit; the workers need the memory more
	"max_wal_size=512MB",                // a laptop's disk, not a database server's
	"max_connections=100",               // the pools of API, scheduler and command line together stay below
	"max_parallel_workers_per_gather=0", // queries are short, and the cores belong to the engines
	"jit=off",                           // compiling costs more than such queries take
	"autovacuum_naptime=10s",            // task rows change state often: dead ones slow the dispatch
	"idle_in_transaction_session_timeout=60s",
	"password_encryption=scram-sha-256",
	"log_min_messages=log", // without refused statements, which their callers handle
	"log_timezone=UTC",
	"timezone=UTC",
}

// PostgresOptions says where a Postgres server keeps its data.
type PostgresOptions struct {
	Dir string       // created when missing; holds one database cluster
	Log *slog.Logger // gets the server's log at debug level
	// Settings are more "name=value" pairs for the server, e.g. "fsync=off" where the data may be lost.
	Settings []string
}

// Postgres is a running Postgres server.
type Postgres struct {
	*server
	password string
}

// StartPostgres starts a Postgres server with the data of opts.Dir, which the first start initialises, and returns when it
// answers. When this process is root the server runs as user postgres or nobody; where that user cannot enter opts.Dir the
// data goes below /var/lib/molfabric and a note in opts.Dir tells where. A server that crashed or was killed recovers.
//
// Errors: *MissingError without the programs, *LockedError when another server runs in opts.Dir.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	installed, err := postgresInstallations(ctx, os.Getenv("PATH"), postgresPlaces)
	if err != nil {
		return nil, err
	}
	return onFreePort(func(port int) (*Postgres, error) {
		h, err := openHome(ctx, opts.Dir, opts.Log, "postgres", "nobody")
		if err != nil {
			return nil, fmt.Errorf("start postgres: %w", err)
		}
		return startPostgres(ctx, opts, h, installed, port)
	})
}

// startPostgres takes h over.
func startPostgres(
	ctx context.Context, opts PostgresOptions, h *home, installed []postgresInstallation, port int,
) (*Postgres, error) {
	password, bin, err := preparePostgres(ctx, h, installed, opts.Log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start postgres in %s: %w", h.dir, err), h.close())
	}
	argv := []string{filepath.Join(bin, "postgres"), "-D", h.cluster(), "-c", "port=" + strconv.Itoa(port)}
	for _, setting := range slices.Concat(postgresSettings, opts.Settings) {
		argv = append(argv, "-c", setting)
	}
	c := command{name: "postgres", argv: argv, stopBy: syscall.SIGINT, taken: "Address already in use"} // SIGINT: fast shutdown
	address := func(database string) string { return postgresURL(port, postgresName, password, database) }
	s, err := launch(ctx, c, h, port, opts.Log, func(ctx context.Context) error { return pingPostgres(ctx, address("postgres")) })
	if err != nil {
		return nil, err
	}
	p := &Postgres{server: s, password: password}
	if err := errors.Join(createDatabase(ctx, address("postgres")), createServed(ctx, address("postgres"), password)); err != nil {
		return nil, errors.Join(err, p.Stop(ctx))
	}
	return p, nil
}

// URL is the address of the database molfabric, with its owner's password.
func (p *Postgres) URL() string { return postgresURL(p.port, postgresName, p.password, postgresName) }

// ServedURL is the address of the database molfabric for whatever serves accounts, with a user who owns nothing.
func (p *Postgres) ServedURL() string {
	return postgresURL(p.port, servedName, p.password, postgresName)
}

// Version asks the server for its version, e.g. "15.14 (Debian 15.14-0+deb12u1)".
func (p *Postgres) Version(ctx context.Context) (string, error) {
	var version string
	err := withPostgres(p.URL(), func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
	})
	if err != nil {
		return "", fmt.Errorf("ask postgres for its version: %w", err)
	}
	return version, nil
}

func postgresURL(port int, user, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     "127.0.0.1:" + strconv.Itoa(port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable", // loopback
	}
	return u.String()
}

// cluster is Postgres' own data directory.
func (h *home) cluster() string { return filepath.Join(h.path, "data") }

// preparePostgres makes the cluster ready for a start and returns its password and the directory of the programs to use.
func preparePostgres(
	ctx context.Context, h *home, installed []postgresInstallation, log *slog.Logger,
) (password, bin string, err error) {
	if password, err = h.password(); err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(filepath.Join(h.cluster(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		log.Info("creating the database cluster, once", "dir", h.cluster())
		return password, installed[0].bin, initCluster(ctx, h, installed[0].bin, password)
	}
	if err != nil {
		return "", "", fmt.Errorf("read the cluster's version: %w", err)
	}
	if bin, err = matching(installed, strings.TrimSpace(string(text))); err != nil {
		return "", "", err
	}
	// Nobody works in the directory (openHome saw to it), so a pid file is a crash's. Postgres would refuse to start if the
	// number in it has been given to another process since.
	err = os.Remove(filepath.Join(h.cluster(), "postmaster.pid"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("remove the pid file of a crashed server: %w", err)
	}
	return password, bin, nil
}

// initCluster creates the cluster aside and renames it, so that an interrupted start leaves nothing half made.
func initCluster(ctx context.Context, h *home, bin, password string) error {
	unfinished := h.cluster() + ".new"
	passwordFile := filepath.Join(h.path, "initial-password")
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	// A file, not standard input: after the change of user /dev/stdin cannot be opened again.
	if err := h.writeFile(passwordFile, password); err != nil {
		return err
	}
	// The C locale sorts ids by their bytes, fast, and keeps indexes valid when the system's libc changes its order.
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata="+unfinished, "--username="+postgresName,
		"--pwfile="+passwordFile, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums")
	cmd.Dir = "/"
	cmd.Env = h.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.credential}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := proc.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("initdb: %w; it said:\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	if err := os.Remove(passwordFile); err != nil {
		return err
	}
	return os.Rename(unfinished, h.cluster())
}

// createDatabase creates the database at the first start.
func createDatabase(ctx context.Context, address string) error {
	return withPostgres(address, func(db *sql.DB) error {
		var there bool
		err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", postgresName).Scan(&there)
		if err != nil {
			return fmt.Errorf("look for database %s: %w", postgresName, err)
		}
		if there {
			return nil
		}
		if _, err := db.ExecContext(ctx, "CREATE DATABASE "+pq.QuoteIdentifier(postgresName)); err != nil {
			return fmt.Errorf("create database %s: %w", postgresName, err)
		}
		return nil
	})
}

// createServed creates the user who serves, and before it the roles that it may become, where they are missing.
func createServed(ctx context.Context, address, password string) error {
	return withPostgres(address, func(db *sql.DB) error {
		for _, role := range servedRoles {
			if err := createRole(ctx, db, role, "NOLOGIN"); err != nil {
				return err
			}
		}
		return createRole(ctx, db, servedName, "LOGIN NOINHERIT PASSWORD "+pq.QuoteLiteral(password)+" IN ROLE "+
			strings.Join(servedRoles, ", "))
	})
}

func createRole(ctx context.Context, db *sql.DB, name, options string) error {
	var there bool
	err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", name).Scan(&there)
	if err == nil && !there {
		_, err = db.ExecContext(ctx, "CREATE ROLE "+pq.QuoteIdentifier(name)+" "+options)
	}
	if err != nil {
		return fmt.Errorf("create role %s: %w", name, err)
	}
	return nil
}

func pingPostgres(ctx context.Context, address string) error {
	return withPostgres(address, func(db *sql.DB) error {
		err := db.PingContext(ctx)
		if refusal := (*pq.Error)(nil); errors.As(err, &refusal) && refusal.Code.Class() == "28" {
			return fmt.Errorf("%w: the password of the directory is not the cluster's: %w", errPermanent, err)
		}
		return err
	})
}

func withPostgres(address string, do func(*sql.DB) error) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// postgresInstallation is one installed version of Postgres' server programs.
type postgresInstallation struct {
	bin   string // directory of postgres and initdb
	major int
}

// postgresVersion matches what "postgres --version" prints.
var postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// postgresInstallations lists what is installed, the newest first; at least one, or *MissingError.
func postgresInstallations(ctx context.Context, path string, places []string) ([]postgresInstallation, error) {
	dirs := filepath.SplitList(path)
	for _, place := range places {
		found, err := filepath.Glob(place)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	var installed []postgresInstallation
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) || !exists(filepath.Join(dir, "initdb")) {
			continue
		}
		output, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
		if match := postgresVersion.FindSubmatch(output); err == nil && match != nil {
			major, _ := strconv.Atoi(string(match[1])) // digits, by the expression
			installed = append(installed, postgresInstallation{bin: dir, major: major})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(installed) == 0 {
		return nil, &MissingError{Program: "postgres", Install: installCommand}
	}
	slices.SortStableFunc(installed, func(a, b postgresInstallation) int { return cmp.Compare(b.major, a.major) })
	return installed, nil
}

// matching returns the programs that can read a cluster of the major version want: Postgres reads no other.
func matching(installed []postgresInstallation, want string) (bin string, err error) {
	for _, one := range installed {
		if strconv.Itoa(one.major) == want {
			return one.bin, nil
		}
	}
	return "", fmt.Errorf("the data is of Postgres %s, installed is %d: install Postgres %s, or move the data with pg_upgrade",
		want, installed[0].major, want)
}
