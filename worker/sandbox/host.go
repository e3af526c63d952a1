package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

// systemPath is where the programs of the operating system lie, on the host and in the sandbox.
var systemPath = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// rootNames are the top-level entries a dynamically linked program may need. Merged systems have links here, others
// directories; the sandbox gets whichever the host has.
var rootNames = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcPaths are what the loader and Debian's alternatives system (BLAS, awk) need of /etc. Nothing else of it is shown.
var etcPaths = []string{"/etc/ld.so.cache", "/etc/alternatives"}

// What the process file system tells of the machine as a whole is hidden where the kernel has it: physical memory, keys, timers,
// addresses and drivers, as container runtimes hide it. The rest of it is about the sandbox's own processes.
var (
	hiddenFiles = []string{"/proc/kallsyms", "/proc/kcore", "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/latency_stats",
		"/proc/sched_debug",
		"/proc/timer_list", "/proc/timer_stats"}
	hiddenDirs = []string{"/proc/acpi", "/proc/asound", "/proc/scsi"}
)

// link is a symbolic link to be made inside the sandbox.
type link struct{ path, target string }

// host is what New found out about the machine.
type host struct {
	bwrap, prlimit, setpriv string
	bwrapVersion            [3]int
	image                   string   // digest of the image that commands run in; "" where they run in none
	root                    string   // before the paths below: the root of an image, or "" for the machine's own
	bind                    []string // paths shown read-only, parents before children
	links                   []link
	hiddenFiles, hiddenDirs []string // below /proc
	searchPath              []string // PATH inside: the read-only paths' bin/ in their order, then the system's
	// dropUser: the worker is root over real users, so commands run under an unused user id of their own instead of
	// staying root behind a user namespace.
	dropUser bool
}

func inspectHost(ctx context.Context, cfg Config) (host, error) {
	h := host{hiddenFiles: existing(hiddenFiles), hiddenDirs: existing(hiddenDirs)}
	if cfg.Isolation != Direct {
		if err := h.inspectBubblewrap(ctx); err != nil {
			return h, err
		}
	}
	if cfg.Isolation == Container {
		found, err := openImage(ctx, cfg.Image, cfg.ImageDir)
		if err != nil {
			return h, err
		}
		h.image = found.Digest
		err = h.showImage(found)
		return h, err
	}
	if cfg.OwnImage != "" {
		digest, err := digestOf(cfg.OwnImage)
		if err != nil {
			return h, fmt.Errorf("the worker's own %w", err)
		}
		h.image = digest
	}
	if err := h.requireLaunchers(); err != nil {
		return h, err
	}
	err := h.showMachine(ctx, cfg)
	return h, err
}

// requireLaunchers finds the machine's programs that start a command.
func (h *host) requireLaunchers() (err error) {
	if h.prlimit, err = require("prlimit", "util-linux"); err == nil && h.dropUser {
		h.setpriv, err = require("setpriv", "util-linux")
	}
	return err
}

// showMachine shows the operating system's programs and the runtimes of the configuration.
func (h *host) showMachine(ctx context.Context, cfg Config) error {
	for _, name := range rootNames {
		h.addRootEntry(name)
	}
	for _, path := range etcPaths {
		if _, err := os.Stat(path); err == nil {
			h.bind = append(h.bind, path)
		}
	}
	paths := slices.Clone(cfg.ReadOnlyPaths)
	for _, name := range slices.Sorted(maps.Keys(cfg.Programs)) {
		if name != "python" && !strings.HasPrefix(name, "python-") {
			continue
		}
		prefixes, err := pythonPrefixes(ctx, cfg.Programs[name])
		if err != nil {
			return err
		}
		paths = append(paths, prefixes...)
	}
	for _, path := range paths {
		if err := h.addReadOnly(path); err != nil {
			return err
		}
	}
	for name, path := range cfg.Programs {
		if err := h.addProgram(path); err != nil {
			return fmt.Errorf("program %q: %w", name, err)
		}
	}
	slices.Sort(h.bind)
	// After the runtimes' own: a script of an environment must find that environment's interpreter.
	for _, dir := range systemPath {
		if !slices.Contains(h.searchPath, dir) {
			h.searchPath = append(h.searchPath, dir)
		}
	}
	return nil
}

// require finds a program that the sandbox is built from. The error tells how to install it.
func require(program, debianPackage string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not installed; run `apt-get install %s` (Debian, Ubuntu) or `dnf install %s` (Fedora, "+
			"RHEL): %w",
			program, debianPackage, debianPackage, err)
	}
	return filepath.Abs(path)
}

func (h *host) inspectBubblewrap(ctx context.Context) error {
	var err error
	if h.bwrap, err = require("bwrap", "bubblewrap"); err != nil {
		return err
	}
	out, err := output(ctx, h.bwrap, "--version")
	if err != nil {
		return err
	}
	if h.bwrapVersion, err = parseBubblewrapVersion(out); err != nil {
		return err
	}
	if os.Geteuid() != 0 || !mapsSandboxUsers("/proc/self/uid_map") || !mapsSandboxUsers("/proc/self/gid_map") {
		return nil
	}
	h.dropUser = true
	return nil
}

var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

// minBubblewrap is the first release with --size, which bounds the private /tmp, and with --perms.
var minBubblewrap = [3]int{0, 7, 0}

func parseBubblewrapVersion(text string) (version [3]int, err error) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return version, fmt.Errorf("bwrap --version printed %q, which names no version", text)
	}
	for i := range version {
		if version[i], err = strconv.Atoi(m[i+1]); err != nil {
			return version, fmt.Errorf("bwrap --version printed %q: %w", text, err)
		}
	}
	if slices.Compare(version[:], minBubblewrap[:]) < 0 {
		return version, fmt.Errorf("bubblewrap %s is too old: 0.7.0 or newer is needed", m[0])
	}
	return version, nil
}

