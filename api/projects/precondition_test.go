package projects_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/fault"
)

// TestExpectedVersion checks rule 1 and every place that the version may stand in.
func TestExpectedVersion(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	id := c.create(`{}`).ProjectID
	at := base + "/" + id
	bad := []string{`"3"`, `"1"`, `1.5`, `0`, `-1`, `-0`, `0.0`, `99999999999999999999`, `9007199254740992`, `1e400`, `1e300`,
		`null`, `true`, `[1]`, `{}`, `""`}
	for _, version := range bad {
		member := `"expectedVersion":` + version
		for _, r := range []struct{ method, path, body string }{
			{"PUT", at, `{"name":"a","content":{},` + member + `}`},
			{"POST", at + "/revisions/1/restore", `{` + member + `}`},
			{"POST", at + "/shares", `{` + member + `}`},
			{"DELETE", at + "/shares", `{` + member + `}`},
			{"DELETE", at, `{` + member + `}`},
		} {
			if version == "1e400" && r.method == "DELETE" {
				continue // refused as JSON, before anybody looks at members
			}
			got := c.do(r.method, r.path, r.body)
			if got.StatusCode != 400 || decoded[failure](t, got).Code != fault.InvalidExpectedVersion {
				t.Errorf("%s %s %s: %d %s", r.method, r.path, r.body, got.StatusCode, got.Text)
			}
		}
	}
	for _, version := range []string{"", "x", "1.0", "0", "-1", "+1", "01", "%201", "99999999999999999999", "1&expectedVersion=2"} {
		for _, r := range [][2]string{{"DELETE", at}, {"DELETE", at + "/shares"}, {"PUT", at}} {
			got := c.do(r[0], r[1]+"?expectedVersion="+version, map[string]string{"PUT": `{"name":"a","content":{}}`}[r[0]])
			if got.StatusCode != 400 || decoded[failure](t, got).Code != fault.InvalidExpectedVersion {
				t.Errorf("%v ?expectedVersion=%s: %d %s", r, version, got.StatusCode, got.Text)
			}
		}
	}
	for _, r := range []struct{ method, path, body, ifMatch string }{
		{"PUT", at, `{"name":"a","content":{}}`, ""},
		{"PUT", at, `{"name":"a","content":{}}`, "*"},
		{"PUT", at, `{"name":"a","content":{}}`, "1"},
		{"PUT", at, `{"name":"a","content":{},"expectedVersion":1}`, `"2"`},
		{"PUT", at + "?expectedVersion=2", `{"name":"a","content":{},"expectedVersion":1}`, ``},
		{"PUT", at, `{"name":"a","content":{},"expectedVersion":1}`, `"etag"`},
		{"POST", at + "/shares", `{}`, ""},
		{"POST", at + "/shares", ``, ""},
		{"DELETE", at, ``, ""},
		{"DELETE", at + "?expectedVersion=1", `{"expectedVersion":2}`, ""},
		{"DELETE", at, ``, `"1", "2"`},
	} {
		got := c.do(r.method, r.path, r.body, "If-Match", r.ifMatch)
		if got.StatusCode != 400 || decoded[failure](t, got).Code != fault.InvalidExpectedVersion {
			t.Errorf("%+v: %d %s", r, got.StatusCode, got.Text)
		}
	}
	if now := c.read(id); now.CurrentVersion != 1 || now.Share != nil {
		t.Errorf("the project has changed: %+v", now)
	}
}

// TestVersionIsTakenEverywhere sends the version in each place that the contract allows.
func TestVersionIsTakenEverywhere(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{}`)
	at := base + "/" + p.ProjectID
	tag := func() string { return c.Send("GET", at, "").Header.Get("ETag") }
	for i, r := range []struct {
		method, path, body, ifMatch string
		status                      int
	}{
		{"PUT", at, `{"name":"a","content":{},"expectedVersion":1}`, "", 200},
		{"PUT", at, `{"name":"a","content":{},"expectedVersion":2.0}`, `"2"`, 200},
		{"PUT", at + "?expectedVersion=3", ` {"name":"a","content":{}}`, "", 200},
		{"PUT", at, `{"name":"a","content":{}}`, "etag", 200},
		{"POST", at + "/revisions/1/restore?expectedVersion=5", ``, "", 200},
		{"POST", at + "/revisions/1/restore", `{}`, `W/"6"`, 200},
		{"POST", at + "/shares", ``, "etag", 201},
		{"DELETE", at + "/shares", ``, `"7", "7-0123456789abcdef"`, 204},
		{"DELETE", at + "/shares?expectedVersion=7", `{"expectedVersion":7e0}`, "", 204},
		{"DELETE", at, `{"expectedVersion":7}`, "", 204},
	} {
		if r.ifMatch == "etag" {
			r.ifMatch = tag()
		}
		if got := c.do(r.method, r.path, r.body, "If-Match", r.ifMatch); got.StatusCode != r.status {
			t.Errorf("%d: %d %s", i, got.StatusCode, got.Text)
		}
	}
	for body, code := range map[string]fault.Code{`{"expectedVersion":7,"x":1}`: fault.Validation, `[7]`: fault.Validation,
		`{"expectedVersion":`: fault.Validation} {
		want(t, c.do("DELETE", at, body), 400, code)
	}
	want(t, c.do("DELETE", at, `{"expectedVersion":`+strings.Repeat(" ", 2000)+`7}`), 413, fault.PayloadTooLarge)
}
