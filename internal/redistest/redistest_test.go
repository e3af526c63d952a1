package redistest_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/redistest"
)

func TestEachTestHasItsPrefix(t *testing.T) {
	t.Parallel()
	client, _, prefix := redistest.New(t)
	if err := client.Set(t.Context(), prefix+"kept", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	var gone string
	t.Run("subtest", func(t *testing.T) {
		inner, _, innerPrefix := redistest.New(t)
		if innerPrefix == prefix {
			t.Error("a subtest has its parent's prefix")
		}
		gone = innerPrefix + "gone"
		if err := inner.Set(t.Context(), gone, 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
	})
	if left, err := client.Exists(t.Context(), gone).Result(); err != nil || left != 0 {
		t.Errorf("%d keys left by a finished test, %v; want none", left, err)
	}
	if left, err := client.Exists(t.Context(), prefix+"kept").Result(); err != nil || left != 1 {
		t.Errorf("%d of the test's own keys, %v; want 1", left, err)
	}
}

func TestServerKeepsItsPromises(t *testing.T) {
	t.Parallel()
	client, _, _ := redistest.New(t)
	for name, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "bind": "127.0.0.1", "save": "",
	} {
		got, err := client.ConfigGet(t.Context(), name).Result()
		if err != nil || got[name] != want {
			t.Errorf("CONFIG GET %s = %q, %v; want %q", name, got[name], err, want)
		}
	}
}

func TestPrivateMayBeFlushedAndKilled(t *testing.T) {
	t.Parallel()
	private, _ := redistest.Private(t)
	_, shared, _ := redistest.New(t)
	if private.URL() == shared {
		t.Fatal("the private server is the shared one")
	}
	opts, err := redis.ParseURL(private.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(private.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-private.Done()
	if conn, err := net.Dial("tcp4", opts.Addr); err == nil {
		_ = conn.Close()
		t.Error("the killed server answers")
	}
}
