package searches_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// walk reads a list of hits page by page.
func (r *ran) walk(b biologist, path, query string, limit int) (hits []contract.BlastHit) {
	r.t.Helper()
	cursor := ""
	for range 100 {
		list := get[contract.BlastHitList](b, r.at(fmt.Sprintf("%s?limit=%d&cursor=%s%s", path, limit, cursor, query)))
		hits = append(hits, list.Hits...)
		if list.NextCursor == nil {
			return hits
		}
		cursor = url.QueryEscape(*list.NextCursor)
	}
	r.t.Fatal("the list has no end")
	return nil
}

// places are the queries and ranks of hits.
func places(hits []contract.BlastHit) string {
	var found []string
	for _, hit := range hits {
		found = append(found, fmt.Sprintf("%d.%d", hit.QueryIndex, hit.Rank))
	}
	return strings.Join(found, " ")
}

func TestHitsArePaged(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	whole := "0.1 0.2 0.3 0.4 1.1 1.2 1.3 1.4 1.5 1.6 2.1 2.2 2.3 2.4 2.5 3.1 4.1 4.2 4.3 5.1 5.2 5.3 5.4 5.5 5.6 5.7 6.1 6.2"
	for _, limit := range []int{1, 2, 3, 4, 7, 28, 100} {
		if got := places(r.walk(b, "/hits", "", limit)); got != whole {
			t.Errorf("pages of %d:\n got %s\nwant %s", limit, got, whole)
		}
		if got := places(r.walk(b, "/queries/5/hits", "", limit)); got != "5.1 5.2 5.3 5.4 5.5 5.6 5.7" {
			t.Errorf("of one query in pages of %d: got %s", limit, got)
		}
	}
	if got := get[contract.BlastHitList](b, r.at("/queries/7/hits")); len(got.Hits) != 0 || got.NextCursor != nil {
		t.Errorf("of a query that failed: got %+v", got)
	}
	for _, index := range []string{"8", "2147483647"} {
		want(t, index, b.Send("GET", base+r.at("/queries/"+index+"/hits"), ""), 404, fault.NotFound, "index")
	}
	for _, index := range []string{"-1", "x", "2147483648", "1.5"} {
		want(t, index, b.Send("GET", base+r.at("/queries/"+index+"/hits"), ""), 400, fault.Validation, "index")
	}
	for query, named := range map[string]string{
		"limit=101": "limit", "limit=0": "limit", "maxEvalue=NaN": "maxEvalue", "maxEvalue=-1": "maxEvalue",
		"minIdentity=101": "minIdentity", "minIdentity=x": "minIdentity", "colour=red": "colour",
	} {
		want(t, query, b.Send("GET", base+r.at("/hits?"+query), ""), 400, fault.Validation, named)
	}
}

