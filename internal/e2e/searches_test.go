package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// sequenceFiles are FASTA files: what is searched, and what is searched for in it.
type sequenceFiles struct{ proteins, proteinQueries, genome, genomeQueries string }

// testSequences are proteins of a chloroplast with their variants, and pieces of two genomes.
var testSequences = sequenceFiles{
	proteins: "../../engines/blast/testdata/proteins.faa", proteinQueries: "../../engines/blast/testdata/queries.faa",
	genome: "../../engines/blast/testdata/chimp.fna", genomeQueries: "../../engines/blast/testdata/human.fna",
}

// needBLAST skips a test where BLAST+ is not installed.
func needBLAST(t *testing.T) {
	t.Helper()
	for _, name := range []string{"makeblastdb", "blastp", "blastn"} {
		if _, err := exec.LookPath(name); err != nil {
			enginestest.Skip(t, name+" is not installed; install it with: apt-get install ncbi-blast+")
		}
	}
}

// bareSearch is BLAST+ by itself, on a database of its own.
type bareSearch struct {
	t                          *testing.T
	program, database, queries string
}

// newBareSearch builds a database without the help of the fabric.
func newBareSearch(t *testing.T, program, fasta, queries string) bareSearch {
	t.Helper()
	b := bareSearch{t, program, filepath.Join(t.TempDir(), "database"), queries}
	b.output("makeblastdb", "-in", fasta, "-dbtype", map[string]string{"blastp": "prot", "blastn": "nucl"}[program], "-out",
		b.database)
	return b
}

func (b bareSearch) output(name string, args ...string) []byte {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "BLAST_USAGE_REPORT=false")
	output, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return output
}

// prints runs one search of all queries and returns what it prints in a format.
func (b bareSearch) prints(format string) string {
	b.t.Helper()
	return string(b.output(b.program, "-query", b.queries, "-db", b.database, "-outfmt", format))
}

// rows are all alignments with their figures and letters, numbers written as Go writes them.
func (b bareSearch) rows() (rows []string) {
	b.t.Helper()
	for line := range strings.Lines(b.prints("6 qaccver saccver slen score length nident positive gaps qstart qend sstart send " +
		"qseq sseq evalue bitscore")) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for _, number := range []int{14, 15} {
			value, err := strconv.ParseFloat(columns[number], 64)
			if err != nil {
				b.t.Fatal(err)
			}
			columns[number] = fmt.Sprint(value)
		}
		rows = append(rows, strings.Join(columns, "\t"))
	}
	return rows
}

// writeText writes a file of the test.
func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manyProteins are queries that take a core seconds: two dozen proteins over and over, each with a name of its own.
func manyProteins(t *testing.T, times int) string {
	t.Helper()
	var text strings.Builder
	for i := range times {
		text.WriteString(strings.ReplaceAll(readText(t, "../../engines/blast/testdata/proteins.faa"), ">",
			fmt.Sprintf(">round%d-", i)))
	}
	return writeText(t, "many.faa", text.String())
}

// addDatabase adds a database to the registry as its operator does.
func (s *system) addDatabase(name, fasta string) {
	s.t.Helper()
	s.blastdb(0, "add", fasta, "--name", name, "--version", "2026_01", "--date", "2026-01-28")
}

// search submits a search of a file of queries and returns its job.
func (c *chemist) search(simulator, queries string, tasks int, params map[string]any) (jobID string) {
	c.t.Helper()
	receipt, err := c.trySearch(simulator, queries, tasks, params)
	if err != nil {
		c.t.Fatal(err)
	}
	return receipt.Body.JobID
}

func (c *chemist) trySearch(
	simulator, queries string, tasks int, params map[string]any,
) (client.Answer[contract.SubmitResponse], error) {
	c.t.Helper()
	file, err := c.api.UploadFile(c.t.Context(), queries)
	if err != nil {
		c.t.Fatal(err)
	}
	request := map[string]any{"jobType": "simulation", "simulator": simulator, "sceneFile": file.StorageKey,
		"simulationParams": params}
	if tasks > 0 {
		request["taskCount"] = tasks
	}
	return c.api.Submit(c.t.Context(), request, "")
}

// found reads how far a search is.
func (c *chemist) found(jobID string) contract.BlastSearch {
	c.t.Helper()
	search, err := c.api.BlastSearch(c.t.Context(), jobID)
	if err != nil {
		c.t.Fatal(err)
	}
	return search.Body
}

