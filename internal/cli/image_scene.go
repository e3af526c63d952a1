package cli

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxSceneBytes bounds a MolViewSpec document: what the service takes.
	maxSceneBytes = 8 << 20
	// maxStructureBytes is what the service takes of a structure: the largest entries of the Protein Data Bank.
	maxStructureBytes = 1 << 30
	// archiveIndex is the document of an .mvsx archive.
	archiveIndex = "index.mvsj"
)

// sceneBound is of what is drawn.
var sceneBound = fileBound{maxStructureBytes, "a scene or a structure may have at most " + bytesText(maxStructureBytes)}

// sceneFormats are what `image` draws, by extension. true marks scenes, which may have states and refer to files.
var sceneFormats = map[string]bool{
	".mvsj": true, ".mvsx": true, ".cif": false, ".mmcif": false, ".bcif": false, ".pdb": false, ".ent": false, ".pdbqt": false,
	".sdf": false, ".mol": false, ".mol2": false, ".gro": false, ".xyz": false,
}

// molecularScene is the file that `image` draws.
type molecularScene struct {
	path       string
	size       int64 // bytes, unpacked
	structure  bool  // a molecule alone, not a scene
	states     int
	animated   bool     // a state of it changes while it is shown
	references []string // the files beside it that it refers to, as it writes them, each once
}

// readMolecularScene reads what can be seen of a scene without drawing it. The service checks it whole.
func readMolecularScene(name string) (molecularScene, error) {
	extension := "." + formatOf(name)
	scene, known := sceneFormats[extension]
	switch {
	case extension == ".blend":
		return molecularScene{}, usage("%s: `molfabric render` renders Blender scenes", name)
	case !known:
		return molecularScene{}, usage("%s: must be a scene (.mvsj, .mvsx) or a structure (%s)", name,
			strings.Join(structureExtensions(), ", "))
	}
	file, err := openPlain(name, sceneBound)
	if err != nil {
		return molecularScene{}, err
	}
	defer file.Close()
	s := molecularScene{path: name, size: file.size, structure: !scene, states: 1}
	switch extension {
	case ".mvsj":
		err = s.read(file, nil)
	case ".mvsx":
		err = s.readArchive(file)
	}
	return s, err
}

func structureExtensions() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for extension, scene := range sceneFormats {
			if !scene && !yield(extension) {
				return
			}
		}
	})
}

func (s *molecularScene) readArchive(file plainFile) error {
	archive, err := zip.NewReader(file, file.size)
	if err != nil {
		return invalidInput("%s: is no zip archive: %v", s.path, err)
	}
	within := map[string]bool{}
	for _, file := range archive.File {
		within[path.Clean(file.Name)] = true
	}
	index, err := archive.Open(archiveIndex)
	if err != nil {
		return invalidInput("%s: holds no %s", s.path, archiveIndex)
	}
	defer index.Close()
	return s.read(index, within)
}

