package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	wired "github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

const studioBase = "/api/v1/molecular/studio"

// say sends a message to a session.
func say(t *testing.T, p *product, session, body string) wired.StudioTurn {
	t.Helper()
	var turn wired.StudioTurn
	answer := p.key.Send("POST", studioBase+"/sessions/"+session+"/messages", body)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", body, answer.StatusCode, answer.Text)
	}
	answer.Decode(t, &turn)
	return turn
}

// kinase uploads protein kinase A with ATP and two ions of manganese, and returns it as the source of a session.
func kinase(t *testing.T, p *product) string {
	t.Helper()
	content, err := os.ReadFile("../engines/enginestest/samples/1atp.pdb.gz")
	if err != nil {
		t.Fatal(err)
	}
	p.store(t, content)
	return "upload:" + p.file.key
}

// TestStudioSession goes through a whole session: opened, talked to, undone, saved, opened from there, deleted.
func TestStudioSession(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var session wired.StudioSession
	opened := p.key.Send("POST", studioBase+"/sessions", `{"source":"`+kinase(t, p)+`"}`)
	opened.Decode(t, &session)
	if opened.StatusCode != http.StatusCreated || session.SceneVersion != 1 || len(session.Structures) != 1 ||
		!strings.Contains(session.Title, "1ATP") || !strings.Contains(string(session.Scene), `"`+session.Structures[0].File+`"`) {
		t.Fatalf("opened: %d %.2000s", opened.StatusCode, opened.Text)
	}
	if at := opened.Header.Get("Location"); at != studioBase+"/sessions/"+session.SessionID {
		t.Errorf("Location is %s", at)
	}

	turn := say(t, p, session.SessionID, `{"message":"show ATP as sticks"}`)
	if !turn.Changed || turn.SceneVersion != 2 || turn.UnderstoodBy != "grammar" || len(turn.ResolvedSelections) == 0 ||
		turn.ResolvedSelections[0].AtomCount != 31 {
		t.Errorf("sticks: %+v", turn.StudioMessage)
	}
	asked := say(t, p, session.SessionID, `{"message":"zoom in on the manganese"}`)
	if asked.Changed || asked.Question == nil || len(asked.Question.Choices) != 2 {
		t.Errorf("two ions: %+v", asked.StudioMessage)
	}
	chosen := say(t, p, session.SessionID, `{"message":"the second one"}`)
	if !chosen.Changed || !strings.Contains(chosen.ResolvedSelections[0].Query, "352") {
		t.Errorf("the answer: %+v", chosen.StudioMessage)
	}
	dry := say(t, p, session.SessionID, `{"message":"hide everything","dryRun":true}`)
	if !dry.DryRun || dry.MessageID != "" {
		t.Errorf("dry run: %+v", dry.StudioMessage)
	}

	var undone wired.StudioTurn
	p.key.Send("POST", studioBase+"/sessions/"+session.SessionID+"/undo", "").Decode(t, &undone)
	if !undone.Changed || undone.SceneVersion != chosen.SceneVersion+1 {
		t.Errorf("undo: %+v", undone.StudioMessage)
	}
	p.key.Send("POST", studioBase+"/sessions/"+session.SessionID+"/redo", `{"steps":1}`).Decode(t, &undone)
	if sceneOf(t, undone.Scene) != sceneOf(t, chosen.Scene) {
		t.Errorf("redo did not bring the scene back:\n%s\n%s", undone.Scene, chosen.Scene)
	}

	var saved wired.StudioProject
	p.key.Send("POST", studioBase+"/sessions/"+session.SessionID+"/save", `{"name":"Kinase"}`, "Idempotency-Key", "save-it-1").Decode(t, &saved)
	if saved.ProjectID == "" || saved.Version != 1 {
		t.Fatalf("saved: %+v", saved)
	}
	var again wired.StudioSession
	reopened := p.key.Send("POST", studioBase+"/sessions", `{"projectId":"`+saved.ProjectID+`"}`)
	reopened.Decode(t, &again)
	if string(again.Scene) == "" || sceneOf(t, again.Scene) != sceneOf(t, undone.Scene) {
		t.Errorf("the project's scene is another one: %d %.500s", reopened.StatusCode, reopened.Text)
	}

	replayed(t, p, session.SessionID, undone.Scene)

	var messages wired.StudioMessageList
	p.key.Send("GET", studioBase+"/sessions/"+session.SessionID+"/messages?limit=3", "").Decode(t, &messages)
	if len(messages.Messages) != 3 || messages.NextCursor == nil || messages.Messages[2].MessageID != chosen.MessageID {
		t.Errorf("messages: %+v", messages)
	}
	file := p.key.Send("GET", studioBase+"/sessions/"+session.SessionID+"/files/"+session.Structures[0].File, "")
	if file.StatusCode != http.StatusOK || file.Text == "" {
		t.Errorf("the structure: %d %.100s", file.StatusCode, file.Text)
	}
	if gone := p.key.Send("DELETE", studioBase+"/sessions/"+session.SessionID, ""); gone.StatusCode != http.StatusNoContent {
		t.Errorf("delete: %d %s", gone.StatusCode, gone.Text)
	}
	wantFailure(t, p.key.Send("GET", studioBase+"/sessions/"+session.SessionID, ""), 404, fault.NotFound, "no such session")
}

