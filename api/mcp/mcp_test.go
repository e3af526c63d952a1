package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/throttle"
)

var every = []string{"jobs:read", "jobs:write", "credits:read"}

// maxListBytes is what the list of tools may cost a model that reads it.
const maxListBytes = 64 << 10

func TestTools(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, key := h.SignUp().Key("test", every...)
	list, err := h.agent(key).session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range list.Tools {
		hints := tool.Annotations
		got = append(got, fmt.Sprintf("%s read=%v destroy=%v again=%v", tool.Name, hints.ReadOnlyHint,
			hints.DestructiveHint != nil && *hints.DestructiveHint, hints.IdempotentHint))
		if tool.Description == "" || tool.Title == "" {
			t.Errorf("%s describes nothing", tool.Name)
		}
	}
	want := []string{ // in the alphabet's order
		"cancel_job read=false destroy=true again=true",
		"create_upload_url read=false destroy=false again=false",
		"estimate_job read=true destroy=false again=true",
		"fold_proteins read=false destroy=false again=false",
		"get_balance read=true destroy=false again=true",
		"get_docking_results read=true destroy=false again=true",
		"get_job_outputs read=true destroy=false again=true",
		"get_job_status read=true destroy=false again=true",
		"run_waves read=false destroy=false again=false",
		"submit_job read=false destroy=false again=false",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got tools\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("the list of tools has %d bytes", len(text)); len(text) > maxListBytes ||
		strings.Contains(string(text), "#/components/") {
		t.Errorf("the list of tools has %d bytes and must stand alone within %d", len(text), maxListBytes)
	}
	if !strings.Contains(string(text), "#/$defs/SimulationParams") {
		t.Error("submit_job does not describe simulationParams")
	}
}

// receptor lies where the guide's example docks.
const receptor = "ATOM      1  N   GLY A   1      15.850  14.650   3.900  1.00  0.00           N\n"

const curl = `curl --fail --request (\S+) --upload-file '\S+'((?: --header '[^']+')*) '([^']+)'`

// upload does what the tool's command does, and returns the file's key.
func (h *house) upload(a *agent, content string) string {
	h.t.Helper()
	var ticket struct{ S3Key string }
	got := a.good("create_upload_url", fmt.Sprintf(`{"filename":"receptor.pdb","contentType":"chemical/x-pdb","size":%d}`,
		len(content)), &ticket)
	command := regexp.MustCompile(curl).FindStringSubmatch(said(got))
	if command == nil {
		h.t.Fatalf("no command in %s", said(got))
	}
	request, err := http.NewRequestWithContext(h.t.Context(), command[1], command[3], strings.NewReader(content))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, header := range regexp.MustCompile(`'([^:']+): ([^']+)'`).FindAllStringSubmatch(command[2], -1) {
		request.Header.Set(header[1], header[2])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		h.t.Fatalf("upload: %s %s", response.Status, text)
	}
	return ticket.S3Key
}

// guideExample is the submission that /llms.txt shows, with another scene.
func (h *house) guideExample(scene string) string {
	h.t.Helper()
	var guide string
	h.send(h.Anonymous(), "GET", "/llms.txt", "", http.StatusOK, &guide)
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(guide)
	if example == nil {
		h.t.Fatalf("no example in %s", guide)
	}
	return strings.Replace(example[1], "<s3Key of step 1>", scene, 1)
}

// TestWholeWay is the way of an agent that docks, with the example that the guide gives, up to where a worker is needed.
func TestWholeWay(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, key := h.SignUp().Key("live", every...)
	a := h.agent(key)
	request := h.guideExample(h.upload(a, receptor))
	var shorter map[string]any
	if err := json.Unmarshal([]byte(request), &shorter); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sceneFile", "jobName", "idempotencyKey"} {
		delete(shorter, name)
	}
	asked, err := json.Marshal(shorter)
	if err != nil {
		t.Fatal(err)
	}
	var price, receipt, again struct {
		EstimatedCost    float64
		JobID, Status    string
		IdempotentReplay bool
	}
	a.good("estimate_job", string(asked), &price)
	a.good("submit_job", request, &receipt)
	if receipt.Status != "SUBMITTED" || receipt.EstimatedCost != price.EstimatedCost {
		t.Errorf("submitted as %+v, estimated %+v", receipt, price)
	}
	if a.good("submit_job", request, &again); again.JobID != receipt.JobID || !again.IdempotentReplay {
		t.Errorf("the repetition made %+v, want %s again", again, receipt.JobID)
	}
	job := fmt.Sprintf(`{"jobId":%q}`, receipt.JobID)
	for tool, path := range map[string]string{
		"get_job_status": "/api/v1/jobs/" + receipt.JobID + "/status", "get_job_outputs": "/api/v1/jobs/" + receipt.JobID +
			"/outputs", "get_balance": "/api/v1/credits/balance",
	} {
		var overTool, overREST any
		arguments := job
		if tool == "get_balance" {
			arguments = "{}"
		}
		got := a.good(tool, arguments, &overTool)
		h.send(h.Anonymous(), "GET", path, "", http.StatusOK, &overREST, "Authorization", "Bearer "+key)
		if !reflect.DeepEqual(overTool, overREST) {
			t.Errorf("%s: got %v, over REST %v", tool, overTool, overREST)
		}
		if len(got.Content) != 2 {
			t.Errorf("%s says %q, want a summary and the answer", tool, said(got))
		}
	}
	var ranking struct {
		Complete bool
		Ligands  []any
	}
	if a.good("get_docking_results", job, &ranking); ranking.Complete || ranking.Ligands == nil || len(ranking.Ligands) > 0 {
		t.Errorf("results of a job that has not run: %+v", ranking)
	}
	var cancelled struct{ Status string }
	a.good("cancel_job", fmt.Sprintf(`{"jobId":%q,"reason":"enough"}`, receipt.JobID), &cancelled)
	a.good("cancel_job", job, &cancelled)
	if !strings.HasPrefix(cancelled.Status, "CANCELL") {
		t.Errorf("cancelled as %q", cancelled.Status)
	}
}

