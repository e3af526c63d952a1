package projects_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestCreate checks rule 4 (Location) and every member of a new project.
func TestCreate(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	got := c.do("POST", base, `{"name":"ABL1","content":{"b":1.0,"a":"<&>"}}`)
	want(t, got, 201, "")
	p := decoded[contract.Project](t, got)
	const text = `{"a":"<&>","b":1}`
	if !uuidForm.MatchString(p.ProjectID) || p.CurrentVersion != 1 || p.Name != "ABL1" || p.Description != "" || len(p.Tags) != 0 ||
		p.Share != nil {
		t.Errorf("project is %s", got.Text)
	}
	if p.ContentSHA256 != digest(text) || string(p.Content) != text || !strings.Contains(got.Text, `"tags":[]`) ||
		strings.Contains(got.Text, "idempotentReplay") {
		t.Errorf("project is %s", got.Text)
	}
	if location := got.Header.Get("Location"); location != base+"/"+p.ProjectID {
		t.Errorf("Location is %q", location)
	}
	if again := c.Send("GET", got.Header.Get("Location"), ""); again.Text != got.Text ||
		again.Header.Get("ETag") != got.Header.Get("ETag") {
		t.Errorf("read %s, created %s", again.Text, got.Text)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	for name, body := range map[string]string{
		"nothing":        ``,
		"no content":     `{"name":"a"}`,
		"no name":        `{"content":{}}`,
		"empty name":     `{"name":"","content":{}}`,
		"long name":      `{"name":"` + strings.Repeat("ä", 201) + `","content":{}}`,
		"array":          `{"name":"a","content":[]}`,
		"text":           `{"name":"a","content":"{}"}`,
		"null":           `{"name":"a","content":null}`,
		"unknown member": `{"name":"a","content":{},"owner":"me"}`,
		"version":        `{"name":"a","content":{},"expectedVersion":1}`,
		"long text":      `{"name":"a","content":{},"description":"` + strings.Repeat("x", 4001) + `"}`,
		"empty tag":      `{"name":"a","content":{},"tags":[""]}`,
		"long tag":       `{"name":"a","content":{},"tags":["` + strings.Repeat("x", 65) + `"]}`,
		"same tags":      `{"name":"a","content":{},"tags":["x","x"]}`,
		"many tags":      `{"name":"a","content":{},"tags":["` + strings.Join(numbered(33), `","`) + `"]}`,
		"twice":          `{"name":"a","content":{"x":1,"x":2}}`,
		"deep":           `{"name":"a","content":` + strings.Repeat(`{"x":`, 64) + `1` + strings.Repeat(`}`, 64) + `}`,
	} {
		if got := c.do("POST", base, body); got.StatusCode != 400 || decoded[failure](t, got).Code != fault.Validation {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Text)
		}
	}
	widest := `{"name":"` + strings.Repeat("ä", 200) + `","content":{"n":null},"description":"` + strings.Repeat("x", 4000) +
		`","tags":["` + strings.Join(numbered(32), `","`) + `"]}`
	want(t, c.do("POST", base, widest), 201, "")
}

func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%064d", i)
	}
	return list
}

func TestContentIsBounded(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	largest := `{"x":"` + strings.Repeat("a", projects.MaxContentBytes-8) + `"}`
	p := c.create("  " + largest)
	if read := c.read(p.ProjectID); string(read.Content) != largest {
		t.Error("the largest content does not come back as it went")
	}
	want(t, c.do("POST", base, `{"name":"a","content":{"xy":"`+strings.Repeat("a", projects.MaxContentBytes-8)+`"}}`), 413,
		fault.PayloadTooLarge)
	want(t, c.do("POST", base, `{"name":"a","content":{"x":"`+strings.Repeat("a", 6_000_000)+`"}}`), 413, fault.PayloadTooLarge)
}

