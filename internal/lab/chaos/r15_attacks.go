package chaos

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/probe"
)

const (
	// attackSeconds marks the probe jobs whose tasks attack: a number that no other test waits for.
	attackSeconds = 0.015625
	// refusedStatus and brokenStatus are the exit statuses of an attack that got nowhere, and of one that got what it wanted.
	refusedStatus = 77
	brokenStatus  = 78

	attackRefused = "ATTACK_REFUSED"
	attackWorked  = "ATTACK_WORKED"
)

// attack is what a program tries that an input has taken over. Its Python ends with an exception when it is refused; when it comes
// to its end it got what it wanted. want is the code of the task's failure, and held says that the worker's log must tell of it.
type attack struct {
	name, python, want string
	held               bool
}

// targets are what attacks aim at.
type targets struct {
	home      string   // of the World
	addresses []string // host:port of what listens on this machine
	worker    int      // process id
	secret    string   // a variable of the worker's environment
}

// attacks are made by tasks 2, 3, … of a job; the first one is an honest task. They need no right that a program does not have.
func (t targets) attacks() []attack {
	addresses, _ := json.Marshal(t.addresses) // texts
	list := []attack{
		{"read the worker's environment", fmt.Sprintf("import glob\nsecret = %q.encode()\nfor path in "+
			"glob.glob('/proc/*/environ'):\n    if secret in open(path, 'rb').read(): raise SystemExit(78)\nraise "+
			"OSError('nobody here has it')", t.secret), "", false},
		{"read the worker's files", fmt.Sprintf("import os\nos.listdir(%q)", t.home), "", false},
		{"read the password hashes", "open('/etc/shadow').read()", "", false},
		{"read the kernel's memory", "open('/proc/kcore', 'rb').read(1)", "", false},
		{"read the disk", "import os, stat\nos.mknod('out/disk', stat.S_IFBLK | 0o600, os.makedev(254, 0))\nopen('out/disk', " +
			"'rb').read(1)", "", false},
		{"connect to the stores", connecting + fmt.Sprintf("connect(%s)", addresses), "", false},
		{"connect to the cloud's metadata", connecting + "connect(['169.254.169.254:80', '[fd00:ec2::254]:80', '192.0.2.1:443'])",
			"", false},
		{"ask for an address", "import socket\nsocket.getaddrinfo('example.org', 80)", "", false},
		{"open a raw socket", "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)", "", false},
		{"fork without end", "import os\nwhile True: os.fork()", "", true},
		{"start threads without end", "import threading\nwhile True: threading.Thread(target=threading.Event().wait, " +
			"daemon=True).start()", "", true},
		{"write outside", "import os\nfor path in ('/x', '/usr/x', '/etc/x', '/job/x', '/job/in/x', '/dev/x', '/sys/x', " +
			"'/proc/sys/kernel/core_pattern'):\n    try:\n        open(path, 'w'); raise SystemExit(78)\n    except OSError as " +
			"refused: print(refused)\nraise OSError('nowhere')", "", false},
		{"write one endless file", "import os\nos.truncate(os.open('out/x', os.O_CREAT | os.O_WRONLY), 1 << 40)", "", false},
		{"nest directories without end", "import os, time\nos.chdir('out')\nfor _ in range(2000):\n    os.mkdir('d')\n    " +
			"os.chdir('d')\ntime.sleep(60)", "OUTPUT_TOO_LARGE", false},
		{"read through a link", "import os\nos.symlink('/etc/shadow', 'out/x')\nopen('out/x').read()", "OUTPUT_UNSAFE", false},
		{"publish through a link", "import os\nos.symlink('/etc/passwd', 'out/probe.txt')\nos._exit(0)", "OUTPUT_UNSAFE", false},
		{"publish a pipe", "import os\nos.mkfifo('out/probe.txt')\nos._exit(0)", "OUTPUT_UNSAFE", false},
		{"take all memory", "keep = [b'x' * (8 << 20) for _ in range(1000)]", "OUT_OF_MEMORY", false},
		{"fill the shared memory", "for i in range(100): open(f'/dev/shm/{i}', 'wb').write(bytes(8 << 20))", "", false},
		{"kill the worker", fmt.Sprintf("import os\nos.kill(%d, 9)", t.worker), "", false},
		{"outlive the task", "import os\nif not os.fork():\n    os.setsid()\n    while True: __import__('time').sleep(1)\nraise " +
			"OSError('left a child behind')", "", false},
		{"become root", "import os\nos.setuid(0)", "", false},
		{"make forbidden calls", forbiddenCalls, "", false},
		{"print without end", "for _ in range(400): print('x' * 10000)\nraise OSError('printed 4 MB')", "", false},
	}
	if runtime.GOARCH == "amd64" {
		list = append(list, attack{"call as a 32-bit program", foreignCall, "CALL_FORBIDDEN", true})
	}
	for i := range list {
		if list[i].want == "" {
			list[i].want = attackRefused
		}
	}
	return list
}

