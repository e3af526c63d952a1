package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

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
