package sandbox

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// Names below a task's directory that are ours.
const (
	inName  = "in"
	outName = "out"
	logName = "log.txt"
	tmpName = "tmp" // Direct only: Bubblewrap has a /tmp of its own
)

// stage is a command ready to start.
type stage struct {
	argv      []string // the whole launching command line
	dir       string   // working directory of the launcher
	env       []string // environment of the launcher
	isolated  bool     // has a process namespace whose first process can be killed for all
	filter    []byte   // of system calls, for the launcher to read from filterFD; nil for none
	stdin     *os.File // nil for an empty one
	needs     engines.Resources
	logPath   string
	outputs   engines.Dir // the task's directory, whose out/ must not grow without end
	temporary string      // directory to remove afterwards, or empty
}

func (s *stage) cleanUp() error {
	if s.temporary == "" {
		return nil
	}
	return os.RemoveAll(s.temporary)
}

// prepare writes the command's files, opens the directory to the user that will run it, and builds the command line.
func (r *Runner) prepare(spec Spec) (*stage, error) {
	program, err := r.host.resolveProgram(r.cfg.Programs, spec.Command.Argv[0])
	if err != nil {
		return nil, err
	}
	shown, err := writeFiles(string(spec.Dir), spec.Command.Files)
	if err != nil {
		return nil, err
	}
	dir := string(spec.Dir)
	s := &stage{stdin: spec.Stdin, needs: spec.Needs, outputs: spec.Dir, logPath: filepath.Join(dir, logName),
		env: []string{"PATH=" + strings.Join(systemPath, ":")}}
	tmp := "/tmp"
	if r.cfg.Isolation == Direct {
		tmp = filepath.Join(dir, tmpName)
	}
	devices, err := r.granted(spec.Devices)
	if err != nil {
		return nil, err
	}
	fixed := visibility(devices)
	maps.Copy(fixed, r.cfg.Environment)
	if r.host.image != "" {
		fixed[workerImage] = r.host.image
	}
	env, err := environment(spec, r.host.searchPath, tmp, fixed)
	if err != nil {
		return nil, err
	}
	command := slices.Concat(r.rlimits(spec.Needs), environmentArgs(env), []string{program}, spec.Command.Argv[1:])
	if r.cfg.Isolation == Direct {
		s.argv, s.dir, s.temporary = command, dir, tmp
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			return nil, fmt.Errorf("make temporary directory: %w", err)
		}
		return s, nil
	}
	user := 0
	if r.host.dropUser {
		user = sandboxUser(dir)
		if err := openToUser(dir, user); err != nil {
			return nil, err
		}
	}
	var machine []string
	if len(devices) > 0 {
		machine = existing(devicePaths)
		if r.host.root == "" {
			machine = slices.DeleteFunc(machine, r.host.visible)
		}
	}
	s.argv, s.dir, s.isolated, s.filter = bubblewrapArgv(layout{
		host: r.host, dir: dir, shown: shown, devices: nodesOf(devices), machine: machine, tempBytes: r.cfg.TempBytes, user: user,
		filtered: r.filter != nil,
	}, command), "/", true, r.filter
	return s, nil
}

// sandboxUser is the user id of a task's processes: its own, so that its process limit counts nobody else's, and the same at
// every attempt in one directory.
func sandboxUser(dir string) int {
	h := fnv.New32a()
	h.Write([]byte(dir))
	return firstSandboxUser + int(h.Sum32()%sandboxUsers)
}

// writeFiles makes in/ and out/ and writes the command's files read-only. It returns the top-level names to show inside. A
// file that is already there is replaced, never written through: inputs may be hard links into a cache. All of it goes
// through os.Root, so a link left in the directory cannot lead out of it.
func writeFiles(dir string, files map[string][]byte) (shown []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the task's directory: %w", err)
	}
	defer root.Close()
	for _, name := range []string{inName, outName} {
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make %s/: %w", name, err)
		}
		info, err := root.Lstat(name)
		if err != nil {
			return nil, fmt.Errorf("look at %s/: %w", name, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a directory", filepath.Join(dir, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		top, err := checkFileName(name)
		if err != nil {
			return nil, err
		}
		if err := replaceFile(root, name, files[name]); err != nil {
			return nil, fmt.Errorf("write command file %q: %w", name, err)
		}
		if top != inName && !slices.Contains(shown, top) {
			shown = append(shown, top)
		}
	}
	return shown, nil
}

// checkFileName refuses names that lead out of the directory or into what is not the engine's, and returns the first
// element.
func checkFileName(name string) (top string, err error) {
	if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("command file %q: must be a clean path below the directory", name)
	}
	top, _, nested := strings.Cut(name, "/")
	if name == "." || top == outName || top == logName || top == tmpName || (top == inName && !nested) {
		return "", fmt.Errorf("command file %q: the name is reserved", name)
	}
	return top, nil
}

func replaceFile(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(name, content, 0o444)
}

// openToUser lets a sandbox user read what lies in in/ and among the command's files, and gives it out/ with all that lies
// there. The task's directory itself is not opened: inside the sandbox it is another one.
func openToUser(dir string, user int) error {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if within(filepath.Join(dir, outName), path) {
			return os.Lchown(path, user, user) //nolint:gosec // G122: before the start, nobody but the worker writes here
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if entry.IsDir() {
			mode |= 0o111
		}
		if mode == info.Mode().Perm() {
			return nil
		}
		return os.Chmod(path, mode) //nolint:gosec // G122: as above
	})
	if err != nil {
		return fmt.Errorf("open the task's directory to its sandbox user: %w", err)
	}
	return nil
}

// variable is one environment variable.
type variable struct{ name, value string }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// threadVariables tell numerical libraries how many threads to start; left alone they take one for each core they see.
var threadVariables = []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
	"OPENMM_CPU_THREADS"}

// workerImage is the variable that tells a command the digest of the image that it runs in.
const workerImage = "MOLFABRIC_WORKER_IMAGE"

// environment is the whole environment of a command, sorted by name. Command.Env may overrule all but PATH, HOME, TMPDIR and
// those of given: the variables that name devices and the image.
func environment(spec Spec, searchPath []string, tmp string, given map[string]string) ([]variable, error) {
	fixed := map[string]string{"PATH": strings.Join(searchPath, ":"), "HOME": tmp, "TMPDIR": tmp}
	maps.Copy(fixed, given)
	all := map[string]string{"LANG": "C.UTF-8"}
	for _, name := range threadVariables {
		all[name] = strconv.Itoa(spec.Needs.CPUs)
	}
	for name, value := range spec.Command.Env {
		if _, ok := fixed[name]; ok || name == cudaVisible || name == workerImage || !variableName.MatchString(name) ||
			strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("environment variable %q: cannot be set by a command", name)
		}
		all[name] = value
	}
	maps.Copy(all, fixed)
	var env []variable
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, variable{name, all[name]})
	}
	return env, nil
}
