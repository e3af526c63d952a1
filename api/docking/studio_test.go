package docking_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/id"
)

// shows checks a page: its status, what it says, and that nothing of a docking has become markup.
func shows(t *testing.T, what string, got apitest.Answer, status int, parts ...string) {
	t.Helper()
	if got.StatusCode != status || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%s: got %d %v %s", what, got.StatusCode, got.Header, got.Text)
	}
	for _, part := range parts {
		if !strings.Contains(got.Text, part) {
			t.Errorf("%s has no %s:\n%s", what, part, got.Text)
		}
	}
	for _, never := range []string{"<script", "<b>", "<img", "style=", "ZgotmplZ", "%!", "0xc000"} {
		if strings.Contains(got.Text, never) {
			t.Errorf("%s holds %s:\n%s", what, never, got.Text)
		}
	}
	_, rest, _ := strings.Cut(got.Text, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if policy := got.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s: the policy is %s", what, policy)
	}
}

// hostile is a library whose names are markup.
func hostile() []ligand {
	ligands := screen()
	ligands[1].label = `<b>"nil"</b><script>alert(1)</script>`
	return ligands
}

func TestTheStudioShowsARun(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.SignUp()
	d := l.dock(b.AccountID, "COMPLETED_WITH_FAILURES", true, noon, hostile()...)
	report := l.file(b.AccountID, &d, "report.html", "html", "result", "<p>")
	l.exec(`UPDATE docking_runs SET native_component_id = 'STI',
		validation = '{"rmsdAngstrom":0.75,"closestRmsdAngstrom":0.5,"passed":true}' WHERE id = $1`, d.run)
	run := b.Send("GET", "/studio?dockingRun="+d.run, "")
	shows(t, "the run", run, 200, "7 ligands into 1IEP", "completed with failures", `<progress max="7" value="5">`, "4 docked",
		"1 failed", "2 to go", "1.25 GBP", `<a href="/studio?dockingResult=`+d.results[0]+`">Imatinib</a>`,
		"&lt;b&gt;&#34;nil&#34;", "−13.25", `<rect width="100.0"`, `<rect width="18.9"`,
		`href="/api/v1/molecular/docking/artifacts/`+report+`/download?redirect=true">Report`, `/bundle?poses=true"`,
		"PDB 1IEP, assembly 1, chain A", "two waters removed", "1.000, 2.000, 3.000 Å", "placed by its given centre and size",
		"AutoDock Vina</dt><dd>1.2.7", "0.75 Å from the crystal pose")
	if strings.Contains(run.Text, ">waiting<") {
		t.Error("a ligand without a score is among the best")
	}
	if strings.Contains(run.Text, "http-equiv") {
		t.Error("a run that has ended reads itself again")
	}
	if batch := b.Send("GET", "/studio?dockingBatch="+d.batch, ""); batch.Text != run.Text {
		t.Errorf("the batch shows another page than its run: %s", batch.Text)
	}
	shows(t, "all results", b.Send("GET", "/studio?dockingRun="+d.run+"&results=all", ""), 200, "Results, best first", "waiting",
		"pending", "failed")
	running := l.dock(b.AccountID, "RUNNING", false, noon.Add(time.Hour), screen()...)
	shows(t, "a run that runs", b.Send("GET", "/studio?dockingRun="+running.run, ""), 200,
		`<meta http-equiv="refresh" content="5">`, "so far")
	shows(t, "the runs", b.Send("GET", "/studio", ""), 200, `href="/studio?dockingRun=`+d.run,
		`href="/studio?dockingRun=`+running.run)
}

func TestTheStudioPagesThroughALibrary(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.SignUp()
	d := l.dock(b.AccountID, "COMPLETED", true, noon)
	l.exec(`INSERT INTO docking_results (id, account_id, run_id, ligand_index, ligand_id, label, source, prepare_task, dock_task,
		status, best_score_kcal_mol, created_at, updated_at)
		SELECT 'result_' || lpad(n::text, 32, '0'), $1, $2, n, 'l' || n, 'ligand ' || n, 'smiles', 'p', 'd', 'COMPLETED', -n, $3, $3
		FROM generate_series(0, 119) n`, b.AccountID, d.run, noon)
	next := regexp.MustCompile(`<a href="([^"]+)">(Next page|All results)</a>`)
	path, seen := "/studio?dockingRun="+d.run, 0
	for pages := 0; path != ""; pages++ {
		got := b.Send("GET", path, "")
		shows(t, path, got, 200)
		if pages > 0 {
			seen += strings.Count(got.Text, "dockingResult=")
		}
		path = ""
		if found := next.FindStringSubmatch(got.Text); found != nil && pages < 10 {
			path = strings.ReplaceAll(found[1], "&amp;", "&")
		}
	}
	if seen != 120 {
		t.Errorf("%d results on all pages, want 120", seen)
	}
	shows(t, "a broken cursor", b.Send("GET", "/studio?dockingRun="+d.run+"&results=all&cursor=x", ""), 400, "cannot be read")
}

