package projects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// TestReplays checks rule 3 on each operation that takes a key: the first answer again, whatever has happened since.
func TestReplays(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{"n":1}`)
	at := base + "/" + p.ProjectID
	for i, r := range []struct{ method, path, body, same, other string }{
		{"PUT", at, `{"name":"a","content":{"x":1,"y":2},"expectedVersion":1}`,
			` {"expectedVersion":1.0, "tags":[], "content":{"y":2.0,"x":1e0}, "name":"a"}`,
			`{"name":"b","content":{"x":1,"y":2},"expectedVersion":1}`},
		{"POST", at + "/revisions/1/restore", `{"expectedVersion":2}`, `{ "expectedVersion": 2 }`, `{"expectedVersion":3}`},
		{"POST", at + "/shares", `{"expectedVersion":3,"content":{"a":1}}`, `{"content":{"a":1.0},"expectedVersion":3}`,
			`{"expectedVersion":3}`},
		{"POST", base, `{"name":"a","content":{}}`, `{"content":{},"name":"a","description":""}`, `{"name":"a","content":{"x":1}}`},
	} {
		key := id.New("key-")
		first := c.Send(r.method, r.path, r.body, "Idempotency-Key", key)
		if first.StatusCode/100 != 2 || first.Header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%d: %d %s", i, first.StatusCode, first.Text)
		}
		again := c.Send(r.method, r.path, r.same, "Idempotency-Key", key)
		told := strings.Replace(again.Text, `,"idempotentReplay":true`, "", 1)
		if again.StatusCode != first.StatusCode || again.Header.Get("Idempotency-Replayed") != "true" || told == again.Text ||
			told != first.Text {
			t.Errorf("%d: first %s, again %d %s", i, first.Text, again.StatusCode, again.Text)
		}
		if again.Header.Get("ETag") != first.Header.Get("ETag") || again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%d: the headers differ: %v, %v", i, first.Header, again.Header)
		}
		want(t, c.Send(r.method, r.path, r.other, "Idempotency-Key", key), 422, fault.IdempotencyKeyReused)
	}
	if now := c.read(p.ProjectID); now.CurrentVersion != 4 {
		t.Errorf("replays have moved the head: %d", now.CurrentVersion)
	}
}

// TestReplayOfTheGone: what was deleted since is answered as it was, where anybody still has it.
func TestReplayOfTheGone(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	made := c.Send("POST", base, `{"name":"a","content":{"x":1}}`, "Idempotency-Key", "key-create")
	p := decoded[contract.Project](t, made)
	at := base + "/" + p.ProjectID
	restored := c.Send("POST", at+"/revisions/1/restore", `{"expectedVersion":1}`, "Idempotency-Key", "key-restore")
	want(t, restored, 200, "")
	want(t, c.Send("DELETE", at+"?expectedVersion=2", ""), 204, "")
	want(t, c.Send("POST", base, `{"name":"a","content":{"x":1}}`, "Idempotency-Key", "key-create"), 201, "")
	want(t, c.Send("POST", at+"/revisions/1/restore", `{"expectedVersion":1}`, "Idempotency-Key", "key-restore"), 404,
		fault.NotFound)
	if list := decoded[contract.ProjectList](t, c.Send("GET", base, "")); len(list.Projects) != 0 {
		t.Errorf("a replay has made a project: %+v", list)
	}
}

func TestKeyIsRequired(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{}`)
	at := base + "/" + p.ProjectID
	for _, r := range []struct{ method, path, body string }{
		{"POST", base, `{"name":"a","content":{}}`},
		{"PUT", at, `{"name":"a","content":{},"expectedVersion":1}`},
		{"POST", at + "/revisions/1/restore", `{"expectedVersion":1}`},
		{"POST", at + "/shares", `{"expectedVersion":1}`},
	} {
		want(t, c.Send(r.method, r.path, r.body), 400, fault.IdempotencyKeyRequired)
		for _, key := range []string{"seven77", strings.Repeat("k", 256)} {
			want(t, c.Send(r.method, r.path, r.body, "Idempotency-Key", key), 400, fault.Validation)
		}
	}
	if now := c.read(p.ProjectID); now.CurrentVersion != 1 {
		t.Errorf("a change without a key was made: %+v", now)
	}
	want(t, c.Send("POST", base, `{"name":"a","content":{}}`, "Idempotency-Key", "eight888"), 201, "")
	want(t, c.Send("POST", base, `{"name":"a","content":{}}`, "Idempotency-Key", strings.Repeat("k", 255)), 201, "")
}

