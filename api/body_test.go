package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/fault"
)

func TestBodiesAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	deep := strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100)
	for _, one := range []struct {
		name, body string
		header     []string
		status     int
		code       fault.Code
		want       string
	}{
		{name: "empty", body: "", want: "body is required"},
		{name: "not JSON", body: "{\n  \"text\": nope}", want: "text: this is not JSON: expected a value (line 2, column 11)"},
		{name: "cut", body: `{"text":"a`, want: "ends inside a string"},
		{name: "duplicate", body: `{"text":"a","text":"b"}`, want: "text: the member appears twice"},
		{name: "duplicate below metadata", body: `{"text":"a","metadata":{"x":[{"y":1,"y":2}]}}`,
			want: "metadata.x[0].y: the member appears twice"},
		{name: "too deep", body: `{"text":"a","metadata":` + deep + `}`, want: "nesting is deeper than 64 levels"},
		{name: "NUL", body: `{"text":"\u0000"}`, want: "text: the character U+0000 is not allowed"},
		{name: "null", body: `{"text":"a","flag":null}`, want: "flag: null is not allowed"},
		{name: "null below", body: `{"text":"a","list":[{"label":"aa","count":null}]}`, want: "list[0].count: null is not allowed"},
		{name: "null list", body: `{"text":"a","list":null}`, want: "list: null is not allowed"},
		{name: "null required", body: `{"text":null}`, want: "text: null is not allowed"},
		{name: "unknown", body: `{"text":"a","Text":"b"}`, want: "Text: is not a member"},
		{name: "unknown below", body: `{"text":"a","list":[{"label":"aa","colour":"x"}]}`, want: "list[0].colour: is not a member"},
		{name: "missing", body: `{}`, want: "text: is required"},
		{name: "missing below", body: `{"text":"a","list":[{}]}`, want: "list[0].label: is required"},
		{name: "wrong type", body: `{"text":7}`, want: "text: expected string"},
		{name: "array for object", body: `[]`, want: "expected object"},
		{name: "too long", body: `{"text":"` + strings.Repeat("é", 21) + `"}`, want: "text: expected length <= 20"},
		{name: "pattern", body: `{"text":"a","list":[{"label":"SECRET"}]}`,
			want: "list[0].label: expected string to match pattern ^[a-z]+$"},
		{name: "email", body: `{"text":"a","mail":"SECRET"}`, want: "mail: expected string to be RFC 5322 email"},
		{name: "range", body: `{"text":"a","list":[{"label":"aa","count":10}]}`, want: "list[0].count: expected number <= 9"},
		{name: "fraction", body: `{"text":"a","list":[{"label":"aa","count":1.5}]}`, want: "list[0].count: expected integer"},
		{name: "form", body: `text=a`, header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415,
			code: fault.UnsupportedMediaType, want: "application/json"},
		{name: "latin-1", body: `{"text":"a"}`, header: []string{"Content-Type", "application/json; charset=latin1"}, status: 415,
			code: fault.UnsupportedMediaType, want: "UTF-8"},
		{name: "compressed", body: `{"text":"a"}`, header: []string{"Content-Encoding", "gzip"}, status: 415,
			code: fault.UnsupportedMediaType, want: "not compressed"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			if one.status == 0 {
				one.status, one.code = 400, fault.Validation
			}
			got := d.Anonymous().Send("POST", "/api/v1/probe/echo", one.body, one.header...)
			wantFailure(t, got, one.status, one.code, one.want)
			if strings.Contains(got.Text, "SECRET") {
				t.Errorf("the message repeats the submitted value: %s", got.Text)
			}
		})
	}
}

func TestBodiesAreTaken(t *testing.T) {
	t.Parallel()
	c := open(t).Anonymous()
	got := c.Send("POST", "/api/v1/probe/echo?limit=5",
		`{"text":"ä","flag":false,"list":[{"label":"ab"},{"label":"cd","count":2.0}],"metadata":{"n":12345678901234567890,"x":null}}`,
		"Content-Type", "application/json; charset=UTF-8")
	want :=
		`{"text":"ä","flag":false,"list":[{"label":"ab","count":3},{"label":"cd","count":2}],"metadata":{"n":12345678901234567890,"x":null}}`
	if got.StatusCode != http.StatusOK || strings.TrimSpace(got.Text) != want {
		t.Errorf("got %d %s, want %s", got.StatusCode, got.Text, want)
	}
	wantHeaders(t, got)
}

func TestQueryIsRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	for query, want := range map[string]string{
		"?limit=9":         "query.limit: expected number <= 5",
		"?limit=x":         "query.limit: invalid integer",
		"?Limit=1":         "query.Limit: unknown query parameter",
		"?limit=1&debug=1": "query.debug: unknown query parameter",
		"?limit=%00":       "cannot be stored",
		"?limit=%ff":       "cannot be stored",
		"?limit=%zz":       "the query cannot be read",
	} {
		got := d.Anonymous().Send("POST", "/api/v1/probe/echo"+query, `{"text":"a"}`)
		wantFailure(t, got, 400, fault.Validation, want)
	}
}

func TestTooLargeBodies(t *testing.T) {
	t.Parallel()
	d := open(t)
	blob := func(size int) []byte { return []byte(`{"blob":"` + strings.Repeat("x", size) + `"}`) }
	for _, one := range []struct {
		name, path string
		body       io.Reader
		status     int
	}{
		{"default limit", "/api/v1/probe/echo", bytes.NewReader(blob(1 << 20)), 413},
		{"default limit, chunked", "/api/v1/probe/echo", io.MultiReader(bytes.NewReader(blob(2 << 20))), 413},
		{"far too large", "/api/v1/probe/echo", bytes.NewReader(blob(40 << 20)), 413},
		{"own limit", "/api/v1/probe/large", bytes.NewReader(blob(probeMaxBody)), 413},
		{"own limit, chunked", "/api/v1/probe/large", io.MultiReader(bytes.NewReader(blob(probeMaxBody))), 413},
		{"within", "/api/v1/probe/large", bytes.NewReader(blob(probeMaxBody - 11)), 200},
		{"within, chunked", "/api/v1/probe/large", io.MultiReader(bytes.NewReader(blob(9 << 20))), 200},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			got := d.Anonymous().SendFrom("POST", one.path, one.body)
			if one.status == 413 {
				wantFailure(t, got, 413, fault.PayloadTooLarge, "larger than")
			} else if got.StatusCode != one.status {
				t.Errorf("got %d %s", got.StatusCode, got.Text)
			}
		})
	}
}

// TestUnreadBodyDoesNotBecomeARequest sends, in the body of a request that is refused before its body is read, what looks
// like another request on the same connection.
func TestUnreadBodyDoesNotBecomeARequest(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, size := range map[string]int{"short": 100, "long": 400 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(d.Base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if err := conn.SetDeadline(time.Now().Add(apitest.Patience)); err != nil {
				t.Fatal(err)
			}
			smuggled := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + strings.Repeat(" ", size)
			_, err = fmt.Fprintf(conn, "POST /api/v1/probe/live HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"+
				"GET /api/v1/probe/forgotten HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", len(smuggled), smuggled)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "alive") || !strings.Contains(string(text), "401 Unauthorized") {
				t.Errorf("got %s", text)
			}
			if answers := strings.Count(string(text), "HTTP/1.1 "); name == "short" && answers != 2 || name == "long" &&
				answers != 1 {
				t.Errorf("got %d answers: %s", answers, text)
			}
		})
	}
}
