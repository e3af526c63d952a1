package client

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSearchesAreRead(t *testing.T) {
	t.Parallel()
	b := newBreaker(t,
		answer(200, `{"databases":[{"name":"swissprot","version":"2026_01","type":"prot","sequences":572970}]}`),
		answer(200, `{"jobId":"job_1","program":"blastp","counts":{"queries":8,"completed":7,"failed":1,"hits":28}}`),
		answer(200, `{"queries":[{"index":3,"queryId":"q3","hits":2,"bestEvalue":0}],"nextCursor":null}`),
		answer(200, `{"hits":[{"queryIndex":3,"rank":1,"hsps":[{"evalue":1e-50,"subjectStrand":"minus"}]}],"nextCursor":"c"}`),
		answer(200, `{"hits":[],"nextCursor":null}`),
		answer(200, "# qseqid\n"),
	)
	c, _ := newClient(t, b.URL, Options{})
	if found, err := c.SequenceDatabases(t.Context(), "prot"); err != nil || found.Body.Databases[0].Sequences != 572970 {
		t.Errorf("databases: got %+v, %v", found, err)
	}
	if search, err := c.BlastSearch(t.Context(), "job/1"); err != nil || *search.Body.Counts.Queries != 8 ||
		search.Body.Counts.Hits != 28 {
		t.Errorf("search: got %+v, %v", search, err)
	}
	queries, err := c.BlastQueries(t.Context(), "job_1", QueryFilter{Page: Page{Limit: 5}, Status: []string{"COMPLETED"},
		Text: "q 3", Sort: "evalue"})
	if err != nil || *queries.Body.Queries[0].BestEvalue != 0 {
		t.Errorf("queries: got %+v, %v", queries, err)
	}
	most, least, index := 1e-10, 40.0, 3
	hits, err := c.BlastHits(t.Context(), "job_1", HitFilter{Query: &index, MaxEvalue: &most, MinIdentity: &least})
	if err != nil || *hits.Body.Hits[0].HSPs[0].SubjectStrand != "minus" || *hits.Body.NextCursor != "c" {
		t.Errorf("hits: got %+v, %v", hits, err)
	}
	if _, err := c.BlastHits(t.Context(), "job_1", HitFilter{Page: Page{Cursor: "c"}}); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "hits.tsv")
	if err := c.ExportHits(t.Context(), "job_1", HitFilter{}, MediaTSV, path); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "# qseqid\n" {
		t.Errorf("export: got %q, %v", text, err)
	}
	for i, want := range []string{
		"/databases?type=prot", "/searches/job%2F1", "/searches/job_1/queries?limit=5&q=q+3&sort=evalue&status=COMPLETED",
		"/searches/job_1/queries/3/hits?maxEvalue=1e-10&minIdentity=40", "/searches/job_1/hits?cursor=c", "/searches/job_1/hits",
	} {
		if got := b.received()[i]; got.path != "/api/v1/molecular/blast"+want {
			t.Errorf("call %d: got %s, want %s", i, got.path, want)
		}
	}
	if accept := b.received()[5].header.Get("Accept"); accept != MediaTSV {
		t.Errorf("the export asks for %s", accept)
	}
}
