package previews

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// process is one that was seen.
type process struct {
	name    string
	started string // in clock ticks since the boot: a number may be given again
	parent  int
}

// processes are all processes, by number. Those that have ended and are not waited for yet do not count.
func processes(t *testing.T) map[int]process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]process{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		end := bytes.LastIndex(stat, []byte(") "))
		if err != nil || end < 0 {
			continue // it has ended
		}
		_, name, _ := strings.Cut(string(stat[:end]), "(")
		fields := strings.Fields(string(stat[end+2:])) // from the third of proc(5) on
		if fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		found[pid] = process{name: name, started: fields[19], parent: parent}
	}
	return found
}

// below are the processes of the renderers in a directory: those whose command line names it, and their descendants.
func below(t *testing.T, dir string) map[int]process {
	t.Helper()
	all, found := processes(t), map[int]process{}
	for pid, one := range all {
		for at := pid; at > 1; at = all[at].parent {
			line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(at), "cmdline"))
			if err == nil && bytes.Contains(line, []byte(dir)) {
				found[pid] = one
				break
			}
		}
	}
	return found
}

// browsersOf are the numbers of those that are browsers.
func browsersOf(found map[int]process) (pids []int) {
	for pid, one := range found {
		if strings.HasPrefix(one.name, "chrom") {
			pids = append(pids, pid)
		}
	}
	return pids
}