// replayed carries a session's steps out in another one, and expects the same scene.
func replayed(t *testing.T, p *product, sessionID string, want wired.StudioObject) {
	t.Helper()
	var session, other wired.StudioSession
	p.key.Send("GET", studioBase+"/sessions/"+sessionID, "").Decode(t, &session)
	p.key.Send("POST", studioBase+"/sessions", `{"source":"`+session.Structures[0].Source+`"}`).Decode(t, &other)
	var last wired.StudioTurn
	for _, step := range session.Steps[1 : session.At+1] {
		body, err := json.Marshal(wired.StudioMessageRequest{Operations: step.Operations})
		if err != nil {
			t.Fatal(err)
		}
		last = say(t, p, other.SessionID, string(body))
	}
	if sceneOf(t, last.Scene) != sceneOf(t, want) {
		t.Errorf("played again, the scene is\n%s\nand was\n%s", last.Scene, want)
	}
}

// sceneOf is a scene without the moment at which it was written.
func sceneOf(t *testing.T, text wired.StudioObject) string {
	t.Helper()
	var scene struct {
		Snapshots []struct{ Root json.RawMessage }
	}
	if err := json.Unmarshal(text, &scene); err != nil || len(scene.Snapshots) != 1 || len(scene.Snapshots[0].Root) == 0 {
		t.Fatalf("%v in the scene %.500s, want one snapshot", err, text)
	}
	return string(scene.Snapshots[0].Root)
}

