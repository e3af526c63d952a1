package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

// maxOutputDepth bounds the directories inside each other below out/: no engine nests more than three.
const maxOutputDepth = 32

// errOutgrown ends a count that has found enough.
var errOutgrown = errors.New("out/ holds too much")

// outgrown reports whether a task's out/ holds more than maxBytes on disk, more than maxEntries, or deeper directories than any
// engine makes. The program may be writing there meanwhile: what is gone again does not count, and no link is followed.
func outgrown(dir engines.Dir, maxBytes int64, maxEntries int) bool {
	root, err := os.OpenRoot(dir.Out(""))
	if err != nil {
		return false // the listing after the end will say so
	}
	defer root.Close()
	const blockBytes = 512 // of Stat_t.Blocks, whatever the file system's are
	bytes, entries := int64(0), 0
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) { // a directory that the program has closed, to hide what is in it
			return errOutgrown
		}
		if err != nil {
			return nil //nolint:nilerr // gone again
		}
		if entries++; entries > maxEntries || strings.Count(path, "/") >= maxOutputDepth {
			return errOutgrown
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += stat.Blocks * blockBytes
		}
		if bytes > maxBytes {
			return errOutgrown
		}
		return nil
	})
	return err != nil
}

// outputCeiling is how much a command may hold below out/ at once: what is collected of it, the checkpoints, and one file that is
// being written anew.
func outputCeiling(needs engines.Resources) int64 { return 2*needs.ScratchBytes + needs.FileBytes }

// MaxOutputs bounds the entries of one task's out/ that are looked at: more than any engine writes, few enough to hold.
const MaxOutputs = 100_000

// ErrUnsafeOutput says that an output is not a plain file below out/: a link, a device, a directory, or a name that leads
// elsewhere.
var ErrUnsafeOutput = errors.New("output is not a regular file below out/")

// OutputFile is one regular file below out/.
type OutputFile struct {
	Name     string // path below out/, with slashes
	ByteSize int64
}

// OpenOutput opens one file that a command wrote, for reading. Name is a path below out/. No element of it may be a symbolic
// link and it must name a regular file; anything else is ErrUnsafeOutput, so that a program cannot make the worker publish
// a file of the host's. The caller closes the file. A name that does not exist is fs.ErrNotExist.
func OpenOutput(dir engines.Dir, name string) (*os.File, error) {
	if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." {
		return nil, fmt.Errorf("output %q: %w", name, ErrUnsafeOutput)
	}
	// O_NONBLOCK: opening a named pipe must not wait for its writer. It means nothing to regular files.
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	parent, err := unix.Open(filepath.Join(string(dir), outName), flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, outputError(name, err)
	}
	elements := strings.Split(name, "/")
	for i, element := range elements {
		mode := flags
		if i < len(elements)-1 {
			mode |= unix.O_DIRECTORY
		}
		fd, err := unix.Openat(parent, element, mode, 0)
		unix.Close(parent)
		if err != nil {
			return nil, outputError(name, err)
		}
		parent = fd
	}
	file := os.NewFile(uintptr(parent), name)
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrUnsafeOutput
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("output %q: %w", name, err)
	}
	return file, nil
}

// outputError tells the errors with which the kernel refuses a link, a socket or a file in a directory's place from others.
func outputError(name string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENXIO) {
		err = ErrUnsafeOutput
	}
	return fmt.Errorf("output %q: %w", name, err)
}

// Outputs lists the regular files below out/, in order of their names, and separately the names of what is neither a
// regular file nor a directory. It follows no link. More than MaxOutputs entries are an error.
func Outputs(dir engines.Dir) (files []OutputFile, refused []string, err error) {
	out := filepath.Join(string(dir), outName)
	entries := 0
	err = filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > MaxOutputs {
			return fmt.Errorf("out/ holds more than %d entries", MaxOutputs)
		}
		name, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
		case entry.Type().IsRegular():
			info, err := entry.Info()
			if err != nil {
				return err
			}
			files = append(files, OutputFile{Name: filepath.ToSlash(name), ByteSize: info.Size()})
		default:
			refused = append(refused, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list outputs: %w", err)
	}
	return files, refused, nil
}

// removeBatch bounds how many entries of a directory are held at once while it is removed.
const removeBatch = 1000

// RemoveTree removes a task's directory and all that a command has left in it: however deep its directories lie in each other, and
// whatever rights they were left with. os.RemoveAll holds a descriptor for each level and would take all that the worker has. No
// process of the command may be left. A directory that does not exist is no error.
func RemoveTree(dir string) error {
	pending, moved := []string{dir}, 0
	for len(pending) > 0 {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		below, err := emptied(next)
		if errors.Is(err, fs.ErrNotExist) && next == dir {
			return nil
		}
		if err != nil {
			return err
		}
		for _, path := range below {
			if next != dir { // lifted to the top, so that no path becomes longer than two names
				lifted := filepath.Join(dir, fmt.Sprintf(".removed-%d", moved))
				moved++
				if err := os.Rename(path, lifted); err != nil {
					return fmt.Errorf("remove a task's directory: %w", err)
				}
				path = lifted
			}
			pending = append(pending, path)
		}
		if next != dir {
			if err := os.Remove(next); err != nil {
				return fmt.Errorf("remove a task's directory: %w", err)
			}
		}
	}
	return os.Remove(dir)
}

// emptied removes the files of a directory and returns its directories.
func emptied(dir string) (below []string, err error) {
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	opened, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	for {
		entries, err := opened.ReadDir(removeBatch)
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			if entry.IsDir() {
				below = append(below, path)
			} else if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
		if errors.Is(err, io.EOF) {
			return below, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
