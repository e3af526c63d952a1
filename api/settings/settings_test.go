package settings_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/settings"
	"github.com/molfabric/molfabric/internal/contract"
)

const serversPath = "/api/v1/settings/license-servers"

// house is the front door with the settings group. licences is where its tests of licence servers lead, whatever public address
// they are told; "" refuses.
type house struct {
	*apitest.Door
	t        *testing.T
	licences string
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t}
	h.Door = apitest.Open(t, func(deps *api.Deps) {
		service, err := settings.New(settings.Deps{DB: deps.DB, KeySecrets: deps.Config.KeySecrets, Log: deps.Log, Now: deps.Now,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				if h.licences == "" {
					return nil, errors.New("refused")
				}
				return (&net.Dialer{}).DialContext(ctx, network, h.licences)
			},
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		deps.Groups = []func(huma.API){func(a huma.API) { settings.Register(a, service) }}
	})
	return h
}

// user is a caller that remembers every answer.
type user struct {
	*apitest.Caller
	t    *testing.T
	said strings.Builder
}

func (h *house) signUp() *user { return h.user(h.SignUp()) }

func (h *house) user(c *apitest.Caller) *user { return &user{Caller: c, t: h.t} }

func (u *user) send(method, path, body string) (status int, text string, header http.Header) {
	u.t.Helper()
	got := u.Send(method, path, body)
	u.said.WriteString(got.Text)
	return got.StatusCode, got.Text, got.Header
}

// want sends and decodes an answer of the status.
func want[T any](u *user, status int, method, path, body string) T {
	u.t.Helper()
	got, text, _ := u.send(method, path, body)
	var out T
	if got != status {
		u.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, got, text, status)
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			u.t.Fatal(err)
		}
	}
	return out
}

