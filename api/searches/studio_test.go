package searches_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/id"
)

// shows checks a page: its status, what it says, and that nothing of a search has become markup.
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

func TestTheStudioShowsASearch(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.SignUp()
	shows(t, "an empty account", b.Send("GET", "/studio/searches", ""), 200, "No search has been submitted yet")
	r := l.proteins(b.AccountID, noon)
	l.exec(`UPDATE search_queries SET query_id = '<b>"x"</b><script>alert(1)</script>' WHERE job_id = $1 AND query_index = 1`,
		r.job)
	whole := b.Send("GET", "/studio/searches/"+r.job, "")
	shows(t, "the search", whole, 200, "blastp against p500", "completed with failures", `<progress max="8" value="8">`,
		"7 searched", "1 failed", "28 hits", `<a href="/studio/searches/`+r.job+`/queries/4">sp|B8G711|EFP_CHLAD</a>`, "2.24e-139",
		"&lt;b&gt;&#34;x&#34;", "holds the letter 7", "p500 1, of 2026-01-28", "blastp 2.12.0&#43;", "hits.tsv", "0.5")
	if strings.Contains(whole.Text, "http-equiv") {
		t.Error("a search that has ended reads itself again")
	}
	best := b.Send("GET", "/studio/searches/"+r.job+"?sort=-hits", "")
	shows(t, "sorted by hits", best, 200)
	if strings.Index(best.Text, "/queries/7") > strings.Index(best.Text, "/queries/5") {
		t.Error("the page takes no notice of sort")
	}
	running := l.submit(b.AccountID, "blastn", noon.Add(time.Hour))
	shows(t, "a search that runs", b.Send("GET", "/studio/searches/"+running.job, ""), 200,
		`<meta http-equiv="refresh" content="5">`, "– queries")
	shows(t, "the searches", b.Send("GET", "/studio/searches", ""), 200, `href="/studio/searches/`+r.job,
		`href="/studio/searches/`+running.job, "7 of 8", "0 of –")
}

func TestTheStudioPagesThroughQueries(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.SignUp()
	r := l.submit(b.AccountID, "blastp", noon)
	l.exec(`INSERT INTO search_queries (job_id, account_id, query_index, query_id, status, updated_at) SELECT $1, $2, n, 'q' || n,
		'COMPLETED', $3 FROM generate_series(0, 119) n`, r.job, b.AccountID, noon)
	next := regexp.MustCompile(`<a href="([^"]+)">Next page</a>`)
	path, seen := "/studio/searches/"+r.job+"?sort=-index", 0
	for pages := 0; path != "" && pages < 10; pages++ {
		got := b.Send("GET", path, "")
		shows(t, path, got, 200)
		seen += strings.Count(got.Text, "/queries/")
		path = ""
		if found := next.FindStringSubmatch(got.Text); found != nil {
			path = strings.ReplaceAll(found[1], "&amp;", "&")
		}
	}
	if seen != 120 {
		t.Errorf("%d queries on all pages, want 120", seen)
	}
	for _, wrong := range []string{"?cursor=x", "?sort=colour"} {
		shows(t, wrong, b.Send("GET", "/studio/searches/"+r.job+wrong, ""), 400, "cannot be read")
	}
}

func TestTheStudioShowsAQuery(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.SignUp()
	r, n := l.proteins(b.AccountID, noon), l.nucleotides(b.AccountID, noon)
	shows(t, "a protein", b.Send("GET", "/studio/searches/"+r.job+"/queries/2", ""), 200, "<h1>tr|A0A0C6CEA5|A0A0C6CEA5_YEASX</h1>",
		"5 hits", `<rect class="l5" x="0.00" width="100.00"`, `<a href="#hit-3">tr|H2NB04|H2NB04_PONAB</a>`, `<section id="hit-3">`,
		"identities", "positives", "Query  1 ", "Sbjct  1 ", `href="/studio/searches/`+r.job+`">search</a>`)
	shows(t, "a nucleotide", b.Send("GET", "/studio/searches/"+n.job+"/queries/0", ""), 200, "strand plus/minus", "||||||||")
	shows(t, "without hits", b.Send("GET", "/studio/searches/"+n.job+"/queries/2", ""), 200, "Nothing was found")
	shows(t, "a query that failed", b.Send("GET", "/studio/searches/"+r.job+"/queries/7", ""), 200, "What was wrong (parse)",
		"no amino acid")
	if err := l.objects.Delete(t.Context(), r.keys[0]); err != nil {
		t.Fatal(err)
	}
	shows(t, "hits that are gone", b.Send("GET", "/studio/searches/"+r.job+"/queries/2", ""), 200, "are gone")
}

func TestTheStudioIsForOwners(t *testing.T) {
	t.Parallel()
	l := open(t)
	owner, stranger, visitor := l.SignUp(), l.SignUp(), l.Browser()
	r := l.proteins(owner.AccountID, noon)
	for _, below := range []string{"", "/queries/0"} {
		path := "/studio/searches/" + r.job + below
		shows(t, "the owner's "+path, owner.Send("GET", path, ""), 200)
		foreign := stranger.Send("GET", path, "")
		shows(t, "the stranger's "+path, foreign, 404, "nothing of that name")
		if unknown := stranger.Send("GET", "/studio/searches/"+id.New("job_")+below, ""); unknown.Text != foreign.Text {
			t.Errorf("%s: a stranger can tell it from nothing", path)
		}
		if led := visitor.Send("GET", path, ""); led.StatusCode != 303 || led.Header.Get("Location") != "/sign-in?next="+
			url.QueryEscape(path) {
			t.Errorf("a visitor of %s: got %d %v", path, led.StatusCode, led.Header)
		}
	}
	for _, wrong := range []string{"/mine", "/%00", "/%ff", "/" + r.job + "/queries/8", "/" + r.job + "/queries/-1",
		"/" + r.job + "/queries/x", "/" + r.job + "/queries/99999999999"} {
		shows(t, wrong, owner.Send("GET", "/studio/searches"+wrong, ""), 404)
	}
}
