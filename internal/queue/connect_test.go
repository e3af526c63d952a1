package queue_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

func TestConnect(t *testing.T) {
	t.Parallel()
	_, address, _ := redistest.New(t)
	rdb := connect(t, address)
	if _, one := rdb.(*redis.Client); !one {
		t.Errorf("%T, want a client of one server", rdb)
	}
	for _, wrong := range []string{"", "redis", "http://:secret@127.0.0.1", "redis://:secret@127.0.0.1:1:2",
		"redis+cluster://:secret@127.0.0.1?addr=x&secret=secret",
		"http+cluster://:secret@127.0.0.1", "redis+sentinel://:secret@127.0.0.1",
		"redis://:secret@127.0.0.1:1?dial_timeout=100ms&max_retries=-1"} {
		rdb, err := queue.Connect(t.Context(), wrong, "")
		if err == nil {
			t.Errorf("%s is taken", wrong)
			_ = rdb.Close()
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the password: %v", wrong, err)
		}
	}
}
