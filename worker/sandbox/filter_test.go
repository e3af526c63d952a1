package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

// foreignABI is that of 32-bit programs on amd64, and just another one on arm64.
const foreignABI = unix.AUDIT_ARCH_I386

// judgeCall asks the filter as the kernel would. The virtual machine reads the numbers high byte first, which the program cannot
// tell.
func judgeCall(t testing.TB, filter *bpf.VM, abi, call uint32, arguments ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64) // struct seccomp_data
	binary.BigEndian.PutUint32(data[0:], call)
	binary.BigEndian.PutUint32(data[4:], abi)
	for i, argument := range arguments {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(argument)) // the low half
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(argument>>32))
	}
	verdict, err := filter.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict)
}

func newFilter(t testing.TB) *bpf.VM {
	t.Helper()
	filter, err := bpf.NewVM(filterProgram())
	if err != nil {
		t.Fatal(err)
	}
	return filter
}

func TestFilterJudgesArguments(t *testing.T) {
	t.Parallel()
	const high = 1 << 40 // the kernel drops it, so the filter must
	filter := newFilter(t)
	for _, test := range []struct {
		name      string
		call      uint32
		arguments []uint64
		want      uint32
	}{
		{"read", unix.SYS_READ, nil, allow},
		{"a thread", unix.SYS_CLONE, []uint64{
			unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SETTLS}, allow},
		{"a fork", unix.SYS_CLONE, []uint64{unix.CLONE_CHILD_CLEARTID | uint64(unix.SIGCHLD)}, allow},
		{"a user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, refuse},
		{"a mount namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWNS | uint64(unix.SIGCHLD)}, refuse},
		{"a network", unix.SYS_CLONE, []uint64{high | unix.CLONE_NEWNET}, refuse},
		{"a thread with descriptors of its own", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_SIGHAND | unix.CLONE_THREAD},
			refuse},
		{"a thread in a network", unix.SYS_CLONE, []uint64{unix.CLONE_FILES | unix.CLONE_THREAD | unix.CLONE_NEWNET}, refuse},
		{"descriptors of a thread's own", unix.SYS_CLOSE_RANGE, []uint64{3, 4, unix.CLOSE_RANGE_UNSHARE}, refuse},
		{"closing at the next program", unix.SYS_CLOSE_RANGE, []uint64{3, 4, unix.CLOSE_RANGE_CLOEXEC}, allow},
		{"room for a file", unix.SYS_FALLOCATE, []uint64{3, 0, 0, 1 << 20}, allow},
		{"a hole", unix.SYS_FALLOCATE, []uint64{3, high | unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE}, allow},
		{"room beyond the end", unix.SYS_FALLOCATE, []uint64{3, unix.FALLOC_FL_KEEP_SIZE}, cannot},
		{"zeros beyond the end", unix.SYS_FALLOCATE, []uint64{3, high | unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE},
			cannot},
		{"clone3", unix.SYS_CLONE3, nil, unknown},
		{"a local socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, allow},
		{"a socket with high bits", unix.SYS_SOCKET, []uint64{high | unix.AF_INET}, allow},
		{"IPv6", unix.SYS_SOCKET, []uint64{unix.AF_INET6}, allow},
		{"the routes", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{"the audit log", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, refuse},
		{"the hypervisor", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK}, refuse},
		{"the kernel's cryptography", unix.SYS_SOCKET, []uint64{unix.AF_ALG}, refuse},
		{"packets", unix.SYS_SOCKET, []uint64{unix.AF_PACKET}, refuse},
		{"a pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX}, allow},
		{"another pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC}, refuse},
		{"the usual personality", unix.SYS_PERSONALITY, []uint64{0}, allow},
		{"which personality", unix.SYS_PERSONALITY, []uint64{personalityQuery}, allow},
		{"addresses that can be guessed", unix.SYS_PERSONALITY, []uint64{0x40000}, refuse},
		{"the size of a terminal", unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, allow},
		{"typing for others", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, refuse},
		{"typing with high bits", unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, refuse},
		{"pasting for others", unix.SYS_IOCTL, []uint64{0, unix.TIOCLINUX}, refuse},
		{"a call to come", newestCall + 1, nil, unknown},
		{"64 bits with small pointers", 0x40000000, nil, unknown},
		{"the highest number", ^uint32(0), nil, unknown},
	} {
		if got := judgeCall(t, filter, nativeABI, test.call, test.arguments...); got != test.want {
			t.Errorf("%s: got %#x, want %#x", test.name, got, test.want)
		}
		if got := judgeCall(t, filter, foreignABI, test.call, test.arguments...); got != kill {
			t.Errorf("%s on a foreign architecture: got %#x, want %#x", test.name, got, kill)
		}
	}
}

// refusedCalls is the list of what must never get onto the other one, written down a second time on purpose.
var refusedCalls = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_ADJTIMEX, unix.SYS_BPF, unix.SYS_CHROOT, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_FINIT_MODULE,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_KCMP, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEYCTL, unix.SYS_LISTMOUNT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MBIND, unix.SYS_MEMFD_SECRET, unix.SYS_MIGRATE_PAGES,
	unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOVE_PAGES, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_PIVOT_ROOT, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PTRACE,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_STATMOUNT, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2,
	unix.SYS_UNSHARE, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

func TestFilterDecidesEveryCall(t *testing.T) {
	t.Parallel()
	filter := newFilter(t)
	allowed := slices.Concat(commonCalls, nativeCalls)
	slices.Sort(allowed)
	if doubled := len(allowed) - len(slices.Compact(slices.Clone(allowed))); doubled > 0 {
		t.Errorf("%d calls are listed twice", doubled)
	}
	for call := range uint32(newestCall + 1) {
		got := judgeCall(t, filter, nativeABI, call)
		_, listed := slices.BinarySearch(allowed, call)
		_, conditional := conditions[call]
		switch {
		case listed && conditional:
			t.Errorf("call %d is allowed both without and with conditions", call)
		case listed && got != allow:
			t.Errorf("call %d is listed and judged %#x", call, got)
		case slices.Contains(refusedCalls, call) && (listed || conditional || got != refuse):
			t.Errorf("call %d must be refused and is judged %#x", call, got)
		case !listed && !conditional && call != unix.SYS_CLONE3 && got != refuse:
			t.Errorf("call %d is not listed and judged %#x", call, got)
		}
	}
	text, err := callFilter()
	if err != nil || len(text)%8 != 0 || len(text)/8 > 4096 { // BPF_MAXINSNS
		t.Errorf("%d bytes, %v", len(text), err)
	}
	t.Logf("%d instructions", len(text)/8)
}

// forbidden are calls that anybody may make elsewhere, or that fail elsewhere for their arguments; none does harm.
var forbidden = []struct {
	name      string
	call      uint32
	arguments string
	want      syscall.Errno
}{
	{"keyctl", unix.SYS_KEYCTL, "0, -1, 0", unix.EPERM}, // KEYCTL_GET_KEYRING_ID
	{"add_key", unix.SYS_ADD_KEY, "0, 0, 0, 0, 0", unix.EPERM},
	{"bpf", unix.SYS_BPF, "9999, 0, 0", unix.EPERM},
	{"userfaultfd", unix.SYS_USERFAULTFD, "1", unix.EPERM},
	{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, "0, 0, -1, -1, 0", unix.EPERM},
	{"io_uring_setup", unix.SYS_IO_URING_SETUP, "1, 0", unix.EPERM},
	{"ptrace", unix.SYS_PTRACE, "2, 1 << 30, 0, 0", unix.EPERM}, // PTRACE_PEEKDATA of nobody
	{"process_vm_readv", unix.SYS_PROCESS_VM_READV, "os.getpid(), 0, 0, 0, 0, 0", unix.EPERM},
	{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, "os.getpid(), 0, 0, 0, 0, 0", unix.EPERM},
	{"pidfd_getfd", unix.SYS_PIDFD_GETFD, "-1, 0, 0", unix.EPERM},
	{"mount", unix.SYS_MOUNT, "0, 0, 0, 0, 0", unix.EPERM},
	{"umount2", unix.SYS_UMOUNT2, "0, 0", unix.EPERM},
	{"fsopen", unix.SYS_FSOPEN, "0, 0", unix.EPERM},
	{"open_tree", unix.SYS_OPEN_TREE, "-1, 0, 0", unix.EPERM},
	{"setns", unix.SYS_SETNS, "-1, 0", unix.EPERM},
	{"unshare", unix.SYS_UNSHARE, "0", unix.EPERM},
	{"clone into a user namespace", unix.SYS_CLONE, "0x10000000 | 17, 0, 0, 0, 0", unix.EPERM},
	{"clone3", unix.SYS_CLONE3, "0, 0", unix.ENOSYS},
	{"init_module", unix.SYS_INIT_MODULE, "0, 0, 0", unix.EPERM},
	{"chroot", unix.SYS_CHROOT, "0", unix.EPERM},
	{"syslog", unix.SYS_SYSLOG, "10, 0, 0", unix.EPERM}, // SYSLOG_ACTION_SIZE_BUFFER
	{"name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, "-1, 0, 0, 0, 0", unix.EPERM},
	{"fixed addresses", unix.SYS_PERSONALITY, "0x40000", unix.EPERM}, // ADDR_NO_RANDOMIZE
	{"socket of the hypervisor", unix.SYS_SOCKET, "40, 1, 0", unix.EPERM},
	{"socket of the kernel's cryptography", unix.SYS_SOCKET, "38, 5, 0", unix.EPERM},
	{"socket for packets", unix.SYS_SOCKET, "17, 2, 0", unix.EPERM},
	{"socket of the audit log", unix.SYS_SOCKET, "16, 3, 9", unix.EPERM},
	{"typing into a terminal", unix.SYS_IOCTL, "0, 0x5412, 0", unix.EPERM}, // TIOCSTI
	{"a call to come", newestCall + 1, "", unix.ENOSYS},
}

// TestForbiddenCallsFail makes the calls in the sandbox, where each must fail as the filter says, and without one, where most must
// fail otherwise or not at all: else the test would pass without a filter too.
func TestForbiddenCallsFail(t *testing.T) {
	t.Parallel()
	cfg := python(t)
	var program strings.Builder
	program.WriteString("import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\ndef attempt(number, *arguments):\n" +
		"    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))\n    if result == 0 and number == " +
		"CLONE:\n        os._exit(0)\n" +
		"    print(ctypes.get_errno() if result == -1 else 0, flush=True)\n")
	fmt.Fprintf(&program, "CLONE = %d\n", unix.SYS_CLONE)
	for _, f := range forbidden {
		fmt.Fprintf(&program, "attempt(%s)\n", strings.TrimSuffix(fmt.Sprintf("%d, %s", f.call, f.arguments), ", "))
	}
	errnos := func(r *Runner) []string {
		spec := shellSpec(t, "")
		spec.Command = engines.Command{Argv: []string{"python", "run.py"},
			Files: map[string][]byte{"run.py": []byte(program.String())}}
		var lines []string
		outcome, err := r.Run(t.Context(), spec, func(line string) { lines = append(lines, line) })
		if err != nil {
			t.Fatal(err)
		}
		expect(t, outcome, Exited, 0)
		if len(lines) != len(forbidden) {
			t.Fatalf("%d lines, want %d: %s", len(lines), len(forbidden), outcome.LogTail)
		}
		return lines
	}
	filtered := newRunner(t, cfg)
	cfg.Isolation = Direct
	with, without := errnos(filtered), errnos(newRunner(t, cfg))
	told := 0
	for i, f := range forbidden {
		want := fmt.Sprint(int(f.want))
		if with[i] != want {
			t.Errorf("%s: error %s, want %s", f.name, with[i], want)
		}
		if without[i] != want {
			told++
		}
	}
	if t.Logf("%d of %d calls end otherwise without the filter", told, len(forbidden)); told < len(forbidden)/2 {
		t.Errorf("only %d of %d calls end otherwise without the filter", told, len(forbidden))
	}
}

// TestForeignProgramsAreEnded makes a system call as a 32-bit program would, from a page of machine code.
func TestForeignProgramsAreEnded(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the machine code is that of amd64")
	}
	cfg := python(t)
	spec := shellSpec(t, "")
	spec.Command.Argv = []string{"python", "-c", `import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("made the call", flush=True)
print(function())`}
	got := mustRun(t, newRunner(t, cfg), spec)
	// the latter of a kernel without such programs
	if got.Reason != Killed || got.Signal != syscall.SIGSYS && got.Signal != syscall.SIGSEGV {
		t.Errorf("ended as %s by %v, want %s by %v; log: %s", got.Reason, got.Signal, Killed, syscall.SIGSYS, got.LogTail)
	}
	if !strings.Contains(got.LogTail, "made the call\n") { // the shell's word about the signal may come before it
		t.Errorf("the call was not made: %s", got.LogTail)
	}
}

// TestThreadsAndProcessesStart starts threads, children and a pool of processes: what clone3 would do on a newer C library.
func TestThreadsAndProcessesStart(t *testing.T) {
	t.Parallel()
	cfg := python(t)
	spec := shellSpec(t, "")
	spec.Command.Argv = []string{"python", "-c", `import multiprocessing, os, subprocess, threading
def square(n): return n * n
if __name__ == "__main__":
    threads = [threading.Thread(target=os.getpid) for _ in range(8)]
    [t.start() for t in threads]; [t.join() for t in threads]
    subprocess.run(["true"], check=True)
    with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(square, range(4)) == [0, 1, 4, 9]`}
	expect(t, mustRun(t, newRunner(t, cfg), spec), Exited, 0)
}
