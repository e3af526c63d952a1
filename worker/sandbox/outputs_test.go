package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
		"../log.txt": ErrUnsafeOutput, "/etc/passwd": ErrUnsafeOutput, "": ErrUnsafeOutput, ".": ErrUnsafeOutput, "poses/../result.json": ErrUnsafeOutput,
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
