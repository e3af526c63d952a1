package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

const (
	// formatDocument and formatArchive are the two forms of MolViewSpec.
	formatDocument = "mvsj"
	formatArchive  = "mvsx"
	// transition is how long a viewer takes from one camera to the next.
	transition = 400 * time.Millisecond
	// maxArchiveBytes bounds what is put together of a scene and its files.
	maxArchiveBytes = 64 << 20
	// downloadLifetime is how long the address of a file that was made is good.
	downloadLifetime = 15 * time.Minute
)

// isScene tells a scene from a structure by its file's name.
func isScene(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension == "."+formatDocument || extension == "."+formatArchive
}

// document is a scene as viewers of a session get it: its references are names below the session's files.
func (s *Service) document(m scene.Model, files scene.Files, title string) (contract.StudioObject, error) {
	text, err := scene.Compile(m, files, scene.CompileOptions{Title: title, Made: s.deps.Now(), Transition: transition})
	if err != nil {
		return nil, fmt.Errorf("compile a scene: %w", err)
	}
	return text, nil
}

// drawing is a scene with what it is made from.
type drawing struct {
	title string
	model scene.Model
	files scene.Files
	shelf *library
}

// drawn finds what a source looks like: session:ID, project:ID, project:ID@REVISION, or what a session begins with. Errors:
// fault.NotFound, fault.Validation, fault.ArtifactNotFound, fault.InsufficientScope.
func (s *Service) drawn(ctx context.Context, accountID, source string) (drawing, error) {
	engine, shelf := s.studio(accountID)
	d := drawing{shelf: shelf}
	kind, name, _ := strings.Cut(source, ":")
	switch kind {
	case "session":
		row, state, err := s.session(ctx, accountID, name)
		if err != nil {
			return d, err
		}
		d.title, d.model = row.Title, state.History.Scene()
	case "project":
		projectID, version, err := revisionOf(name)
		if err != nil {
			return d, err
		}
		saved, _, err := s.saved(ctx, accountID, projectID, version)
		if err != nil {
			return d, err
		}
		d.title, d.model = saved.Title, saved.Scene
	default:
		model, err := s.firstScene(ctx, accountID, source)
		if err != nil {
			return d, sourceFault("source", err)
		}
		d.model = model
	}
	var err error
	if d.files, err = engine.Files(ctx, d.model); err != nil {
		return d, goneFault(err)
	}
	if d.title == "" {
		d.title = titleOf(d.model, d.files)
	}
	if len(d.model.Structures) == 0 {
		return d, fault.New(fault.Validation, "source: the scene is empty; load a structure into it first")
	}
	return d, nil
}

// contents are the bytes of a scene's files, by the names that a document has for them. Errors: fault.PayloadTooLarge,
// fault.ArtifactNotFound.
func (d drawing) contents(ctx context.Context, names map[string]string) (map[string][]byte, error) {
	contents, total := map[string][]byte{}, 0
	for source, name := range names {
		found, err := d.shelf.find(ctx, source)
		if err != nil {
			return nil, goneFault(err)
		}
		content, err := d.shelf.content(ctx, source, found)
		if err != nil {
			return nil, goneFault(err)
		}
		if total += len(content); total > maxArchiveBytes {
			return nil, fault.New(fault.PayloadTooLarge, "the files of the scene have more than %d MiB together",
				maxArchiveBytes>>20)
		}
		contents[name] = content
		if found.contacts == nil {
			continue
		}
		if contents[name+contactsSuffix], err = json.Marshal(found.contacts); err != nil {
			return nil, fmt.Errorf("write the contacts of %s: %w", source, err)
		}
	}
	return contents, nil
}

// contactsSuffix ends the name of the file that holds the contacts of a docked pose, beside the pose in an archive.
const contactsSuffix = ".contacts.json"

