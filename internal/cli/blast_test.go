package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

func TestSearchTables(t *testing.T) {
	t.Parallel()
	hits := read[contract.BlastHitList](t, "hits.json").Hits
	search := read[contract.BlastSearch](t, "search.json")
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"search.txt": func(w *bytes.Buffer) error {
			if err := searchTable(w, search, read[contract.BlastQueryList](t, "queries.json").Queries); err != nil {
				return err
			}
			w.WriteString("→ " + showFailedQueries(w, search, read[contract.BlastQueryList](t,
				"queries-failed.json").Queries) + "\n")
			return nil
		},
		"hits.txt":        func(w *bytes.Buffer) error { return hitsTable(w, hits, true) },
		"hits-of-one.txt": func(w *bytes.Buffer) error { return hitsTable(w, hits[1:3], false) },
		"no-hits.txt":     func(w *bytes.Buffer) error { return hitsTable(w, nil, true) },
		"alignments.txt": func(w *bytes.Buffer) error {
			showAlignments(w, hits)
			return nil
		},
		"databases.txt": func(w *bytes.Buffer) error {
			return databasesTable(w, read[contract.DatabaseList](t, "databases.json").Databases)
		},
		"no-databases.txt": func(w *bytes.Buffer) error { return databasesTable(w, nil) },
	} {
		var w bytes.Buffer
		if err := write(&w); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden(t, name, w.String())
	}
}

// An answer that is none of ours is written without a fault.
func TestOddAlignments(t *testing.T) {
	t.Parallel()
	for _, h := range []contract.BlastHSP{
		{}, {QueryAlignment: "AC", SubjectAlignment: "A", Midline: ""},
		{QueryAlignment: strings.Repeat("-", 130), SubjectAlignment: strings.Repeat("-", 130), Midline: strings.Repeat(" ", 130)},
		{QueryFrom: -5, QueryTo: -9, QueryAlignment: "A", SubjectAlignment: "A", Midline: "|"},
	} {
		showAlignments(io.Discard, []contract.BlastHit{{HSPs: []contract.BlastHSP{h}}, {}})
	}
	if err := hitsTable(io.Discard, []contract.BlastHit{{}}, true); err != nil {
		t.Error(err)
	}
}

func TestLettersChooseTheProgram(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ACGT", 5000)
	for _, c := range []struct{ name, text, want, wrong string }{
		{"proteins", ">a title\nMKVLAAGIVGLCAKTW\n", blastp, ""},
		{"nucleotides", ">a\nACGTNNACGTRYacgt\n>b\nUUUU\n", blastn, ""},
		{"a title is no sequence", ">ACGTACGTACGTACGTACGT\nMKVLAAGIVGLCAKTW\n", blastp, ""},
		{"comments and blank lines", "; a comment\n\n>a\n# ACGTACGTACGTACGT\nMKVLAAGIVGLCAKTW\n", blastp, ""},
		{"a line longer than the buffer", ">a\n" + long + "\n", blastn, ""},
		{"a header longer than the buffer", ">a " + strings.Repeat("protein ", 2000) + "\n" + long[:400], blastn, ""},
		{"too short to tell", ">a\nACGT\n", "", ""},
		{"no sequence", ">a\n", "", ""},
		{"no header", "ACGT\n>a\nACGT\n", "", "is no FASTA"},
		{"something else", "{\"a\": 1}\n", "", "is no FASTA"},
	} {
		letters, plain, err := countLetters(bufio.NewReaderSize(strings.NewReader(c.text), 16))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if got := programOf(letters, plain); err != nil || got != c.want {
			t.Errorf("%s: got %q (%d of %d letters), %v; want %q", c.name, got, plain, letters, err, c.want)
		}
	}
}

func TestBlastRequests(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my queries.fasta")
	if err := os.WriteFile(path, []byte(">a\nMKVLAAGIVGLCAKTW\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `{"jobType":"simulation","jobName":"blastp of my queries.fasta","simulator":"blastp","simulationParams":{}}`},
		{[]string{"--db", "swissprot:2026_01", "--evalue", "0.001", "--max-hits", "5", "--threads", "2", "--shards", "8",
			"--program", "blastn"},
			`{"jobType":"simulation","jobName":"blastn of my queries.fasta against swissprot","simulator":"blastn","simulationParams":{"blastDatabaseName":"swissprot",` +
				`"blastDatabaseVersion":"2026_01","blastEvalue":0.001,"blastMaxHits":5,"blastThreads":2},"taskCount":8}`},
		{[]string{"--name", "mine"}, `{"jobType":"simulation","jobName":"mine","simulator":"blastp","simulationParams":{}}`},
	} {
		var f blastFlags
		cmd := &cobra.Command{}
		f.define(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		s, err := f.search(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(s.request); err != nil || string(got) != c.want {
			t.Errorf("%v: got %s, %v; want %s", c.args, got, err, c.want)
		}
	}
}

// Of the files of that name, the last task's joins the others'.
func TestWholeFiles(t *testing.T) {
	t.Parallel()
	outputs := []contract.Output{
		{Name: "hits.tsv", TaskIndex: 9}, {Name: "results.json", TaskIndex: 9}, {Name: "hits.jsonl", TaskIndex: 3},
		{Name: "hits.jsonl", TaskIndex: 9}, {Name: "logs/x.log", TaskIndex: 9}, {Name: "hits.jsonl", TaskIndex: 4},
	}
	var got []string
	for _, file := range wholeFiles(outputs) {
		if file.TaskIndex != 9 {
			t.Errorf("%s is task %d's", file.Name, file.TaskIndex)
		}
		got = append(got, file.Name)
	}
	if strings.Join(got, " ") != "hits.tsv hits.jsonl results.json" {
		t.Errorf("got %v", got)
	}
}

func TestQueriesDone(t *testing.T) {
	t.Parallel()
	search := contract.BlastSearch{}
	if got := queriesDone(search); got != "" {
		t.Errorf("before the queries are counted: got %q", got)
	}
	search.Counts.Queries, search.Counts.Completed, search.Counts.Hits = ref(40), 12, 99
	l := leaders{queries: queriesDone(search)}
	if want := "12 of 40 queries searched, 99 hits"; l.line() != want || len(l.rows()) != 1 || l.rows()[0] != "  "+want {
		t.Errorf("got %q and %q", l.line(), l.rows())
	}
	search.Counts.Failed = 1
	if got := queriesDone(search); !strings.HasSuffix(got, ", 1 failed") {
		t.Errorf("got %q", got)
	}
}
