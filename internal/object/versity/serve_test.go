package versity

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSidecarIsChosenOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects, sidecar := filepath.Join(dir, "objects"), filepath.Join(dir, "metadata")
	if err := os.MkdirAll(objects, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := needsSidecar(objects, sidecar); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(sidecar, 0o700); err != nil {
		t.Fatal(err)
	}
	if beside, err := needsSidecar(objects, sidecar); err != nil || !beside {
		t.Errorf("needsSidecar with metadata there = %v, %v; want true", beside, err)
	}
	if _, err := needsSidecar(filepath.Join(dir, "absent"), filepath.Join(dir, "other")); err == nil {
		t.Error("needsSidecar of a missing directory = nil, want an error")
	}
}
