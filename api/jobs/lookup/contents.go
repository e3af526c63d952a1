package lookup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/casefile"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/fasta"
	"github.com/molfabric/molfabric/internal/fault"
)

// contents reads files, so that what cannot be worked with is refused before it costs anything.
//
// Errors: fault.Validation, fault.SceneNotFound, fault.ArtifactNotFound, fault.ChecksumMismatch, fault.ProviderUnavailable.
func (s *search) contents(ctx context.Context, wants engines.Wants) (bool, error) {
	fresh := unasked(s, "content", wants.Contents, func(w engines.WantedContent) string { return w.Path + " " + w.File.StorageKey })
	for _, w := range fresh {
		if readable, err := s.readable(ctx, w); err != nil || !readable {
			if err != nil {
				return true, err
			}
			continue
		}
		found, err := s.read(ctx, w)
		if err != nil {
			return true, err
		}
		s.work.Found.Contents = with(s.work.Found.Contents, w.Path, found)
	}
	return len(fresh) > 0, nil
}

// readable tells whether a file is to be read: of a submission every one, of an account's estimate an entry that is kept
// here and files that the account has uploaded. What would only be checked is not read for it. Errors: fault.ChecksumMismatch.
func (s *search) readable(ctx context.Context, w engines.WantedContent) (bool, error) {
	if !s.estimates || slices.Contains(slices.Collect(maps.Values(s.work.Found.Structures)), w.File) {
		return true, nil
	}
	if s.accountID == "" || w.As == engines.ReadNothing {
		return false, nil
	}
	if w.Path == sceneFile { // looked for before everything else
		return !s.sceneless(), nil
	}
	named := referenceTo(engines.NamedFile{Path: w.Path, Object: w.File})
	files, err := s.stored(ctx, s.accountID, []reference{named})
	if err != nil {
		return false, err
	}
	file, ok := files[w.File.StorageKey]
	if !ok {
		return false, nil
	}
	return true, named.check(file, true)
}

// sceneFile is the member that names the job's own file.
const sceneFile = "sceneFile"

func (s *search) read(ctx context.Context, w engines.WantedContent) (engines.Contents, error) {
	place, missing := engines.Place(w.Path), fault.ArtifactNotFound
	if w.Path == sceneFile {
		missing = fault.SceneNotFound
	}
	found, err := s.readAs(ctx, w, place)
	var unreadable *coordinates.UnreadableError
	var model *coordinates.ModelError
	var sequences *fasta.UnreadableError
	var unpacked *casefile.UnreadableError
	switch {
	case err == nil, fault.Is(err, fault.Validation):
		return found, err
	case errors.As(err, &unreadable):
		return found, fault.Wrap(err, fault.Validation, "%s: %s's file %s", place, w.Whose, unreadable.Reason)
	case errors.As(err, &sequences):
		return found, fault.Wrap(err, fault.Validation, "%s: %s", place, sequences.Reason)
	case errors.As(err, &unpacked):
		return found, fault.Wrap(err, fault.Validation, "%s: %s", place, unpacked.Reason)
	case errors.As(err, &model):
		return found, fault.Wrap(err, fault.Validation, "%s: is %d, which %s does not have; its models: %s",
			engines.Place(w.ModelPath), w.Model, w.Whose, numbers(model.Models))
	}
	return found, fileAway(err, missing, place)
}

// readAs reads a file. Errors: *coordinates.UnreadableError, *coordinates.ModelError, fault.Validation for an empty
// structure, and those of the store.
func (s *search) readAs(ctx context.Context, w engines.WantedContent, place string) (found engines.Contents, err error) {
	if w.As == engines.ReadStructure {
		if w.File.ByteSize == 0 {
			return found, fault.New(fault.Validation, "%s: is an empty file; %s", place, w.IfEmpty)
		}
		found.Structure, err = s.surveys.read(ctx, w.File, w.Model, s.whole)
		return found, err
	}
	content, err := s.whole(ctx, w.File)
	if err != nil {
		return found, err
	}
	if w.As == engines.ReadSequences {
		found.Sequences, err = fasta.Read(content)
		return found, err
	}
	if w.As == engines.ReadCase {
		found.Case, err = casefile.Read(content)
		return found, err
	}
	if w.As == engines.ReadNothing {
		return found, coordinates.CheckText(content)
	}
	molecule, err := coordinates.ReadMolecule(content)
	if err == nil {
		found.Molecule = &molecule
	}
	return found, err
}

// whole reads all of a file.
func (f *Finder) whole(ctx context.Context, file engines.Object) ([]byte, error) {
	return f.head(ctx, file, file.ByteSize)
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
