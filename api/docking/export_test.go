package docking_test

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// column is a column of a table, by its name.
func column(t *testing.T, text, name string) []string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	for i, head := range rows[0] {
		if head != name {
			continue
		}
		var cells []string
		for _, row := range rows[1:] {
			cells = append(cells, row[i])
		}
		return cells
	}
	t.Fatalf("no column %s in %v", name, rows[0])
	return nil
}

func TestResultsAsATable(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	got := c.Send("GET", base+"/runs/"+d.run+"/results", "", "Accept", "text/csv")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "text/csv" || got.Header.Get("X-Total-Count") != "7" ||
		got.Header.Get("X-Truncated") != "false" ||
		got.Header.Get("Content-Disposition") != `attachment; filename="docking-results.csv"` {
		t.Fatalf("got %d %v", got.StatusCode, got.Header)
	}
	if n := strings.Count(got.Text, "\r\n"); n != 8 {
		t.Errorf("%d lines, want 8: %q", n, got.Text)
	}
	for name, wanted := range map[string]string{
		"ligandId":         "imatinib|nilotinib|pdbqt-only|ethanol|broken|waiting|now",
		"rank":             "1|2|3|4|||",
		"label":            `Imatinib|'=HYPERLINK(1)|pdbqt-only|ethanol, "96 %"|broken|waiting|now`,
		"bestScoreKcalMol": "-13.25|-13.25|-5|-2.5|||",
		"interactions":     "A:ASP:381:hydrogen_bond; A:LEU:52A:hydrophobic|B:ASP:381:salt_bridge|||||",
		"passedChecks":     "true|false|||||",
		"failureStage":     "||||parse||",
	} {
		if cells := strings.Join(column(t, got.Text, name), "|"); cells != wanted {
			t.Errorf("%s: got %s, want %s", name, cells, wanted)
		}
	}
	some := c.Send("GET", base+"/results?status=COMPLETED&sort=-score&limit=2", "", "Accept",
		"text/csv;q=0.9, application/json;q=0.1")
	if names := strings.Join(column(t, some.Text, "ligandId"), " "); names != "ethanol pdbqt-only" ||
		some.Header.Get("X-Total-Count") != "4" || some.Header.Get("X-Truncated") != "true" {
		t.Errorf("filtered: got %s, %v", names, some.Header)
	}
	head := c.Send("HEAD", base+"/results", "", "Accept", "text/csv")
	if head.StatusCode != 200 || head.Text != "" || head.Header.Get("Content-Type") != "text/csv" {
		t.Errorf("HEAD: got %d %q", head.StatusCode, head.Text)
	}
	for accept, kind := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/html, */*;q=0.1": "application/json",
		"image/png": "application/json", ";;;": "application/json", "text/csv, application/json": "text/csv",
		"application/json;q=0.5, chemical/x-mdl-sdfile": "chemical/x-mdl-sdfile", "text/csv;q=0": "application/json",
	} {
		if got := c.Send("GET", base+"/results", "", "Accept", accept); got.Header.Get("Content-Type") != kind {
			t.Errorf("Accept %q: got %s, want %s", accept, got.Header.Get("Content-Type"), kind)
		}
	}
}

// recordsIn are the records of an SDF answer.
func recordsIn(text string) []string {
	records := strings.SplitAfter(text, "$$$$\n")
	return records[:len(records)-1]
}

func TestResultsAsStructures(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	got := c.Send("GET", base+"/batches/"+d.batch+"/results", "", "Accept", "chemical/x-mdl-sdfile")
	records := recordsIn(got.Text)
	if got.StatusCode != 200 || len(records) != 3 || got.Header.Get("X-Total-Count") != "4" {
		t.Fatalf("got %d %v %s", got.StatusCode, got.Header, got.Text)
	}
	for i, parts := range [][]string{
		{"imatinib\n", "    1.0000    0.0000", ">  <poseRank>\n1\n\n", ">  <rank>\n1\n\n", ">  <bestScoreKcalMol>\n-13.25\n\n",
			">  <resultId>\n" + d.results[0] + "\n\n", ">  <poseId>\n" + d.poses[0][0] + "\n\n",
			"A:ASP:381:hydrogen_bond; A:LEU:52A:hydrophobic"},
		{"nilotinib\n", ">  <label>\n=HYPERLINK(1)\n\n", ">  <passedChecks>\nfalse\n\n"},
		{"ethanol\n", ">  <rank>\n4\n\n"},
	} {
		for _, part := range parts {
			if !strings.Contains(records[i], part) {
				t.Errorf("record %d has no %q: %s", i+1, part, records[i])
			}
		}
		if strings.Count(records[i], "<ligandId>") != 1 || !strings.HasSuffix(records[i], "\n\n$$$$\n") {
			t.Errorf("record %d: %s", i+1, records[i])
		}
	}
}

func TestPosesAsStructures(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	one := c.Send("GET", base+"/poses/"+d.poses[0][2], "", "Accept", "chemical/x-mdl-sdfile")
	if records := recordsIn(one.Text); len(records) != 1 || !strings.Contains(records[0], "    3.0000    0.0000") ||
		!strings.Contains(records[0], ">  <poseRank>\n3\n") ||
		!strings.Contains(records[0], ">  <scoreKcalMol>\n-12.25\n") {
		t.Errorf("the third pose: got %d %s", one.StatusCode, one.Text)
	}
	all := c.Send("GET", base+"/results/"+d.results[0]+"/poses", "", "Accept", "chemical/x-mdl-sdfile")
	if records := recordsIn(all.Text); len(records) != 3 || !strings.Contains(records[1], "    2.0000    0.0000") ||
		!strings.Contains(records[0], "A:ASP:381:hydrogen_bond; A:LEU:52A:hydrophobic") {
		t.Errorf("all poses: got %d %s", all.StatusCode, all.Text)
	}
	table := c.Send("GET", base+"/poses", "", "Accept", "text/csv")
	if ranks := column(t, table.Text, "rank"); len(ranks) != 7 || table.Header.Get("X-Total-Count") != "7" {
		t.Errorf("a table of all poses: got %s", table.Text)
	}
	if failed := column(t, c.Send("GET", base+"/poses/"+d.poses[0][1], "", "Accept", "text/csv").Text,
		"failedChecks"); len(failed) != 1 || failed[0] != "clash" {
		t.Errorf("failed checks: got %v", failed)
	}
	want(t, "a pose without SDF", c.Send("GET", base+"/poses/"+d.poses[6][0], "", "Accept", "chemical/x-mdl-sdfile"), 404,
		fault.NotFound, "SDF")
}

// A pose whose file is lost or too short keeps its place, and says what happened.
func TestLostPosesAreNamed(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	for artifact, content := range map[string]string{d.sdf[0]: "", d.sdf[1]: "no record ends here\n" + strings.Repeat("x", 2<<20)} {
		var key string
		if err := l.DB.GetContext(t.Context(), &key, `SELECT storage_key FROM artifacts WHERE id = $1`, artifact); err != nil {
			t.Fatal(err)
		}
		if err := l.objects.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if content == "" {
			continue
		}
		if _, err := l.objects.Put(t.Context(), key, strings.NewReader(content), "text/plain", ""); err != nil {
			t.Fatal(err)
		}
	}
	records := recordsIn(c.Send("GET", base+"/runs/"+d.run+"/results", "", "Accept", "chemical/x-mdl-sdfile").Text)
	if len(records) != 3 {
		t.Fatalf("%d records, want 3", len(records))
	}
	for i, name := range []string{"imatinib", "nilotinib"} {
		if !strings.HasPrefix(records[i], name+"\n\n\n  0  0") || !strings.Contains(records[i],
			">  <error>\nthe file with this pose is lost\n") || !strings.Contains(records[i], ">  <ligandId>\n"+name+"\n") {
			t.Errorf("got %s", records[i])
		}
	}
}

// An export of many pages is whole and in order.
func TestALongExport(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	const many = 1203
	d := l.dock(c.AccountID, "COMPLETED", true, noon)
	l.exec(`INSERT INTO docking_results (id, account_id, run_id, ligand_index, ligand_id, label, source, prepare_task, dock_task,
		status, best_score_kcal_mol, created_at, updated_at)
		SELECT 'result_' || lpad(n::text, 32, '0'), $1, $2, n, 'l' || n, 'l' || n, 'smiles', 'p', 'd', 'COMPLETED',
		CASE WHEN n % 3 > 0 THEN -(n % 100) END, $3, $3 FROM generate_series(0, $4::int - 1) n`,
		c.AccountID, d.run, noon, many)
	got := c.Send("GET", base+"/runs/"+d.run+"/results", "", "Accept", "text/csv")
	names := column(t, got.Text, "ligandId")
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	if len(names) != many || len(seen) != many || got.Header.Get("X-Total-Count") != fmt.Sprint(many) {
		t.Errorf("%d rows, %d of them different, want %d", len(names), len(seen), many)
	}
	for i, rank := range column(t, got.Text, "rank") {
		if scored := many * 2 / 3; i < scored && rank != fmt.Sprint(i+1) || i >= scored && rank != "" {
			t.Fatalf("row %d has rank %q", i+1, rank)
		}
	}
}

// An export that cannot go on breaks the connection: nobody takes what came for the whole.
func TestABrokenExportIsNotWhole(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon)
	l.exec(`INSERT INTO docking_results (id, account_id, run_id, ligand_index, ligand_id, label, source, prepare_task, dock_task,
		status, notes, created_at, updated_at)
		SELECT 'result_' || lpad(n::text, 32, '0'), $1, $2, n, 'l' || n, 'l' || n, 'smiles', 'p', 'd', 'PENDING',
		CASE WHEN n < 400 THEN '[]' ELSE '{}' END::jsonb, $3, $3 FROM generate_series(0, 499) n`,
		c.AccountID, d.run, noon)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.Base+base+"/runs/"+d.run+"/results?sort=index", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = c.Header.Clone()
	request.Header.Set("Accept", "text/csv")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines, last := 0, error(nil)
	for in := bufio.NewReader(response.Body); last == nil; lines++ {
		_, last = in.ReadString('\n')
	}
	if response.StatusCode != 200 || errors.Is(last, io.EOF) || lines < 2 {
		t.Errorf("got %d and %d lines that ended with %v, want a broken answer", response.StatusCode, lines, last)
	}
	want(t, "from its beginning", c.Send("GET", base+"/runs/"+d.run+"/results?sort=index", "", "Accept", "application/json"), 200,
		"", "")
}

// While the store is away, structures are a 503 and files are PENDING.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	gateway, _ := objecttest.Private(t)
	cfg := gateway.Config()
	cfg.Bucket = "docking"
	objects, err := object.New(cfg)
	if err == nil {
		err = objects.EnsureBucket(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	l := openOn(t, objects, nil)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	verified := c.Send("GET", base+"/artifacts/"+d.sdf[0], "")
	if !strings.Contains(verified.Text, `"status":"VERIFIED"`) {
		t.Errorf("before: got %s", verified.Text)
	}
	if err := gateway.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "structures", c.Send("GET", base+"/results", "", "Accept", "chemical/x-mdl-sdfile"), 503, fault.ProviderUnavailable, "")
	if got := c.Send("GET", base+"/artifacts/"+d.sdf[0], ""); got.Text != verified.Text {
		t.Errorf("within the hour: got %s, want %s", got.Text, verified.Text)
	}
	l.ahead.Store(int64(2 * time.Hour))
	for _, artifact := range d.sdf[:2] {
		if got := c.Send("GET", base+"/artifacts/"+artifact, ""); got.StatusCode != 200 ||
			!strings.Contains(got.Text, `"verification":{"status":"PENDING","verifiedAt":null}`) {
			t.Errorf("away: got %d %s", got.StatusCode, got.Text)
		}
	}
	if got := c.Send("GET", base+"/results", "", "Accept", "text/csv"); got.StatusCode != 200 {
		t.Errorf("a table needs no store: got %d %s", got.StatusCode, got.Text)
	}
}
