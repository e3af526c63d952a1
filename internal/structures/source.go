package structures

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// source is where entries come from.
type source interface {
	// entry hands the bytes of an entry to take, and returns where they lay. take is called again, from the first byte, when the
	// transfer broke off. Errors: ErrNotFound, ErrTooLarge, errAway, those of take.
	entry(ctx context.Context, id string, take func(io.Reader) error) (origin string, err error)
}

var (
	_ source = directory("")
	_ source = (*server)(nil)
)

// errAway says that a source could not be used this time.
var errAway = errors.New("the source cannot be reached")

// directory is a mirror of the archive on a file system.
type directory string

// entry looks in every layout that mirrors have: flat, by the id's middle characters, and the archive's own.
func (d directory) entry(_ context.Context, id string, take func(io.Reader) error) (string, error) {
	name := strings.ToLower(id) + ".cif"
	folders := []string{"", name[1:3], filepath.Join("data", "structures", "divided", "mmCIF", name[1:3])}
	for _, folder := range folders {
		for _, ending := range []string{".gz", ""} {
			relative := filepath.Join(folder, name+ending)
			err := readFile(filepath.Join(string(d), relative), take)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return "file:" + filepath.ToSlash(relative), err
		}
	}
	// A directory that is gone is no proof that the entry does not exist.
	if _, err := os.Stat(string(d)); err != nil {
		return "", fmt.Errorf("%w: %w", errAway, err)
	}
	return "", ErrNotFound
}

// readFile hands the content of a regular file to take. Errors: fs.ErrNotExist, errAway, those of take.
func readFile(path string, take func(io.Reader) error) error {
	info, err := os.Stat(path) // before the opening, which of a pipe would wait
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return asAway(err)
	}
	file, err := os.Open(path)
	if err != nil {
		return asAway(err)
	}
	defer func() { _ = file.Close() }() // only read
	return unpack(away{file}, MaxEntryBytes, take)
}

func asAway(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %w", errAway, err)
}

// unpack hands the content of a file to take, decompressed when it is gzip'd. Neither what comes nor what it unpacks to may have
// more than limit bytes: a compressed file is never the larger one, but for a few bytes.
func unpack(packed io.Reader, limit int64, take func(io.Reader) error) error {
	reader := bufio.NewReader(&bounded{packed, limit})
	if magic, err := reader.Peek(2); err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return take(reader) // an empty file, or one that cannot be read, is take's to find out
	}
	unzipped, err := gzip.NewReader(reader)
	if err != nil {
		return err
	}
	return take(&bounded{unzipped, limit})
}

// bounded fails with ErrTooLarge when more than left bytes come, where io.LimitReader would end as if that were all.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// away marks the errors of a transfer, which may be begun again, among those of its content.
type away struct{ io.Reader }

func (a away) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errAway, err)
	}
	return n, err
}
