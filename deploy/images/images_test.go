package images

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/molfabric/molfabric/engines/all"
)

// programs are a folder with what the control plane's image is made of. What the programs do plays no part here.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"molfabric", "molfabric-store", "authorities.crt", "components.jsonl.gz"} {
		writeFile(t, filepath.Join(dir, name), "the program "+name)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// control builds the image of the control plane of the programs in a folder.
func control(t *testing.T, from string) (layout *Layout, digest string) {
	t.Helper()
	layout = must(OpenLayout(filepath.Join(t.TempDir(), "oci")))(t)
	builder := Builder{Programs: from, Authorities: filepath.Join(from, "authorities.crt"), Version: "test", Log: io.Discard,
		Components: filepath.Join(from, "components.jsonl.gz")}
	image := must(builder.Build(t.Context(), layout, Recipes[0]))(t)
	return layout, must(digestOf(image))(t)
}

// key makes a key and reads both its halves.
func key(t *testing.T) (*ecdsa.PrivateKey, *ecdsa.PublicKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := NewKey(path); err != nil {
		t.Fatal(err)
	}
	if err := NewKey(path); err == nil {
		t.Error("a key was overwritten")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %v, %v", info.Mode(), err)
	}
	return must(ReadKey(path))(t), must(ReadPublicKey(path + ".pub"))(t)
}

// TestTheSameProgramsGiveTheSameImage whatever the times of the files and the place.
func TestTheSameProgramsGiveTheSameImage(t *testing.T) {
	t.Parallel()
	from := programs(t)
	layout, first := control(t, from)
	for _, name := range []string{"molfabric", "authorities.crt"} {
		if err := os.Chtimes(filepath.Join(from, name), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if _, again := control(t, from); again != first {
		t.Errorf("got %s, then %s", first, again)
	}
	writeFile(t, filepath.Join(from, "molfabric"), "another program")
	if _, other := control(t, from); other == first {
		t.Errorf("another program has the digest %s too", first)
	}
	config := must(must(layout.Get(Control, first))(t).ConfigFile())(t)
	if config.Config.User != "65534:65534" || !slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/molfabric"}) ||
		config.OS != "linux" {
		t.Errorf("the image starts %+v", config.Config)
	}
}

// TestSignaturesAreHeldAgainstTheKey in a layout and in a registry.
func TestSignaturesAreHeldAgainstTheKey(t *testing.T) {
	t.Parallel()
	layout, digest := control(t, programs(t))
	private, public := key(t)
	_, stranger := key(t)
	if err := Verify(layout, Control, digest, public); !errors.Is(err, ErrUnsigned) {
		t.Errorf("before it is signed: got %v, want %v", err, ErrUnsigned)
	}
	if err := Sign(layout, Control, digest, "registry.example.org/molfabric/control", private); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	remote := Registry{Context: t.Context(), Repository: strings.TrimPrefix(server.URL, "http://") + "/molfabric", Insecure: true}
	if err := Push(layout, remote, Control, digest, "v1"); err != nil {
		t.Fatal(err)
	}
	if tagged := must(digestOf(must(remote.Get(Control, "v1"))(t)))(t); tagged != digest {
		t.Errorf("the tag names %s, want %s", tagged, digest)
	}
	foreign := "sha256:" + strings.Repeat("1", 64)
	for name, place := range map[string]Place{"layout": layout, "registry": remote} {
		if err := Verify(place, Control, digest, public); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := Verify(place, Control, digest, stranger); !errors.Is(err, ErrOtherKey) {
			t.Errorf("%s, another key: got %v, want %v", name, err, ErrOtherKey)
		}
		if err := Verify(place, Control, foreign, public); !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s, another digest: got %v, want %v", name, err, ErrUnsigned)
		}
		if _, err := Unpack(place, Control, foreign, t.TempDir()); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: unpacking what is not there: got %v, want %v", name, err, ErrMissing)
		}
		root := must(Unpack(place, Control, digest, t.TempDir()))(t)
		if text, err := os.ReadFile(filepath.Join(root, "usr/local/bin/molfabric")); string(text) != "the program molfabric" {
			t.Errorf("%s: unpacked %q, %v", name, text, err)
		}
		record := must(os.ReadFile(filepath.Join(root, "..", "image.json")))(t)
		if !strings.Contains(string(record), digest) {
			t.Errorf("%s: the record is %s", name, record)
		}
	}
	copied := must(layout.Get(Control, besides(digest, "sig")))(t)
	if err := layout.Put(Control, besides(foreign, "sig"), copied); err != nil {
		t.Fatal(err)
	}
	if err := Verify(layout, Control, foreign, public); !errors.Is(err, ErrOtherKey) {
		t.Errorf("a signature of another image: got %v, want %v", err, ErrOtherKey)
	}
}

