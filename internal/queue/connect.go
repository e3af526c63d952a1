package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterMark behind the scheme says that the address is that of a node of a Redis Cluster.
const clusterMark = "+cluster"

// Connect opens the Redis at an address and waits for its answer. The address is redis://:password@host:6379/0, or rediss:// with
// TLS; redis+cluster://:password@host:6379 is a Redis Cluster, and rediss+cluster:// one with TLS. One node is enough to find the
// others; ?addr=host2:6379&addr=host3:6379 names more, for the day on which the first is away. authorities is a file of PEM
// certificates that alone are believed where there is TLS; "" for those of the system. Errors do not repeat the address, which may
// hold a password. The caller closes the client.
func Connect(ctx context.Context, address, authorities string) (redis.UniversalClient, error) {
	trusted, err := readAuthorities(authorities)
	if err != nil {
		return nil, err
	}
	return reach(ctx, address, trusted, nil)
}

// Login is who a client says that it is, where that changes while it works.
type Login struct {
	// Credentials are asked for at each new connection.
	Credentials func(context.Context) (user, password string, err error)
	// Refused is told when Redis refuses them. It returns at once.
	Refused func()
	// ConnectionLife is how long a connection is used at most: one that was made as a user who ends is then given up before that.
	ConnectionLife time.Duration
}

// ConnectAs is Connect for an address without a user, and authorities as text; "" for those of the system. What was asked for on a
// connection whose user has ended is asked for again on a new one, as after any break of a connection.
func ConnectAs(ctx context.Context, address, authorities string, login Login) (redis.UniversalClient, error) {
	var trusted *x509.CertPool
	if authorities != "" {
		trusted = x509.NewCertPool()
		if !trusted.AppendCertsFromPEM([]byte(authorities)) {
			return nil, errors.New("the certificates of Redis' authorities: there is none as PEM")
		}
	}
	return reach(ctx, address, trusted, &login)
}

func reach(ctx context.Context, address string, trusted *x509.CertPool, login *Login) (redis.UniversalClient, error) {
	client, err := open(address, trusted, login)
	if err != nil {
		return nil, err
	}
	if login != nil {
		client.AddHook(refusals{login.Refused})
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis does not answer: %w", err), client.Close())
	}
	return client, nil
}

// refusals tells of commands that were refused because of who had sent them.
type refusals struct{ tell func() }

var _ redis.Hook = refusals{}

func (r refusals) look(err error) error {
	if err != nil && (strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "NOAUTH")) {
		r.tell()
	}
	return err
}

// DialHook makes connections as they are made.
func (r refusals) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook looks at the answer to one command.
func (r refusals) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return r.look(next(ctx, cmd)) }
}

// ProcessPipelineHook looks at the answer to several.
func (r refusals) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return r.look(next(ctx, cmds)) }
}

// Bare is an address without the user and the password in it, for who has others. Errors do not repeat it.
func Bare(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "", errors.New("the address of Redis is not one like redis://:password@host:6379/0")
	}
	parsed.User = nil
	return parsed.String(), nil
}

// readAuthorities is nil without a path, which Go reads as the authorities of the system.
func readAuthorities(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // see above
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the certificates of Redis' authorities: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the certificates of Redis' authorities: %s holds none as PEM", path)
	}
	return trusted, nil
}

// believe makes a client believe the authorities alone, where it speaks TLS at all.
func believe(options *tls.Config, trusted *x509.CertPool) error {
	switch {
	case trusted == nil:
	case options == nil:
		return errors.New("authorities are named for a Redis whose address is without TLS; write rediss:// for redis://")
	default:
		options.RootCAs = trusted
	}
	return nil
}

func open(address string, trusted *x509.CertPool, login *Login) (redis.UniversalClient, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if plain, isCluster := strings.CutSuffix(scheme, clusterMark); found && isCluster {
		options, err := redis.ParseClusterURL(plain + "://" + rest)
		if err != nil {
			return nil, errors.New("the address of Redis is not one like redis+cluster://:password@host:6379?addr=host2:6379")
		}
		options.ContextTimeoutEnabled = true
		if err := believe(options.TLSConfig, trusted); err != nil {
			return nil, err
		}
		if login != nil {
			options.CredentialsProviderContext, options.ConnMaxLifetime = login.Credentials, login.ConnectionLife
		}
		return redis.NewClusterClient(options), nil
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("the address of Redis is not one like redis://:password@host:6379/0, or " +
			"redis+cluster://:password@host:6379 for a cluster")
	}
	if err := believe(options.TLSConfig, trusted); err != nil {
		return nil, err
	}
	if login != nil {
		options.CredentialsProviderContext, options.ConnMaxLifetime = login.Credentials, login.ConnectionLife
	}
	options.ContextTimeoutEnabled = true // what bounds a call by its context is not to wait for the client's own seconds
	return redis.NewClient(options), nil
}
