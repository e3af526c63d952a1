package jobs

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func TestListPagesAndFilters(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	d.submit(other)
	var ids []string
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	for i := range 5 {
		jobID := d.submit(caller)
		d.exec(`UPDATE jobs SET created_at = $2, job_name = $3 WHERE id = $1`, jobID, start.Add(time.Duration(i/2)*time.Minute),
			fmt.Sprintf("Screen 100%% no_%d", i))
		ids = append([]string{jobID}, ids...)
	}
	d.exec(`UPDATE jobs SET status = 'FAILED', finished_at = now() WHERE id = $1`, ids[4])
	read := func(query ListQuery) (got []string) {
		t.Helper()
		for query.Limit = 2; ; {
			list, err := d.List(access.With(t.Context(), caller), caller.AccountID, query)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range list.Jobs {
				got = append(got, j.JobID)
			}
			if list.NextCursor == nil {
				return got
			}
			query.Cursor = *list.NextCursor
		}
	}
	for _, c := range []struct {
		name  string
		query ListQuery
		want  []string
	}{
		{"all", ListQuery{}, ids},
		{"states", ListQuery{Status: []string{"FAILED", "RUNNING"}}, ids[4:]},
		{"type", ListQuery{JobType: "render"}, nil},
		{"alias", ListQuery{Simulator: "Vina"}, ids},
		{"unknown simulator", ListQuery{Simulator: "blastp"}, nil},
		{"after", ListQuery{CreatedAfter: start}, ids[:3]},
		{"before", ListQuery{CreatedBefore: start.Add(time.Minute)}, ids[3:]},
		{"text", ListQuery{Q: "SCREEN 100% NO_2"}, ids[2:3]},
		{"no pattern", ListQuery{Q: "100_"}, nil},
		{"id", ListQuery{Q: ids[1]}, ids[1:2]},
	} {
		if got := read(c.query); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	_, err := d.List(access.With(t.Context(), caller), caller.AccountID, ListQuery{Query: list.Query{Limit: 2, Cursor: "nonsense"}})
	wantFault(t, "cursor", err, fault.InvalidCursor, "cursor")
	response, text := d.call(caller, http.MethodGet,
		"/v1/jobs?status=FAILED&status=RUNNING&limit=1&createdAfter=2020-01-01T00:00:00Z", "")
	if list := decoded[contract.JobList](t, text); response.StatusCode != http.StatusOK || len(list.Jobs) != 1 ||
		list.Jobs[0].JobID != ids[4] || list.NextCursor != nil {
		t.Errorf("over the wire: got %d %s", response.StatusCode, text)
	}
	for _, query := range []string{
		"status=DONE", "status=FAILED&status=DONE", "jobType=film", "limit=0", "limit=101", "limit=ten", "colour=red",
		"createdAfter=yesterday", "createdBefore=2020-01-01", "q=" + strings.Repeat("a", 201),
		"simulator=" + strings.Repeat("a", 65), "cursor=" + strings.Repeat("a", 513),
	} {
		name, _, _ := strings.Cut(query, "=")
		if response, text := d.call(caller, http.MethodGet, "/v1/jobs?"+query,
			""); response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, "query."+name) {
			t.Errorf("%s: got %d %s, want a refusal that names the parameter", query, response.StatusCode, text)
		}
	}
}

func TestListIsStableUnderInserts(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	submitAt := func(at time.Time) string {
		jobID := d.submit(caller)
		d.exec(`UPDATE jobs SET created_at = $2 WHERE id = $1`, jobID, at)
		return jobID
	}
	var want, got []string
	for range 6 { // all of one moment: their ids alone tell them apart
		want = append([]string{submitAt(at)}, want...)
	}
	query := ListQuery{Query: list.Query{Limit: 2}}
	for {
		list, err := d.List(access.With(t.Context(), caller), caller.AccountID, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list.Jobs {
			got = append(got, j.JobID)
		}
		if list.NextCursor == nil {
			break
		}
		query.Cursor = *list.NextCursor
		submitAt(at)                  // newer than all that were shown
		submitAt(at.Add(time.Minute)) // and newer still
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want what there was at the first page, %v", got, want)
	}
}
