package molviewspec

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
)

func TestParseArchive(t *testing.T) {
	t.Parallel()
	downloads := view(strings.Join([]string{
		download("./assets/0-a.cif"), download("/assets/0-a.cif"), download("assets/x/../0-a.cif"),
		download("arcp://uuid,1/assets/0-a.cif"), download("assets/b%20c.cif"), download("assets"), download("assets/gone.cif"),
		download("../assets/0-a.cif"), download("a.cif?x=1"),
		download("https://host/assets/0-a.cif"), download("//host/a.cif"), download("file:///a.cif"),
		download("arcp://uuid,1/../a.cif"), download("a.cif"),
	}, ","))
	content := archive(t, file{name: "index.mvsj", content: downloads}, file{name: "./assets/"},
		file{name: "./assets/0-a.cif", content: "data_a"}, file{name: "assets/b c.cif"}, file{name: "a.cif"},
		file{name: "100%#.txt"})
	scene, err := ParseArchive(bytes.NewReader(content), int64(len(content)))
	var got []string
	for _, reference := range scene.References {
		got = append(got, reference.URL)
	}
	want := []string{
		"assets", "assets/gone.cif", "../assets/0-a.cif", "a.cif?x=1", "https://host/assets/0-a.cif", "//host/a.cif",
		"file:///a.cif", "arcp://uuid,1/../a.cif",
	}
	if err != nil || !reflect.DeepEqual(got, want) || len(scene.States) != 1 {
		t.Errorf("got references %q, %v\nwant %q", got, err, want)
	}
}

func TestInvalidArchive(t *testing.T) {
	t.Parallel()
	index := file{name: "index.mvsj", content: view("")}
	zeros := file{name: "zeros", content: strings.Repeat("\x00", smallUnpacked+1)}
	good := archive(t, index)
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"nothing", nil, "is no zip archive"},
		{"text", []byte(view("")), "is no zip archive"},
		{"cut", good[:len(good)-1], "is no zip archive"},
		{"no index", archive(t, file{name: "scene.mvsj"}), "holds no index.mvsj"},
		{"index in a folder", archive(t, file{name: "a/index.mvsj"}), "holds no index.mvsj"},
		{"two indexes", archive(t, index, index), `holds "index.mvsj" twice`},
		{"two names of the index", archive(t, index, file{name: "./index.mvsj"}), `holds "./index.mvsj" twice`},
		{"outside", archive(t, index, file{name: "../a"}), `holds "../a"; names are relative`},
		{"outside by a way round", archive(t, index, file{name: "a/../../b"}), `holds "a/../../b"; names are relative`},
		{"absolute", archive(t, index, file{name: "/etc/passwd"}), `holds "/etc/passwd"; names are relative`},
		{"backslash", archive(t, index, file{name: `..\a`}), "names are relative"},
		{"drive", archive(t, index, file{name: "C:a"}), "names are relative"},
		{"no name", archive(t, index, file{name: ""}), "names are relative"},
		{"long name", archive(t, index, file{name: strings.Repeat("a", maxEntryNameBytes+1)}), "names are relative"},
		{"link", archive(t, index, file{name: "a", mode: fs.ModeSymlink | 0o777}),
			`holds "a", which is neither a file nor a folder`},
		{"method", archive(t, index, file{name: "a", raw: &zip.FileHeader{Method: 14}}), `holds "a" packed by method 14`},
		{"encrypted", archive(t, index, file{name: "a", raw: &zip.FileHeader{Flags: 1}}), `holds "a", which is encrypted`},
		{"bomb", archive(t, index, zeros), "grows more than 100 times"},
		{"says to be large", archive(t, index, file{name: "a", raw: &zip.FileHeader{UncompressedSize64: MaxUnpackedBytes + 1}}),
			"more than 1024 MiB when it is unpacked"},
		{"says to be endless", archive(t, index, file{name: "a", raw: &zip.FileHeader{UncompressedSize64: 1<<64 - 2}}),
			"more than 1024 MiB when it is unpacked"},
		{"many", archive(t, many(MaxArchiveEntries+1)...), "holds more than 2000 files"},
		{"index says to be long", archive(t,
			file{name: "index.mvsj", raw: &zip.FileHeader{UncompressedSize64: MaxDocumentBytes + 1}}),
			"index.mvsj has more than 8 MiB"},
		{"index is longer than it says", archive(t, file{name: "index.mvsj", content: "{}  ",
			raw: &zip.FileHeader{UncompressedSize64: 2, CRC32: crc32.ChecksumIEEE([]byte("{}"))}}),
			"index.mvsj"},
		{"wrong sum", archive(t, file{name: "index.mvsj", content: "{}", raw: &zip.FileHeader{UncompressedSize64: 2, CRC32: 1}}),
			"index.mvsj cannot be unpacked: checksum error"},
		{"no JSON", archive(t, file{name: "index.mvsj", content: "x"}), "index.mvsj: the document is not JSON: line 1, column 1"},
		{"invalid", archive(t, file{name: "index.mvsj", content: view("1")}), "root.children[0]: expected a node"},
		{"64-bit form", sixtyFour(good), "is of the 64-bit form"},
		{"false count", falseCount(good), "holds more than 2000 files"},
		{"index before the beginning", []byte(beforeBeginning), "index.mvsj cannot be unpacked: it points to what lies " +
			"outside of it"},
	} {
		_, err := ParseArchive(bytes.NewReader(c.content), int64(len(c.content)))
		if _, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want …%s…", c.name, err, c.want)
		}
	}
}

