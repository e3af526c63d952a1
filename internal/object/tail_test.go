package object_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

func TestTail(t *testing.T) {
	t.Parallel()
	store, _ := objecttest.New(t)
	long := strings.Repeat("mode |   affinity\n", 10_000) + "the end"
	for _, c := range []struct {
		name, content string
		maxBytes      int64
		want          string
	}{
		{"empty", "", 8, ""},
		{"shorter", "ATOM", 8, "ATOM"},
		{"exact", "ATOM  12", 8, "ATOM  12"},
		{"longer", "ATOM  123", 8, "TOM  123"},
		{"one byte", "ATOM", 1, "M"},
		{"much longer", long, 7, "the end"},
	} {
		put(t, store, c.name, c.content)
		end, byteSize, err := store.Tail(t.Context(), c.name, c.maxBytes)
		if err != nil || string(end) != c.want || byteSize != int64(len(c.content)) {
			t.Errorf("%s: got %q of %d bytes, %v; want %q of %d", c.name, end, byteSize, err, c.want, len(c.content))
		}
	}
	if _, _, err := store.Tail(t.Context(), "none", 8); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("no object: got %v, want ErrNotFound", err)
	}
	if _, _, err := store.Tail(t.Context(), "empty", 0); err == nil {
		t.Error("no byte of an object was asked for, and no error came")
	}
}
