package images

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Builder makes images.
type Builder struct {
	Repository  string // the checkout, for deploy/setup.sh and the lock files
	Programs    string // folder with molfabric and molfabric-store
	Components  string // dictionary of chemical components, for the control plane; none where the file is not there
	Version     string
	Mirror      string // of Debian's archive; default mmdebstrap's own
	Authorities string // file with the certificates that the control plane trusts; default Debian's
	Log         io.Writer
}

// made tells what a part was made of, and what came of it.
type made struct {
	Key    string // digest of its recipe
	Digest string // of its layer
}

// partsFile remembers the parts that have been made, in the layout's folder.
const partsFile = "parts.json"

// Build makes an image and puts it into the layout under its recipe's name. Parts that were made before by the same recipe are
// taken as they are.
func (b Builder) Build(ctx context.Context, layout *Layout, recipe Recipe) (v1.Image, error) {
	var layers []v1.Layer
	for _, name := range recipe.Parts {
		layer, err := b.part(ctx, layout, partNamed(name))
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", name, err)
		}
		layers = append(layers, layer)
	}
	files, err := b.own(ctx, layout, recipe)
	if err != nil {
		return nil, err
	}
	top, err := writeLayer(layout.blobs(), files)
	if err != nil {
		return nil, err
	}
	image, err := b.compose(recipe, append(layers, top))
	if err != nil {
		return nil, err
	}
	return image, layout.Put(recipe.Name, "", image)
}

// compose puts layers together.
func (b Builder) compose(recipe Recipe, layers []v1.Layer) (v1.Image, error) {
	names := append(slices.Clone(recipe.Parts), "molfabric")
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for i, layer := range layers {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: moment}, CreatedBy: "molfabric-images: " + names[i]}})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", runtime.GOARCH, v1.Time{Time: moment}
	config.Config = v1.Config{User: userName, Env: recipe.environment(), WorkingDir: home,
		Entrypoint: []string{"/usr/local/bin/molfabric"},
		Labels: map[string]string{"org.opencontainers.image.title": "molfabric/" + recipe.Name,
			"org.opencontainers.image.version": b.Version}}
	if recipe.Name != Control {
		config.Config.Cmd = []string{"worker"}
		config.Config.Labels["molfabric.engines"] = strings.Join(recipe.Engines, ",")
	}
	if b.Components != "" && recipe.Name == Control {
		config.Config.Env = append(config.Config.Env, "MOLFABRIC_COMPONENTS="+installed+"/"+filepath.Base(b.Components))
	}
	return mutate.ConfigFile(image, config)
}

