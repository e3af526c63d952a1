package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/fault"
)

// preparedReceptorFile is the prepared receptor among the files of a preparation.
const preparedReceptorFile = "receptor.pdbqt"

// preparedFiles are what a preparation has made and a later docking takes over, by their names.
var preparedFiles = []string{preparedReceptorFile, "receptor.pdb", "serials.json", "receptor.json"}

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
	newest, ok, err := s.store.newestPreparation(ctx, accountID, identity, how)
	if err != nil || !ok {
		return nil, err
	}
	files, err := s.store.preparedFiles(ctx, accountID, newest.TaskID)
	if err != nil || len(files) < len(preparedFiles) {
		return nil, err
	}
	return newest.with(files), nil
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
	files, err := s.store.preparedFiles(ctx, accountID, row.TaskID)
	if err != nil {
		return nil, err
	}
	if len(files) < len(preparedFiles) {
		return nil, fault.New(fault.ArtifactNotFound, "%s.cacheKey: the files of this preparation are gone; leave preparedReceptor out to have the receptor prepared again", member)
	}
	if a := asked.Artifact; a != nil && (a.SHA256 != files[preparedReceptorFile].SHA256 || a.ByteSize != files[preparedReceptorFile].ByteSize) {
		return nil, fault.New(fault.Validation, "%s.artifact: is not the %s that the preparation has made", member, preparedReceptorFile)
	}
	return row.with(files), nil
}

func (p preparation) with(files map[string]engines.Object) *engines.PreparedReceptor {
	return &engines.PreparedReceptor{
		CacheKey: p.CacheKey, ReceptorIdentitySHA256: p.ReceptorIdentitySHA256, PreparationSHA256: p.PreparationSHA256,
		ToolchainSHA256: p.ToolchainSHA256, Files: files,
	}
}
