package blast

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// database builds a BLAST database in a folder of the test, and returns it with the files behind its storage keys.
func database(t *testing.T, fasta, kind, name string) (*engines.SequenceDatabase, map[string]string) {
	t.Helper()
	program, err := exec.LookPath("makeblastdb")
	if err != nil {
		enginestest.Skip(t, "the program makeblastdb is not installed")
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), program, "-in", fasta, "-dbtype", kind, "-parse_seqids", "-blastdb_version", "5",
		"-out", filepath.Join(folder, name))
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("makeblastdb: %v: %s", err, output)
	}
	return databaseOf(t, folder, fasta, kind, name)
}

func databaseOf(t *testing.T, folder, fasta, kind, name string) (*engines.SequenceDatabase, map[string]string) {
	t.Helper()
	found := &engines.SequenceDatabase{Name: name, Version: "1", Type: kind, ReleasedOn: "2026-01-28",
		Checksum: strings.Repeat("a", 64), Files: map[string]engines.Object{}}
	for _, sequence := range readFasta(t, fasta) {
		found.Sequences++
		found.Residues += int64(len(sequence.letters))
	}
	objects := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		content := read(t, path)
		digest := sha256.Sum256(content)
		key := "databases/" + entry.Name()
		found.Files[entry.Name()] = engines.Object{StorageKey: key, SHA256: hex.EncodeToString(digest[:]),
			ByteSize: int64(len(content))}
		objects[key] = path
	}
	return found, objects
}

type sequence struct{ header, letters string }

func readFasta(t *testing.T, path string) []sequence {
	t.Helper()
	var list []sequence
	for record := range strings.SplitSeq(string(read(t, path)), ">") {
		if header, rest, ok := strings.Cut(record, "\n"); ok {
			list = append(list, sequence{header, strings.ReplaceAll(rest, "\n", "")})
		}
	}
	return list
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bare runs BLAST+ by itself over all queries, with the options that the caller adds.
func bare(t *testing.T, program, queries, folder, name string, options ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, append([]string{"-query", queries, "-db", filepath.Join(folder, name)},
		options...)...)
	command.Env = append(os.Environ(), "BLAST_USAGE_REPORT=false")
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("bare %s: %v: %s", program, err, problems.String())
	}
	return output
}

func folderOf(objects map[string]string) string {
	for key, path := range objects {
		if strings.HasPrefix(key, "databases/") {
			return filepath.Dir(path)
		}
	}
	return ""
}

// searchOf is a request for queries in a file, and the objects of it and of its database.
func searchOf(
	params string, tasks int, queries string, found *engines.SequenceDatabase, files map[string]string,
) (engines.Request, map[string]string) {
	r := requestFor(params, found)
	r.TaskCount = tasks
	objects := map[string]string{"queries.fasta": queries}
	for key, path := range files {
		objects[key] = path
	}
	return r, objects
}

type liveResults struct {
	Counts  countsRecord
	Queries []struct {
		Index         int
		ID, Status    string
		Hits          int
		BestSubjectID *string
		Error         *string
	}
	Failures []engines.ItemFailure
	Notes    []string
}

func resultsOf(t *testing.T, outcome *enginestest.Outcome) liveResults {
	t.Helper()
	if outcome.Failures[shardMerge] != nil || outcome.Dirs[shardMerge] == "" {
		t.Fatalf("no results: %v\nlogs: %v", outcome.Failures, outcome.Logs)
	}
	var results liveResults
	if err := json.Unmarshal(read(t, outcome.Dirs[shardMerge].Out(resultsFile)), &results); err != nil {
		t.Fatal(err)
	}
	return results
}

// bareRun is what BLAST+ finds by itself: its table, and the alignments as rows of hitRows.
type bareRun struct{ table, rows []byte }

func runBare(t *testing.T, b Blast, queries, folder, name string, options ...string) bareRun {
	t.Helper()
	var rows bytes.Buffer
	for line := range strings.Lines(string(bare(t, b.program, queries, folder, name,
		append(options, "-outfmt", "6 qaccver saccver evalue bitscore score nident positive gaps length qstart qend sstart send "+
			"qseq sseq")...))) {
		columns := strings.Split(line, "\t")
		for _, number := range []int{2, 3} {
			value, err := strconv.ParseFloat(columns[number], 64)
			if err != nil {
				t.Fatal(err)
			}
			columns[number] = plain(value)
		}
		rows.WriteString(strings.Join(columns, "\t"))
	}
	return bareRun{table: bare(t, b.program, queries, folder, name, append(options, "-outfmt", "6")...), rows: rows.Bytes()}
}

