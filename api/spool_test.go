package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/fault"
)

// largestBody is what submit and estimate take (doc/contract.md §8).
const largestBody = 160 << 20

// openSpool starts a front door with an operation that takes the largest body, and a spool of its own.
func openSpool(t *testing.T, bytes int64, during func()) (d *apitest.Door, dir string, spooled func() float64) {
	t.Helper()
	dir = t.TempDir()
	var metrics *prometheus.Registry
	d = open(t, func(deps *api.Deps) {
		metrics, deps.Config.SpoolDir, deps.Config.SpoolBytes = deps.Metrics, dir, bytes
		deps.Groups = append(deps.Groups, func(a huma.API) {
			huma.Register(a, access.Guarded(huma.Operation{OperationID: "probe-library", Method: http.MethodPost,
				Path: "/v1/probe/library"},
				access.Rule{Public: true, MaxBody: largestBody}),
				func(_ context.Context, in *largeInput) (*struct{ Body int }, error) {
					during()
					return &struct{ Body int }{len(in.Body.Blob)}, nil
				})
		})
	})
	return d, dir, func() float64 { return gauge(t, metrics, "http_body_spool_bytes") }
}

func gauge(t *testing.T, metrics *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// eventually polls a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, again := time.After(apitest.Patience), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("still not: %s", what)
		case <-again.C:
		}
	}
}

// heldFiles counts this process' open files in dir, those without a name included.
func heldFiles(t *testing.T, dir string) int {
	t.Helper()
	held := 0
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	for _, one := range descriptors {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", one.Name())); err == nil &&
			strings.HasPrefix(target, dir+"/") {
			held++
		}
	}
	return held
}

func heapBytes() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestSlowLargeBodiesHoldNoMemory: 20 senders have sent 10 MB each and stall. It runs beside no other test, for it measures
// the heap.
func TestSlowLargeBodiesHoldNoMemory(t *testing.T) {
	const (
		senders   = 20
		sentEach  = 10 << 20
		heapBound = 24 << 20 // of 200 MB that have come: a MB a connection and slack
	)
	d, dir, spooled := openSpool(t, 1<<30, func() {})
	part := bytes.Repeat([]byte("x"), 1<<20)
	before := heapBytes()
	var connections []net.Conn
	for i := range senders {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		connections = append(connections, conn)
		header := "Content-Length: " + strconv.Itoa(largestBody)
		if i%2 == 1 {
			header = "Transfer-Encoding: chunked"
		}
		if _, err := fmt.Fprintf(conn, "POST /api/v1/probe/library HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", header); err != nil {
			t.Fatal(err)
		}
		for range sentEach / len(part) {
			if i%2 == 1 {
				_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(part), part)
			} else {
				_, err = conn.Write(part)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all that was sent lies on disk", func() bool { return spooled() == senders*sentEach })
	if grown := heapBytes() - before; grown > heapBound {
		t.Errorf("the heap has grown by %d MB while %d MB were on their way in", grown>>20, senders*sentEach>>20)
	}
	if named, err := os.ReadDir(dir); err != nil || len(named) != 0 {
		t.Errorf("files with names: %v, %v", named, err)
	}
	if held := heldFiles(t, dir); held != senders {
		t.Errorf("%d files are open, want %d", held, senders)
	}
	for _, conn := range connections {
		_ = conn.Close()
	}
	eventually(t, "the disk is given back", func() bool { return spooled() == 0 && heldFiles(t, dir) == 0 })
}

// TestLargeBodiesAreDecodedInTurn: of many that have come, two are in memory at once, and every one gets its answer.
func TestLargeBodiesAreDecodedInTurn(t *testing.T) {
	t.Parallel()
	inside, full := make(chan struct{}, 2), make(chan struct{})
	d, dir, spooled := openSpool(t, 1<<30, func() {
		select {
		case inside <- struct{}{}:
		default:
			t.Error("a third body is in memory")
			return
		}
		<-full // until two are inside
		<-inside
	})
	blob := strings.Repeat("x", 8<<20)
	answers := make(chan apitest.Answer, 3)
	for range cap(answers) {
		go func() { answers <- d.Anonymous().Send("POST", "/api/v1/probe/library", `{"blob":"`+blob+`"}`) }()
	}
	eventually(t, "two bodies are decoded", func() bool { return len(inside) == 2 })
	close(full)
	for range cap(answers) {
		if got := <-answers; got.StatusCode != 200 || strings.TrimSpace(got.Text) != strconv.Itoa(len(blob)) {
			t.Errorf("got %d %.200s", got.StatusCode, got.Text)
		}
	}
	eventually(t, "the disk is given back", func() bool { return spooled() == 0 && heldFiles(t, dir) == 0 })
}

// TestNoRoomForABody: the disk is full, or there is none. Small bodies need none.
func TestNoRoomForABody(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T) (*apitest.Door, func() float64){
		"our part is full": func(t *testing.T) (*apitest.Door, func() float64) {
			d, _, spooled := openSpool(t, 1<<20, func() {})
			return d, spooled
		},
		"no directory": func(t *testing.T) (*apitest.Door, func() float64) {
			d, dir, spooled := openSpool(t, 1<<30, func() {})
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			return d, spooled
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, spooled := change(t)
			body := `{"blob":"` + strings.Repeat("x", 4<<20) + `"}`
			for _, reader := range []io.Reader{strings.NewReader(body), io.MultiReader(strings.NewReader(body))} {
				got := d.Anonymous().SendFrom("POST", "/api/v1/probe/library", reader)
				wantFailure(t, got, 503, fault.ProviderUnavailable, "no room for a body of this size")
				if got.Header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			}
			if got := d.Anonymous().Send("POST", "/api/v1/probe/library", `{"blob":"small"}`); got.StatusCode != 200 {
				t.Errorf("a small body: %d %s", got.StatusCode, got.Text)
			}
			if left := spooled(); left != 0 {
				t.Errorf("%v bytes are still taken", left)
			}
		})
	}
}

// TestCutBodyIsNoRequest: what has come before the sender hung up is whole JSON, but not what was announced.
func TestCutBodyIsNoRequest(t *testing.T) {
	t.Parallel()
	d := open(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(apitest.Patience)); err != nil {
		t.Fatal(err)
	}
	padding := strings.Repeat(" ", 100<<10) // beyond what is read together with the header
	_, err = fmt.Fprintf(conn, "POST /api/v1/probe/echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{\"text\":\"a\"}%s",
		200<<10, padding)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil || !strings.Contains(string(text), "400 Bad Request") {
		t.Errorf("got %s, %v", text, err)
	}
}