func TestStudioRefusals(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var session wired.StudioSession
	p.key.Send("POST", studioBase+"/sessions", `{"source":"`+kinase(t, p)+`"}`).Decode(t, &session)
	at := studioBase + "/sessions/" + session.SessionID
	for _, c := range []struct {
		path, body string
		status     int
		code       fault.Code
		say        string
	}{
		{studioBase + "/sessions", `{"source":"pdb:9ZZZ"}`, 400, fault.Validation, "no pdb:9ZZZ"},
		{studioBase + "/sessions", `{"source":"alphafold:P04637"}`, 400, fault.Validation, "fold its sequence"},
		{studioBase + "/sessions", `{"source":"https://example.org/x.cif"}`, 400, fault.Validation, "source"},
		{studioBase + "/sessions", `{"source":"artifact:art_1"}`, 400, fault.Validation, "nothing of this name"},
		{studioBase + "/sessions", `{"source":"pdb:1IEP","projectId":"x"}`, 400, fault.Validation, "exclude each other"},
		{studioBase + "/sessions", `{"projectId":"019aa63b-5d2c-7c31-9a53-1d8f3a0c4b52"}`, 404, fault.NotFound, "no such project"},
		{at + "/messages", `{}`, 400, fault.Validation, "message"},
		{at + "/messages", `{"operations":[{"op":"fly","args":{}}]}`, 400, fault.Validation, "operations[0]"},
		{at + "/messages", `{"operations":[{"op":"show","args":{"sel":"chain"}}]}`, 400, fault.Validation, "operations"},
		{at + "/messages", `{"message":"colour it red","selection":"chain ((("}`, 400, fault.Validation, "selection"},
		{studioBase + "/renders", `{}`, 400, fault.Validation, "give one of sessionId"},
		{studioBase + "/renders", `{"scene":{"root":{"kind":"box"}}}`, 400, fault.Validation, "MolViewSpec"},
		{studioBase + "/renders", `{"sessionId":"` + session.SessionID + `","fps":24}`, 400, fault.Validation, "frames"},
		{studioBase + "/renders/preview", `{"sessionId":"` + session.SessionID + `","widthPixels":4000}`, 400, fault.Validation,
			"widthPixels"},
		{studioBase + "/renders/preview", `{"sessionId":"` + session.SessionID + `"}`, 503, fault.ProviderUnavailable, "renderer"},
		{studioBase + "/export", `{"source":"session:ses_0","format":"mvsj"}`, 404, fault.NotFound, "no such session"},
	} {
		wantFailure(t, p.key.Send("POST", c.path, c.body), c.status, c.code, c.say)
	}
	stale := p.key.Send("POST", at+"/messages", `{"message":"hide water","sceneVersion":7}`)
	if stale.StatusCode != 409 || !strings.Contains(stale.Text, `"code":"VERSION_CONFLICT","currentVersion":1`) {
		t.Errorf("another version: %d %s", stale.StatusCode, stale.Text)
	}
	other := p.SignUp()
	for _, path := range []string{at, at + "/messages", at + "/events", at + "/files/x.cif"} {
		wantFailure(t, other.Send("GET", path, ""), 404, fault.NotFound, "no such session")
	}
	wantFailure(t, other.Send("POST", at+"/messages", `{"message":"hide water"}`), 404, fault.NotFound, "no such session")
	_, reader := p.browser.Key("live", "jobs:read")
	wantFailure(t, p.WithKey(reader).Send("GET", at, ""), 403, fault.InsufficientScope, "molecular:chat")
	_, chat := p.browser.Key("live", "molecular:chat")
	wantFailure(t, p.WithKey(chat).Send("POST", at+"/save", `{}`, "Idempotency-Key", "save-it-2"), 403, fault.InsufficientScope, "projects:write")
	wantFailure(t, p.WithKey(chat).Send("POST", studioBase+"/renders", `{"sessionId":"`+session.SessionID+`"}`), 403,
		fault.InsufficientScope, "jobs:write")
}

// TestStudioPrediction: a predicted structure is loaded by its accession, and is known to be one.
func TestStudioPrediction(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var session wired.StudioSession
	opened := p.key.Send("POST", studioBase+"/sessions", `{"source":"alphafold:Q00001"}`)
	opened.Decode(t, &session)
	if opened.StatusCode != http.StatusCreated || len(session.Structures) != 1 || session.Structures[0].Atoms != 44 {
		t.Fatalf("opened: %d %.2000s", opened.StatusCode, opened.Text)
	}
	turn := say(t, p, session.SessionID, `{"message":"colour it by confidence"}`)
	if !turn.Changed || len(turn.Warnings) > 0 {
		t.Errorf("confidence: %+v", turn.StudioMessage)
	}
	turn = say(t, p, session.SessionID, `{"message":"load alphafold:Q00001 as well"}`)
	if !turn.Changed {
		t.Errorf("loaded by a sentence: %+v", turn.StudioMessage)
	}
}

// TestStudioTestKey: whoever has a test key may talk, but neither orders nor confirms a picture.
func TestStudioTestKey(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var session wired.StudioSession
	p.key.Send("POST", studioBase+"/sessions", `{"source":"`+kinase(t, p)+`"}`).Decode(t, &session)
	_, secret := p.browser.Key("test", "molecular:chat", "jobs:write")
	tester, at := p.WithKey(secret), studioBase+"/sessions/"+session.SessionID+"/messages"
	wantFailure(t, tester.Send("POST", studioBase+"/renders", `{"sessionId":"`+session.SessionID+`"}`), 403,
		fault.TestKeyLiveBilling, "live key")
	if offered := tester.Send("POST", at, `{"message":"render a 4k picture"}`); offered.StatusCode != 200 {
		t.Fatalf("offered: %d %s", offered.StatusCode, offered.Text)
	}
	wantFailure(t, tester.Send("POST", at, `{"message":"yes"}`), 403, fault.TestKeyLiveBilling, "live key")
}