// plain writes a number the same way whoever has printed it ("10" and "10.0").
func plain(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// wantIdentical compares the results of a sharded search with one bare run over all queries: the table byte for byte, and the
// hits with their alignments row by row.
func wantIdentical(t *testing.T, outcome *enginestest.Outcome, want bareRun) {
	t.Helper()
	resultsOf(t, outcome)
	_, got, _ := bytes.Cut(read(t, outcome.Dirs[shardMerge].Out(tableFile)), []byte("\n"))
	if !bytes.Equal(got, want.table) {
		t.Fatalf("the table differs from a bare run: %s", firstDifference(got, want.table))
	}
	if rows := hitRows(t, outcome); rows != string(want.rows) {
		t.Fatalf("the hits differ from a bare run: %s", firstDifference([]byte(rows), want.rows))
	}
	if len(want.table) == 0 {
		t.Error("the bare run found nothing, which proves nothing")
	}
}

// hitRows writes the hits as BLAST+ would write them as a table, and checks that each query's summary points at its lines.
func hitRows(t *testing.T, outcome *enginestest.Outcome) string {
	t.Helper()
	merged := read(t, outcome.Dirs[shardMerge].Out(HitsFile))
	var all, rows bytes.Buffer
	for _, shard := range outcome.Shards {
		result, ok := outcome.Results[shard.Name]
		if shard.Stage != stageSearch || !ok {
			continue
		}
		found, err := ReadSearch(result.Summary)
		if err != nil {
			t.Fatal(err)
		}
		content := read(t, outcome.Dirs[shard.Name].Out(HitsFile))
		all.Write(content)
		for _, query := range found.Queries {
			checkQueryHits(t, query, content[query.Offset:query.Offset+query.Bytes], &rows)
		}
	}
	if !bytes.Equal(all.Bytes(), merged) {
		t.Errorf("the merged hits have %d bytes, those of the searches %d", len(merged), all.Len())
	}
	return rows.String()
}

func checkQueryHits(t *testing.T, query QueryFound, lines []byte, rows *bytes.Buffer) {
	t.Helper()
	rank := 0
	for line := range bytes.Lines(lines) {
		hit, err := ReadHit(line)
		if err != nil {
			t.Fatal(err)
		}
		rank++
		if hit.QueryIndex != query.Index || hit.QueryID != query.ID || hit.Rank != rank {
			t.Fatalf("hit %d of query %d says rank %d of query %d", rank, query.Index, hit.Rank, hit.QueryIndex)
		}
		if best := hit.HSPs[0]; rank == 1 && (*query.BestEvalue != best.Evalue || *query.BestBitScore != best.BitScore ||
			*query.BestSubjectID != hit.SubjectID) {
			t.Errorf("query %d says its best hit is %s, which is %s", query.Index, *query.BestSubjectID, hit.SubjectID)
		}
		for _, h := range hit.HSPs {
			fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", hit.QueryID, hit.SubjectID,
				plain(h.Evalue), plain(h.BitScore), h.RawScore, h.Identities, h.Positives, h.Gaps, h.AlignmentLength, h.QueryFrom,
				h.QueryTo, h.SubjectFrom, h.SubjectTo, h.QueryAlignment, h.SubjectAlignment)
			if same := strings.Count(h.Midline, " "); h.AlignmentLength-same != h.Positives {
				t.Errorf("the midline of query %d with %s has %d marks, want %d:\n%s\n%s\n%s", query.Index, hit.SubjectID,
					h.AlignmentLength-same, h.Positives, h.QueryAlignment, h.Midline, h.SubjectAlignment)
			}
		}
	}
	if rank != query.Hits {
		t.Errorf("query %d has %d hits, its summary says %d", query.Index, rank, query.Hits)
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func proteinCases(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
	r, objects := searchOf(`{}`, 3, "testdata/queries.faa", found, files)
	cases := []enginestest.LiveCase{{Name: "proteins", Request: r, Objects: objects,
		Check: func(t *testing.T, outcome *enginestest.Outcome) {
			wantIdentical(t, outcome, runBare(t, NewProtein(), "testdata/queries.faa", folderOf(files), "chloroplast"))
		}}}
	return append(cases, badQueries(t, found, files)...)
}

func nucleotideCases(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	found, files := database(t, "testdata/chimp.fna", TypeNucleotide, "chimp")
	r, objects := searchOf(`{"blastEvalue":0.001,"blastThreads":2}`, 2, "testdata/human.fna", found, files)
	bad, badObjects := searchOf(`{}`, 1, "testdata/queries.faa", found, files)
	return []enginestest.LiveCase{
		{Name: "both strands", Request: r, Objects: objects, Check: func(t *testing.T, outcome *enginestest.Outcome) {
			wantIdentical(t, outcome, runBare(t, NewNucleotide(), "testdata/human.fna", folderOf(files), "chimp", "-evalue",
				"0.001"))
			strands := map[string]bool{}
			for line := range bytes.Lines(read(t, outcome.Dirs[shardMerge].Out(HitsFile))) {
				hit, err := ReadHit(line)
				if err != nil {
					t.Fatal(err)
				}
				h := hit.HSPs[0]
				strands[*h.SubjectStrand] = true
				if *h.QueryStrand != "plus" || (*h.SubjectStrand == "minus") != (h.SubjectFrom > h.SubjectTo) {
					t.Errorf("%s: strands %s and %s at %d to %d", hit.QueryID, *h.QueryStrand, *h.SubjectStrand, h.SubjectFrom,
						h.SubjectTo)
				}
			}
			if !strands["plus"] || !strands["minus"] {
				t.Errorf("hits on the strands %v, want both", strands)
			}
		}},
		{Name: "proteins for blastn", Request: bad, Objects: badObjects,
			Check: wantRefused(shardSplit, "QUERIES_WRONG_TYPE", "blastp")},
	}
}

// badQueries are files that no search can begin with.
func badQueries(t *testing.T, found *engines.SequenceDatabase, files map[string]string) []enginestest.LiveCase {
	t.Helper()
	var cases []enginestest.LiveCase
	for _, bad := range []struct{ name, content, code, text string }{
		{"empty file", "", "QUERIES_EMPTY", "empty"},
		{"blank file", " \r\n\n", "QUERIES_EMPTY", "empty"},
		{"text", "Dear colleague,\nplease search this.\n", "QUERIES_UNREADABLE", "Dear colleague"},
		{"no header", "MKTAYIAKQR\n>p\nMKTAYIAKQR\n", "QUERIES_UNREADABLE", "header"},
		{"compressed", "\x1f\x8b\x08\x00rest", "QUERIES_UNREADABLE", "compressed"},
		{"binary", ">p\nMK\x00V\n", "QUERIES_UNREADABLE", "binary"},
		{"headers alone", ">p\n>q\n", "QUERIES_NONE_USABLE", "no sequence"},
		{"nucleotides for blastp", string(read(t, "testdata/human.fna")), "QUERIES_WRONG_TYPE", "blastn"},
		{"digits", ">p\nMK1V\n", "QUERIES_NONE_USABLE", "'1' at position 3"},
		{"too many", strings.Repeat(">p\nM\n", maxShardQueries+1), "QUERIES_TOO_MANY", "taskCount to 2"},
	} {
		r, objects := searchOf(`{}`, 1, writeFile(t, bad.content), found, files)
		cases = append(cases, enginestest.LiveCase{Name: bad.name, Request: r, Objects: objects,
			Check: wantRefused(shardSplit, bad.code, bad.text)})
	}
	return cases
}

func wantRefused(shard, code, text string) func(*testing.T, *enginestest.Outcome) {
	return func(t *testing.T, outcome *enginestest.Outcome) {
		t.Helper()
		got := outcome.Failures[shard]
		if got == nil {
			t.Fatalf("the shard did not fail; log:\n%s", outcome.Logs[shard])
		}
		if got.Class != engines.UserInput || got.Code != code || !strings.Contains(got.Message, text) {
			t.Errorf("got %s %s %q, want USER_INPUT %s naming %q", got.Class, got.Code, got.Message, code, text)
		}
	}
}
