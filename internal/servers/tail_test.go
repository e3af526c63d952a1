package servers

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	last := newTail(slog.New(slog.DiscardHandler))
	for n := range 2 * tailLines {
		_, _ = fmt.Fprintf(last, "line %d\n", n)
	}
	_, _ = fmt.Fprint(last, "unfin")
	_, _ = fmt.Fprint(last, "ished")
	lines := strings.Split(last.String(), "\n")
	first, end := fmt.Sprintf("line %d", tailLines), "unfinished"
	if len(lines) != tailLines+1 || lines[0] != first || lines[tailLines] != end {
		t.Errorf("tail = %d lines from %q to %q; want %d from %q to %q", len(lines), lines[0], lines[len(lines)-1], tailLines+1,
			first, end)
	}
}

func TestTailCutsLongLines(t *testing.T) {
	t.Parallel()
	last := newTail(slog.New(slog.DiscardHandler))
	for range 100 {
		_, _ = fmt.Fprint(last, strings.Repeat("x", 100))
	}
	_, _ = fmt.Fprint(last, "\nnext\n")
	want := strings.Repeat("x", tailLineBytes) + "\nnext\n"
	if got := last.String(); got != want {
		t.Errorf("tail of a line of 10000 bytes = %d bytes, want %d", len(got), len(want))
	}
}
