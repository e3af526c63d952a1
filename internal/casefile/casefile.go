// Package casefile reads the archive of a case that people prepare on their own machines: a folder with inputs of a model, as .zip
// or .tar.gz. It bounds what it unpacks, and refuses names that lead out of the folder. It writes nothing.
package casefile

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a case.
const (
	// MaxArchiveBytes is of the archive itself, which is read whole before the job is taken.
	MaxArchiveBytes = 64 << 20
	// MaxFiles, MaxBytes and MaxDepth bound what it unpacks to.
	MaxFiles = 2000
	MaxBytes = 512 << 20
	MaxDepth = 8
	// maxNameBytes bounds the name of a file, folders included.
	maxNameBytes = 200
	// MaxTextBytes is up to where the text of a file is kept: a deck, and what names other files.
	MaxTextBytes = 1 << 20
)

// Case is what an archive holds.
type Case struct {
	// Root is the one folder that everything lies in, with a slash at its end; "" where there is none. Names leave it away.
	Root  string
	Files []File // by name
}

// File is a regular file of a case.
type File struct {
	Name  string
	Bytes int64
	Text  []byte // nil of a file that is no text or has more than MaxTextBytes
}

// UnreadableError says why an archive is refused.
type UnreadableError struct{ Reason string }

func (e *UnreadableError) Error() string { return e.Reason }

func unreadable(format string, args ...any) error {
	return &UnreadableError{Reason: fmt.Sprintf(format, args...)}
}

// Find finds a file by its name, letter by letter.
func (c *Case) Find(name string) (File, bool) {
	for _, file := range c.Files {
		if file.Name == name {
			return file, true
		}
	}
	return File{}, false
}

// Read reads an archive. Errors: *UnreadableError.
func Read(content []byte) (*Case, error) { return readUpTo(content, MaxBytes) }

// readUpTo reads an archive that unpacks to so many bytes at most.
func readUpTo(content []byte, most int64) (*Case, error) {
	r := reader{most: most}
	var err error
	switch {
	case len(content) > MaxArchiveBytes:
		return nil, unreadable("has %d bytes; an archive may have at most %d", len(content), MaxArchiveBytes)
	case bytes.HasPrefix(content, []byte("PK\x03\x04")):
		err = r.readZip(content)
	case bytes.HasPrefix(content, []byte{0x1f, 0x8b}):
		err = r.readTar(content)
	default:
		return nil, unreadable("is neither a .zip nor a .tar.gz archive")
	}
	if err != nil {
		return nil, err
	}
	return r.finish()
}

// reader collects the files of an archive.
type reader struct {
	files []File
	seen  map[string]string // names in small letters: some file systems know no others
	bytes int64
	most  int64 // that bytes may become
}

func (r *reader) readZip(content []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return unreadable("is no whole .zip archive: %v", err)
	}
	for _, entry := range archive.File {
		mode := entry.Mode()
		if mode.IsDir() {
			if err := checkName(strings.TrimSuffix(entry.Name, "/")); err != nil {
				return err
			}
			continue
		}
		if !mode.IsRegular() {
			return unreadable("holds %.80q, which is no regular file; links and devices are not taken", entry.Name)
		}
		file, err := entry.Open()
		if err != nil {
			return unreadable("holds %.80q, which cannot be unpacked: %v", entry.Name, err)
		}
		err = r.add(entry.Name, file)
		_ = file.Close() // only read
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readTar(content []byte) error {
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return unreadable("is no whole .tar.gz archive: %v", err)
	}
	archive := tar.NewReader(unpacked)
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return unreadable("is no whole .tar.gz archive: %v", err)
		}
		name := strings.TrimPrefix(entry.Name, "./")
		switch entry.Typeflag {
		case tar.TypeXGlobalHeader:
		case tar.TypeDir:
			if name = strings.TrimSuffix(name, "/"); name == "" || name == "." {
				continue
			}
			if err := checkName(name); err != nil {
				return err
			}
		case tar.TypeReg:
			if err := r.add(name, archive); err != nil {
				return err
			}
		default:
			return unreadable("holds %.80q, which is no regular file; links and devices are not taken", entry.Name)
		}
	}
}

// add reads one file.
func (r *reader) add(name string, content io.Reader) error {
	if err := checkName(name); err != nil {
		return err
	}
	if r.seen == nil {
		r.seen = map[string]string{}
	}
	if other, taken := r.seen[strings.ToLower(name)]; taken {
		return unreadable("holds both %.80q and %.80q, which are one name on some machines", other, name)
	}
	r.seen[strings.ToLower(name)] = name
	if len(r.files) == MaxFiles {
		return unreadable("holds more than %d files", MaxFiles)
	}
	var text bytes.Buffer
	head, err := io.Copy(&text, io.LimitReader(content, min(MaxTextBytes+1, r.most-r.bytes+1)))
	if err != nil {
		return unreadable("holds %.80q, which cannot be unpacked: %v", name, err)
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(content, max(r.most-r.bytes-head+1, 0)))
	if err != nil {
		return unreadable("holds %.80q, which cannot be unpacked: %v", name, err)
	}
	file := File{Name: name, Bytes: head + rest}
	if r.bytes += file.Bytes; r.bytes > r.most {
		return unreadable("unpacks to more than %d MiB", r.most>>20)
	}
	if file.Bytes <= MaxTextBytes && !bytes.ContainsRune(text.Bytes(), 0) {
		file.Text = text.Bytes()
	}
	r.files = append(r.files, file)
	return nil
}

// checkName refuses names that lead out of the folder, or mean different things on different machines.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxNameBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return unreadable("holds a name that is empty, longer than %d bytes or no text: %.80q", maxNameBytes, name)
	case path.IsAbs(name) || strings.ContainsAny(name, `\:`) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../"):
		return unreadable("holds %.80q; names must lead into the folder, without \"..\", \"\\\" and \":\"", name)
	case strings.Count(name, "/") >= MaxDepth:
		return unreadable("holds %.80q, which lies deeper than %d folders", name, MaxDepth)
	}
	return nil
}

// finish takes the one folder away that everything lies in.
func (r *reader) finish() (*Case, error) {
	if len(r.files) == 0 {
		return nil, unreadable("holds no file")
	}
	found := &Case{Files: r.files}
	if root, _, inFolder := strings.Cut(r.files[0].Name, "/"); inFolder {
		root += "/"
		if !slices.ContainsFunc(r.files, func(f File) bool { return !strings.HasPrefix(f.Name, root) }) {
			found.Root = root
		}
	}
	for i := range found.Files {
		found.Files[i].Name = strings.TrimPrefix(found.Files[i].Name, found.Root)
	}
	slices.SortFunc(found.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}
