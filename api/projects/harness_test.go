package projects_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/tenant"
)

const base = "/api/v1/molecular/projects"

// desk is a front door with the group's operations.
type desk struct {
	*apitest.Door
	t        *testing.T
	keyring  *keys.Service
	projects *projects.Service
}

func open(t *testing.T, quota projects.Quota) *desk {
	t.Helper()
	d := &desk{t: t}
	d.Door = apitest.Open(t, apitest.Unhurried, func(deps *api.Deps) {
		d.keyring = keys.New(deps.DB, deps.Config.KeySecrets, deps.Log, deps.Now)
		d.projects = projects.New(projects.Deps{DB: deps.DB, Secrets: deps.Config.KeySecrets, Quota: quota, Log: deps.Log,
			Now: deps.Now})
		deps.Groups = []func(huma.API){func(a huma.API) { projects.Register(a, d.projects) }}
	})
	return d
}

// caller sends requests with one key.
type caller struct {
	*desk
	*apitest.Caller
}

// account opens an account and makes a test key of it: nothing here is billed.
func (d *desk) account(scopes ...string) caller {
	d.t.Helper()
	accountID := id.New("acct_")
	d.DB.MustExecContext(d.t.Context(), `INSERT INTO accounts (id, email, name, password_hash, created_at)
		VALUES ($1, $2, '', '', now())`, accountID, accountID+"@example.org")
	if len(scopes) == 0 {
		scopes = []string{access.ProjectsRead, access.ProjectsWrite}
	}
	return d.keyOf(accountID, scopes...)
}

func (d *desk) keyOf(accountID string, scopes ...string) caller {
	d.t.Helper()
	made, err := d.keyring.Create(tenant.With(d.t.Context(), accountID), accountID,
		contract.CreateRequest{Name: "test", Environment: access.Test, Scopes: scopes})
	if err != nil {
		d.t.Fatal(err)
	}
	c := caller{desk: d, Caller: d.WithKey(made.Secret)}
	c.AccountID = accountID
	return c
}

// do is send with a new key of idempotency.
func (c caller) do(method, path, body string, header ...string) apitest.Answer {
	c.t.Helper()
	return c.Send(method, path, body, append([]string{"Idempotency-Key", id.New("key-")}, header...)...)
}

// create makes a project with the content.
func (c caller) create(content string) contract.Project {
	c.t.Helper()
	got := c.do("POST", base, `{"name":"ABL1","description":"kinase","tags":["a","b"],"content":`+content+`}`)
	want(c.t, got, 201, "")
	return decoded[contract.Project](c.t, got)
}

// save saves the content after a version.
func (c caller) save(projectID string, version int64, content string) apitest.Answer {
	c.t.Helper()
	return c.do("PUT", base+"/"+projectID, fmt.Sprintf(`{"name":"ABL1","expectedVersion":%d,"content":%s}`, version, content))
}

func (c caller) read(projectID string) contract.Project {
	c.t.Helper()
	got := c.Send("GET", base+"/"+projectID, "")
	want(c.t, got, 200, "")
	return decoded[contract.Project](c.t, got)
}

func decoded[T any](t *testing.T, got apitest.Answer) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader([]byte(got.Text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%d %s: %v", got.StatusCode, got.Text, err)
	}
	return value
}

// failure is the closed envelope.
type failure struct {
	Error          string     `json:"error"`
	Code           fault.Code `json:"code"`
	CurrentVersion int64      `json:"currentVersion"`
}

// want checks an answer's status and, for a failure, its code and the closed envelope.
func want(t *testing.T, got apitest.Answer, status int, code fault.Code) {
	t.Helper()
	if got.StatusCode != status {
		t.Fatalf("got %d %s, want %d %s", got.StatusCode, got.Text, status, code)
	}
	if code == "" {
		return
	}
	if f := decoded[failure](t, got); f.Code != code || f.Error == "" {
		t.Fatalf("got %d %s, want %d %s", got.StatusCode, got.Text, status, code)
	}
}

// wantConflict checks a VERSION_CONFLICT and the head that it tells.
func wantConflict(t *testing.T, got apitest.Answer, current int64) {
	t.Helper()
	want(t, got, 409, fault.VersionConflict)
	if f := decoded[failure](t, got); f.CurrentVersion != current {
		t.Fatalf("currentVersion is %d, want %d", f.CurrentVersion, current)
	}
}

// waitForBlocked returns when a statement of this test's schema waits for a lock.
func (d *desk) waitForBlocked() {
	d.t.Helper()
	for deadline := time.Now().Add(apitest.Patience); ; {
		var blocked bool
		err := d.DB.GetContext(d.t.Context(), &blocked, `SELECT EXISTS (SELECT FROM pg_locks w JOIN pg_locks t ON t.pid = w.pid
			WHERE NOT w.granted AND t.relation = 'projects'::regclass)`)
		if err != nil {
			d.t.Fatal(err)
		}
		if blocked {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatal("nobody waits for a lock")
		}
	}
}
