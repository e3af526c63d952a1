package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestBubblewrapVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]int{
		"bubblewrap 0.8.0\n":   {0, 8, 0},
		"bubblewrap 0.11.12\n": {0, 11, 12},
		"bubblewrap 0.6.1\n":   {}, // too old
		"no version":           {},
	} {
		got, err := parseBubblewrapVersion(text)
		if (err == nil) != (want != [3]int{}) || (err == nil && got != want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestGroupDirs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mounts, own string
		want        map[string]string
	}{
		"hybrid": {
			mounts: "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
				"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory\n" +
				"33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" +
				"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
			own: "4:memory:/a/b\n3:cpu,cpuacct:/\n0::/\n",
			want: map[string]string{"memory": "/sys/fs/cgroup/memory/a/b", "cpu": "/sys/fs/cgroup/cpu,cpuacct",
				"cpuacct": "/sys/fs/cgroup/cpu,cpuacct", "": "/sys/fs/cgroup/unified"},
		},
		"unified, of a service": {
			mounts: "30 23 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			own:    "0::/system.slice/molfabric.service\n",
			want:   map[string]string{"": "/sys/fs/cgroup/system.slice/molfabric.service"},
		},
		"a container that sees its own part": {
			mounts: "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			own:    "4:memory:/docker/c1/x\n",
			want:   map[string]string{"memory": "/sys/fs/cgroup/memory/x"},
		},
		"a group out of sight": {
			mounts: "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			own:    "4:memory:/docker/c12\n",
			want:   map[string]string{},
		},
		"nothing": {want: map[string]string{}},
	} {
		if got := groupDirs(test.mounts, test.own); !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestStaleGroups(t *testing.T) {
	t.Parallel()
	mine, err := GroupPrefix(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		mine + "7":                 false, // of a living process
		"molfabric-1-999999999-7":  true,  // the process lives, but it is another
		"molfabric-999999999-1-7":  true,  // no such process
		"molfabric-999999999-1":    false, // not ours
		supervisorName:             false,
		"system.slice":             false,
		"xmolfabric-999999999-1-7": false,
	} {
		if got := staleGroup(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestLinksToAProgram(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"cpython-3.11.7/bin", "venv/bin"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("cpython-3.11.7/bin/python3.11"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	want := []link{
		{at("venv/bin/python"), "python3"},
		{at("venv/bin/python3"), at("cpython-3.11/bin/python3")},
		{at("cpython-3.11"), "cpython-3.11.7"},
		{at("cpython-3.11.7/bin/python3"), "./python3.11"},
	}
	for _, l := range want {
		if err := os.Symlink(l.target, l.path); err != nil {
			t.Fatal(err)
		}
	}
	links, end, err := resolveLinks("", at("venv/bin/python"))
	if err != nil || !slices.Equal(links, want) || end != at("cpython-3.11.7/bin/python3.11") {
		t.Errorf("got %v, %q, %v, want %v", links, end, err, want)
	}
	if err := os.Symlink("loop", at("loop")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := resolveLinks("", at("loop")); err == nil {
		t.Error("a loop has an end")
	}
}

func TestReadOnlyPathsAreChecked(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/proc/self", "/dev", "/sys/fs", "/job", "/tmp", "relative", "/usr/../etc",
		"/no/such/path"} {
		if _, err := New(t.Context(), Config{Isolation: Direct, ReadOnlyPaths: []string{path}}); err == nil {
			t.Errorf("%q was accepted", path)
		}
	}
}

func TestRuntimesComeFirstOnThePath(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(t.Context(), Config{Isolation: Direct, ReadOnlyPaths: []string{first, second}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.host.searchPath, append([]string{first + "/bin", second + "/bin"}, systemPath...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDeploymentsFolders wants what a deployment shows to be read and not written, and named by its variable, which no command
// changes.
func TestDeploymentsFolders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "content"), []byte("shown"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(folder), folder, filepath.Join(folder, "content")} { // below a test's own folder
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := newRunner(t, Config{ReadOnlyPaths: []string{folder}, Environment: map[string]string{"MOLFABRIC_SHOWN": folder}})
	outcome := mustRun(t, r, shellSpec(t, `cat "$MOLFABRIC_SHOWN/content"; touch "$MOLFABRIC_SHOWN/new" 2>/dev/null && echo WRITTEN`))
	if !strings.Contains(outcome.LogTail, "shown") || strings.Contains(outcome.LogTail, "WRITTEN") {
		t.Errorf("got %q, want the content and nothing written", outcome.LogTail)
	}
	changing := shellSpec(t, "true")
	changing.Command.Env = map[string]string{"MOLFABRIC_SHOWN": "/elsewhere"}
	if _, err := r.Run(t.Context(), changing, nil); err == nil {
		t.Error("a command says where the deployment's folder is")
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stopped  Reason
		oomKills int64
		exitCode int
		signal   syscall.Signal
		want     Reason
	}{
		{"", 0, 0, 0, Exited},
		{"", 0, 3, 0, Exited},
		{"", 0, 137, syscall.SIGKILL, Killed},
		{"", 1, 137, syscall.SIGKILL, OutOfMemory},
		{"", 1, 1, 0, OutOfMemory}, // the program saw its child killed
		{"", 1, 0, 0, Exited},      // and came to terms with it
		{TimedOut, 0, 0, 0, TimedOut},
		{Cancelled, 1, 137, syscall.SIGKILL, Cancelled},
	} {
		if got := reasonOf(test.stopped, test.oomKills, test.exitCode, test.signal); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}

// TestFailingSandboxIsNotTheProgramsFailure breaks the launcher, not the program.
func TestFailingSandboxIsNotTheProgramsFailure(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	r.host.bind = append(slices.Clone(r.host.bind), "/no/such/path")
	if got, err := r.Run(t.Context(), shellSpec(t, "true"), nil); err == nil || !strings.Contains(err.Error(), "/no/such/path") {
		t.Errorf("got %+v, %v, want an error that says what is wrong", got, err)
	}
}

func TestRootEntriesMatchTheHost(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	for _, name := range rootNames {
		_, err := os.Lstat(name)
		if got := r.host.visible(name); got != (err == nil) {
			t.Errorf("%s visible: %v, on the host: %v", name, got, err == nil)
		}
	}
}

// TestGroupsAreRemoved looks for what a run leaves behind.
func TestGroupsAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	needsGroups(t, r)
	h := *r.hierarchy
	h.prefix += "removed-" // apart from the other tests'
	r.hierarchy = &h
	spec := shellSpec(t, "sleep 60 & exit 0")
	spec.Needs.TimeLimit = 10 * time.Second
	expect(t, mustRun(t, r, spec), Exited, 0)
	for _, dir := range h.dirs {
		left, err := filepath.Glob(filepath.Join(dir, h.prefix+"*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
