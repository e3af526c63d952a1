package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// preparedReceptorFile is the prepared receptor among the files of a preparation.
const preparedReceptorFile = "receptor.pdbqt"

// preparedFiles are what a preparation has made and a later docking takes over, by their names.
var preparedFiles = []string{preparedReceptorFile, "receptor.pdb", "serials.json", "receptor.json"}

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

// prepared finds an earlier preparation of a request's receptor: the one that it names, or else the newest of the account that
// prepared the same file in the same way, if there is one. Whether it is still good for its programs, only they can tell.
// Errors: fault.ArtifactNotFound, fault.Validation, fault.WorkerImageMismatch.
func (s *Service) prepared(ctx context.Context, accountID string, params vina.Params, receptor engines.Object) (*engines.PreparedReceptor, error) {
	if execution := params.DockingExecution; execution != nil && execution.PreparedReceptor != nil {
		return s.preparedAsNamed(ctx, accountID, *execution.PreparedReceptor)
	}
	if receptor.SHA256 == "" {
		return nil, nil
	}
	identity, err := json.Marshal(params.IdentityOf(receptor.SHA256))
	if err != nil {
		return nil, fmt.Errorf("writing a receptor's identity: %w", err)
	}
	how, err := json.Marshal(params.PreparationAsUsed())
	if err != nil {
		return nil, fmt.Errorf("writing a receptor's preparation: %w", err)
	}
	for range maxLostPreparations {
		newest, ok, err := s.store.newestPreparation(ctx, accountID, identity, how)
		if err != nil || !ok {
			return nil, err
		}
		files, err := s.filesOf(ctx, accountID, newest)
		if err != nil || files != nil {
			return newest.with(files), err
		}
		if err := s.store.forgetPreparation(ctx, accountID, newest); err != nil {
			return nil, err
		}
		s.deps.Log.Warn("a prepared receptor is lost; it is prepared anew",
			"account", accountID, "preparation", newest.CacheKey, "task", newest.TaskID)
	}
	return nil, nil
}

// filesOf finds what a preparation has made, in the object store as well; nil when any of it is lost. What is there may be damaged:
// that is found when it is staged, and the receptor is then prepared anew.
func (s *Service) filesOf(ctx context.Context, accountID string, p preparation) (map[string]engines.Object, error) {
	files, err := s.store.preparedFiles(ctx, accountID, p.TaskID)
	if err != nil || len(files) < len(preparedFiles) {
		return nil, err
	}
	for _, name := range preparedFiles {
		info, err := s.deps.Objects.Head(ctx, files[name].StorageKey)
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
func (s *Service) preparedAsNamed(ctx context.Context, accountID string, asked vina.PreparedReceptor) (*engines.PreparedReceptor, error) {
	const member = "simulationParams.dockingExecution.preparedReceptor"
	row, ok, err := s.store.preparation(ctx, accountID, asked.CacheKey)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.ArtifactNotFound, "%s.cacheKey: this account has no preparation with this key; leave preparedReceptor out to have the receptor prepared", member)
	}
	for _, digest := range []struct{ name, asked, kept string }{
		{"receptorIdentitySha256", asked.ReceptorIdentitySHA256, row.ReceptorIdentitySHA256},
		{"preparationSha256", asked.PreparationSHA256, row.PreparationSHA256},
		{"toolchainSha256", asked.ToolchainSHA256, row.ToolchainSHA256},
	} {
		if digest.asked != digest.kept {
			return nil, fault.New(fault.Validation, "%s.%s: is not the digest of the preparation that cacheKey names", member, digest.name)
		}
	}
	if asked.WorkerImageDigest != "sha256:"+row.ToolchainSHA256 {
		return nil, fault.New(fault.WorkerImageMismatch, "%s.workerImageDigest: is not the image that prepared the receptor; it is sha256: and toolchainSha256", member)
	}
	files, err := s.filesOf(ctx, accountID, row)
	if err != nil {
		return nil, err
	}
	if files == nil {
		return nil, fault.New(fault.ArtifactNotFound, "%s.cacheKey: the files of this preparation are gone; leave preparedReceptor out to have the receptor prepared again", member)
	}
	if a := asked.Artifact; a != nil && (a.SHA256 != files[preparedReceptorFile].SHA256 || a.ByteSize != files[preparedReceptorFile].ByteSize) {
		return nil, fault.New(fault.Validation, "%s.artifact: is not the %s that the preparation has made", member, preparedReceptorFile)
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