// TestStudioMessagesOnce: a message that is sent again with its key is answered as the first time and done once.
func TestStudioMessagesOnce(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var first, second wired.StudioSession
	body := `{"source":"` + kinase(t, p) + `"}`
	p.key.Send("POST", studioBase+"/sessions", body, "Idempotency-Key", "open-it-1").Decode(t, &first)
	again := p.key.Send("POST", studioBase+"/sessions", body, "Idempotency-Key", "open-it-1")
	again.Decode(t, &second)
	if first.SessionID != second.SessionID || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("two sessions: %s, %s", first.SessionID, second.SessionID)
	}
	at := studioBase + "/sessions/" + first.SessionID + "/messages"
	var one, other wired.StudioTurn
	p.key.Send("POST", at, `{"message":"zoom out"}`, "Idempotency-Key", "say-it-01").Decode(t, &one)
	repeated := p.key.Send("POST", at, `{"message":"zoom out"}`, "Idempotency-Key", "say-it-01")
	repeated.Decode(t, &other)
	if one.MessageID != other.MessageID || one.SceneVersion != 2 || other.SceneVersion != 2 ||
		repeated.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %+v, then %+v", one.StudioMessage, other.StudioMessage)
	}
	wantFailure(t, p.key.Send("POST", at, `{"message":"zoom in"}`, "Idempotency-Key", "say-it-01"), 422, fault.IdempotencyKeyReused, "")
}

// TestStudioRender: a session becomes a job whose scene holds its structures; a yes orders what was talked about.
func TestStudioRender(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var session wired.StudioSession
	p.key.Send("POST", studioBase+"/sessions", `{"source":"`+kinase(t, p)+`"}`).Decode(t, &session)
	var receipt, repeated wired.SubmitResponse
	body := `{"sessionId":"` + session.SessionID + `","resolution":"640x480","renderEngine":"cycles","samples":16}`
	p.key.Send("POST", studioBase+"/renders", body, "Idempotency-Key", "render-it-1").Decode(t, &receipt)
	p.key.Send("POST", studioBase+"/renders", body, "Idempotency-Key", "render-it-1").Decode(t, &repeated)
	if receipt.JobID == "" || receipt.JobID != repeated.JobID || receipt.JobType != "molecular" {
		t.Errorf("got %+v, then %+v", receipt, repeated)
	}
	offered := say(t, p, session.SessionID, `{"message":"render a 4k picture"}`)
	if offered.Render == nil || offered.Render.Price == nil || offered.Render.JobID != nil ||
		offered.Render.Request.Resolution != "3840x2160" || !strings.Contains(offered.Reply, "£") {
		t.Fatalf("offered %+v", offered.StudioMessage)
	}
	ordered := say(t, p, session.SessionID, `{"message":"yes"}`)
	if ordered.Render == nil || ordered.Render.JobID == nil || !strings.Contains(ordered.Reply, *ordered.Render.JobID) {
		t.Errorf("ordered %+v", ordered.StudioMessage)
	}
	var exported wired.StudioExport
	p.key.Send("POST", studioBase+"/export", `{"source":"session:`+session.SessionID+`","format":"mvsx"}`).Decode(t, &exported)
	if !exported.Valid || exported.Artifact.StorageKey == "" {
		t.Fatalf("exported %+v", exported)
	}
	var opened wired.StudioSession
	p.key.Send("POST", studioBase+"/sessions", `{"source":"upload:`+exported.Artifact.StorageKey+`"}`).Decode(t, &opened)
	if len(opened.Structures) != 1 || opened.Structures[0].Atoms != session.Structures[0].Atoms {
		t.Errorf("opened again: %+v", opened.Structures)
	}
}
