package alignments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// described makes a folder with a database of two files, its description changed before it is written.
func described(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	folder := t.TempDir()
	var files []map[string]any
	var lines string
	for _, name := range []string{"db", "db.index"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte("of " + name))
		files = append(files, map[string]any{"name": name, "byteSize": len("of " + name), "sha256": hex.EncodeToString(sum[:])})
	}
	// The digest is that of the sorted lines.
	first, second := files[0]["sha256"].(string)+"  db\n", files[1]["sha256"].(string)+"  db.index\n"
	if lines = first + second; second < first {
		lines = second + first
	}
	sum := sha256.Sum256([]byte(lines))
	document := map[string]any{"schema": schema, "name": "small", "version": "1", "prefix": "db", "sequences": 3, "residues": 40,
		"digest": hex.EncodeToString(sum[:]), "files": files}
	change(document)
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, Described), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestOpen(t *testing.T) {
	t.Parallel()
	folder := described(t, func(map[string]any) {})
	found, err := Open(folder)
	if err != nil || found.Name != "small" || found.Residues != 40 || found.Bytes != int64(len("of db")+len("of db.index")) {
		t.Fatalf("got %+v, %v", found, err)
	}
	if whole, err := found.Examine(folder); err != nil || !whole {
		t.Errorf("Examine says %v, %v", whole, err)
	}
	for _, content := range []string{"of dB", "of db, longer"} {
		if err := os.WriteFile(filepath.Join(folder, "db"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := found.Examine(folder); err == nil || !strings.Contains(err.Error(), "db ") {
			t.Errorf("a file that holds %q is taken: %v", content, err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "db")); err != nil {
		t.Fatal(err)
	}
	if _, err := found.Examine(folder); err == nil {
		t.Error("a missing file is taken")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"schema":   {func(d map[string]any) { d["schema"] = "other/v1" }, "schema is"},
		"version":  {func(d map[string]any) { d["version"] = "a b" }, "must be words"},
		"nothing":  {func(d map[string]any) { d["residues"] = 0 }, "must be positive"},
		"no files": {func(d map[string]any) { d["files"] = []any{} }, "names no files"},
		"digest":   {func(d map[string]any) { d["digest"] = strings.Repeat("0", 64) }, "not that of its files"},
		"path":     {func(d map[string]any) { d["files"].([]map[string]any)[0]["name"] = "../db" }, "is no file of a database"},
	} {
		if _, err := Open(described(t, c.change)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "database.py describe") {
		t.Errorf("got %v, want the way to describe a folder", err)
	}
	if _, err := Open("relative/folder"); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("got %v, want a relative path refused", err)
	}
}
