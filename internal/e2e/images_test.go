package e2e

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/molfabric/molfabric/deploy/images"
	"github.com/molfabric/molfabric/internal/object/order"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// foreignImage is the digest of an image that nobody has.
var foreignImage = "sha256:" + strings.Repeat("1", 64)

// container is an image of a layout that has been unpacked by its digest.
type container struct {
	digest, root string
	config       v1.Config
}

func unpack(t *testing.T, layout *images.Layout, name, digest string) container {
	t.Helper()
	image, err := layout.Get(name, digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root, err := images.Unpack(layout, name, digest, serverstest.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	return container{digest: digest, root: root, config: config.Config}
}

// command starts a program of the image as a container runtime would: as the image's user, on a root that it cannot write, in
// namespaces of its own but for the network, with the image's environment and env.
func (c container) command(t *testing.T, home string, env, argv []string) *exec.Cmd {
	t.Helper()
	user, group, _ := strings.Cut(c.config.User, ":")
	uid, err := strconv.Atoi(user)
	if err != nil || uid == 0 {
		t.Fatalf("the image runs as %q, want the number of a user who is not root", c.config.User)
	}
	arguments := []string{"bwrap", "--ro-bind", c.root, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", home,
		"/var/lib/molfabric", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--chdir", c.config.WorkingDir,
		"--clearenv"}
	for _, variable := range append(slices.Clone(c.config.Env), env...) {
		name, value, _ := strings.Cut(variable, "=")
		arguments = append(arguments, "--setenv", name, value)
	}
	arguments = append(append(arguments, "--"), argv...)
	if os.Getuid() == 0 {
		if err := os.Chown(home, uid, uid); err != nil {
			t.Fatal(err)
		}
		arguments = append([]string{"setpriv", "--reuid", user, "--regid", group, "--clear-groups"}, arguments...)
	}
	return exec.Command(arguments[0], arguments[1:]...)
}

// runContained starts a program of an image and stops it, cleanly, at the end of t, which may be a part of the system's test.
func (s *system) runContained(t *testing.T, c container, env []string, argv ...string) {
	t.Helper()
	cmd := c.command(t, serverstest.Dir(t), env, argv)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, child := range childrenOf(cmd.Process.Pid) { // bwrap only waits for the container's first process
			if err := syscall.Kill(child, syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v did not stop cleanly: %v", argv, err)
		}
		if t.Failed() {
			t.Logf("logs of the containers:\n%s", s.log)
		}
	})
}

// TestImages has each image that `make images` has built do a real piece of work, by its digest: the store, the migration, the API
// and the scheduler run from the image of the control plane, and for each fleet a worker from the fleet's.
func TestImages(t *testing.T) {
	dir := os.Getenv("MOLFABRIC_TEST_IMAGES")
	if dir == "" {
		t.Skip("SKIPPED: MOLFABRIC_TEST_IMAGES names no folder with images; make test-images does")
	}
	layout, err := images.OpenLayout(dir)
	if err != nil {
		t.Fatal(err)
	}
	digests, err := images.Digests(layout)
	if err != nil || digests[images.Control] == "" {
		t.Fatalf("there are the images %v, %v; make images builds them", digests, err)
	}
	s, shared := contained(t, unpack(t, layout, images.Control, digests[images.Control]))
	works := map[string]func(*chemist, container){"sequences": searchesInImage, "docking": docksInImage,
		"dynamics": simulatesInImage, "waves": propagatesInImage, "rendering": drawsInImage, "folding": foldsInImage}
	for name := range digests {
		if _, ok := works[name]; !ok && name != images.Control {
			t.Errorf("nothing is tried in the image %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(works)) {
		t.Run(name, func(t *testing.T) {
			if digests[name] == "" {
				t.Skipf("SKIPPED: the image %s has not been built", name)
			}
			c := unpack(t, layout, name, digests[name])
			s.runContained(t, c, append(slices.Clone(shared), "MOLFABRIC_OWN_IMAGE=molfabric/"+name+"@"+c.digest),
				slices.Concat(c.config.Entrypoint, c.config.Cmd)...)
			works[name](s.chemist(t), c)
		})
	}
	t.Run("container", func(t *testing.T) { searchesInSandbox(t, s, layout, digests["sequences"], shared) })
}

// contained starts a system from the image of the control plane, beside a real Postgres and Redis, and returns what workers are
// told.
func contained(t *testing.T, c container) (s *system, shared []string) {
	t.Helper()
	store := order.Order{Dir: "/var/lib/molfabric", Address: freeAddress(t), Region: "us-east-1", AccessKey: "molfabric",
		SecretKey: "of this test alone", HealthPath: order.NewHealthPath()}
	given, err := store.Environment()
	if err != nil {
		t.Fatal(err)
	}
	_, redisURL, prefix := redistest.New(t)
	address := freeAddress(t)
	shared = []string{"REDIS_URL=" + redisURL, "MOLFABRIC_REDIS_PREFIX=" + prefix, "MOLFABRIC_CONFIG=off", "MOLFABRIC_SLOTS=2",
		"MOLFABRIC_PREVIEWS=0", "MOLFABRIC_GPUS=off", "MOLFABRIC_LISTEN=" + address}
	control := append(slices.Clone(shared), "DATABASE_URL="+pgtest.EmptyURL(t), "S3_ENDPOINT=http://"+store.Address,
		"S3_REGION="+store.Region, "S3_BUCKET=molfabric", "S3_ACCESS_KEY="+store.AccessKey, "S3_SECRET_KEY="+store.SecretKey,
		"MOLFABRIC_SIGNUP_NETWORKS=127.0.0.0/8", "MOLFABRIC_STRUCTURES=off", "MOLFABRIC_KEY_SECRET="+strings.Repeat("k", 32))
	s = &system{t: t, home: serverstest.Dir(t), log: &syncBuffer{}, url: "http://" + address,
		env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, control...)}
	s.runContained(t, c, []string{given}, "/usr/local/bin/molfabric-store")
	s.eventually("the store answers", func() bool { return answers(store.Address) })
	program := c.config.Entrypoint[0]
	if output, err := c.command(t, serverstest.Dir(t), control, []string{program, "migrate"}).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, output)
	}
	s.runContained(t, c, control, program, "api")
	s.runContained(t, c, control, program, "scheduler")
	s.eventually("the API answers", func() bool { return answers(address) })
	return s, shared
}

