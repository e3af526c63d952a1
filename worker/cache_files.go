package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// cachedMode is the mode of a cached file and of every link to it.
const cachedMode = 0o444

// stamp tells whether a file is still the one that was verified. The change time is not part of it: every link changes it.
type stamp struct {
	device, inode uint64
	modified      unix.Timespec
}

// keep makes a verified file that has come part of the cache, whole or not at all, and returns it open.
func (r *room) keep(coming, name string) (*os.File, error) {
	file, err := os.OpenFile(coming, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var seen stamp
	err = file.Chmod(cachedMode)
	if err == nil {
		seen, err = r.look(file, name)
	}
	if err == nil {
		err = r.account(func(*held) error { return os.Rename(coming, r.content(name)) })
	}
	if err != nil {
		file.Close()
		byteSize, _ := byteSizeIn(name)
		r.giveUp(coming, byteSize)
		return nil, err
	}
	r.trust(name, seen)
	r.touch(name)
	return file, nil
}

func (r *room) trust(name string, seen stamp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trusted[name] = seen
}

// touch notes that a file is used now.
func (r *room) touch(name string) {
	used := unix.NsecToTimespec(r.now().UnixNano())
	// Not found: another process has removed it; whoever has it open still has it.
	err := unix.UtimesNanoAt(unix.AT_FDCWD, r.content(name), []unix.Timespec{used, {Nsec: unix.UTIME_OMIT}},
		unix.AT_SYMLINK_NOFOLLOW)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Warn("use of a cached file not noted", "error", err)
	}
}

// trustedFile opens a file that this process has verified and that is still the same; nil when there is none.
func (r *room) trustedFile(name string) *os.File {
	file, err := os.OpenFile(r.content(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	seen, err := r.look(file, name)
	r.mu.Lock()
	trusted, known := r.trusted[name]
	r.mu.Unlock()
	if err != nil || !known || seen != trusted {
		file.Close()
		return nil
	}
	r.touch(name)
	return file
}

// open opens a file and reads it, the first time in this process, to see that it is what its name says. A damaged one is removed.
// It returns nil when there is none. The caller has the turn.
func (r *room) open(ctx context.Context, name string) (*os.File, error) {
	if file := r.trustedFile(name); file != nil {
		return file, nil
	}
	file, err := os.OpenFile(r.content(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var seen stamp
	if err == nil {
		if seen, err = r.verify(ctx, file, name); err == nil {
			r.trust(name, seen)
			r.touch(name)
			return file, nil
		}
		file.Close()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.log.Warn("a damaged file is removed from the cache and fetched anew", "name", name, "error", err)
	byteSize, _ := byteSizeIn(name)
	return nil, r.account(func(h *held) error {
		h.bytes, h.files = max(h.bytes-byteSize, 0), max(h.files-1, 0)
		return os.RemoveAll(r.content(name))
	})
}

// verify reads a file and holds it against its name.
func (r *room) verify(ctx context.Context, file *os.File, name string) (stamp, error) {
	seen, err := r.look(file, name)
	if err != nil {
		return seen, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &interruptible{ctx: ctx, from: file}); err != nil {
		return seen, err
	}
	if want, _, _ := strings.Cut(name, "-"); hex.EncodeToString(sum.Sum(nil)) != want {
		return seen, errors.New("its SHA-256 is another")
	}
	return seen, nil
}

// look describes an open file, which must be one that only this user can have written.
func (r *room) look(file *os.File, name string) (stamp, error) {
	var found unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &found); err != nil {
		return stamp{}, fmt.Errorf("look at a cached file: %w", err)
	}
	byteSize, _ := byteSizeIn(name)
	switch {
	case found.Mode != unix.S_IFREG|cachedMode:
		return stamp{}, fmt.Errorf("its mode is %o", found.Mode)
	case found.Uid != uint32(os.Geteuid()):
		return stamp{}, fmt.Errorf("it belongs to user %d", found.Uid)
	case found.Size != byteSize:
		return stamp{}, fmt.Errorf("it has %d bytes", found.Size)
	}
	return stamp{device: found.Dev, inode: found.Ino, modified: found.Mtim}, nil
}

// interruptible reads until its context ends.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// place puts an open file's content at path and replaces what is there: by a link to the very file that was verified, or by a
// copy where links are not wanted or not possible (another file system, too many links, removed from the cache meanwhile).
func place(file *os.File, path string, link bool) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if link && unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", file.Fd()), unix.AT_FDCWD, path,
		unix.AT_SYMLINK_FOLLOW) == nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// Never an existing file: it could be a link into the cache.
	copied, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(copied.Fd()), int(file.Fd())) != nil { // where the file system cannot share the bytes
		_, err = io.Copy(copied, io.NewSectionReader(file, 0, info.Size()))
	}
	return errors.Join(err, copied.Close())
}