// queries reads all queries of a search with these states; all without any.
func (c *chemist) queries(jobID string, status ...string) (all []contract.BlastQuery) {
	c.t.Helper()
	filter := client.QueryFilter{Page: client.Page{Limit: 100}, Status: status}
	for {
		page, err := c.api.BlastQueries(c.t.Context(), jobID, filter)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, page.Body.Queries...)
		if page.Body.NextCursor == nil {
			return all
		}
		filter.Cursor = *page.Body.NextCursor
	}
}

// hits reads all hits of a search that fit a filter.
func (c *chemist) hits(jobID string, filter client.HitFilter) (all []contract.BlastHit) {
	c.t.Helper()
	filter.Limit = 100
	for {
		page, err := c.api.BlastHits(c.t.Context(), jobID, filter)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, page.Body.Hits...)
		if page.Body.NextCursor == nil {
			return all
		}
		filter.Cursor = *page.Body.NextCursor
	}
}

// rowsOf writes hits as bareSearch.rows does.
func rowsOf(hits []contract.BlastHit) (rows []string) {
	for _, hit := range hits {
		for _, h := range hit.HSPs {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%v\t%v", hit.QueryID,
				hit.SubjectID, hit.SubjectLength, h.RawScore, h.AlignmentLength, h.Identities, h.Positives, h.Gaps, h.QueryFrom,
				h.QueryTo, h.SubjectFrom, h.SubjectTo, h.QueryAlignment, h.SubjectAlignment, h.Evalue, h.BitScore))
		}
	}
	return rows
}

// wantBare holds a search that has ended against one bare run over all of its queries: the tables byte for byte, the hits and their
// alignments letter by letter.
func (c *chemist) wantBare(jobID string, bare bareSearch) {
	c.t.Helper()
	table := bare.prints("6")
	if table == "" {
		c.t.Fatal("the bare run found nothing, which proves nothing")
	}
	if _, body, _ := strings.Cut(string(output(c.t, c.api, jobID, "hits.tsv")), "\n"); body != table {
		c.t.Errorf("hits.tsv is not what %s prints: %s", bare.program,
			difference(strings.Split(body, "\n"), strings.Split(table, "\n")))
	}
	path := filepath.Join(c.t.TempDir(), "export.tsv")
	if err := c.api.ExportHits(c.t.Context(), jobID, client.HitFilter{}, client.MediaTSV, path); err != nil {
		c.t.Fatal(err)
	}
	if _, body, _ := strings.Cut(readText(c.t, path), "\n"); body != table {
		c.t.Errorf("the exported table is not what %s prints: %s", bare.program,
			difference(strings.Split(body, "\n"), strings.Split(table, "\n")))
	}
	all := c.hits(jobID, client.HitFilter{})
	if got, want := rowsOf(all), bare.rows(); !slices.Equal(got, want) {
		c.t.Errorf("the hits are not those of %s: %s", bare.program, difference(got, want))
	}
	for _, hit := range all {
		if first, _, _ := strings.Cut(hit.SubjectTitle, " "); first == hit.SubjectID {
			c.t.Fatalf("the title of %s is %q, which repeats the id", hit.SubjectID, hit.SubjectTitle)
		}
	}
}

// difference is the first line in which two lists differ.
func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(got), len(want))
}

// TestSearches shows sequence searches as resources, on one system with three databases.
func TestSearches(t *testing.T) {
	t.Parallel()
	needBLAST(t)
	files := testSequences
	s := start(t, "MOLFABRIC_SLOTS=2", "MOLFABRIC_LIMIT_CREDENTIAL=100000")
	s.addDatabase("proteome", files.proteins)
	s.addDatabase("genome", files.genome)
	s.addDatabase("globins", "../sequences/testdata/proteins.fasta")
	for name, test := range map[string]func(*chemist){
		"proteins": func(c *chemist) { testProteins(c, files) }, "genomes": func(c *chemist) { testGenomes(c, files) },
		"refused": testRefusedSearches, "wrong queries": testWrongQueries, "cancelled": testCancelledSearch,
		"command line": func(c *chemist) { testSearchCommands(c, files) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(s.chemist(t))
		})
	}
}

