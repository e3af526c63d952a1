package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hidden are files of a command that no directory names any more: they take room on the disk as long as a process has them open or
// mapped.
type hidden struct {
	bytes int64
	files int
	blind bool // some process could not be looked into
}

// hiddenSearch looks for them. Threads share their descriptors with the first one of their process: the filter of system calls sees
// to it, so one look a process finds all.
type hiddenSearch struct {
	out       string          // the command's out/, on the host
	place     unix.Statfs_t   // of its file system
	fileBytes int64           // what one file may have at most
	seen      map[uint64]bool // by number on that file system
	found     hidden
}

// hidden finds the files below out that the command has removed and keeps. A file that is mapped and not open any more counts as
// one of fileBytes, because the kernel does not tell how large it is.
func (p *process) hidden(out string, fileBytes int64) hidden {
	s := hiddenSearch{out: out, fileBytes: fileBytes, seen: map[uint64]bool{}}
	if err := unix.Statfs(out, &s.place); err != nil {
		return hidden{}
	}
	var places []string
	for _, pid := range p.pids() {
		if place := s.living(pid); place != "" {
			places = append(places, place)
			s.open(place)
		}
	}
	for _, place := range places {
		s.mapped(place)
	}
	return s.found
}

// pids are the processes of the command.
func (p *process) pids() []int {
	if p.group != nil {
		return p.group.pids()
	}
	return treeOf(p.cmd.Process.Pid)
}

// living is the place in /proc of a thread of a process that has not ended: the first one may have, before the others, and then
// shows neither what they have open nor what they have mapped. It is "" when all have ended.
func (s *hiddenSearch) living(pid int) string {
	first := fmt.Sprintf("/proc/%d", pid)
	if s.alive(first) {
		return first
	}
	threads, _ := namesIn(first + "/task")
	for _, thread := range threads {
		if place := first + "/task/" + thread; s.alive(place) {
			return place
		}
	}
	return ""
}

// alive reports whether a thread has memory.
func (s *hiddenSearch) alive(place string) bool {
	file, err := os.Open(place + "/maps")
	s.found.blind = s.found.blind || errors.Is(err, fs.ErrPermission)
	if err != nil {
		return false
	}
	defer file.Close()
	n, _ := file.Read(make([]byte, 1))
	return n > 0
}

// open counts what a process has open.
func (s *hiddenSearch) open(place string) {
	dir := place + "/fd"
	names, err := namesIn(dir)
	s.found.blind = s.found.blind || errors.Is(err, fs.ErrPermission)
	for _, name := range names {
		var stat unix.Stat_t
		path := dir + "/" + name
		if unix.Stat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink != 0 || s.seen[stat.Ino] {
			continue
		}
		var on unix.Statfs_t
		if unix.Statfs(path, &on) != nil || on.Type != s.place.Type || on.Fsid != s.place.Fsid { // in memory, say
			continue
		}
		const blockBytes = 512 // of Stat_t.Blocks
		s.add(stat.Ino, stat.Blocks*blockBytes)
	}
}

// mapped counts what a process has mapped and nobody has open.
func (s *hiddenSearch) mapped(place string) {
	file, err := os.Open(place + "/maps")
	if err != nil {
		return // ended
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); { // a line that is too long ends it: no path of a shown file is
		if !bytes.HasSuffix(lines.Bytes(), []byte(" (deleted)")) {
			continue
		}
		fields := strings.Fields(lines.Text()) // addresses, rights, offset, device, number, path
		const numberField, pathField = 4, 5
		if len(fields) <= pathField || !within(fields[pathField], filepath.Join(jobDir, outName)) &&
			!within(fields[pathField], s.out) {
			continue
		}
		if number, err := strconv.ParseUint(fields[numberField], 10, 64); err == nil && !s.seen[number] {
			s.add(number, s.fileBytes)
		}
	}
}

func (s *hiddenSearch) add(number uint64, bytes int64) {
	s.seen[number] = true
	s.found.bytes += bytes
	s.found.files++
}

// namesIn are the names in a directory of /proc.
func namesIn(path string) ([]string, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// treeOf is a process and all its descendants.
func treeOf(root int) []int {
	names, _ := namesIn("/proc")
	children := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := readStat(pid); err == nil { // else it has ended
			children[stat.parent] = append(children[stat.parent], pid)
		}
	}
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return slices.Clip(tree)
}
