package studio

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/structures"
	"github.com/molfabric/molfabric/internal/studio"
)

// library finds what an account's scenes are made from. Each look-up asks anew whether the account may see it; what was read of the
// same bytes before is not read again.
type library struct {
	service   *Service
	accountID string
}

// snapshotsFile holds the frames of a simulation that are kept for looking at, a model each.
const snapshotsFile = "snapshots.pdb"

// stored is a file as the store has it, or one that was put together from such.
type stored struct {
	key, sha256, name string
	byteSize          int64
	content           []byte // nil until it is read
	contacts          []scene.Contact
}

// File implements studio.Library.
func (l *library) File(ctx context.Context, source string) (scene.File, error) {
	found, err := l.find(ctx, source)
	if err != nil {
		return scene.File{}, err
	}
	structure, err := l.structure(ctx, source, found)
	if err != nil {
		return scene.File{}, err
	}
	return scene.File{Structure: structure, URL: fileName(source, structure), Format: structure.Format}, nil
}

// Names implements studio.Library: the names of components in the deployment's own dictionary.
func (l *library) Names(ids []string) map[string][]string {
	names := map[string][]string{}
	for id, component := range l.service.deps.Structures.Known(ids) {
		names[id] = append([]string{component.Name}, component.Synonyms...)
	}
	return names
}

// fileName is what a scene calls the file of a source.
func fileName(source string, structure *scene.Structure) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, source)
	const most = 80
	if len(name) > most {
		digest := sha256.Sum256([]byte(source))
		name = name[:most-17] + "-" + hex.EncodeToString(digest[:8])
	}
	extension := map[string]string{"mmcif": ".cif", "pdbqt": ".pdbqt"}[structure.Format]
	if extension == "" {
		extension = ".pdb"
	}
	return strings.TrimSuffix(name, extension) + extension
}

// structure reads a file that was found. Errors: *studio.UnfoundError.
func (l *library) structure(ctx context.Context, source string, found stored) (*scene.Structure, error) {
	if read, ok := l.service.read.GetIfPresent(found.id(source)); ok && found.sha256 != "" {
		return read, nil
	}
	content, err := l.content(ctx, source, found)
	if err != nil {
		return nil, err
	}
	if found.sha256 == "" {
		digest := sha256.Sum256(content)
		found.sha256 = hex.EncodeToString(digest[:])
		if read, ok := l.service.read.GetIfPresent(found.id(source)); ok {
			return read, nil
		}
	}
	structure, err := scene.ReadStructure(content)
	if err != nil {
		return nil, &studio.UnfoundError{Source: source, Reason: "it is no structure that can be read: " + err.Error()}
	}
	structure.Contacts = found.contacts
	l.service.read.Set(found.id(source), structure)
	return structure, nil
}

// id tells what was read from what was not: the bytes, and the source where contacts belong to it.
func (f stored) id(source string) string {
	if f.contacts == nil {
		return f.sha256
	}
	return f.sha256 + "/" + source
}

// content are the bytes of a file that was found, for viewers and archives. Errors: *studio.UnfoundError.
func (l *library) content(ctx context.Context, source string, found stored) ([]byte, error) {
	if found.content != nil {
		return found.content, nil
	}
	if found.byteSize > maxStructureBytes {
		return nil, &studio.UnfoundError{Source: source,
			Reason: fmt.Sprintf("it has %d MiB, and a session loads structures of at most %d", found.byteSize>>20,
				maxStructureBytes>>20)}
	}
	body, _, err := l.service.deps.Objects.Get(ctx, found.key)
	if errors.Is(err, object.ErrNotFound) {
		return nil, &studio.UnfoundError{Source: source, Reason: "its file is gone"}
	}
	if err != nil {
		return nil, away(err)
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, maxStructureBytes+1))
	if err != nil {
		return nil, away(fmt.Errorf("%w: %w", object.ErrUnavailable, err))
	}
	// Viewers and archives have no use for a packed file.
	if content, err = coordinates.Plain(content); err != nil {
		return nil, &studio.UnfoundError{Source: source, Reason: "it cannot be unpacked: " + err.Error()}
	}
	if len(content) > maxStructureBytes {
		return nil, &studio.UnfoundError{Source: source, Reason: "it is too large"}
	}
	return content, nil
}