// TestBrokenReader checks that a store that fails is not blamed on the archive.
func TestBrokenReader(t *testing.T) {
	t.Parallel()
	good := archive(t, file{name: "index.mvsj", content: view("")}, file{name: "a", content: strings.Repeat("x", 1<<17),
		raw: &zip.FileHeader{UncompressedSize64: 1 << 17}})
	broken := errors.New("the store is gone")
	for after := range 6 {
		_, err := ParseArchive(&failingReader{bytes.NewReader(good), after, broken}, int64(len(good)))
		if err != nil && !errors.Is(err, broken) || err == nil && after < 4 {
			t.Errorf("after %d reads: got %v, want %v", after, err, broken)
		}
	}
}

// TestMeteredReader checks that a list of files without end is not read to its end.
func TestMeteredReader(t *testing.T) {
	t.Parallel()
	files := many(MaxArchiveEntries)
	for i := range files {
		files[i].comment = strings.Repeat("c", 2048)
	}
	content := archive(t, files...)
	_, err := ParseArchive(bytes.NewReader(content), int64(len(content)))
	if _, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(),
		"the list of its files is longer than allowed") {
		t.Errorf("got %v", err)
	}
}

// FuzzParseArchive looks for an archive that ends the program.
func FuzzParseArchive(f *testing.F) {
	f.Add(archive(f, file{name: "index.mvsj", content: view("")}, file{name: "a"}))
	f.Add(sixtyFour(archive(f, file{name: "index.mvsj"})))
	f.Add([]byte("PK\x05\x06"))
	f.Add([]byte(beforeBeginning))
	f.Fuzz(func(t *testing.T, content []byte) {
		_, err := ParseArchive(bytes.NewReader(content), int64(len(content)))
		if _, ok := errors.AsType[*InvalidError](err); err != nil && !ok {
			t.Errorf("%q gives %v", content, err)
		}
	})
}

// file is a file of an archive to make. With raw its header says what raw says, and its content stands there unpacked.
type file struct {
	name, content, comment string
	mode                   fs.FileMode
	raw                    *zip.FileHeader
}

func archive(t testing.TB, files ...file) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for _, file := range files {
		header := &zip.FileHeader{Method: zip.Deflate}
		create := w.CreateHeader
		if file.raw != nil {
			header, create = file.raw, w.CreateRaw
			header.CompressedSize64 = uint64(len(file.content))
		}
		header.Name, header.Comment = file.name, file.comment
		if file.mode != 0 {
			header.SetMode(file.mode)
		}
		content, err := create(header)
		if err != nil {
			t.Fatal(err)
		}
		if file.content == "" {
			continue
		}
		if _, err := io.WriteString(content, file.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func many(number int) []file {
	files := make([]file, number)
	for i := range files {
		files[i].name = "f" + strings.Repeat("0", i%10) + string(rune('a'+i%26)) + strings.Repeat("1", i/260)
	}
	return files
}

func download(url string) string { return `{"kind":"download","params":{"url":"` + url + `"}}` }

const endBytes = 22

// sixtyFour puts the locator of the 64-bit form before the end record of an archive.
func sixtyFour(archive []byte) []byte {
	at := len(archive) - endBytes
	return append(append(append([]byte{}, archive[:at]...), append([]byte("PK\x06\x07"), make([]byte, 16)...)...), archive[at:]...)
}

// beforeBeginning is an archive whose end record moves the index before its first byte.
const beforeBeginning = "PK\x01\x02000000\b\x00000000000000000\x00\n\x00\x00\x00\x00\x00000000000\x00\x00\x00index.mvsj" +
	"PK\x01\x02000000\b\x00000000000000000\x00\x01\x00\x00\x00\x00\x000000000000000PK\x05\x06000000\x02\x00g\x00\x00\x001000\x00\x00"

// falseCount makes the end record say that there are very many files.
func falseCount(archive []byte) []byte {
	archive = bytes.Clone(archive)
	binary.LittleEndian.PutUint16(archive[len(archive)-endBytes+10:], 1<<16-1)
	return archive
}

// failingReader fails after so many reads.
type failingReader struct {
	io.ReaderAt
	left int
	err  error
}

func (r *failingReader) ReadAt(buffer []byte, offset int64) (int, error) {
	if r.left == 0 {
		return 0, r.err
	}
	r.left--
	return r.ReaderAt.ReadAt(buffer, offset)
}
