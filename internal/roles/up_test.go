package roles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/config"
)

// TestTheWorkerOfUpKnowsNoSecretsOfOthers loads a configuration as the child that `up` starts does.
func TestTheWorkerOfUpKnowsNoSecretsOfOthers(t *testing.T) {
	home := t.TempDir()
	file := `
databaseUrl: postgres://:secret@h/d
migrationDatabaseUrl: postgres://:secret@h/d
redisUrl: redis://control:secret@h:6379/0
workerRedisUrl: redis://worker:secret@h:6379/0
redisPrefix: "a:"
keySecret: secret
stripe: {secretKey: secret, webhookSecret: secret}
oidc: {issuer: "https://idp.example.org", clientId: molfabric, clientSecret: secret}
smtp: {url: "smtp://:secret@h", from: a@example.org}
s3: {endpoint: "http://h:9000", bucket: b, accessKey: k, secretKey: s}
simulators: [autodock-vina]
slots: 3
gpus: "off"
gpuTasksEach: 2
cache: /var/cache/molfabric
cacheBytes: 7
python: /opt/python
ww3: /opt/ww3
sandbox: container
image: sha256:00
drainGrace: 7s
logLevel: warn
logFormat: json
logFile: /var/log/molfabric
`
	if err := os.WriteFile(filepath.Join(home, config.FileName), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range os.Environ() { // `make test` sets some
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "MOLFABRIC_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("MOLFABRIC_HOME", home)
	up, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := excessSecrets(up); len(found) < 7 {
		t.Fatalf("the file has the secrets %v, want all", found)
	}
	for _, line := range workerEnvironment(up) {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	got, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := excessSecrets(got); len(found) > 0 || got.WorkerRedisURL != "" || got.OIDC != (config.OIDC{}) ||
		got.SMTP != (config.SMTP{}) {
		t.Errorf("the worker knows %v and %+v", found, got)
	}
	if got.RedisURL != up.WorkerRedisURL || got.RedisPrefix != "a:" || strings.Join(got.Simulators, " ") != "autodock-vina" ||
		got.GPUs != "off" || got.GPUTasksEach != 2 || got.Cache != up.Cache || got.CacheBytes != 7 || got.Python != up.Python ||
		got.WW3 != "/opt/ww3" ||
		got.Sandbox != "container" ||
		got.Image != up.Image || got.DrainGrace != 7*time.Second || got.LogLevel != "warn" || got.LogFormat != "json" ||
		got.LogFile != up.LogFile {
		t.Errorf("the worker works with %+v, want what it needs of %+v", got, up)
	}
}

// TestAnnouncedStoresAreTheOwnersAlone: running.json holds the stores' keys, also where an earlier program left one that all may
// read.
func TestAnnouncedStoresAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(runningFile(home), []byte(`{"pid":1,"url":"http://old"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(runningFile(home), 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	old, err := os.Open(runningFile(home))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	running := Running{PID: os.Getpid(), URL: "http://new", Stores: RunningStores{DatabaseURL: "postgres://secret"}}
	forget, err := announce(home, running)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(runningFile(home))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("the mode is %v, want 0600", info.Mode())
	}
	if before, err := old.Stat(); err != nil || os.SameFile(info, before) {
		t.Errorf("who has the old file open reads the new one (%v)", err)
	}
	if got := FindRunning(home); got == nil || got.URL != running.URL || got.Stores != running.Stores {
		t.Errorf("found is %+v, want %+v", got, running)
	}
	if files, err := os.ReadDir(home); err != nil || len(files) != 1 {
		t.Errorf("left are %v (%v), want one file", files, err)
	}
	forget()
	if got := FindRunning(home); got != nil {
		t.Errorf("found is %+v, want nothing", got)
	}
	if _, err := announce(filepath.Join(home, "absent"), running); err == nil {
		t.Error("a home that is not there is no error")
	}
}

// TestUpsWorkerHasNoKeyOfTheStore: whoever gets out of a sandbox finds nothing in its worker's environment that opens all accounts'
// files.
func TestUpsWorkerHasNoKeyOfTheStore(t *testing.T) {
	t.Parallel()
	cfg := config.Config{RedisURL: "rediss://h", RedisCA: "h.crt", DatabaseURL: "postgres://secret", KeySecret: "secret",
		StoreAccess: config.ByPermit, S3: config.S3{Endpoint: "http://h", AccessKey: "secret", SecretKey: "secret"}}
	if env := strings.Join(workerEnvironment(cfg), "\n"); strings.Contains(env, "secret") || strings.Contains(env, "S3_") ||
		!strings.Contains(env, "REDIS_CA=h.crt") {
		t.Errorf("its environment is\n%s", env)
	}
	cfg.StoreAccess = config.ByKey
	if env := strings.Join(workerEnvironment(cfg), "\n"); !strings.Contains(env, "S3_SECRET_KEY=secret") ||
		!strings.Contains(env, "STORE_ACCESS=key") {
		t.Errorf("by key its environment is\n%s", env)
	}
}
