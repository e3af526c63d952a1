package client

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunOfJob(t *testing.T) {
	t.Parallel()
	b := newBreaker(t,
		answer(200,
			`{"runs":[{"runId":"run_1","jobId":"job_1","counts":{"total":47,"completed":12,"failed":1}}],"nextCursor":null}`),
		answer(200, `{"runs":[],"nextCursor":null}`),
		answer(200, `{"runs":[{"runId":"run_9","jobId":"job_9"}],"nextCursor":"c"}`), // a server without the filter
	)
	c, _ := newClient(t, b.URL, Options{})
	for _, want := range []string{"run_1", "", ""} {
		run, found, err := c.RunOfJob(t.Context(), "job_1")
		if err != nil || run.RunID != want || found != (want != "") {
			t.Errorf("got %q, %v, %v; want %q", run.RunID, found, err, want)
		}
	}
	if got, want := b.received()[0].path, "/api/v1/molecular/docking/runs?jobId=job_1&limit=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestResultsAreFilteredAndSorted(t *testing.T) {
	t.Parallel()
	b := newBreaker(t,
		answer(200,
			`{"results":[{"resultId":"result_1","label":"imatinib","rank":1,"bestScoreKcalMol":-12.3,"passedChecks":true}],"nextCursor":null}`))
	c, _ := newClient(t, b.URL, Options{})
	most, passed := -8.5, true
	filter := ResultFilter{
		Page: Page{Limit: 10}, MaxScore: &most, Interactions: []string{"A:ASP:381:hydrogen_bond", "A:MET:318:*"},
		PassedChecks: &passed, Sort: "-ligandEfficiency", Status: []string{"COMPLETED"}, Text: "tinib",
	}
	results, err := c.DockingResults(t.Context(), "my run/7", filter)
	if err != nil || len(results.Body.Results) != 1 || *results.Body.Results[0].Rank != 1 ||
		!*results.Body.Results[0].PassedChecks {
		t.Fatalf("got %+v, %v", results, err)
	}
	want :=
		"/api/v1/molecular/docking/runs/my%20run%2F7/results?interaction=A%3AASP%3A381%3Ahydrogen_bond&interaction=A%3AMET%3A318%3A%2A" +
			"&limit=10&maxScore=-8.5&passedChecks=true&q=tinib&sort=-ligandEfficiency&status=COMPLETED"
	if got := b.received()[0].path; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReproduceRepeatsItselfUnderOneKey(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, hangUp, answer(202, `{"jobId":"job_2","status":"SUBMITTED","estimatedCost":1.20,"currency":"GBP"}`))
	c, _ := newClient(t, b.URL, Options{})
	receipt, err := c.Reproduce(t.Context(), "run_1")
	if err != nil || receipt.Body.JobID != "job_2" || receipt.Body.EstimatedCost != "1.20" {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	first, second := b.received()[0], b.received()[1]
	if key := first.header.Get("Idempotency-Key"); len(key) < 8 || key != second.header.Get("Idempotency-Key") {
		t.Errorf("got keys %q and %q, want one", key, second.header.Get("Idempotency-Key"))
	}
}

func TestExportIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	const table = "rank,ligandId\n1,imatinib\n"
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(table))
	}
	b := newBreaker(t, cut, answer(200, table))
	c, _ := newClient(t, b.URL, Options{APIKey: "svc_live_x"})
	path := filepath.Join(t.TempDir(), "new", "results.csv")
	if err := c.ExportResults(t.Context(), "run_1", ResultFilter{}, MediaCSV, path); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != table {
		t.Errorf("got %q, %v; want the whole table", got, err)
	}
	if got := b.received()[1].header; got.Get("Accept") != MediaCSV || got.Get("Authorization") != "Bearer svc_live_x" {
		t.Errorf("asked with %v", got)
	}
	gone := newBreaker(t, answer(404, `{"error":"runId: there is no such run","code":"NOT_FOUND"}`))
	c, _ = newClient(t, gone.URL, Options{})
	missing := filepath.Join(filepath.Dir(path), "crate.zip")
	if err := c.Bundle(t.Context(), "run_2", missing); StatusOf(err) != 404 || !strings.Contains(err.Error(), "no such run") {
		t.Errorf("got %v, want the server's refusal", err)
	}
	for _, name := range []string{missing, missing + ".part"} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want no file", name, err)
		}
	}
}

func TestResolveLigandAndPoses(t *testing.T) {
	t.Parallel()
	b := newBreaker(t,
		answer(200,
			`{"candidates":[{"sourceId":"ccd:STI","componentId":"STI","name":"imatinib","formula":"C29 H31 N7 O","smiles":"CC","token":"t","expiresAt":"2026-11-21T08:00:00Z"}]}`),
		answer(200,
			`{"poses":[{"poseId":"pose_1","rank":1,"scoreKcalMol":-9.1,"checks":{"passed":false,"tests":{"bond_lengths":true,"internal_energy":false}}}],"nextCursor":null}`),
		answer(200,
			`{"poseId":"pose_1","analysed":true,"interactions":[{"type":"hydrogen_bond","receptor":{"chain":"A","residue":318,"residueName":"MET","atomName":"N","atomSerial":771},"ligand":{"atomIndices":[4]},"distanceAngstrom":2.9,"angleDegrees":165.1}]}`),
	)
	c, _ := newClient(t, b.URL, Options{})
	found, err := c.ResolveLigand(t.Context(), "gleevec")
	if err != nil || len(found.Body.Candidates) != 1 || *found.Body.Candidates[0].ComponentID != "STI" ||
		b.received()[0].body != `{"query":"gleevec"}` {
		t.Errorf("look-up: got %+v, %v", found, err)
	}
	poses, err := c.DockingPoses(t.Context(), "result_1", Page{})
	if err != nil || poses.Body.Poses[0].Checks.Tests["internal_energy"] || poses.Body.Poses[0].Checks.Passed {
		t.Errorf("poses: got %+v, %v", poses, err)
	}
	contacts, err := c.Interactions(t.Context(), "pose_1", []string{"hydrogen_bond"})
	if err != nil || *contacts.Body.Interactions[0].Receptor.AtomSerial != 771 ||
		b.received()[2].path != "/api/v1/molecular/docking/poses/pose_1/interactions?type=hydrogen_bond" {
		t.Errorf("contacts: got %+v, %v", contacts, err)
	}
}
