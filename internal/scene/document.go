package scene

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

// customKey is the member of a root's "custom" that carries a model in a document.
const customKey = "molfabric_scene"

// carriedVersion is the version of what is carried. A reader refuses later ones.
const carriedVersion = 1

// carried is a model within a document, and where the document finds what it is made from.
type carried struct {
	Version int       `json:"version"`
	Scene   Model     `json:"scene"`
	Files   []Carried `json:"files"`
}

// Carried is a file that a document refers to: whose content it is, by the source that the model has for it, and where it lies: the
// name of a file beside the document or within its archive, or a public address.
type Carried struct {
	Source string `json:"source"`
	URL    string `json:"url"`
	Format string `json:"format"` // as MolViewSpec names it: mmcif, pdb, map, …
}

// ForeignError says that a document is valid MolViewSpec and carries no model: some other program made it. Such a document can be
// drawn, and not changed by operations.
type ForeignError struct{}

func (e *ForeignError) Error() string {
	return "the document was not exported by a studio: it carries no scene that operations can change (no " + customKey +
		` in the "custom" of its root)`
}

// AddressError says that a document would hold an address that is not everybody's: one with a query, as stores sign it, with a
// fragment or a password. It does not tell the address.
type AddressError struct{ Source string }

func (e *AddressError) Error() string {
	return "the address of " + clip(e.Source, 80) + " cannot stand in a document: expected " + plainAddresses
}

const plainAddresses = "the name of a file, a path, or an address without query, fragment and password"

// carry is what a document carries of a model.
func (m Model) carry(files Files) (*carried, error) {
	c := &carried{Version: carriedVersion, Scene: m}
	for _, source := range m.Sources() {
		file, ok := files[source]
		if !ok {
			return nil, &MissingError{source}
		}
		c.Files = append(c.Files, Carried{source, file.URL, file.format()})
	}
	return c, nil
}

// format is MolViewSpec's name of a file's format.
func (f File) format() string {
	switch {
	case f.Format != "":
		return f.Format
	case f.Structure == nil:
		return "map"
	}
	return formats[f.Structure.Format]
}

// checkAddresses refuses what may not stand in a document. Errors: *AddressError.
func (m Model) checkAddresses(files Files) error {
	for _, source := range m.Sources() {
		if file, ok := files[source]; ok && !molviewspec.IsPlainReference(file.URL) {
			return &AddressError{source}
		}
	}
	return nil
}

// readNode and readView are the parts of a document that lead to what it carries.
type readNode struct {
	Custom map[string]json.RawMessage `json:"custom"`
}

type readView struct {
	Root      *readNode `json:"root"`
	Snapshots []struct {
		Root *readNode `json:"root"`
	} `json:"snapshots"`
}

// ReadDocument reads the model that a document (".mvsj", or the index of an ".mvsx") carries, and the files that it is made from,
// each of the model's sources once. The tree itself is checked and then left alone: compiling the model makes it again.
//
// The document may be anybody's. Its sources are forms of the operation load and nothing more: a caller fetches pdb: and alphafold:
// as it always does, takes file: from the archive, and asks whether the account may read any other. Addresses are told for
// completeness, and nobody need follow them.
//
// Errors: *molviewspec.InvalidError when it is no MolViewSpec; *ForeignError when it carries no model; *ModelError when the model
// that it carries is not one, is too large, or was made by a later version.
func ReadDocument(document []byte) (Model, []Carried, error) {
	if _, err := molviewspec.Parse(document); err != nil {
		return Model{}, nil, err
	}
	var v readView
	if err := json.Unmarshal(document, &v); err != nil {
		return Model{}, nil, fmt.Errorf("read a document that is valid: %w", err)
	}
	root := v.Root
	if n := len(v.Snapshots); n > 0 {
		root = v.Snapshots[n-1].Root
	}
	if root == nil || root.Custom[customKey] == nil {
		return Model{}, nil, &ForeignError{}
	}
	c, err := readCarried(root.Custom[customKey])
	if err != nil {
		return Model{}, nil, err
	}
	return c.Scene, c.Files, nil
}

func readCarried(text []byte) (carried, error) {
	var versioned struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &versioned); err != nil {
		return carried{}, &ModelError{customKey, "expected an object with a version, a scene and files"}
	}
	if versioned.Version != carriedVersion {
		return carried{}, &ModelError{customKey + ".version",
			fmt.Sprintf("expected %d, got %d: another version of molfabric has made it", carriedVersion, versioned.Version)}
	}
	var c carried
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&c); err != nil {
		return carried{}, &ModelError{customKey, clip(err.Error(), 200)}
	}
	if _, err := reader.Token(); !errors.Is(err, io.EOF) {
		return carried{}, &ModelError{customKey, "something stands behind it"}
	}
	if err := CheckModel(c.Scene); err != nil {
		return carried{}, err
	}
	return c, c.checkFiles()
}

// checkFiles checks that each of the model's sources has one file.
func (c carried) checkFiles() error {
	sources := c.Scene.Sources()
	if len(c.Files) != len(sources) {
		return &ModelError{"files", fmt.Sprintf("expected one for each of %d sources, got %d", len(sources), len(c.Files))}
	}
	for i, file := range c.Files {
		path := fmt.Sprintf("files[%d].", i)
		at := slices.Index(sources, file.Source)
		switch {
		case at < 0:
			return &ModelError{path + "source", "the scene has no other " + brief(file.Source)}
		case !molviewspec.IsPlainReference(file.URL):
			return &ModelError{path + "url", "expected " + plainAddresses}
		case !slices.Contains(fileFormats, file.Format):
			return &ModelError{path + "format", fmt.Sprintf("expected one of %q, got %s", fileFormats, brief(file.Format))}
		}
		sources = slices.Delete(sources, at, at+1)
	}
	return nil
}

// fileFormats are the formats of structures and maps that scenes are made from.
var fileFormats = []string{"mmcif", "bcif", "pdb", "pdbqt", "map", "dx", "dxbin"}
