package roles

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnnouncedStoresAreTheOwnersAlone: running.json holds the stores' keys, also where an earlier program left one that all may read.
func TestAnnouncedStoresAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(runningFile(home), []byte(`{"pid":1,"url":"http://old"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(runningFile(home), 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	old, err := os.Open(runningFile(home))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	running := Running{PID: os.Getpid(), URL: "http://new", Stores: RunningStores{DatabaseURL: "postgres://secret"}}
	forget, err := announce(home, running)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(runningFile(home))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("the mode is %v, want 0600", info.Mode())
	}
	if before, err := old.Stat(); err != nil || os.SameFile(info, before) {
		t.Errorf("who has the old file open reads the new one (%v)", err)
	}
	if got := FindRunning(home); got == nil || got.URL != running.URL || got.Stores != running.Stores {
		t.Errorf("found is %+v, want %+v", got, running)
	}
	if files, err := os.ReadDir(home); err != nil || len(files) != 1 {
		t.Errorf("left are %v (%v), want one file", files, err)
	}
	forget()
	if got := FindRunning(home); got != nil {
		t.Errorf("found is %+v, want nothing", got)
	}
	if _, err := announce(filepath.Join(home, "absent"), running); err == nil {
		t.Error("a home that is not there is no error")
	}
}
