package jobs

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/jobs/parameters"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	docking := func(key string) *DockingRequest {
		return &DockingRequest{RequestID: "r", RunID: "r", IdempotencyKey: key}
	}
	for _, c := range []struct {
		name, header string
		body         SubmitRequest
		want         string
		code         fault.Code
	}{
		{"none", "", SubmitRequest{}, "", ""},
		{"header", "header-key", SubmitRequest{}, "header-key", ""},
		{"body", "", SubmitRequest{IdempotencyKey: "body-key"}, "body-key", ""},
		{"docking", "", SubmitRequest{DockingRequest: docking("docking-key")}, "docking-key", ""},
		{"all alike", "same-key", SubmitRequest{IdempotencyKey: "same-key", DockingRequest: docking("same-key")}, "same-key", ""},
		{"header and body differ", "header-key", SubmitRequest{IdempotencyKey: "body-key"}, "", fault.IdempotencyKeyMismatch},
		{"body and docking differ", "", SubmitRequest{IdempotencyKey: "body-key", DockingRequest: docking("docking-key")}, "",
			fault.IdempotencyKeyMismatch},
		{"seven characters", "1234567", SubmitRequest{}, "", fault.Validation},
		{"255 characters", strings.Repeat("ü", 255), SubmitRequest{}, strings.Repeat("ü", 255), ""},
		{"256 characters", strings.Repeat("k", 256), SubmitRequest{}, "", fault.Validation},
		{"not UTF-8", "12345678\xff", SubmitRequest{}, "", fault.Validation},
		{"control character", "12345678\t", SubmitRequest{}, "", fault.Validation},
	} {
		got, err := idempotencyKey(c.header, c.body)
		if got != c.want || (err == nil) != (c.code == "") || err != nil && fault.CodeOf(err) != c.code {
			t.Errorf("%s: got %q, %v; want %q, %s", c.name, got, err, c.want, c.code)
		}
	}
}

