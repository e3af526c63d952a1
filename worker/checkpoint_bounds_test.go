package worker

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// wordy is an engine whose every line is a list of checkpoints.
type wordy struct{ engines.Engine }

func (wordy) Checkpoint(line string) ([]string, bool) { return strings.Fields(line), true }

// What is noted of a program that tells without end stays bounded, and its names are noted once.
func TestHeardIsBounded(t *testing.T) {
	t.Parallel()
	s := &saver{a: &attempt{log: slog.New(slog.DiscardHandler)}, engine: wordy{},
		used: func() (queue.Usage, bool) { return queue.Usage{}, true }, wake: make(chan struct{}, 1), told: map[string]bool{},
		known: map[string]bool{"checkpoint/resumed": true}}
	name := func(i int) string { return fmt.Sprintf("checkpoint/ligand-%d", i) }
	var line []string
	for i := range 3 * maxCheckpointsALine {
		line = append(line, name(i))
	}
	s.heard(strings.Join(line, " "))
	if got, _ := s.take(); len(got) != maxCheckpointsALine {
		t.Errorf("%d names of one line, want %d", len(got), maxCheckpointsALine)
	}
	for i := range 2 * queue.MaxCheckpoints {
		s.heard(name(i))
		s.heard(name(i))
	}
	if got, _ := s.take(); len(got) != queue.MaxCheckpoints-1 || len(s.known) != queue.MaxCheckpoints {
		t.Errorf("%d names to store and %d known, want one fewer than %d, which is the bound", len(got), len(s.known),
			queue.MaxCheckpoints)
	}
	s.heard("checkpoint/resumed " + name(0) + " checkpoint/one-too-many")
	if got, _ := s.take(); len(got) != 2 {
		t.Errorf("%v of those that are known already, want both", got)
	}
}
