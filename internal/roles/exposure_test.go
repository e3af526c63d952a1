package roles

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/config"
)

// TestPlainRedisElsewhereIsTold: an address of Redis on another machine without TLS is told, without its password.
func TestPlainRedisElsewhereIsTold(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://:secret@queue.example.org:6379/0":                           "queue.example.org",
		"redis+cluster://:secret@127.0.0.1:6379?addr=queue.example.org:6379": "queue.example.org",
		"rediss://:secret@queue.example.org:6379/0":                          "",
		"rediss+cluster://:secret@queue.example.org:6379":                    "",
		"redis://:secret@127.0.0.1:6379/0":                                   "",
		"redis://localhost:6379":                                             "",
		"redis://[::1]:6379":                                                 "",
		"unix:///run/redis.sock":                                             "",
		"":                                                                   "",
	} {
		for part, cfg := range map[string]config.Config{"REDIS_URL": {RedisURL: address},
			"MOLFABRIC_WORKER_REDIS_URL": {WorkerRedisURL: address}} {
			found := examineExposure(cfg)
			switch {
			case want == "" && len(found) > 0:
				t.Errorf("%s %s: told %+v, want nothing", part, address, found)
			case want != "" && (len(found) != 1 || found[0].Part != part || !strings.Contains(found[0].Note, want) ||
				strings.Contains(found[0].Note, "secret")):
				t.Errorf("%s %s: told %+v, want %s", part, address, found, want)
			}
		}
	}
}