// connecting tries addresses, and is content with one that answers.
const connecting = `import socket
def connect(addresses):
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), 2)
        except OSError as refused:
            print(address, refused)
            continue
        raise SystemExit(78)
    raise OSError("none of them")
`

// forbiddenCalls makes calls that only a filter refuses to a program without rights: ptrace(PTRACE_TRACEME) and
// keyctl(KEYCTL_GET_KEYRING_ID) on amd64 and arm64, and unshare(CLONE_NEWUSER).
const forbiddenCalls = `import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
amd64 = platform.machine() == "x86_64"
calls = (101 if amd64 else 117, 0, 0, 0, 0), (250 if amd64 else 219, 0, -1, 0), (272 if amd64 else 97, 0x10000000)
for number, *arguments in calls:
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) >= 0:
        raise SystemExit(78)
    print(number, os.strerror(ctypes.get_errno()))
raise OSError("all of them")`

// foreignCall is getpid() of a 32-bit program.
const foreignCall = `import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()`

// attackProgram runs an attack and tells by its exit status how it went.
const attackProgram = `import runpy, sys
try:
    runpy.run_path("attack.py")
except SystemExit:
    raise
except BaseException as refused:
    print("refused:", type(refused).__name__, refused, flush=True)
    sys.exit(77)
sys.exit(78)
`

// intruder is the probe with another program: what a hostile input would make of it. Everything else of it is the engine that the
// scheduler plans with.
type intruder struct {
	probe.Probe
	attacks []attack
}

// Command is an attack, or the probe's own command for the first task and for other jobs.
func (e intruder) Command(shard engines.Shard, dir engines.Dir) (engines.Command, error) {
	a, hostile := e.of(shard)
	if !hostile {
		return e.Probe.Command(shard, dir)
	}
	return engines.Command{Argv: []string{"python", "-B", "run.py"}, Files: map[string][]byte{"run.py": []byte(attackProgram),
		"attack.py": []byte(a.python)}}, nil
}

// of is the attack of a shard.
func (e intruder) of(shard engines.Shard) (attack, bool) {
	var params struct{ Seconds float64 }
	if err := json.Unmarshal(shard.Params, &params); err != nil || params.Seconds != attackSeconds {
		return attack{}, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(shard.Name, "probe-"))
	if err != nil || n < 2 || n-2 >= len(e.attacks) {
		return attack{}, false
	}
	return e.attacks[n-2], true
}

// Explain tells how an attack went. A failure of the caller's is not tried again.
func (e intruder) Explain(shard engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	a, hostile := e.of(shard)
	switch {
	case !hostile:
		return e.Probe.Explain(shard, dir, exitCode, logTail)
	case exitCode == refusedStatus:
		return &engines.Failure{Class: engines.UserInput, Code: attackRefused, Message: "could not " + a.name}
	case exitCode == brokenStatus:
		return &engines.Failure{Class: engines.UserInput, Code: attackWorked, Message: "could " + a.name}
	}
	return nil
}

var _ engines.Explainer = intruder{}