func TestTheStudioShowsALigandAndAPose(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.SignUp()
	d := l.dock(b.AccountID, "COMPLETED", true, noon, hostile()...)
	shows(t, "a ligand", b.Send("GET", "/studio?dockingResult="+d.results[0], ""), 200, "<h1>Imatinib</h1>", "−13.25 kcal/mol",
		"KTUFNOKKBVMGRW", "a salt was taken off", `<a href="/studio?dockingPose=`+d.poses[0][2]+`">Pose 3</a>`, "not passed",
		"ASP 381 · A", "hydrogen bond", "N (2534)", "ProLIF 2.2.3", "PLIP 2.4", `href="/studio?dockingRun=`+d.run)
	shows(t, "a ligand that is markup", b.Send("GET", "/studio?dockingResult="+d.results[1], ""), 200, "<title>&lt;b&gt;")
	shows(t, "a ligand that failed", b.Send("GET", "/studio?dockingResult="+d.results[3], ""), 200, "What was wrong (parse)")
	pose := b.Send("GET", "/studio?dockingPose="+d.poses[0][0], "")
	shows(t, "a pose", pose, 200, "Pose 1 of Imatinib", "−10.000 kcal/mol", "bond lengths", "PoseBusters 0.6.5", "LEU 52A · A",
		"161.50", "5, 6")
	shows(t, "a pose without an analysis", b.Send("GET", "/studio?dockingPose="+d.poses[0][2], ""), 200, "has not been analysed")
	address := regexp.MustCompile(`href="(/api/[^"]+)">All poses \(SDF\)`).FindStringSubmatch(pose.Text)
	if address == nil {
		t.Fatalf("the pose offers no file: %s", pose.Text)
	}
	led := b.Send("GET", address[1], "")
	if led.StatusCode != 302 {
		t.Fatalf("got %d %s", led.StatusCode, led.Text)
	}
	if text := fetched(t, led.Header.Get("Location")); text != sdfOf(screen()[0]) {
		t.Errorf("got %s", text)
	}
}

func TestTheStudioIsForOwners(t *testing.T) {
	t.Parallel()
	l := open(t)
	owner, stranger, visitor := l.SignUp(), l.SignUp(), l.Browser()
	d := l.dock(owner.AccountID, "COMPLETED", true, noon, screen()...)
	for _, path := range []string{"?dockingRun=" + d.run, "?dockingBatch=" + d.batch, "?dockingResult=" + d.results[0],
		"?dockingPose=" + d.poses[0][0]} {
		path = "/studio" + path
		shows(t, "the owner's "+path, owner.Send("GET", path, ""), 200)
		foreign := stranger.Send("GET", path, "")
		shows(t, "the stranger's "+path, foreign, 404, "nothing of that name")
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/studio?docking"), "=")
		unknown := stranger.Send("GET", "/studio?docking"+kind+"="+id.New(strings.ToLower(kind)+"_"), "")
		if unknown.Text != foreign.Text {
			t.Errorf("%s: a stranger can tell it from nothing", path)
		}
		led := visitor.Send("GET", path, "")
		if led.StatusCode != 303 || led.Header.Get("Location") != "/sign-in?next="+url.QueryEscape(path) ||
			strings.Contains(led.Text, "molfabric") {
			t.Errorf("a visitor of %s: got %d %v", path, led.StatusCode, led.Header)
		}
	}
	shows(t, "an empty account", stranger.Send("GET", "/studio", ""), 200, "No docking has been submitted yet")
	shows(t, "two things at once", owner.Send("GET", "/studio?dockingRun="+d.run+"&dockingBatch="+d.batch, ""), 400,
		"cannot be read")
	shows(t, "something else", owner.Send("GET", "/studio?theme=dark", ""), 200, "Docking runs")
	for _, wrong := range []string{"dockingRun=mine", "dockingRun=%00", "dockingRun=%ff", "dockingRun=" + d.batch,
		"dockingPose=%3Cscript%3E", "project=x"} {
		shows(t, wrong, owner.Send("GET", "/studio?"+wrong, ""), 404)
	}
	shows(t, "a project", owner.Send("GET", "/studio?project=0197aa00-0000-7000-8000-000000000000&revision=3", ""), 200,
		`href="/api/v1/molecular/projects/0197aa00-0000-7000-8000-000000000000/revisions/3"`)
	key := l.keyOf(owner.AccountID, "live", "jobs:read")
	var failure struct{ Code string }
	if got := key.Send("GET", "/studio", ""); json.Unmarshal([]byte(got.Text), &failure) != nil ||
		failure.Code != "SESSION_REQUIRED" {
		t.Errorf("with a key: got %d %s", got.StatusCode, got.Text)
	}
}
