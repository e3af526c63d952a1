package warm

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// mostAnew is the share of programs that a renderer may compile itself, as a divisor.
const mostAnew = 10

// TestCompiledShadersAreUsed: a renderer that gets warm finds nearly everything that it draws with among what set-up has compiled;
// Mesa leaves a file for each program that it has to compile anew.
func TestCompiledShadersAreUsed(t *testing.T) {
	t.Parallel()
	python := enginestest.Python(t)
	compiled := archived(t, filepath.Join(filepath.Dir(python), "..", "share", "molfabric", "shaders.tar"))
	task, err := Command()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	// Chromium makes sockets below it, whose names may have a hundred letters in all.
	temporary, err := os.MkdirTemp("", "warm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	for name, content := range task.Files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	renderer := exec.CommandContext(t.Context(), python, task.Argv[1:]...)
	renderer.Dir, renderer.Env, renderer.Stderr = folder, append(os.Environ(), "TMPDIR="+temporary), os.Stderr
	orders, err := renderer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := renderer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := renderer.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for lines := bufio.NewScanner(said); !ready && lines.Scan(); {
		reply, _ := ParseReply(lines.Text())
		ready = reply.Ready
	}
	if !ready {
		t.Fatalf("the renderer does not get ready: %v", renderer.Wait())
	}
	kept := keptFiles(t, temporary)
	if err := errors.Join(orders.Close(), renderer.Wait()); err != nil {
		t.Error(err)
	}
	if len(kept) == 0 {
		t.Error("the renderer keeps no compiled program")
	}
	anew := 0
	for name := range kept {
		if !compiled[name] {
			anew++
		}
	}
	// The names of a few programs are others from run to run. Without the archive a renderer leaves about a hundred.
	if most := len(compiled) / mostAnew; anew > most {
		t.Errorf("the renderer has compiled %d programs anew, with %d compiled before; want at most %d", anew, len(compiled), most)
	}
}

// archived are the names of the files in the archive that set-up has made.
func archived(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		enginestest.Skip(t, "no shaders are compiled; deploy/setup.sh compiles them")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	names := map[string]bool{}
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names[header.Name] = true
	}
}

// keptFiles are the names of what Mesa keeps for the one viewer below a folder.
func keptFiles(t *testing.T, folder string) map[string]bool {
	t.Helper()
	caches, err := filepath.Glob(filepath.Join(folder, "viewer-*", "shaders"))
	if err != nil || len(caches) != 1 {
		t.Fatalf("the viewer's folders are %v, %v; want one", caches, err)
	}
	names := map[string]bool{}
	err = filepath.WalkDir(caches[0], func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			name, err := filepath.Rel(caches[0], path)
			names[name] = true
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
