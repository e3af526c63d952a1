package servers

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// redisMaxMemoryBytes bounds the queue: past it Redis refuses writes, which the scheduler survives, instead of the kernel
// ending whichever process it likes. The dispatch window needs about a kilobyte a task, a few megabytes in all.
const redisMaxMemoryBytes = 1 << 30

// RedisOptions says where a Redis server keeps its data.
type RedisOptions struct {
	Dir string       // created when missing; holds one server's append-only file
	Log *slog.Logger // gets the server's log at debug level
	// Cluster makes the server a node of a Redis Cluster, which knows no other node and owns no slot yet.
	Cluster bool
	// TLS makes the server speak nothing else, with a certificate of its own that is made anew at each start.
	TLS bool
	// Users are those beside the default one, which may do everything. They need Redis 7.
	Users []RedisUser
}

// RedisUser is a user of a Redis server, whose password is generated once and kept in the server's directory (mode 0600).
type RedisUser struct {
	Name string // letters and digits
	ACL  string // what it may do, as Redis writes rules: "~keys:* +@read"
}

// Redis is a running Redis server.
type Redis struct {
	*server
	password    string
	passwords   map[string]string // by user
	certificate string            // its file; "" without TLS
}

// StartRedis starts a Redis server with the data of opts.Dir and returns when it answers. It appends every write to a file
// that is flushed each second, and evicts nothing. When this process is root the server runs as user redis or nobody, with
// the same way out of an unreachable directory as StartPostgres. A server that was killed loses at most its last second.
//
// Errors: *MissingError without the program, *LockedError when another server runs in opts.Dir.
func StartRedis(ctx context.Context, opts RedisOptions) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, &MissingError{Program: "redis-server", Install: installCommand}
	}
	if len(opts.Users) > 0 {
		version, err := redisVersion(ctx, program)
		if err == nil {
			err = checkRedisVersion(version)
		}
		if err != nil {
			return nil, fmt.Errorf("start redis: %w", err)
		}
	}
	return onFreePort(func(port int) (*Redis, error) {
		h, err := openHome(ctx, opts.Dir, opts.Log, "redis", "nobody")
		if err != nil {
			return nil, fmt.Errorf("start redis: %w", err)
		}
		return startRedis(ctx, opts, h, program, port)
	})
}

