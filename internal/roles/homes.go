package roles

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// maxRunningHomes bounds the entries that are looked at: more systems do not run for one user of a machine.
const maxRunningHomes = 100

// runningHomes is the folder where a system that runs notes its home directory for its user's other commands, one file each; ""
// where the user has no home. It is the place of the XDG Base Directory Specification 0.8 for what outlives a command and is no
// setting.
func runningHomes() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "molfabric", "running")
}

// noteHome notes that a system runs from a home directory, until forget. A system without the note works all the same: only
// commands that were not told its home do not find it.
func noteHome(home string, log *slog.Logger) (forget func()) {
	folder := runningHomes()
	if folder == "" {
		return func() {}
	}
	sum := sha256.Sum256([]byte(home))
	path := filepath.Join(folder, hex.EncodeToString(sum[:8]))
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = replaceFile(path, []byte(home))
	}
	if err != nil {
		log.Warn("home not noted; `molfabric doctor` needs --home to find this system", "error", err)
	}
	return func() { _ = os.Remove(path) }
}

// RunningHomes are the home directories from which systems of this user run, the newest first. Notes that a killed system has left
// are removed.
func RunningHomes() []string {
	folder := runningHomes()
	if folder == "" {
		return nil
	}
	notes, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	started := map[string]time.Time{}
	for _, note := range notes[:min(len(notes), maxRunningHomes)] {
		path := filepath.Join(folder, note.Name())
		home, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if running := FindRunning(string(home)); running != nil {
			started[string(home)] = running.StartedAt
		} else {
			_ = os.Remove(path)
		}
	}
	homes := make([]string, 0, len(started))
	for home := range started {
		homes = append(homes, home)
	}
	slices.SortFunc(homes, func(a, b string) int { return started[b].Compare(started[a]) })
	return homes
}