// A hit is shown with everything that the search has written of it, but how BLAST+ prints its numbers.
func TestAHitShowsItsAlignments(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	hits := r.walk(b, "/hits", "", 100)
	for i, line := range strings.Split(strings.TrimSpace(string(record(t, blast.IDProtein).hits)), "\n") {
		wanted, err := blast.ReadHit([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for j := range wanted.HSPs {
			wanted.HSPs[j].BitScoreText, wanted.HSPs[j].EvalueText = "", "" // for the tables alone
		}
		text, err := json.Marshal(hits[i])
		if err != nil {
			t.Fatal(err)
		}
		var got blast.Hit
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", wanted) {
			t.Errorf("hit %d:\n got %+v\nwant %+v", i, got, wanted)
		}
	}
	if hit := hits[8]; hit.SubjectID != "tr|A0A0U3ICN5|A0A0U3ICN5_9EURY" || len(hit.HSPs) != 2 ||
		hit.HSPs[0].IdentityPercent != 26.426 || hit.HSPs[0].QueryStrand != nil ||
		hit.QueryCoveragePercent <= 50 || hit.QueryCoveragePercent >= 100 {
		t.Errorf("got %+v", hit)
	}
	if hit := hits[0]; hit.QueryCoveragePercent != 100 {
		t.Errorf("a protein covers %g %% of itself", hit.QueryCoveragePercent)
	}
	strands := l.nucleotides(b.AccountID, noon).walk(b, "/queries/0/hits", "", 100)
	minus := 0
	for _, hsp := range strands[0].HSPs {
		if *hsp.SubjectStrand == "minus" {
			minus++
			if hsp.SubjectFrom <= hsp.SubjectTo {
				t.Errorf("a minus strand from %d to %d", hsp.SubjectFrom, hsp.SubjectTo)
			}
		}
	}
	if minus == 0 || minus == len(strands[0].HSPs) {
		t.Errorf("%d of %d alignments are with the minus strand", minus, len(strands[0].HSPs))
	}
}

func TestHitsAreFiltered(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	for query, wanted := range map[string]string{
		"&maxEvalue=0":                     "0.1 0.2 1.1 2.1 2.2 5.1 6.1",
		"&minIdentity=98":                  "0.1 0.2 1.1 2.1 2.2 4.1 5.1 6.1",
		"&minIdentity=98.012":              "0.1 1.1 2.1 2.2 4.1 5.1 6.1",
		"&minIdentity=98&maxEvalue=1e-200": "0.1 0.2 1.1 2.1 2.2 5.1 6.1",
		"&minIdentity=40&maxEvalue=1e-10":  "0.1 0.2 0.3 1.1 2.1 2.2 2.3 4.1 5.1 6.1",
		"&maxEvalue=1e-300&minIdentity=0":  "0.1 0.2 1.1 2.1 2.2 5.1 6.1",
	} {
		for _, limit := range []int{1, 3, 100} {
			if got := places(r.walk(b, "/hits", query, limit)); got != wanted {
				t.Errorf("%s in pages of %d:\n got %s\nwant %s", query, limit, got, wanted)
			}
		}
	}
	// Of a hit with two alignments, the one that fits stays alone, with its own rank.
	got := r.walk(b, "/queries/2/hits", "&minIdentity=40&maxEvalue=1e-10", 100)
	if last := got[len(got)-1]; last.Rank != 3 || len(last.HSPs) != 1 || last.HSPs[0].Rank != 2 ||
		last.HSPs[0].IdentityPercent != 46.667 {
		t.Errorf("got %+v", last)
	}
}

// The tables hold what BLAST itself prints of the same search.
func TestHitsAsTables(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	for program, r := range map[string]*ran{blast.IDProtein: l.proteins(b.AccountID, noon),
		blast.IDNucleotide: l.nucleotides(b.AccountID, noon)} {
		got := b.Send("GET", base+r.at("/hits"), "", "Accept", "text/tab-separated-values")
		head, rows, _ := strings.Cut(got.Text, "\n")
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != "text/tab-separated-values" ||
			got.Header.Get("Content-Disposition") != `attachment; filename="blast-hits.tsv"` ||
			head != "# qseqid\tsseqid\tpident\tlength\tmismatch\tgapopen\tqstart\tqend\tsstart\tsend\tevalue\tbitscore" {
			t.Fatalf("got %d %v %s", got.StatusCode, got.Header, got.Text)
		}
		if wanted := record(t, program).report; rows != wanted {
			t.Errorf("%s:\n got %s\nwant %s", program, rows, wanted)
		}
	}
	r := l.proteins(b.AccountID, noon)
	got := b.Send("GET", base+r.at("/queries/2/hits?maxEvalue=1e-20"), "", "Accept", "text/csv, application/json;q=0.5")
	rows, err := csv.NewReader(strings.NewReader(got.Text)).ReadAll()
	if err != nil || len(rows) != 5 || rows[0][0] != "qseqid" || rows[4][2] != "46.667" ||
		got.Header.Get("Content-Type") != "text/csv" {
		t.Errorf("got %v %q, %v", got.Header, rows, err)
	}
	some := b.Send("GET", base+r.at("/hits?limit=2"), "", "Accept", "text/csv")
	if strings.Count(some.Text, "\r\n") != 3 {
		t.Errorf("got %q", some.Text)
	}
	if head := b.Send("HEAD", base+r.at("/hits"), "", "Accept", "text/csv"); head.StatusCode != 200 || head.Text != "" ||
		head.Header.Get("Content-Type") != "text/csv" {
		t.Errorf("HEAD: got %d %q", head.StatusCode, head.Text)
	}
}

// Stored hits that are gone, cut or other than they were are told as such, and never shown in part.
func TestBrokenHits(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	whole := string(record(t, blast.IDProtein).part(0, 4).hits)
	lines := strings.SplitAfter(whole, "\n")
	swapped := slices.Clone(lines)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	for name, content := range map[string]string{
		"cut":        whole[:len(whole)/2],
		"empty":      "",
		"no JSON":    "x" + whole[1:],
		"swapped":    strings.Join(swapped, ""),
		"no lines":   strings.ReplaceAll(whole, "\n", " "),
		"other bits": strings.Replace(whole, `"rank":1,"subjectId"`, `"rank":9,"subjectId"`, 1),
	} {
		r := l.proteins(b.AccountID, noon)
		if _, err := l.objects.Put(t.Context(), r.keys[0], strings.NewReader(content), "text/plain", ""); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/queries/0/hits", "/hits?limit=100"} {
			for _, accept := range []string{"application/json", "text/csv"} {
				got, err := b.Try("GET", base+r.at(path), "", "Accept", accept)
				if name == "cut" && path == "/queries/0/hits" && accept == "application/json" {
					if err != nil || got.StatusCode != 200 { // its own lines are whole
						t.Errorf("%s: got %v %+v", name, err, got)
					}
					continue
				}
				if err != nil {
					continue // the connection broke before the end
				}
				if name == "cut" && path == "/queries/0/hits" {
					continue
				}
				want(t, name+" "+path, got, 422, fault.ChecksumMismatch, "queries[0]")
			}
		}
		if got := get[contract.BlastHitList](b, r.at("/queries/4/hits")); len(got.Hits) != 3 {
			t.Errorf("%s: the other task's hits: got %+v", name, got)
		}
	}
	r := l.proteins(b.AccountID, noon)
	if err := l.objects.Delete(t.Context(), r.keys[1]); err != nil {
		t.Fatal(err)
	}
	want(t, "gone", b.Send("GET", base+r.at("/queries/4/hits"), ""), 422, fault.ChecksumMismatch, "queries[4]")
	if got := get[contract.BlastHitList](b, r.at("/hits?limit=16")); len(got.Hits) != 16 || got.NextCursor == nil {
		t.Errorf("what comes before: got %d hits", len(got.Hits))
	}
}

