package servers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// farHome holds the data of directories that the server's user cannot reach, e.g. below /root.
	farHome = "/var/lib/molfabric"
	// noteName is the file that tells where such data went.
	noteName = "MOVED.txt"
	// lockName is the file whose lock (flock) is held while a server lives; it holds the holder's process id.
	lockName = "lock"
	// passwordName is the file with the generated password.
	passwordName = "password"
	// passwordBytes of randomness cannot be guessed.
	passwordBytes = 24
	// vacancyPatience bounds the wait for a killed server's own children, which notice its death within milliseconds.
	vacancyPatience = 15 * time.Second
)

// LockedError says that another process runs a server in the directory.
type LockedError struct {
	Dir string
	PID int // 0 when the holder has not written it
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("directory %s is in use by process %d; stop that process or choose another directory", e.Dir, e.PID)
}

// home is the locked place of one server: dir holds the lock and the password and belongs to this process' user; path is
// the server's own directory.
type home struct {
	dir        string
	path       string
	credential *syscall.Credential // nil: the server runs as this process' user
	lock       *os.File
}

// openHome locks dir, creates what is missing and waits until no process of an earlier server works in it. users are the
// accounts to run as when this process is root, best first; without any the server stays this process' user. Errors: *LockedError.
func openHome(ctx context.Context, dir string, log *slog.Logger, users ...string) (_ *home, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	h := &home{dir: dir}
	if h.lock, err = lock(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.credential, err = serverUser(users...); err != nil {
		return nil, err
	}
	if h.path, err = choosePath(dir, h.credential, log); err != nil {
		return nil, err
	}
	if err := h.makeDir(h.path); err != nil {
		return nil, err
	}
	return h, awaitVacancy(ctx, h.path)
}

// close releases the directory. The lock is given up by name, since a child that is being forked at this moment holds a copy of
// the open file until it starts its program.
func (h *home) close() error {
	err := errors.Join(syscall.Flock(int(h.lock.Fd()), syscall.LOCK_UN), h.lock.Close())
	if err != nil {
		return fmt.Errorf("unlock %s: %w", h.dir, err)
	}
	return nil
}

// makeDir creates a directory that only the server's user can read.
func (h *home) makeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("create the server's directory: %w", err)
	}
	return h.giveAway(path)
}

// writeFile writes a file that only the server's user can read.
func (h *home) writeFile(path, content string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write a server's file: %w", err)
	}
	return h.giveAway(path)
}

func (h *home) giveAway(path string) error {
	if h.credential == nil {
		return nil
	}
	return os.Lchown(path, int(h.credential.Uid), int(h.credential.Gid))
}

// environment is all that a server learns from ours. The locale is fixed so that logs can be read by us.
func (h *home) environment() []string {
	return []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + h.path}
}

// password returns the password of the directory, generated at the first call and the same ever after.
func (h *home) password() (string, error) { return h.passwordOf("") }

// passwordOf is password for a further user of the server.
func (h *home) passwordOf(user string) (string, error) {
	path := filepath.Join(h.dir, passwordName)
	if user != "" {
		path += "-" + user
	}
	text, err := os.ReadFile(path)
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	random := make([]byte, passwordBytes)
	rand.Read(random) // never fails: crypto/rand ends the program instead
	password := hex.EncodeToString(random)
	// Written aside and renamed: a crash in between must not leave a server with half a password.
	if err := os.WriteFile(path+".new", []byte(password), 0o600); err != nil {
		return "", fmt.Errorf("write the password: %w", err)
	}
	return password, os.Rename(path+".new", path)
}

// lock takes the directory's lock for this process without waiting.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		text, _ := os.ReadFile(path) // only for the message
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Dir: dir, PID: pid}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), file.Close())
	}
	return file, nil
}

// serverUser returns whom a server runs as: nil for this process' user, or where root has a choice the first of names that exists.
func serverUser(names ...string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 || len(names) == 0 {
		return nil, nil
	}
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("this process is root and none of the users %s exists to run the server as", strings.Join(names, ", "))
}

// choosePath returns the server's own directory: below dir where its user can reach it, else below farHome. Data that lies
// in one of the two already decides, so that a changed permission never shows an empty database.
func choosePath(dir string, as *syscall.Credential, log *slog.Logger) (string, error) {
	near := filepath.Join(dir, "server")
	if as == nil {
		return near, nil
	}
	sum := sha256.Sum256([]byte(dir))
	far := filepath.Join(farHome, hex.EncodeToString(sum[:])[:12], "server")
	switch {
	case exists(far):
	case reachable(dir, as):
		return near, nil
	case exists(near):
		return "", fmt.Errorf("the server's data in %s cannot be reached by user id %d any more; make the directories above it "+
			"traversable (chmod o+x)", near, as.Uid)
	default:
		log.Info("data directory is out of the server's reach, so the data lies elsewhere", "dir", dir, "data", far)
	}
	note := fmt.Sprintf("The server runs as user id %d, who cannot enter this directory. Its data lies in:\n%s\n", as.Uid, far)
	if err := os.WriteFile(filepath.Join(dir, noteName), []byte(note), 0o600); err != nil {
		return "", fmt.Errorf("write the note on the data's place: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(far), 0o711); err != nil {
		return "", fmt.Errorf("create the data directory: %w", err)
	}
	return far, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// reachable tells whether the user may traverse dir and every directory above it.
func reachable(dir string, as *syscall.Credential) bool {
	for {
		var stat syscall.Stat_t
		if err := syscall.Stat(dir, &stat); err != nil {
			return false
		}
		bit := uint32(0o001)
		switch {
		case stat.Uid == as.Uid:
			bit = 0o100
		case stat.Gid == as.Gid:
			bit = 0o010
		}
		if stat.Mode&bit == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// awaitVacancy waits until no process has its working directory in path. The lock proves that nobody else runs a server here,
// but the children of one that was killed may still be writing: Postgres' own end a moment after their parent.
func awaitVacancy(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, vacancyPatience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		pid := occupant(path)
		if pid == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %s of an earlier server still works in %s: %w", pid, path, ctx.Err())
		case <-tick.C:
		}
	}
}

// occupant returns the id of a process whose working directory lies in path, or "".
func occupant(path string) string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is well-formed
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err == nil && (cwd == path || strings.HasPrefix(cwd, path+"/")) {
			return filepath.Base(filepath.Dir(link))
		}
	}
	return ""
}
