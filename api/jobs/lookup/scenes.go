package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/scheduler/renders"
)

const (
	// maxStructureBytes bounds a plain structure: the largest entries of the Protein Data Bank as mmCIF.
	maxStructureBytes = 1 << 30
	// sniffBytes is how much of a file is looked at whose name does not tell its format.
	sniffBytes = 512
)

// sceneFormats are the formats of scene files by the endings of their names.
var sceneFormats = map[string]string{
	".mvsj": engines.SceneMVSJ, ".mvsx": engines.SceneMVSX,
	".cif": "mmcif", ".mmcif": "mmcif", ".bcif": "bcif", ".pdb": "pdb", ".ent": "pdb", ".pdbqt": "pdbqt",
	".sdf": "sdf", ".mol": "sdf", ".mol2": "mol2", ".gro": "gro", ".xyz": "xyz",
}

const sceneFormatList = "a MolViewSpec scene (.mvsj, .mvsx) or a structure (.cif, .bcif, .pdb, .pdbqt, .sdf, .mol2, .gro, .xyz)"

// scene reads the scene of a molecular job, so that one which cannot be drawn is refused before it costs anything.
func (s *search) scene(ctx context.Context, wants engines.Wants) (bool, error) {
	if s.sceneless() || !wants.Scene || !s.once("scene") {
		return false, nil
	}
	found, err := s.readScene(ctx, s.work)
	s.work.Found.Scene = found
	return true, err
}

// renderCost finds what frames of the scene have taken before, and how they were cut into shards.
func (s *search) renderCost(ctx context.Context, wants engines.Wants) (bool, error) {
	if s.sceneless() || !wants.RenderCost || !s.once("render cost") {
		return false, nil
	}
	cost, known, err := renders.Cost(ctx, s.DB, s.accountID, s.work.SceneFile, s.engine.Spec().ID)
	if err != nil {
		return true, err
	}
	if known {
		s.work.Found.Rendered = &cost
	}
	s.work.Found.RenderShards, err = renders.Shards(ctx, s.DB, s.accountID, s.work.SceneFile, s.engine.Spec().ID)
	return true, err
}

// readScene reads the scene of a molecular job.
//
// Errors: fault.Validation, with the place in the scene; fault.ArtifactNotFound for a reference to a file that the job
// has not; fault.ProviderUnavailable.
func (f *Finder) readScene(ctx context.Context, work engines.Request) (*engines.Scene, error) {
	format, err := f.sceneFormat(ctx, work.SceneFile)
	if err != nil {
		return nil, err
	}
	var document molviewspec.Scene
	switch format {
	case engines.SceneMVSJ:
		document, err = f.readDocument(ctx, work.SceneFile)
	case engines.SceneMVSX:
		document, err = molviewspec.ParseArchive(f.Objects.ReaderAt(ctx, work.SceneFile.StorageKey, work.SceneFile.ByteSize),
			work.SceneFile.ByteSize)
	default:
		if work.SceneFile.ByteSize > maxStructureBytes {
			return nil, fault.New(fault.Validation, "sceneFile: has %d bytes; a structure may have %d", work.SceneFile.ByteSize,
				int64(maxStructureBytes))
		}
		return &engines.Scene{Format: format, States: []engines.SceneState{{}}}, nil
	}
	var invalid *molviewspec.InvalidError
	if errors.As(err, &invalid) {
		return nil, fault.Wrap(err, fault.Validation, "sceneFile: %s", invalid)
	}
	if err != nil {
		return nil, sceneAway(err)
	}
	return sceneOf(format, document, work)
}

// sceneOf is a valid document as an engine gets it. Errors: those of resolveReference.
func sceneOf(format string, document molviewspec.Scene, work engines.Request) (*engines.Scene, error) {
	scene := &engines.Scene{Format: format}
	for _, state := range document.States {
		scene.States = append(scene.States, engines.SceneState{Key: state.Key, Title: state.Title, Duration: state.Duration,
			Animated: state.Animated})
	}
	for _, reference := range document.References {
		found, err := resolveReference(reference, work)
		if err != nil {
			return nil, err
		}
		scene.References = append(scene.References, engines.SceneReference{URL: reference.URL, Object: found})
	}
	return scene, nil
}

// readDocument reads a whole document. Errors: *molviewspec.InvalidError, and those of the store.
func (f *Finder) readDocument(ctx context.Context, file engines.Object) (molviewspec.Scene, error) {
	if file.ByteSize > molviewspec.MaxDocumentBytes {
		return molviewspec.Scene{}, fault.New(fault.Validation, "sceneFile: has %d bytes; a scene may have %d: put what is large "+
			"into a file of its own", file.ByteSize, molviewspec.MaxDocumentBytes)
	}
	text, err := f.head(ctx, file, file.ByteSize)
	if err != nil {
		return molviewspec.Scene{}, err
	}
	return molviewspec.Parse(text)
}

// head reads the first byteSize bytes of a file, or all of it when it is smaller.
func (f *Finder) head(ctx context.Context, file engines.Object, byteSize int64) ([]byte, error) {
	byteSize = min(byteSize, file.ByteSize)
	if byteSize == 0 {
		return nil, nil
	}
	body, err := f.Objects.GetRange(ctx, file.StorageKey, 0, byteSize)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(body)
	return text, errors.Join(err, body.Close())
}

// sceneFormat tells a scene file's format by its name, else by how it begins. Errors: fault.Validation,
// fault.ProviderUnavailable.
func (f *Finder) sceneFormat(ctx context.Context, file engines.Object) (string, error) {
	if format, ok := sceneFormats[strings.ToLower(path.Ext(file.StorageKey))]; ok {
		return format, nil
	}
	beginning, err := f.head(ctx, file, sniffBytes)
	if err != nil {
		return "", sceneAway(err)
	}
	if format := sniff(beginning); format != "" {
		return format, nil
	}
	return "", fault.New(fault.Validation, "sceneFile: neither its name nor its beginning tells its format; it has to be %s",
		sceneFormatList)
}

// sniff tells the format of a scene file by how it begins; "" when it cannot.
func sniff(beginning []byte) string {
	text := bytes.TrimLeft(beginning, " \t\r\n")
	for _, sign := range []struct{ prefix, format string }{
		{"{", engines.SceneMVSJ}, {"PK\x03\x04", engines.SceneMVSX}, {"data_", "mmcif"}, {"@<TRIPOS>", "mol2"},
		{"HEADER", "pdb"}, {"ATOM", "pdb"}, {"HETATM", "pdb"}, {"CRYST1", "pdb"}, {"REMARK", "pdb"},
	} {
		if bytes.HasPrefix(text, []byte(sign.prefix)) {
			return sign.format
		}
	}
	return ""
}

// sceneAway says of an error of the store what the caller is told.
func sceneAway(err error) error { return fileAway(err, fault.SceneNotFound, "sceneFile") }

// fileAway says of an error of the store what the caller is told; missing is the answer for a file that is gone.
func fileAway(err error, missing fault.Code, place string) error {
	var cut *object.MismatchError
	switch {
	case errors.Is(err, object.ErrNotFound), errors.As(err, &cut):
		return fault.Wrap(err, missing, "%s: the stored file is gone or shorter than it was; upload it again", place)
	case errors.Is(err, object.ErrUnavailable):
		return fault.Wrap(err, fault.ProviderUnavailable, "the file store cannot be reached just now; try again in a minute")
	}
	return fmt.Errorf("reading %s: %w", place, err)
}