// startRedis takes h over.
func startRedis(ctx context.Context, opts RedisOptions, h *home, program string, port int) (*Redis, error) {
	r := &Redis{passwords: map[string]string{}}
	var err error
	r.password, err = h.password()
	if err == nil && opts.TLS {
		r.certificate, err = h.makeCertificate()
	}
	config := filepath.Join(h.path, "redis.conf")
	if err == nil {
		// A file, not arguments: every user of the machine can read a command line.
		err = writeRedisConfig(opts, h, config, port, r.password, r.passwords)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start redis in %s: %w", h.dir, err), h.close())
	}
	host, address := "127.0.0.1:"+strconv.Itoa(port), redisURL(port, "", r.password, opts.TLS)
	// SIGTERM makes Redis flush its append-only file before it ends.
	c := command{name: "redis", argv: []string{program, config}, stopBy: syscall.SIGTERM, taken: "Address already in use"}
	r.server, err = launch(ctx, c, h, port, opts.Log, func(ctx context.Context) error {
		return pingRedis(ctx, host, address, r.certificate)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// writeRedisConfig writes the configuration file and fills in the passwords of the users in it.
func writeRedisConfig(opts RedisOptions, h *home, path string, port int, password string, passwords map[string]string) error {
	more, err := clusterConfig(opts.Cluster)
	if err != nil {
		return err
	}
	more = append(more, portConfig(h.path, port, opts.TLS)...)
	for _, user := range opts.Users {
		if passwords[user.Name], err = h.passwordOf(user.Name); err != nil {
			return err
		}
		digest := sha256.Sum256([]byte(passwords[user.Name]))
		more = append(more, "user "+user.Name+" on #"+hex.EncodeToString(digest[:])+" resetchannels "+user.ACL)
	}
	return h.writeFile(path, redisConfig(h.path, password, append(more, "")...))
}

// redisConfig is the configuration file. Paths are quoted as Redis reads them; it knows the escapes of strconv.Quote.
func redisConfig(dir, password string, more ...string) string {
	return strings.Join(append([]string{
		"bind 127.0.0.1",
		"requirepass " + password,
		"dir " + strconv.Quote(dir),
		"daemonize no",
		"appendonly yes",
		"appendfsync everysec",
		"aof-load-truncated yes", // the end of a file that a killed server was writing is cut off, not an error
		`save ""`,                // the append-only file holds everything; snapshots would double the memory
		"maxmemory " + strconv.Itoa(redisMaxMemoryBytes),
		"maxmemory-policy noeviction", // an evicted lease would strand its task
		"",
	}, more...), "\n")
}

// portConfig is where and how the server speaks.
func portConfig(dir string, port int, secure bool) []string {
	if !secure {
		return []string{"port " + strconv.Itoa(port)}
	}
	return []string{
		"port 0",
		"tls-port " + strconv.Itoa(port),
		"tls-cert-file " + strconv.Quote(filepath.Join(dir, certificateFile)),
		"tls-key-file " + strconv.Quote(filepath.Join(dir, keyFile)),
		"tls-auth-clients no", // they have passwords
		`tls-protocols "TLSv1.3"`,
	}
}

// clusterConfig is what a node of a cluster needs beside the rest.
func clusterConfig(isNode bool) ([]string, error) {
	if !isNode {
		return nil, nil
	}
	bus, err := freePort() // the usual one, 10,000 above the port for clients, may not exist
	return []string{
		"cluster-enabled yes",
		"cluster-port " + strconv.Itoa(bus),
		"cluster-announce-ip 127.0.0.1",
		"",
	}, err
}

// URL is the server's address with its password, database 0.
func (r *Redis) URL() string { return redisURL(r.port, "", r.password, r.certificate != "") }

// UserURL is the server's address for one of the users that it was started with.
func (r *Redis) UserURL(name string) string {
	return redisURL(r.port, name, r.passwords[name], r.certificate != "")
}

// Certificate is the file with the certificate that the server shows, signed by itself; "" without TLS.
func (r *Redis) Certificate() string { return r.certificate }

// Version asks the server for its version, e.g. "7.0.15".
func (r *Redis) Version(ctx context.Context) (string, error) {
	var info string
	err := withRedis(r.URL(), r.certificate, func(client *redis.Client) (err error) {
		info, err = client.Info(ctx, "server").Result()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("ask redis for its version: %w", err)
	}
	for line := range strings.Lines(info) {
		if version, found := strings.CutPrefix(line, "redis_version:"); found {
			return strings.TrimSpace(version), nil
		}
	}
	return "", errors.New("ask redis for its version: the answer names none")
}

func redisURL(port int, user, password string, secure bool) string {
	scheme := "redis"
	if secure {
		scheme = "rediss"
	}
	u := url.URL{Scheme: scheme, User: url.UserPassword(user, password), Host: "127.0.0.1:" + strconv.Itoa(port), Path: "/0"}
	return u.String()
}

// pingRedis fails while the server still loads its file. A port that nobody listens on yet is found out by a plain connection,
// because the client would try it five times and complain on standard error.
func pingRedis(ctx context.Context, host, address, certificate string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", host)
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	return withRedis(address, certificate, func(client *redis.Client) error { return client.Ping(ctx).Err() })
}

func withRedis(address, certificate string, do func(*redis.Client) error) error {
	opts, err := redis.ParseURL(address)
	if err != nil {
		return err
	}
	if certificate != "" {
		text, err := os.ReadFile(certificate)
		if err != nil {
			return err
		}
		opts.TLSConfig.RootCAs = x509.NewCertPool()
		opts.TLSConfig.RootCAs.AppendCertsFromPEM(text)
	}
	opts.MaxRetries = -1 // the caller polls
	opts.ContextTimeoutEnabled = true
	client := redis.NewClient(opts)
	return errors.Join(do(client), client.Close())
}
