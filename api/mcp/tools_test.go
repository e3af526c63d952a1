package mcp

import "testing"

func TestQuoted(t *testing.T) {
	t.Parallel()
	if got, want := quoted("a'b $(c)"), `'a'\''b $(c)'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
