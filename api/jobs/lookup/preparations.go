package lookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// maxLostPreparations bounds how many preparations that are lost one submission finds and forgets; the next finds more.
const maxLostPreparations = 4

// preparation is an earlier preparation of a receptor.
type preparation struct {
	CacheKey               string `db:"cache_key"`
	ReceptorIdentitySHA256 string `db:"receptor_identity_sha256"`
	PreparationSHA256      string `db:"preparation_sha256"`
	ToolchainSHA256        string `db:"toolchain_sha256"`
	TaskID                 string `db:"task_id"`
}

// preparation finds an earlier preparation of an account's receptor. Whether it is still good for its programs, only
// they can tell. Errors: fault.ArtifactNotFound, fault.Validation, fault.WorkerImageMismatch.
func (s *search) preparation(ctx context.Context, wants engines.Wants) (bool, error) {
	if s.accountID == "" || wants.Preparation == nil || !s.once("preparation") {
		return false, nil
	}
	found, err := s.prepared(ctx, *wants.Preparation)
	s.work.Found.Prepared = found
	return true, err
}

// prepared finds the preparation that a request names, or else the newest of the account that prepared the same file in
// the same way, if there is one.
func (s *search) prepared(ctx context.Context, w engines.WantedPreparation) (*engines.PreparedReceptor, error) {
	if w.Named != nil {
		return s.preparedAsNamed(ctx, w, *w.Named)
	}
	for range maxLostPreparations {
		newest, ok, err := s.store.newestPreparation(ctx, s.accountID, w.Identity, w.How)
		if err != nil || !ok {
			return nil, err
		}
		files, err := s.filesOf(ctx, newest, w.Files)
		if err != nil || files != nil {
			return newest.with(files), err
		}
		if err := s.store.forgetPreparation(ctx, s.accountID, newest); err != nil {
			return nil, err
		}
		s.Log.Warn("a prepared receptor is lost; it is prepared anew",
			"account", s.accountID, "preparation", newest.CacheKey, "task", newest.TaskID)
	}
	return nil, nil
}

// filesOf finds what a preparation has made, in the object store as well; nil when any of it is lost. What is there may
// be damaged: that is found when it is staged, and the receptor is then prepared anew.
func (s *search) filesOf(ctx context.Context, p preparation, names []string) (map[string]engines.Object, error) {
	files, err := s.store.preparedFiles(ctx, s.accountID, p.TaskID, names)
	if err != nil || len(files) < len(names) {
		return nil, err
	}
	for _, name := range names {
		info, err := s.Objects.Head(ctx, files[name].StorageKey)
		switch {
		case errors.Is(err, object.ErrNotFound), err == nil && info.ByteSize != files[name].ByteSize:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("looking for a prepared receptor: %w", err)
		}
	}
	return files, nil
}

// preparedAsNamed finds the preparation that a request names, with every digest that it states.
func (s *search) preparedAsNamed(
	ctx context.Context, w engines.WantedPreparation, asked engines.NamedPreparation,
) (*engines.PreparedReceptor, error) {
	member := engines.Place(asked.Path)
	row, ok, err := s.store.preparation(ctx, s.accountID, asked.CacheKey)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.ArtifactNotFound, "%s.cacheKey: this account has no preparation with this key; leave "+
			"preparedReceptor out to have the receptor prepared", member)
	}
	for _, digest := range []struct{ name, asked, kept string }{
		{"receptorIdentitySha256", asked.ReceptorIdentitySHA256, row.ReceptorIdentitySHA256},
		{"preparationSha256", asked.PreparationSHA256, row.PreparationSHA256},
		{"toolchainSha256", asked.ToolchainSHA256, row.ToolchainSHA256},
	} {
		if digest.asked != digest.kept {
			return nil, fault.New(fault.Validation, "%s.%s: is not the digest of the preparation that cacheKey names", member,
				digest.name)
		}
	}
	if asked.WorkerImageDigest != "sha256:"+row.ToolchainSHA256 {
		return nil, fault.New(fault.WorkerImageMismatch, "%s.workerImageDigest: is not the image that prepared the receptor; it "+
			"is sha256: and toolchainSha256", member)
	}
	files, err := s.filesOf(ctx, row, w.Files)
	if err != nil {
		return nil, err
	}
	if files == nil {
		return nil, fault.New(fault.ArtifactNotFound, "%s.cacheKey: the files of this preparation are gone; leave "+
			"preparedReceptor out to have the receptor prepared again", member)
	}
	if a := asked.File; a != nil && (a.SHA256 != files[w.MainFile].SHA256 || a.ByteSize != files[w.MainFile].ByteSize) {
		return nil, fault.New(fault.Validation, "%s.artifact: is not the %s that the preparation has made", member, w.MainFile)
	}
	return row.with(files), nil
}

// with is the preparation with its files; nil without any.
func (p preparation) with(files map[string]engines.Object) *engines.PreparedReceptor {
	if files == nil {
		return nil
	}
	return &engines.PreparedReceptor{
		CacheKey: p.CacheKey, ReceptorIdentitySHA256: p.ReceptorIdentitySHA256, PreparationSHA256: p.PreparationSHA256,
		ToolchainSHA256: p.ToolchainSHA256, Files: files,
	}
}