// archive is a scene with its files as an .mvsx. The same scene gives the same bytes.
func (d drawing) archive(ctx context.Context) ([]byte, error) {
	document, err := scene.WriteDocument(d.model, d.files, scene.DocumentOptions{CompileOptions: d.options()})
	if err != nil {
		return nil, fmt.Errorf("compile a scene: %w", err)
	}
	contents, err := d.contents(ctx, document.Files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := molviewspec.WriteArchive(&out, document.Text, contents); err != nil {
		return nil, fmt.Errorf("write a scene: %w", err)
	}
	return out.Bytes(), nil
}

func (d drawing) options() scene.CompileOptions {
	return scene.CompileOptions{Title: d.title, Made: epoch, Snapshots: true}
}

// entryAddress is where anybody finds an entry of the Protein Data Bank.
const entryAddress = "https://files.rcsb.org/download/%s.cif"

// document is a scene that names its files; missing are those that a viewer has to be given.
func (d drawing) document() (text []byte, missing []string, err error) {
	addresses := map[string]string{}
	for source := range d.files {
		if id, ok := strings.CutPrefix(source, "pdb:"); ok {
			addresses[source] = fmt.Sprintf(entryAddress, id)
		}
	}
	made, err := scene.WriteDocument(d.model, d.files, scene.DocumentOptions{CompileOptions: d.options(), Addresses: addresses})
	if err != nil {
		return nil, nil, fmt.Errorf("compile a scene: %w", err)
	}
	return made.Text, slices.Sorted(maps.Values(made.Files)), nil
}

// epoch is when every scene that is a file was made, so that the same scene is the same file.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Export writes a scene as a file of the open format, among the account's uploads. Errors: those of drawn; fault.PayloadTooLarge.
func (s *Service) Export(
	ctx context.Context, accountID string, request contract.StudioExportRequest,
) (contract.StudioExport, error) {
	d, err := s.drawn(ctx, accountID, request.Source)
	if err != nil {
		return contract.StudioExport{}, err
	}
	answer := contract.StudioExport{Format: request.Format, Valid: true, Issues: []string{}}
	var content []byte
	var read molviewspec.Scene
	if request.Format == formatArchive {
		if content, err = d.archive(ctx); err == nil {
			read, err = molviewspec.ParseArchive(bytes.NewReader(content), int64(len(content)))
		}
	} else {
		var missing []string
		if content, missing, err = d.document(); err == nil {
			read, err = molviewspec.Parse(content)
		}
		for _, name := range missing {
			answer.Issues = append(answer.Issues, fmt.Sprintf("a viewer needs the file %q beside the scene; the format mvsx "+
				"holds it", name))
		}
	}
	if invalid, ok := errors.AsType[*molviewspec.InvalidError](err); ok {
		answer.Valid = false
		answer.Issues = append(answer.Issues, invalid.Error())
		err = nil
	}
	if err != nil {
		return answer, err
	}
	answer.MVSVersion = read.Version
	answer.Artifact, err = s.file(ctx, accountID, "scene."+request.Format, mediaTypes[request.Format], content)
	return answer, err
}

var mediaTypes = map[string]string{formatDocument: "application/json", formatArchive: "application/zip"}

// file keeps what was made for the account among its uploads.
func (s *Service) file(ctx context.Context, accountID, name, mediaType string, content []byte) (contract.StudioFile, error) {
	kept, err := s.deps.Files.Keep(ctx, accountID, name, mediaType, content)
	if err != nil {
		return contract.StudioFile{}, err
	}
	url, err := s.deps.Objects.PresignGet(ctx, kept.StorageKey, name, downloadLifetime)
	if err != nil {
		return contract.StudioFile{}, fmt.Errorf("sign %s: %w", kept.StorageKey, err)
	}
	return contract.StudioFile{StorageKey: kept.StorageKey, Name: name, ByteSize: kept.ByteSize, SHA256: kept.SHA256,
		MediaType: mediaType, URL: url, ExpiresAt: s.deps.Now().UTC().Add(downloadLifetime).Truncate(time.Second)}, nil
}

// SessionFile is a file of a session's scene, by its name in it. Errors: fault.NotFound, fault.ArtifactNotFound.
func (s *Service) SessionFile(ctx context.Context, accountID, sessionID, name string) (content []byte, sha256 string, err error) {
	_, state, err := s.session(ctx, accountID, sessionID)
	if err != nil {
		return nil, "", err
	}
	engine, shelf := s.studio(accountID)
	for _, step := range state.History.Steps {
		files, err := engine.Files(ctx, step.Scene)
		if err != nil {
			continue // of another step
		}
		for source, file := range files {
			if file.URL != name {
				continue
			}
			found, err := shelf.find(ctx, source)
			if err != nil {
				return nil, "", goneFault(err)
			}
			content, err := shelf.content(ctx, source, found)
			return content, found.sha256, goneFault(err)
		}
	}
	return nil, "", fault.New(fault.NotFound, "the session has no file of this name; its structures name theirs")
}

// exported opens a scene that a studio has written. What its archive holds is named by the upload and the file in it. Errors:
// *studio.UnfoundError; fault.Validation for what is no such scene; fault.ProviderUnavailable.
func (l *library) exported(ctx context.Context, key string) (scene.Model, error) {
	source := "upload:" + key
	found, err := l.find(ctx, source)
	if err != nil {
		return scene.Model{}, err
	}
	content, err := l.content(ctx, source, found)
	if err != nil {
		return scene.Model{}, err
	}
	document := content
	if strings.EqualFold(path.Ext(key), "."+formatArchive) {
		opened, err := molviewspec.ReadArchive(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return scene.Model{}, unreadable(err)
		}
		document = opened.Document
	}
	model, files, err := scene.ReadDocument(document)
	if err != nil {
		return scene.Model{}, unreadable(err)
	}
	names := map[string]string{}
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.Source, "file:"); ok {
			names[file.Source] = source + within + name
		}
	}
	if len(names) > 0 && strings.EqualFold(path.Ext(key), "."+formatDocument) {
		return scene.Model{}, fault.New(fault.Validation, "the scene needs files beside it; export it as mvsx, which holds them")
	}
	return model.WithSources(names), nil
}

