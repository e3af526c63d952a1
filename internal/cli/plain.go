package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/molfabric/molfabric/internal/client"
)

// gzipExtension is what plainName takes off a file's name.
const gzipExtension = ".gz"

// gzipMagic begins what gzip has compressed (RFC 1952).
var gzipMagic = []byte{0x1f, 0x8b}

// fileBound is what a file may hold at most, unpacked, and what its user can do about one that holds more.
type fileBound struct {
	bytes  int64
	advice string
}

// plainFile is a file that the user has named, open for reading, and unpacked where it was compressed with gzip.
type plainFile struct {
	*os.File
	size int64 // bytes
}

// openPlain opens a file whatever it is called: its first bytes tell whether it is compressed. A compressed one is unpacked into a
// file without a name, which goes when it is closed. One that holds more than the bound is refused by its name, and
// no more than that of it is written anywhere.
func openPlain(path string, bound fileBound) (plainFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return plainFile{}, invalidInput("%v", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || info.Size() == 0:
		err = invalidInput("%s: is empty, or no regular file", path)
	case isGzip(file):
		defer file.Close()
		return unpack(file, path, bound)
	case info.Size() > bound.bytes:
		err = invalidInput("%s: has %s; %s", path, bytesText(info.Size()), bound.advice)
	}
	if err != nil {
		return plainFile{}, errors.Join(err, file.Close())
	}
	return plainFile{file, info.Size()}, nil
}

func isGzip(file io.ReaderAt) bool {
	head := make([]byte, len(gzipMagic))
	_, err := file.ReadAt(head, 0)
	return err == nil && bytes.Equal(head, gzipMagic)
}

// unpack writes what packed holds into a file without a name.
func unpack(packed io.Reader, path string, bound fileBound) (plainFile, error) {
	content, err := gzip.NewReader(packed)
	if err != nil {
		return plainFile{}, invalidInput("%s: is no gzip file that can be read: %v", path, err)
	}
	file, err := os.CreateTemp("", "molfabric-")
	if err != nil {
		return plainFile{}, err
	}
	size, err := copyPlain(file, content, path, bound)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return plainFile{}, errors.Join(err, file.Close())
	}
	return plainFile{file, size}, nil
}

func copyPlain(to io.Writer, content io.Reader, path string, bound fileBound) (int64, error) {
	from := &sourceErrors{Reader: content}
	size, err := io.Copy(to, io.LimitReader(from, bound.bytes+1))
	switch {
	case from.err != nil:
		return 0, invalidInput("%s: is no gzip file that can be read: %v", path, from.err)
	case err != nil:
		return 0, fmt.Errorf("unpacking %s: %w", path, err)
	case size > bound.bytes:
		return 0, invalidInput("%s: unpacks to more than %s; %s", path, bytesText(bound.bytes), bound.advice)
	case size == 0:
		return 0, invalidInput("%s: is empty when it is unpacked", path)
	}
	return size, nil
}

// sourceErrors tells the failures of what is read from those of what is written.
type sourceErrors struct {
	io.Reader
	err error
}

func (s *sourceErrors) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// checkPlain makes sure that a file can be read and keeps its bound.
func checkPlain(path string, bound fileBound) error {
	file, err := openPlain(path, bound)
	if err != nil {
		return err
	}
	return file.Close()
}

// uploadPlain stores what a file holds under this name.
func (inv *invocation) uploadPlain(
	ctx context.Context, path, name string, bound fileBound, options client.UploadOptions,
) (client.Uploaded, error) {
	file, err := openPlain(path, bound)
	if err != nil {
		return client.Uploaded{}, err
	}
	defer file.Close()
	uploaded, err := inv.api.UploadWith(ctx, name, file, file.size, options)
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("uploading %s: %w", path, err)
	}
	return uploaded, nil
}

// plainName is the name of what a file holds: 1iep.pdb of dir/1iep.pdb.gz.
func plainName(path string) string {
	name := filepath.Base(path)
	if extension := filepath.Ext(name); len(name) > len(extension) && strings.EqualFold(extension, gzipExtension) {
		return strings.TrimSuffix(name, extension)
	}
	return name
}

// stem is a file's name without what says how it is written: 1iep of dir/1iep.pdb.gz.
func stem(path string) string {
	return strings.TrimSuffix(plainName(path), filepath.Ext(plainName(path)))
}

// formatOf is the format that a file's name states.
func formatOf(path string) string {
	return strings.TrimPrefix(strings.ToLower(filepath.Ext(plainName(path))), ".")
}
