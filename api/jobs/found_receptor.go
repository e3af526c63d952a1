package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
)

// lookIntoReceptor reads what the receptor of a docking holds, where the ligand lies that its box is to be laid around, and whether its
// only ligand is a file to read, so that what cannot be docked is refused before it costs anything.
//
// Errors: fault.Validation, fault.SceneNotFound, fault.ArtifactNotFound, fault.ProviderUnavailable.
func (s *Service) lookIntoReceptor(ctx context.Context, params vina.Params, receptor engines.Object, found *engines.Found) (err error) {
	if found.Receptor, err = s.surveyReceptor(ctx, params, receptor); err != nil {
		return err
	}
	if a := params.BoxLigandArtifact; a != nil {
		if found.BoxLigand, err = s.readBoxLigand(ctx, *a); err != nil {
			return err
		}
	}
	return s.checkOnlyLigand(ctx, params)
}

// checkOnlyLigand refuses the file of a job's only ligand that holds nothing to read. Those of a library fail by their own names, and the
// others are docked.
func (s *Service) checkOnlyLigand(ctx context.Context, params vina.Params) error {
	place, only := "simulationParams.ligandIdentity.source.artifact", params.LigandIdentity
	if len(params.LigandLibrary) == 1 {
		place, only = "simulationParams.ligandLibrary[0].source.artifact", &params.LigandLibrary[0]
	}
	if only == nil || only.Source.Artifact == nil {
		return nil
	}
	a := only.Source.Artifact.Artifact
	if a.ByteSize == 0 || a.ByteSize > vina.MaxLigandBytes {
		return nil // the engine refuses it
	}
	content, err := s.whole(ctx, objectOf(a))
	if err != nil {
		return fileAway(err, fault.ArtifactNotFound, place)
	}
	var unreadable *coordinates.UnreadableError
	if errors.As(coordinates.CheckText(content), &unreadable) {
		return fault.New(fault.Validation, "%s: the ligand's file %s", place, unreadable.Reason)
	}
	return nil
}

// lookIntoKnown is lookIntoReceptor for an estimate: it reads an entry that is kept here, and files that the account has uploaded.
func (s *Service) lookIntoKnown(ctx context.Context, accountID string, params vina.Params, found *engines.Found) error {
	var receptor engines.Object
	switch {
	case params.ReceptorPDBID != nil:
		entry, ok, err := s.deps.Knowledge.Kept(ctx, *params.ReceptorPDBID)
		if err != nil {
			return err
		}
		if ok {
			receptor = engines.Object{StorageKey: entry.StorageKey, SHA256: entry.SHA256, ByteSize: entry.ByteSize}
			found.Structures = map[string]engines.Object{entry.PDBID: receptor}
		}
	case params.ReceptorArtifact != nil:
		uploaded, err := s.uploaded(ctx, accountID, "receptorArtifact", *params.ReceptorArtifact)
		if err != nil {
			return err
		}
		if uploaded {
			receptor = objectOf(*params.ReceptorArtifact)
		}
	}
	params.LigandIdentity, params.LigandLibrary = nil, nil // their files are uploaded with the job
	if a := params.BoxLigandArtifact; a != nil {
		uploaded, err := s.uploaded(ctx, accountID, "boxLigandArtifact", *a)
		if err != nil {
			return err
		}
		if !uploaded {
			params.BoxLigandArtifact = nil
		}
	}
	return s.lookIntoReceptor(ctx, params, receptor, found)
}

// uploaded tells whether a file that an estimate names is among the account's, as what the estimate says it is. Errors:
// fault.ChecksumMismatch.
func (s *Service) uploaded(ctx context.Context, accountID, member string, a mol.ArtifactReference) (bool, error) {
	named := artifactAt(member, a.StorageKey, a.SHA256, a.ByteSize)
	files, err := s.find(ctx, accountID, []reference{named})
	if err != nil {
		return false, err
	}
	file, ok := files[a.StorageKey]
	if !ok {
		return false, nil
	}
	return true, named.check(file, true)
}

func objectOf(a mol.ArtifactReference) engines.Object {
	return engines.Object{StorageKey: a.StorageKey, SHA256: a.SHA256, ByteSize: a.ByteSize}
}

// surveyReceptor reads a receptor's file. One that is too large, or of a format that is none of a receptor, is left to the engine's rules.
func (s *Service) surveyReceptor(ctx context.Context, params vina.Params, receptor engines.Object) (*coordinates.Structure, error) {
	if receptor.StorageKey == "" || receptor.ByteSize > coordinates.MaxBytes || strings.HasSuffix(strings.ToLower(receptor.StorageKey), ".bcif") {
		return nil, nil
	}
	place, missing := params.ReceptorField(), fault.SceneNotFound
	if place != "sceneFile" {
		place, missing = "simulationParams."+place, fault.ArtifactNotFound
	}
	if receptor.ByteSize == 0 {
		return nil, fault.New(fault.Validation, "%s: is an empty file; give a PDB, mmCIF or PDBQT file with atoms", place)
	}
	structure, err := s.surveys.read(ctx, receptor, valueOr(params.ReceptorModel, 0), s.whole)
	var unreadable *coordinates.UnreadableError
	var model *coordinates.ModelError
	switch {
	case errors.As(err, &unreadable):
		return nil, fault.Wrap(err, fault.Validation, "%s: the receptor's file %s", place, unreadable.Reason)
	case errors.As(err, &model):
		return nil, fault.Wrap(err, fault.Validation, "simulationParams.receptorModel: is %d, which the receptor does not have; its models: %s", *params.ReceptorModel, numbers(model.Models))
	case err != nil:
		return nil, fileAway(err, missing, place)
	}
	return structure, nil
}

// readBoxLigand reads where a ligand's file puts it.
func (s *Service) readBoxLigand(ctx context.Context, a mol.ArtifactReference) (*coordinates.Molecule, error) {
	const place = "simulationParams.boxLigandArtifact"
	if a.ByteSize == 0 || a.ByteSize > vina.MaxLigandBytes {
		return nil, nil // the engine refuses it
	}
	content, err := s.whole(ctx, objectOf(a))
	if err != nil {
		return nil, fileAway(err, fault.ArtifactNotFound, place)
	}
	found, err := coordinates.ReadMolecule(content)
	var unreadable *coordinates.UnreadableError
	if errors.As(err, &unreadable) {
		return nil, fault.Wrap(err, fault.Validation, "%s: the ligand's file %s", place, unreadable.Reason)
	}
	return &found, err
}

// whole reads all of a file.
func (s *Service) whole(ctx context.Context, file engines.Object) ([]byte, error) {
	return s.head(ctx, file, file.ByteSize)
}

// maxNumbers bounds the numbers in a message.
const maxNumbers = 20

func numbers(all []int) string {
	var words []string
	for _, n := range all[:min(len(all), maxNumbers)] {
		words = append(words, fmt.Sprint(n))
	}
	text := strings.Join(words, ", ")
	if more := len(all) - maxNumbers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
