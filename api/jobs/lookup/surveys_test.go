package lookup

import (
	"context"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/coordinates"
)

// receptor is a structure of two residues.
const receptor = `ATOM      1  N   ALA A   1       1.000   2.000   3.000  1.00  0.00           N
ATOM      2  CA  ALA A   1       2.000   2.000   3.000  1.00  0.00           C
ATOM      3  N   GLY A   2       3.000   2.000   3.000  1.00  0.00           N
`

func TestSurveysAreKept(t *testing.T) {
	t.Parallel()
	s, fetched := newSurveys(), 0
	read := func(file engines.Object, model int, content string) (*coordinates.Structure, error) {
		return s.read(t.Context(), file, model, func(context.Context, engines.Object) ([]byte, error) {
			fetched++
			return []byte(content), nil
		})
	}
	one := engines.Object{StorageKey: "one", SHA256: strings.Repeat("a", 64), ByteSize: int64(len(receptor))}
	for range 3 {
		if found, err := read(one, 0, receptor); err != nil || len(found.Residues) != 2 {
			t.Fatalf("got %+v, %v", found, err)
		}
	}
	if fetched != 1 {
		t.Errorf("a file was fetched %d times, want once", fetched)
	}
	if _, err := read(one, 2, receptor); err == nil || fetched != 2 {
		t.Errorf("another model: got %v after %d", err, fetched)
	}
	unknown := engines.Object{StorageKey: "two", ByteSize: 10}
	for range 2 {
		if _, err := read(unknown, 0, receptor); err != nil {
			t.Fatal(err)
		}
	}
	if fetched != 4 {
		t.Errorf("a file without a digest was fetched %d times, want each time", fetched-2)
	}
	s.bytes = maxKeptSurveys // all that is kept has to make room
	other := engines.Object{StorageKey: "three", SHA256: strings.Repeat("b", 64), ByteSize: 10}
	if _, err := read(other, 0, receptor); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.find(surveyKey{one.SHA256, 0}); ok {
		t.Error("what was not asked for the longest is still kept")
	}
}