// testProteins searches a file in which two queries are broken, in six parts: results come while it runs, and at its end they are
// those of one bare run over the queries that are not.
func testProteins(c *chemist, files sequenceFiles) {
	good := readText(c.t, files.proteinQueries)
	broken := writeText(c.t, "queries.fasta", ">nothing at all\n\n"+good+">digits\nMKV12\n")
	total := strings.Count(good, ">") + 2
	jobID := c.search("blastp", broken, 6, map[string]any{"blastDatabaseName": "proteome"})
	c.watchSearch(jobID, total)
	ended := c.await(c.api, jobID)
	if ended.Status != job.CompletedWithFailures || ended.Cost.Final == nil {
		c.t.Fatalf("the search ended as %s with %+v", ended.Status, ended.Error)
	}
	search := c.found(jobID)
	counts := search.Counts
	if counts.Queries == nil || *counts.Queries != total || counts.Completed != total-2 || counts.Failed != 2 ||
		search.Database.Name != "proteome" ||
		search.Database.Version != "2026_01" || len(search.Database.Checksum) != 64 || search.Version == nil {
		c.t.Errorf("the search is %+v", search)
	}
	failed := c.queries(jobID, "FAILED")
	if len(failed) != 2 || *failed[0].QueryID != "nothing" || !strings.Contains(*failed[0].Error, "no sequence") ||
		failed[1].Index != total-1 || *failed[1].QueryID != "digits" || !strings.Contains(*failed[1].Error, "'1' at position 4") ||
		*failed[1].FailureStep != "parse" {
		c.t.Errorf("the failed queries are %+v", failed)
	}
	c.wantBare(jobID, newBareSearch(c.t, "blastp", files.proteins, files.proteinQueries))
	c.checkQueries(jobID, counts.Hits)
	chargedOnce(c.t, c.api, jobID)
}

