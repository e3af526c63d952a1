package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// workerPrefix begins the names of workers and with them those of their directories: nothing else below the root is touched.
const workerPrefix = "wrk_"

// scratch is the worker's private directory, which nobody else of the machine can look into. A lock file in it shows other workers
// that its owner lives.
type scratch struct {
	dir  string
	root *os.Root // dir: no name leads out of it
	lock *os.File
	log  *slog.Logger
}

// openScratch makes the worker's directory below root and removes those of workers that have died.
func openScratch(root, workerID string, log *slog.Logger) (*scratch, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make the scratch directory: %w", err)
	}
	// One worker at a time: another's directory must not be swept between its making and its locking.
	door, err := lockFile(root, unix.O_DIRECTORY, unix.LOCK_EX)
	if err != nil {
		return nil, fmt.Errorf("lock the scratch directory: %w", err)
	}
	defer door.Close()
	sweepScratch(root, log)
	dir := filepath.Join(root, workerID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the worker's scratch directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the worker's scratch directory: %w", err)
	}
	opened, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the worker's scratch directory: %w", err)
	}
	return &scratch{dir: dir, root: opened, lock: lock, log: log}, nil
}

// lockDir locks a worker's directory, or fails at once when its owner lives.
func lockDir(dir string) (*os.File, error) {
	return lockFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, unix.LOCK_EX|unix.LOCK_NB)
}

// lockFile opens a file and locks it until it is closed or the process ends.
func lockFile(path string, flags, how int) (*os.File, error) {
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(file.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// sweepScratch removes the workers' directories whose lock nobody holds.
func sweepScratch(root string, log *slog.Logger) {
	entries, err := os.ReadDir(root)
	if err != nil {
		log.Warn("scratch directory not swept", "error", err)
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), workerPrefix) {
			continue
		}
		dir := filepath.Join(root, entry.Name())
		lock, err := lockDir(dir)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
			continue // its owner lives, or is leaving
		}
		if err == nil {
			err = sandbox.RemoveTree(dir)
			lock.Close()
		}
		if err != nil {
			log.Warn("scratch of a dead worker not removed", "directory", dir, "error", err)
		}
	}
}

// open makes the directory of one attempt, with in/ and out/. It lies right below the worker's own, whatever the order says.
func (s *scratch) open(ref queue.Ref) (engines.Dir, error) {
	name := ref.String()
	if err := ref.Check(); err != nil {
		return "", fmt.Errorf("make the attempt's directory: %w", err)
	}
	for _, sub := range []string{"in", "out"} {
		if err := s.root.MkdirAll(filepath.Join(name, sub), 0o755); err != nil {
			return "", fmt.Errorf("make the attempt's directory: %w", err)
		}
	}
	return engines.Dir(filepath.Join(s.dir, name)), nil
}

// remove deletes an attempt's directory.
func (s *scratch) remove(dir engines.Dir) error { return sandbox.RemoveTree(string(dir)) }

// close removes everything of this worker.
func (s *scratch) close() {
	s.root.Close()
	if err := sandbox.RemoveTree(s.dir); err != nil {
		s.log.Warn("scratch directory left behind; the next worker removes it", "error", err)
	}
	s.lock.Close()
}