func request(t *testing.T, text string) SubmitRequest {
	t.Helper()
	var r SubmitRequest
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func canonicalText(t *testing.T, r SubmitRequest) string {
	t.Helper()
	params, err := parameters.Complete(r.SimulationParams, r.Simulator)
	if err != nil {
		t.Fatal(err)
	}
	text, err := canonical(r, params.Text)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCanonicalIsTheSameForTheSameRequest(t *testing.T) {
	t.Parallel()
	base := request(t, `{"jobType":"simulation","sceneFile":"k","simulator":"autodock-vina","metadata":{"b":1,"a":{"y":null,"x":2}},
		"simulationParams":{"ligandLibrary":[{"ligandId":"l1","label":"L","source":{"kind":"smiles","smiles":"C<C>&"}}]}}`)
	same := []SubmitRequest{
		request(t, `{"metadata":{"a":{"x":2,"y":null},"b":1},"simulator":"autodock-vina","sceneFile":"k","jobType":"simulation","recovery":{},"priority":7,"idempotencyKey":"12345678",
			"simulationParams":{"receptorPreparation":{"protonationPh":7.4},"ligandLibrary":[{"label":"L","ligandId":"l1","source":{"smiles":"C<C>&","kind":"smiles"},"preparation":{"addHydrogens":true}}]}}`),
	}
	for _, r := range same {
		if got, want := canonicalText(t, r), canonicalText(t, base); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for _, text := range []string{
		`{"jobType":"simulation","sceneFile":"k","simulator":"autodock-vina"}`,
		`{"jobType":"simulation","sceneFile":"k","simulator":"autodock-vina","recovery":{"mode":"resumable"}}`,
		`{"jobType":"simulation","sceneFile":"k","simulator":"autodock-vina","simulationParams":{"seed":0}}`,
		`{"jobType":"simulation","sceneFile":"k","simulator":"autodock-vina","simulationParams":{"receptorPreparation":{"protonationPh":0}}}`,
	} {
		if canonicalText(t, request(t, text)) == canonicalText(t, base) {
			t.Errorf("%s is taken for another request", text)
		}
	}
}

func TestCanonicalKeepsMetadataAndDropsTheKey(t *testing.T) {
	t.Parallel()
	got := canonicalText(t, request(t, `{"jobType":"simulation","sceneFile":"k","metadata":{"plugin":{"id":12345678901234567890,"ratio":1.50}},
		"dockingRequest":{"requestId":"r1","runId":"r2","idempotencyKey":"12345678"}}`))
	for _, part := range []string{`"id":12345678901234567890`, `"ratio":1.50`, `"dockingRequest":{"requestId":"r1","runId":"r2"}`,
		`"recovery":{"mode":"standard"}`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
	if strings.Contains(got, "12345678\"") {
		t.Errorf("%s holds the idempotency key", got)
	}
}

func TestCanonicalRefusesNumbersThatPostgresCannotHold(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"1e-99999", "0." + strings.Repeat("0", 600) + "1"} {
		_, err := canonical(request(t, `{"metadata":{"list":[{"n":`+number+`}]}}`), json.RawMessage(`{}`))
		if !fault.Is(err, fault.Validation) || !strings.Contains(err.Error(), "metadata.list[0].n") {
			t.Errorf("%.20s: got %v, want %s naming metadata.list[0].n", number, err, fault.Validation)
		}
	}
	if _, err := canonical(request(t, `{"metadata":{"n":1e-300,"m":1E+308}}`), json.RawMessage(`{}`)); err != nil {
		t.Errorf("got %v, want an ordinary number to pass", err)
	}
}

func TestAsValidation(t *testing.T) {
	t.Parallel()
	for field, path := range map[string]string{
		"sceneFile": "sceneFile: ", "metadata.samples": "metadata.samples: ", "attachments[1]": "attachments[1]: ",
		"seed": "simulationParams.seed: ", "ligandLibrary[3].source": "simulationParams.ligandLibrary[3].source: ",
	} {
		err := asValidation(&engines.InvalidError{Field: field, Message: "is wrong"})
		if !fault.Is(err, fault.Validation) || !strings.Contains(err.Error(), path+"is wrong") {
			t.Errorf("%s: got %v, want %s%s", field, err, path, "is wrong")
		}
	}
	if err := asValidation(nil); err != nil {
		t.Errorf("nil: got %v", err)
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, all float64
		status    job.Status
		want      float64
	}{
		{0, 0, job.Submitted, 0},
		{0, 10, job.Queued, 0},
		{1, 3, job.Running, 33.3},
		{9.9999, 10, job.Running, 99.9},
		{10, 10, job.Running, 99.9},
		{10, 10, job.Completed, 100},
		{7, 10, job.CompletedWithFailures, 100},
		{10, 10, job.Failed, 100},
		{5, 10, job.Cancelled, 50},
		{10.0000001, 10, job.Failed, 100},
	} {
		if got := percent(c.done, c.all, c.status); got != c.want {
			t.Errorf("percent(%v, %v, %s) = %v, want %v", c.done, c.all, c.status, got, c.want)
		}
	}
}

func TestDoing(t *testing.T) {
	t.Parallel()
	text := func(s string) sql.NullString { return sql.NullString{String: s, Valid: true} }
	for _, c := range []struct {
		r              record
		stage, message string
	}{
		{record{Status: "SUBMITTED"}, "queued", "waiting for a free worker"},
		{record{Status: "RUNNING", StageRunning: text("dock"), MessageRunning: text("docking imatinib")}, "dock",
			"docking imatinib"},
		{record{Status: "RUNNING", Running: 2, Pending: 3, StageRunning: text("dock"), MessageRunning: text("")}, "dock",
			"2 of 5 tasks running"},
		{record{Status: "RUNNING", Pending: 3, Succeeded: 1, StageNext: text("rank")}, "rank", "3 tasks wait for a free worker"},
		{record{Status: "CANCELLING"}, "queued", "stopping what still runs"},
		{record{Status: "QUEUED", Pending: 3, Software: text("houdini"), LicenseSeats: seats(2), LicensesInUse: seats(2)}, "queued",
			"waits for a licence of houdini: 2 of 2 seats are in use"},
		{record{Status: "RUNNING", Running: 2, StageRunning: text("frames"), Software: text("houdini"), LicenseSeats: seats(2),
			LicensesInUse: seats(2)},
			"frames", "2 of 2 tasks running"},
		{record{Status: "COMPLETED", Succeeded: 4}, "finished", "4 of 4 tasks succeeded"},
	} {
		p := c.r.progress()
		if p.Stage != c.stage || p.Message != c.message {
			t.Errorf("%s: got %q, %q; want %q, %q", c.r.Status, p.Stage, p.Message, c.stage, c.message)
		}
	}
}

func seats(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }

func TestViewOfARunningAndOfAnEndedJob(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	r := record{
		ID: "job_1", JobType: "simulation", Simulator: sql.NullString{String: "autodock-vina", Valid: true},
		RecoveryMode: "standard", Status: "RUNNING", EstimatedPence: 500, HeldPence: 1000,
		AccruedMicropence: int64(billing.FromPence(1200)), Attempts: 1, CreatedAt: at, UpdatedAt: at,
		History: json.RawMessage(`[{"status":"SUBMITTED","at":"2026-05-04T05:02:01+02:00","reason":""}]`),
	}
	view, err := r.view("GBP")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"cost":{"estimated":5.00,"held":10.00,"accrued":10.00,"final":null,"currency":"GBP"}`, `"queue":null`, `"error":null`,
		`"preview":null`, `"statusReason":null`, `"startedAt":null`, `"terminal":false`,
		`"statusHistory":[{"status":"SUBMITTED","at":"2026-05-04T03:02:01Z","reason":""}]`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
	r.Status, r.ChargedPence = "FAILED", sql.NullInt64{Int64: 7, Valid: true}
	r.ErrorCode, r.FailureClass = sql.NullString{String: "RECEPTOR_UNREADABLE", Valid: true},
		sql.NullString{String: "USER_INPUT", Valid: true}
	view, err = r.view("GBP")
	if view.Cost.Held != "0.00" {
		t.Errorf("after the end %s are held", view.Cost.Held)
	}
	if err != nil || view.Cost.Final == nil || *view.Cost.Final != "0.07" || view.Error == nil ||
		view.Error.Code != "RECEPTOR_UNREADABLE" || !view.Terminal {
		t.Errorf("got %+v, %v", view, err)
	}
}

func TestTerminalEvents(t *testing.T) {
	t.Parallel()
	e := event{ID: 7, Kind: "status", Body: json.RawMessage(`{"status": "RUNNING"}`)}
	for _, c := range []struct {
		e    event
		want bool
	}{
		{e, false},
		{event{Kind: "status", Body: json.RawMessage(`{"status":"COMPLETED_WITH_FAILURES"}`)}, true},
		{event{Kind: "task", Body: json.RawMessage(`{"status":"CANCELLED"}`)}, false},
		{event{Kind: "status", Body: json.RawMessage(`[]`)}, false},
	} {
		if got := c.e.terminal(); got != c.want {
			t.Errorf("%s %s: terminal = %v, want %v", c.e.Kind, c.e.Body, got, c.want)
		}
	}
}

func TestCheckID(t *testing.T) {
	t.Parallel()
	good := "job_" + strings.Repeat("0a", 16)
	for id, want := range map[string]fault.Code{
		good: "", "submit": fault.MethodNotAllowed, "estimate": fault.MethodNotAllowed, "upload-url": fault.MethodNotAllowed,
		"": fault.NotFound, "job_": fault.NotFound, good + "0": fault.NotFound, good + "\n": fault.NotFound,
		"job_\x00": fault.NotFound,
	} {
		err := checkID(id)
		if (err == nil) != (want == "") || err != nil && fault.CodeOf(err) != want {
			t.Errorf("checkID(%q) = %v, want %s", id, err, want)
		}
	}
}
