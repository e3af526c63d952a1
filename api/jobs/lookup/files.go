package lookup

import (
	"context"
	"fmt"
	"maps"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
)

// Uploads finds which of the keys are files that the account has uploaded and that lie in the store with the announced
// size. Unknown keys, keys of other accounts and files that have not arrived stay out of the answer alike.
type Uploads func(ctx context.Context, accountID string, keys []string) (map[string]engines.Object, error)

// reference is a place in a submission that names a stored file.
type reference struct {
	path    string // JSON path of the place
	key     string
	stated  *engines.Object // nil when the submission says nothing
	missing fault.Code      // the answer when the account has no such file
}

// references lists every stored file that a submission names, the scene first.
func references(scene string, attachments []string, named []engines.NamedFile) []reference {
	all := []reference{{path: "sceneFile", key: scene, missing: fault.SceneNotFound}}
	for i, key := range attachments {
		all = append(all, reference{path: fmt.Sprintf("attachments[%d]", i), key: key, missing: fault.ArtifactNotFound})
	}
	for _, file := range named {
		all = append(all, referenceTo(file))
	}
	return all
}

func referenceTo(file engines.NamedFile) reference {
	return reference{
		path: engines.Place(file.Path), key: file.Object.StorageKey, stated: &file.Object, missing: fault.ArtifactNotFound,
	}
}

// check holds a reference against the file that was found. Errors: the reference's own code when there is none;
// fault.ChecksumMismatch when the file is not what the submission says.
func (r reference) check(found engines.Object, ok bool) error {
	switch {
	case !ok:
		path := r.path
		if r.stated != nil {
			path += ".storageKey"
		}
		return fault.New(r.missing, "%s: this account has no stored file with this key; upload it first (POST /v1/jobs/upload-url)",
			path)
	case r.stated == nil:
		return nil
	case r.stated.ByteSize != found.ByteSize:
		return fault.New(fault.ChecksumMismatch, "%s.byteSize: is not the size of the stored file", r.path)
	case found.SHA256 != "" && r.stated.SHA256 != found.SHA256:
		return fault.New(fault.ChecksumMismatch, "%s.sha256: is not the SHA-256 of the stored file", r.path)
	}
	return nil
}

// Files checks every file that a submission names and returns the scene and the attachments in their order. Outputs of the
// account's own jobs count like uploads, so that one job's result can be the next one's input. Errors: fault.SceneNotFound,
// fault.ArtifactNotFound, fault.ChecksumMismatch.
func (f *Finder) Files(
	ctx context.Context, accountID, scene string, attachments []string, named []engines.NamedFile,
) (engines.Object, []engines.Object, error) {
	all := references(scene, attachments, named)
	found, err := f.stored(ctx, accountID, all)
	if err != nil {
		return engines.Object{}, nil, err
	}
	for _, r := range all {
		object, ok := found[r.key]
		if err := r.check(object, ok); err != nil {
			return engines.Object{}, nil, err
		}
	}
	var attached []engines.Object
	for _, key := range attachments {
		attached = append(attached, found[key])
	}
	return found[scene], attached, nil
}

// stored finds which of the files the account has, by their keys.
func (f *Finder) stored(ctx context.Context, accountID string, all []reference) (map[string]engines.Object, error) {
	var keys []string
	seen := map[string]bool{}
	for _, r := range all {
		if !seen[r.key] {
			seen[r.key] = true
			keys = append(keys, r.key)
		}
	}
	found, err := f.store.outputs(ctx, accountID, keys)
	if err != nil {
		return nil, err
	}
	var rest []string
	for _, key := range keys {
		if _, ok := found[key]; !ok {
			rest = append(rest, key)
		}
	}
	uploaded, err := f.Uploads(ctx, accountID, rest)
	if err != nil {
		return nil, err
	}
	maps.Copy(found, uploaded)
	return found, nil
}