// TestChangedContentIsSeen before a byte of it is used.
func TestChangedContentIsSeen(t *testing.T) {
	t.Parallel()
	layout, digest := control(t, programs(t))
	layers := must(must(layout.Get(Control, digest))(t).Layers())(t)
	blob := filepath.Join(layout.blobs(), must(layers[0].Digest())(t).Hex)
	text := must(os.ReadFile(blob))(t)
	text[len(text)/2] ^= 1
	if err := os.WriteFile(blob, text, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if _, err := Unpack(layout, Control, digest, folder); err == nil || !strings.Contains(err.Error(), "a layer is not sha256:") {
		t.Errorf("got %v, want the layer named", err)
	}
	if left := must(os.ReadDir(folder))(t); len(left) > 0 {
		t.Errorf("%v was unpacked", left)
	}
	if _, err := Unpack(layout, Control, "latest", folder); err == nil {
		t.Error("an image was taken by its tag")
	}
}

// TestALayerHoldsWhatAPartAdds and neither caches, nor pages, nor rights that a program would have beyond its user's.
func TestALayerHoldsWhatAPartAdds(t *testing.T) {
	t.Parallel()
	root, blobs := t.TempDir(), t.TempDir()
	for _, name := range []string{"bin/su", "etc/a", "var/cache/b", "var/log/c", "proc/d", "usr/share/doc/p/copyright",
		"usr/share/doc/p/changelog.gz", "etc/machine-id", "var/lib/dpkg/status-old"} {
		writeFile(t, filepath.Join(root, name), name)
	}
	if err := os.Chmod(filepath.Join(root, "bin/su"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("su", filepath.Join(root, "bin/link")); err != nil {
		t.Fatal(err)
	}
	lower := must(writeLayer(blobs, must(readTree(root, nil))(t)))(t)
	marks := must(marksOf([]v1.Layer{lower}))(t)
	for name, want := range map[string]bool{"bin/su": true, "bin/link": true, "etc/a": true, "var/cache": true,
		"var/cache/b": false, "var/log/c": false, "proc": true, "proc/d": false, "usr/share/doc/p/copyright": true,
		"usr/share/doc/p/changelog.gz": false, "etc/machine-id": false, "var/lib/dpkg/status-old": false} {
		if _, got := marks[name]; got != want {
			t.Errorf("%s: in the layer %v, want %v", name, got, want)
		}
	}
	if got := marks["bin/su"]; !strings.HasPrefix(got, "0 755 0 0 ") {
		t.Errorf("su is %s, want it without the right to be another user", got)
	}
	writeFile(t, filepath.Join(root, "etc/a"), "changed")
	writeFile(t, filepath.Join(root, "opt/new"), "new")
	upper := must(added(must(readTree(root, nil))(t), marks))(t)
	var names []string
	for _, file := range upper {
		names = append(names, file.Name)
	}
	if want := []string{"etc/a", "opt", "opt/new"}; !slices.Equal(names, want) {
		t.Errorf("the upper layer has %v, want %v", names, want)
	}
	over := t.TempDir()
	if err := lay(over, []v1.Layer{lower, must(writeLayer(blobs, upper))(t)}); err != nil {
		t.Fatal(err)
	}
	if text := must(os.ReadFile(filepath.Join(over, "etc/a")))(t); string(text) != "changed" {
		t.Errorf("etc/a is %q", text)
	}
}

// TestSweepingKeepsWhatBelongsToAnImage and removes what belonged to one that is there no more.
func TestSweepingKeepsWhatBelongsToAnImage(t *testing.T) {
	t.Parallel()
	from := programs(t)
	layout, old := control(t, from)
	private, public := key(t)
	if err := Sign(layout, Control, old, "molfabric/control", private); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(from, "molfabric"), "a newer program")
	builder := Builder{Programs: from, Authorities: filepath.Join(from, "authorities.crt"), Log: io.Discard}
	current := must(digestOf(must(builder.Build(t.Context(), layout, Recipes[0]))(t)))(t)
	if err := Sign(layout, Control, current, "molfabric/control", private); err != nil {
		t.Fatal(err)
	}
	if err := layout.Sweep(); err != nil {
		t.Fatal(err)
	}
	if err := Verify(layout, Control, current, public); err != nil {
		t.Error(err)
	}
	if _, err := Checked(layout, Control, current); err != nil {
		t.Error(err)
	}
	if err := Verify(layout, Control, old, public); !errors.Is(err, ErrUnsigned) {
		t.Errorf("the older one: got %v, want %v", err, ErrUnsigned)
	}
	if got := must(Digests(layout))(t); len(got) != 1 || got[Control] != current {
		t.Errorf("the layout has %v", got)
	}
}

// TestRecipesFitTheDeployments: each fleet of Compose has an image, with engines that there are, on parts that there are.
func TestRecipesFitTheDeployments(t *testing.T) {
	t.Parallel()
	compose := string(must(os.ReadFile("../compose.yaml"))(t))
	digests := map[string]string{}
	known := map[string]bool{}
	for _, p := range parts {
		for _, name := range append(slices.Clone(p.Below), p.Files...) {
			if _, err := os.Stat(filepath.Join("../..", name)); !known[name] && err != nil {
				t.Errorf("the part %s lies on %s, which is not there", p.Name, name)
			}
		}
		known[p.Name] = true
	}
	for _, recipe := range Recipes {
		digests[recipe.Name] = "sha256:" + strings.Repeat("a", 64)
		if !strings.Contains(compose, "${MOLFABRIC_"+strings.ToUpper(recipe.Name)+"_IMAGE") {
			t.Errorf("Compose has no image of %s", recipe.Name)
		}
		if _, err := all.Offered(recipe.Engines); err != nil {
			t.Errorf("%s: %v", recipe.Name, err)
		}
		for i, name := range recipe.Parts {
			for _, below := range partNamed(name).Below {
				if !slices.Contains(recipe.Parts[:i], below) {
					t.Errorf("%s: the part %s lies on %s, which does not lie below it", recipe.Name, name, below)
				}
			}
		}
	}
	var values, variables bytes.Buffer
	ChartValues(&values, "registry.example.org/molfabric", digests)
	ComposeVariables(&variables, "registry.example.org/molfabric", digests)
	for _, want := range []string{"image: registry.example.org/molfabric/control@sha256:", "  waves:\n",
		"engines: [blastp, blastn]"} {
		if !strings.Contains(values.String(), want) {
			t.Errorf("%q is not in the chart's values:\n%s", want, values.String())
		}
	}
	want := "COMPOSE_PROFILES=sequences,docking,dynamics,waves,rendering,folding\n"
	if !strings.Contains(variables.String(), want) {
		t.Errorf("%q is not in Compose's variables:\n%s", want, variables.String())
	}
}
