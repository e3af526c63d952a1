package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

func someLeaders() leaders {
	return leaders{
		counts: contract.DockingCounts{Total: 47, Completed: 12, Failed: 1},
		best: []contract.DockingResult{{Label: "imatinib", BestScoreKcalMol: ref(-12.345)},
			{Label: strings.Repeat("蛋白", 40), BestScoreKcalMol: ref(-9.1)}},
	}
}

func TestLeaders(t *testing.T) {
	t.Parallel()
	if got, want := someLeaders().line(), "best so far: imatinib -12.3 kcal/mol (12 of 47 docked, 1 failed)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	rows := someLeaders().rows()
	if len(rows) != 3 || !strings.HasSuffix(rows[1], "  -12.35") && !strings.HasSuffix(rows[1], "  -12.34") {
		t.Errorf("got %q", rows)
	}
	for _, row := range rows {
		if got := text.StringWidthWithoutEscSequences(row); got > barColumns {
			t.Errorf("%q: %d columns, want at most %d", row, got, barColumns)
		}
	}
	if rows := (leaders{}).rows(); rows != nil || (leaders{}).line() != "" {
		t.Errorf("before the first ligand: got %q", rows)
	}
}

func TestBestIsALineOfALog(t *testing.T) {
	t.Parallel()
	c := newTicker()
	var w bytes.Buffer
	shown := newDisplay(&w, c.now, 0)
	l := someLeaders()
	for range 30 { // once a second
		l.counts.Completed++
		shown.leaders(l)
		c.pass(time.Second)
	}
	shown.leaders(leaders{})
	want := "best so far: imatinib -12.3 kcal/mol (13 of 47 docked, 1 failed)\n" +
		"best so far: imatinib -12.3 kcal/mol (23 of 47 docked, 1 failed)\n" +
		"best so far: imatinib -12.3 kcal/mol (33 of 47 docked, 1 failed)\n"
	if w.String() != want {
		t.Errorf("got:\n%swant:\n%s", w.String(), want)
	}
}

func TestBarLeavesNothingBelow(t *testing.T) {
	t.Parallel()
	c := newTicker()
	var w bytes.Buffer
	b := newBar(&w, &pace{now: c.now, start: c.at, seen: c.at, first: -1}, 2)
	b.update(30, "docking")
	b.leaders(someLeaders())
	var below bytes.Buffer
	if err := b.fillBelow(&below, decor.Statistics{}); err != nil || strings.Count(below.String(), "\n") != 2 {
		t.Errorf("got %q, %v; want the two rows that fit", below.String(), err)
	}
	b.close(true)
	below.Reset()
	if err := b.fillBelow(&below, decor.Statistics{}); err != nil || below.Len() != 0 {
		t.Errorf("after the end: got %q, %v", below.String(), err)
	}
}

// dockingServer answers a docking that runs until its run's results have been read, and counts what is asked for.
type dockingServer struct {
	mu    sync.Mutex
	asked map[string]int
	read  chan struct{} // closed by the first look at the results
	once  sync.Once
}

func (s *dockingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	s.mu.Lock()
	s.asked[path]++
	s.mu.Unlock()
	const counts = `"counts":{"total":2,"completed":1,"failed":0}`
	switch {
	case path == "/jobs/job_1/events":
		_, _ = io.WriteString(w, "id: 1\nevent: progress\ndata: {\"percent\":20,\"message\":\"docking\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.read:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "id: 2\nevent: status\ndata: {\"status\":\"FAILED\",\"terminal\":true}\n\n")
	case path == "/jobs/job_1/status":
		ended := "false"
		select {
		case <-s.read:
			ended = "true"
		default:
		}
		_,
			_ = io.WriteString(w,
			`{"jobId":"job_1","simulator":"autodock-vina","status":"FAILED","createdAt":"2026-11-21T08:00:00Z","terminal":`+ended+
				`}`)
	case path == "/molecular/docking/runs":
		_, _ = io.WriteString(w, `{"runs":[{"runId":"run_1","jobId":"`+r.URL.Query().Get("jobId")+`",`+counts+
			`}],"nextCursor":null}`)
	case path == "/molecular/docking/runs/run_1/results" && r.URL.RawQuery == "limit=10&sort=score&status=COMPLETED":
		_,
			_ = io.WriteString(w,
			`{"results":[{"label":"imatinib","bestScoreKcalMol":-9.34},{"label":"odd","bestScoreKcalMol":null}],"nextCursor":null}`)
		s.once.Do(func() { close(s.read) })
	default:
		http.Error(w, `{"error":"no such thing","code":"NOT_FOUND"}`, http.StatusNotFound)
	}
}

func TestLeadersAreReadWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	docking := &dockingServer{asked: map[string]int{}, read: make(chan struct{})}
	server := httptest.NewServer(docking)
	defer server.Close()
	api, err := client.New(client.Options{Server: server.URL, APIKey: "svc_live_x"})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	inv := &invocation{api: api, out: io.Discard, err: io.Discard, now: time.Now}
	if j, err := inv.follow(t.Context(), "job_1", nil); err != nil || !j.Body.Terminal {
		t.Fatalf("got %+v, %v", j, err)
	}
	docking.mu.Lock()
	if docking.asked["/molecular/docking/runs"] != 1 {
		t.Errorf("asked for %v, want the run once", docking.asked)
	}
	docking.mu.Unlock()

	board := &leaderboard{inv: inv, jobID: "job_1", shown: noDisplay{}}
	found, err := board.look(t.Context())
	if err != nil || len(found.best) != 1 || found.line() != "best so far: imatinib -9.3 kcal/mol (1 of 2 docked)" {
		t.Errorf("got %+v, %v", found, err)
	}
	board.runID = "run_gone"
	if _, err := board.look(t.Context()); err == nil || !board.refused {
		t.Errorf("a run that is gone: got %v, want no further looks", err)
	}
}
