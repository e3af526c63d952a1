package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// clusterMark behind the scheme says that the address is that of a node of a Redis Cluster.
const clusterMark = "+cluster"

// Connect opens the Redis at an address and waits for its answer. The address is redis://:password@host:6379/0, or rediss:// with
// TLS; redis+cluster://:password@host:6379 is a Redis Cluster, and rediss+cluster:// one with TLS. One node is enough to find the
// others; ?addr=host2:6379&addr=host3:6379 names more, for the day on which the first is away. Errors do not repeat the address,
// which may hold a password. The caller closes the client.
func Connect(ctx context.Context, address string) (redis.UniversalClient, error) {
	client, err := open(address)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis does not answer: %w", err), client.Close())
	}
	return client, nil
}

func open(address string) (redis.UniversalClient, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if plain, isCluster := strings.CutSuffix(scheme, clusterMark); found && isCluster {
		options, err := redis.ParseClusterURL(plain + "://" + rest)
		if err != nil {
			return nil, errors.New("the address of Redis is not one like redis+cluster://:password@host:6379?addr=host2:6379")
		}
		options.ContextTimeoutEnabled = true
		return redis.NewClusterClient(options), nil
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("the address of Redis is not one like redis://:password@host:6379/0, or " +
			"redis+cluster://:password@host:6379 for a cluster")
	}
	options.ContextTimeoutEnabled = true // what bounds a call by its context is not to wait for the client's own seconds
	return redis.NewClient(options), nil
}
