package lookup

import (
	linked "container/list"
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/coordinates"
)

const (
	// maxSurveyedBytes bounds the files that are read at once: a file takes about three times its size while it is read.
	maxSurveyedBytes = 2 * coordinates.MaxBytes
	// maxKeptSurveys bounds what is remembered of files. A structure of 5,000 atoms takes 150 kB.
	maxKeptSurveys = 64 << 20
	// What a residue and an atom take in memory, for that bound.
	residueBytes, atomBytes = 192, 16
)

// surveys reads what receptors' files hold and remembers it by their digests, the last ones that were asked for. It is
// safe for concurrent use.
type surveys struct {
	slots *semaphore.Weighted

	mu    sync.Mutex
	kept  map[surveyKey]*linked.Element
	order *linked.List // of *survey, the one that was asked for last in front
	bytes int
}

// surveyKey is a model of a file.
type surveyKey struct {
	sha256 string
	model  int
}

type survey struct {
	key       surveyKey
	structure *coordinates.Structure
	bytes     int
}

func newSurveys() *surveys {
	return &surveys{slots: semaphore.NewWeighted(maxSurveyedBytes), kept: map[surveyKey]*linked.Element{}, order: linked.New()}
}

// read is what a model of a file holds; fetch reads the file's bytes. A file without a digest is read each time. Errors:
// those of coordinates.Read and of fetch.
func (s *surveys) read(
	ctx context.Context, file engines.Object, model int, fetch func(context.Context, engines.Object) ([]byte, error),
) (*coordinates.Structure, error) {
	key := surveyKey{file.SHA256, model}
	if found, ok := s.find(key); ok {
		return found, nil
	}
	weight := min(file.ByteSize, maxSurveyedBytes)
	if err := s.slots.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	defer s.slots.Release(weight)
	content, err := fetch(ctx, file)
	if err != nil {
		return nil, err
	}
	structure, err := coordinates.Read(content, model)
	if err == nil && key.sha256 != "" {
		s.keep(key, structure)
	}
	return structure, err
}

func (s *surveys) find(key surveyKey) (*coordinates.Structure, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.kept[key]
	if !ok {
		return nil, false
	}
	s.order.MoveToFront(element)
	return element.Value.(*survey).structure, true
}

// keep remembers a survey and forgets those that nobody has asked for the longest.
func (s *surveys) keep(key surveyKey, structure *coordinates.Structure) {
	made := &survey{key: key, structure: structure, bytes: residueBytes * len(structure.Residues)}
	for _, r := range structure.Residues {
		made.bytes += atomBytes * r.HeavyAtoms
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.kept[key]; known || made.bytes > maxKeptSurveys {
		return
	}
	s.kept[key] = s.order.PushFront(made)
	for s.bytes += made.bytes; s.bytes > maxKeptSurveys; {
		last := s.order.Remove(s.order.Back()).(*survey)
		delete(s.kept, last.key)
		s.bytes -= last.bytes
	}
}