// server is a request body; members replace or, with nil, remove those of a plain one.
func server(members ...any) string {
	body := map[string]any{"name": "Render licences", "vendor": "SideFX", "product": "Houdini Engine", "protocol": "sesi",
		"host": "licences.example.org", "port": 1715, "seats": 4}
	for i := 0; i+1 < len(members); i += 2 {
		if members[i+1] == nil {
			delete(body, members[i].(string))
		} else {
			body[members[i].(string)] = members[i+1]
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestLicenseServerOverItsLife(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada, eve := h.signUp(), h.signUp()
	status, text, header := ada.send("POST", serversPath, server())
	var made contract.LicenseServer
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated ||
		header.Get("Location") != serversPath+"/"+made.ID {
		t.Fatalf("create: %d %s, Location %q", status, text, header.Get("Location"))
	}
	if made.Enforcement != "ENFORCED" || !made.Enabled || made.Status != "UNVERIFIED" || made.LastCheckedAt != nil ||
		made.LastError != nil || made.SeatsInUse != 0 {
		t.Errorf("created %+v", made)
	}
	path := serversPath + "/" + made.ID
	if got := want[contract.LicenseServer](ada, 200, "GET", path, ""); got != made {
		t.Errorf("read %+v, want %+v", got, made)
	}
	second := want[contract.LicenseServer](ada, 201, "POST", serversPath,
		server("name", "Second", "enforcement", "ADVISORY", "enabled", false))
	list := want[contract.LicenseServerList](ada, 200, "GET", serversPath, "")
	if len(list.LicenseServers) != 2 || list.LicenseServers[0].ID != second.ID || list.LicenseServers[0].Enabled ||
		list.LicenseServers[1].ID != made.ID {
		t.Errorf("list %+v", list)
	}

	// Another account's server is as if absent.
	if got := want[contract.LicenseServerList](eve, 200, "GET", serversPath, ""); len(got.LicenseServers) != 0 {
		t.Errorf("another account lists %+v", got)
	}
	for _, request := range [][2]string{{"GET", path}, {"PUT", path}, {"DELETE", path}, {"POST", path + "/test"}} {
		body := ""
		if request[0] == "PUT" {
			body = server()
		}
		if status, text, _ := eve.send(request[0], request[1], body); status != http.StatusNotFound ||
			!strings.Contains(text, "NOT_FOUND") {
			t.Errorf("another account's %s: %d %s", request[0], status, text)
		}
	}

	if status, text, _ := ada.send("DELETE", path, ""); status != http.StatusNoContent || text != "" {
		t.Errorf("delete: %d %q", status, text)
	}
	if status, _, _ := ada.send("DELETE", path, ""); status != http.StatusNotFound {
		t.Errorf("delete again: %d", status)
	}
}

func TestOnlySessionsReachSettings(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.signUp()
	key := want[struct{ Key string }](ada, 201, "POST", "/api/v1/keys",
		`{"name":"all","scopes":["jobs:read","jobs:write","credits:read","convert","molecular:chat","projects:read","projects:write"]}`)
	program := h.user(h.WithKey(key.Key))
	for _, request := range [][2]string{{"GET", ""}, {"POST", ""}, {"GET", "/lic_1"}, {"PUT", "/lic_1"}, {"DELETE", "/lic_1"},
		{"POST", "/lic_1/test"}} {
		if status, text, _ := program.send(request[0], serversPath+request[1], ""); status != http.StatusForbidden ||
			!strings.Contains(text, "SESSION_REQUIRED") {
			t.Errorf("%s %s with a key: %d %s", request[0], request[1], status, text)
		}
	}
	if status, text, _ := h.user(h.Anonymous()).send("GET", serversPath, ""); status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", status, text)
	}
}

func TestEveryMemberIsValidated(t *testing.T) {
	t.Parallel()
	ada := open(t).signUp()
	long := func(n int) string { return strings.Repeat("é", n) }
	for _, members := range [][]any{
		{"name", "x"}, {"name", long(100)}, {"vendor", long(100), "product", "4"}, {"protocol", "flexlm"}, {"protocol", "rlm"},
		{"protocol", "custom"}, {"port", 1}, {"port", 65535}, {"seats", 1}, {"seats", 100000}, {"enforcement", "DISABLED"},
		{"host", "10.1.2.3"}, {"host", "fd00::1"}, {"secret", strings.Repeat("s", 4096)}, {"secret", ""},
		{"host", strings.Repeat("a.", 125) + "abc"},
	} {
		want[contract.LicenseServer](ada, 201, "POST", serversPath, server(members...))
	}
	for _, c := range []struct {
		member string
		value  any
	}{
		{"name", nil}, {"name", ""}, {"name", long(101)}, {"name", 5}, {"vendor", nil}, {"vendor", ""}, {"vendor", long(101)},
		{"vendor", "a/b"}, {"vendor", "a\u0001"}, {"vendor", "_- "}, {"product", nil}, {"product", ""}, {"product", "- -"},
		{"product", "a/b"}, {"protocol", nil}, {"protocol", "FlexLM"}, {"protocol", ""}, {"host", nil}, {"host", ""},
		{"host", "a b"}, {"host", "127.1"}, {"host", "host:27000"}, {"host", "fe80::1%eth0"},
		{"host", strings.Repeat("a.", 126) + "abc"}, {"port", nil}, {"port", 0}, {"port", 65536}, {"port", 1.5}, {"port", "1"},
		{"seats", nil}, {"seats", 0}, {"seats", 100001}, {"enforcement", "enforced"}, {"enforcement", ""}, {"enabled", "yes"},
		{"secret", strings.Repeat("s", 4097)}, {"secret", 5}, {"status", "READY"}, {"id", "lic_1"}, {"seatsInUse", 1},
	} {
		status, text, _ := ada.send("POST", serversPath, server(c.member, c.value))
		if status/100 != 4 || !strings.Contains(text, c.member) {
			t.Errorf("%s = %v: got %d %s, want a refusal that names it", c.member, c.value, status, text)
		}
	}
}

func TestServersAreBounded(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.signUp()
	want[contract.LicenseServer](ada, 201, "POST", serversPath, server())
	h.DB.MustExec(`INSERT INTO license_servers (id, account_id, name, vendor, product, license_key, protocol, host, port, seats,
		enforcement, enabled, status, created_at)
		SELECT 'lic_' || n, account_id, name, vendor, product, license_key, protocol, host, port, seats, enforcement, enabled,
		status, created_at
		FROM license_servers, generate_series(1, $1) n`, settings.MaxServers-1)
	if status, text, _ := ada.send("POST", serversPath, server()); status != http.StatusBadRequest ||
		!strings.Contains(text, "100") {
		t.Errorf("one too many: %d %s", status, text)
	}
	if list := want[contract.LicenseServerList](ada, 200, "GET", serversPath, ""); len(list.LicenseServers) != settings.MaxServers {
		t.Errorf("%d are listed", len(list.LicenseServers))
	}
}

func TestTestTellsWhatItSaw(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.signUp()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	h.licences = listener.Addr().String()
	made := want[contract.LicenseServer](ada, 201, "POST", serversPath, server())
	path := serversPath + "/" + made.ID
	up := want[contract.LicenseServer](ada, 200, "POST", path+"/test", "")
	if up.Status != "READY" || up.LastCheckedAt == nil || up.LastError != nil {
		t.Errorf("a server that listens: %+v", up)
	}
	// What does not say where it is leaves what is known of it.
	kept := want[contract.LicenseServer](ada, 200, "PUT", path, server("seats", 9, "name", "More", "vendor", "Other"))
	if kept.Status != "READY" || kept.LastCheckedAt == nil || kept.Seats != 9 || kept.Name != "More" || kept.Vendor != "Other" {
		t.Errorf("more seats: %+v", kept)
	}
	for _, elsewhere := range [][]any{{"host", "other.example.org"}, {"host", "other.example.org", "port", 1716},
		{"host", "other.example.org", "port", 1716, "protocol", "rlm"}} {
		want[contract.LicenseServer](ada, 200, "POST", path+"/test", "")
		moved := want[contract.LicenseServer](ada, 200, "PUT", path, server(elsewhere...))
		if moved.Status != "UNVERIFIED" || moved.LastCheckedAt != nil || moved.LastError != nil {
			t.Errorf("moved to %v: %+v", elsewhere, moved)
		}
	}
	h.licences = ""
	down := want[contract.LicenseServer](ada, 200, "POST", path+"/test", "")
	if down.Status != "NOT_READY" || down.LastCheckedAt == nil || down.LastError == nil ||
		!strings.Contains(*down.LastError, "port 1716") {
		t.Errorf("a server that is down: %+v", down)
	}
	for _, host := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"} {
		want[contract.LicenseServer](ada, 200, "PUT", path, server("host", host))
		if got := want[contract.LicenseServer](ada, 200, "POST", path+"/test", ""); got.Status != "NOT_READY" ||
			!strings.Contains(*got.LastError, "contact") {
			t.Errorf("%s: %+v", host, got)
		}
	}
}

// TestSecretsAreWriteOnly: a secret is nowhere to be read, and what is stored opens only under the deployment's secret and
// for its own server.
func TestSecretsAreWriteOnly(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.signUp()
	const secret = "hunter2-hunter2"
	made := want[contract.LicenseServer](ada, 201, "POST", serversPath, server("secret", secret))
	path := serversPath + "/" + made.ID
	if got := h.unsealed(made.ID, h.Deps.Config.KeySecrets.Sealing()); got != secret {
		t.Errorf("stored %q, want the secret", got)
	}
	want[contract.LicenseServer](ada, 200, "PUT", path, server("seats", 5))
	if got := h.unsealed(made.ID, h.Deps.Config.KeySecrets.Sealing()); got != secret {
		t.Errorf("after a change without a secret: %q", got)
	}
	want[contract.LicenseServer](ada, 200, "PUT", path, server("secret", secret+"-2"))
	if got := h.unsealed(made.ID, h.Deps.Config.KeySecrets.Sealing()); got != secret+"-2" {
		t.Errorf("after a change of the secret: %q", got)
	}
	if got := h.unsealed(made.ID, bytes.Repeat([]byte("x"), 32)); got != "" {
		t.Errorf("another deployment reads %q", got)
	}
	want[contract.LicenseServer](ada, 200, "GET", path, "")
	want[contract.LicenseServer](ada, 200, "POST", path+"/test", "")
	want[contract.LicenseServerList](ada, 200, "GET", serversPath, "")
	ada.send("PUT", path, server("secret", secret, "port", 0))
	ada.send("PUT", path, strings.Replace(server("secret", secret), `"port":1715`, `"port":`, 1))
	want[contract.LicenseServer](ada, 200, "PUT", path, server("secret", ""))
	var sealed []byte
	if err := h.DB.Get(&sealed, `SELECT secret_sealed FROM license_servers WHERE id = $1`, made.ID); err != nil || sealed != nil {
		t.Errorf("after its removal %x is stored, %v", sealed, err)
	}
	var rows string
	if err := h.DB.Get(&rows, `SELECT string_agg(l::text, ' ') FROM license_servers l`); err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{"an answer": ada.said.String(), "the log": h.Log.String(), "the table": rows} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s holds the secret", place)
		}
	}
}

