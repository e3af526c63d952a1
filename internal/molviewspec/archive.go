package molviewspec

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	archive, err := ReadArchive(r, size)
	if err != nil {
		return Scene{}, err
	}
	scene, err := Parse(archive.Document)
	if err != nil {
		return Scene{}, inIndex(err)
	}
	scene.References = slices.DeleteFunc(scene.References, func(reference Reference) bool { return archive.Holds(reference.URL) })
	return scene, nil
}

// Archive is an archive whose directory and document were read. Its files are unpacked when they are asked for. It may not be used
// concurrently.
type Archive struct {
	Document []byte // index.mvsj as it stands there, which nobody has parsed
	files    map[string]*zip.File
	metered  *meteredReader
}

// ReadArchive reads an archive (".mvsx", zip) of size bytes: its directory and its index.mvsj, and nothing else. Errors are those
// of ParseArchive, but for what is wrong with the document.
func ReadArchive(r io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{files: map[string]*zip.File{}, metered: &meteredReader{r: r, size: size}}
	index, err := a.open()
	if err != nil {
		return nil, err
	}
	if a.Document, err = readIndex(index); err != nil {
		return nil, err
	}
	return a, nil
}

// Names are the files of the archive beside its document, in order.
func (a *Archive) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.files)), func(name string) bool { return name == indexName })
}

// Holds tells whether a reference of the document means a file of the archive.
func (a *Archive) Holds(reference string) bool { return a.files[entryName(reference)] != nil }

// File unpacks the file that a reference means, of at most so many bytes. One that is not there, is larger or is damaged gives an
// *InvalidError; an error of the reader is returned wrapped.
func (a *Archive) File(reference string, most int64) ([]byte, error) {
	file := a.files[entryName(reference)]
	if file == nil {
		return nil, invalid("the archive holds no %s", quote(reference))
	}
	if most = min(most, MaxUnpackedBytes); file.UncompressedSize64 > uint64(max(most, 0)) {
		return nil, invalid("%s has %d bytes, and at most %d are read", quote(file.Name), file.UncompressedSize64, most)
	}
	const header = 1 << 10 // before the packed bytes: the name and extra fields
	a.metered.left = int64(min(file.CompressedSize64, uint64(a.metered.size))) + header + maxEntryNameBytes
	content, err := unpack(file, most)
	if err == nil && uint64(len(content)) > file.UncompressedSize64 {
		return nil, invalid("%s has more bytes than the archive says", quote(file.Name))
	}
	return content, err
}

// inIndex says of an issue with the document as a whole which document is meant.
func inIndex(err error) error {
	if refused, ok := errors.AsType[*InvalidError](err); ok && refused.Issues[0].Path == "" {
		refused.Issues[0].Path = indexName
	}
	return err
}

// open checks the directory of an archive, lists its files by their names as entryName gives them, and returns the index.
func (a *Archive) open() (*zip.File, error) {
	size := a.metered.size
	if err := checkEnd(a.metered.r, size); err != nil {
		return nil, err
	}
	a.metered.left = maxDirectoryBytes
	archive, err := zip.NewReader(a.metered, size)
	a.metered.left = int64(MaxDocumentBytes) * 2 // the index, packed, and its header
	if err != nil {
		return nil, unreadable("the archive cannot be read", err)
	}
	if len(archive.File) > MaxArchiveEntries {
		return nil, tooManyEntries()
	}
	unpacked := uint64(0)
	var index *zip.File
	for _, file := range archive.File {
		if err := checkEntry(file); err != nil {
			return nil, err
		}
		if file.UncompressedSize64 > MaxUnpackedBytes || unpacked+file.UncompressedSize64 > MaxUnpackedBytes {
			return nil, invalid("the archive holds more than %d MiB when it is unpacked", MaxUnpackedBytes>>20)
		}
		unpacked += file.UncompressedSize64
		name := entryName(file.Name)
		if a.files[name] != nil {
			return nil, invalid("the archive holds %s twice", quote(file.Name))
		}
		if name != "" && !file.Mode().IsDir() {
			a.files[name] = file
		}
		if file.Name == indexName {
			index = file
		}
	}
	if unpacked > smallUnpacked && unpacked/maxRatio > uint64(size) {
		return nil, invalid("the archive grows more than %d times when it is unpacked", maxRatio)
	}
	if index == nil {
		return nil, invalid("the archive holds no %s", indexName)
	}
	return index, nil
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
	// writers begin names with "./" and end those of folders with "/"
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if len(name) > maxEntryNameBytes || strings.ContainsAny(name, "\\:\x00") || plain == "." || !fs.ValidPath(plain) {
		return invalid("the archive holds %s; names are relative, of at most %d bytes, and have neither \"..\" nor \":\" "+
			"nor \"\\\"", quote(name), maxEntryNameBytes)
	}
	return nil
}

func readIndex(index *zip.File) ([]byte, error) {
	if index.UncompressedSize64 > MaxDocumentBytes {
		return nil, invalid("%s has more than %d MiB", indexName, MaxDocumentBytes>>20)
	}
	return unpack(index, MaxDocumentBytes) // Parse refuses one that is longer than its header says
}

// unpack reads a file, and at most a byte more than it may have.
func unpack(file *zip.File, most int64) ([]byte, error) {
	what := quote(file.Name) + " cannot be unpacked"
	if file.Name == indexName {
		what = indexName + " cannot be unpacked"
	}
	packed, err := file.Open()
	if err != nil {
		return nil, unreadable(what, err)
	}
	content, err := io.ReadAll(io.LimitReader(packed, most+1))
	if err = errors.Join(err, packed.Close()); err != nil {
		return nil, unreadable(what, err)
	}
	return content, nil
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
		if at >= locatorBytes && string(tail[at-locatorBytes:][:4]) == "PK\x06\x07" ||
			binary.LittleEndian.Uint32(record[directoryAt:]) == 1<<32-1 {
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
