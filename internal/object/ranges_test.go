package object_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

func TestGetRange(t *testing.T) {
	t.Parallel()
	store, _ := objecttest.New(t)
	put(t, store, "hits", "first\nsecond\nthird\n")
	put(t, store, "empty", "")
	for _, c := range []struct {
		offset, byteSize int64
		want             string
	}{
		{0, 6, "first\n"}, {6, 7, "second\n"}, {13, 6, "third\n"}, {0, 19, "first\nsecond\nthird\n"}, {18, 1, "\n"},
	} {
		body, err := store.GetRange(t.Context(), "hits", c.offset, c.byteSize)
		if err != nil {
			t.Fatalf("%d bytes from %d: %v", c.byteSize, c.offset, err)
		}
		text, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || string(text) != c.want {
			t.Errorf("%d bytes from %d: got %q, %v; want %q", c.byteSize, c.offset, text, err, c.want)
		}
	}
	for _, c := range []struct {
		key              string
		offset, byteSize int64
	}{
		{"hits", 13, 7}, {"hits", 19, 1}, {"hits", 1000, 10}, {"empty", 0, 1},
	} {
		_, err := store.GetRange(t.Context(), c.key, c.offset, c.byteSize)
		var mismatch *object.MismatchError
		if !errors.As(err, &mismatch) || c.key == "hits" && mismatch.GotByteSize != 19 ||
			mismatch.WantByteSize != c.offset+c.byteSize {
			t.Errorf("%d bytes from %d of %s: got %v, want a mismatch", c.byteSize, c.offset, c.key, err)
		}
	}
	if _, err := store.GetRange(t.Context(), "none", 0, 1); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("no object: got %v, want ErrNotFound", err)
	}
	for _, c := range [][2]int64{{-1, 5}, {0, 0}, {5, -1}, {math.MaxInt64, 2}} {
		if _, err := store.GetRange(t.Context(), "hits", c[0], c[1]); err == nil || !strings.Contains(err.Error(), "no range") {
			t.Errorf("%d bytes from %d: got %v, want a refusal", c[1], c[0], err)
		}
	}
}

// A range that nobody reads to its end may be closed at any time.
func TestGetRangeIsGivenUp(t *testing.T) {
	t.Parallel()
	store, _ := objecttest.New(t)
	put(t, store, "long", strings.Repeat("a hit\n", 100_000))
	body, err := store.GetRange(t.Context(), "long", 6, 599_994)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := io.ReadFull(body, line); err != nil || string(line) != "a hit\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
}