// read reads a document. within are the files beside it in its archive.
func (s *molecularScene) read(content io.Reader, within map[string]bool) error {
	text, err := io.ReadAll(io.LimitReader(content, maxSceneBytes+1))
	switch {
	case err != nil:
		return invalidInput("%s: %v", s.path, err)
	case len(text) > maxSceneBytes:
		return invalidInput("%s: its document is larger than %d MiB", s.path, maxSceneBytes>>20)
	}
	var document struct {
		sceneState
		Snapshots []sceneState `json:"snapshots"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return invalidInput("%s: is no MolViewSpec document: %v", s.path, err)
	}
	if len(document.Root) == 0 && len(document.Snapshots) == 0 {
		return invalidInput("%s: is no MolViewSpec document: it has neither root nor snapshots", s.path)
	}
	s.states, s.animated = max(len(document.Snapshots), 1), document.animated()
	for _, state := range document.Snapshots {
		s.animated = s.animated || state.animated()
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return invalidInput("%s: is no MolViewSpec document: %v", s.path, err)
	}
	return s.refer(addresses(whole), within)
}

// sceneState is what is read of one state of a scene.
type sceneState struct {
	Root      json.RawMessage `json:"root"`
	Animation struct {
		Children []json.RawMessage `json:"children"`
	} `json:"animation"`
}

func (s sceneState) animated() bool { return len(s.Animation.Children) > 0 }

// addresses are the members url and uri of every node's params, each once.
func addresses(value any) []string {
	found := map[string]bool{}
	gatherAddresses(value, found)
	return slices.Sorted(maps.Keys(found))
}

func gatherAddresses(value any, found map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			gatherAddresses(element, found)
		}
	case map[string]any:
		if params, ok := value["params"].(map[string]any); ok {
			for _, name := range []string{"url", "uri"} {
				if address, ok := params[name].(string); ok {
					found[address] = true
				}
			}
		}
		for _, member := range value {
			gatherAddresses(member, found)
		}
	}
}

var addressScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// refer keeps the addresses that mean a file beside the scene, and refuses those that a renderer must not follow.
func (s *molecularScene) refer(addresses []string, within map[string]bool) error {
	for _, address := range addresses {
		scheme := strings.ToLower(addressScheme.FindString(address))
		place := path.Clean(address)
		switch {
		case scheme == "data:" || scheme == "arcp:" || within[place]: // carried along in the file itself
		case scheme == "file:" || strings.HasPrefix(address, "/") || strings.Contains(address, `\`) || scheme == "" &&
			!filepath.IsLocal(filepath.FromSlash(place)):
			return invalidInput("%s: refers to %q: a scene may only refer to files beside or below it, by relative paths", s.path,
				shorten(address, noteChars))
		case scheme != "":
			return invalidInput("%s: refers to %s: renderers have no network. Download it beside the scene, and write %q in "+
				"its place", s.path, shorten(labelOf(address), noteChars), fileOf(address))
		case place == "." || hasHidden(place):
			return invalidInput("%s: refers to %q: is no name of a file, or a hidden one, which is not sent", s.path,
				shorten(address, noteChars))
		default:
			s.references = append(s.references, address)
		}
	}
	return nil
}

// fileOf is what a downloaded file would be called.
func fileOf(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if name := path.Base(address); name != "/" && name != "." && len(name) < maxSegmentBytes {
		return name
	}
	return "file"
}

func hasHidden(place string) bool {
	for segment := range strings.SplitSeq(place, "/") {
		if strings.HasPrefix(segment, ".") {
			return true
		}
	}
	return false
}

// pack finds every file that the scene refers to: beside it, or among the assets by its name.
func (s *molecularScene) pack(assets []string) (*scenePackage, error) {
	if s.structure && len(assets) > 0 {
		return nil, usage("--asset: a structure refers to no other files; only scenes (.mvsj, .mvsx) do")
	}
	byName := map[string]string{}
	for _, asset := range assets {
		if _, err := headOf(asset, 1); err != nil {
			return nil, err
		}
		if other, ok := byName[filepath.Base(asset)]; ok {
			return nil, usage("--asset %s and --asset %s have the same name", other, asset)
		}
		byName[filepath.Base(asset)] = asset
	}
	files, used := map[string]string{}, map[string]bool{}
	for _, reference := range s.references {
		place := path.Clean(reference)
		file := filepath.Join(filepath.Dir(s.path), filepath.FromSlash(place))
		if asset, ok := byName[path.Base(place)]; ok {
			file, used[asset] = asset, true
		}
		if _, err := headOf(file, 1); err != nil {
			return nil, invalidInput("%s: refers to %q, and there is no such file (%v); put it there, or name it with --asset",
				s.path, reference, err)
		}
		files[place] = file
	}
	for name, asset := range byName {
		if !used[asset] {
			return nil, usage("--asset %s: %s refers to no file called %q", asset, s.path, name)
		}
	}
	return packReferences(s.path, s.size, files)
}

// named lists the files that go along, for people.
func (s *molecularScene) named(pack *scenePackage) string {
	var names []string
	for _, asset := range pack.assets {
		names = append(names, asset.logical)
	}
	if len(names) == 0 {
		return ""
	}
	if rest := len(names) - maxNamedFiles; rest > 0 {
		names = append(names[:maxNamedFiles], fmt.Sprintf("%d more", rest))
	}
	return fmt.Sprintf("%s refers to %s.", plainName(s.path), strings.Join(names, ", "))
}

// maxNamedFiles bounds the files that one line names.
const maxNamedFiles = 10
