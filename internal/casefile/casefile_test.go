package casefile

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"
)

// zipped packs files in the order of pairs of name and content.
func zipped(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for i := 0; i < len(pairs); i += 2 {
		file, err := archive.Create(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarred(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	for _, header := range headers {
		if header.Typeflag == tar.TypeReg {
			header.Size = 2
		}
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := archive.Write([]byte("hi")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCases(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"zip in a folder": zipped(t, "bay/INPUT", "STOP", "bay/", "", "bay/grids/bottom.bot", "\x00\x01"),
		"zip":             zipped(t, "grids/bottom.bot", "\x00\x01", "INPUT", "STOP"),
	} {
		found, err := Read(content)
		if err != nil || len(found.Files) != 2 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		deck, ok := found.Find("INPUT")
		if !ok || string(deck.Text) != "STOP" || deck.Bytes != 4 {
			t.Errorf("%s: the deck is %+v", name, deck)
		}
		if bottom, ok := found.Find("grids/bottom.bot"); !ok || bottom.Text != nil || bottom.Bytes != 2 {
			t.Errorf("%s: the bottom is %+v", name, bottom)
		}
	}
	found, err := Read(tarred(t, tar.Header{Name: "./", Typeflag: tar.TypeDir},
		tar.Header{Name: "./bay/INPUT", Typeflag: tar.TypeReg}))
	if err != nil || found.Root != "bay/" || found.Files[0].Name != "INPUT" {
		t.Errorf("tar.gz: %+v, %v", found, err)
	}
}

func TestCasesThatAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 2*(MaxFiles+1))
	for i := range MaxFiles + 1 {
		many = append(many, "f"+strings.Repeat("x", i%90)+string(rune('a'+i/90)), "")
	}
	whole := zipped(t, "INPUT", "STOP")
	const bound = 4 << 20 // to unpack more takes minutes under the race detector
	for want, content := range map[string][]byte{
		"neither a .zip nor a .tar.gz": []byte("PROJ 'a'"),
		"no whole .zip":                whole[:len(whole)-8],
		"no whole .tar.gz":             {0x1f, 0x8b, 8},
		"holds no file":                zipped(t, "bay/", ""),
		`"../INPUT"`:                   zipped(t, "../INPUT", ""),
		`"/etc/passwd"`:                zipped(t, "/etc/passwd", ""),
		`"a/../../b"`:                  zipped(t, "a/../../b", ""),
		`names must lead into`:         zipped(t, `C:\INPUT`, ""),
		"deeper than":                  zipped(t, "a/b/c/d/e/f/g/h/i", ""),
		"one name on some machines":    zipped(t, "input", "", "INPUT", ""),
		"longer than":                  zipped(t, strings.Repeat("n", 201), ""),
		"links and devices":            tarred(t, tar.Header{Name: "x", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}),
		"no regular file":              tarred(t, tar.Header{Name: "x", Typeflag: tar.TypeFifo}),
		"more than 2000 files":         zipped(t, many...),
		"more than 4 MiB":              zipped(t, "a", "0", "zeros", strings.Repeat("0", bound)),
	} {
		_, err := readUpTo(content, bound)
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || !strings.Contains(unreadable.Reason, want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
