package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Place keeps images: a Layout on disk, or a Registry. What belongs to an image lies beside it under a tag of its own. An image
// itself is asked for by its digest, or in a layout with no tag.
type Place interface {
	// Get returns an image by a tag or a digest "sha256:…". Errors: ErrMissing.
	Get(image, tag string) (v1.Image, error)
	// Put keeps an image, in place of what has the tag.
	Put(image, tag string, content v1.Image) error
}

// ErrMissing says that a place does not have what it was asked for.
var ErrMissing = errors.New("there is no such image")

// Layout is a folder with images as the Open Container Initiative lays them out. One process at a time may write to it.
type Layout struct {
	dir  string
	path layout.Path
}

var _, _ Place = (*Layout)(nil), Registry{}

// rootPattern names the folders in which roots are made.
const rootPattern = "root-*"

// refName is the annotation that names a manifest within a layout.
const refName = "org.opencontainers.image.ref.name"

// OpenLayout opens the layout in a folder, and makes it where there is none.
func OpenLayout(dir string) (*Layout, error) {
	path, err := layout.FromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return nil, fmt.Errorf("open the images in %s: %w", dir, err)
	}
	l := &Layout{dir: dir, path: path}
	return l, os.MkdirAll(l.blobs(), 0o755)
}

func (l *Layout) blobs() string { return filepath.Join(l.dir, "blobs", "sha256") }

func refOf(image, tag string) string {
	if tag == "" {
		return image
	}
	return image + ":" + tag
}

// Get implements Place.
func (l *Layout) Get(image, tag string) (v1.Image, error) {
	index, err := l.path.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range list.Manifests {
		ref := m.Annotations[refName]
		if ref == refOf(image, tag) || m.Digest.String() == tag && (ref == image || strings.HasPrefix(ref, image+":")) {
			return l.path.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("%s %s: %w", image, tag, ErrMissing)
}

// Put implements Place.
func (l *Layout) Put(image, tag string, content v1.Image) error {
	ref := refOf(image, tag)
	return l.path.ReplaceImage(content, match.Name(ref), layout.WithAnnotations(map[string]string{refName: ref}))
}

// Sweep removes signatures and lists of images that are there no more, blobs that no image has, and unfinished roots.
func (l *Layout) Sweep() error {
	for removed := true; removed; { // a list has a signature of its own
		index, err := l.path.ImageIndex()
		if err != nil {
			return err
		}
		list, err := index.IndexManifest()
		if err != nil {
			return err
		}
		removed = false
		for _, m := range list.Manifests {
			hex, beside := subjectOf(m.Annotations[refName])
			if !beside || slices.ContainsFunc(list.Manifests, func(d v1.Descriptor) bool { return d.Digest.Hex == hex }) {
				continue
			}
			removed = true
			if err := l.path.RemoveDescriptors(match.Digests(m.Digest)); err != nil {
				return err
			}
		}
	}
	roots, err := filepath.Glob(filepath.Join(l.dir, rootPattern)) // of builds that were killed
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	unused, err := l.path.GarbageCollect()
	if err != nil {
		return err
	}
	for _, blob := range unused {
		if err := l.path.RemoveBlob(blob); err != nil {
			return err
		}
	}
	return nil
}

// subjectOf reads the name of what lies beside an image: the digest of that image.
func subjectOf(ref string) (hex string, beside bool) {
	_, tag, beside := strings.Cut(ref, ":sha256-")
	hex, _, _ = strings.Cut(tag, ".")
	return hex, beside
}

// Forget has all parts built anew.
func (l *Layout) Forget() error {
	if err := os.Remove(filepath.Join(l.dir, partsFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l *Layout) knownParts() (map[string]made, error) {
	known := map[string]made{}
	text, err := os.ReadFile(filepath.Join(l.dir, partsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &known)
	return known, err
}

func (l *Layout) rememberParts(known map[string]made) error {
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, partsFile), append(text, '\n'), 0o644)
}

// Registry is a registry's repositories below a common name, such as registry.example.org/molfabric.
type Registry struct {
	Context    context.Context // of every request
	Repository string
	Insecure   bool // by HTTP, for a registry on loopback
}

func (r Registry) reference(image, tag string) (name.Reference, error) {
	var options []name.Option
	if r.Insecure {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(r.Repository+"/"+image, options...)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(tag, "sha256:") {
		return repository.Digest(tag), nil
	}
	return repository.Tag(tag), nil
}

func (r Registry) options() []remote.Option {
	return []remote.Option{remote.WithContext(r.Context), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// Get implements Place.
func (r Registry) Get(image, tag string) (v1.Image, error) {
	ref, err := r.reference(image, tag)
	if err != nil {
		return nil, err
	}
	found, err := remote.Image(ref, r.options()...)
	if isMissing(err) {
		return nil, fmt.Errorf("%s: %w", ref, ErrMissing)
	}
	return found, err
}

// Put implements Place.
func (r Registry) Put(image, tag string, content v1.Image) error {
	ref, err := r.reference(image, tag)
	if err != nil {
		return err
	}
	return remote.Write(ref, content, r.options()...)
}

// isMissing says whether a registry answered that it does not have what it was asked for.
func isMissing(err error) bool {
	var refused *transport.Error
	return errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound
}

// Checked returns an image by its digest after it has read all of it: a manifest, a configuration or a layer whose content is not
// what its digest says is an error.
func Checked(place Place, image, digest string) (v1.Image, error) {
	found, err := described(place, image, digest)
	if err != nil {
		return nil, err
	}
	return found, readLayers(found, func(io.Reader) error { return nil })
}

// described returns an image whose manifest and configuration are what its digest says.
func described(place Place, image, digest string) (v1.Image, error) {
	if _, err := v1.NewHash(digest); err != nil {
		return nil, fmt.Errorf("image %s: %q is no digest; give sha256: and 64 hexadecimal digits", image, digest)
	}
	found, err := place.Get(image, digest)
	if err != nil {
		return nil, err
	}
	raw, err := found.RawManifest()
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(raw); "sha256:"+hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("image %s: the manifest is not %s", image, digest)
	}
	config, err := found.RawConfigFile()
	if err != nil {
		return nil, err
	}
	manifest, err := found.Manifest()
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(config); hex.EncodeToString(sum[:]) != manifest.Config.Digest.Hex {
		return nil, fmt.Errorf("image %s: the configuration is not %s", image, manifest.Config.Digest)
	}
	return found, nil
}

// readLayers has use read each layer of an image as it is kept, the lowest first, and compares it with its digest. What use has
// read may be wrong until readLayers has returned.
func readLayers(image v1.Image, use func(content io.Reader) error) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	for _, kept := range manifest.Layers {
		layer, err := image.LayerByDigest(kept.Digest)
		if err != nil {
			return err
		}
		if err := readLayer(layer, kept.Digest, use); err != nil {
			return err
		}
	}
	return nil
}

func readLayer(layer v1.Layer, want v1.Hash, use func(content io.Reader) error) error {
	stream, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer stream.Close()
	sum := sha256.New()
	content := io.TeeReader(stream, sum)
	useErr := use(content)
	if _, err := io.Copy(io.Discard, content); err != nil { // what use has left
		return fmt.Errorf("read a layer: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.Hex {
		return fmt.Errorf("a layer is not %s; it is sha256:%s", want, got)
	}
	return useErr
}
