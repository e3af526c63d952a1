package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

// TestOutputsAreRegularFilesOnly lets a program write what a collector must not follow.
func TestOutputsAreRegularFilesOnly(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	spec := shellSpec(t, `cd out && mkdir -p poses/a && echo pose >poses/a/1.pdbqt && echo ok >result.json &&
		ln -s /etc/passwd passwd && ln -s poses link && ln -s result.json inside && mkfifo pipe && ln -s / root`)
	expect(t, mustRun(t, r, spec), Exited, 0)

	files, refused, err := Outputs(spec.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := []OutputFile{{"poses/a/1.pdbqt", 5}, {"result.json", 3}}; !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
	if want := []string{"inside", "link", "passwd", "pipe", "root"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
	for name, want := range map[string]error{
		"result.json": nil, "poses/a/1.pdbqt": nil,
		"absent": fs.ErrNotExist, "poses/b/1.pdbqt": fs.ErrNotExist,
		"passwd": ErrUnsafeOutput, "inside": ErrUnsafeOutput, "pipe": ErrUnsafeOutput, "link/a/1.pdbqt": ErrUnsafeOutput,
		"root/etc/passwd": ErrUnsafeOutput, "poses": ErrUnsafeOutput, "result.json/x": ErrUnsafeOutput,
		"../log.txt": ErrUnsafeOutput, "/etc/passwd": ErrUnsafeOutput, "": ErrUnsafeOutput, ".": ErrUnsafeOutput,
		"poses/../result.json": ErrUnsafeOutput,
	} {
		f, err := OpenOutput(spec.Dir, name)
		if !errors.Is(err, want) {
			t.Errorf("open %q: %v, want %v", name, err, want)
		}
		if err == nil {
			if text, err := io.ReadAll(f); err != nil || len(text) == 0 {
				t.Errorf("read %q: %q, %v", name, text, err)
			}
			f.Close()
		}
	}
}

func TestOutItselfMustBeADirectory(t *testing.T) {
	t.Parallel()
	spec := shellSpec(t, "")
	if err := os.Symlink("/etc", filepath.Join(string(spec.Dir), outName)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOutput(spec.Dir, "passwd"); !errors.Is(err, ErrUnsafeOutput) {
		t.Errorf("open through a link: %v, want %v", err, ErrUnsafeOutput)
	}
}

// TestRemoveTree removes directories inside each other beyond the longest path, closed ones, and links.
func TestRemoveTree(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "task")
	if err := os.MkdirAll(filepath.Join(dir, "out", "closed", "removed-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in.txt", "out/closed/x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	symlink(t, "/", filepath.Join(dir, "out", "root"))
	if err := os.Chmod(filepath.Join(dir, "out", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	deepen(t, filepath.Join(dir, "out"), 3_000)
	if err := RemoveTree(dir); err != nil {
		t.Fatalf("%.200s", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if err := RemoveTree(dir); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestOutgrown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files, fileBytes, levels int
		want                     bool
	}{
		"little":         {files: 3, fileBytes: 1000, levels: 3},
		"too many bytes": {files: 3, fileBytes: 400_000, want: true},
		"too many files": {files: 40, want: true},
		"too deep":       {levels: maxOutputDepth + 1, want: true},
	} {
		dir := engines.Dir(t.TempDir())
		if err := os.Mkdir(dir.Out(""), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range test.files {
			if err := os.WriteFile(dir.Out(strconv.Itoa(i)), make([]byte, test.fileBytes), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		deepen(t, dir.Out(""), test.levels)
		if got := outgrown(dir, 1<<20, maxOutputDepth+1); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if outgrown(engines.Dir(t.TempDir()), 0, 0) {
		t.Error("what is not there has outgrown its cap")
	}
}

// deepen makes directories inside each other.
func deepen(t testing.TB, dir string, levels int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range levels {
		if err != nil {
			t.Fatal(err)
		}
		if err = unix.Mkdirat(fd, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		above := fd
		fd, err = unix.Openat(above, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(above)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}
