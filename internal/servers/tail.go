package servers

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

const (
	// tailLines is how much of a server's log an error shows: a failed start says why in its last lines.
	tailLines = 30
	// tailLineBytes cuts a line, so that a server cannot fill our memory.
	tailLineBytes = 1000
)

// tail takes what a server prints: it passes every line to a logger at debug level and keeps the last ones.
type tail struct {
	log *slog.Logger

	mu    sync.Mutex
	rest  []byte // the line that has not ended yet
	lines []string
}

func newTail(log *slog.Logger) *tail { return &tail{log: log} }

// Write never fails: a server must not stop because nobody wants its log.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; ; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		t.rest = append(t.rest, line[:min(len(line), max(0, tailLineBytes-len(t.rest)))]...)
		if !ended {
			return len(p), nil
		}
		t.keep(string(t.rest))
		t.rest, rest = t.rest[:0], after
	}
}

func (t *tail) keep(line string) {
	t.log.Debug(line)
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, line)
}

// String is the end of the log, oldest line first.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(append(t.lines[:len(t.lines):len(t.lines)], string(t.rest)), "\n")
}