// TestSave checks the moves of doc/contract.md §3: a successor, a conflict, and revisions that stay.
func TestSave(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{"n":1}`)
	saved := c.save(p.ProjectID, 1, `{"n":2}`)
	want(t, saved, 200, "")
	now := decoded[contract.Project](t, saved)
	if now.ProjectID != p.ProjectID || now.CurrentVersion != 2 || string(now.Content) != `{"n":2}` || now.Description != "" ||
		len(now.Tags) != 0 {
		t.Errorf("saved %s", saved.Text)
	}
	if !now.CreatedAt.Equal(p.CreatedAt) || !now.UpdatedAt.After(p.UpdatedAt) {
		t.Errorf("times are %s and %s", now.CreatedAt, now.UpdatedAt)
	}
	wantConflict(t, c.save(p.ProjectID, 1, `{"n":3}`), 2)
	wantConflict(t, c.save(p.ProjectID, 3, `{"n":3}`), 2)
	if again := c.Send("GET", base+"/"+p.ProjectID, ""); again.Text != saved.Text {
		t.Errorf("a conflict has changed %s into %s", saved.Text, again.Text)
	}
	first := decoded[contract.ProjectRevision](t, c.Send("GET", base+"/"+p.ProjectID+"/revisions/1", ""))
	if first.Version != 1 || string(first.Content) != `{"n":1}` || first.ContentSHA256 != digest(`{"n":1}`) ||
		first.SourceVersion != nil {
		t.Errorf("revision 1 is %+v", first)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{"n":1}`)
	want(t, c.do("PUT", base+"/"+p.ProjectID, `{"name":"renamed","tags":["t"],"content":{"n":2},"expectedVersion":1}`), 200, "")
	got := c.do("POST", base+"/"+p.ProjectID+"/revisions/1/restore", `{"expectedVersion":2}`)
	want(t, got, 200, "")
	now := decoded[contract.Project](t, got)
	if now.CurrentVersion != 3 || string(now.Content) != `{"n":1}` || now.ContentSHA256 != p.ContentSHA256 ||
		now.Name != "renamed" || !slices.Equal(now.Tags, []string{"t"}) {
		t.Errorf("restored %s", got.Text)
	}
	list := decoded[contract.ProjectRevisionList](t, c.Send("GET", base+"/"+p.ProjectID+"/revisions", ""))
	if len(list.Revisions) != 3 || list.Revisions[0].SourceVersion == nil || *list.Revisions[0].SourceVersion != 1 ||
		list.Revisions[1].SourceVersion != nil {
		t.Errorf("history is %+v", list)
	}
	wantConflict(t, c.do("POST", base+"/"+p.ProjectID+"/revisions/1/restore", `{"expectedVersion":2}`), 3)
	want(t, c.do("POST", base+"/"+p.ProjectID+"/revisions/4/restore", `{"expectedVersion":3}`), 404, fault.NotFound)
	want(t, c.do("POST", base+"/"+p.ProjectID+"/revisions/0/restore", `{"expectedVersion":3}`), 400, fault.Validation)
	want(t, c.Send("GET", base+"/"+p.ProjectID+"/revisions/x", ""), 400, fault.Validation)
	want(t, c.Send("GET", base+"/"+p.ProjectID+"/revisions/4", ""), 404, fault.NotFound)
}

