package scene

import (
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

// DocumentOptions say how a scene leaves a session.
type DocumentOptions struct {
	CompileOptions
	// Addresses are where anybody finds what public sources name, by these ("pdb:1CBS"); for a document without files. What is
	// private has none.
	Addresses map[string]string
	// Names are the names that files have within the archive, by sources; those that are not given are made.
	Names map[string]string
}

// Document is a scene as a document that stands for itself.
type Document struct {
	Text []byte
	// Files are the names of the files that the document refers to, by the source in the session whose content each has. The
	// document is complete with them, as WriteArchive of internal/molviewspec writes it; by itself when there are none.
	Files map[string]string
}

// WriteDocument compiles a model for use elsewhere. The document carries the model, which ReadDocument gives back. What only its
// owner can name (poses, runs, uploads, artifacts, frames, projects) becomes a file of the archive, "file:NAME", in the tree and in
// the model; pdb: and alphafold: keep their names in the model. The same scene makes the same document.
//
// Errors: *MissingError, *AddressError, *ModelError where a name cannot be that of a file.
func WriteDocument(m Model, files Files, options DocumentOptions) (Document, error) {
	made := Document{Files: map[string]string{}}
	renamed, elsewhere := map[string]string{}, Files{}
	names := &fileNames{options: options, taken: map[string]bool{}}
	for _, source := range m.Sources() {
		file, ok := files[source]
		if !ok {
			return Document{}, &MissingError{source}
		}
		renamed[source] = source
		if address := options.Addresses[source]; address != "" && IsPublic(source) {
			file.URL = address
		} else {
			name, err := names.of(source, file)
			if err != nil {
				return Document{}, err
			}
			file.URL, made.Files[source] = name, name
			if !IsPublic(source) {
				renamed[source] = "file:" + name
			}
		}
		elsewhere[renamed[source]] = file
	}
	options.Carry = true
	var err error
	made.Text, err = Compile(m.WithSources(renamed), elsewhere, options.CompileOptions)
	return made, err
}

// WithSources is a model whose sources have other names, snapshots included; those that are not named keep theirs. Whoever takes
// the files of an archive in as uploads gives a model that was read their names so.
func (m Model) WithSources(names map[string]string) Model {
	renamed := func(source string) string {
		if name, ok := names[source]; ok {
			return name
		}
		return source
	}
	m = m.clone()
	for i := range m.Structures {
		m.Structures[i].Source = renamed(m.Structures[i].Source)
	}
	for i := range m.Volumes {
		m.Volumes[i].Source = renamed(m.Volumes[i].Source)
	}
	for i := range m.Snapshots {
		m.Snapshots[i].Scene = m.Snapshots[i].Scene.WithSources(names)
	}
	return m
}

// fileNames gives each file of an archive a name.
type fileNames struct {
	options DocumentOptions
	taken   map[string]bool
	made    int
}

// of is the name of a source's file: the one that was asked for, that which it has within the archive that it came from, or one
// that says what it is. Nothing of what its owner called it goes into a name that nobody asked for.
func (n *fileNames) of(source string, file File) (string, error) {
	name := n.options.Names[source]
	asked := name != ""
	kind, id, _ := strings.Cut(source, ":")
	extension := extensions[file.format()]
	switch {
	case asked:
	case kind == "file":
		name = id
	case kind == "pdb":
		name = strings.ToLower(id) + extension
	case kind == "alphafold":
		name = "AF-" + id + extension
	case file.Structure == nil:
		n.made++
		name = fmt.Sprintf("map-%d%s", n.made, extension)
	default:
		n.made++
		name = fmt.Sprintf("structure-%d%s", n.made, extension)
	}
	if !asked {
		name = n.free(name)
	}
	known, err := vocabulary()
	if err != nil {
		return "", err
	}
	if n.taken[name] || !molviewspec.IsArchiveName(name) || known[opLoad].arguments["source"].Validate("file:"+name) != nil {
		return "", &ModelError{"files", fmt.Sprintf("%s cannot be the name of %s: expected letters, digits, dots, dashes and "+
			"underscores, folders with slashes, and each name once", brief(name), clip(source, 80))}
	}
	n.taken[name] = true
	return name, nil
}

// free is a name that none has yet, and that is nobody's who comes later.
func (n *fileNames) free(name string) string {
	taken := func(name string) bool {
		if n.taken[name] {
			return true
		}
		for _, asked := range n.options.Names {
			if asked == name {
				return true
			}
		}
		return false
	}
	extension := path.Ext(name)
	stem, free := strings.TrimSuffix(name, extension), name
	for i := 2; taken(free); i++ {
		free = fmt.Sprintf("%s-%d%s", stem, i, extension)
	}
	return free
}

// extensions are those of files by the format's names of formats.
var extensions = map[string]string{
	"mmcif": ".cif", "bcif": ".bcif", "pdb": ".pdb", "pdbqt": ".pdbqt", "map": ".map", "dx": ".dx", "dxbin": ".dxbin",
}
