package searches_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// What the operations answer is what their document says.
func TestAnswersMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	l.nucleotides(b.AccountID, noon)
	r := l.proteins(b.AccountID, noon)
	routes := 0
	for route, item := range l.spec.Paths {
		if !strings.HasPrefix(route, "/v1/molecular/blast/searches") {
			continue
		}
		routes++
		path := strings.NewReplacer("/v1/molecular/blast/searches", "", "{jobId}", r.job, "{index}", "1").Replace(route)
		got := b.Send("GET", base+path, "")
		var body any
		if err := json.Unmarshal([]byte(got.Text), &body); err != nil || got.StatusCode != 200 ||
			got.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: got %d %s %s, %v", path, got.StatusCode, got.Header.Get("Content-Type"), got.Text, err)
		}
		var found huma.ValidateResult
		schema := item.Get.Responses["200"].Content["application/json"].Schema
		huma.Validate(l.spec.Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, body, &found)
		for _, err := range found.Errors {
			t.Errorf("%s: %v", path, err)
		}
	}
	if routes != 6 {
		t.Errorf("%d routes read something, want 6", routes)
	}
}

func TestASearchShowsItself(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	got := get[contract.BlastSearch](b, r.at(""))
	if got.Program != "blastp" || got.Version == nil || *got.Version != "2.12.0+" || got.Status != "COMPLETED_WITH_FAILURES" ||
		got.JobName != "my search" ||
		got.UILinks.Studio != "/studio/searches/"+r.job || !got.CreatedAt.Equal(noon) || got.FinishedAt == nil {
		t.Errorf("got %+v", got)
	}
	if d := got.Database; d.Name != "p500" || d.Version != "1" || d.Type != "prot" || d.ReleasedOn != "2026-01-28" ||
		d.Checksum != strings.Repeat("ab", 32) || d.Sequences != 500 || d.Residues != 220_000 {
		t.Errorf("got database %+v", d)
	}
	// What the submission left out is the engine's choice.
	if p := got.Parameters; p.Evalue != 0.5 || p.MaxHits != 500 || p.Threads != 1 || p.TimeoutSeconds != nil || p.Tasks != 2 {
		t.Errorf("got parameters %+v", p)
	}
	if c := got.Counts; c.Queries == nil || *c.Queries != 8 || c.Completed != 7 || c.Failed != 1 || c.Hits != 28 {
		t.Errorf("got counts %+v", c)
	}
	if len(got.Artifacts) != 2 || got.Artifacts[0].Name != "hits.tsv" || got.Artifacts[1].Name != "results.json" ||
		got.Artifacts[0].URL == "" {
		t.Errorf("got artifacts %+v", got.Artifacts)
	}
	fresh := l.submit(b.AccountID, "blastn", noon.Add(time.Hour))
	if got := get[contract.BlastSearch](b, fresh.at("")); got.Version != nil || got.Counts.Queries != nil || got.Artifacts != nil ||
		got.Status != "RUNNING" {
		t.Errorf("a search that has just begun: got %+v", got)
	}
}

