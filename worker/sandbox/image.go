package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

const (
	// layoutTimeout bounds how long an image is copied out of its store: images with scientific Python and model weights have tens
	// of gigabytes.
	layoutTimeout = time.Hour
	// imageFile is the record beside an image's root that says what it is.
	imageFile = "image.json"
	// imageRoot is where its files lie beside that.
	imageRoot = "root"
)

// image is a container image that has been laid out on this machine.
type image struct {
	Digest string   `json:"digest"` // "sha256:…", as the configuration names it
	ID     string   `json:"id"`     // of its configuration, as the image store knows it
	Path   []string `json:"path"`   // where its programs lie
	root   string   // directory of its files
}

// reference is the way to name an image by what it holds: "name@sha256:…", or "sha256:…" of its id. A tag may name another image
// tomorrow.
var reference = regexp.MustCompile(`^(?:[a-z0-9][A-Za-z0-9._/:-]{0,254}@)?(sha256:[0-9a-f]{64})$`)

func digestOf(name string) (string, error) {
	match := reference.FindStringSubmatch(name)
	if match == nil {
		return "", fmt.Errorf("image %q: must name its content, as name@sha256:… or sha256:…; `podman image inspect` shows both",
			name)
	}
	return match[1], nil
}

// openImage lays an image out below dir, unless that has been done before. The image must be in the store of podman or docker then;
// afterwards neither is needed. Several workers may do it at once.
func openImage(ctx context.Context, name, dir string) (image, error) {
	digest, err := digestOf(name)
	if err != nil {
		return image{}, err
	}
	if !filepath.IsAbs(dir) {
		return image{}, fmt.Errorf("directory of images %q: must be absolute", dir)
	}
	place := filepath.Join(dir, strings.TrimPrefix(digest, "sha256:"))
	if found, err := readImage(place, digest); !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	// Nobody else may reach programs in there that have their owner's rights.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return image{}, fmt.Errorf("make the directory of images: %w", err)
	}
	if err := sweepImages(dir); err != nil {
		return image{}, err
	}
	prefix, err := GroupPrefix(os.Getpid())
	if err != nil {
		return image{}, err
	}
	partial := filepath.Join(dir, prefix+strconv.FormatInt(sequence.Add(1), 10))
	defer os.RemoveAll(partial)
	if err := layOut(ctx, name, digest, partial); err != nil {
		return image{}, fmt.Errorf("image %s: %w", name, err)
	}
	if err := os.Rename(partial, place); err != nil && !errors.Is(err, fs.ErrExist) { // another worker was faster
		return image{}, fmt.Errorf("put the image in its place: %w", err)
	}
	return readImage(place, digest)
}

// readImage reads the record of an image that has been laid out. Errors: fs.ErrNotExist.
func readImage(place, digest string) (image, error) {
	text, err := os.ReadFile(filepath.Join(place, imageFile))
	if err != nil {
		return image{}, err
	}
	found := image{root: filepath.Join(place, imageRoot)}
	if err := json.Unmarshal(text, &found); err != nil || found.Digest != digest {
		return image{}, fmt.Errorf("%s does not describe %s; remove its directory to have the image laid out again",
			filepath.Join(place, imageFile), digest)
	}
	return found, nil
}

// sweepImages removes what workers that live no more have begun to lay out.
func sweepImages(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if staleGroup(entry.Name()) {
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("remove an unfinished image: %w", err)
			}
		}
	}
	return nil
}

// layOut copies an image's files from its store to place and writes the record.
func layOut(ctx context.Context, name, digest, place string) error {
	ctx, cancel := context.WithTimeout(ctx, layoutTimeout)
	defer cancel()
	store, err := imageStore()
	if err != nil {
		return err
	}
	found, err := inspectImage(ctx, store, name, digest)
	if err != nil {
		return err
	}
	root := filepath.Join(place, imageRoot)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	// Its container is never started. Some stores want to be told a command nevertheless.
	container, err := outputOf(ctx, storeEnvironment(), store, "create", name, "true")
	if err != nil {
		return err
	}
	container = strings.TrimSpace(container)
	err = exportTo(ctx, store, container, root)
	if _, removeErr := outputOf(context.WithoutCancel(ctx), storeEnvironment(), store, "rm", container); err == nil {
		err = removeErr
	}
	if err != nil {
		return err
	}
	record, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(place, imageFile), record, 0o600)
}

