package e2e

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/molfabric/molfabric/deploy/images"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	composeFile = "../../deploy/compose.yaml"
	// storesImage is that of Postgres and Redis on a machine that has no others: POSTGRES_IMAGE and REDIS_IMAGE name them.
	storesImage = "molfabric-test/stores:bookworm"
)

// release is a release's images, by digest, as a registry names them.
type release struct{ control, docking string }

// deployment is deploy/compose.yaml as Docker runs it.
type deployment struct {
	*system
	compose  string            // the program
	project  string            // what Docker calls it
	secrets  string            // as compose/secrets.sh prints them
	settings map[string]string // besides those
	file     string            // with both
}

// TestCompose starts the whole of deploy/compose.yaml with Docker, with images that it pulls by digest, docks, and goes on to
// another release and back with work in flight, as doc/deploy.md says.
func TestCompose(t *testing.T) {
	program := os.Getenv("MOLFABRIC_TEST_COMPOSE")
	if program == "" {
		t.Skip("SKIPPED: MOLFABRIC_TEST_COMPOSE names no Docker Compose; make test-compose does")
	}
	earlier, newer := releases(t)
	d := deploy(t, program, earlier)
	d.run("up", "--detach")
	d.answers()
	d.wantRunning(earlier, earlier.control)
	t.Logf("the control plane's doctor:\n%s", d.run("exec", "-T", "api", "molfabric", "doctor", "--control"))
	t.Logf("a worker's doctor:\n%s", d.run("exec", "-T", "docking", "molfabric", "doctor", "--worker"))
	c := &chemist{system: d.system, key: d.key()}
	c.api = d.client(client.Options{Server: d.url, APIKey: c.key, NoReuse: true})
	file, err := c.api.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	submit := func(ligands ...string) (jobID string) {
		receipt, err := c.api.Submit(t.Context(), docking(file.StorageKey, 1, ligands...), "")
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Body.JobID
	}
	c.simulated(submit("aspirin"))

	flying := submit("aspirin", "caffeine", "paracetamol", "ibuprofen", "nicotine", "benzamidine")
	d.set(newer)
	d.run("run", "--rm", "-T", "migrate")
	d.run("up", "--detach", "scheduler")
	d.run("up", "--detach", "api")
	d.run("up", "--detach")
	d.answers()
	c.simulated(flying)
	d.wantRunning(newer, newer.control)
	c.simulated(submit("caffeine"))

	flying = submit("aspirin", "caffeine", "paracetamol")
	d.set(earlier)
	d.settings["MOLFABRIC_MIGRATION_IMAGE"] = newer.control
	d.run("up", "--detach", "api")
	d.answers()
	c.simulated(flying)
	d.run("up", "--detach")
	d.answers()
	c.simulated(submit("nicotine"))
	d.wantRunning(earlier, newer.control)
	d.run("exec", "-T", "api", "molfabric", "audit")
}

// releases are two of them in a registry on loopback: the images that make images has built, and the same under another digest.
func releases(t *testing.T) (earlier, newer release) {
	t.Helper()
	layout, err := images.OpenLayout(os.Getenv("MOLFABRIC_TEST_IMAGES"))
	if err != nil {
		t.Fatal(err)
	}
	digests, err := images.Digests(layout)
	if err != nil || digests[images.Control] == "" || digests["docking"] == "" {
		t.Fatalf("there are the images %v, %v; make images IMAGES='control docking' builds them", digests, err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)),
		registry.WithBlobHandler(registry.NewDiskBlobHandler(serverstest.Dir(t)))))
	t.Cleanup(server.Close)
	place := images.Registry{Context: t.Context(), Repository: strings.TrimPrefix(server.URL, "http://") + "/molfabric",
		Insecure: true}
	pushed := func(name string) (both [2]string) {
		if err := images.Push(layout, place, name, digests[name], "earlier"); err != nil {
			t.Fatal(err)
		}
		image, err := layout.Get(name, digests[name])
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.Config.Labels["org.opencontainers.image.version"] += "-newer"
		other, err := mutate.ConfigFile(image, config)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := other.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if err := place.Put(name, "newer", other); err != nil {
			t.Fatal(err)
		}
		prefix := place.Repository + "/" + name + "@"
		return [2]string{prefix + digests[name], prefix + digest.String()}
	}
	control, docking := pushed(images.Control), pushed("docking")
	t.Cleanup(func() {
		for _, image := range slices.Concat(control[:], docking[:]) {
			if output, err := exec.Command("docker", "image", "rm", "--force", image).CombinedOutput(); err != nil {
				t.Errorf("remove %s: %v\n%s", image, err, output)
			}
		}
	})
	return release{control[0], docking[0]}, release{control[1], docking[1]}
}

