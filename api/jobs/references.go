package jobs

import (
	"context"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
)

// Uploads finds which of the keys are files that the account has uploaded and that lie in the store with the announced size.
// Unknown keys, keys of other accounts and files that have not arrived stay out of the answer alike.
type Uploads func(ctx context.Context, accountID string, keys []string) (map[string]engines.Object, error)

// reference is a place in a submission that names a stored file.
type reference struct {
	path    string // JSON path of the place
	key     string
	stated  *stated    // nil when the submission says nothing
	missing fault.Code // the answer when the account has no such file
}

// stated is what a submission says a file is.
type stated struct {
	sha256   string
	byteSize int64
}

// references lists every stored file that a submission names, the scene first.
func references(request SubmitRequest) []reference {
	all := []reference{{path: "sceneFile", key: request.SceneFile, missing: fault.SceneNotFound}}
	for i, key := range request.Attachments {
		all = append(all, reference{path: fmt.Sprintf("attachments[%d]", i), key: key, missing: fault.ArtifactNotFound})
	}
	params := valueOr(request.SimulationParams, SimulationParams{})
	all = appendDocking(all, params.DockingParams)
	return appendDynamics(all, params.DynamicsParams)
}

func appendDocking(all []reference, params vina.Params) []reference {
	artifact := func(path string, a *mol.ArtifactReference) {
		if a != nil {
			all = append(all, artifactAt(path, a.StorageKey, a.SHA256, a.ByteSize))
		}
	}
	ligand := func(path string, l *mol.LigandEntry) {
		if l != nil && l.Source.Artifact != nil {
			artifact(path+".source.artifact", &l.Source.Artifact.Artifact)
		}
	}
	artifact("receptorArtifact", params.ReceptorArtifact)
	artifact("boxLigandArtifact", params.BoxLigandArtifact)
	ligand("ligandIdentity", params.LigandIdentity)
	for i := range params.LigandLibrary {
		ligand(fmt.Sprintf("ligandLibrary[%d]", i), &params.LigandLibrary[i])
	}
	if params.DockingExecution != nil && params.DockingExecution.PreparedReceptor != nil {
		artifact("dockingExecution.preparedReceptor.artifact", params.DockingExecution.PreparedReceptor.Artifact)
	}
	return all
}

func appendDynamics(all []reference, params openmm.Params) []reference {
	if params.Request == nil {
		return all
	}
	artifact := func(path string, a *openmm.DynamicsArtifact) {
		if a != nil {
			all = append(all, artifactAt("openmmRequest."+path, a.StorageKey, a.SHA256, a.ByteSize))
		}
	}
	if protein := params.Request.Input.Protein; protein != nil {
		artifact("input.coordinates", &protein.Coordinates)
	}
	if amber := params.Request.Input.Amber; amber != nil {
		artifact("input.prmtop", &amber.Prmtop)
		artifact("input.coordinates", &amber.Coordinates)
	}
	artifact("execution.restartCheckpoint", params.Request.Execution.RestartCheckpoint)
	return all
}

// artifactAt is the reference of an artifact below simulationParams.
func artifactAt(path, key, sha256 string, byteSize int64) reference {
	return reference{path: "simulationParams." + path, key: key, stated: &stated{sha256: sha256, byteSize: byteSize}, missing: fault.ArtifactNotFound}
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
		return fault.New(r.missing, "%s: this account has no stored file with this key; upload it first (POST /v1/jobs/upload-url)", path)
	case r.stated == nil:
		return nil
	case r.stated.byteSize != found.ByteSize:
		return fault.New(fault.ChecksumMismatch, "%s.byteSize: is not the size of the stored file", r.path)
	case found.SHA256 != "" && r.stated.sha256 != found.SHA256:
		return fault.New(fault.ChecksumMismatch, "%s.sha256: is not the SHA-256 of the stored file", r.path)
	}
	return nil
}

// resolve checks every file that a submission names and returns the scene and the attachments in their order. Outputs of the
// account's own jobs count like uploads, so that one job's result can be the next one's input.
func (s *Service) resolve(ctx context.Context, accountID string, request SubmitRequest) (scene engines.Object, attachments []engines.Object, err error) {
	all := references(request)
	found, err := s.find(ctx, accountID, all)
	if err != nil {
		return engines.Object{}, nil, err
	}
	for _, r := range all {
		object, ok := found[r.key]
		if err := r.check(object, ok); err != nil {
			return engines.Object{}, nil, err
		}
	}
	for _, key := range request.Attachments {
		attachments = append(attachments, found[key])
	}
	return found[request.SceneFile], attachments, nil
}

func (s *Service) find(ctx context.Context, accountID string, all []reference) (map[string]engines.Object, error) {
	var keys []string
	seen := map[string]bool{}
	for _, r := range all {
		if !seen[r.key] {
			seen[r.key] = true
			keys = append(keys, r.key)
		}
	}
	found, err := s.store.artifactObjects(ctx, accountID, keys)
	if err != nil {
		return nil, err
	}
	var rest []string
	for _, key := range keys {
		if _, ok := found[key]; !ok {
			rest = append(rest, key)
		}
	}
	uploaded, err := s.deps.Uploads(ctx, accountID, rest)
	if err != nil {
		return nil, err
	}
	for key, object := range uploaded {
		found[key] = object
	}
	return found, nil
}
