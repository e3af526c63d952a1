package wire_test

import (
	"testing"

	"github.com/molfabric/molfabric/api/wire"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{"": false, `"a"`: true, `W/"a"`: true, `"b", "a"`: true, "*": true, `"b"`: false,
		"a": false} {
		if got := wire.Matches(header, `"a"`); got != want {
			t.Errorf("matches(%q) = %v, want %v", header, got, want)
		}
	}
}
