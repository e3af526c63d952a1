package molviewspec

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	neturl "net/url"
	"path"
	"slices"
	"strings"
)

const (
	// indexName is the document of an archive.
	indexName = "index.mvsj"
	// MaxArchiveEntries bounds the files of an archive: the index and what the scene refers to.
	MaxArchiveEntries = 2 * MaxReferences
	// MaxUnpackedBytes bounds what an archive says to hold: the renderer unpacks all of it into memory.
	MaxUnpackedBytes = 1 << 30
	// maxRatio bounds how far an archive may say to grow when it is unpacked: maps and trajectories shrink to a tenth, and a
	// hundredfold has been seen of nothing but zeros. Small archives may be as they like.
	maxRatio      = 100
	smallUnpacked = 16 << 20
	// maxDirectoryBytes bounds what is read of an archive to list its files: the tail that is searched for the end record, and for
	// each file a name and some extra fields.
	maxDirectoryBytes = maxTailBytes + MaxArchiveEntries*1024
	// maxEntryNameBytes bounds the name of a file.
	maxEntryNameBytes = 512
)

// ParseArchive reads an archive (".mvsx", zip) of size bytes: its index.mvsj as Parse does, without unpacking anything else.
// References to files of the archive, which may be relative or of the scheme arcp, are left out of the scene's. An archive that
// is damaged, out of bounds or holds names that lead outside gives an *InvalidError; an error of r itself is returned wrapped.
func ParseArchive(r io.ReaderAt, size int64) (Scene, error) {
	names, index, err := openArchive(r, size)
	if err != nil {
		return Scene{}, err
	}
	document, err := readIndex(index)
	if err != nil {
		return Scene{}, err
	}
	scene, err := Parse(document)
	if err != nil {
		return Scene{}, inIndex(err)
	}
	scene.References = slices.DeleteFunc(scene.References, func(reference Reference) bool { return names[entryName(reference.URL)] })
	return scene, nil
}

// inIndex says of an issue with the document as a whole which document is meant.
func inIndex(err error) error {
	if refused, ok := errors.AsType[*InvalidError](err); ok && refused.Issues[0].Path == "" {
		refused.Issues[0].Path = indexName
	}
	return err
}

// openArchive checks the directory of an archive and returns the names in it, as entryName gives them, and the index.
func openArchive(r io.ReaderAt, size int64) (map[string]bool, *zip.File, error) {
	if err := checkEnd(r, size); err != nil {
		return nil, nil, err
	}
	metered := &meteredReader{r: r, size: size, left: maxDirectoryBytes}
	archive, err := zip.NewReader(metered, size)
	metered.left = int64(MaxDocumentBytes) * 2 // the index, packed, and its header
	if err != nil {
		return nil, nil, unreadable("the archive cannot be read", err)
	}
	if len(archive.File) > MaxArchiveEntries {
		return nil, nil, tooManyEntries()
	}
	names, unpacked := map[string]bool{}, uint64(0)
	var index *zip.File
	for _, file := range archive.File {
		if err := checkEntry(file); err != nil {
			return nil, nil, err
		}
		if file.UncompressedSize64 > MaxUnpackedBytes || unpacked+file.UncompressedSize64 > MaxUnpackedBytes {
			return nil, nil, invalid("the archive holds more than %d MiB when it is unpacked", MaxUnpackedBytes>>20)
		}
		unpacked += file.UncompressedSize64
		name := entryName(file.Name)
		if names[name] {
			return nil, nil, invalid("the archive holds %s twice", quote(file.Name))
		}
		if name != "" && !file.Mode().IsDir() {
			names[name] = true
		}
		if file.Name == indexName {
			index = file
		}
	}
	if unpacked > smallUnpacked && unpacked/maxRatio > uint64(size) {
		return nil, nil, invalid("the archive grows more than %d times when it is unpacked", maxRatio)
	}
	if index == nil {
		return nil, nil, invalid("the archive holds no %s", indexName)
	}
	return names, index, nil
}

// checkEntry refuses files that a scene has no use for: links, encrypted ones, and names that lead outside.
func checkEntry(file *zip.File) error {
	const encrypted = 1
	name := file.Name
	if kind := file.Mode().Type(); kind != 0 && kind != fs.ModeDir {
		return invalid("the archive holds %s, which is neither a file nor a folder", quote(name))
	}
	if file.Flags&encrypted != 0 {
		return invalid("the archive holds %s, which is encrypted", quote(name))
	}
	if file.Method != zip.Store && file.Method != zip.Deflate {
		return invalid("the archive holds %s packed by method %d; allowed are store and deflate", quote(name), file.Method)
	}
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/") // writers begin names with "./" and end those of folders with "/"
	if len(name) > maxEntryNameBytes || strings.ContainsAny(name, "\\:\x00") || plain == "." || !fs.ValidPath(plain) {
		return invalid("the archive holds %s; names are relative, of at most %d bytes, and have neither \"..\" nor \":\" nor \"\\\"", quote(name), maxEntryNameBytes)
	}
	return nil
}

