package worker

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/internal/queue"
)

// TestScratchIsPrivate asks for directories of attempts that no scheduler names: nothing outside the worker's own directory is
// made, opened or removed, and nobody else of the machine may look into it.
func TestScratchIsPrivate(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root, victim := filepath.Join(home, "scratch"), filepath.Join(home, "victim.7")
	if err := os.MkdirAll(filepath.Join(victim, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := openScratch(root, "wrk_1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, task := range []string{"../../victim", "../victim", "/tmp/victim", "", ".", "task_1/../../../victim"} {
		if dir, err := s.open(queue.Ref{TaskID: task, Attempt: 7}); err == nil {
			t.Errorf("task %q got the directory %s", task, dir)
		}
	}
	// A link that something has left leads out of the directory: it is not followed.
	if err := os.Symlink(victim, filepath.Join(root, "wrk_1", "task_1.1")); err != nil {
		t.Fatal(err)
	}
	if dir, err := s.open(queue.Ref{TaskID: "task_1", Attempt: 1}); err == nil {
		t.Errorf("an attempt got %s through a link", dir)
	}
	if _, err := os.Stat(filepath.Join(victim, "out")); !os.IsNotExist(err) {
		t.Errorf("a directory was made outside: %v", err)
	}
	for _, dir := range []string{root, filepath.Join(root, "wrk_1")} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != fs.FileMode(0o700) {
			t.Errorf("%s has the rights %v, %v; want 0700", dir, info.Mode().Perm(), err)
		}
	}
}