func TestSearchesArePagedAndFiltered(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	l.proteins(l.account().AccountID, noon)
	var wanted []string
	for i := range 5 {
		wanted = append([]string{l.submit(b.AccountID, "blastp", noon.Add(time.Duration(i/2)*time.Second)).job}, wanted...)
	}
	ended := l.nucleotides(b.AccountID, noon.Add(-time.Hour)).job
	wanted = append(wanted, ended)
	var got []string
	for cursor := ""; ; {
		list := get[contract.BlastSearchList](b, "?limit=2&cursor="+cursor)
		for _, one := range list.Searches {
			got = append(got, one.JobID)
		}
		if list.NextCursor == nil {
			break
		}
		cursor = *list.NextCursor
	}
	slices.Sort(wanted[:1]) // two of one moment stand by their ids
	if len(got) != 6 || got[5] != ended || !slices.Equal(sorted(got), sorted(wanted)) {
		t.Errorf("got %v, want %v", got, wanted)
	}
	for query, count := range map[string]int{
		"program=blastn": 1, "program=blastp": 5, "database=p500": 6, "database=nr": 0, "status=COMPLETED": 1,
		"status=RUNNING&status=COMPLETED": 6, "status=FAILED": 0,
	} {
		if list := get[contract.BlastSearchList](b, "?limit=100&"+query); len(list.Searches) != count {
			t.Errorf("%s: got %d searches, want %d", query, len(list.Searches), count)
		}
	}
	for query, named := range map[string]string{"program=blastx": "program", "status=DONE": "status", "limit=0": "limit",
		"limit=101": "limit", "colour=red": "colour"} {
		want(t, query, b.Send("GET", base+"?"+query, ""), 400, fault.Validation, named)
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// indices reads a list of queries page by page and returns their places in the order that they came.
func (r *ran) indices(b biologist, query string, limit int) (found []int) {
	r.t.Helper()
	cursor := ""
	for range 100 {
		list := get[contract.BlastQueryList](b, r.at(fmt.Sprintf("/queries?limit=%d&cursor=%s%s", limit, cursor, query)))
		for _, one := range list.Queries {
			found = append(found, one.Index)
		}
		if list.NextCursor == nil {
			return found
		}
		if len(list.Queries) != limit {
			r.t.Fatalf("%s: a page of %d with a next one", query, len(list.Queries))
		}
		cursor = url.QueryEscape(*list.NextCursor)
	}
	r.t.Fatal("the list has no end")
	return nil
}

// Every order is stable over pages of any length, and what has no figure comes last.
func TestQueriesArePagedUnderEverySort(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	for sort, wanted := range map[string]string{
		"":        "[0 1 2 3 4 5 6 7]",
		"index":   "[0 1 2 3 4 5 6 7]",
		"-index":  "[7 6 5 4 3 2 1 0]",
		"evalue":  "[0 1 2 5 6 4 3 7]",
		"-evalue": "[3 4 0 1 2 5 6 7]",
		"hits":    "[5 1 2 0 4 6 3 7]",
		"-hits":   "[7 3 6 4 0 2 1 5]",
	} {
		query := ""
		if sort != "" {
			query = "&sort=" + sort
		}
		for limit := 1; limit <= 9; limit += 2 {
			if got := fmt.Sprint(r.indices(b, query, limit)); got != wanted {
				t.Errorf("sort %q in pages of %d: got %s, want %s", sort, limit, got, wanted)
			}
		}
	}
	for _, sort := range []string{"length", "-length"} {
		whole := r.indices(b, "&sort="+sort, 100)
		if got := r.indices(b, "&sort="+sort, 2); !slices.Equal(got, whole) || len(got) != 8 || sort == "length" && got[7] != 7 {
			t.Errorf("sort %s: got %v and %v", sort, got, whole)
		}
	}
}

func TestQueriesAreFiltered(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	for query, wanted := range map[string]string{
		"status=COMPLETED&minHits=5": "[1 2 5]", "status=FAILED": "[7]", "status=PENDING": "[]",
		"status=FAILED&status=COMPLETED": "[0 1 2 3 4 5 6 7]", "minHits=7": "[5]", "maxEvalue=0": "[0 1 2 5 6]",
		"maxEvalue=1e-100": "[0 1 2 4 5 6]", "q=b8g711": "[4]", "q=ELONGATION": "[4]", "q=%25": "[]", "q=broken": "[7]",
	} {
		if got := fmt.Sprint(r.indices(b, "&"+query, 100)); got != wanted {
			t.Errorf("%s: got %s, want %s", query, got, wanted)
		}
	}
	for query, named := range map[string]string{
		"status=DONE": "status", "sort=colour": "sort", "minHits=-1": "minHits", "maxEvalue=NaN": "maxEvalue",
		"maxEvalue=low": "maxEvalue", "limit=101": "limit", "limit=0": "limit", "x=1": "x",
	} {
		want(t, query, b.Send("GET", base+r.at("/queries?"+query), ""), 400, fault.Validation, named)
	}
	failed := get[contract.BlastQuery](b, r.at("/queries/7"))
	if failed.QueryID == nil || *failed.QueryID != "=broken" || *failed.FailureStep != "parse" ||
		!strings.Contains(*failed.Error, "no amino acid") || failed.Length != nil {
		t.Errorf("got %+v", failed)
	}
	found := get[contract.BlastQuery](b, r.at("/queries/4"))
	if found.Hits != 3 || *found.BestSubjectID != "sp|B8G711|EFP_CHLAD" || *found.BestEvalue != 2.24063e-139 ||
		*found.Length != 189 ||
		found.UILinks.Studio != "/studio/searches/"+r.job+"/queries/4" {
		t.Errorf("got %+v", found)
	}
}

func TestQueriesAsATable(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	got := b.Send("GET", base+r.at("/queries?sort=-index&limit=3"), "", "Accept", "text/csv")
	lines := strings.Split(got.Text, "\r\n")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "text/csv" || got.Header.Get("X-Total-Count") != "8" ||
		got.Header.Get("X-Truncated") != "true" ||
		got.Header.Get("Content-Disposition") != `attachment; filename="blast-queries.csv"` || len(lines) != 5 {
		t.Fatalf("got %d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if lines[0] != "index,queryId,title,length,status,hits,bestEvalue,bestBitScore,bestSubjectId,bestSubjectTitle,"+
		"failureStep,error" ||
		lines[1] != `7,'=broken,,,FAILED,0,,,,,parse,"holds the letter 7, which is no amino acid"` ||
		!strings.HasPrefix(lines[2], "6,tr|E3LIQ8|E3LIQ8_CAERE,") {
		t.Errorf("got %q", lines)
	}
	if whole := b.Send("GET", base+r.at("/queries"), "", "Accept", "text/csv"); strings.Count(whole.Text, "\r\n") != 9 ||
		whole.Header.Get("X-Truncated") != "false" {
		t.Errorf("got %v %s", whole.Header, whole.Text)
	}
	if got := b.Send("GET", base+r.at("/queries"), "", "Accept", "text/tab-separated-values"); got.Header.Get(
		"Content-Type") != "application/json" {
		t.Errorf("queries come as %s", got.Header.Get("Content-Type"))
	}
}

// A cursor goes with the list, the filters and the sort that it came from.
func TestCursorsAreBound(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r, other := l.proteins(b.AccountID, noon), l.proteins(b.AccountID, noon)
	queries := *get[contract.BlastQueryList](b, r.at("/queries?limit=1&status=COMPLETED")).NextCursor
	hits := *get[contract.BlastHitList](b, r.at("/hits?limit=1")).NextCursor
	forged := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, path := range map[string]string{
		"another sort":   r.at("/queries?status=COMPLETED&sort=-index&cursor=" + queries),
		"another filter": r.at("/queries?cursor=" + queries),
		"another search": other.at("/queries?status=COMPLETED&cursor=" + queries),
		"hits":           r.at("/hits?cursor=" + queries),
		"one query":      r.at("/queries/0/hits?cursor=" + hits),
		"filtered hits":  r.at("/hits?maxEvalue=1&cursor=" + hits),
		"no base64":      r.at("/queries?cursor=%21"),
		"no JSON":        r.at("/queries?cursor=" + forged("x")),
		"below 0":        r.at("/hits?cursor=" + forged(`{"b":"x","i":-1}`)),
		"huge":           r.at("/hits?cursor=" + forged(`{"b":"x","i":9999999999}`)),
		"a huge key":     r.at("/queries?cursor=" + forged(`{"b":"x","i":1,"k":1e999}`)),
		"searches":       "?cursor=" + hits,
	} {
		want(t, name, b.Send("GET", base+path, ""), 400, fault.InvalidCursor, "cursor")
		if strings.HasPrefix(path, "/") {
			want(t, name+" as CSV", b.Send("GET", base+path, "", "Accept", "text/csv"), 400, fault.InvalidCursor, "cursor")
		}
	}
}

// Nothing tells another account's search, an unknown one and what cannot be an id apart.
func TestForeignSearchesAreAsIfAbsent(t *testing.T) {
	t.Parallel()
	l := open(t)
	r := l.proteins(l.account().AccountID, noon)
	other := l.account()
	for _, below := range []string{"", "/queries", "/queries/0", "/queries/0/hits", "/hits"} {
		first := ""
		for _, job := range []string{r.job, id.New("job_"), "job_0", strings.ToUpper(r.job), "x", "%27%20OR%201=1",
			strings.Repeat("a", 500)} {
			for _, accept := range []string{"application/json", "text/csv", "text/tab-separated-values"} {
				got := other.Send("GET", base+"/"+job+below, "", "Accept", accept)
				if first == "" {
					first = got.Text
				}
				if got.StatusCode != 404 || got.Text != first || !strings.Contains(got.Text, string(fault.NotFound)) {
					t.Errorf("%s of %.40s: got %d %s, want 404 %s", below, job, got.StatusCode, got.Text, first)
				}
			}
		}
	}
	if got := other.Send("GET", base, ""); got.Text != `{"searches":[],"nextCursor":null}`+"\n" {
		t.Errorf("got %s", got.Text)
	}
	writer := l.keyOf(other.AccountID, access.JobsWrite)
	want(t, "without the scope", writer.Send("GET", base+"/"+r.job+"/hits", ""), 403, fault.InsufficientScope, access.JobsRead)
	want(t, "without a key", biologist{l, l.Anonymous()}.Send("GET", base, ""), 401, fault.Unauthorized, "")
}
