package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpackTo writes the files of an archive below root, which need not be empty: a later file takes an earlier one's place. Owners
// are the caller's.
func unpackTo(root string, archive *tar.Reader) error {
	place, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer place.Close()
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read an archive: %w", err)
		}
		if err := unpackFile(place, h, archive); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

func unpackFile(root *os.Root, h *tar.Header, content io.Reader) error {
	name := filepath.Clean(strings.TrimPrefix(h.Name, "/"))
	if strings.HasPrefix(filepath.Base(name), ".wh.") {
		return errors.New("the layer removes files of those below it; no layer of ours does, and this is not understood")
	}
	mode := h.FileInfo().Mode()
	if h.Typeflag == tar.TypeDir {
		if err := root.MkdirAll(name, 0o755); err != nil || name == "." {
			return err
		}
		return root.Chmod(name, mode.Perm()|mode&fs.ModeSticky|0o700) // the owner goes on to write in it
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(filepath.Clean(strings.TrimPrefix(h.Linkname, "/")), name)
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode.Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Chmod(mode.Perm()), file.Close())
	}
	return nil // devices
}

// lay writes the files of layers below root.
func lay(root string, layers []v1.Layer) error {
	for _, layer := range layers {
		stream, err := layer.Uncompressed()
		if err != nil {
			return err
		}
		err = unpackTo(root, tar.NewReader(stream))
		stream.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// debian makes a root of Debian's packages below root.
func (b Builder) debian(ctx context.Context, root string, packages []string) error {
	arguments := []string{"--quiet", "--variant=minbase", "--include=" + strings.Join(packages, ","),
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*", suite, "-"}
	if b.Mirror != "" {
		arguments = append(arguments, b.Mirror)
	}
	cmd := exec.CommandContext(ctx, "mmdebstrap", arguments...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", moment.Unix()))
	cmd.Stderr = b.Log
	archive, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("make a root of Debian; `apt-get install mmdebstrap` installs what does: %w", err)
	}
	err = unpackTo(root, tar.NewReader(archive))
	_, _ = io.Copy(io.Discard, archive) // what follows an archive's end
	if waitErr := cmd.Wait(); waitErr != nil {
		return fmt.Errorf("mmdebstrap: %w", waitErr)
	}
	return err
}

// passed are the variables of this process that tell package managers how to reach what they fetch.
var passed = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_DEFAULT_TIMEOUT", "NPM_CONFIG_REGISTRY", "HTTP_PROXY",
	"HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

const certificates = "/etc/ssl/certs/ca-certificates.crt"

// within runs a command in a root, in namespaces of its own, with the machine's network. The repository is shown at /src.
func (b Builder) within(ctx context.Context, root string, command ...string) error {
	arguments := []string{"--bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
		"--ro-bind", b.Repository, "/src", "--chdir", "/src", "--unshare-all", "--share-net", "--die-with-parent", "--clearenv"}
	for _, place := range []string{"/etc/resolv.conf", certificates} {
		if _, err := os.Stat(place); err == nil {
			arguments = append(arguments, "--ro-bind", place, place)
		}
	}
	variables := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
		"PYTHONHASHSEED=0", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", moment.Unix()), "PIP_NO_CACHE_DIR=1", "PIP_CERT=" + certificates,
		"NODE_EXTRA_CA_CERTS=" + certificates}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			variables = append(variables, name+"="+value)
		}
	}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		arguments = append(arguments, "--setenv", name, value)
	}
	cmd := exec.CommandContext(ctx, "bwrap", append(append(arguments, "--"), command...)...)
	cmd.Stdout, cmd.Stderr = b.Log, b.Log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return nil
}

// compileScript compiles the modules of a folder anew, so that the same modules give the same bytes: without times, and in one
// process that leaves none behind of the modules that it loads itself (-B). Modules of other versions of Python do not compile, and
// are never loaded.
const compileScript = `find "$1" -depth -name __pycache__ -exec rm -rf {} + && ` +
	`{ python3.11 -B -m compileall -q -f -j 1 --invalidation-mode unchecked-hash "$1" >/dev/null || true; }`

// compile compiles the modules of folders, since nothing can do so later, in a container that cannot write.
func (b Builder) compile(ctx context.Context, root string, folders []string) error {
	for _, folder := range folders {
		if err := b.within(ctx, root, "sh", "-c", compileScript, "sh", folder); err != nil {
			return err
		}
	}
	return nil
}
