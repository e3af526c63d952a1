package sandbox

import (
	"testing"
	"time"
)

// hostile is what the programs of TestRemovedFilesAreBounded have in common: they go on until they are stopped.
const hostile = `
import ctypes, ctypes.util, itertools, mmap, os, threading, time
megabyte = bytes(1 << 20)
def removed(name):
    file = os.open('out/' + name, os.O_RDWR | os.O_CREAT)
    os.write(file, megabyte)
    os.unlink('out/' + name)
    return file
def go_on():
    while True:
        time.sleep(1)
`

// TestRemovedFilesAreBounded keeps files that no directory names, in every way that the sandbox can see: a program that does is
// stopped.
func TestRemovedFilesAreBounded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"open": "kept = [removed(str(i)) for i in range(30)]\ngo_on()",
		"of several processes": `
for _ in range(3):
    if os.fork() == 0:
        break
kept = [removed(f'{os.getpid()}-{i}') for i in range(8)]
go_on()`,
		"never named": "kept = [os.open('out', os.O_RDWR | os.O_TMPFILE) for i in range(30)]\nfor file in kept: os.write(file, " +
			"megabyte)\ngo_on()",
		"of a process whose first thread has ended": `
def keep():
    kept = [removed(str(i)) for i in range(30)]
    go_on()
threading.Thread(target=keep).start()
ctypes.CDLL(ctypes.util.find_library('pthread') or 'libc.so.6').pthread_exit(None)`,
		"mapped": `
kept = []
for i in range(30):
    file = removed(str(i))
    kept.append(mmap.mmap(file, 4096))
    os.close(file)
go_on()`,
		"in a directory that is closed": `
os.mkdir('out/d')
for i in range(30):
    open(f'out/d/{i}', 'wb').write(megabyte)
os.chmod('out/d', 0)
go_on()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, limits := range []Limits{LimitsAuto, LimitsRlimits} {
				cfg := python(t)
				cfg.Grace, cfg.Limits = 100*time.Millisecond, limits
				spec := shellSpec(t, "")
				spec.Command.Argv = []string{"python", "-c", hostile + script}
				spec.Needs.FileBytes, spec.Needs.ScratchBytes = 1<<20, 8<<20
				if got := mustRun(t, newRunner(t, cfg), spec); got.Reason != OutputTooLarge {
					t.Errorf("%s: ended as %s with %d, want %s; log: %s", limits, got.Reason, got.ExitCode, OutputTooLarge,
						got.LogTail)
				}
			}
		})
	}
}

// TestRemovedFilesWithinReach: a program may keep a few removed files, and as many as it likes in memory.
func TestRemovedFilesWithinReach(t *testing.T) {
	t.Parallel()
	cfg := python(t)
	spec := shellSpec(t, "")
	spec.Command.Argv = []string{"python", "-c", hostile + `
kept = [removed(str(i)) for i in range(10)]
for i in range(40):
    file = os.open(f'/tmp/{i}', os.O_RDWR | os.O_CREAT)
    os.write(file, megabyte)
    os.unlink(f'/tmp/{i}')
    kept.append(mmap.mmap(file, 4096))
time.sleep(2.5)`}
	spec.Needs.FileBytes, spec.Needs.ScratchBytes = 1<<20, 8<<20
	expect(t, mustRun(t, newRunner(t, cfg), spec), Exited, 0)
}

// TestRoomBeyondTheEndIsRefused asks for a gigabyte that no size of a file shows.
func TestRoomBeyondTheEndIsRefused(t *testing.T) {
	t.Parallel()
	cfg := python(t)
	spec := shellSpec(t, "")
	spec.Command.Argv = []string{"python", "-c", `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
file = os.open('out/x', os.O_RDWR | os.O_CREAT)
length = ctypes.c_int64(1 << 30)
assert libc.fallocate(file, 1, ctypes.c_int64(0), length) == -1 and ctypes.get_errno() == errno.EOPNOTSUPP, ctypes.get_errno()
os.posix_fallocate(file, 0, 1 << 20)
assert os.stat('out/x').st_size == 1 << 20`}
	expect(t, mustRun(t, newRunner(t, cfg), spec), Exited, 0)
}
