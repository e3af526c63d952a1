package structures

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

const retinoid = "/download/1CBS.cif.gz"

func TestAnEntryIsFetchedOnce(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	content := testdata(t, "1cbs.cif")
	site.serve(retinoid, zipped(t, content))
	b := open(t, site.url+"/", "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := b.Structure(t.Context(), "1cbs"); err != nil || got.PDBID != "1CBS" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	group.Wait()
	b.again(site.url)
	got, err := b.Structure(t.Context(), "1CBS")
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{PDBID: "1CBS", SHA256: digest(content), StorageKey: "public/structures/" + digest(content) + ".cif",
		ByteSize: int64(len(content)), Source: site.url + retinoid, FetchedAt: b.clock.time(),
		CheckAfter: b.clock.time().Add(freshFor)}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if stored := b.stored(got.StorageKey); !bytes.Equal(stored, content) {
		t.Errorf("%d bytes are stored, want the %d of the entry", len(stored), len(content))
	}
	if n := site.requests(); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
}

func TestMirrorsInEveryLayout(t *testing.T) {
	t.Parallel()
	content := testdata(t, "1cbs.cif")
	for _, layout := range []string{
		"1cbs.cif", "1cbs.cif.gz", "cb/1cbs.cif", "cb/1cbs.cif.gz", "data/structures/divided/mmCIF/cb/1cbs.cif",
		"data/structures/divided/mmCIF/cb/1cbs.cif.gz",
	} {
		root := t.TempDir()
		path := filepath.Join(root, filepath.FromSlash(layout))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		packed := content
		if strings.HasSuffix(layout, ".gz") {
			packed = zipped(t, content)
		}
		if err := os.WriteFile(path, packed, 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, root, "")
		got, err := b.Structure(t.Context(), "1cbs")
		if err != nil || got.Source != "file:"+layout || got.SHA256 != digest(content) {
			t.Errorf("%s: got %+v, %v", layout, got, err)
		}
		if _, err := b.Structure(t.Context(), "1iep"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: an entry that is not there gives %v, want ErrNotFound", layout, err)
		}
		if err := os.Rename(root, root+"-gone"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Structure(t.Context(), "1iep"); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: without the directory got %v, want %s", layout, err, fault.ProviderUnavailable)
		}
		if _, err := b.Structure(t.Context(), "1cbs"); err != nil {
			t.Errorf("%s: what is kept gives %v without the directory", layout, err)
		}
	}
}

func TestTheArchivesLayoutAtAServer(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.serve("/pub/pdb/data/structures/divided/mmCIF/cb/1cbs.cif.gz", zipped(t, testdata(t, "1cbs.cif")))
	b := open(t, site.url+"/pub/pdb", "")
	if got, err := b.Structure(t.Context(), "1cbs"); err != nil || !strings.HasSuffix(got.Source, "/mmCIF/cb/1cbs.cif.gz") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAnOldEntryIsRefreshed(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	content := testdata(t, "1cbs.cif")
	site.serve(retinoid, zipped(t, content))
	b := open(t, site.url, "")
	ask := func(step, want string, requests int) {
		t.Helper()
		got, err := b.Structure(t.Context(), "1CBS")
		if err != nil || got.SHA256 != want {
			t.Errorf("%s: got %+v, %v, want SHA-256 %s", step, got, err, want)
		}
		if n := site.requests(); n != requests {
			t.Errorf("%s: the server was asked %d times, want %d", step, n, requests)
		}
	}
	ask("first", digest(content), 1)
	b.clock.pass(freshFor - time.Second)
	ask("fresh", digest(content), 0)

	b.clock.pass(time.Second)
	site.answer(retinoid, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	ask("away", digest(content), tries)
	ask("away a moment ago", digest(content), 0)

	b.clock.pass(askAgain)
	remediated := append(bytes.Clone(content), "_struct.pdbx_caveat remediated\n"...)
	site.serve(retinoid, remediated) // not compressed, as some mirrors do
	ask("remediated", digest(remediated), 1)
	b.clock.pass(freshFor)
	b.again(SourceOff)
	ask("looked up no more", digest(remediated), 0)
	if stored := b.stored("public/structures/" + digest(content) + ".cif"); !bytes.Equal(stored, content) {
		t.Error("the older content is gone, which earlier jobs refer to")
	}
}

func TestALostFileIsFetchedAgain(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.serve(retinoid, zipped(t, testdata(t, "1cbs.cif")))
	b := open(t, site.url, "")
	first, err := b.Structure(t.Context(), "1CBS")
	if err == nil {
		err = b.objects.Delete(t.Context(), first.StorageKey)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Structure(t.Context(), "1CBS"); err != nil || again.StorageKey != first.StorageKey || site.requests() != 2 {
		t.Errorf("got %+v, %v", again, err)
	}
	b.stored(first.StorageKey)
}

func TestABrokenTransferIsBegunAgain(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	content := testdata(t, "1cbs.cif")
	packed := zipped(t, content)
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
		_, _ = w.Write(packed[:len(packed)/2])
	}
	site.answer(retinoid, func(w http.ResponseWriter, r *http.Request) {
		half(w, r)
		site.serve(retinoid, packed)
	})
	b := open(t, site.url, "")
	if got, err := b.Structure(t.Context(), "1CBS"); err != nil || got.SHA256 != digest(content) || site.requests() != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	b.stored("public/structures/" + digest(content) + ".cif")
	site.answer("/download/1CRN.cif.gz", half)
	if got, err := b.Structure(t.Context(), "1CRN"); !fault.Is(err, fault.ProviderUnavailable) || site.requests() != tries {
		t.Errorf("half an entry: got %+v, %v, want %s after %d tries", got, err, fault.ProviderUnavailable, tries)
	}
}

func TestWhatIsNoEntry(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	b := open(t, site.url, "")
	content := testdata(t, "1cbs.cif")
	bomb := append([]byte("data_1XXX\n"), make([]byte, MaxEntryBytes)...)
	away := func(err error) bool { return fault.Is(err, fault.ProviderUnavailable) }
	for _, c := range []struct {
		name   string
		answer []byte
		is     func(error) bool
	}{
		{"another entry", zipped(t, content), away},
		{"another _entry.id", bytes.Replace(content, []byte("data_1CBS"), []byte("data_1XXX"), 1), away},
		{"a page", []byte("<html><body>data_1XXX is being maintained</body></html>"), away},
		{"nothing", nil, away},
		{"no gzip", []byte{0x1f, 0x8b, 1, 2, 3}, away},
		{"half a gzip", zipped(t, bomb)[:100], away},
		{"a bomb", zipped(t, bomb), func(err error) bool { return errors.Is(err, ErrTooLarge) }},
		{"a large one", bomb, func(err error) bool { return errors.Is(err, ErrTooLarge) }},
	} {
		site.serve("/download/1XXX.cif.gz", c.answer)
		if got, err := b.Structure(t.Context(), "1xxx"); !c.is(err) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
		if n := site.requests(); n != 1 {
			t.Errorf("%s: the server was asked %d times, want once", c.name, n)
		}
	}
	for _, name := range []string{"", "1ie", "1iepp", "xiep", "../1", "1i/p", "1ie\n", "1İe"} {
		if got, err := b.Structure(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: got %+v, %v, want ErrNotFound", name, got, err)
		}
	}
	if n := site.requests(); n != 0 {
		t.Errorf("the server was asked %d times for ids that are none", n)
	}
	if _, err := b.Structure(t.Context(), "9zzz"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown id: got %v, want ErrNotFound", err)
	}
	left := 0
	if err := b.deps.DB.GetContext(t.Context(), &left, `SELECT count(*) FROM structures`); err != nil || left != 0 {
		t.Errorf("%d structures are kept, %v; want none", left, err)
	}
}

// TestADeadServerIsLeftAlone: callers do not wait for it one after the other, and it is tried again.
func TestADeadServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := open(t, "http://127.0.0.1:1", "") // nobody listens on a port that only root may open
	if _, err := b.Structure(t.Context(), "1CBS"); !fault.Is(err, fault.ProviderUnavailable) || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want %s", err, fault.ProviderUnavailable)
	}
	if !b.server.isResting() {
		t.Error("the server is asked again at once")
	}
	b.clock.pass(restFor)
	if b.server.isResting() {
		t.Errorf("the server is not asked again after %s", restFor)
	}
}

func TestSourcesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "/no/such/directory", "ftp://example.org", "https://", "https://example.org/?a=b",
		"testdata/1cbs.cif"} {
		if _, err := Open(Deps{Source: source}); err == nil || !strings.Contains(err.Error(), "structures") {
			t.Errorf("%q: got %v, want an error that names the setting", source, err)
		}
	}
	if _, err := Open(Deps{Source: SourceOff, Components: "testdata/1cbs.cif"}); err == nil ||
		!strings.Contains(err.Error(), "line 1") {
		t.Errorf("a dictionary that is none: got %v", err)
	}
	b := open(t, SourceOff, "")
	if _, err := b.Structure(t.Context(), "1CBS"); !errors.Is(err, ErrNoSource) {
		t.Errorf("off: got %v, want ErrNoSource", err)
	}
}