// The lines of very long alignments are left out of pages, not out of tables; what is sent piece by piece arrives whole.
func TestVeryLongHits(t *testing.T) {
	t.Parallel()
	l := open(t)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	for _, c := range []struct {
		columns int
		omitted bool
	}{{200_000, false}, {1_500_000, true}} {
		r.exec(`UPDATE search_queries SET hit_count = 1, hits_offset = 0, hits_bytes = $2 WHERE job_id = $1 AND query_index = 0`,
			r.job, r.longHit(c.columns))
		list := get[contract.BlastHitList](b, r.at("/queries/0/hits"))
		if len(list.Hits) != 1 || list.Hits[0].AlignmentsOmitted != c.omitted {
			t.Fatalf("%d columns: got %d hits", c.columns, len(list.Hits))
		}
		hsp, line := list.Hits[0].HSPs[0], strings.Repeat("A", c.columns)
		if c.omitted {
			line = ""
		}
		if hsp.AlignmentLength != c.columns || hsp.IdentityPercent != 100 || hsp.QueryAlignment != line ||
			hsp.SubjectAlignment != line || hsp.Midline != line {
			t.Errorf("%d columns: got %d, %d, %d letters", c.columns, len(hsp.QueryAlignment), len(hsp.SubjectAlignment),
				len(hsp.Midline))
		}
		got := b.Send("GET", base+r.at("/queries/0/hits"), "", "Accept", "text/csv")
		if row := fmt.Sprintf("\nq,s,100.000,%d,0,0,1,%[1]d,", c.columns); got.StatusCode != 200 ||
			!strings.Contains(got.Text, row) {
			t.Errorf("%d columns: the table is %d %s", c.columns, got.StatusCode, got.Text)
		}
	}
	for range 10 { // more than an account may have at once
		if got := b.Send("GET", base+r.at("/queries/0/hits"), ""); got.StatusCode != 200 {
			t.Fatalf("the place of a page that was sent is not free: %d %s", got.StatusCode, got.Text)
		}
	}
}

// longHit stores a hit of so many columns as the first task's only one, and returns its bytes.
func (r *ran) longHit(columns int) int {
	r.t.Helper()
	line := strings.Repeat("A", columns)
	text, err := json.Marshal(blast.Hit{QueryID: "q", Rank: 1, SubjectID: "s", SubjectLength: int64(columns), HSPs: []blast.HSP{{
		Rank: 1, BitScore: 9, BitScoreText: "9", EvalueText: "0.0", Identities: columns, Positives: columns,
		AlignmentLength: columns, QueryFrom: 1, QueryTo: int64(columns), SubjectFrom: 1, SubjectTo: int64(columns),
		QueryAlignment: line, SubjectAlignment: line, Midline: line,
	}}})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.objects.Put(r.t.Context(), r.keys[0], strings.NewReader(string(text)+"\n"), "text/plain", ""); err != nil {
		r.t.Fatal(err)
	}
	return len(text) + 1
}

// While the store is away the answer asks to come back.
func TestHitsOfAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	gateway, _ := objecttest.Private(t)
	cfg := gateway.Config()
	cfg.Bucket = "searches"
	objects, err := object.New(cfg)
	if err == nil {
		err = objects.EnsureBucket(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	l := openOn(t, objects)
	b := l.account()
	r := l.proteins(b.AccountID, noon)
	if err := gateway.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "away", b.Send("GET", base+r.at("/hits"), ""), 503, fault.ProviderUnavailable, "")
	if got := get[contract.BlastQueryList](b, r.at("/queries")); len(got.Queries) != 8 {
		t.Errorf("the queries need no store: got %+v", got)
	}
}