// TestRefusals shows that a tool refuses what its operation refuses, by the name of the member.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := open(t)
	browser := h.SignUp()
	_, live := browser.Key("live", every...)
	_, test := browser.Key("test", every...)
	_, narrow := browser.Key("live", "credits:read")
	a := h.agent(live)
	docking := `{"jobType":"simulation","simulator":"autodock-vina","sceneFile":"nobody's","simulationParams":{%s}}`
	for _, c := range []struct{ tool, arguments, code, says string }{
		{"submit_job", fmt.Sprintf(docking, `"exhaustiveness":0`), "VALIDATION_ERROR", "simulationParams.exhaustiveness"},
		{"submit_job", fmt.Sprintf(docking, `"thoroughness":1`), "VALIDATION_ERROR", "thoroughness"},
		{"submit_job", fmt.Sprintf(docking, `"seed":null`), "VALIDATION_ERROR", "simulationParams.seed"},
		{"submit_job", `{"jobType":"pipeline","sceneFile":"x"}`, "PIPELINE_DISABLED", "pipeline"},
		{"estimate_job", `{"jobType":"simulation","simulator":"smina"}`, "UNSUPPORTED_SIMULATOR", "simulator"},
		{"create_upload_url", `{"filename":"a","contentType":"b","size":0}`, "VALIDATION_ERROR", "size"},
		{"get_job_status", `{}`, "VALIDATION_ERROR", "jobId"},
		{"get_job_status", `{"jobId":"../../keys"}`, "VALIDATION_ERROR", "jobId"},
		{"get_job_status", `{"jobId":["a","b"]}`, "VALIDATION_ERROR", "jobId"},
		{"get_job_status", `{"jobId":{"a":1}}`, "VALIDATION_ERROR", "jobId"},
		{"get_job_status", `{"jobId":"job_1","id":"job_2"}`, "VALIDATION_ERROR", "id: is no argument"},
		{"get_job_status", `{"jobId":"job_unknown"}`, "NOT_FOUND", ""},
		{"get_job_outputs", `{"jobId":"job_unknown"}`, "NOT_FOUND", ""},
		{"get_job_outputs", `{"jobId":"job_unknown","limit":1000}`, "VALIDATION_ERROR", "limit"},
		{"get_job_outputs", `{"jobId":"job_unknown","role":["result","none"]}`, "VALIDATION_ERROR", "role"},
		{"cancel_job", `{"jobId":"job_unknown","why":"x"}`, "VALIDATION_ERROR", "why"},
		{"get_balance", `{"currency":"EUR"}`, "VALIDATION_ERROR", "currency"},
		{"get_docking_results", `{"jobId":"job_unknown"}`, "NOT_FOUND", ""},
		{"get_docking_results", `{"limit":5}`, "VALIDATION_ERROR", "id"},
		{"get_docking_results", `{"jobId":"job_1","limit":0}`, "VALIDATION_ERROR", "limit"},
		{"get_docking_results", `{"jobId":"job_1","top":5}`, "VALIDATION_ERROR", "top"},
		{"fold_proteins", `{"jobId":"job_1"}`, "VALIDATION_ERROR", "jobId"},
		{"run_waves", `{"deck":"INPUT"}`, "VALIDATION_ERROR", "deck: is no argument"},
		{"run_waves", `{"model":"wam","sceneFile":"s"}`, "UNSUPPORTED_SIMULATOR", "simulator"},
		{"run_waves", `{"resumable":"yes"}`, "VALIDATION_ERROR", "resumable: must be true or false"},
	} {
		a.refused(c.tool, c.arguments, c.code, c.says)
	}
	h.agent(test).refused("submit_job", fmt.Sprintf(docking, ""), "TEST_KEY_LIVE_BILLING", "live key")
	var balance map[string]any
	h.agent(test).good("get_balance", "{}", &balance)
	for tool, scope := range map[string]string{
		"submit_job": "jobs:write", "create_upload_url": "jobs:write", "get_job_status": "jobs:read",
		"get_docking_results": "jobs:read", "fold_proteins": "jobs:write", "run_waves": "jobs:write",
	} {
		arguments := `{"jobId":"job_1"}`
		if scope == "jobs:write" {
			arguments = `{}`
		}
		h.agent(narrow).refused(tool, arguments, "INSUFFICIENT_SCOPE", scope)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

const balanceCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance","arguments":{}}}`

// TestDoor shows who is let in, with what, and in which form refusals come.
func TestDoor(t *testing.T) {
	t.Parallel()
	h := open(t)
	browser := h.SignUp()
	keyID, key := browser.Key("live", every...)
	credential := "Bearer " + key
	for _, c := range []struct {
		name, method, body string
		browser            bool
		status             int
		code               string
		header             []string
	}{
		{"no key", "POST", initialize, false, 401, "UNAUTHORIZED", nil},
		{"no key and a wrong method", "GET", "", false, 401, "UNAUTHORIZED", nil},
		{"a browser's session", "POST", initialize, true, 401, "UNAUTHORIZED", nil},
		{"a broken key", "POST", initialize, false, 401, "UNAUTHORIZED", []string{"Authorization", credential + "x"}},
		{"another scheme", "POST", initialize, false, 401, "UNAUTHORIZED", []string{"Authorization", "Basic YTpi"}},
		{"a listener", "GET", "", false, 405, "METHOD_NOT_ALLOWED", []string{"Authorization", credential}},
		{"the end of a session", "DELETE", "", false, 405, "METHOD_NOT_ALLOWED", []string{"Authorization", credential}},
		{"a foreign page", "POST", initialize, false, 403, "CSRF_REJECTED",
			[]string{"Authorization", credential, "Origin", "https://evil.example"}},
		{"no origin", "POST", initialize, false, 403, "CSRF_REJECTED", []string{"Authorization", credential, "Origin", "null"}},
		{"a configured page", "POST", initialize, false, 200, "", []string{"Authorization", credential, "Origin",
			"https://lab.example.org"}},
		{"our own page", "POST", initialize, false, 200, "", []string{"Authorization", credential, "Origin", h.Base}},
		{"no JSON", "POST", "{", false, 400, "VALIDATION_ERROR", []string{"Authorization", credential}},
		{"text", "POST", initialize, false, 415, "UNSUPPORTED_MEDIA_TYPE",
			[]string{"Authorization", credential, "Content-Type", "text/plain"}},
		{"several messages", "POST", "[" + initialize + "]", false, 400, "VALIDATION_ERROR", []string{"Authorization", credential}},
		{"a long message", "POST", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, false, 413, "PAYLOAD_TOO_LARGE",
			[]string{"Authorization", credential}},
		{"an unknown version", "POST", initialize, false, 400, "VALIDATION_ERROR",
			[]string{"Authorization", credential, "Mcp-Protocol-Version", "1999-01-01"}},
	} {
		client := h.Anonymous()
		if c.browser {
			client = browser
		}
		var got map[string]any
		header := h.send(client, c.method, "/mcp", c.body, c.status, &got, c.header...)
		if code, _ := got["code"].(string); code != c.code || (c.code != "") != (len(got) == 2) {
			t.Errorf("%s: got %v, want %s", c.name, got, c.code)
		}
		if (c.status == 401) != (header.Get("WWW-Authenticate") == "Bearer") || header.Get("X-Request-Id") == "" ||
			header.Get("RateLimit-Limit") == "" {
			t.Errorf("%s: headers %v", c.name, header)
		}
	}
	// A name that leads here today is no page of ours, though Host and Origin agree.
	rebound, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Base+"/mcp", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	rebound.Host = "rebound.example"
	rebound.Header.Set("Origin", "http://rebound.example")
	rebound.Header.Set("Authorization", credential)
	response, err := http.DefaultClient.Do(rebound)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusForbidden {
		t.Errorf("a rebound name is answered with %s", response.Status)
	}
	var events string
	header := h.send(h.Anonymous(), "POST", "/mcp", balanceCall, 200, &events, "Authorization", credential, "Accept",
		"text/event-stream", "X-Request-Id", "agent-message-1")
	if !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") || !strings.Contains(events, `"wallet_cents"`) ||
		header.Get("X-Request-Id") != "agent-message-1" {
		t.Errorf("as events: %v %s", header, events)
	}
	a := h.agent(key)
	h.send(browser, "DELETE", "/api/v1/keys/"+keyID, "", http.StatusOK, nil)
	if _, err := a.session.ListTools(t.Context(), nil); err == nil {
		t.Error("a revoked key still lists tools")
	}
	if _, err := h.connect(key); err == nil {
		t.Error("a revoked key still connects")
	}
}

// TestManyAtOnce calls for several accounts at once, and expects each to see its own.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	const callers, calls = 4, 10
	var wait sync.WaitGroup
	for range callers {
		_, key := h.SignUp().Key("live", every...)
		a := h.agent(key)
		var receipt struct{ JobID string }
		a.good("submit_job", h.guideExample(h.upload(a, receptor)), &receipt)
		for range calls {
			wait.Go(func() {
				var status struct{ JobID string }
				got := a.call("get_job_status", fmt.Sprintf(`{"jobId":%q}`, receipt.JobID))
				if decode(t, got, &status); got.IsError || status.JobID != receipt.JobID {
					t.Errorf("asked for %s, got %s", receipt.JobID, said(got))
				}
			})
		}
	}
	wait.Wait()
}

