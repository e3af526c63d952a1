package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/throttle"
)

// wire is one connection to a front door, written byte by byte.
type wire struct {
	net.Conn
	t       *testing.T
	answers *bufio.Reader
}

func dial(t *testing.T, d *apitest.Door) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(apitest.Patience)); err != nil {
		t.Fatal(err)
	}
	return &wire{conn, t, bufio.NewReader(conn)}
}

// send writes lines, each ended as HTTP ends them.
func (w *wire) send(lines ...string) {
	w.t.Helper()
	if _, err := io.WriteString(w.Conn, strings.Join(lines, "\r\n")); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads the next answer whole.
func (w *wire) answer() (*http.Response, string) {
	w.t.Helper()
	got, err := http.ReadResponse(w.answers, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(got.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return got, string(text)
}

// TestLengthBesideChunksClosesTheConnection sends what a proxy in front may have read as two requests, or as one.
func TestLengthBesideChunksClosesTheConnection(t *testing.T) {
	t.Parallel()
	d := open(t)
	const next = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, framing := range map[string]string{
		"length first": "Content-Length: 4\r\nTransfer-Encoding: chunked",
		"chunks first": "Transfer-Encoding: chunked\r\ncontent-length: 4",
	} {
		for _, path := range []string{"/api/v1/probe/echo", "/api/v1/probe/live", "/api/v1/nowhere"} {
			w := dial(t, d)
			w.send("POST "+path+" HTTP/1.1", "Host: x", framing, "", "c", `{"text":"a"}`, "0", "", next)
			got, text := w.answer()
			if !got.Close {
				t.Errorf("%s, %s: the answer %d keeps the connection: %s", name, path, got.StatusCode, text)
			}
			if rest, _ := io.ReadAll(w.answers); len(rest) > 0 {
				t.Errorf("%s, %s: the rest is answered with %s", name, path, rest)
			}
		}
	}
	w := dial(t, d)
	w.send("POST /api/v1/probe/echo HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", "", "c", `{"text":"a"}`, "0", "", next)
	if got, text := w.answer(); got.Close || got.StatusCode != 200 {
		t.Errorf("chunks alone: got %d, closed %v: %s", got.StatusCode, got.Close, text)
	}
	if got, _ := w.answer(); got.StatusCode != 200 {
		t.Errorf("behind chunks alone: got %d", got.StatusCode)
	}
}

// TestExpectationsAreAnsweredAfterTheCredential asks before it sends a body, as curl does with a large one.
func TestExpectationsAreAnsweredAfterTheCredential(t *testing.T) {
	t.Parallel()
	slow := throttle.Limit{Rate: 1, Period: time.Hour, Burst: 50} // nothing comes back while the test counts
	d := open(t, func(deps *api.Deps) { deps.Config.Limits.Credential = slow })
	_, key := d.SignUp().Key(access.Live, access.JobsWrite)
	const body = `{"text":"a"}`
	ask := func(path, length string, more ...string) *wire {
		w := dial(t, d)
		lines := append([]string{"POST " + path + " HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: " + length},
			more...)
		w.send(append(lines, "", "")...)
		return w
	}
	for name, refused := range map[string]struct {
		wire   *wire
		status int
	}{
		"no credential":    {ask("/api/v1/probe/live", "12"), 401},
		"a wrong one":      {ask("/api/v1/probe/live", "12", "Authorization: Bearer svc_live_wrong"), 401},
		"too large":        {ask("/api/v1/probe/live", "99999999", "Authorization: Bearer "+key), 413},
		"no such address":  {ask("/api/v1/nowhere", "12"), 404},
		"another method":   {ask("/api/v1/probe/fail", "12"), 405},
		"no body is taken": {ask("/api/v1/auth/sign-out", "99"), 401},
	} {
		got, text := refused.wire.answer()
		if got.StatusCode != refused.status || !got.Close || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: got %d, closed %v: %s; want %d", name, got.StatusCode, got.Close, text, refused.status)
		}
	}
	for name, w := range map[string]*wire{
		"with a key": ask("/api/v1/probe/live", fmt.Sprint(len(body)), "Authorization: Bearer "+key),
		"public":     ask("/api/v1/probe/echo", fmt.Sprint(len(body))),
	} {
		if got, text := w.answer(); got.StatusCode != http.StatusContinue || text != "" {
			t.Fatalf("%s: got %d %s, want to be asked for the body", name, got.StatusCode, text)
		}
		w.send(body)
		got, text := w.answer()
		if got.StatusCode != 200 || !strings.Contains(text, `"text":"a"`) || got.Close {
			t.Errorf("%s: got %d %s", name, got.StatusCode, text)
		}
		left := got.Header.Get("RateLimit-Remaining")
		if name == "with a key" {
			again := d.WithKey(key).Send("POST", "/api/v1/probe/live", body)
			if after := again.Header.Get("RateLimit-Remaining"); after != minusOne(left) {
				t.Errorf("%s, %s requests are left, and after one more %s: it was counted twice", name, left, after)
			}
		}
	}
}

func minusOne(number string) string {
	var n int
	_, _ = fmt.Sscan(number, &n)
	return fmt.Sprint(n - 1)
}

// TestDifferingIdempotencyKeys sends the header twice.
func TestDifferingIdempotencyKeys(t *testing.T) {
	t.Parallel()
	d := open(t, withKeyedProbe)
	for keys, status := range map[string]int{
		"abcdefgh abcdefgi": 400, "abcdefgh abcdefgh": 200, "abcdefgh": 200, "abcdefgh abcdefgh other-key": 400,
	} {
		w := dial(t, d)
		lines := []string{"POST /api/v1/probe/keyed HTTP/1.1", "Host: x", "Content-Length: 0"}
		for key := range strings.FieldsSeq(keys) {
			lines = append(lines, "Idempotency-Key: "+key)
		}
		w.send(append(lines, "", "")...)
		got, text := w.answer()
		if got.StatusCode != status || status == 400 && !strings.Contains(text, `"IDEMPOTENCY_KEY_MISMATCH"`) {
			t.Errorf("%s: got %d %s, want %d", keys, got.StatusCode, text, status)
		}
	}
}