// deploy writes the settings of a deployment, and takes it away at the end of the test.
func deploy(t *testing.T, program string, images release) *deployment {
	t.Helper()
	secrets, err := exec.CommandContext(t.Context(), "sh", "../../deploy/compose/secrets.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	address, metrics := freeAddress(t), freeAddress(t)
	d := &deployment{system: &system{t: t, log: &syncBuffer{}, url: "http://" + address}, compose: program,
		project: strings.ReplaceAll(id.New("molfabric-test"), "_", "-"), secrets: string(secrets),
		file: filepath.Join(t.TempDir(), "env")}
	d.settings = map[string]string{"COMPOSE_PROFILES": "docking", "MOLFABRIC_SIMULATORS": "autodock-vina,fpocket",
		"MOLFABRIC_PUBLISH": address, "MOLFABRIC_PUBLISH_METRICS": metrics, "MOLFABRIC_PUBLIC_URL": d.url,
		"MOLFABRIC_SIGNUP_NETWORKS": "172.16.0.0/12,192.168.0.0/16", "MOLFABRIC_STRUCTURES": "off"}
	d.settings["POSTGRES_IMAGE"], d.settings["REDIS_IMAGE"] = stores(t)
	d.set(images)
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := d.command("logs", "--tail", "60").CombinedOutput()
			t.Logf("logs of the containers:\n%s", logs)
		}
		if output, err := d.command("down", "--volumes", "--remove-orphans").CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, output)
		}
	})
	return d
}

// stores are the images of Postgres and Redis: those that the environment names, or one of Debian's packages.
func stores(t *testing.T) (postgres, redis string) {
	t.Helper()
	postgres, redis = os.Getenv("POSTGRES_IMAGE"), os.Getenv("REDIS_IMAGE")
	if postgres != "" && redis != "" {
		return postgres, redis
	}
	if exec.CommandContext(t.Context(), "docker", "image", "inspect", storesImage).Run() == nil {
		return storesImage, storesImage
	}
	// Both containers run as the user 999, whom Docker's images have. The packages make no cluster of their own.
	script := `mmdebstrap --quiet --variant=minbase --include=postgresql,redis-server \
		--essential-hook='mkdir -p "$1/etc/postgresql-common"' \
		--essential-hook='echo create_main_cluster=false >"$1/etc/postgresql-common/createcluster.conf"' \
		--customize-hook='chroot "$1" groupmod --gid 999 postgres' --customize-hook='chroot "$1" usermod --uid 999 postgres' \
		--customize-hook='mkdir -p "$1/var/lib/postgresql/data" "$1/data"' \
		--customize-hook='chown 999:999 "$1/var/lib/postgresql/data" "$1/data"' \
		--customize-hook='copy-in testdata/compose/postgres.sh /' bookworm - |
	docker import --change 'ENV PATH=/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
		--change 'ENTRYPOINT ["sh", "/postgres.sh"]' - ` + storesImage
	if output, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("make an image of Postgres and Redis, or name some with POSTGRES_IMAGE and REDIS_IMAGE: %v\n%s", err, output)
	}
	return storesImage, storesImage
}

// set has the deployment's settings name a release.
func (d *deployment) set(images release) {
	d.settings["MOLFABRIC_CONTROL_IMAGE"], d.settings["MOLFABRIC_DOCKING_IMAGE"] = images.control, images.docking
}

// command is one of Compose's on the deployment, with its settings as they are now.
func (d *deployment) command(arguments ...string) *exec.Cmd {
	d.t.Helper()
	var text strings.Builder
	text.WriteString(d.secrets)
	for _, name := range slices.Sorted(maps.Keys(d.settings)) {
		fmt.Fprintf(&text, "%s=%s\n", name, d.settings[name])
	}
	if err := os.WriteFile(d.file, []byte(text.String()), 0o600); err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(d.compose, append([]string{"--project-name", d.project, "--env-file", d.file, "--file", composeFile},
		arguments...)...)
	cmd.Env = []string{} // what stands in the environment would count for more than the file
	for _, name := range []string{"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// run runs a command of Compose's, which must succeed, and returns what it prints on both ways.
func (d *deployment) run(arguments ...string) string {
	d.t.Helper()
	output, err := d.command(arguments...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("docker compose %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// answers waits until the API is ready.
func (d *deployment) answers() {
	d.t.Helper()
	d.eventually("the API is ready", func() bool {
		answer, err := http.Get(d.url + "/readyz")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
}

// wantRunning wants each part to run the image of a release, and the migration to have ended with the one that is named.
func (d *deployment) wantRunning(images release, migration string) {
	d.t.Helper()
	listed, err := exec.CommandContext(d.t.Context(), "docker", "ps", "--all", "--no-trunc", "--filter",
		"label=com.docker.compose.project="+d.project, "--format",
		`{{.Label "com.docker.compose.service"}} {{.Image}} {{.State}}`).Output()
	if err != nil {
		d.t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		service, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[service] = state
	}
	for service, want := range map[string]string{"store": images.control + " running", "api": images.control + " running",
		"scheduler": images.control + " running", "docking": images.docking + " running", "migrate": migration + " exited"} {
		if got[service] != want {
			d.t.Errorf("%s: got %q, want %q", service, got[service], want)
		}
	}
}
