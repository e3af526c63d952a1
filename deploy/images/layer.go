package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// File is one entry of a layer.
type File struct {
	Name   string // within the image, without the leading slash
	Mode   fs.FileMode
	Target string // of a symbolic link
	Owner  int
	Source string // the file on this machine with its content; Text where there is none
	Text   []byte
}

// left are places whose content a layer does not have: what a running system makes for itself, and logs and caches that differ with
// every build.
var left = regexp.MustCompile(`^(?:src|(?:dev|proc|sys|run|tmp|root|var/log|var/cache|var/tmp|var/lib/apt|src)/.*|` +
	`opt/molfabric/(?:setup|node)(?:/.*)?|` +
	`usr/share/(?:man|info|locale|lintian)/.*|var/lib/dpkg/(?:.*-old|lock.*)|etc/(?:machine-id|hostname|resolv\.conf|.*-))$`)

// pages are those of Debian's packages that nobody reads in a container. Licences stay.
func pages(name string) bool {
	return strings.HasPrefix(name, "usr/share/doc/") && strings.Count(name, "/") > 3 && path.Base(name) != "copyright"
}

// special are the bits of a mode that make a program another user's. No program of an image needs them.
const special = fs.ModeSetuid | fs.ModeSetgid

// readTree lists what lies in keep below root, in the order of names.
func readTree(root string, keep []string) (files []File, err error) {
	if len(keep) == 0 {
		keep = []string{"/"}
	}
	for _, place := range keep {
		err := filepath.WalkDir(filepath.Join(root, place), func(found string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(strings.TrimPrefix(found, root), "/")
			info, err := entry.Info()
			if err != nil || name == "" || left.MatchString(name) || !entry.IsDir() && pages(name) {
				return err
			}
			file := File{Name: name, Mode: info.Mode() &^ special, Source: found}
			switch info.Mode().Type() {
			case 0, fs.ModeDir:
			case fs.ModeSymlink:
				file.Target, err = os.Readlink(found)
			default: // devices and sockets are the container's
				return nil
			}
			files = append(files, file)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

func (f File) header(size int64) *tar.Header {
	h := &tar.Header{Name: f.Name, Mode: int64(f.Mode.Perm()), Uid: f.Owner, Gid: f.Owner, ModTime: moment, Typeflag: tar.TypeReg,
		Size: size}
	switch {
	case f.Mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, f.Name+"/"
	case f.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Target, 0o777
	}
	if f.Mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	return h
}

// open opens the content of a regular file.
func (f File) open() (content io.ReadCloser, size int64, err error) {
	if f.Source == "" || !f.Mode.IsRegular() {
		return io.NopCloser(bytes.NewReader(f.Text)), int64(len(f.Text)), nil
	}
	file, err := os.Open(f.Source)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// markOf tells what a file is: two with the same mark are the same.
func markOf(h *tar.Header, content io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return fmt.Sprintf("%c %o %d %d %s %s", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Linkname, hex.EncodeToString(sum.Sum(nil))), nil
}

// marksOf are what the files of some layers are, by name, the upper layer's where several have one.
func marksOf(layers []v1.Layer) (map[string]string, error) {
	marks := map[string]string{}
	for _, layer := range layers {
		err := eachFile(layer, func(h *tar.Header, content io.Reader) (err error) {
			marks[path.Clean(h.Name)], err = markOf(h, content)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return marks, nil
}

// eachFile reads a layer.
func eachFile(layer v1.Layer, do func(h *tar.Header, content io.Reader) error) error {
	stream, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer stream.Close()
	archive := tar.NewReader(stream)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a layer: %w", err)
		}
		if err := do(h, archive); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// added are the files that the layers below do not have as they are.
func added(files []File, below map[string]string) ([]File, error) {
	var more []File
	for _, file := range files {
		content, size, err := file.open()
		if err != nil {
			return nil, err
		}
		mark, err := markOf(file.header(size), content)
		content.Close()
		if err != nil {
			return nil, err
		}
		if below[file.Name] != mark {
			more = append(more, file)
		}
	}
	return more, nil
}

// writeLayer writes files as a compressed archive into folder, under the name that the archive's digest gives it.
func writeLayer(folder string, files []File) (layer v1.Layer, err error) {
	partial, err := os.CreateTemp(folder, "layer-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(partial.Name())
	sum := sha256.New()
	err = archiveTo(io.MultiWriter(partial, sum), files)
	if closeErr := partial.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	place := filepath.Join(folder, hex.EncodeToString(sum.Sum(nil)))
	if err := os.Chmod(partial.Name(), 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(partial.Name(), place); err != nil {
		return nil, err
	}
	return openLayer(place)
}

func openLayer(place string) (v1.Layer, error) {
	return tarball.LayerFromFile(place, tarball.WithMediaType(types.OCILayer))
}

func archiveTo(w io.Writer, files []File) error {
	compressed := gzip.NewWriter(w) // its header has no name and no time
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		content, size, err := file.open()
		if err != nil {
			return err
		}
		h := file.header(size)
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err = archive.WriteHeader(h); err == nil && h.Size > 0 {
			_, err = io.Copy(archive, content)
		}
		content.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}
