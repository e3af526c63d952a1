package lookup

import (
	"path"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/object"
)

// scheme is how an address begins that names its own place.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// resolveReference finds the job's own file that a reference in its scene means: a renderer fetches nothing. A reference
// is the storage key of an attachment; else a path: within a project package it leads from the scene's own place,
// elsewhere it is an attachment's file name. Errors: fault.Validation for one that leads outside or is ambiguous;
// fault.ArtifactNotFound.
func resolveReference(r molviewspec.Reference, work engines.Request) (engines.Object, error) {
	for _, file := range work.Attachments {
		if file.StorageKey == r.URL {
			return file, nil
		}
	}
	if scheme.MatchString(r.URL) || strings.HasPrefix(r.URL, "/") || strings.ContainsAny(r.URL, "\\\x00") {
		return engines.Object{}, fault.New(fault.Validation,
			"sceneFile: at %s the scene refers to %q, and a renderer fetches nothing from outside its job; upload that file, "+
				"name it in attachments and refer to it by its file name", r.Path, r.URL)
	}
	wanted := path.Clean(r.URL)
	if project, at, ok := object.ProjectPath(work.SceneFile.StorageKey); ok {
		wanted = path.Join(path.Dir(at), r.URL)
		for _, file := range work.Attachments {
			if of, path, ok := object.ProjectPath(file.StorageKey); ok && of == project && path == wanted {
				return file, nil
			}
		}
	}
	if wanted == ".." || strings.HasPrefix(wanted, "../") {
		return engines.Object{}, fault.New(fault.Validation, "sceneFile: at %s the scene refers to %q, which leads out of its "+
			"own place; refer to an attachment by its file name", r.Path, r.URL)
	}
	var found []engines.Object
	for _, file := range work.Attachments {
		if path.Base(file.StorageKey) == path.Base(wanted) {
			found = append(found, file)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return engines.Object{}, fault.New(fault.ArtifactNotFound,
			"sceneFile: at %s the scene refers to %q, and no attachment of the job has this file name; upload the file and name "+
				"its key in attachments", r.Path, r.URL)
	}
	return engines.Object{}, fault.New(fault.Validation, "sceneFile: at %s the scene refers to %q, and %d attachments have this "+
		"file name; refer to the one meant by its storage key", r.Path, r.URL, len(found))
}
