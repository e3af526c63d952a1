package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// testDigest names the image that localImages lays out.
const testDigest = "sha256:00000000000000000000000000000000000000000000000000000000000000aa"

// imagePrograms are what the tests' commands run, beside the system's Python.
var imagePrograms = []string{"sh", "env", "prlimit", "setpriv", "cat", "chmod", "env", "false", "grep", "head", "id", "ln", "ls",
	"mkdir", "mkfifo", "mktemp", "mount", "python3", "seq", "setsid", "sleep", "sort", "true", "unshare"}

var libraryLine = regexp.MustCompile(`(/\S+) \(0x`)

// localImages is a directory with one image, made of this machine's programs, as openImage would have laid it out. TestMain removes
// it.
var localImages = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "molfabric-images-"); err != nil {
		return "", err
	}
	place := filepath.Join(dir, strings.TrimPrefix(testDigest, "sha256:"))
	if err := copyPrograms(filepath.Join(place, imageRoot), imagePrograms, "/usr/lib/python3.*"); err != nil {
		return dir, err
	}
	record, err := json.Marshal(image{Digest: testDigest, ID: testDigest, Path: systemPath})
	if err != nil {
		return dir, err
	}
	return dir, os.WriteFile(filepath.Join(place, imageFile), record, 0o600)
})

// copyPrograms makes the root of an image with some programs, what they load, and the Python modules that lie where a pattern says.
func copyPrograms(root string, names []string, python string) error {
	var programs, modules []string
	for _, name := range names {
		for _, dir := range systemPath {
			if path := filepath.Join(dir, name); (&host{}).executable(path) == nil {
				programs = append(programs, path)
				break
			}
		}
	}
	pythons, err := filepath.Glob(python + "/os.py")
	if err != nil {
		return err
	}
	for _, module := range pythons {
		modules = append(modules, filepath.Dir(module))
	}
	native, err := filepath.Glob(python + "/lib-dynload/*.so")
	if err != nil {
		return err
	}
	listed, _ := exec.Command("ldd", slices.Concat(programs, native)...).Output() // it complains of what needs no library
	var libraries []string
	for _, match := range libraryLine.FindAllStringSubmatch(string(listed), -1) {
		libraries = append(libraries, match[1])
	}
	slices.Sort(libraries)
	for _, dir := range []string{"etc", "bin", "usr/bin", "dev", "tmp", "job"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc", "of-the-image"), nil, 0o644); err != nil {
		return err
	}
	if err := os.Symlink("python3", filepath.Join(root, "usr", "bin", "python")); err != nil {
		return err
	}
	if err := os.Symlink("/usr/bin/sh", filepath.Join(root, "bin", "sh")); err != nil {
		return err
	}
	copies := slices.Concat([]string{"-rL", "--parents"}, programs, slices.Compact(libraries), modules, []string{root})
	return exec.Command("cp", copies...).Run()
}

func TestImagesAreNamedByDigest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		testDigest:                         true,
		"molfabric@" + testDigest:          true,
		"r.example:5000/a/b@" + testDigest: true,
		"molfabric:latest":                 false,
		"molfabric":                        false,
		"molfabric@sha256:abc":             false,
		strings.ToUpper(testDigest):        false,
		"--all@" + testDigest:              false,
		"a b@" + testDigest:                false,
		"":                                 false,
	} {
		if digest, err := digestOf(name); (err == nil) != want || err == nil && digest != testDigest {
			t.Errorf("%q: got %q, %v", name, digest, err)
		}
	}
}

