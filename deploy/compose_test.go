package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object/order"
	"github.com/molfabric/molfabric/internal/queue"
)

// composeFile is what compose.yaml uses of the Compose specification; decoding refuses anything else, so that a misspelt key is
// found.
type composeFile struct {
	Name     string                             `yaml:"name"`
	Ours     any                                `yaml:"x-ours"`
	Control  any                                `yaml:"x-control"`
	Worker   any                                `yaml:"x-worker"`
	Work     any                                `yaml:"x-work"`
	Services map[string]composeService          `yaml:"services"`
	Networks map[string]struct{ Internal bool } `yaml:"networks"`
	Volumes  map[string]map[string]string       `yaml:"volumes"`
}

type composeService struct {
	Image       string            `yaml:"image"`
	User        string            `yaml:"user"`
	ReadOnly    bool              `yaml:"read_only"`
	CapDrop     []string          `yaml:"cap_drop"`
	SecurityOpt []string          `yaml:"security_opt"`
	Restart     string            `yaml:"restart"`
	Logging     any               `yaml:"logging"`
	Profiles    []string          `yaml:"profiles"`
	Entrypoint  []string          `yaml:"entrypoint"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	DependsOn   any               `yaml:"depends_on"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Tmpfs       []string          `yaml:"tmpfs"`
	ShmSize     string            `yaml:"shm_size"`
	Networks    []string          `yaml:"networks"`
	StopGrace   time.Duration     `yaml:"stop_grace_period"`
	Healthcheck *composeHealth    `yaml:"healthcheck"`
	Deploy      struct {
		Resources struct {
			Limits struct {
				CPUs   string `yaml:"cpus"`
				Memory string `yaml:"memory"`
				Pids   int    `yaml:"pids"`
			} `yaml:"limits"`
		} `yaml:"resources"`
	} `yaml:"deploy"`
}

type composeHealth struct {
	Test        []string      `yaml:"test"`
	Interval    time.Duration `yaml:"interval"`
	Timeout     time.Duration `yaml:"timeout"`
	Retries     int           `yaml:"retries"`
	StartPeriod time.Duration `yaml:"start_period"`
}

// placeholder is Compose's ${NAME}, ${NAME:-default}, whose default may hold another, and ${NAME:?what is wrong}; $$ is a dollar.
var placeholder = regexp.MustCompile(`\$\$|\$\{([A-Z][A-Z0-9_]*)(?:(:-|:\?)((?:\$\{[A-Z0-9_]*\}|[^}])*))?\}`)

// interpolate fills a text in as Compose does, or says which variables are missing.
func interpolate(text string, variables map[string]string) (string, error) {
	var missing []string
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		switch value := variables[parts[1]]; {
		case found == "$$":
			return "$"
		case value != "":
			return value
		case parts[2] == ":?":
			missing = append(missing, parts[1])
			return ""
		default:
			filled, _ := interpolate(parts[3], variables) // a default holds no demand
			return filled
		}
	})
	if len(missing) > 0 {
		slices.Sort(missing)
		return "", fmt.Errorf("%s must be set", strings.Join(slices.Compact(missing), ", "))
	}
	return filled, nil
}

// composeVariables is a file of variables as secrets.sh prints it, with images filled in.
func composeVariables(t *testing.T) map[string]string {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), "sh", "compose/secrets.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	for line := range strings.Lines(string(printed)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			variables[name] = value
		}
	}
	for _, name := range []string{"CONTROL", "DOCKING", "DYNAMICS", "SEQUENCES", "RENDERING", "FOLDING", "WAVES"} {
		variables["MOLFABRIC_"+name+"_IMAGE"] = "registry.example.org/" + strings.ToLower(name) + "@sha256:" +
			strings.Repeat("a", 64)
	}
	return variables
}

func composeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// composed is compose.yaml with variables, those that are given beside those of secrets.sh.
func composed(t *testing.T, given ...string) composeFile {
	t.Helper()
	variables := composeVariables(t)
	for _, variable := range given {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	text, err := interpolate(composeText(t), variables)
	if err != nil {
		t.Fatal(err)
	}
	if left := regexp.MustCompile(`\$\{[^}]*\}?`).FindAllString(text, -1); len(left) > 0 {
		t.Errorf("not understood by this test, and perhaps not by Compose: %q", left)
	}
	var file composeFile
	// A key beside a merged map stands twice for this reader, and the later one counts.
	if err := yaml.UnmarshalWithOptions([]byte(text), &file, yaml.Strict(),
		yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	return file
}

// ours tells the services that run the program molfabric.
func (s composeService) ours() bool { return len(s.Entrypoint) == 0 && len(s.Command) > 0 }

// TestComposeHoldsNoSecret wants every secret to come from elsewhere, and its absence to be said.
func TestComposeHoldsNoSecret(t *testing.T) {
	t.Parallel()
	_, err := interpolate(composeText(t), nil)
	for _, name := range []string{"DATABASE_OWNER_PASSWORD", "DATABASE_SERVER_PASSWORD", "REDIS_CONTROL_PASSWORD",
		"REDIS_WORKER_PASSWORD", "STORE_SECRET_KEY", "MOLFABRIC_KEY_SECRET", "MOLFABRIC_CONTROL_IMAGE"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without variables: got %v, want it to name %s", err, name)
		}
	}
	one, two := composeVariables(t), composeVariables(t)
	for _, name := range []string{"DATABASE_OWNER_PASSWORD", "DATABASE_SERVER_PASSWORD", "REDIS_CONTROL_PASSWORD",
		"REDIS_WORKER_PASSWORD", "STORE_SECRET_KEY", "MOLFABRIC_KEY_SECRET"} {
		if len(one[name]) < 32 || one[name] == two[name] {
			t.Errorf("%s: secrets.sh prints %q and then %q; want two of at least 32 characters", name, one[name], two[name])
		}
	}
}

// TestComposeServicesAreConfined holds every service to what a stranger who got into it could do.
func TestComposeServicesAreConfined(t *testing.T) {
	t.Parallel()
	file := composed(t)
	for name, s := range file.Services {
		user, _, _ := strings.Cut(s.User, ":")
		if id, err := strconv.Atoi(user); err != nil || id == 0 {
			t.Errorf("%s runs as user %q, want the number of one that is not root", name, s.User)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s may write its root, keep capabilities or gain some: %+v", name, s)
		}
		if limits := s.Deploy.Resources.Limits; limits.CPUs == "" || limits.Memory == "" || limits.Pids == 0 {
			t.Errorf("%s has no limit of cores, memory or processes: %+v", name, limits)
		}
		if _, byDigest, _ := strings.Cut(s.Image, "@"); strings.Contains(s.Image, "registry.example.org") != (byDigest != "") {
			t.Errorf("%s runs %s, which is not named by what it holds", name, s.Image)
		}
		if strings.Contains(name, "worker") || len(s.Profiles) > 0 {
			confinedWorker(t, file, name, s)
			continue
		}
		if s.Healthcheck == nil && name != "migrate" {
			t.Errorf("%s has no health check", name)
		}
		if slices.ContainsFunc(s.SecurityOpt, func(one string) bool { return strings.Contains(one, "unconfined") }) {
			t.Errorf("%s is not confined: %v", name, s.SecurityOpt)
		}
	}
}

// TestComposeGoesBack wants all of the control plane to run one image, and on the way back to an earlier one its migration to stay
// with the newer, because a program refuses the schema that a newer one has made.
func TestComposeGoesBack(t *testing.T) {
	t.Parallel()
	const newer, earlier = "registry.example.org/control@sha256:bbb", "registry.example.org/control@sha256:aaa"
	for _, test := range []struct {
		given     []string
		migration string
	}{
		{[]string{"MOLFABRIC_CONTROL_IMAGE=" + newer}, newer},
		{[]string{"MOLFABRIC_CONTROL_IMAGE=" + earlier, "MOLFABRIC_MIGRATION_IMAGE=" + newer}, newer},
	} {
		_, control, _ := strings.Cut(test.given[0], "=")
		services := composed(t, test.given...).Services
		for name, want := range map[string]string{"store": control, "api": control, "scheduler": control,
			"migrate": test.migration} {
			if got := services[name].Image; got != want {
				t.Errorf("with %v %s runs %s, want %s", test.given, name, got, want)
			}
		}
	}
}

// confinedWorker wants a worker to reach Redis and the store and nothing else, and to be given the time that its drain takes.
func confinedWorker(t *testing.T, file composeFile, name string, s composeService) {
	t.Helper()
	for other, o := range file.Services {
		shared := slices.ContainsFunc(o.Networks, func(network string) bool { return slices.Contains(s.Networks, network) })
		reachable := other == "redis" || other == "store" || len(o.Profiles) > 0
		if shared != reachable {
			t.Errorf("%s reaches %s: got %v, want %v", name, other, shared, reachable)
		}
	}
	for _, network := range s.Networks {
		if !file.Networks[network].Internal {
			t.Errorf("%s is on %s, which leads outside", name, network)
		}
	}
	if len(s.Ports) > 0 {
		t.Errorf("%s publishes %v", name, s.Ports)
	}
	grace, err := time.ParseDuration(s.Environment["MOLFABRIC_DRAIN_GRACE"])
	if err != nil || s.StopGrace < grace+40*time.Second {
		t.Errorf("%s is killed after %s, and its drain takes %s and 40 s more (%v)", name, s.StopGrace, grace, err)
	}
}

// TestComposeConfiguresTheProgram has the program itself read the environment of every service.
func TestComposeConfiguresTheProgram(t *testing.T) {
	known, err := config.Variables()
	if err != nil {
		t.Fatal(err)
	}
	commands := subcommands(t)
	for _, name := range known {
		t.Setenv(name, "")
	}
	for name, s := range composed(t).Services {
		if !s.ours() {
			continue
		}
		if !slices.Contains(commands, s.Command[0]) {
			t.Errorf("%s runs %q, which molfabric does not know; it knows %v", name, s.Command, commands)
		}
		for variable, value := range s.Environment {
			if !slices.Contains(known, variable) {
				t.Errorf("%s sets %s, which the configuration does not know", name, variable)
			}
			t.Setenv(variable, value)
		}
		if _, err := config.Load(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for variable := range s.Environment {
			t.Setenv(variable, "")
		}
		for _, secret := range []string{"DATABASE_URL", "MOLFABRIC_KEY_SECRET", "S3_SECRET_KEY", "S3_ENDPOINT"} {
			if len(s.Profiles) > 0 && s.Environment[secret] != "" {
				t.Errorf("the worker %s is given %s", name, secret)
			}
		}
	}
}

// subcommands reads from main.go what molfabric can be told to do.
func subcommands(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`Use: "([a-z]+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, match[1])
	}
	return names
}

// TestComposeStoreGetsAnOrder has the S3 server's own reader look at what it is told.
func TestComposeStoreGetsAnOrder(t *testing.T) {
	file := composed(t)
	store, api := file.Services["store"], file.Services["api"]
	for name, value := range store.Environment {
		t.Setenv(name, value)
	}
	asked, given, err := order.Given()
	if err != nil || !given {
		t.Fatalf("given %v: %v", given, err)
	}
	if asked.SecretKey != api.Environment["S3_SECRET_KEY"] || asked.AccessKey != api.Environment["S3_ACCESS_KEY"] ||
		asked.Region != api.Environment["S3_REGION"] {
		t.Errorf("the API has other keys than the store, or another region: %+v", asked)
	}
	health := store.Healthcheck.Test[len(store.Healthcheck.Test)-1]
	if _, port, err := net.SplitHostPort(asked.Address); err != nil || health != "http://127.0.0.1:"+port+asked.HealthPath ||
		api.Environment["S3_ENDPOINT"] != "http://store:"+port {
		t.Errorf("the store listens at %s, is asked at %s, and the API calls %s", asked.Address, health,
			api.Environment["S3_ENDPOINT"])
	}
}

// TestComposeRedisKnowsItsUsers starts Redis as the file does.
func TestComposeRedisKnowsItsUsers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("MOLFABRIC_TEST_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: redis-server is missing; deploy/setup.sh installs it")
	}
	text, err := os.ReadFile("compose/redis.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range []string{queue.ControlACL(""), queue.WorkerACL("")} {
		if !strings.Contains(string(text), " resetchannels "+rules+"\n") {
			t.Errorf("compose/redis.sh lacks the rules %q", rules)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	// A log file, since a command without one is seen to end only when nobody holds its output.
	dir := t.TempDir()
	server := exec.CommandContext(t.Context(), "sh", "compose/redis.sh", "--port", port, "--bind", "127.0.0.1", "--logfile",
		filepath.Join(dir, "log"))
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.Env = append(os.Environ(), "CONTROL_PASSWORD=one", "WORKER_PASSWORD=two", "TMPDIR="+dir, "REDIS_DATA="+dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // after the test's context has ended it
	for user, want := range map[string]bool{"control:one": true, "worker:two": true, "control:two": false, "": false} {
		if err := pingAs(t.Context(), user, address); (err == nil) != want {
			t.Errorf("as %q: got %v, want %v", user, err, want)
		}
	}
}

// pingAs asks a Redis that may still be starting.
func pingAs(ctx context.Context, user, address string) error {
	options, err := redis.ParseURL("redis://" + user + "@" + address + "/0")
	if err != nil {
		return err
	}
	options.Protocol, options.DisableIdentity = 2, true
	client := redis.NewClient(options)
	defer client.Close()
	for range 100 {
		if err = client.Ping(ctx).Err(); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		time.Sleep(100 * time.Millisecond) // Redis says nothing when it listens
	}
	return err
}

// TestComposeKeepsWhatMustStay wants what is not to be lost on volumes, and no volume that nobody declares.
func TestComposeKeepsWhatMustStay(t *testing.T) {
	t.Parallel()
	file := composed(t)
	used := map[string]bool{}
	for name, s := range file.Services {
		for _, mount := range s.Volumes {
			source, _, _ := strings.Cut(mount, ":")
			if strings.HasPrefix(source, "./") {
				if _, err := os.Stat(source); err != nil || !strings.HasSuffix(mount, ":ro") {
					t.Errorf("%s mounts %s: %v", name, mount, err)
				}
				continue
			}
			if _, declared := file.Volumes[source]; !declared || used[source] {
				t.Errorf("%s mounts %s, which is declared: %v, and used elsewhere: %v", name, source, declared, used[source])
			}
			used[source] = true
		}
	}
	if len(used) != len(file.Volumes) {
		t.Errorf("declared are %v, used are %v", slices.Sorted(maps.Keys(file.Volumes)), slices.Sorted(maps.Keys(used)))
	}
}