// within stands between an upload and the file of it that is meant.
const within = "#"

// unreadable is the answer to a file that is no scene of a studio's.
func unreadable(err error) error {
	_, invalid := errors.AsType[*molviewspec.InvalidError](err)
	_, foreign := errors.AsType[*scene.ForeignError](err)
	_, broken := errors.AsType[*scene.ModelError](err)
	if invalid || foreign || broken {
		return fault.New(fault.Validation, "%s", err)
	}
	return err
}

// member is a file of an uploaded archive, with the contacts that lie beside it. Errors: *studio.UnfoundError.
func (l *library) member(ctx context.Context, key, name string) (stored, error) {
	source := "upload:" + key + within + name
	found, err := l.upload(ctx, key)
	if err != nil {
		return stored{}, err
	}
	content, err := l.content(ctx, source, found)
	if err != nil {
		return stored{}, err
	}
	archive, err := molviewspec.ReadArchive(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return stored{}, &studio.UnfoundError{Source: source, Reason: err.Error()}
	}
	file, err := archive.File(name, maxStructureBytes)
	if err != nil {
		return stored{}, &studio.UnfoundError{Source: source, Reason: err.Error()}
	}
	made := madeOf(file, path.Base(name))
	if !archive.Holds(name + contactsSuffix) {
		return made, nil
	}
	text, err := archive.File(name+contactsSuffix, maxContactsBytes)
	if err != nil {
		return stored{}, &studio.UnfoundError{Source: source, Reason: err.Error()}
	}
	made.contacts = []scene.Contact{}
	if err := json.Unmarshal(text, &made.contacts); err != nil || len(made.contacts) > maxContacts {
		return stored{}, &studio.UnfoundError{Source: source, Reason: "the contacts beside it cannot be read"}
	}
	return made, nil
}

const (
	// maxContacts bounds the contacts that an archive brings, and maxContactsBytes their file.
	maxContacts      = 2000
	maxContactsBytes = 1 << 20
)