func answers(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// searchesInImage also adds the database that is searched, as an operator does.
func searchesInImage(c *chemist, _ container) {
	c.addDatabase("globins", "../sequences/testdata/proteins.fasta")
	c.simulated(c.search("blastp", testSequences.proteinQueries, 1, map[string]any{"blastDatabaseName": "globins"}))
}

func docksInImage(c *chemist, _ container) {
	scene, err := c.api.UploadFile(c.t.Context(), receptor(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	receipt, err := c.api.Submit(c.t.Context(), docking(scene.StorageKey, 1, "aspirin"), "")
	if err != nil {
		c.t.Fatal(err)
	}
	c.simulated(receipt.Body.JobID)
}

// simulatesInImage also asks for an image that the worker does not run, which is refused.
func simulatesInImage(c *chemist, in container) {
	const steps = 20
	c.simulated(c.simulate(simulation(c.peptide(), steps, map[string]any{"workerImageDigest": in.digest})))
	foreign := c.simulate(simulation(c.peptide(), steps, map[string]any{"workerImageDigest": foreignImage}))
	c.failed(foreign, "WORKER_IMAGE_MISMATCH", foreignImage, in.digest)
}

func propagatesInImage(c *chemist, _ container) {
	sh := c.signIn()
	done, _ := sh.want(0, "", "waves", bayCase(c.t, coarseDeck(c.t)), "--out", "results")
	sh.contains(done, "Converged", "Bill")
}

func drawsInImage(c *chemist, _ container) {
	request := c.pocketPicture()
	for _, engine := range []string{"molstar", "cycles"} {
		c.checkStill(c.rendered(c.simulate(request(engine, nil))))
	}
}

func foldsInImage(c *chemist, _ container) {
	_, tiny := foldEnvironment(c.t)
	c.weights("add", tiny, "--model", "esmfold", "--licence", "none", "--commercial-use")
	sh := c.signIn()
	printed, _ := sh.want(0, "", "fold", writeText(c.t, "one.fasta", ">cage\n"+trpCage+"\n"), "--model", "esmfold", "--watch",
		"--out", filepath.Join(c.t.TempDir(), "structures"))
	sh.contains(printed, "UNTRAINED", "0001-cage.cif")
}

// searchesInSandbox runs a worker of the machine whose tasks run in the image of the fleet, which has been laid out for it without
// a container runtime. A digest that is not there is refused.
func searchesInSandbox(t *testing.T, s *system, layout *images.Layout, digest string, shared []string) {
	if digest == "" {
		t.Skip("SKIPPED: the image sequences has not been built")
	}
	c := s.chemist(t)
	c.home = serverstest.Dir(t)
	if _, err := images.Unpack(layout, "sequences", digest, filepath.Join(c.home, "images")); err != nil {
		t.Fatal(err)
	}
	worker := func(digest string) []string {
		return append(slices.Clone(shared), "PATH="+os.Getenv("PATH"), "HOME="+c.home, "MOLFABRIC_HOME="+c.home,
			"MOLFABRIC_SIMULATORS=blastp", "MOLFABRIC_SANDBOX=container", "MOLFABRIC_IMAGE=molfabric/sequences@"+digest)
	}
	if output, err := c.part(worker(foreignImage), "worker").CombinedOutput(); err == nil ||
		!strings.Contains(string(output), foreignImage) {
		t.Errorf("a worker for an image that is not here: got %v, %s", err, output)
	}
	c.run(worker(digest), "worker")
	queries := readText(t, testSequences.proteinQueries)
	again := writeText(t, "again.faa", fmt.Sprintf("%s>again\n%s\n", queries, trpCage))
	c.simulated(c.search("blastp", again, 1, map[string]any{"blastDatabaseName": "globins"}))
}
