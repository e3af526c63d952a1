package molviewspec

import (
	"errors"
	"strings"
	"testing"
)

// TestCommandsAreRefused: Mol* would run them whenever the state is loaded, also when they load it.
func TestCommandsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`{"metadata":{"version":"1","timestamp":"2026-01-01T00:00:00Z"},
		"root":{"kind":"root","custom":{"molstar_on_load_markdown_commands":{"next-snapshot":"1"}},"children":[]}}`))
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "root.custom.molstar_on_load_markdown_commands") {
		t.Errorf("got %v, want a refusal that names the member", err)
	}
}