// own is the last layer: molfabric, and where it may write.
func (b Builder) own(ctx context.Context, layout *Layout, recipe Recipe) ([]File, error) {
	files := []File{
		{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Name: "usr/local/bin/molfabric", Mode: 0o755, Source: filepath.Join(b.Programs, "molfabric")},
		{Name: strings.TrimPrefix(home, "/"), Mode: fs.ModeDir | 0o755, Owner: user},
	}
	if recipe.Name != Control {
		files = append(files, File{Name: "usr/local/bin/python", Mode: fs.ModeSymlink, Target: "/usr/bin/python3"})
	} else {
		trusted, err := b.authorities(ctx, layout)
		if err != nil {
			return nil, err
		}
		for _, place := range []string{"dev", "proc", "sys", "run"} { // where a container's runtime mounts what it gives
			files = append(files, File{Name: place, Mode: fs.ModeDir | 0o755})
		}
		files = append(files,
			File{Name: strings.TrimPrefix(certificates, "/"), Mode: 0o644, Text: trusted},
			File{Name: "etc/passwd", Mode: 0o644, Text: []byte("nobody:x:65534:65534:nobody:/:/none\n")},
			File{Name: "etc/group", Mode: 0o644, Text: []byte("nogroup:x:65534:\n")},
			File{Name: "usr/local/bin/molfabric-store", Mode: 0o755, Source: filepath.Join(b.Programs, "molfabric-store")})
		if b.Components != "" {
			files = append(files, File{Name: path.Join(installed[1:], filepath.Base(b.Components)), Mode: 0o644,
				Source: b.Components})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// authorities are the certificates that the control plane trusts: those of the part of which every fleet's image is made.
func (b Builder) authorities(ctx context.Context, layout *Layout) (text []byte, err error) {
	if b.Authorities != "" {
		return os.ReadFile(b.Authorities)
	}
	base, err := b.part(ctx, layout, partNamed("base"))
	if err != nil {
		return nil, fmt.Errorf("part base: %w", err)
	}
	err = eachFile(base, func(h *tar.Header, content io.Reader) (err error) {
		if "/"+h.Name == certificates {
			text, err = io.ReadAll(content)
		}
		return err
	})
	if err == nil && len(text) == 0 {
		err = errors.New("the part base holds no certificates")
	}
	return text, err
}

// key is what a part is made of.
func (b Builder) key(p part) (string, error) {
	recipe, err := json.Marshal([]any{p, p.packages(), suite, runtime.GOARCH, moment, b.Mirror, compileScript})
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(recipe)
	for _, below := range p.Below {
		key, err := b.key(partNamed(below))
		if err != nil {
			return "", err
		}
		io.WriteString(sum, key) //nolint:errcheck // a digest takes everything
	}
	for _, name := range p.Files {
		files, err := readTree(b.Repository, []string{name})
		if err != nil {
			return "", err
		}
		for _, file := range files {
			content, size, err := file.open()
			if err != nil {
				return "", err
			}
			mark, err := markOf(file.header(size), content)
			content.Close()
			if err != nil {
				return "", err
			}
			fmt.Fprintln(sum, file.Name, mark)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// part is the layer of a part, made unless the same recipe has been made before.
func (b Builder) part(ctx context.Context, layout *Layout, p part) (v1.Layer, error) {
	key, err := b.key(p)
	if err != nil {
		return nil, err
	}
	known, err := layout.knownParts()
	if err != nil {
		return nil, err
	}
	if found := known[p.Name]; found.Key == key {
		if layer, err := openLayer(filepath.Join(layout.blobs(), found.Digest)); err == nil {
			return layer, nil
		}
	}
	began := time.Now()
	fmt.Fprintf(b.Log, "images: making the part %s\n", p.Name)
	layer, err := b.make(ctx, layout, p)
	if err != nil {
		return nil, err
	}
	digest, err := layer.Digest()
	if err != nil {
		return nil, err
	}
	size, err := layer.Size()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(b.Log, "images: made the part %s, %d MB in %.0f s: %s\n", p.Name, size/1e6, time.Since(began).Seconds(), digest)
	if known, err = layout.knownParts(); err != nil { // those below were made meanwhile
		return nil, err
	}
	known[p.Name] = made{Key: key, Digest: digest.Hex}
	return layer, layout.rememberParts(known)
}

// make makes a part in a root of its own.
func (b Builder) make(ctx context.Context, layout *Layout, p part) (v1.Layer, error) {
	var below []v1.Layer
	for _, name := range p.Below {
		layer, err := b.part(ctx, layout, partNamed(name))
		if err != nil {
			return nil, err
		}
		below = append(below, layer)
	}
	marks, err := marksOf(below)
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp(layout.dir, rootPattern)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	if err := os.Chmod(root, 0o755); err != nil {
		return nil, err
	}
	if err := b.fill(ctx, root, p, below); err != nil {
		return nil, err
	}
	files, err := readTree(root, p.Keep)
	if err != nil {
		return nil, err
	}
	if files, err = added(files, marks); err != nil {
		return nil, err
	}
	return writeLayer(layout.blobs(), files)
}

// fill makes the files of a part below root.
func (b Builder) fill(ctx context.Context, root string, p part, below []v1.Layer) error {
	folders := p.Compile
	if len(p.Packages)+len(p.Tools) > 0 {
		if err := b.debian(ctx, root, append(p.packages(), p.Tools...)); err != nil {
			return err
		}
	}
	if len(p.Packages) > 0 { // Debian's modules below are there anew, and to be as they are in their layer
		for _, name := range p.Below {
			folders = append(folders, partNamed(name).Compile...)
		}
	} else if err := lay(root, below); err != nil {
		return err
	}
	if p.Setup != "" {
		if err := b.within(ctx, root, "/src/deploy/setup.sh", "--home", installed, "--only", p.Setup); err != nil {
			return err
		}
	}
	slices.Sort(folders)
	return b.compile(ctx, root, slices.Compact(folders))
}