// TestTrace shows that a tool's call is logged as the caller's own request, under the id of the message.
func TestTrace(t *testing.T) {
	t.Parallel()
	h := open(t)
	keyID, key := h.SignUp().Key("live", every...)
	h.send(h.Anonymous(), "POST", "/mcp", balanceCall, 200, nil, "Authorization", "Bearer "+key, "X-Request-Id", "agent-message-2",
		"X-Forwarded-For", "203.0.113.9")
	for line := range strings.Lines(h.Log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry["route"] != "/api/v1/credits/balance" {
			continue
		}
		if entry["request_id"] != "agent-message-2" || entry["key_id"] != keyID || entry["address"] != "127.0.0.1" {
			t.Errorf("the call is logged as %s", line)
		}
		return
	}
	t.Errorf("the call is not logged: %s", h.Log)
}

// TestLimit shows that a message and the call in it count as the key's, and that a tool's error says when to come back.
func TestLimit(t *testing.T) {
	t.Parallel()
	h := open(t, func(d *api.Deps) {
		d.Config.Limits.Credential = throttle.Limit{Rate: 1, Period: time.Hour, Burst: 4}
	})
	_, key := h.SignUp().Key("live", every...)
	credential := []string{"Authorization", "Bearer " + key}
	var got struct {
		Result struct {
			IsError           bool
			StructuredContent struct{ Code string }
		}
	}
	h.send(h.Anonymous(), "POST", "/mcp", initialize, 200, nil, credential...)
	if h.send(h.Anonymous(), "POST", "/mcp", balanceCall, 200, &got, credential...); got.Result.IsError {
		t.Errorf("the first call is refused: %+v", got)
	}
	if h.send(h.Anonymous(), "POST", "/mcp", balanceCall, 200, &got,
		credential...); got.Result.StructuredContent.Code != "RATE_LIMITED" {
		t.Errorf("a call beyond the limit: %+v", got)
	}
	if header := h.send(h.Anonymous(), "POST", "/mcp", balanceCall, 429, nil, credential...); header.Get("Retry-After") == "" {
		t.Error("a message beyond the limit is not told when to come back")
	}
}