// watchSearch follows a search to its end and expects hits of some queries before the others are searched.
func (c *chemist) watchSearch(jobID string, total int) {
	c.t.Helper()
	partial := false
	err := c.api.Events(c.t.Context(), jobID, "", func(client.Event) error {
		search := c.found(jobID)
		if done := search.Counts.Completed; search.Status != job.Running || done == 0 || done >= total-2 ||
			search.Counts.Hits == 0 {
			return nil
		}
		partial = true
		hits, err := c.api.BlastHits(c.t.Context(), jobID, client.HitFilter{Page: client.Page{Limit: 1}})
		if err == nil && len(hits.Body.Hits) != 1 {
			err = fmt.Errorf("%d hits are counted, and none is shown", search.Counts.Hits)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if !partial {
		c.t.Error("no hits were seen before the last query was searched")
	}
}

// checkQueries holds every query's figures against its hits.
func (c *chemist) checkQueries(jobID string, total int64) {
	c.t.Helper()
	byQuery := map[int][]contract.BlastHit{}
	for _, hit := range c.hits(jobID, client.HitFilter{}) {
		byQuery[hit.QueryIndex] = append(byQuery[hit.QueryIndex], hit)
		total--
	}
	if total != 0 {
		c.t.Errorf("%d more hits are counted than listed", total)
	}
	for i, query := range c.queries(jobID) {
		hits := byQuery[i]
		if query.Index != i || query.Hits != len(hits) || (query.BestEvalue == nil) != (len(hits) == 0) {
			c.t.Errorf("query %d is %+v, with %d hits", i, query, len(hits))
		} else if len(hits) > 0 && (*query.BestEvalue != hits[0].HSPs[0].Evalue || *query.BestSubjectID != hits[0].SubjectID ||
			*query.BestSubjectTitle != hits[0].SubjectTitle) {
			c.t.Errorf("the best hit of query %d is %+v, and it says %+v", i, hits[0], query)
		}
	}
}

// testGenomes searches fragments of the human genome in one of the chimpanzee's, on both strands.
func testGenomes(c *chemist, files sequenceFiles) {
	jobID := c.search("blastn", files.genomeQueries, 2, map[string]any{"blastDatabasePath": "genome/2026_01"})
	if ended := c.await(c.api, jobID); ended.Status != job.Completed {
		c.t.Fatalf("the search ended as %s with %+v", ended.Status, ended.Error)
	}
	c.wantBare(jobID, newBareSearch(c.t, "blastn", files.genome, files.genomeQueries))
	strands := map[string]bool{}
	for _, hit := range c.hits(jobID, client.HitFilter{}) {
		strands[*hit.HSPs[0].SubjectStrand] = true
	}
	if len(strands) != 2 {
		c.t.Errorf("hits on the strands %v, want both", strands)
	}
}

// testCancelledSearch cancels a search in its middle. What was found by then stays, and every other query has an end.
func testCancelledSearch(c *chemist) {
	jobID := c.search("blastp", manyProteins(c.t, 60), 6, map[string]any{"blastDatabaseName": "proteome"})
	told := false
	c.eventually("a part is searched, and a task tells of its queries", func() bool {
		tasks, err := c.api.Tasks(c.t.Context(), jobID, client.TaskFilter{Stage: "search"})
		if err != nil {
			c.t.Fatal(err)
		}
		told = told || slices.ContainsFunc(tasks.Body.Tasks, func(task contract.Task) bool {
			return strings.Contains(task.Message, " of 240 queries")
		})
		return told && c.found(jobID).Counts.Hits > 0
	})
	if _, err := c.api.Cancel(c.t.Context(), jobID, "enough"); err != nil {
		c.t.Fatal(err)
	}
	if ended := c.await(c.api, jobID); ended.Status != job.Cancelled {
		c.t.Fatalf("the search ended as %s with %+v", ended.Status, ended.Error)
	}
	counts, left := c.found(jobID).Counts, c.queries(jobID, "FAILED")
	if counts.Completed == 0 || len(left) == 0 || counts.Failed != len(left) || counts.Completed+counts.Failed != 60*24 {
		c.t.Errorf("the queries are counted as %+v, and %d have failed", counts, len(left))
	}
	for _, query := range left {
		if query.Error == nil || *query.Error != "not searched: the job was cancelled" {
			c.t.Fatalf("a query that was not searched says %+v", query)
		}
	}
	if hits := c.hits(jobID, client.HitFilter{}); int64(len(hits)) != counts.Hits {
		c.t.Errorf("%d of %d hits are left", len(hits), counts.Hits)
	}
	chargedOnce(c.t, c.api, jobID)
}

// TestLostWorkerSearchesAgain kills the only worker in the middle of a search, and expects of the next one what an undisturbed
// search finds, byte for byte, and nothing twice.
func TestLostWorkerSearchesAgain(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	needBLAST(t)
	s := start(t, "MOLFABRIC_SLOTS=1", "MOLFABRIC_LIMIT_CREDENTIAL=100000")
	s.addDatabase("proteome", "../../engines/blast/testdata/proteins.faa")
	c := s.chemist(t)
	queries := manyProteins(t, 30)
	calm := c.search("blastp", queries, 6, map[string]any{})
	if ended := c.await(c.api, calm); ended.Status != job.Completed {
		t.Fatalf("the undisturbed search ended as %s with %+v", ended.Status, ended.Error)
	}
	disturbed := c.search("blastp", queries, 6, map[string]any{})
	s.eventually("a part is searched and another one is being searched", func() bool {
		return c.found(disturbed).Counts.Completed > 0 && len(c.queries(disturbed, "SEARCHING")) > 0
	})
	if err := syscall.Kill(s.worker(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if ended := c.await(c.api, disturbed); ended.Status != job.Completed {
		t.Fatalf("the disturbed search ended as %s with %+v", ended.Status, ended.Error)
	}
	for _, name := range []string{"hits.tsv", "hits.jsonl", "results.json"} {
		if got, want := output(t, c.api, disturbed, name), output(t, c.api, calm, name); len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, undisturbed %d", name, len(got), len(want))
		}
	}
	got, want := c.found(disturbed).Counts, c.found(calm).Counts
	if listed := len(c.queries(disturbed)); got.Hits != want.Hits || got.Completed != want.Completed || *got.Queries != listed ||
		listed != 30*24 {
		t.Errorf("counted are %+v, undisturbed %+v; %d queries are listed", got, want, listed)
	}
	tasks, err := c.api.Tasks(t.Context(), disturbed, client.TaskFilter{Stage: "search"})
	if err != nil || len(tasks.Body.Tasks) != 6 || !slices.ContainsFunc(tasks.Body.Tasks,
		func(task contract.Task) bool { return task.Attempt == 2 }) {
		t.Errorf("the searches are %+v (%v), want six of which one was attempted twice", tasks.Body.Tasks, err)
	}
	chargedOnce(t, c.api, disturbed)
}