// Sandbox users are taken from the range that the systemd project's list of user ids leaves unused (1879048192 to
// 2147483646, "UIDs-GIDs.md"): no account, no container range and no dynamic service user lies there.
const (
	firstSandboxUser = 1879048192
	sandboxUsers     = 2147483647 - firstSandboxUser
)

// mapsSandboxUsers reports whether this process's user namespace has the sandbox users; those of containers often do not.
func mapsSandboxUsers(mapFile string) bool {
	text, err := os.ReadFile(mapFile)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, count int64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return false
		}
		if inside <= firstSandboxUser && inside+count >= firstSandboxUser+sandboxUsers {
			return true
		}
	}
	return false
}

func (h *host) addRootEntry(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if info.Mode()&os.ModeSymlink == 0 {
		h.bind = append(h.bind, path)
	} else if target, err := os.Readlink(path); err == nil {
		h.links = append(h.links, link{path, target})
	}
}

// addReadOnly shows a host path inside. Paths that already are visible are left out; those that would show the whole machine
// or cover the sandbox's own places are refused.
func (h *host) addReadOnly(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("read-only path %q: must be absolute and clean", path)
	}
	for _, own := range []string{"/proc", "/dev", "/sys", jobDir} {
		if path == "/" || within(own, path) {
			return fmt.Errorf("read-only path %q: must not be / nor lie in %s", path, own)
		}
	}
	if path == "/tmp" {
		return errors.New("read-only path /tmp: the sandbox has a /tmp of its own")
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read-only path: %w", err)
	}
	if !h.visible(path) {
		h.bind = append(h.bind, path)
	}
	if bin := filepath.Join(path, "bin"); info.IsDir() && !slices.Contains(h.searchPath, bin) {
		if info, err := os.Stat(bin); err == nil && info.IsDir() {
			h.searchPath = append(h.searchPath, bin)
		}
	}
	return nil
}

// addProgram makes every symbolic link on the way to a program exist inside, for those that lie outside what is shown
// already: a virtual environment's interpreter often is a link to a link.
func (h *host) addProgram(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("path %q: must be absolute", path)
	}
	if err := h.executable(path); err != nil {
		return err
	}
	links, end, err := resolveLinks("", path)
	if err != nil {
		return err
	}
	for _, l := range links {
		if !h.visible(l.path) {
			h.links = append(h.links, l)
		}
	}
	if !h.visible(end) {
		h.bind = append(h.bind, end)
	}
	return nil
}

// onMachine is where a path of the sandbox lies on the machine.
func (h *host) onMachine(path string) string { return h.root + path }

// visible reports whether a host path is shown inside by what was added so far.
func (h *host) visible(path string) bool {
	return slices.ContainsFunc(h.bind, func(dir string) bool { return within(dir, path) }) ||
		slices.ContainsFunc(h.links, func(l link) bool { return within(l.path, path) })
}

// within reports whether path is dir or lies below it. Both are clean.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// maxLinks bounds the links on the way to a file, as the kernel does (path_resolution(7)).
const maxLinks = 40

// resolveLinks returns every symbolic link met on the way to path, in order, and the file it finally names, as a process sees it
// whose root is the directory root; "" is the machine's own.
func resolveLinks(root, path string) (links []link, end string, err error) {
	done, rest := "/", strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for len(rest) > 0 {
		next := filepath.Join(done, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(root + next)
		if err != nil {
			return nil, "", err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := os.Readlink(root + next)
		if err != nil {
			return nil, "", err
		}
		links = append(links, link{next, target})
		if len(links) > maxLinks {
			return nil, "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(done, target)
		}
		rest = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), rest...)
		done = "/"
	}
	return links, done, nil
}

// resolveProgram finds the program of a command as the sandbox will see it.
func (h *host) resolveProgram(programs map[string]string, name string) (string, error) {
	if path, ok := programs[name]; ok {
		return path, nil
	}
	if strings.ContainsRune(name, '/') {
		return "", fmt.Errorf("program %q: must be a name, not a path", name)
	}
	for _, dir := range h.searchPath {
		if path := filepath.Join(dir, name); h.executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %q is not installed: looked in %s", name, strings.Join(h.searchPath, ", "))
}

// executable returns an error unless path is that of a program.
func (h *host) executable(path string) error {
	_, end, err := resolveLinks(h.root, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(h.onMachine(end))
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}

// pythonPrefixes asks an interpreter where its installation lies: the virtual environment and the Python it was made from.
func pythonPrefixes(ctx context.Context, interpreter string) ([]string, error) {
	out, err := output(ctx, interpreter, "-I", "-c", "import sys; print(sys.prefix); print(sys.base_prefix)")
	if err != nil {
		return nil, err
	}
	var prefixes []string
	scanner := bufio.NewScanner(strings.NewReader(out))
	for scanner.Scan() {
		if prefix := filepath.Clean(scanner.Text()); prefix != "/" && !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes, scanner.Err()
}

// outputTimeout bounds the questions asked to a program at the start: a cold interpreter on a slow disk takes seconds.
const outputTimeout = 30 * time.Second

// output runs a program of the deployment (not a command of an engine) and returns what it printed.
func output(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, outputTimeout)
	defer cancel()
	return outputOf(ctx, nil, argv...)
}

// outputOf is output without its timeout, and with further variables of the environment.
func outputOf(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append([]string{"PATH=" + strings.Join(systemPath, ":"), "LANG=C.UTF-8"}, env...)
	err := proc.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