func readIndex(index *zip.File) ([]byte, error) {
	if index.UncompressedSize64 > MaxDocumentBytes {
		return nil, invalid("%s has more than %d MiB", indexName, MaxDocumentBytes>>20)
	}
	file, err := index.Open()
	if err != nil {
		return nil, unreadable(indexName+" cannot be unpacked", err)
	}
	document, err := io.ReadAll(io.LimitReader(file, MaxDocumentBytes+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, unreadable(indexName+" cannot be unpacked", err)
	}
	return document, nil // Parse refuses one that is longer than its header says
}

// entryName is the name of the file of an archive that a reference means, and of an entry that of itself: relative to the top,
// where the index lies, and as a reference writes it. "" is none: another scheme, a query, or a way that leads outside.
func entryName(reference string) string {
	url, err := neturl.Parse(reference)
	if err != nil || url.Opaque != "" || url.User != nil || url.RawQuery != "" || url.Fragment != "" {
		return ""
	}
	switch {
	case url.Scheme == "arcp":
	case url.Scheme != "" || url.Host != "" || strings.ContainsAny(reference, "\\:"):
		return ""
	}
	name := path.Clean(strings.TrimPrefix(url.Path, "/"))
	if !fs.ValidPath(name) || name == "." {
		return ""
	}
	return name
}

// maxTailBytes is what is read to find the end record of an archive: 22 bytes, a comment of up to 65,535 after it, and the
// locator of the 64-bit form before it.
const (
	locatorBytes = 20
	maxTailBytes = locatorBytes + 22 + 1<<16 - 1
)

// checkEnd reads the record at the end of an archive, because what opens archives makes room for as many files as it states.
// Archives of the 64-bit form, which have more than 65,534 files or 4 GiB, are refused.
func checkEnd(r io.ReaderAt, size int64) error {
	const endBytes, countAt, directoryAt, commentAt = 22, 10, 16, 20
	tail := make([]byte, min(max(size, 0), maxTailBytes))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) && err != nil {
		return fmt.Errorf("read the end of the archive: %w", err)
	}
	for at := len(tail) - endBytes; at >= 0; at-- {
		record := tail[at:]
		if string(record[:4]) != "PK\x05\x06" || endBytes+int(binary.LittleEndian.Uint16(record[commentAt:])) > len(record) {
			continue
		}
		if binary.LittleEndian.Uint16(record[countAt:]) > MaxArchiveEntries {
			return tooManyEntries()
		}
		if at >= locatorBytes && string(tail[at-locatorBytes:][:4]) == "PK\x06\x07" || binary.LittleEndian.Uint32(record[directoryAt:]) == 1<<32-1 {
			return invalid("the archive is of the 64-bit form; expected less than 4 GiB and %d files", MaxArchiveEntries)
		}
		return nil
	}
	return invalid("the file is no zip archive, or its end is missing")
}

func tooManyEntries() error {
	return invalid("the archive holds more than %d files", MaxArchiveEntries)
}

// errMeter is the error of a meteredReader that has read as much as it may.
var errMeter = errors.New("the list of its files is longer than allowed")

// errOutside is the error of an archive that points to what lies before or behind it.
var errOutside = errors.New("it points to what lies outside of it")

// meteredReader reads so many bytes of the size that there are and no more.
type meteredReader struct {
	r          io.ReaderAt
	size, left int64
}

func (m *meteredReader) ReadAt(buffer []byte, offset int64) (int, error) {
	if offset < 0 || offset > m.size {
		return 0, errOutside
	}
	if int64(len(buffer)) > m.left {
		return 0, errMeter
	}
	m.left -= int64(len(buffer))
	n, err := m.r.ReadAt(buffer, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// readError is an error of the reader that was handed in, which is nobody's archive's fault.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// unreadable tells an archive that is wrong from a reader that failed.
func unreadable(what string, err error) error {
	if _, ok := errors.AsType[*readError](err); ok {
		return fmt.Errorf("%s: %w", what, err)
	}
	return invalid("%s: %s", what, strings.TrimPrefix(err.Error(), "zip: "))
}
