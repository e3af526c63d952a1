package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// TestMachines runs a deployment on three machines: the stores, an API and a scheduler on one, a worker on each of two others,
// network namespaces that long, lossy cables lead to. One of them is cut off in the midst of work, then the other in one
// direction alone: work goes on, nothing is lost and nothing is charged twice.
func TestMachines(t *testing.T) {
	t.Parallel()
	m := openMachines(t)
	account, err := m.Account(t.Context(), plentyPence)
	m.check(err)
	m.pace(account, m.cables[0], 0)
	m.pace(account, m.cables[0], 50*time.Millisecond)
	for _, c := range m.cables {
		c.delay.Store(int64(20 * time.Millisecond))
		c.loss.Store(2)
	}

	jobID, err := account.Submit(t.Context(), Probe{Tasks: 60, Seconds: 0.5, OutputBytes: 20_000}, "")
	m.check(err)
	m.check(m.AwaitEnded(t.Context(), jobID, 5))
	cut := time.Now()
	m.cables[0].there.Store(true)
	m.cables[0].back.Store(true)
	m.check(m.AwaitEnded(t.Context(), jobID, 15)) // the other goes on
	m.check(m.Eventually(t.Context(), "what the lost machine had runs elsewhere", m.Bound(patience),
		func(ctx context.Context) (bool, error) {
			running, err := m.running(ctx, m.Workers()[0].WorkerID())
			return len(running) == 0, err
		}))
	t.Logf("a machine that was cut off was given up after at most %.1f s", time.Since(cut).Seconds())
	m.cables[0].there.Store(false)
	m.cables[0].back.Store(false)

	m.cables[1].back.Store(true) // it hears and is not heard
	<-time.After(3 * time.Second)
	m.cables[1].back.Store(false)
	m.check(m.AwaitCompleted(t.Context(), jobID))

	healed := time.Now()
	again, err := account.Submit(t.Context(), Probe{Tasks: 24, Seconds: 0.5}, "")
	m.check(err)
	m.check(m.AwaitCompleted(t.Context(), again))
	for _, c := range m.cables {
		if n := m.tasksBy(again, c.worker.WorkerID()); n == 0 {
			t.Errorf("%s has done nothing since its cable was mended, %s ago", c.worker.Name, time.Since(healed))
		}
		if c.carried.Load() == 0 || c.lost.Load() == 0 {
			t.Errorf("the cable of %s has carried %d packets and lost %d", c.worker.Name, c.carried.Load(), c.lost.Load())
		}
	}
	m.check(m.Judge(t.Context()))
}

// machines is a World with workers on machines of their own.
type machines struct {
	*World
	t      *testing.T
	cables []*cable
}