// TestRevisionsAreImmutable asks the database itself.
func TestRevisionsAreImmutable(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	c := d.account()
	p := c.create(`{}`)
	for _, statement := range []string{
		`UPDATE project_revisions SET created_at = now()`, `DELETE FROM project_revisions`,
		`UPDATE project_contents SET content = '{"x":1}'`, `DELETE FROM project_contents`,
	} {
		if _, err := d.DB.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "immutable") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	want(t, c.Send("DELETE", base+"/"+p.ProjectID+"?expectedVersion=1", ""), 204, "")
	var rows int
	if err := d.DB.GetContext(t.Context(), &rows, `SELECT (SELECT count(*) FROM project_revisions) + (SELECT count(*)
		FROM project_contents)`); err != nil || rows != 0 {
		t.Errorf("%d rows are left of a deleted project (%v)", rows, err)
	}
	if _, err := d.DB.ExecContext(t.Context(), `DELETE FROM idempotency_keys; DELETE FROM accounts`); err != nil {
		t.Errorf("an account with projects cannot be deleted: %v", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{"n":1}`)
	at := base + "/" + p.ProjectID
	share := decoded[contract.ProjectShareAnswer](t, c.do("POST", at+"/shares", `{"expectedVersion":1}`))
	wantConflict(t, c.Send("DELETE", at+"?expectedVersion=2", ""), 1)
	if got := c.Send("DELETE", at+"?expectedVersion=1", ""); got.StatusCode != 204 || got.Text != "" {
		t.Fatalf("deleted: %d %q", got.StatusCode, got.Text)
	}
	for _, r := range []apitest.Answer{
		c.Send("GET", at, ""), c.Send("GET", at+"/revisions", ""), c.Send("GET", at+"/revisions/1", ""),
		c.save(p.ProjectID, 1, `{}`), c.do("POST", at+"/revisions/1/restore", `{"expectedVersion":1}`),
		c.do("POST", at+"/shares", `{"expectedVersion":1}`), c.Send("DELETE", at+"/shares?expectedVersion=1", ""),
		c.Send("DELETE", at+"?expectedVersion=1", ""),
	} {
		want(t, r, 404, fault.NotFound)
	}
	want(t, c.Anonymous().Send("GET", "/api/v1/public/shares/"+share.Token, ""), 410, fault.ShareRevoked)
	if list := decoded[contract.ProjectList](t, c.Send("GET", base, "")); len(list.Projects) != 0 {
		t.Errorf("a deleted project is listed: %+v", list)
	}
}

// TestShare checks that a share stays on its revision, that a new one replaces it and that revoking ends it.
func TestShare(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{"n":1}`)
	at := base + "/" + p.ProjectID
	public := func(token string) apitest.Answer {
		return c.Anonymous().Send("GET", "/api/v1/public/shares/"+token, "")
	}

	got := c.do("POST", at+"/shares", `{"expectedVersion":1}`)
	want(t, got, 201, "")
	first := decoded[contract.ProjectShareAnswer](t, got)
	if first.Version != 1 || first.URL != "/shared/"+first.Token || len(first.Token) != 64 {
		t.Errorf("share is %+v", first)
	}
	if now := c.read(p.ProjectID); now.Share == nil || now.Share.Token != first.Token || now.Share.URL != first.URL ||
		now.Share.Version != 1 || now.CurrentVersion != 1 {
		t.Errorf("project shows %+v, shared %+v", now.Share, first)
	}

	want(t, c.do("PUT", at, `{"name":"secret name","content":{"n":2},"expectedVersion":1}`), 200, "")
	seen := public(first.Token)
	want(t, seen, 200, "")
	if shared := decoded[contract.SharedProject](t, seen); shared.Version != 1 || shared.Name != "ABL1" ||
		string(shared.Content) != `{"n":1}` || shared.ContentSHA256 != p.ContentSHA256 {
		t.Errorf("the share shows %s", seen.Text)
	}
	if strings.Contains(seen.Text, c.AccountID) || strings.Contains(seen.Text, p.ProjectID) {
		t.Errorf("the share tells of its owner: %s", seen.Text)
	}

	wantConflict(t, c.do("POST", at+"/shares", `{"expectedVersion":1,"content":{}}`), 2)
	second := decoded[contract.ProjectShareAnswer](t, c.do("POST", at+"/shares", `{"expectedVersion":2,"content":{"n":3}}`))
	if now := c.read(p.ProjectID); second.Version != 3 || now.CurrentVersion != 3 || now.Name != "secret name" ||
		string(now.Content) != `{"n":3}` {
		t.Errorf("save and share made %+v of %+v", second, now)
	}
	want(t, public(first.Token), 410, fault.ShareRevoked)
	want(t, public(second.Token), 200, "")

	wantConflict(t, c.Send("DELETE", at+"/shares?expectedVersion=2", ""), 3)
	want(t, c.Send("DELETE", at+"/shares?expectedVersion=3", ""), 204, "")
	want(t, c.Send("DELETE", at+"/shares?expectedVersion=3", ""), 204, "")
	want(t, public(second.Token), 410, fault.ShareRevoked)
	if now := c.read(p.ProjectID); now.Share != nil || now.CurrentVersion != 3 {
		t.Errorf("after revoking: %+v", now)
	}
	other := "-"
	if strings.HasPrefix(second.Token, other) {
		other = "_"
	}
	for _, token := range []string{"x", strings.Repeat("A", 64), second.Token[:63] + "!", second.Token[:62],
		other + second.Token[1:], second.Token + "A"} {
		want(t, public(token), 404, fault.NotFound)
	}
}

func TestETags(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	p := c.create(`{}`)
	at := base + "/" + p.ProjectID
	share := decoded[contract.ProjectShareAnswer](t, c.do("POST", at+"/shares", `{"expectedVersion":1}`))
	for _, path := range []string{at, at + "/revisions/1", "/api/v1/public/shares/" + share.Token} {
		tag := c.Send("GET", path, "").Header.Get("ETag")
		for _, header := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if got := c.Send("GET", path, "", "If-None-Match", header); got.StatusCode != 304 || got.Text != "" ||
				got.Header.Get("ETag") != tag {
				t.Errorf("%s If-None-Match %s: %d %q", path, header, got.StatusCode, got.Text)
			}
		}
		want(t, c.Send("GET", path, "", "If-None-Match", `"other"`), 200, "")
	}
	before := c.Send("GET", at, "").Header.Get("ETag")
	want(t, c.Send("DELETE", at+"/shares?expectedVersion=1", ""), 204, "")
	if after := c.Send("GET", at, "").Header.Get("ETag"); after == before || !strings.HasPrefix(after, `"1-`) {
		t.Errorf("ETag was %s and is %s after the share was revoked", before, after)
	}
	got := c.Anonymous().Send("GET", "/api/v1/public/shares/"+decoded[contract.ProjectShareAnswer](t,
		c.do("POST", at+"/shares", `{"expectedVersion":1}`)).Token, "")
	if got.Header.Get("Cache-Control") != "public, no-cache" || got.Header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("headers of a share: %v", got.Header)
	}
}