// imageStore finds the program that keeps images.
func imageStore() (string, error) {
	for _, program := range []string{"podman", "docker"} {
		if path, err := exec.LookPath(program); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errors.New("neither podman nor docker is installed, one of which must fetch and check images; run `apt-get " +
		"install podman` (Debian, Ubuntu) or `dnf install podman` (Fedora, RHEL)")
}

// storeEnvironment are this process's variables that tell podman and docker whose store to use; others may be secrets.
func storeEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return !slices.ContainsFunc([]string{"HOME=", "XDG_", "CONTAINER", "DOCKER_", "TMPDIR="},
			func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// inspectImage asks a store what it has by a name, and holds it against the digest.
func inspectImage(ctx context.Context, store, name, digest string) (image, error) {
	text, err := outputOf(ctx, storeEnvironment(), store, "image", "inspect", name)
	if err != nil {
		return image{}, fmt.Errorf("not on this machine; run `%s pull %s`: %w", filepath.Base(store), name, err)
	}
	var listed []struct {
		ID           string `json:"Id"`
		RepoDigests  []string
		Architecture string
		Os           string
		Config       struct{ Env []string }
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil || len(listed) != 1 {
		return image{}, fmt.Errorf("%s image inspect tells of %d images, not of one: %.200s", filepath.Base(store), len(listed),
			text)
	}
	found := listed[0]
	id := "sha256:" + strings.TrimPrefix(found.ID, "sha256:")
	if id != digest && !slices.ContainsFunc(found.RepoDigests,
		func(known string) bool { return strings.HasSuffix(known, "@"+digest) }) {
		return image{}, fmt.Errorf("the store gives another one, %s", id)
	}
	if found.Os != "linux" || found.Architecture != runtime.GOARCH {
		return image{}, fmt.Errorf("it is for %s on %s; this machine is linux on %s", found.Os, found.Architecture, runtime.GOARCH)
	}
	path := systemPath
	for _, variable := range found.Config.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = slices.DeleteFunc(strings.Split(value, ":"), func(dir string) bool { return !filepath.IsAbs(dir) })
		}
	}
	return image{Digest: digest, ID: id, Path: path}, nil
}

// exportTo unpacks the files of a container below root. What the sandbox has of its own is left out.
func exportTo(ctx context.Context, store, container, root string) error {
	tar, err := require("tar", "tar")
	if err != nil {
		return err
	}
	export := exec.CommandContext(ctx, store, "export", container)
	unpack := exec.CommandContext(ctx, tar, "--extract", "--preserve-permissions", "--numeric-owner", "--directory", root,
		"--exclude=dev/*", "--exclude=proc/*", "--exclude=sys/*", "--exclude=tmp/*")
	var exportSaid, unpackSaid bytes.Buffer
	export.Env = append(storeEnvironment(), "PATH="+strings.Join(systemPath, ":"))
	export.Stderr, unpack.Stderr = &exportSaid, &unpackSaid
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	export.Stdout, unpack.Stdin = writer, reader
	err = proc.Start(unpack)
	reader.Close()
	if err != nil {
		writer.Close()
		return err
	}
	exportErr := proc.Start(export)
	writer.Close()
	if exportErr == nil {
		exportErr = export.Wait()
	}
	if err := errors.Join(exportErr, unpack.Wait()); err != nil {
		return fmt.Errorf("copy its files: %w: %s", err, bytes.TrimSpace(append(exportSaid.Bytes(), unpackSaid.Bytes()...)))
	}
	return nil
}

// imagePlaces are what an image may have and the sandbox has of its own.
var imagePlaces = []string{"/dev", "/proc", "/sys", "/tmp", jobDir}

// showImage shows an image in place of the machine: the same programs must start its commands.
func (h *host) showImage(found image) error {
	h.root, h.searchPath = found.root, found.Path
	entries, err := os.ReadDir(found.root)
	if err != nil {
		return fmt.Errorf("look at the image: %w", err)
	}
	for _, entry := range entries {
		path := "/" + entry.Name()
		if slices.Contains(imagePlaces, path) {
			continue
		}
		if entry.Type()&os.ModeSymlink == 0 {
			h.bind = append(h.bind, path)
		} else if target, err := os.Readlink(filepath.Join(found.root, path)); err == nil {
			h.links = append(h.links, link{path, target})
		}
	}
	launchers := map[string]*string{"prlimit": &h.prlimit}
	if h.dropUser {
		launchers["setpriv"] = &h.setpriv
	}
	for name, place := range launchers {
		if *place, err = h.resolveProgram(nil, name); err != nil {
			return fmt.Errorf("the image must have %s of util-linux: %w", name, err)
		}
	}
	for _, path := range []string{shell, environmentProgram} {
		if err := h.executable(path); err != nil {
			return fmt.Errorf("the image must have %s, which starts a command: %w", path, err)
		}
	}
	return nil
}
