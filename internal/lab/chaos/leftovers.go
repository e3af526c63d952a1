package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/object"
)

const (
	// measuredFiles bounds how many stored files are read and held against their digests; of the others the size counts.
	measuredFiles = 200
	// gatewayWork is where the S3 server keeps what is not an object yet, below its bucket.
	gatewayWork = ".sgwtmp"
	// cgroupRoot is where the kernel's control groups are mounted.
	cgroupRoot = "/sys/fs/cgroup"
	// cgroupDepth bounds the search for control groups that were left behind.
	cgroupDepth = 8
)

// judgeObjects finds files that the database names and the store does not have as they were recorded, and what is half written.
func (w *World) judgeObjects(ctx context.Context) ([]Finding, error) {
	recorded, err := storedFiles(ctx, w.db)
	if err != nil {
		return nil, err
	}
	findings, err := judgeRecorded(ctx, w.objects, recorded)
	if err != nil {
		return nil, err
	}
	open, err := openUndertakings(ctx, w.db)
	if err != nil {
		return nil, err
	}
	halves, err := halfWritten(filepath.Join(w.home, "s3", "server", "objects"), open)
	return append(findings, halves...), err
}

// judgeRecorded holds the records of files against the store.
func judgeRecorded(ctx context.Context, objects *object.Store, recorded []storedFile) ([]Finding, error) {
	const check = "every stored file is whole"
	sizes := map[string]int64{}
	for info, err := range objects.List(ctx, "accounts/") {
		if err != nil {
			return nil, fmt.Errorf("list the objects: %w", err)
		}
		sizes[info.Key] = info.ByteSize
	}
	var findings []Finding
	for i, file := range recorded {
		size, there := sizes[file.Key]
		switch {
		case !there:
			findings = append(findings, Finding{Check: check, Subject: file.Key,
				Detail: "it is recorded, and the store does not have it"})
		case size != file.Size:
			findings = append(findings, Finding{Check: check, Subject: file.Key,
				Detail: fmt.Sprintf("it has %d bytes, recorded are %d", size, file.Size)})
		case i < measuredFiles:
			info, err := objects.Measure(ctx, file.Key)
			if err != nil {
				return nil, err
			}
			if info.SHA256 != file.SHA256 {
				findings = append(findings, Finding{Check: check, Subject: file.Key, Detail: "it has another digest than recorded"})
			}
		}
	}
	return findings, nil
}

// halfWritten finds what the S3 server has been sent in part: uploads in parts that nobody goes on with, and temporary files.
func halfWritten(objects string, open []string) ([]Finding, error) {
	const check = "nothing is half written"
	var findings []Finding
	err := filepath.WalkDir(objects, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		_, within, work := strings.Cut(path, gatewayWork+"/")
		parts := strings.Split(within, "/")
		switch {
		case !work:
		case parts[0] != "multipart" && !entry.IsDir():
			findings = append(findings, Finding{Check: check, Subject: path, Detail: "a temporary file of the object store"})
		case parts[0] == "multipart" && len(parts) == 3 && entry.IsDir() && !slices.Contains(open, parts[2]):
			findings = append(findings, Finding{Check: check, Subject: path, Detail: "an upload in parts that nobody goes on with"})
		}
		return nil
	})
	return findings, err
}

// judgeLeftovers finds processes, control groups and directories that outlive what made them. Nothing but the stores may run. What
// has just been told to end gets a moment.
func (w *World) judgeLeftovers(ctx context.Context) ([]Finding, error) {
	var findings []Finding
	err := w.Eventually(ctx, "nothing is left behind", leavingPatience, func(context.Context) (bool, error) {
		findings = slices.Concat(w.orphans(), leftGroups(cgroupRoot, w.workerGroups()), w.leftDirectories())
		return len(findings) == 0, nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return findings, nil
}

// orphans finds processes that have to do with the World's directory and are neither its stores nor their children.
func (w *World) orphans() []Finding {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []Finding{{Check: "no process is left", Subject: "/proc", Detail: err.Error()}}
	}
	var findings []Finding
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || w.isStore(pid) || !mentions(pid, w.home) {
			continue
		}
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		findings = append(findings, Finding{Check: "no process is left", Subject: strconv.Itoa(pid),
			Detail: string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))})
	}
	return findings
}

// isStore tells whether a process is one of the stores or a child of one.
func (w *World) isStore(pid int) bool {
	parent := parentOf(pid)
	for _, store := range []int{pidOf(w.postgres), pidOf(w.redis), pidOf(w.s3)} {
		if store != 0 && (pid == store || parent == store) {
			return true
		}
	}
	return false
}

func pidOf[S killable](store S) int {
	var none S
	if store == none {
		return 0
	}
	return store.PID()
}

// parentOf is the id of a process' parent; 0 when it has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // digits, by proc(5)
	return parent
}

// mentions tells whether a process was started with a directory, works in it, or has it mounted. A zombie does nothing of it.
func mentions(pid int, dir string) bool {
	for _, file := range []string{"cmdline", "environ", "mountinfo"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err == nil && bytes.Contains(text, []byte(dir+"/")) {
			return true
		}
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && strings.HasPrefix(cwd, dir+"/")
}

// workerGroups are what the control groups' names begin with of all workers that have ever run here.
func (w *World) workerGroups() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.groups)
}

// leftGroups finds control groups whose names begin with one of prefixes.
func leftGroups(root string, prefixes []string) []Finding {
	var findings []Finding
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error { // groups of others come and go meanwhile
		if err != nil {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			return nil
		}
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(entry.Name(), prefix) }) {
			findings = append(findings, Finding{Check: "no control group is left", Subject: path,
				Detail: "the worker that made it runs no more"})
		}
		if strings.Count(strings.TrimPrefix(path, root), "/") >= cgroupDepth {
			return fs.SkipDir
		}
		return nil
	})
	return findings
}

// leftDirectories finds what workers, and programs that use temporary files, have left on the disk.
func (w *World) leftDirectories() []Finding {
	w.mu.Lock()
	homes := slices.Clone(w.homes)
	w.mu.Unlock()
	var left []string
	for _, home := range homes {
		scratch, _ := filepath.Glob(filepath.Join(home, "scratch", "wrk_*")) // the pattern is well-formed
		left = append(left, scratch...)
	}
	temporary, _ := filepath.Glob(filepath.Join(w.temp(), "*"))
	var findings []Finding
	for _, path := range append(left, temporary...) {
		findings = append(findings, Finding{Check: "no temporary directory is left", Subject: path,
			Detail: "nobody uses it any more"})
	}
	return findings
}

// temp is the World's directory for temporary files.
func (w *World) temp() string { return filepath.Join(w.home, "tmp") }
