package projects_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// histories is how many are tried unless the flag -rapid.checks says otherwise: each takes some hundred requests.
const histories = 30

func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set(strconv.Itoa(histories)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// modelled is what the contract says a project must be, kept in the plainest way.
type modelled struct {
	contents []string         // by version, from 1 at index 0
	sources  []int64          // by version; 0 for none
	active   string           // token of the active share
	pinned   map[string]int64 // version by token, of every share ever made
	deleted  bool
}

func (m *modelled) head() int64 { return int64(len(m.contents)) }

func (m *modelled) append(content string, source int64) {
	m.contents, m.sources = append(m.contents, content), append(m.sources, source)
}

// expect draws the version that a caller believes in: mostly the head. A history that would not fit one page any more stays.
func (m *modelled) expect(t *rapid.T) int64 {
	if m.head() >= 100 {
		t.Skip("long enough")
	}
	if rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		return rapid.Int64Range(1, m.head()+2).Draw(t, "expected")
	}
	return m.head()
}

// TestHistoriesFollowTheModel runs random sequences of changes, right and wrong ones, and compares the whole project with the model
// after each.
func TestHistoriesFollowTheModel(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	c := d.account()
	rapid.Check(t, func(t *rapid.T) {
		project := c.create(`{"n":0}`)
		at := base + "/" + project.ProjectID
		m := &modelled{pinned: map[string]int64{}}
		m.append(`{"n":0}`, 0)
		// judge tells whether a change was right to go through, and fails the test when the service has judged otherwise.
		judge := func(got apitest.Answer, expected int64, missing bool) bool {
			switch {
			case m.deleted:
				mustBe(t, got, 404, fault.NotFound)
			case expected != m.head():
				mustBe(t, got, 409, fault.VersionConflict)
			case missing:
				mustBe(t, got, 404, fault.NotFound)
			case got.StatusCode/100 != 2:
				t.Fatalf("refused: %d %s", got.StatusCode, got.Text)
			default:
				return true
			}
			return false
		}
		t.Repeat(map[string]func(*rapid.T){
			"save": func(t *rapid.T) {
				expected, content := m.expect(t), fmt.Sprintf(`{"n":%d}`, rapid.IntRange(0, 5).Draw(t, "content"))
				body := fmt.Sprintf(`{"name":"n","content":%s,"expectedVersion":%d}`, content, expected)
				key := id.New("key-")
				got := c.Send("PUT", at, body, "Idempotency-Key", key)
				if judge(got, expected, false) {
					m.append(content, 0)
					again := c.Send("PUT", at, body, "Idempotency-Key", key)
					if again.StatusCode != 200 || again.Header.Get("Idempotency-Replayed") != "true" {
						t.Fatalf("replayed: %d %s", again.StatusCode, again.Text)
					}
				}
			},
			"restore": func(t *rapid.T) {
				expected, version := m.expect(t), rapid.Int64Range(1, m.head()+1).Draw(t, "version")
				got := c.do("POST", fmt.Sprintf("%s/revisions/%d/restore", at, version),
					fmt.Sprintf(`{"expectedVersion":%d}`, expected))
				if judge(got, expected, version > m.head()) {
					m.append(m.contents[version-1], version)
				}
			},
			"share": func(t *rapid.T) {
				expected, body := m.expect(t), `{"expectedVersion":%d}`
				saves := rapid.Bool().Draw(t, "saves")
				if saves {
					body = `{"expectedVersion":%d,"content":{"shared":true}}`
				}
				got := c.do("POST", at+"/shares", fmt.Sprintf(body, expected))
				if judge(got, expected, false) {
					if saves {
						m.append(`{"shared":true}`, 0)
					}
					m.active = decoded[contract.ProjectShareAnswer](d.t, got).Token
					m.pinned[m.active] = m.head()
				}
			},
			"revoke": func(t *rapid.T) {
				expected := m.expect(t)
				if judge(c.Send("DELETE", fmt.Sprintf("%s/shares?expectedVersion=%d", at, expected), ""), expected, false) {
					m.active = ""
				}
			},
			"delete": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					t.Skip("deleting ends the story")
				}
				expected := m.expect(t)
				if judge(c.Send("DELETE", fmt.Sprintf("%s?expectedVersion=%d", at, expected), ""), expected, false) {
					m.deleted, m.active = true, ""
				}
			},
			"": func(t *rapid.T) { m.compare(t, c, at) },
		})
	})
}

func (m *modelled) compare(t *rapid.T, c caller, at string) {
	for token, version := range m.pinned {
		got := c.Anonymous().Send("GET", "/api/v1/public/shares/"+token, "")
		if token != m.active {
			mustBe(t, got, 410, fault.ShareRevoked)
		} else if shared := decoded[contract.SharedProject](c.t, got); shared.Version != version ||
			string(shared.Content) != m.contents[version-1] {
			t.Fatalf("the share shows %s, want version %d", got.Text, version)
		}
	}
	if m.deleted {
		mustBe(t, c.Send("GET", at, ""), 404, fault.NotFound)
		return
	}
	got := c.Send("GET", at, "")
	now := decoded[contract.Project](c.t, got)
	if now.CurrentVersion != m.head() || string(now.Content) != m.contents[m.head()-1] ||
		now.ContentSHA256 != digest(string(now.Content)) {
		t.Fatalf("head is %s, want version %d of %v", got.Text, m.head(), m.contents)
	}
	if (now.Share == nil) != (m.active == "") || now.Share != nil &&
		(now.Share.Token != m.active || now.Share.Version != m.pinned[m.active]) {
		t.Fatalf("share is %+v, want %q", now.Share, m.active)
	}
	history := decoded[contract.ProjectRevisionList](c.t, c.Send("GET", at+"/revisions?limit=100", "")).Revisions
	if len(history) != len(m.contents) {
		t.Fatalf("history is %+v, want %v", history, m.contents)
	}
	for i, content := range m.contents {
		r := history[len(history)-1-i]
		source := int64(0)
		if r.SourceVersion != nil {
			source = *r.SourceVersion
		}
		if r.Version != int64(i+1) || r.ContentSHA256 != digest(content) || source != m.sources[i] {
			t.Fatalf("history is %+v, want %v from %v", history, m.contents, m.sources)
		}
	}
}

func mustBe(t *rapid.T, got apitest.Answer, status int, code fault.Code) {
	t.Helper()
	if got.StatusCode != status || !strings.Contains(got.Text, string(code)) {
		t.Fatalf("got %d %s, want %d %s", got.StatusCode, got.Text, status, code)
	}
}
