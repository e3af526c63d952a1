package molviewspec

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestArchiveComesBack(t *testing.T) {
	t.Parallel()
	document := []byte(view(strings.Join([]string{download("1cbs.cif"), download("assets/density.map"),
		download("https://files.example.org/1cbs.cif")}, ",")))
	contents := map[string][]byte{"1cbs.cif": []byte("data_1CBS"), "assets/density.map": {0, 1, 2}, "b c.txt": nil}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := WriteArchive(w, document, contents); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same contents make other bytes")
	}
	archive, err := ReadArchive(bytes.NewReader(first.Bytes()), int64(first.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1cbs.cif", "assets/density.map", "b c.txt"}
	if !bytes.Equal(archive.Document, document) || !reflect.DeepEqual(archive.Names(), want) {
		t.Errorf("got %s and %q", archive.Document, archive.Names())
	}
	for name, content := range contents {
		for range 2 { // it may be asked for again
			if got, err := archive.File(name, 100); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
		}
	}
	if flags := first.Bytes()[6:8]; !bytes.Equal(flags, []byte{0, 0}) || bytes.Contains(first.Bytes(), []byte("PK\x07\x08")) {
		t.Errorf("sizes stand behind files, where Mol* does not look: flags %x", flags)
	}
	if got, err := archive.File("./assets/../1cbs.cif", 100); err != nil || string(got) != "data_1CBS" {
		t.Errorf("by another reference: got %q, %v", got, err)
	}
	for name, most := range map[string]int64{"1cbs.cif": 8, "gone.cif": 100, "../1cbs.cif": 100, "": 100} {
		if _, err := archive.File(name, most); !isInvalid(err) {
			t.Errorf("%q of at most %d bytes: got %v", name, most, err)
		}
	}
	if scene, err := ParseArchive(bytes.NewReader(first.Bytes()), int64(first.Len())); err != nil || len(scene.References) != 1 {
		t.Errorf("got %+v, %v", scene, err)
	}
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*InvalidError](err)
	return ok
}

func TestArchivesThatAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, document, file, want string }{
		{"no scene", "{}", "a.cif", "expected an object with the version"},
		{"a missing file", view(download("a.cif")), "b.cif", "root.children[0].params.url: refers to what is neither a file of " +
			"the archive"},
		{"a signed address", view(download("https://store.example.org/a.cif?X-Amz-Signature=00ff")), "a.cif",
			"addresses have no query"},
		{"a password", view(download("https://me:secret@example.org/a.cif")), "a.cif", "no name with a password"},
		{"another scheme", view(download("file:///etc/passwd")), "a.cif", "neither a file of the archive nor a public address"},
		{"outside", view(""), "../a.cif", `"../a.cif" cannot be a file of an archive`},
		{"absolute", view(""), "/a.cif", `cannot be a file of an archive`},
		{"backslash", view(""), `a\b`, `cannot be a file of an archive`},
		{"escaped", view(""), "a%20b", `cannot be a file of an archive`},
		{"not as references write it", view(""), "./a.cif", `cannot be a file of an archive`},
		{"long", view(""), strings.Repeat("a", maxEntryNameBytes+1), `cannot be a file of an archive`},
		{"the document's", view(""), "index.mvsj", "is the document's own name"},
	} {
		var w bytes.Buffer
		err := WriteArchive(&w, []byte(c.document), map[string][]byte{c.file: nil})
		if !isInvalid(err) || !strings.Contains(err.Error(), c.want) || w.Len() > 0 {
			t.Errorf("%s: got %v and %d bytes, want …%s…", c.name, err, w.Len(), c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "00ff") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: the message tells what is secret: %v", c.name, err)
		}
	}
	err := WriteArchive(&bytes.Buffer{}, []byte(view("")), map[string][]byte{"a": nil, "a/b": nil})
	if !isInvalid(err) || !strings.Contains(err.Error(), "a file and a folder") {
		t.Errorf("got %v", err)
	}
	broken := errors.New("the connection is gone")
	if err := WriteArchive(brokenWriter{broken}, []byte(view("")), nil); !errors.Is(err, broken) || isInvalid(err) {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestPlainReferences(t *testing.T) {
	t.Parallel()
	for reference, plain := range map[string]bool{
		"1cbs.cif": true, "assets/a%20b.cif": true, "/api/v1/files/1": true, "https://files.example.org/1cbs.cif": true, "http://host:8080/a": true,
		"": false, "a.cif?x=1": false, "a.cif?": false, "a.cif#b": false, "https://host/a?X-Amz-Signature=1": false, "https://me:secret@host/a": false,
		"https://me@host/a": false, "https:a": false, "//host/a": false, "file:///a": false, "data:text/plain,a": false, "a:b": false, `a\b`: false,
		"arcp://uuid,1/a.cif": false, "https://": false, strings.Repeat("a", MaxURLBytes+1): false, "a\x00b": false,
	} {
		if IsPlainReference(reference) != plain {
			t.Errorf("%.80q: got %t", reference, !plain)
		}
	}
}

// FuzzReadArchive: whatever the bytes are, reading ends within its bounds and blames the archive.
func FuzzReadArchive(f *testing.F) {
	var good bytes.Buffer
	if err := WriteArchive(&good, []byte(view("")), map[string][]byte{"a.cif": []byte("data_a")}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte("PK\x05\x06"))
	f.Add([]byte(beforeBeginning))
	f.Fuzz(func(t *testing.T, content []byte) {
		archive, err := ReadArchive(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			if !isInvalid(err) {
				t.Errorf("got %v", err)
			}
			return
		}
		if len(archive.Document) > MaxDocumentBytes+1 || len(archive.Names()) > MaxArchiveEntries {
			t.Errorf("%d bytes and %d files", len(archive.Document), len(archive.Names()))
		}
		for _, name := range archive.Names() {
			const most = 1 << 20
			if file, err := archive.File(name, most); len(file) > most+1 || err != nil && !isInvalid(err) {
				t.Errorf("%q: %d bytes, %v", name, len(file), err)
			}
		}
	})
}

// TestArchivesOfNothingButZeros: what shrinks a thousandfold is read again, and names in other alphabets come back.
func TestArchivesOfNothingButZeros(t *testing.T) {
	t.Parallel()
	contents := map[string][]byte{"zeros.map": make([]byte, smallUnpacked+1), "protéine.cif": []byte("data_a")}
	var w bytes.Buffer
	if err := WriteArchive(&w, []byte(view("")), contents); err != nil {
		t.Fatal(err)
	}
	archive, err := ReadArchive(bytes.NewReader(w.Bytes()), int64(w.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range contents {
		if got, err := archive.File(name, MaxUnpackedBytes); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