func TestImageAndIsolationGoTogether(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no image":           {Isolation: Container, ImageDir: t.TempDir()},
		"a tag":              {Isolation: Container, Image: "molfabric:latest", ImageDir: t.TempDir()},
		"nowhere":            {Isolation: Container, Image: testDigest},
		"image elsewhere":    {Isolation: Bubblewrap, Image: testDigest, ImageDir: t.TempDir()},
		"paths of the host":  {Isolation: Container, Image: testDigest, ImageDir: t.TempDir(), ReadOnlyPaths: []string{"/usr"}},
		"own image by tag":   {Isolation: Direct, OwnImage: "molfabric:latest"},
		"two images":         {Isolation: Container, Image: testDigest, OwnImage: testDigest, ImageDir: t.TempDir()},
		"image of no record": {Isolation: Container, Image: testDigest, ImageDir: spoiledImage(t)},
	} {
		if _, err := New(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// spoiledImage is a directory whose image says that it is another one.
func spoiledImage(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	place := filepath.Join(dir, strings.TrimPrefix(testDigest, "sha256:"))
	if err := os.MkdirAll(filepath.Join(place, imageRoot), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, imageFile), []byte(`{"digest":"sha256:ab"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestContainerShowsTheImageAlone: its files and no others, its digest in the environment, and nothing to write but the usual
// places.
func TestContainerShowsTheImageAlone(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Isolation: Container})
	marker := filepath.Join(t.TempDir(), "of-the-machine")
	if err := os.WriteFile(marker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got := mustRun(t, r, shellSpec(t, `ls /etc; echo "$MOLFABRIC_WORKER_IMAGE"; ls -d `+marker+
		` /usr/include /var 2>&1; (echo >/etc/x) 2>&1; (echo >/usr/x) 2>&1; exit 7`))
	expect(t, got, Exited, 7)
	for _, want := range []string{"of-the-image\n" + testDigest + "\n", "'" + marker + "': No such", "'/usr/include': No such",
		"'/var': No such",
		"/etc/x: Read-only", "/usr/x: Read-only"} {
		if !strings.Contains(got.LogTail, want) {
			t.Errorf("%q is not in the log: %s", want, got.LogTail)
		}
	}
	if d := r.Describe(); d.Image != testDigest || !strings.HasPrefix(d.String(), "container "+testDigest) {
		t.Errorf("image %q, described as %s", d.Image, d)
	}
	claimed := shellSpec(t, "true")
	claimed.Command.Env = map[string]string{workerImage: "sha256:mine"}
	if _, err := r.Run(t.Context(), claimed, nil); err == nil {
		t.Error("a command may say which image it runs in")
	}
}

// podman skips a test where it is not installed: set-up does not install it, for only those need it who run containers.
func podman(t testing.TB) func(arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skipf("NOT TESTED: images of podman's store: %v", err)
	}
	// A store of its own: the images of the machine are not the test's.
	store := t.TempDir()
	settings := "[storage]\ndriver = \"vfs\"\ngraphroot = \"" + store + "/graph\"\nrunroot = \"" + store + "/run\"\n"
	if err := os.WriteFile(filepath.Join(store, "storage.conf"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONTAINERS_STORAGE_CONF", filepath.Join(store, "storage.conf"))
	return func(arguments ...string) string {
		t.Helper()
		out, err := exec.Command("podman", arguments...).Output()
		if err != nil {
			t.Fatalf("podman %s: %v", strings.Join(arguments, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
}

// TestImagesAreLaidOut imports the image into podman's store and runs a command in it, named by its id and by its digest.
func TestImagesAreLaidOut(t *testing.T) {
	run := podman(t)
	root := filepath.Join(t.TempDir(), "root")
	if err := copyPrograms(root, []string{"sh", "env", "ls", "prlimit", "setpriv"}, "/nowhere"); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	if out, err := exec.Command("tar", "-cf", archive, "-C", root, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := run("import", "--quiet", "--change", "ENV PATH=/usr/bin:/bin", archive, "molfabric-test:latest")
	digest := run("image", "inspect", "--format", "{{index .RepoDigests 0}}", id)
	if !strings.HasPrefix(id, "sha256:") || strings.HasSuffix(digest, id) {
		t.Fatalf("id %s, digest %s", id, digest)
	}
	for _, name := range []string{id, digest} {
		cfg := Config{Isolation: Container, Image: name, ImageDir: filepath.Join(t.TempDir(), "images")}
		var together sync.WaitGroup
		for range 3 { // workers that start at once
			together.Go(func() {
				if _, err := New(t.Context(), cfg); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		together.Wait()
		r, err := New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := mustRun(t, r, shellSpec(t, `ls /etc; echo "$PATH $MOLFABRIC_WORKER_IMAGE"`))
		expect(t, got, Exited, 0)
		if want := "of-the-image\n/usr/bin:/bin " + r.Describe().Image + "\n"; got.LogTail != want ||
			!strings.HasSuffix(name, r.Describe().Image) {
			t.Errorf("%s: printed %q, want %q", name, got.LogTail, want)
		}
		left, err := os.ReadDir(cfg.ImageDir)
		if err != nil || len(left) != 1 {
			t.Errorf("%s: %v, %v, want the one image", name, left, err)
		}
	}
	if left := run("ps", "--all", "--quiet"); left != "" {
		t.Errorf("containers are left: %s", left)
	}
	if _, err := New(t.Context(), Config{Isolation: Container, Image: "molfabric@" + testDigest,
		ImageDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "podman pull molfabric@"+testDigest) {
		t.Errorf("an image that is not there: got %v, want the command that fetches it", err)
	}
}

func TestImageStoreNamesItsCure(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := imageStore(); err == nil || !strings.Contains(err.Error(), "apt-get install podman") {
		t.Errorf("got %v, want the command that installs it", err)
	}
}
