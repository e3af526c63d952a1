// Package casetest packs cases for tests, as their users do.
package casetest

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/molfabric/molfabric/internal/casefile"
)

// Files are files with these texts, by their names.
func Files(texts map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return files
}

// Zip is the archive of files.
func Zip(t testing.TB, files fs.FS) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	if err := errors.Join(archive.AddFS(files), archive.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Read packs files into an archive on disk, and reads it as the front door does.
func Read(t testing.TB, files fs.FS) (path string, read *casefile.Case) {
	t.Helper()
	content := Zip(t, files)
	path = filepath.Join(t.TempDir(), "case.zip")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := casefile.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	return path, read
}
