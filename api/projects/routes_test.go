package projects_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// TestForeignProjectsAreUnknown compares, on every route and byte for byte, the answer for another account's project with that
// for none.
func TestForeignProjectsAreUnknown(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	p := d.account().create(`{}`)
	stranger := d.account()
	for _, base := range []string{base, "/api/molecular/projects"} {
		for _, r := range []struct{ method, tail, body string }{
			{"GET", "", ""},
			{"PUT", "", `{"name":"a","content":{},"expectedVersion":1}`},
			{"DELETE", "?expectedVersion=1", ""},
			{"DELETE", "?expectedVersion=2", ""},
			{"GET", "/revisions", ""},
			{"GET", "/revisions/1", ""},
			{"POST", "/revisions/1/restore", `{"expectedVersion":1}`},
			{"POST", "/shares", `{"expectedVersion":1}`},
			{"POST", "/shares", `{"expectedVersion":9,"content":{}}`},
			{"DELETE", "/shares?expectedVersion=1", ""},
		} {
			foreign := stranger.do(r.method, base+"/"+p.ProjectID+r.tail, r.body)
			want(t, foreign, 404, fault.NotFound)
			for _, unknown := range []string{"019aa63b-5d2c-7c31-9a53-1d8f3a0c4b52", "nonsense", strings.ToUpper(p.ProjectID)} {
				if got := stranger.do(r.method, base+"/"+unknown+r.tail, r.body); got.StatusCode != 404 ||
					got.Text != foreign.Text {
					t.Errorf("%s %s: foreign %s, unknown %d %s", r.method, r.tail, foreign.Text, got.StatusCode, got.Text)
				}
			}
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	writer := d.account()
	p := writer.create(`{}`)
	reader, other := d.keyOf(writer.AccountID, access.ProjectsRead), d.keyOf(writer.AccountID, access.ProjectsWrite)
	at := base + "/" + p.ProjectID
	for _, r := range [][2]string{{"GET", base}, {"GET", at}, {"GET", at + "/revisions"}, {"GET", at + "/revisions/1"}} {
		want(t, reader.Send(r[0], r[1], ""), 200, "")
		want(t, other.Send(r[0], r[1], ""), 403, fault.InsufficientScope)
		want(t, d.Anonymous().Send(r[0], r[1], ""), 401, fault.Unauthorized)
	}
	for _, r := range [][2]string{{"POST", base}, {"PUT", at}, {"DELETE", at}, {"POST", at + "/revisions/1/restore"},
		{"POST", at + "/shares"}, {"DELETE", at + "/shares"}} {
		want(t, reader.Send(r[0], r[1], ""), 403, fault.InsufficientScope) // before the body and the version
		want(t, d.Anonymous().Send(r[0], r[1], ""), 401, fault.Unauthorized)
	}
}

// TestOlderRoutes checks rule 6: the same answers, marked as deprecated, with the successor's address.
func TestOlderRoutes(t *testing.T) {
	t.Parallel()
	const older = "/api/molecular/projects"
	c := open(t, projects.Quota{}).account()
	key := id.New("key-")
	body := `{"name":"n","content":{}}`
	made := c.Send("POST", older, body, "Idempotency-Key", key)
	want(t, made, 201, "")
	p := decoded[contract.Project](t, made)
	if made.Header.Get("Location") != base+"/"+p.ProjectID {
		t.Errorf("Location is %s", made.Header.Get("Location"))
	}
	if again := c.Send("POST", base, body, "Idempotency-Key", key); again.Header.Get("Idempotency-Replayed") != "true" ||
		decoded[contract.Project](t, again).ProjectID != p.ProjectID {
		t.Errorf("the key of an older route is unknown to its successor: %s", again.Text)
	}
	for _, r := range []struct {
		method, tail, body string
		status             int
	}{
		{"GET", "", "", 200},
		{"GET", "/" + p.ProjectID, "", 200},
		{"PUT", "/" + p.ProjectID, `{"name":"n","content":{},"expectedVersion":1}`, 200},
		{"GET", "/" + p.ProjectID + "/revisions", "", 200},
		{"GET", "/" + p.ProjectID + "/revisions/1", "", 200},
		{"POST", "/" + p.ProjectID + "/revisions/1/restore", `{"expectedVersion":2}`, 200},
		{"POST", "/" + p.ProjectID + "/shares", `{"expectedVersion":3}`, 201},
		{"DELETE", "/" + p.ProjectID + "/shares?expectedVersion=3", "", 204},
		{"DELETE", "/" + p.ProjectID + "?expectedVersion=9", "", 409},
		{"DELETE", "/" + p.ProjectID + "?expectedVersion=3", "", 204},
	} {
		if r.method == "GET" {
			if v1 := c.Send("GET", base+r.tail, ""); v1.Text != c.Send("GET", older+r.tail, "").Text ||
				v1.Header.Get("Deprecation") != "" {
				t.Errorf("GET %s answers differently in v1: %s %v", r.tail, v1.Text, v1.Header)
			}
		}
		got := c.do(r.method, older+r.tail, r.body)
		path, _, _ := strings.Cut(r.tail, "?")
		if got.StatusCode != r.status || got.Header.Get("Deprecation") != "@1795219200" || got.Header.Get("Link") != `<`+base+path+
			`>; rel="successor-version"` {
			t.Errorf("%s %s: %d %v", r.method, r.tail, got.StatusCode, got.Header)
		}
		if _, err := http.ParseTime(got.Header.Get("Sunset")); err != nil {
			t.Errorf("Sunset: %v", err)
		}
	}
}
