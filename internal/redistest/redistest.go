// Package redistest gives every test a key prefix of its own in a real Redis: in the server that TEST_REDIS_URL names, or in
// a private one that the first test of a process starts and that ends with the process. It is for tests alone.
package redistest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// patience bounds everything that happens outside a test's own context.
	patience = time.Minute
	// scanKeys is how many keys one step of the clean-up looks at.
	scanKeys = 1000
)

// New returns a client of the shared server, the server's URL, and a prefix that every key of the test must begin with. The
// test's end removes those keys and closes the client. The server is shared: no FLUSHALL, no CONFIG SET; see Private.
func New(t testing.TB) (client redis.UniversalClient, url, prefix string) {
	t.Helper()
	url, err := server()
	serverstest.Check(t, err)
	client = open(t, url)
	prefix = id.New("test_") + ":"
	t.Cleanup(func() {
		if err := remove(client, prefix+"*"); err != nil {
			t.Error(err)
		}
	})
	return client, url, prefix
}

// Private starts an empty server for this test alone, to flush, stop or kill. The test's end stops it and removes its data;
// until then the test may start it again in dir with servers.StartRedis.
func Private(t testing.TB) (started *servers.Redis, dir string) {
	t.Helper()
	dir = serverstest.Dir(t)
	started, err := servers.StartRedis(t.Context(), servers.RedisOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := started.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return started, dir
}

func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// server returns the address of the process' server, which the first call starts.
var server = sync.OnceValues(func() (string, error) {
	if url := os.Getenv("TEST_REDIS_URL"); url != "" {
		return url, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	started, err := serverstest.StartShared("redis", func(dir string) (*servers.Redis, error) {
		return servers.StartRedis(ctx, servers.RedisOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	})
	if err != nil {
		return "", err
	}
	return started.URL(), flush(ctx, started.URL())
})

// flush removes what an earlier process left in the place.
func flush(ctx context.Context, url string) error {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client := redis.NewClient(opts)
	return errors.Join(client.FlushAll(ctx).Err(), client.Close())
}

// remove deletes every key that matches pattern, also when the test's context has ended.
func remove(client redis.UniversalClient, pattern string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	keys := client.Scan(ctx, 0, pattern, scanKeys).Iterator()
	for keys.Next(ctx) {
		if err := client.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
