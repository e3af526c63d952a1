package roles

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestRunningHomes notes systems, of which one has been killed.
func TestRunningHomes(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if got := RunningHomes(); got != nil {
		t.Errorf("at first: got %v", got)
	}
	system := func(pid int, age time.Duration) (home string, forget func()) {
		home = t.TempDir()
		gone, err := announce(home, Running{PID: pid, URL: "http://127.0.0.1:1", StartedAt: time.Now().Add(-age)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(gone)
		return home, noteHome(home, slog.New(slog.DiscardHandler))
	}
	older, forget := system(os.Getpid(), time.Hour)
	newer, _ := system(os.Getpid(), time.Minute)
	killed, _ := system(1<<30, 0)
	if got := RunningHomes(); !slices.Equal(got, []string{newer, older}) {
		t.Errorf("got %v, want %v and %v, and not the killed %v", got, newer, older, killed)
	}
	forget()
	if got := RunningHomes(); !slices.Equal(got, []string{newer}) {
		t.Errorf("after a stop: got %v, want %v", got, newer)
	}
	if notes, err := os.ReadDir(filepath.Join(state, "molfabric", "running")); err != nil || len(notes) != 1 {
		t.Errorf("left are %v (%v), want one note", notes, err)
	}
	if err := os.WriteFile(runningFile(newer), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := RunningHomes(); len(got) != 0 {
		t.Errorf("a broken file of a running system: got %v", got)
	}
}

func TestHomesAreNotedWhereTheUserHasAFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "")
	if got := runningHomes(); got != "" {
		t.Errorf("got %q, want none", got)
	}
	noteHome(t.TempDir(), slog.New(slog.DiscardHandler))()
	t.Setenv("HOME", "/home/x")
	if got := runningHomes(); got != "/home/x/.local/state/molfabric/running" {
		t.Errorf("got %q", got)
	}
}
