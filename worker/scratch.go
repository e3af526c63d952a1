package worker

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// scratch is the worker's private directory. A lock file in it shows other workers that its owner lives.
type scratch struct {
	dir  string
	lock *os.File
}

// openScratch makes the worker's directory below root and removes those of workers that have died.
func openScratch(root, workerID string, log *slog.Logger) (*scratch, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("make the scratch directory: %w", err)
	}
	sweepScratch(root, log)
	dir := filepath.Join(root, workerID)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the worker's scratch directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the worker's scratch directory: %w", err)
	}
	return &scratch{dir: dir, lock: lock}, nil
}

func lockDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// sweepScratch removes the directories whose lock nobody holds.
func sweepScratch(root string, log *slog.Logger) {
	entries, err := os.ReadDir(root)
	if err != nil {
		log.Warn("scratch directory not swept", "error", err)
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		lock, err := lockDir(dir)
		if err != nil {
			continue // its owner lives, or it is not a worker's
		}
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("scratch of a dead worker not removed", "error", err)
		}
		lock.Close()
	}
}

// open makes the directory of one attempt, with in/ and out/.
func (s *scratch) open(ref queue.Ref) (engines.Dir, error) {
	dir := filepath.Join(s.dir, ref.String())
	for _, sub := range []string{"in", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", fmt.Errorf("make the attempt's directory: %w", err)
		}
	}
	return engines.Dir(dir), nil
}

// remove deletes an attempt's directory.
func (s *scratch) remove(dir engines.Dir) error { return os.RemoveAll(string(dir)) }

// close removes everything of this worker.
func (s *scratch) close() {
	os.RemoveAll(s.dir)
	s.lock.Close()
}
