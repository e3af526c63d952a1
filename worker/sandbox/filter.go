package sandbox

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Verdicts of the filter, as the kernel reads them (seccomp(2)).
const (
	allow   = uint32(unix.SECCOMP_RET_ALLOW)
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	cannot  = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP) // of a file system that lacks something
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)     // makes C libraries fall back on an older call
	kill    = uint32(unix.SECCOMP_RET_KILL_PROCESS)
)

// Where the kernel puts what the filter looks at (struct seccomp_data), on machines that store the low bytes first.
const (
	numberOffset    = 0
	abiOffset       = 4
	argumentsOffset = 16
	argumentBytes   = 8
)

// newestCall is the last call that the list below was made with; what came later is unknown rather than refused, as it would be on
// an older kernel.
const newestCall = unix.SYS_RSEQ_SLICE_YIELD

// namespaceFlags are the flags of clone(2) that make namespaces. Only unshare and clone3 can make one of time.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// personalityQuery asks personality(2) for the current one.
const personalityQuery = 0xffffffff

// match compares the bits of mask in one argument with a value. The kernel takes all the arguments that are compared here as 32
// bits, so only those count: a filter that looked at 64 could be passed by setting one that the kernel then ignores.
type match struct {
	argument    int
	mask, value uint32
	differs     bool // the bits must not be the value
}

// wholeArgument is the mask of all its bits.
const wholeArgument = math.MaxUint32

func is(argument int, value uint32) match {
	return match{argument: argument, mask: wholeArgument, value: value}
}

func isNot(argument int, value uint32) match {
	return match{argument: argument, mask: wholeArgument, value: value, differs: true}
}

// conditions are the calls that are allowed for some arguments alone: when all matches of one of their alternatives hold.
var conditions = map[uint32][][]match{
	// Threads and processes, but no namespaces, and no threads with descriptors of their own: nobody would look for their files.
	unix.SYS_CLONE: {
		{{argument: 0, mask: namespaceFlags | unix.CLONE_THREAD, value: 0}},
		{{argument: 0, mask: namespaceFlags | unix.CLONE_THREAD | unix.CLONE_FILES, value: unix.CLONE_THREAD | unix.CLONE_FILES}},
	},
	unix.SYS_CLOSE_RANGE: {{{argument: 2, mask: unix.CLOSE_RANGE_UNSHARE, value: 0}}},
	// Room for a file below the cap of its size, and holes in it. Room beyond its end (FALLOC_FL_KEEP_SIZE) has no cap: one call
	// could take the disk.
	unix.SYS_FALLOCATE: {{is(1, 0)}, {is(1, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE)}},
	// Sockets within the sandbox and in its own empty network. MPI and getifaddrs(3) ask for the interfaces through netlink.
	unix.SYS_SOCKET: {{is(0, unix.AF_UNIX)}, {is(0, unix.AF_INET)}, {is(0, unix.AF_INET6)},
		{is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)}},
	unix.SYS_SOCKETPAIR: {{is(0, unix.AF_UNIX)}},
	// The usual personality: others switch off the randomised address space.
	unix.SYS_PERSONALITY: {{is(0, 0)}, {is(0, personalityQuery)}},
	// Everything but typing into a terminal for others.
	unix.SYS_IOCTL: {{isNot(1, unix.TIOCSTI), isNot(1, unix.TIOCLINUX)}},
}

// refusals are the answers to calls that conditions do not allow, where programs know another one than EPERM.
var refusals = map[uint32]uint32{unix.SYS_FALLOCATE: cannot}

// callFilter is the program that the kernel runs at each system call of a sandboxed command, in the form that bwrap takes.
//
// It is an allow list as that of container runtimes is: calls that are not on it fail with EPERM, clone3 and what the list does not
// know with ENOSYS. Beside what those refuse it refuses ptrace and process_vm_*, io_uring, and sockets of other families than
// those of conditions. Calls of another architecture (32-bit programs) end the process.
func callFilter() ([]byte, error) {
	raw, err := bpf.Assemble(filterProgram())
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, 8*len(raw))
	for _, instruction := range raw { // struct sock_filter
		text = binary.NativeEndian.AppendUint16(text, instruction.Op)
		text = append(text, instruction.Jt, instruction.Jf)
		text = binary.NativeEndian.AppendUint32(text, instruction.K)
	}
	return text, nil
}

// usableFilter is callFilter where the kernel has filters of system calls; elsewhere it is nil and why says so.
func usableFilter() (filter []byte, why string, err error) {
	if _, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		return nil, "the kernel has no filters of system calls", nil //nolint:nilerr // the one error of this call (prctl(2))
	}
	if filter, err = callFilter(); err != nil {
		return nil, "", fmt.Errorf("assemble the filter of system calls: %w", err)
	}
	return filter, "", nil
}

// filterProgram checks the architecture, then searches for the number of the call.
func filterProgram() []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: abiOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: nativeABI, SkipTrue: 1},
		bpf.RetConstant{Val: kill},
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
	}, search(callSpans())...)
}

// span is a range of call numbers, to the start of the next one, with what is to be done at each of them.
type span struct {
	from uint32
	then []bpf.Instruction
}

// callSpans cover all numbers, in ascending order.
func callSpans() []span {
	allowed := map[uint32]bool{}
	for _, call := range slices.Concat(commonCalls, nativeCalls) {
		allowed[call] = true
	}
	verdict := func(call uint32) []bpf.Instruction {
		switch {
		case call > newestCall || call == unix.SYS_CLONE3: // whose flags lie in memory, where no filter can look
			return []bpf.Instruction{bpf.RetConstant{Val: unknown}}
		case conditions[call] != nil:
			return decide(conditions[call], cmp.Or(refusals[call], refuse))
		case allowed[call]:
			return []bpf.Instruction{bpf.RetConstant{Val: allow}}
		}
		return []bpf.Instruction{bpf.RetConstant{Val: refuse}}
	}
	var spans []span
	for call := range uint32(newestCall + 2) {
		then := verdict(call)
		if len(spans) == 0 || !slices.Equal(spans[len(spans)-1].then, then) {
			spans = append(spans, span{call, then})
		}
	}
	return spans
}

// search finds the span of the number that has been loaded, in as many steps as the logarithm of their count.
func search(spans []span) []bpf.Instruction {
	if len(spans) == 1 {
		return spans[0].then
	}
	half := len(spans) / 2
	low, high := search(spans[:half]), search(spans[half:])
	// An unconditional jump reaches farther than the 255 instructions of a conditional one.
	here := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[half].from, SkipFalse: 1},
		bpf.Jump{Skip: uint32(len(low))}}
	return slices.Concat(here, low, high)
}

// decide allows a call when all matches of one alternative hold; otherwise is the answer to others.
func decide(alternatives [][]match, otherwise uint32) []bpf.Instruction {
	var program []bpf.Instruction
	for _, matches := range alternatives {
		success := []bpf.Instruction{bpf.RetConstant{Val: allow}}
		for _, m := range slices.Backward(matches) {
			test := bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: m.value, SkipTrue: uint8(len(success))}
			if m.differs {
				test.Cond = bpf.JumpEqual
			}
			success = slices.Concat([]bpf.Instruction{
				bpf.LoadAbsolute{Off: argumentsOffset + uint32(m.argument)*argumentBytes, Size: 4},
				bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: m.mask},
				test,
			}, success)
		}
		program = append(program, success...)
	}
	return append(program, bpf.RetConstant{Val: otherwise})
}