// find looks a source up. Errors: *studio.UnfoundError; fault.ProviderUnavailable.
func (l *library) find(ctx context.Context, source string) (stored, error) {
	kind, name, _ := strings.Cut(source, ":")
	var found stored
	var err error
	switch kind {
	case "pdb":
		found, err = fromEntry(l.service.deps.Structures.Structure(ctx, name))
	case "alphafold":
		found, err = fromEntry(l.service.deps.Structures.Prediction(ctx, name))
	case "pose", "run":
		found, err = l.pose(ctx, kind, name)
	case "frame":
		found, err = l.frame(ctx, name)
	case "artifact":
		found, err = fromOutput(l.service.store.artifact(ctx, l.accountID, name))
	case "upload":
		if key, file, inArchive := strings.Cut(name, "."+formatArchive+within); inArchive {
			found, err = l.member(ctx, key+"."+formatArchive, file)
		} else {
			found, err = l.upload(ctx, name)
		}
	default:
		return stored{}, &studio.UnfoundError{Source: source, Reason: "sources are pdb:, alphafold:, pose:, run:, frame:, " +
			"artifact: and upload:"}
	}
	switch {
	case kind == "alphafold" && errors.Is(err, structures.ErrNotFound):
		return stored{}, &studio.UnfoundError{Source: source, Reason: "the database of predicted structures has none of this " +
			"accession; fold its sequence instead, or upload a model and load it as upload:KEY"}
	case kind == "alphafold" && errors.Is(err, structures.ErrNoSource):
		return stored{}, &studio.UnfoundError{Source: source, Reason: "this deployment looks no predicted structures up; " +
			"fold the sequence, or upload the model and load it as upload:KEY"}
	case errors.Is(err, sql.ErrNoRows), fault.Is(err, fault.NotFound), errors.Is(err, structures.ErrNotFound):
		return stored{}, &studio.UnfoundError{Source: source, Reason: "this account has nothing of this name"}
	case errors.Is(err, structures.ErrNoSource):
		return stored{}, &studio.UnfoundError{Source: source, Reason: "this deployment looks no entries up; upload the structure"}
	case errors.Is(err, structures.ErrTooLarge):
		return stored{}, &studio.UnfoundError{Source: source, Reason: "the entry is too large"}
	}
	return found, away(err)
}

// away gives an error of a store that is away its code.
func away(err error) error {
	if errors.Is(err, object.ErrUnavailable) {
		return fault.Wrap(err, fault.ProviderUnavailable, "the store of files is away; try again in a few seconds")
	}
	return err
}

func fromEntry(entry structures.Entry, err error) (stored, error) {
	return stored{key: entry.StorageKey, sha256: entry.SHA256, byteSize: entry.ByteSize, name: entry.PDBID + ".cif"}, err
}

func fromOutput(o output, err error) (stored, error) {
	return stored{key: o.StorageKey, sha256: o.SHA256, byteSize: o.ByteSize, name: path.Base(o.Name)}, err
}

// frame is one of the frames that a simulation keeps for looking at, job_…/N, or another file of a job, job_…/NAME.
func (l *library) frame(ctx context.Context, name string) (stored, error) {
	jobID, file, _ := strings.Cut(name, "/")
	model, err := strconv.Atoi(file)
	if err != nil {
		return fromOutput(l.service.store.output(ctx, l.accountID, jobID, file))
	}
	found, err := fromOutput(l.service.store.output(ctx, l.accountID, jobID, snapshotsFile))
	if err != nil {
		return stored{}, err
	}
	content, err := l.content(ctx, "frame:"+name, found)
	if err != nil {
		return stored{}, err
	}
	one := modelOf(content, model)
	if one == nil {
		return stored{}, sql.ErrNoRows
	}
	return madeOf(one, "frame.pdb"), nil
}

// madeOf is a file that was put together here.
func madeOf(content []byte, name string) stored {
	digest := sha256.Sum256(content)
	return stored{content: content, sha256: hex.EncodeToString(digest[:]), name: name, byteSize: int64(len(content))}
}

// modelOf cuts a model, counted from 1, out of a PDB file; nil where it has fewer.
func modelOf(content []byte, model int) []byte {
	var head, body bytes.Buffer
	count, within := 0, false
	for line := range bytes.Lines(content) {
		switch {
		case bytes.HasPrefix(line, []byte("MODEL ")):
			count++
			within = count == model
		case bytes.HasPrefix(line, []byte("ENDMDL")):
			if within {
				return append(append(head.Bytes(), body.Bytes()...), "END\n"...)
			}
		case within:
			body.Write(line)
		case count == 0:
			head.Write(line)
		}
	}
	return nil
}

func (l *library) upload(ctx context.Context, key string) (stored, error) {
	found, err := l.service.deps.Files.OwnedAll(ctx, l.accountID, []string{key})
	if err != nil {
		return stored{}, err
	}
	file, ok := found[key]
	if !ok {
		return stored{}, sql.ErrNoRows
	}
	return stored{key: key, sha256: file.SHA256, byteSize: file.ByteSize, name: path.Base(key)}, nil
}