// TestLists checks rule 2: pages that join without gap or repetition, and cursors that come back unchanged.
func TestLists(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	var made []string
	for range 5 {
		made = append([]string{c.create(`{"secret":"in the content"}`).ProjectID}, made...)
	}
	var listed []string
	cursor := ""
	for pages := 0; ; pages++ {
		got := c.Send("GET", base+"?limit=2"+cursor, "")
		want(t, got, 200, "")
		if strings.Contains(got.Text, "in the content") {
			t.Fatalf("a list holds contents: %s", got.Text)
		}
		list := decoded[contract.ProjectList](t, got)
		for _, one := range list.Projects {
			listed = append(listed, one.ProjectID)
		}
		if list.NextCursor == nil {
			if pages != 2 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
		cursor = "&cursor=" + *list.NextCursor
		c.desk.account().create(`{}`) // another account's projects move nothing
	}
	if !slices.Equal(listed, made) {
		t.Errorf("listed %v, made %v", listed, made)
	}

	at := base + "/" + made[0] + "/revisions"
	for version := range int64(4) {
		want(t, c.save(made[0], version+1, `{}`), 200, "")
	}
	page := decoded[contract.ProjectRevisionList](t, c.Send("GET", at+"?limit=3", ""))
	want(t, c.save(made[0], 5, `{}`), 200, "") // an insert moves nothing
	rest := decoded[contract.ProjectRevisionList](t, c.Send("GET", at+"?limit=3&cursor="+*page.NextCursor, ""))
	var versions []int64
	for _, one := range append(page.Revisions, rest.Revisions...) {
		versions = append(versions, one.Version)
	}
	if !slices.Equal(versions, []int64{5, 4, 3, 2, 1}) || rest.NextCursor != nil {
		t.Errorf("revisions listed: %v", versions)
	}
	projectCursor := *decoded[contract.ProjectList](t, c.Send("GET", base+"?limit=1", "")).NextCursor
	for _, path := range []string{base + "?cursor=x", base + "?cursor=" + *page.NextCursor, at + "?cursor=x",
		at + "?cursor=" + projectCursor} {
		want(t, c.Send("GET", path, ""), 400, fault.InvalidCursor)
	}
	want(t, c.Send("GET", base+"?limit=101", ""), 400, fault.Validation)
	want(t, c.Send("GET", base+"?expectedVersion=1", ""), 400, fault.Validation)
}

// TestQuotas checks that each is told plainly and changes nothing.
func TestQuotas(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{Projects: 2, Revisions: 3, StoredBytes: 100}).account()
	p := c.create(`{"x":"` + strings.Repeat("a", 40) + `"}`)
	want(t, c.save(p.ProjectID, 1, `{"x":"`+strings.Repeat("b", 60)+`"}`), 400, fault.Validation)
	want(t, c.save(p.ProjectID, 1, `{"x":"`+strings.Repeat("b", 40)+`"}`), 200, "")
	want(t, c.do("POST", base, `{"name":"a","content":{"x":"too much"}}`), 400, fault.Validation)
	want(t, c.do("POST", base+"/"+p.ProjectID+"/revisions/1/restore", `{"expectedVersion":2}`), 200, "") // stores nothing anew
	want(t, c.do("POST", base+"/"+p.ProjectID+"/revisions/1/restore", `{"expectedVersion":3}`), 400, fault.Validation)
	c.create(`{}`)
	want(t, c.do("POST", base, `{"name":"a","content":{}}`), 400, fault.Validation)
	want(t, c.Send("DELETE", base+"/"+p.ProjectID+"?expectedVersion=3", ""), 204, "")
	c.create(`{"x":"there is room again"}`)
}
