package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

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
	client, err := open(address, trusted)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis does not answer: %w", err), client.Close())
	}
	return client, nil
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

func open(address string, trusted *x509.CertPool) (redis.UniversalClient, error) {
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
	options.ContextTimeoutEnabled = true // what bounds a call by its context is not to wait for the client's own seconds
	return redis.NewClient(options), nil
}