// unsealed opens what is stored of a secret, or returns "" when it cannot be opened.
func (h *house) unsealed(serverID string, secret []byte) string {
	h.t.Helper()
	var sealed []byte
	if err := h.DB.Get(&sealed, `SELECT secret_sealed FROM license_servers WHERE id = $1`, serverID); err != nil {
		h.t.Fatal(err)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "molfabric licence servers v1", 32)
	if err != nil {
		h.t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		h.t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := aead.Open(nil, sealed[:12], sealed[12:], []byte("lic_other")); err == nil {
		h.t.Error("the secret opens for another server")
	}
	plain, err := aead.Open(nil, sealed[:12], sealed[12:], []byte(serverID))
	if err != nil {
		return ""
	}
	return string(plain)
}

// TestSeatsInUse counts the tasks of the account that hold the licence, and no others.
func TestSeatsInUse(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada, eve := h.signUp(), h.signUp()
	mine := want[contract.LicenseServer](ada, 201, "POST", serversPath, server("vendor", "side-fx"))
	theirs := want[contract.LicenseServer](eve, 201, "POST", serversPath, server())
	var accounts []string
	if err := h.DB.Select(&accounts, `SELECT account_id FROM license_servers ORDER BY created_at`); err != nil {
		t.Fatal(err)
	}
	for i, task := range [][3]string{
		{accounts[0], "QUEUED", "sidefx/houdiniengine"}, {accounts[0], "RUNNING", "sidefx/houdiniengine"},
		{accounts[0], "PENDING", "sidefx/houdiniengine"}, {accounts[0], "SUCCEEDED", "sidefx/houdiniengine"},
		{accounts[0], "RUNNING", "autodesk/maya"}, {accounts[1], "RUNNING", "sidefx/houdiniengine"},
	} {
		job := fmt.Sprintf("job_%d", i)
		h.DB.MustExec(`INSERT INTO jobs (id, account_id, job_type, scene_file, request, status, stage_count, task_count,
			estimated_pence, held_pence, created_at, updated_at)
			VALUES ($1, $2, 'simulation', '', '{}', 'RUNNING', 1, 1, 0, 0, now(), now())`, job, task[0])
		h.DB.MustExec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue,
			ready, status, license_key)
			VALUES ($1, $1, $2, 0, 's', 0, 'n', false, 1, 'cpu.x', true, $3, $4)`, job, task[0], task[1], task[2])
	}
	for path, wanted := range map[*user]contract.LicenseServer{ada: mine, eve: theirs} {
		n := map[*user]int{ada: 2, eve: 1}[path]
		if got := want[contract.LicenseServer](path, 200, "GET", serversPath+"/"+wanted.ID, ""); got.SeatsInUse != n {
			t.Errorf("%d seats in use, want %d", got.SeatsInUse, n)
		}
	}
}