func openMachines(t *testing.T) *machines {
	t.Helper()
	name := fmt.Sprintf("mf%d", os.Getpid())
	if out, err := exec.CommandContext(t.Context(), "ip", "netns", "add", name+"a").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: this machine makes no network namespaces: ip netns add: %v: %s", err, out)
	}
	// Addresses of RFC 2544, for networks that are measured; eight for each pair of process and cable.
	base := fmt.Sprintf("198.18.%d.", os.Getpid()>>4&255)
	low := os.Getpid() & 15 * 16
	host := fmt.Sprint(base, low+1)
	var cables []*cable
	for i, letter := range []string{"a", "b"} {
		cables = append(cables, openCable(t, name+letter, i > 0, fmt.Sprint(base, low+1+4*i), fmt.Sprint(base, low+2+4*i)))
	}
	o := options(t)
	w, err := OpenWorld(t.Context(), WorldOptions{Program: o.Program, Python: o.Python, Home: o.Home, Short: true,
		Patience: o.Patience, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		serverstest.Check(t, err)
	}
	m := &machines{World: w, t: t, cables: cables}
	t.Cleanup(func() { // before the cables and the namespaces go
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	redis, s3 := relay(t, host, w.RedisLine.Address()), relay(t, host, w.S3Line.Address())
	_, err = w.StartAPI(t.Context())
	m.check(err)
	_, err = w.StartScheduler(t.Context(), "S3_WORKER_ENDPOINT=http://"+s3)
	m.check(err)
	for _, c := range m.cables {
		c.worker, err = w.StartWorker(t.Context(), WorkerOptions{Home: filepath.Join(o.Home, c.namespace),
			Under: []string{"nsenter", "--net=/var/run/netns/" + c.namespace},
			Env:   []string{"REDIS_URL=" + strings.Replace(w.workerRedisURL, w.RedisLine.Address(), redis, 1)}})
		m.check(err)
	}
	return m
}

func (m *machines) check(err error) {
	m.t.Helper()
	if err == nil {
		return
	}
	for _, p := range m.Processes() {
		m.t.Logf("--- %s\n%s", p.Name, p.tail())
	}
	m.t.Fatal(err)
}

// tasksBy is how many tasks of a job a worker has done.
func (m *machines) tasksBy(jobID, workerID string) (n int) {
	m.t.Helper()
	m.check(m.db.GetContext(m.t.Context(), &n, `SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id
		WHERE t.job_id = $1 AND a.worker_id = $2 AND a.outcome = 'SUCCEEDED'`, jobID, workerID))
	return n
}

// pace tells how long a cable's worker takes for tasks that do nothing, at a delay in each direction. The other worker sleeps.
func (m *machines) pace(a *Account, c *cable, delay time.Duration) {
	m.t.Helper()
	others := slices.DeleteFunc(slices.Clone(m.cables), func(other *cable) bool { return other == c })
	for _, other := range others {
		m.check(other.worker.Pause())
	}
	c.delay.Store(int64(delay))
	const tasks = 40
	began := time.Now()
	jobID, err := a.Submit(m.t.Context(), Probe{Tasks: tasks, OutputBytes: 1000}, "")
	m.check(err)
	m.check(m.AwaitCompleted(m.t.Context(), jobID))
	m.t.Logf("%s, %s each way: %.0f ms a task", c.worker.Name, delay, float64(time.Since(began).Milliseconds())/tasks)
	for _, other := range others {
		m.check(other.worker.Continue())
	}
}

// cable leads from this machine to another one, a network namespace. It carries IP packets between two tunnel devices, late, and
// some of them not at all.
type cable struct {
	namespace     string
	delay         atomic.Int64 // in each direction, as a time.Duration
	loss          atomic.Int64 // packets lost of a hundred
	there, back   atomic.Bool  // cut in that direction
	carried, lost atomic.Int64
	worker        *Process
}

// queued bounds the packets on their way; what comes beyond is lost, as in any router.
const queued = 4096

// openCable makes the namespace, unless it is there, and the devices, with the addresses here and there.
func openCable(t *testing.T, namespace string, add bool, here, there string) *cable {
	t.Helper()
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	if add {
		ip("netns", "add", namespace)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "ip", "netns", "del", namespace).CombinedOutput(); err != nil {
			t.Errorf("ip netns del %s: %v: %s", namespace, err, out)
		}
	})
	near, far := openTunnel(t, namespace+"0"), openTunnel(t, namespace+"1")
	ip("link", "set", namespace+"1", "netns", namespace)
	ip("addr", "add", here, "peer", there, "dev", namespace+"0")
	ip("link", "set", namespace+"0", "up")
	ip("-n", namespace, "addr", "add", there, "peer", here, "dev", namespace+"1")
	ip("-n", namespace, "link", "set", "lo", "up")
	ip("-n", namespace, "link", "set", namespace+"1", "up")
	ip("-n", namespace, "route", "add", "default", "dev", namespace+"1")
	c := &cable{namespace: namespace}
	var running sync.WaitGroup
	running.Go(func() { c.carry(near, far, &c.there) })
	running.Go(func() { c.carry(far, near, &c.back) })
	t.Cleanup(func() {
		if err := errors.Join(near.Close(), far.Close()); err != nil {
			t.Error(err)
		}
		running.Wait()
	})
	return c
}

func openTunnel(t *testing.T, name string) *os.File {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("SKIPPED: this machine has no tunnel devices: %v", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		t.Fatalf("make the device %s: %v", name, err)
	}
	return os.NewFile(uintptr(fd), name)
}

// packet is one that arrives at a time.
type packet struct {
	due  time.Time
	body []byte
}

// carry carries packets one way until a device is closed.
func (c *cable) carry(from io.Reader, to io.Writer, cut *atomic.Bool) {
	way := make(chan packet, queued)
	var writing sync.WaitGroup
	writing.Go(func() {
		for p := range way {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.body) // a device that is down loses what it is given
		}
	})
	defer writing.Wait()
	defer close(way)
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if cut.Load() || rand.Int64N(100) < c.loss.Load() {
			c.lost.Add(1)
			continue
		}
		select {
		case way <- packet{time.Now().Add(time.Duration(c.delay.Load())), slices.Clone(buffer[:n])}:
			c.carried.Add(1)
		default:
			c.lost.Add(1)
		}
	}
}

// relay listens at an address that the other machines reach, and passes connections on to one of this machine. It returns where.
func relay(t *testing.T, host, target string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(conn, target)
		}
	}()
	return listener.Addr().String()
}

// pass carries bytes both ways until one end closes.
func pass(conn net.Conn, target string) {
	defer func() { _ = conn.Close() }()
	other, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(context.Background(), "tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, other}, {other, conn}} {
		go func() {
			_, _ = io.Copy(way[1], way[0])
			ended <- struct{}{}
		}()
	}
	<-ended
}