// TestKeysLiveByAccountAndOperation: a key is free for another account and another operation, and bound to its target.
func TestKeysLiveByAccountAndOperation(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	c, other := d.account(), d.account()
	const body = `{"name":"a","content":{}}`
	want(t, c.Send("POST", base, body, "Idempotency-Key", "one-key-for-all"), 201, "")
	elsewhere := other.Send("POST", base, body, "Idempotency-Key", "one-key-for-all")
	if elsewhere.StatusCode != 201 || elsewhere.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another account gets %d %s", elsewhere.StatusCode, elsewhere.Text)
	}
	one, two := c.create(`{}`).ProjectID, c.create(`{}`).ProjectID
	const save = `{"name":"a","content":{},"expectedVersion":1}`
	want(t, c.Send("PUT", base+"/"+one, save, "Idempotency-Key", "one-key-for-all"), 200, "")
	want(t, c.Send("PUT", base+"/"+two, save, "Idempotency-Key", "one-key-for-all"), 422, fault.IdempotencyKeyReused)
}

// TestFailureStoresNothing sends, after each kind of failure, a better request with the same key.
func TestFailureStoresNothing(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{}`)
	at := base + "/" + p.ProjectID
	save := func(path string, version int, content string) apitest.Answer {
		return c.Send("PUT", path, fmt.Sprintf(`{"name":"a","content":%s,"expectedVersion":%d}`, content, version),
			"Idempotency-Key", "the-only-key")
	}
	want(t, save(at, 1, `[]`), 400, fault.Validation)
	want(t, save(at, 0, `{}`), 400, fault.InvalidExpectedVersion)
	want(t, save(base+"/"+"019aa63b-5d2c-7c31-9a53-1d8f3a0c4b52", 1, `{}`), 404, fault.NotFound)
	wantConflict(t, save(at, 2, `{}`), 1)
	want(t, save(at, 1, `{"better":true}`), 200, "")
}

// TestReplayComesBeforeTheVersion: a saver that lost the answer asks again after others have moved the head.
func TestReplayComesBeforeTheVersion(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{}`)
	const body = `{"name":"mine","content":{"mine":true},"expectedVersion":1}`
	want(t, c.Send("PUT", base+"/"+p.ProjectID, body, "Idempotency-Key", "my-save-1"), 200, "")
	want(t, c.save(p.ProjectID, 2, `{"theirs":true}`), 200, "")
	again := c.Send("PUT", base+"/"+p.ProjectID, body, "Idempotency-Key", "my-save-1")
	want(t, again, 200, "")
	if got := decoded[contract.Project](t, again); got.CurrentVersion != 2 || got.Name != "mine" ||
		string(got.Content) != `{"mine":true}` {
		t.Errorf("replayed %s", again.Text)
	}
}

// TestRunningKey: while the first request with a key runs, the second is told so.
func TestRunningKey(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	c := d.account()
	p := c.create(`{}`)
	tx, err := d.DB.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `SELECT FROM projects WHERE id = $1 FOR UPDATE`, p.ProjectID); err != nil {
		t.Fatal(err)
	}
	first := make(chan apitest.Answer, 1)
	const body = `{"name":"a","content":{},"expectedVersion":1}`
	go func() {
		got, err := c.Try("PUT", base+"/"+p.ProjectID, body, "Idempotency-Key", "held-key")
		if err != nil {
			t.Error(err)
		}
		first <- got
	}()
	d.waitForBlocked()
	want(t, c.Send("PUT", base+"/"+p.ProjectID, body, "Idempotency-Key", "held-key"), 409, fault.IdempotencyInProgress)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	want(t, <-first, 200, "")
	if again := c.Send("PUT", base+"/"+p.ProjectID, body, "Idempotency-Key",
		"held-key"); again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("afterwards: %d %s", again.StatusCode, again.Text)
	}
}
