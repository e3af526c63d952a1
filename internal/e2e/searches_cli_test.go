package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

// testRefusedSearches submits what the API can see to be wrong, and expects the name of the member that is to be changed.
func testRefusedSearches(c *chemist) {
	queries := "../../engines/blast/testdata/queries.faa"
	for _, test := range []struct {
		name, simulator string
		params          map[string]any
		member, text    string
	}{
		{"an unknown database", "blastp", map[string]any{"blastDatabaseName": "nr"}, "blastDatabaseName",
			"globins 2026_01 (2026-01-28), proteome 2026_01 (2026-01-28)"},
		{"no database", "blastp", map[string]any{}, "blastDatabaseName", "is required"},
		{"nucleotides for blastp", "blastp", map[string]any{"blastDatabaseName": "genome"}, "blastDatabaseName",
			"holds nucleotides"},
		{"another version", "blastp", map[string]any{"blastDatabaseName": "globins", "blastDatabaseVersion": "2"},
			"blastDatabaseVersion", "2026_01"},
		{"another checksum", "blastp", map[string]any{"blastDatabaseName": "globins",
			"blastDatabaseChecksum": strings.Repeat("0", 64)}, "blastDatabaseChecksum", "2026_01"},
		{"a path out of the registry", "blastp", map[string]any{"blastDatabasePath": "../../etc/passwd"}, "blastDatabasePath",
			"database folder"},
		{"a path of a file", "blastp", map[string]any{"blastDatabasePath": "globins/2026_01/globins.psq"}, "blastDatabasePath",
			"<name>/<version>"},
		{"a type of the other program", "blastp", map[string]any{"blastDatabaseName": "globins", "blastDatabaseType": "nucl"},
			"blastDatabaseType", "prot"},
		{"too many hits", "blastp", map[string]any{"blastDatabaseName": "globins", "blastMaxHits": 1001}, "blastMaxHits", "1000"},
		{"an expectation value of zero", "blastn", map[string]any{"blastDatabaseName": "genome", "blastEvalue": 0}, "blastEvalue",
			"1e-300"},
	} {
		_, err := c.trySearch(test.simulator, queries, 1, test.params)
		if client.StatusOf(err) != http.StatusBadRequest || client.CodeOf(err) != fault.Validation ||
			!strings.HasPrefix(err.Error(), "simulationParams."+test.member+":") || !strings.Contains(err.Error(), test.text) {
			c.t.Errorf("%s: got %v, want a refusal of %s that says %q", test.name, err, test.member, test.text)
		}
	}
}

// testWrongQueries submits files that only the engine can see to be wrong, and expects typed failures that cost nothing.
func testWrongQueries(c *chemist) {
	proteins := readText(c.t, "../../engines/blast/testdata/queries.faa")
	nucleotides := readText(c.t, "../../engines/blast/testdata/human.fna")
	for _, test := range []struct{ name, simulator, database, text, code, said string }{
		{"proteins for blastn", "blastn", "genome", proteins, "QUERIES_WRONG_TYPE", "use blastp"},
		{"nucleotides for blastp", "blastp", "globins", nucleotides, "QUERIES_WRONG_TYPE", "use blastn"},
		{"a blank file", "blastp", "globins", "\n\n", "QUERIES_EMPTY", "at least one sequence"},
		{"headers alone", "blastp", "globins", ">a\n>b\n", "QUERIES_NONE_USABLE", "no sequence"},
		{"a message", "blastp", "globins", "Dear colleague,\n", "QUERIES_UNREADABLE", "Dear colleague"},
	} {
		jobID := c.search(test.simulator, writeText(c.t, "queries.fasta", test.text),
			3, map[string]any{"blastDatabaseName": test.database})
		ended := c.await(c.api, jobID)
		if e := ended.Error; ended.Status != job.Failed || e == nil || e.FailureClass != "USER_INPUT" || e.Code != test.code ||
			!strings.Contains(e.Message, test.said) {
			c.t.Errorf("%s: ended as %s with %+v, want FAILED with %s that says %q", test.name, ended.Status, e, test.code,
				test.said)
		}
		chargedTimes(c.t, c.api, jobID, 0)
	}
}

// testSearchCommands is the path of a biologist at a terminal: which databases there are, a price, a search, its hits in every
// form.
func testSearchCommands(c *chemist, files sequenceFiles) {
	sh := c.signIn()
	queries, err := filepath.Abs(files.proteinQueries)
	if err != nil {
		sh.t.Fatal(err)
	}
	listed, _ := sh.want(0, "", "databases", "--type", "prot")
	sh.contains(listed, "proteome", "globins", "2026_01", "2026-01-28")
	if strings.Contains(listed, "genome") {
		sh.t.Errorf("the databases of proteins are\n%s", listed)
	}
	price, _ := sh.want(0, "", "blast", queries, "--db", "proteome", "--estimate")
	sh.contains(price, "between £")
	_, refused := sh.want(5, "", "blast", queries, "--db", "nr", "--detach")
	sh.contains(refused, "blastDatabaseName", "proteome 2026_01")
	_, empty := sh.want(5, "", "blast", writeText(sh.t, "empty.fasta", ""), "--db", "proteome")
	sh.contains(empty, "is empty")

	// A query that cannot be searched is named, and the others have results.
	some := writeText(sh.t, "some.fasta", readText(sh.t, "../../engines/blast/testdata/queries.faa")+">nothing\n")
	shown, _ := sh.want(8, "", "blast", some, "--db", "proteome:2026_01", "--shards", "3", "--evalue", "1e-5", "--watch", "--out",
		"results")
	sh.contains(shown, "best hit", "query01", "NP_0510", "Failed queries", "nothing", "it has no sequence", "£", "hits.tsv",
		"proteome 2026_01")
	for _, name := range []string{"hits.tsv", "hits.jsonl", "results.json", "provenance.json"} {
		if _, err := os.Stat(filepath.Join(sh.dir, "results", name)); err != nil {
			sh.t.Errorf("the results hold no %s", name)
		}
	}
	searches := reads[struct{ Jobs []contract.Job }](sh, "jobs", "--simulator", "blastp").Jobs
	if len(searches) != 1 {
		sh.t.Fatalf("the searches are %+v", searches)
	}
	sh.hitsOf(searches[0].JobID)
}

// hitsOf lists a search's hits in every form.
func (sh *shell) hitsOf(jobID string) {
	sh.t.Helper()
	_, table, _ := strings.Cut(readText(sh.t, filepath.Join(sh.dir, "results", "hits.tsv")), "\n")
	printed, _ := sh.want(0, "", "hits", jobID, "--tsv")
	if _, body, _ := strings.Cut(printed, "\n"); body != strings.TrimSpace(table) {
		sh.t.Errorf("the exported hits are\n%s\nand hits.tsv\n%s", body, table)
	}
	of, _ := sh.want(0, "", "hits", jobID, "query01", "--alignments")
	sh.contains(of, "Query", "Sbjct", "ribosomal protein S12", "identities", "positives")
	by, _ := sh.want(0, "", "hits", jobID, "0")
	sh.contains(by, "ribosomal protein S12")
	none, _ := sh.want(0, "", "hits", jobID, "--max-evalue", "1e-200")
	sh.contains(none, "No hits fit")
	_, unknown := sh.want(2, "", "hits", jobID, "query99")
	sh.contains(unknown, "no query of this id")
	_, gone := sh.want(4, "", "hits", "job_gone")
	sh.contains(gone, "--simulator blastp")
}
